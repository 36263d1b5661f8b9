"""Attacks on a release, one file per kind of knowledge.

base                    what an attacker sees, what an attack is granted, what it claims; the registry `ATTACKS`
column_posterior        the released value as it is, and Bayes' rule through the stated law, column by column
conditional_posterior   Bayes' rule with the prior of a group of rows; row_order: with the prior of the rows around;
                        person_rows: with the prior of the same person's other rows
linear_filters          filters over correlated columns
careless_noise          several releases of the same rows, one release perturbed again, digits below the noise
known_rows              attackers who know some rows
table_posterior         a model of all columns together, and draws from it
linkage, inference      attackers who know some people, and look for their rows or for what they do not know

The import lines below are the registry, in the order in which an audit runs the attacks: a new attack is a new file and a line
here. Start with base.py; column_posterior.py holds the attack that the others are compared with.
"""

# ruff: isort: skip_file
from sfumato.attacks._belief import CONFIDENCE, TOLERANCE, Belief, best_guesses, cell_widths, smallest_sets
from sfumato.attacks.base import (
    ATTACKS, NO_REMEDY, PEOPLE, Attack, Claim, Claimed, Grants, Knowledge, KnowsRows, LinkAttack, Pairs, RankedSets, Recovery, Remedy,
    RowGroups, Scope, SecretAttack, Targets, ValueAttack, View,
)  # fmt: skip
from sfumato.attacks.column_posterior import DISTRIBUTION, ColumnPosterior, InformedPosterior, NaiveReading
from sfumato.attacks.conditional_posterior import ConditionalPosterior, group_rows, grouped_counts
from sfumato.attacks.row_order import RowOrder
from sfumato.attacks.person_rows import PersonRows
from sfumato.attacks.linear_filters import PCA, BayesEstimate, Spectral, linear_view
from sfumato.attacks.careless_noise import Averaging, LowBits, NoiseReuse, RepeatedPerturbation
from sfumato.attacks.known_rows import (
    ClusterLinear, KnownInput, LearnedBayes, LearnedPosterior, Reflection, find_clusters, learn_beliefs,
)  # fmt: skip
from sfumato.attacks.linkage import (
    Assignment, LearnedAssignment, LearnedLinkage, Linkability, LikelihoodLinkage, NearestLinkage,
)  # fmt: skip
from sfumato.attacks.table_posterior import DrawnLinkage, OtherColumns, WholeTable, fit_beliefs
from sfumato.attacks.inference import LearnedInference, LeafClass, LikelihoodInference, NearestInference

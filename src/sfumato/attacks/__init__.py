"""Attacks on a release, one per file.

posterior/    Bayes' rule through the stated law
linear/       filters over correlated columns
repeats/      several releases of the same rows
known_rows/   attackers who know some rows
linkage/      attackers who know some people

The import lines below are the registry, in the order in which an audit runs the attacks: a new attack is a new file and a line
here. Start with base.py; column_posterior.py is the attack that the others are compared with.
"""

# ruff: isort: skip_file
from sfumato.attacks._belief import CONFIDENCE, TOLERANCE, Belief, cell_widths, smallest_sets
from sfumato.attacks.base import (
    ATTACKS, NO_REMEDY, PEOPLE, Attack, Claim, Claimed, Grants, Knowledge, KnowsRows, LinkAttack, Pairs, RankedSets, Recovery, Remedy,
    Scope, SecretAttack, Targets, ValueAttack, View,
)  # fmt: skip
from sfumato.attacks.naive import NaiveReading
from sfumato.attacks.posterior.column_posterior import DISTRIBUTION, ColumnPosterior, InformedPosterior
from sfumato.attacks.posterior.conditional_posterior import ConditionalPosterior
from sfumato.attacks.posterior.row_order import RowOrder
from sfumato.attacks.linear.spectral import Spectral
from sfumato.attacks.linear.pca import PCA
from sfumato.attacks.linear.be_dr import BayesEstimate
from sfumato.attacks.repeats.averaging import Averaging
from sfumato.attacks.repeats.noise_reuse import NoiseReuse
from sfumato.attacks.repeats.repeated_perturbation import RepeatedPerturbation
from sfumato.attacks.low_bits import LowBits
from sfumato.attacks.known_rows.learned_law import LearnedBayes, LearnedPosterior, learn_beliefs
from sfumato.attacks.known_rows.known_input import KnownInput
from sfumato.attacks.known_rows.cluster_linear import ClusterLinear, Reflection, find_clusters
from sfumato.attacks.linkage.row_linkage import (
    Assignment,
    LearnedAssignment,
    LearnedLinkage,
    LikelihoodLinkage,
    NearestLinkage,
)
from sfumato.attacks.linkage.linkability import Linkability
from sfumato.attacks.linkage.inference import LearnedInference, LikelihoodInference, NearestInference
from sfumato.attacks.linkage.leaf_class import LeafClass
from sfumato.attacks.linear._moments import linear_view

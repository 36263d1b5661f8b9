"""Attacks on a release, one to a file. These import lines are the registry: a new attack is a new file and a line here."""

from sfumato.attacks._belief import CONFIDENCE, TOLERANCE, cell_widths, smallest_sets
from sfumato.attacks.base import ATTACKS, Attack, Claim, Claimed, Pairs, RankedSets, Recovery, Targets, View
from sfumato.attacks.linear import (
    PCA,
    BayesEstimate,
    ClusterLinear,
    KnownInput,
    Reflection,
    Spectral,
    clustered,
    linear_view,
)
from sfumato.attacks.linkage import (
    Assignment,
    LeafClass,
    LikelihoodInference,
    LikelihoodLinkage,
    Linkability,
    NearestInference,
    NearestLinkage,
    chance,
)
from sfumato.attacks.low_bits import LowBits
from sfumato.attacks.naive import AtItsWord
from sfumato.attacks.posterior import MOST_CELLS, ColumnPosterior, GivenAnother, InformedPosterior, RowOrder
from sfumato.attacks.repeats import Averaging, NoiseReuse, RepeatedPerturbation

__all__ = [
    "ATTACKS",
    "CONFIDENCE",
    "MOST_CELLS",
    "PCA",
    "TOLERANCE",
    "Assignment",
    "AtItsWord",
    "Attack",
    "Averaging",
    "BayesEstimate",
    "Claim",
    "Claimed",
    "ClusterLinear",
    "ColumnPosterior",
    "GivenAnother",
    "InformedPosterior",
    "KnownInput",
    "LeafClass",
    "LikelihoodInference",
    "LikelihoodLinkage",
    "Linkability",
    "LowBits",
    "NearestInference",
    "NearestLinkage",
    "NoiseReuse",
    "Pairs",
    "RankedSets",
    "Recovery",
    "Reflection",
    "RepeatedPerturbation",
    "RowOrder",
    "Spectral",
    "Targets",
    "View",
    "cell_widths",
    "chance",
    "clustered",
    "linear_view",
    "smallest_sets",
]

"""Attacks on a release, one to a file. These import lines are the registry: a new attack is a new file and a line here."""

from sfumato.attacks.base import ATTACKS, Attack, Claim, Pairs, Recovery, Sight, Targets
from sfumato.attacks.linear.be_dr import BayesEstimate
from sfumato.attacks.linear.cluster_linear import ClusterLinear, Reflection
from sfumato.attacks.linear.known_input import KnownInput
from sfumato.attacks.linear.pca import PCA
from sfumato.attacks.linear.spectral import Spectral
from sfumato.attacks.linkage.inference import LikelihoodInference, NearestInference
from sfumato.attacks.linkage.leaf_class import LeafClass
from sfumato.attacks.linkage.linkability import Linkability
from sfumato.attacks.linkage.row_linkage import Assignment, LikelihoodLinkage, NearestLinkage
from sfumato.attacks.low_bits import LowBits
from sfumato.attacks.naive import AtItsWord
from sfumato.attacks.posterior.column_posterior import ColumnPosterior, InformedPosterior
from sfumato.attacks.posterior.conditional_posterior import GivenAnother
from sfumato.attacks.posterior.row_order import RowOrder
from sfumato.attacks.repeats.averaging import Averaging
from sfumato.attacks.repeats.noise_reuse import NoiseReuse
from sfumato.attacks.repeats.repeated_perturbation import RepeatedPerturbation

__all__ = [
    "ATTACKS",
    "PCA",
    "Assignment",
    "AtItsWord",
    "Attack",
    "Averaging",
    "BayesEstimate",
    "Claim",
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
    "Recovery",
    "Reflection",
    "RepeatedPerturbation",
    "RowOrder",
    "Sight",
    "Spectral",
    "Targets",
]

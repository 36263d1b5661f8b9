"""Attacks on a release, one to a file. These import lines are the registry: a new attack is a new file and a line here."""

from sfumato.attacks.at_its_word import AtItsWord
from sfumato.attacks.averaging import Averaging
from sfumato.attacks.base import ATTACKS, Attack, Claim, Pairs, Recovery, Sight, Targets
from sfumato.attacks.bayes import BayesEstimate
from sfumato.attacks.cluster_linear import ClusterLinear, Reflection
from sfumato.attacks.given import GivenAnother
from sfumato.attacks.inference import LikelihoodInference, NearestInference
from sfumato.attacks.informed import InformedPosterior
from sfumato.attacks.known_input import KnownInput
from sfumato.attacks.leaf import LeafClass
from sfumato.attacks.linkability import Linkability
from sfumato.attacks.linkage import Assignment, LikelihoodLinkage
from sfumato.attacks.low_bits import LowBits
from sfumato.attacks.nearest import NearestLinkage
from sfumato.attacks.pca import PCA
from sfumato.attacks.posterior import ColumnPosterior
from sfumato.attacks.repeated import RepeatedPerturbation
from sfumato.attacks.reuse import NoiseReuse
from sfumato.attacks.row_order import RowOrder
from sfumato.attacks.spectral import Spectral

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

"""Room."""

from sfumato.attacks.linkage.inference import LikelihoodInference, NearestInference
from sfumato.attacks.linkage.leaf_class import LeafClass
from sfumato.attacks.linkage.linkability import Linkability, chance
from sfumato.attacks.linkage.row_linkage import Assignment, LikelihoodLinkage, NearestLinkage

__all__ = [
    "Assignment",
    "LeafClass",
    "LikelihoodInference",
    "LikelihoodLinkage",
    "Linkability",
    "NearestInference",
    "NearestLinkage",
    "chance",
]

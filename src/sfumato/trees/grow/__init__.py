"""Room."""

from sfumato.trees.grow.c45 import c45
from sfumato.trees.grow.growth import Growth, Limits, grow, grow_from
from sfumato.trees.grow.impurity import Entropy, Gini
from sfumato.trees.grow.pruning import MDL, KeepAll, Pruner
from sfumato.trees.grow.records import BLOCK, CellArray, CodedRecords, checked
from sfumato.trees.grow.splits import BinarySplitter, Splits, child_counts

__all__ = [
    "BLOCK",
    "MDL",
    "BinarySplitter",
    "CellArray",
    "CodedRecords",
    "Entropy",
    "Gini",
    "Growth",
    "KeepAll",
    "Limits",
    "Pruner",
    "Splits",
    "c45",
    "checked",
    "child_counts",
    "grow",
    "grow_from",
]

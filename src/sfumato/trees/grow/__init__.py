"""Room."""

from sfumato.trees.grow.c45 import CLASS, c45, codes_of, labels_of, with_class
from sfumato.trees.grow.growth import Growth, Limits, grow, grow_from
from sfumato.trees.grow.impurity import Entropy, Gini
from sfumato.trees.grow.pruning import MDL, KeepAll, Pruner
from sfumato.trees.grow.records import BLOCK, CellArray, CodedRecords, checked
from sfumato.trees.grow.splits import BinarySplitter, Splits, child_counts

__all__ = [
    "BLOCK",
    "CLASS",
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
    "codes_of",
    "grow",
    "grow_from",
    "labels_of",
    "with_class",
]

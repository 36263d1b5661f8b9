"""Room."""

from sfumato.guided.tree._segments import Segments, similar_values
from sfumato.guided.tree.base import Perturbed, TreeMethod
from sfumato.guided.tree.class_noise import (
    ClassAllLeaves,
    ClassNoise,
    ClassProbabilistic,
    ClassRandom,
    all_leaves_rate,
    all_leaves_variance,
    drawn_from,
    expected_changes,
    flipped,
    permuted,
    probabilistic_variance,
    random_variance,
    redrawn,
)
from sfumato.guided.tree.detective import Detective, chosen_columns
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.innocent import Innocent, noisy_columns, perturbed_cells, spread_of
from sfumato.guided.tree.leaf_swap import LeafSwap, cells_of, left_out_note, limits, unmoved_note
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.guided.tree.value_noise import Room, ValueNoise

__all__ = [
    "ClassAllLeaves",
    "ClassNoise",
    "ClassProbabilistic",
    "ClassRandom",
    "Detective",
    "Framework",
    "Innocent",
    "LeafSwap",
    "Leaves",
    "Perturbed",
    "Room",
    "Segments",
    "TreeMethod",
    "ValueNoise",
    "all_leaves_rate",
    "all_leaves_variance",
    "cells_of",
    "chosen_columns",
    "drawn_from",
    "expected_changes",
    "flipped",
    "left_out_note",
    "limits",
    "noisy_columns",
    "permuted",
    "perturbed_cells",
    "probabilistic_variance",
    "random_variance",
    "redrawn",
    "similar_values",
    "spread_of",
    "unmoved_note",
]

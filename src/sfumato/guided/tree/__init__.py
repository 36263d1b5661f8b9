"""Guided methods around the owner's decision tree.

base           what they share: `TreeMethod` grows the tree and compares draws
owner_tree     the leaves of the owner's tree and who is in them
class_noise    labels changed inside leaves (Islam & Brankovic 2003)
innocent       noise on attributes that a leaf does not test, and on those it does
detective      labels dealt out again within leaves and siblings
framework      all of these in one release
leaf_swap      values swapped among rows of the same leaf and class
value_noise    noise on one number that stays inside its leaf

Start with class_noise: the formulas come first, then the three methods.
"""

from sfumato.guided.tree._segments import Segments, similar_values
from sfumato.guided.tree.base import Exchange, Redraw, TreeMethod
from sfumato.guided.tree.class_noise import (
    ClassAllLeaves,
    ClassNoise,
    ClassProbabilistic,
    ClassRandom,
    all_leaves_rate,
    all_leaves_variance,
    draw_categories,
    expected_changes,
    flip_labels,
    permute_labels,
    probabilistic_variance,
    random_variance,
    redraw_labels,
)
from sfumato.guided.tree.detective import Detective, choose_columns
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.innocent import Innocent, add_noise, cells_to_perturb, spread_of
from sfumato.guided.tree.leaf_swap import LeafSwap, cells_of, left_out_note, unmoved_note
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.guided.tree.value_noise import Room, ValueNoise

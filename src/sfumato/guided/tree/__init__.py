"""Guided methods around the owner's decision tree.

base           what they share: `TreeMethod` grows the tree and compares draws
owner_tree     the leaves of a tree of the owner's rows, who is in them and what they hold
class_noise    labels changed inside leaves (Islam & Brankovic 2003)
detective      labels dealt out again within leaves and siblings
framework      all of these in one release
leaf_swap      values swapped among rows of the same leaf and class
value_noise    noise on attributes that a leaf does not test, and on those it does

Start with class_noise: the formulas come first, then the three methods.
"""

from sfumato.guided.tree import class_noise, value_noise
from sfumato.guided.tree.base import Exchange, Redraw, TreeMethod, find_kept_rows
from sfumato.guided.tree.class_noise import ClassAllLeaves, ClassProbabilistic, ClassRandom
from sfumato.guided.tree.detective import Detective
from sfumato.guided.tree.framework import Framework
from sfumato.guided.tree.leaf_swap import LeafSwap, cells_of, left_out_note, unmoved_note
from sfumato.guided.tree.owner_tree import Leaves, Segments, similar_values
from sfumato.guided.tree.value_noise import Innocent

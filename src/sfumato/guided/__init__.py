"""Guided perturbation: the owner mines first, then bends the noise around the pattern so that it stays.

base            what a method is and what comes out, `Perturbed`; the one registry `METHODS`
tree/           methods around a decision tree
cluster/        methods around clusters
exposed_rows    rows of classes too small to hide anybody, and rows that a release holds as they were

A method in a file of its own, with one import line in tree/ or cluster/, is known to the whole house.
"""

from sfumato.guided import exposed_rows
from sfumato.guided.base import METHODS, GuidedMethod, Method, Pattern, Perturbed, is_guided, make_method
from sfumato.guided.cluster import RACC, RACCV, RDD, ClusterMethod, Geometric, SwapV
from sfumato.guided.tree import (
    ClassAllLeaves,
    ClassProbabilistic,
    ClassRandom,
    Detective,
    Exchange,
    Framework,
    Innocent,
    LeafSwap,
    Leaves,
    Redraw,
    Segments,
    TreeMethod,
    cells_of,
    class_noise,
    find_kept_rows,
    left_out_note,
    similar_values,
    unmoved_note,
    value_noise,
)

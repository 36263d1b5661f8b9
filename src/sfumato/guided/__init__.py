"""Guided perturbation: the owner mines first, then bends the noise around the pattern so that it stays.

base            what a method is and what comes out, `Perturbed`; the one registry `METHODS`
tree/           methods around a decision tree
cluster/        methods around clusters
rare_classes    rows of classes too small to hide anybody
unchanged       rows that a release holds as they were
suppressed      rows of the original that a release left out, found again by its owner

A method in a file of its own, with one import line in tree/ or cluster/, is known to the whole house.
"""

from sfumato.guided.base import METHODS, GuidedMethod, Method, Pattern, Perturbed, is_guided, make_method
from sfumato.guided.cluster import RACC, RACCV, RDD, ClusterMethod, Geometric, SwapV
from sfumato.guided.rare_classes import is_rare, rare_note
from sfumato.guided.suppressed import find_kept_rows
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
    Room,
    Segments,
    TreeMethod,
    ValueNoise,
    add_noise,
    all_leaves_rate,
    all_leaves_variance,
    cells_of,
    cells_to_perturb,
    draw_categories,
    expected_changes,
    flip_labels,
    left_out_note,
    permute_labels,
    probabilistic_variance,
    random_variance,
    redraw_labels,
    similar_values,
    spread_of,
    unmoved_note,
)
from sfumato.guided.unchanged import find_hardly_changed, hardly_note, unchanged_note, unchanged_rows

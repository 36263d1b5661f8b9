"""Which counts a tree grows from: as released, or reconstructed in one of several ways.

base.py          the registry of strategies, and the axes of a model of true values
published.py     the strategies of the 2000 paper: original, randomized, global, by class, local
association.py   from reconstructed distributions to the codes of rows
leaf_counts.py   the class counts of the leaves, reconstructed
joint_map.py     a tree from the joint distribution of a few attributes, and how they are chosen
mixture.py       a tree from a mixture of products of all attributes
leaf_model.py    a tree as a model of released rows, and its scores on true values
judge.py         how a tree grows and how far it is cut back, by held-out rows
best_tree.py     choose among the strategies by what the judge says

Start with published.py, then best_tree.py. Growing itself is in `grow`; nothing here knows an engine (see `distributed`).
"""

from sfumato.trees.strategies.association import (
    TRUE_CELLS,
    Association,
    CodeArray,
    cut_between,
    quantile_grid,
    quantile_places,
    spread,
    whole_counts,
)
from sfumato.trees.strategies.base import (
    STRATEGIES,
    Fitted,
    Strategy,
    check_columns,
    keep_classified_rows,
    strategy,
    strategy_for_release,
)
from sfumato.trees.strategies.best_tree import choose_tree, eligible_strategies, fit_tree
from sfumato.trees.strategies.joint_map import fit_joint, fit_joint_map
from sfumato.trees.strategies.judge import MAX_JUDGED_ROWS, is_surely_lower, tell_scores
from sfumato.trees.strategies.leaf_counts import Leaves, shown_cells, tally
from sfumato.trees.strategies.leaf_model import Estimate, smooth_shares
from sfumato.trees.strategies.mixture import fit_mixture
from sfumato.trees.strategies.published import (
    MIN_ROWS,
    WITH_LEAVES,
    as_released,
    byclass,
    choose_growth,
    draft_published,
    find_tested,
    fresh_groups,
    global_,
    local,
    original,
)

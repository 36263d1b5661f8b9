"""Which counts a tree grows from: as released, or reconstructed in one of several ways.

published.py     the strategies of the 2000 paper: original, randomized, global, by class, local
association.py   from reconstructed distributions to the codes of rows
leaf_counts.py   the class counts of the leaves, reconstructed
joint_map.py     a tree from the joint distribution of a few attributes
mixture.py       a tree from a mixture of products of all attributes
auto.py          choose among them by held_out.py's score, corrected by calibration.py
attributes.py    which attributes the joint distribution takes

Start with published.py, then auto.py. Growing itself is in `grow`; nothing here knows an engine (see `distributed`).
"""

from sfumato.trees.strategies.association import (
    TRUE_CELLS,
    Association,
    CodeArray,
    cut_between,
    quantile_places,
    spread,
    whole_counts,
)
from sfumato.trees.strategies.auto import fit_auto
from sfumato.trees.strategies.base import STRATEGIES, Strategy, strategy, strategy_for_release
from sfumato.trees.strategies.joint_map import fit_joint
from sfumato.trees.strategies.leaf_counts import Leaves, shown_cells, tally
from sfumato.trees.strategies.mixture import fit_mixture
from sfumato.trees.strategies.published import MIN_ROWS, byclass, global_, local, original, randomized

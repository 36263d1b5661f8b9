"""Decision trees from counts: how impure, where to cut, in what order to grow, what to keep, how to show and ship.

tree.py        a finished tree: tests in true units, class counts, predictions
inputs.py      columns as they come, turned into the numbers that tests compare
rules.py       the way to each leaf as one condition per attribute, and both as text
as_svg.py      a drawing; as_code.py: Python, JavaScript and SQL that run without this library
similarity.py  how alike two trees are, rule by rule
grow/          how a tree grows: impurity, splits, stopping, pruning
strategies/    which counts it grows from: as released, global, by class, local, joint
distributed/   the same trees from folds over blocks (Spark, files larger than memory)

Start with tree.py, then strategies/published.py. Trees know nothing of mining, attacks or the command line.

>>> from sfumato.schema import Attribute, Interval, Kind
>>> from sfumato.trees import Node, Test, Tree
>>> age = Attribute("age", Kind.INTEGER, Interval(0, 120))
>>> tree = Tree((age,), ("no", "yes"), (Node((2, 6), Test("age", 40.0), (1, 2)), Node((0, 5)), Node((2, 1))))
>>> [str(label) for label in tree.predict({"age": [30, 60]})]
['yes', 'no']
"""

from sfumato.trees.as_code import to_javascript, to_python, to_sql
from sfumato.trees.as_svg import svg
from sfumato.trees.distributed import (
    ALWAYS,
    MAX_WORD,
    NEVER,
    CodeThresholds,
    Gathered,
    SlotsByColumn,
    WantedRanks,
    grow_counted_tree,
    select,
)
from sfumato.trees.grow import MDL, Limits, c45, grow
from sfumato.trees.inputs import Columns, encode, is_absent
from sfumato.trees.rules import Condition, Rule, rules, rules_text, text
from sfumato.trees.similarity import Similarity, compare_trees, row_similarities
from sfumato.trees.strategies import (
    MAX_JUDGED_ROWS,
    STRATEGIES,
    Estimate,
    Fitted,
    Strategy,
    as_released,
    byclass,
    choose_growth,
    choose_tree,
    draft_published,
    eligible_strategies,
    fit_joint_map,
    is_surely_lower,
    keep_classified_rows,
    local,
    original,
    smooth_shares,
    strategy,
    strategy_for_release,
    tell_scores,
)
from sfumato.trees.tree import Node, Test, Tree

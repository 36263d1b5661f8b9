"""Decision trees from counts: how impure, where to cut, in what order to grow, what to keep, how to show and ship.

>>> from sfumato.trees import STRATEGIES, text
>>> tree = STRATEGIES["byclass"](table)  # doctest: +SKIP
>>> print(text(tree))  # doctest: +SKIP
"""

from sfumato.trees.grow.growth import Growth, Limits, grow, grow_from
from sfumato.trees.grow.impurity import Entropy, Gini
from sfumato.trees.grow.pruning import MDL, KeepAll
from sfumato.trees.grow.splits import BinarySplitter
from sfumato.trees.rules import Rule, rules
from sfumato.trees.show.as_code import to_javascript, to_python, to_sql
from sfumato.trees.show.as_svg import svg
from sfumato.trees.show.as_text import rules_text, text
from sfumato.trees.strategies.published import STRATEGIES
from sfumato.trees.tree import Node, Test, Tree

__all__ = [
    "MDL",
    "STRATEGIES",
    "BinarySplitter",
    "Entropy",
    "Gini",
    "Growth",
    "KeepAll",
    "Limits",
    "Node",
    "Rule",
    "Test",
    "Tree",
    "grow",
    "grow_from",
    "rules",
    "rules_text",
    "svg",
    "text",
    "to_javascript",
    "to_python",
    "to_sql",
]

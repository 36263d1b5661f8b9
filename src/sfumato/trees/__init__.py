"""Decision trees from counts: how impure, where to cut, in what order to grow, what to keep, how to show and ship.

>>> from sfumato.trees import STRATEGIES, text
>>> tree = STRATEGIES["byclass"](table)  # doctest: +SKIP
>>> print(text(tree))  # doctest: +SKIP
"""

from sfumato.trees.drawing import svg
from sfumato.trees.export import to_javascript, to_python, to_sql
from sfumato.trees.grow import Growth, Limits, grow, grow_from
from sfumato.trees.impurity import Entropy, Gini
from sfumato.trees.prune import MDL, KeepAll
from sfumato.trees.rules import Rule, rules
from sfumato.trees.show import rules_text, text
from sfumato.trees.splits import BinarySplitter
from sfumato.trees.strategies import STRATEGIES
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

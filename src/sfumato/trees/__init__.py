"""Decision trees from counts: how impure, where to cut, in what order to grow, what to keep, how to show and ship.

>>> from sfumato.trees import STRATEGIES, text
>>> tree = STRATEGIES["byclass"](table)  # doctest: +SKIP
>>> print(text(tree))  # doctest: +SKIP
"""

from sfumato.trees.distributed import (
    ALWAYS,
    LARGEST_WORD,
    NEVER,
    Asked,
    Cuts,
    Gathered,
    Wanted,
    WordArray,
    counted_tree,
    select,
)
from sfumato.trees.grow import (
    CLASS,
    MDL,
    BinarySplitter,
    Entropy,
    Gini,
    Growth,
    KeepAll,
    Limits,
    c45,
    codes_of,
    grow,
    grow_from,
    labels_of,
    with_class,
)
from sfumato.trees.inputs import Columns, encoded
from sfumato.trees.rules import Condition, Rule, rules
from sfumato.trees.show import rules_text, svg, text, to_javascript, to_python, to_sql
from sfumato.trees.similarity import Similarity, compare_trees, record_similarities
from sfumato.trees.strategies import STRATEGIES, byclass, fit_auto, fit_joint, fit_mixture, local, original, randomized
from sfumato.trees.strategies.published import global_
from sfumato.trees.tree import Node, Test, Tree

__all__ = [
    "ALWAYS",
    "CLASS",
    "LARGEST_WORD",
    "MDL",
    "NEVER",
    "STRATEGIES",
    "Asked",
    "BinarySplitter",
    "Columns",
    "Condition",
    "Cuts",
    "Entropy",
    "Gathered",
    "Gini",
    "Growth",
    "KeepAll",
    "Limits",
    "Node",
    "Rule",
    "Similarity",
    "Test",
    "Tree",
    "Wanted",
    "WordArray",
    "byclass",
    "c45",
    "codes_of",
    "compare_trees",
    "counted_tree",
    "encoded",
    "fit_auto",
    "fit_joint",
    "fit_mixture",
    "global_",
    "grow",
    "grow_from",
    "labels_of",
    "local",
    "original",
    "randomized",
    "record_similarities",
    "rules",
    "rules_text",
    "select",
    "svg",
    "text",
    "to_javascript",
    "to_python",
    "to_sql",
    "with_class",
]

"""What a strategy hands back: the tree, how well it explains released records, and what was chosen and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sfumato.counts import FloatArray
from sfumato.table import Table
from sfumato.trees.tree import Tree

Progress = Callable[[str], None]
"""Told in a few words what is being done."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A mined tree with the model behind it.

    Attributes
    ----------
    tree
        The tree, in true units.
    log_loss
        Given a table of released records, −log P(class | released values) for each under the model behind the tree.
    notes
        What was chosen and why, as plain data; ``notes["why"]`` is a sentence for people.
    """

    tree: Tree
    log_loss: Callable[[Table], FloatArray]
    notes: dict[str, Any] = field(default_factory=dict)


def quiet(_: str) -> None:
    """Progress for those who do not ask."""

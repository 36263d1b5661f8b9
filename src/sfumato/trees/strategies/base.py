"""A strategy: one way to grow a model from a release, by its name, with what it needs to see.

The module of a strategy enters it in `STRATEGIES`; nothing else in the house lists strategies by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sfumato.counts import FloatArray
from sfumato.engines import Needs
from sfumato.errors import UsageError
from sfumato.table import Table
from sfumato.text import join_names
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


@dataclass(frozen=True)
class Strategy:
    """One way to grow a model from a table.

    Attributes
    ----------
    name
        What people call it.
    needs
        Whether it needs all rows in memory. Trees of a strategy that needs counts grow by folds as well (`distributed`).
    fit
        Grows the model: a function of a table that returns a tree, a `Fitted`, or another model.
    true_values
        Whether it is for tables whose values are true, and so not a way to mine a release.
    """

    name: str
    needs: Needs
    fit: Callable[..., Any]
    true_values: bool = False

    def grow(self, table: Table) -> tuple[Any, Mapping[str, Any]]:
        """Return the model of a table in memory, and notes on what was chosen."""
        fitted = self.fit(table)
        return (fitted.tree, dict(fitted.notes)) if isinstance(fitted, Fitted) else (fitted, {})


STRATEGIES: dict[str, Strategy] = {}
"""Every strategy by its name."""

F = TypeVar("F", bound=Callable[..., Any])


def strategy(name: str, needs: Needs = Needs.ROWS, *, true_values: bool = False) -> Callable[[F], F]:
    """Enter a function in `STRATEGIES`."""

    def enter(fit: F) -> F:
        STRATEGIES[name] = Strategy(name, needs, fit, true_values)
        return fit

    return enter


def strategy_for_release(name: str) -> Strategy:
    """Return a strategy by its name, or raise UsageError with the names there are."""
    choices = sorted(s.name for s in STRATEGIES.values() if not s.true_values)
    if name not in choices:
        raise UsageError(f"there is no strategy {name!r}; choose {join_names(choices, 12)}")
    return STRATEGIES[name]

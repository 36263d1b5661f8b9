"""What every perturbation around a tree has in common: parameters in fields, one call for the owner's table.

The public statement of a method is its parameters. Figures of the original table (how many labels were changed, the
owner's tree, what was expected) stay with the owner.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import Method
from sfumato.guided.rare_classes import FEWEST, rare_note, rare_records
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.parameters import parameter
from sfumato.randomness import Stream
from sfumato.table import Table
from sfumato.text import join_names
from sfumato.trees import CLASS, Similarity, Tree, c45, compare_trees

HARDLY = 0.01
"""A column of which a smaller share of values changed is named in a warning."""


@dataclass(frozen=True, eq=False)
class Perturbed:
    """A perturbed table and what is to be said of it.

    Attributes
    ----------
    table
        The release: the same rows in the same order, but for those that were left out.
    changed
        For every column, and the class, the share of its cells that differ from the original.
    public
        What the manifest says beside the parameters.
    owner
        Figures of the original table, for the owner alone.
    warnings
        Sentences for the owner, above all the columns that stayed in clear.
    similarity
        Likeness of the release's tree to the owner's, where draws were compared (`best_of` above 1).
    left_out
        The rows of the original that have none in the release.
    """

    table: Table
    changed: Mapping[str, float]
    public: Mapping[str, Any] = field(default_factory=dict)
    owner: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    similarity: Similarity | None = None
    left_out: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, original: Table, table: Table, target: str = CLASS, **more: Any) -> Perturbed:
        """Measure what changed, and name the columns that stayed in clear."""
        changed = changed_shares(original, table, target)
        clear = [name for name, share in changed.items() if share == 0 and name != target]
        warnings = list(more.pop("warnings", ()))
        if clear:
            warnings.append(
                f"{join_names(clear, 30)}: released as in the original; whoever knows these values finds the record by them. "
                "Withhold the columns, or perturb them by another method"
            )
        hardly = [name for name, share in changed.items() if 0 < share < HARDLY and name != target]
        if hardly:
            warnings.append(
                f"{join_names(hardly, 30)}: fewer than {HARDLY:.0%} of the values changed, which protects hardly anybody; raise "
                "the noise, or perturb them by another method"
            )
        return cls(table, changed, warnings=tuple(warnings), **more)


@dataclass(frozen=True)
class TreeMethod(Method):
    """One way to perturb a table around its decision tree. Subclasses are frozen dataclasses of their parameters."""

    best_of: int = parameter(
        1, "draws among which the one whose tree is most like the original is released; costs log2 of it in bits"
    )

    @classmethod
    def plan(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the method with these parameters."""
        return cls.from_dict(parameters)

    def __post_init__(self) -> None:
        if self.best_of < 1:
            raise UsageError(f"{self.law}: best_of = {self.best_of} leaves nothing to release; give 1 or more")

    def perturb(self, table: Table, stream: Stream, *, tree: Tree | None = None, target: str = CLASS) -> Perturbed:
        """The perturbed table. `tree` is the owner's, grown here unless given; `target` is what the class is called."""
        if table.classes is None or not table.labels:
            raise UsageError(f"{self.law} perturbs around a decision tree and needs a class; name the target column")
        if not table.rows:
            raise DataError(f"{self.law}: the table has no rows; there is nothing to release")
        if not table.columns:
            raise UsageError(f"{self.law}: the table has no column beside the class; there is no tree to grow")
        if self.leaves_rare_out and (rare := rare_records(table.classes)).any():
            return self._without(rare, table, stream, tree, target)
        owned = c45(table, target=target) if tree is None else tree
        prepared = self._prepared(table, owned, target)
        if self.best_of == 1:
            return self._draw(table, prepared, stream, target)
        best: Perturbed | None = None
        seen: list[float] = []
        for _ in range(self.best_of):
            draw = self._draw(table, prepared, stream, target)
            found = compare_trees(owned, c45(draw.table, target=target), table)
            seen.append(found.rule_similarity)
            if best is None or _rank(found) > _rank(best.similarity):
                best = replace(draw, similarity=found)
        assert best is not None
        return replace(best, owner={**best.owner, "rule_similarity_of_draws": seen})

    @property
    def leaves_rare_out(self) -> bool:
        """Whether records of rare classes are left out (see `rare_classes`)."""
        return False

    def _without(
        self, rare: NDArray[np.bool_], table: Table, stream: Stream, tree: Tree | None, target: str
    ) -> Perturbed:
        """The release of the table as it would be without some of its people."""
        assert table.classes is not None
        if rare.all():
            raise UsageError(
                f"{self.law}: every leaf and class is a small cell: no class has {FEWEST} records, and nobody could be "
                "hidden; choose another column as the target"
            )
        done = self.perturb(table.take(~rare), stream, tree=tree, target=target)
        rest = np.flatnonzero(~rare)
        out = np.union1d(np.flatnonzero(rare), rest[done.left_out])
        counts = np.bincount(table.classes + 1, minlength=len(table.labels) + 1)
        return replace(done, left_out=out, warnings=(rare_note(counts, table.labels, target), *done.warnings))

    def _prepared(self, table: Table, tree: Tree, target: str) -> Any:  # noqa: ARG002
        """What all draws share: the owner's leaves."""
        return Leaves.of(tree, table)

    @abstractmethod
    def _draw(self, table: Table, prepared: Any, stream: Stream, target: str) -> Perturbed:
        """One release."""


def changed_shares(original: Table, released: Table, target: str = CLASS) -> dict[str, float]:
    """The share of cells of each column, and of the class, that differ; missing in both is the same."""
    out = {}
    for before, after in zip(original.columns, released.columns, strict=True):
        same = (before.values == after.values) | (np.isnan(before.values) & np.isnan(after.values))
        out[before.name] = float(np.mean(~same)) if len(same) else 0.0
    if original.classes is not None and released.classes is not None:
        out[target] = float(np.mean(original.classes != released.classes)) if original.rows else 0.0
    return out


def with_values(table: Table, values: Mapping[str, FloatArray], classes: IntArray | None = None) -> Table:
    """The table with other values in some columns, and other classes if given."""
    columns = tuple(replace(c, values=values[c.name]) if c.name in values else c for c in table.columns)
    return Table(columns, table.classes if classes is None else classes, table.labels)


def choice(law: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among the allowed ones."""
    if value not in allowed:
        raise UsageError(f"{law}: {name} = {value!r} is unknown; choose {' or '.join(allowed)}")


def probability(law: str, **values: float) -> None:
    """Refuse numbers outside [0, 1]."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{law}: {name} = {value} is no probability; give a number from 0 to 1")


def _rank(found: Similarity | None) -> tuple[float, float]:
    return (-1.0, -1.0) if found is None else (found.rule_similarity, found.agreement)

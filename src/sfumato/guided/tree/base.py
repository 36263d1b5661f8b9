"""What every perturbation around a tree has in common: parameters in fields, one call for the owner's table.

The public statement of a method is its parameters. Figures of the original table (how many labels were changed, the
owner's tree, what was expected) stay with the owner.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.engines import Needs
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import METHODS, Method, Pattern, Perturbed, parameter
from sfumato.guided.exposed_rows import MIN_CLASS_ROWS, is_rare_row, rare_note
from sfumato.guided.tree.owner_tree import Leaves, Segments
from sfumato.randomness import Stream
from sfumato.releases import Manifest
from sfumato.table import Original, Table, require_original
from sfumato.trees import Similarity, Tree, c45, compare_trees


@dataclass(frozen=True, eq=False)
class Redraw:
    """How the values of one column are drawn anew, given its tree and counts by leaf: all that a worker has to know.

    Attributes
    ----------
    shuffle
        Whether a leaf's own values are dealt out again in random order.
    laws
        By node, the law that every value is drawn from on its own.
    flip
        The chance of every value to become any other.
    kin, kin_size, p
        By node the majorities of its siblings, how many there are, and the chance to take one of them.
    v
        The chance to take any value of the domain.
    """

    shuffle: bool = False
    laws: FloatArray | None = None
    flip: float | None = None
    kin: IntArray | None = None
    kin_size: IntArray | None = None
    p: float = 0.0
    v: float = 0.0


@dataclass(frozen=True)
class Exchange:
    """How values are exchanged among the rows of one leaf and class, where an engine brings these together."""

    least: int
    """Cells with fewer rows are small."""
    small: str
    """What happens to the rows of small cells."""
    leaves_rare_out: bool


@dataclass(frozen=True)
class TreeMethod(Method):
    """One way to perturb a table around its decision tree. Subclasses are frozen dataclasses of their parameters."""

    pattern: ClassVar[Pattern] = Pattern.TREE
    uses: ClassVar[str] = (
        "A decision tree grown from it comes near the owner's. Other statistics of the modified columns are off by an amount "
        "that no law states, and cannot be corrected"
    )
    best_of: int = parameter(
        1, "draws among which the one whose tree is most like the original is released; costs log2 of it in bits"
    )

    @classmethod
    def plan(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the method with these parameters."""
        return cls.from_dict(parameters)

    @property
    def exchange(self) -> Exchange | None:
        """How the method exchanges values between rows; None where it draws each value anew."""
        return None

    def __post_init__(self) -> None:
        if self.best_of < 1:
            raise UsageError(f"{self.law}: best_of = {self.best_of} leaves nothing to release; give 1 or more")

    def perturb(self, table: Original, stream: Stream, *, tree: Tree | None = None) -> Perturbed:
        """Perturb the table; `tree` is the owner's, grown here unless given."""
        table = require_original(table, self.law)
        if table.target is None:
            raise UsageError(f"{self.law} perturbs around a decision tree and needs a class; name the target column")
        if not table.rows:
            raise DataError(f"{self.law}: the table has no rows; there is nothing to release")
        if not table.columns:
            raise UsageError(f"{self.law}: the table has no column beside the class; there is no tree to grow")
        if self.leaves_rare_out and (rare := is_rare_row(table.codes)).any():
            return self._perturb_without(rare, table, stream, tree)
        owned = c45(table) if tree is None else tree
        prepared = self._prepare(table, owned)
        if self.best_of == 1:
            return self._draw(table, prepared, stream)
        best: Perturbed | None = None
        seen: list[float] = []
        for _ in range(self.best_of):
            draw = self._draw(table, prepared, stream)
            similarity = compare_trees(owned, c45(draw.table), table)
            seen.append(similarity.rule_similarity)
            if best is None or _rank(similarity) > _rank(best.similarity):
                best = replace(draw, similarity=similarity)
        assert best is not None
        return replace(best, owner={**best.owner, "rule_similarity_of_draws": seen})

    @property
    def leaves_rare_out(self) -> bool:
        """Whether rows of rare classes are left out (see `exposed_rows`)."""
        return False

    def rows_kept(self, table: Original, *, by_counts: bool) -> BoolArray | None:  # noqa: ARG002 - what a method may ask for
        """Return the rows that a release holds whatever is drawn; None where the method leaves none out."""
        return ~is_rare_row(table.codes) if self.leaves_rare_out else None

    def _perturb_without(self, rare: BoolArray, table: Original, stream: Stream, tree: Tree | None) -> Perturbed:
        """Perturb the table as if the rows of rare classes were not in it."""
        if rare.all():
            raise UsageError(
                f"{self.law}: every leaf and class is a small cell: no class has {MIN_CLASS_ROWS} records, and no one could be "
                "hidden; choose another column as the target"
            )
        done = self.perturb(table.take(~rare), stream, tree=tree)
        rest = np.flatnonzero(~rare)
        out = np.union1d(np.flatnonzero(rare), rest[done.left_out])
        counts = np.bincount(table.codes + 1, minlength=len(table.labels) + 1)
        return replace(
            done, left_out=out, warnings=(rare_note(counts, table.labels, table.required_target.name), *done.warnings)
        )

    def _prepare(self, table: Original, tree: Tree) -> Any:
        """Return what all draws share: the owner's leaves."""
        return Leaves.of(tree, table)

    def for_counts(self) -> Self:
        """Return the method as it is done by counts; raise UsageError where its parameters need all rows in memory."""
        if self.needs is not Needs.COUNTS:
            raise UsageError(
                f"{self.law} needs the whole table in the memory of one machine; run it with engine=Local()"
            )
        if self.best_of != 1:
            raise UsageError(f"{self.law}: best_of above 1 compares whole releases; run it with engine=Local()")
        return self

    def redrawn_columns(self, mined: Table) -> tuple[str, ...]:
        """Return the columns that are drawn anew by counts, the target or categorical ones."""
        return (mined.required_target.name,)

    def redraw(self, segments: Segments) -> Redraw:
        """Return how a column is drawn anew, from its tree and the counts of all rows in it."""
        raise NotImplementedError(f"{self.law} is not done by drawing columns anew")

    @property
    def limits(self) -> list[str]:
        """What the manifest says a recipient cannot rely on: rules that hold for any table, and no count of this one."""
        return []

    @abstractmethod
    def _draw(self, table: Original, prepared: Any, stream: Stream) -> Perturbed:
        """Return one release."""


def find_kept_rows(manifest: Manifest, original: Original) -> BoolArray | None:
    """Return which rows of the original a release holds, as its owner can find again without the key.

    Rare classes follow from the class alone; small cells that were suppressed follow from the tree, which the same table grows
    again. None where the method leaves no row out, or where it cannot be said: it depends on a draw (labels dealt out first; a row
    alone in its leaf whom no other leaf has anything for), or a sample chose the tree.
    """
    stated = manifest.method or {}
    law = str(stated.get("law"))
    if law not in METHODS or original.target is None:
        return None
    method = METHODS[law].plan({k: v for k, v in stated.items() if k != "law"})
    if not isinstance(method, TreeMethod):
        return None
    by_counts = bool(manifest.extra.get("public", {}).get("by_counts"))
    kept = method.rows_kept(original, by_counts=by_counts)
    return kept if kept is not None and int(kept.sum()) == manifest.data.rows else None


def check_choice(law: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among the allowed ones."""
    if value not in allowed:
        raise UsageError(f"{law}: {name} = {value!r} is unknown; choose {' or '.join(allowed)}")


def check_probability(law: str, **values: float) -> None:
    """Refuse numbers outside [0, 1]."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{law}: {name} = {value} is not a probability; give a number from 0 to 1")


def _rank(similarity: Similarity | None) -> tuple[float, float]:
    return (-1.0, -1.0) if similarity is None else (similarity.rule_similarity, similarity.agreement)

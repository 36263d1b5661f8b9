"""One release beside its original: what attacks are granted from, and what their claims are compared with.

The original is read as the manifest of the release says. It is what only its owner has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks import Belief, Grants, Knowledge, Pairs, View, learn_beliefs
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Engine
from sfumato.errors import GIVE_SAME_TABLE, DataError, UsageError
from sfumato.guided import find_kept_rows
from sfumato.reconstruction import paper_size
from sfumato.releases import (
    Manifest,
    Release,
    RowSample,
    as_release,
    check_same_rows,
    count_original,
    gather_sample,
    read_original,
)
from sfumato.schema import Attribute, Role
from sfumato.table import Column, Original, require_original

Truth = dict[str, FloatArray]


def attributes_of(manifest: Manifest) -> dict[str, Attribute]:
    """Return the released attributes that hold something to protect, the class among them."""
    return {c.attribute.name: c.attribute for c in manifest.columns if c.attribute.role is not Role.IDENTIFIER}


def truth_of(manifest: Manifest, original: Original) -> Truth:
    """Return the columns of the original by name, in the order of the manifest."""
    values = {c.name: c.values for c in original.all_columns}
    return {name: values[name] for name in attributes_of(manifest)}


def original_of(release: Release, table: Any, encoding: str = "utf-8") -> tuple[Original, IntArray]:
    """Return the original of a release, row for row, and the numbers of its rows: some methods leave people out."""
    original = read_original(table, release.manifest, encoding=encoding)
    rows = np.arange(original.rows)
    if original.rows != release.manifest.data.rows and (kept := find_kept_rows(release.manifest, original)) is not None:
        original, rows = original.take(kept), np.flatnonzero(kept)
    check_rows(release, original.rows)
    return original, rows


def check_rows(release: Release, rows: int) -> None:
    """Raise DataError unless the original has as many rows as the release."""
    if rows != (stated := release.manifest.data.rows):
        raise DataError(f"the original has {rows:,} rows and the release {stated:,}; {GIVE_SAME_TABLE}")


def distribution(column: Column, truth: FloatArray) -> tuple[Grid, FloatArray]:
    """Return the true distribution of a column, on cells coarse enough to say nothing of single people."""
    known = truth[~np.isnan(truth)]
    grid = column.true_grid(paper_size(max(len(known), 1)))
    if not len(known):
        return grid, np.full(grid.size, 1.0 / grid.size)
    return grid, np.bincount(grid.locate(known), minlength=grid.size) / len(known)


def sample_rows(
    release: Release, original: Any, engine: Engine, size: int, encoding: str, others: Sequence[Release] = ()
) -> tuple[RowSample, ...]:
    """Return the same rows of the original, the release and the others: at most `size`, chosen by a hash of their numbers."""
    true = gather_sample(count_original(original, release.manifest, engine, encoding=encoding), size)
    check_rows(release, true.of)
    seen = [gather_sample(made.count_table(engine), size) for made in (release, *others)]
    for made, part in zip((release, *others), seen, strict=True):
        if not np.array_equal(part.rows, true.rows):
            raise DataError(
                f"the rows of the original have no numbers that tell which row of {made.folder} is theirs; give the files that the "
                "release was made from, or name the column of row numbers"
            )
    return true, *seen


@dataclass(frozen=True, eq=False)
class Case:
    """The rows of a release with their true values, and the people and rows that attackers are said to know."""

    manifest: Manifest
    view: View
    truth: Truth
    rows: IntArray
    """The numbers of the rows in the original."""
    others: tuple[View, ...] = ()
    redrawn: tuple[View, ...] = ()
    """Releases that only the ledger knows, drawn again under their laws."""
    people: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    """The rows of the people who are attacked one by one."""
    columns: tuple[str, ...] = ()
    """The columns that somebody who links people knows."""
    control: Truth | None = None
    """People who are not in the release."""
    known: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    """The rows that attackers know who know rows."""
    seed: int = 0

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The released attributes by their names."""
        return attributes_of(self.manifest)

    def choose_people(
        self, control: Any, known: Sequence[str] | None, *, targets: int, seed: int, encoding: str
    ) -> Case:
        """Return the case with the people and rows that attackers know, chosen by chance; `known` names columns."""
        known_share, min_known = 0.02, 30  # an attacker who knows rows knows 2 %, or 30 where that is less than a fifth
        if targets < 1:
            raise UsageError(f"targets = {targets}: an audit needs at least one person to attack")
        for name in known or ():
            self.view[name]
        rows = self.view.rows
        order = np.random.default_rng(seed).permutation(rows)
        people = np.sort(order[: min(targets, rows)])
        few = max(2 * len(self.view.numeric) + 2, int(known_share * rows), min(min_known, rows // 5))
        outside = None
        if control is not None:
            remedy = "give people who are not in the release, in a table of the same columns"
            outsiders = read_original(control, self.manifest, encoding=encoding, remedy=remedy)
            outside = truth_of(self.manifest, outsiders)
            people = people[: len(next(iter(outside.values())))]
        return replace(
            self,
            people=people,
            columns=tuple(known or self.view.names),
            control=outside,
            known=np.sort(order[::-1][:few]),
            seed=seed,
        )

    def grants(self, knowledge: Collection[Knowledge], *, outside: bool = False) -> Grants:
        """Return what an attack of this knowledge is granted; `outside` puts the control group in the place of the people."""
        return Grants(
            self.view,
            seed=self.seed,
            pairs=self.pairs,
            people=self.secrets(outside=outside),
            columns=self.columns,
            among=self.people,
            without=self.people if outside and self.control is None else None,
            others=self.others,
            redrawn=self.redrawn,
            population=self.population,
        ).only(knowledge)

    @cached_property
    def pairs(self) -> Pairs:
        """The known rows with their true values."""
        return Pairs(self.known, {n: self.truth[n][self.known] for n in self.view.names})

    @cached_property
    def learned(self) -> Mapping[str, Belief]:
        """Beliefs about guided columns, whose law is learned from the known rows."""
        return learn_beliefs(self.view, self.pairs)

    @cached_property
    def population(self) -> Mapping[str, tuple[Grid, FloatArray]]:
        """The true distribution of each column."""
        return {c.name: distribution(c, self.truth[c.name]) for c in self.view.columns}

    def secrets(self, *, outside: bool = False) -> Truth:
        """Return the true values of the people, or of the control group: people of another table, or the same ones.

        The same people serve as a control because their rows are struck from the release.
        """
        if outside and self.control is not None:
            return {n: v[: len(self.people)] for n, v in self.control.items()}
        return {n: v[self.people] for n, v in self.truth.items()}


def read_case(
    release: Release,
    original: Any,
    others: Sequence[Release | str | Path],
    *,
    engine: Engine,
    sample: int,
    encoding: str,
) -> Case:
    """Read a release, its original and other releases of the same rows; a sample of them where the engine does not gather rows."""
    opened = [as_release(o) for o in others]
    if engine.gathers:
        true, rows = original_of(release, original, encoding)
        truth = truth_of(release.manifest, true)
        views = [View.of(release), *(read_beside(o, rows, original, encoding) for o in opened)]
    else:
        original_rows, *seen = sample_rows(release, original, engine, sample, encoding, opened)
        truth = truth_of(release.manifest, require_original(original_rows.table, "an audit"))
        views = [View.of(made, part.table) for made, part in zip((release, *opened), seen, strict=True)]
        rows = original_rows.rows
    if not views[0].columns:
        raise UsageError(f"{release.folder} releases no column beside the identifier; there is nothing to audit")
    check_same_rows(views[0].columns, truth, views[0].guided)
    return Case(release.manifest, views[0], truth, rows, tuple(views[1:]))


def read_beside(other: Release, rows: IntArray, original: Any, encoding: str) -> View:
    """Return what is seen of another release, in the rows that are given by their numbers in the original."""
    view = View.of(other)
    if view.rows == len(rows):
        return view
    own = original_of(other, original, encoding)[1]
    if not np.isin(rows, own).all():
        raise DataError(
            f"{other.folder} leaves rows out that the release has; audit that one instead, with this one beside it"
        )
    return view.take(np.searchsorted(own, rows))

"""One release beside its original: what attacks are granted from, and what their claims are compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks import Belief, Grants, Knowledge, Pairs, View, learn_beliefs
from sfumato.auditing.sample import read_sample
from sfumato.auditing.truth import Truth, attributes_of, distribution, original_of, truth_of
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.releases import Manifest, Release, as_release, check_same_rows, read_original
from sfumato.schema import Attribute


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
    """Releases that the ledger knows and nobody gave, drawn again under their laws."""
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
        known_share, min_known = (
            0.02,
            30,
        )  # an attacker who knows rows knows 2 %, or thirty where that is less than a fifth
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
        truth, views, rows = read_sample(release, original, opened, engine, sample, encoding)
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

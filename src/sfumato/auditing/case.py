"""One release beside its original and beside other releases of the same rows: what attacks are granted from, and compared with.

The original is read as the manifest of the release says. It is what only its owner has. Of other releases the owner's ledger knows.
It keeps no data, so where a folder is not at hand its release is drawn again from the original under the law that the ledger names,
with noise of its own. That is not the other release, but it is one of the same law: what averaging leaves is alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks import Belief, Grants, Knowledge, Pairs, RowGroups, View, learn_beliefs
from sfumato.auditing.score import Finding
from sfumato.channels import CHANNELS, Channel
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Engine
from sfumato.errors import GIVE_SAME_TABLE, DataError, UsageError
from sfumato.guided import find_kept_rows
from sfumato.randomness import SecretKey
from sfumato.releases import (
    Entry,
    Ledger,
    Manifest,
    Release,
    RowOrder,
    RowSample,
    as_release,
    check_same_rows,
    count_original,
    gather_sample,
    read_original,
)
from sfumato.schema import Attribute, Role
from sfumato.table import Column, Original, require_original
from sfumato.text import OWNER_KEY

Truth = dict[str, FloatArray]


def attributes_of(manifest: Manifest) -> dict[str, Attribute]:
    """Return the released attributes that hold something to protect, the class among them."""
    return {c.attribute.name: c.attribute for c in manifest.columns if c.attribute.role is not Role.IDENTIFIER}


def truth_of(manifest: Manifest, original: Original) -> Truth:
    """Return the columns of the original by name, in the order of the manifest."""
    values = {c.name: c.values for c in original.all_columns}
    return {name: values[name] for name in attributes_of(manifest)}


def original_of(
    release: Release, table: Any, encoding: str | None = None, key: SecretKey | str | Path | None = None
) -> tuple[Original, IntArray]:
    """Return the original of a release, row for row, and the numbers of its rows: methods leave people out, or rows were shuffled."""
    original = read_original(table, release.manifest, encoding=encoding)
    rows = np.arange(original.rows)
    if original.rows != release.manifest.data.rows and (kept := find_kept_rows(release.manifest, original)) is not None:
        original, rows = original.take(kept), np.flatnonzero(kept)
    check_rows(release, original.rows)
    if release.manifest.shuffled:
        if key is None and not Path(OWNER_KEY).exists():
            raise UsageError(
                f"the rows of {release.folder} were shuffled, and there is no {OWNER_KEY} here; give the key of its owner with key= "
                "to undo it"
            )
        order = RowOrder.of(OWNER_KEY if key is None else key, release.manifest.salt).rows(original.rows)
        original, rows = original.take(order), rows[order]
    return original, rows


def check_rows(release: Release, rows: int) -> None:
    """Raise DataError unless the original has as many rows as the release."""
    if rows != (stated := release.manifest.data.rows):
        raise DataError(f"the original has {rows:,} rows and the release {stated:,}; {GIVE_SAME_TABLE}")


def distribution(column: Column, truth: FloatArray) -> tuple[Grid, FloatArray]:
    """Return the true distribution of a column, on cells coarse enough to say nothing of single people.

    Neighbouring cells of numbers are joined until each holds several people: many narrow cells where most people are, and few in
    the tails.
    """
    max_cells, min_people = 100, 8
    known = truth[~np.isnan(truth)]
    grid = column.true_grid(max_cells)
    if not len(known):
        return grid, np.full(grid.size, 1.0 / grid.size)
    counts = np.bincount(grid.locate(known), minlength=grid.size)
    if column.attribute.kind.numeric and grid.edges is not None:
        first = join_cells(counts, min_people)
        counts = np.add.reduceat(counts, first)
        grid = replace(grid, edges=grid.edges[np.append(first, grid.size)])
    return grid, counts / len(known)


def join_cells(counts: IntArray, least: int) -> IntArray:
    """Return where groups of neighbouring cells begin that hold at least `least` each; all cells are one group where they hold less.

    Examples
    --------
    >>> join_cells(np.array([3, 9, 0, 4, 5, 1]), 8).tolist()
    [0, 2]
    """
    first, held = [0], 0
    for place, count in enumerate(counts):
        if held >= least:
            first.append(place)
            held = 0
        held += int(count)
    if held < least and len(first) > 1:
        first.pop()
    return np.array(first)


def sample_rows(
    release: Release, original: Any, engine: Engine, size: int, encoding: str | None, others: Sequence[Release] = ()
) -> tuple[RowSample, ...]:
    """Return the same rows of the original, the release and the others: at most `size`, chosen by a hash of their numbers."""
    if any(made.manifest.shuffled for made in (release, *others)):
        raise UsageError("the rows of a release were shuffled, and only engine=Local() puts them in order again")
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
    groups: RowGroups | None = None
    """Which rows are one person's, where people have several."""

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The released attributes by their names."""
        return {c.name: c.attribute for c in self.view.columns}

    @classmethod
    def in_memory(cls, view: View, truth: Truth, *, targets: int = 500, seed: int = 0) -> Case:
        """Return the case of columns that were never written to a folder, with its people chosen."""
        return cls(view, truth, np.arange(view.rows)).choose_people(None, None, targets=targets, seed=seed)

    def choose_people(self, outside: Truth | None, known: Sequence[str] | None, *, targets: int, seed: int) -> Case:
        """Return the case with the people and rows that attackers know, chosen by chance; `known` names columns.

        `outside` are people who are not in the release.
        """
        known_share, min_known = 0.02, 30  # an attacker who knows rows knows 2 %, or 30 where that is less than a fifth
        if targets < 1:
            raise UsageError(f"targets = {targets}: an audit needs at least one person to attack")
        for name in known or ():
            self.view[name]
        rows = self.view.rows
        order = np.random.default_rng(seed).permutation(rows)
        people = np.sort(order[: min(targets, rows)])
        few = max(2 * len(self.view.numeric) + 2, int(known_share * rows), min(min_known, rows // 5))
        if outside is not None:
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
            groups=self.groups,
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
    encoding: str | None,
    key: SecretKey | str | Path | None = None,
) -> Case:
    """Read a release, its original and other releases of the same rows; a sample of them where the engine does not gather rows."""
    opened = [as_release(o) for o in others]
    if engine.gathers:
        true, rows = original_of(release, original, encoding, key)
        truth = truth_of(release.manifest, true)
        views = [View.of(release), *(read_beside(o, rows, original, encoding, key) for o in opened)]
    else:
        original_rows, *seen = sample_rows(release, original, engine, sample, encoding, opened)
        truth = truth_of(release.manifest, require_original(original_rows.table, "an audit"))
        views = [View.of(made, part.table) for made, part in zip((release, *opened), seen, strict=True)]
        rows = original_rows.rows
    if not views[0].columns:
        raise UsageError(f"{release.folder} releases no column beside the identifier; there is nothing to audit")
    check_same_rows(views[0].columns, truth, views[0].guided)
    return Case(views[0], truth, rows, tuple(views[1:]))


def read_control(manifest: Manifest, table: Any, encoding: str | None = None) -> Truth:
    """Read people who are not in the release, from a table of the same columns."""
    remedy = "give people who are not in the release, in a table of the same columns"
    return truth_of(manifest, read_original(table, manifest, encoding=encoding, remedy=remedy))


def read_beside(
    other: Release, rows: IntArray, original: Any, encoding: str | None, key: SecretKey | str | Path | None = None
) -> View:
    """Return what is seen of another release, in the rows that are given by their numbers in the original."""
    view = View.of(other)
    if view.rows == len(rows) and not other.manifest.shuffled and bool(np.all(np.diff(rows) > 0)):
        return view
    own = original_of(other, original, encoding, key)[1]
    if not np.isin(rows, own).all():
        raise DataError(
            f"{other.folder} leaves rows out that the release has; audit that one instead, with this one beside it"
        )
    order = np.argsort(own)
    return view.take(order[np.searchsorted(own, rows, sorter=order)])


@dataclass(frozen=True)
class Repeats:
    """Other releases of the same rows: which columns each gives fresh noise, and whether rows stand in the same places."""

    own: Entry
    others: Mapping[str, tuple[Entry, tuple[str, ...], bool]] = field(default_factory=dict)
    """By name and time: the entry, its columns of independent noise, whether its rows have the same addresses."""

    def views(self) -> dict[str, int]:
        """Return for every column the number of releases with noise of their own, this one included."""
        seen: dict[str, set[object]] = {name: {noise} for name, noise in self.own.noise.items()}
        for key, (entry, columns, placed) in self.others.items():
            for name in columns:
                seen[name].add(entry.noise[name] if placed else (key, entry.noise[name]))
        return {name: len(noises) for name, noises in seen.items()}

    def widths(self, view: View) -> dict[str, tuple[float, float]]:
        """Return for every additive column the 95 % interval of this release and that of the best average, (Σ W⁻²)^(−1/2)."""
        out = {}
        for column in view.columns:
            own = column.channel
            others = {
                e.noise[column.name] if placed else (key, e.noise[column.name]): e
                for key, (e, names, placed) in self.others.items()
                if column.name in names
            }
            if own is None or not column.attribute.kind.numeric or not others:
                continue
            width = own.interval_width(0.95)
            laws = [law for e in others.values() if (law := self._law(e, column)) is not None]
            apart = [width, *(law.interval_width(0.95) for law in laws)]
            if laws and min(apart) > 0:
                out[column.name] = (width, float(np.sum(np.array(apart) ** -2.0) ** -0.5))
        return out

    @staticmethod
    def _law(entry: Entry, column: Column) -> Channel | None:
        """The law that the ledger names; None for a guided method, which has no law value by value."""
        law = entry.laws[column.name]
        return Channel.from_dict(law) if law["law"] in CHANNELS else None

    def redraw(self, view: View, truth: Truth, given: Collection[str], seed: int) -> tuple[View, ...]:
        """Draw the others again, save those whose folders were given, and those whose rows stand in other places."""
        max_redrawn = 12  # more releases are counted, but no longer drawn
        out: list[View] = []
        at_hand = list(given)
        for key, (entry, names, placed) in list(self.others.items())[:max_redrawn]:
            laws = {c.name: self._law(entry, c) for c in view.columns if c.name in names and c.channel is not None}
            if entry.name in at_hand:
                at_hand.remove(entry.name)  # one folder stands for one entry of its name
                continue
            if not placed or not any(laws.values()):
                continue
            # No secret: chance for an experiment, repeated under its seed.
            noise = SecretKey(np.random.default_rng([seed, len(out)]).bytes(32))
            drawn = tuple(
                Column(view[n].attribute, None, truth[n]).through(law, noise.derive(key, n))
                for n, law in laws.items()
                if law is not None
            )
            out.append(View(drawn, name=entry.name))
        return tuple(out)

    def to_dict(self, view: View, given: Collection[str], findings: Collection[Finding]) -> dict[str, Any]:
        """Return what the report says: how many there are, what averaging should leave, and what it left."""
        measured = next((f.left for f in findings if f.name == "averaging"), {})
        widths = self.widths(view)
        views = {n: k for n, k in self.views().items() if k > 1}
        return {
            "releases_known_to_the_ledger": 1 + len(self.others),
            "names": [entry.name for entry, _, _ in self.others.values()],
            "given_as_folders": sorted(set(given) & {e.name for e, _, _ in self.others.values()}),
            "in_another_order": sum(not placed for _, _, placed in self.others.values()),
            "columns": {
                name: {
                    "independent_draws": k,
                    "interval_width_95": widths[name][0] if name in widths else None,
                    "expected_after_averaging": widths[name][1] if name in widths else None,
                    "measured_after_averaging": measured[name][0] if name in measured else None,
                }
                for name, k in views.items()
            },
        }


def find_repeats(ledger: Ledger, manifest: Manifest) -> Repeats:
    """Return other releases of the rows of this one, as the ledger beside the owner's key has them."""
    known = ledger.entries()
    own = [e for e in known if e.name == manifest.name and e.sketch.rows == manifest.data.rows]
    if not own:
        raise UsageError(
            f"the ledger {ledger.path} knows no release {manifest.name!r} of {manifest.data.rows:,} rows; "
            "give the key that the release was made with, or leave it out"
        )
    stated = {c.attribute.name: c.channel.to_dict() for c in manifest.columns if c.channel is not None}
    # A name may be released again under another law.
    this = next((e for e in reversed(own) if e.laws == stated), own[-1])
    others = {}
    for number, entry in enumerate(known):
        counts = entry.published and entry is not this  # only the owner has seen a draft
        columns = tuple(n for n in this.columns_redrawn_by(entry) if n in this.noise) if counts else ()
        if columns:
            others[f"{number}:{entry.name}"] = (entry, columns, not this.columns_moved_in(entry))
    return Repeats(this, others)

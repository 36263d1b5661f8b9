"""What an attacker sees, what an attack is granted, and what it claims. No signature here has a place for the original.

An attack is a frozen dataclass: its fields are the knowledge that it is granted, `run` takes what anybody sees of a release, and
what comes back is a claim. Only `sfumato.auditing.score` compares a claim with the truth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from sfumato.attacks._belief import CONFIDENCE, Belief, RankedLabels
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, scatter
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.releases import Manifest, Release
from sfumato.schema import find_column
from sfumato.table import Column, Original, Table

ATTACKS: dict[str, type[Attack]] = {}
"""Every attack by its name; importing its module enters it here."""
CHUNK = 2048
"""Rows whose posteriors are held at a time."""
PEOPLE = "share of people found"
"""The unit of attacks that find the rows of people."""


@dataclass(frozen=True, eq=False)
class View:
    """What anybody sees of one release: its columns with their laws (the class is one of them), and its name.

    ``noise`` is the covariance of the noise of the numeric columns, in their order, where it is known better than from the
    laws of the columns and the joint law that some of them may share.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    name: str = ""
    noise: FloatArray | None = None
    guided: Mapping[str, str] = field(default_factory=dict)
    """Columns that a method bent around a pattern of the table, and which: no law of single values is stated for them."""

    @classmethod
    def of(cls, release: Release, table: Table | None = None) -> View:
        """What a recipient of the release sees; `table` holds some of its rows where not all are looked at."""
        table = release.read_table() if table is None else table
        if isinstance(table, Original):
            raise UsageError("a view shows a release, and this is an original; give rows of the release")
        target = release.manifest.schema.target
        guided = {c.attribute.name: c.guided for c in release.manifest.columns if c.guided is not None}
        return cls(table.all_columns, target.name if target else None, release.manifest.name, guided=guided)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def __getitem__(self, name: str) -> Column:
        return find_column(self.columns, name)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def numeric(self) -> tuple[Column, ...]:
        """The columns with distances that vary at all."""
        return tuple(c for c in self.columns if c.attribute.kind.numeric and _varies(c.values))

    @cached_property
    def beliefs(self) -> Mapping[str, Belief]:
        """For every column: the reconstructed distribution, and the posterior of each released cell."""
        return {c.name: Belief.of(c) for c in self.columns}

    def with_beliefs(self, beliefs: Mapping[str, Belief]) -> View:
        """Return the view of somebody who knows the distributions already, so that nothing is reconstructed."""
        known = replace(self)
        known.__dict__["beliefs"] = beliefs
        return known

    def is_clear(self, name: str) -> bool:
        """Whether a column is released as it is: no law and no guided method changed it."""
        return self[name].channel is None and name not in self.guided

    @cached_property
    def tree_growth(self) -> tuple[bool, Any]:
        """How a miner would grow a tree of the class and cut it back (`choose_growth`): as well for some of the rows as for all."""
        from sfumato.trees import choose_growth

        table = self.classes()
        if table is None:
            raise UsageError("the release has no class of labels; a tree needs one")
        return choose_growth(table, "byclass")

    @cached_property
    def table_model(self) -> Any:
        """The model of all columns together, as an intruder fits it in a second."""
        from sfumato.attacks.table_posterior import fit_view

        return fit_view(self)

    def take(self, rows: BoolArray | IntArray) -> View:
        """Some of the rows."""
        part = replace(self, columns=tuple(c.take(rows) for c in self.columns))
        if "beliefs" in self.__dict__:
            # What the whole release taught is kept: only the rows are fewer.
            part.__dict__["beliefs"] = {c.name: replace(self.beliefs[c.name], column=c) for c in part.columns}
        return part

    def classes(self) -> Table | None:
        """The release as a miner takes it, if it has a class of labels."""
        if self.target is None or self[self.target].attribute.kind.numeric:
            return None
        target = self[self.target]
        rest = tuple(c for c in self.columns if c.name != self.target)
        return Table(rest, target) if rest else None


@dataclass(frozen=True, eq=False)
class Targets:
    """People of whom the intruder knows some true values, but not which row is theirs.

    ``without`` serves controls only: for each target a row that is struck from the release before the attack, so that the
    release is as if it had been made without the target. Rows are blurred one by one, so nothing else would differ.
    """

    known: Mapping[str, FloatArray]
    without: IntArray | None = None

    @property
    def size(self) -> int:
        """Number of people."""
        return len(next(iter(self.known.values()))) if self.known else 0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows whose true values the intruder happens to know, such as their own and their friends'."""

    rows: IntArray
    values: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Which rows are one person's: a number per row, the same for the same person, and in no order that means anything.

    ``shared`` says whether equal values of a person have the same noise.
    """

    person: IntArray
    shared: bool = False


class Claimed(Protocol):
    """Sets in which an attack places the values, each with 95 %."""

    @property
    def grid(self) -> Grid:
        """The true cells."""

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The rows that have a set, some at a time, with their posterior over the true cells."""

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place its set holds; NaN where there is none."""


@dataclass(frozen=True, eq=False)
class Sets:
    """A set of 95 % posterior probability for each released cell: `credit[s, p]` of true cell p, 1 inside, 0 outside."""

    grid: Grid
    credit: FloatArray
    codes: IntArray
    posterior: FloatArray

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The posterior of each row's released cell, for the rows that have one."""
        known = np.flatnonzero(self.codes >= 0)
        for begin in range(0, len(known), CHUNK):
            rows = known[begin : begin + CHUNK]
            yield rows, self.posterior[self.codes[rows]]

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the set holds; NaN where either is missing."""
        known = (self.codes >= 0) & ~np.isnan(truth)
        return scatter(len(truth), known, self.credit[self.codes[known], self.grid.locate(truth[known])])


@dataclass(frozen=True, eq=False)
class RankedSets:
    """The same over many labels, of which nothing is held: sets are found again when they are asked for."""

    grid: Grid
    ranked: RankedLabels
    codes: IntArray

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The posterior of each row's released cell, for the rows that have one."""
        known = np.flatnonzero(self.codes >= 0)
        for part in self.ranked.kernel.in_parts(known):
            yield known[part], self.ranked.dense(self.codes[known[part]])

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the set holds; NaN where either is missing."""
        before, own = self.places(truth)
        share = np.clip((CONFIDENCE - before) / np.where(own > 0, own, 1.0), 0.0, 1.0)
        return np.where(np.isnan(before), np.nan, np.where(own > 0, share, 0.0))

    def places(self, truth: FloatArray, doubt: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """For each row the probability of all labels before the true one, and its own; NaN where either is missing."""
        known = np.flatnonzero((self.codes >= 0) & ~np.isnan(truth))
        ranked = replace(self.ranked, doubt=doubt)
        before, own = ranked.places(self.codes[known], self.grid.locate(truth[known]))
        return scatter(len(truth), known, before), scatter(len(truth), known, own)

    def widths(self, level: float, doubt: float = 0.0) -> FloatArray:
        """The sizes of the sets of another level; NaN where there is none."""
        known = self.codes >= 0
        seen, where = np.unique(self.codes[known], return_inverse=True)
        return scatter(len(self.codes), known, replace(self.ranked, doubt=doubt).guesses(seen, level)[1][where])


@dataclass(frozen=True, eq=False)
class Recovery:
    """Guesses at the values of one attribute.

    ``mean`` is meant to have the least squared error, ``pick`` to be near the truth most often. ``width`` is the size of
    the interval or set in which the attack places the value with 95 %, where it says so. ``title`` takes the place of the attack's.
    """

    attribute: str
    mean: FloatArray
    pick: FloatArray
    width: FloatArray | None = None
    sets: Claimed | None = None
    title: str = ""


@dataclass(frozen=True, eq=False)
class Claim:
    """What an attack hands over: recovered values, and notes on them.

    ``skipped`` says why nothing was recovered, ``untried`` which columns the attack passed over: what was not tried must not
    count as kept.
    """

    recoveries: tuple[Recovery, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    skipped: str = ""
    untried: str = ""


class Knowledge(StrEnum):
    """What an attack may be granted beside the release and its manifest."""

    KNOWN_ROWS = "known rows"
    KNOWN_PEOPLE = "known people"
    OTHER_RELEASES = "other releases"
    DISTRIBUTIONS = "true distributions"
    ROWS_OF_PEOPLE = "which rows are one person's"


class Scope(Enum):
    """What an attack looks at to find a value."""

    VALUE = "the released value"
    COLUMN = "the column's own law and distribution"
    COLUMNS = "other columns"
    BEYOND = "other rows, other releases or known rows"


NO_REMEDY = Note("SF400", "")


@dataclass(frozen=True)
class Remedy:
    """What an owner can do against an attack that narrowed a promise.

    Parameters
    ----------
    words : Note
        The advice, with the code of what it is against.
    instead : Note
        The advice to a release that has taken the first one already.
    taken : callable
        Whether a release with this manifest has taken it.
    needs_gain : bool
        Whether the advice holds only where the attack leaves clearly less than the column's own law does.
    """

    words: Note = NO_REMEDY
    instead: Note = NO_REMEDY
    taken: Callable[[Manifest], bool] = lambda _: False
    needs_gain: bool = False


@dataclass(frozen=True, eq=False)
class Grants:
    """What an audit grants one attack: what the attack's `knowledge` names, and nothing else.

    `people` are the true values of the people attacked, `among` the rows that they fill together. `columns` are those that somebody
    who links people is said to know. `without` serves controls, as in `Targets`.
    """

    view: View
    seed: int = 0
    pairs: Pairs | None = None
    people: Mapping[str, FloatArray] | None = None
    columns: tuple[str, ...] = ()
    among: IntArray | None = None
    without: IntArray | None = None
    others: tuple[View, ...] | None = None
    redrawn: tuple[View, ...] = ()
    population: Mapping[str, tuple[Grid, FloatArray]] | None = None
    groups: RowGroups | None = None

    def only(self, knowledge: Collection[Knowledge]) -> Grants:
        """Return the grants without what `knowledge` does not name."""
        of: dict[Knowledge, dict[str, Any]] = {
            Knowledge.KNOWN_ROWS: {"pairs": None},
            Knowledge.KNOWN_PEOPLE: {"people": None, "among": None, "without": None},
            Knowledge.OTHER_RELEASES: {"others": None, "redrawn": ()},
            Knowledge.DISTRIBUTIONS: {"population": None},
            Knowledge.ROWS_OF_PEOPLE: {"groups": None},
        }
        withheld = [empty for kind, empty in of.items() if kind not in knowledge]
        return replace(self, **{name: nothing for empty in withheld for name, nothing in empty.items()})

    @property
    def targets(self) -> Targets | None:
        """The people, with the columns that somebody who links people is said to know."""
        return None if self.people is None else self.of_people(self.columns)

    def of_people(self, names: Collection[str]) -> Targets:
        """Return the people attacked with the named columns known."""
        if self.people is None:
            raise UsageError("the attack does not name the knowledge of people; declare KNOWN_PEOPLE")
        return Targets({n: self.people[n] for n in names}, self.without)


@dataclass(frozen=True)
class Attack(ABC):
    """One way to learn more than was meant. Subclasses are frozen dataclasses of what the attacker is granted.

    An attack speaks for itself: an audit, its report and the documentation know of it only what stands here. ``in_audit`` is false
    where somebody has to choose a field first; ``guided_only`` is true where only guided columns are attacked.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    assumes: ClassVar[str]
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset()
    scope: ClassVar[Scope] = Scope.BEYOND
    remedy: ClassVar[Remedy] = Remedy()
    in_audit: ClassVar[bool] = True
    guided_only: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ATTACKS[cls.name] = cls

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with what it is granted, or the reason why it cannot be run."""
        return cls.from_grants(grants)

    @classmethod
    def from_grants(cls, grants: Grants, **own: Any) -> Self:
        """Return the attack with every field that is named like a grant filled by it, and the others by `own`."""
        given = {f.name: getattr(grants, f.name) for f in fields(cls) if hasattr(grants, f.name)} | own
        for name, value in given.items():
            if value is None:
                raise UsageError(f"{cls.name}: the field {name} is not in its knowledge; declare it")
        return cls(**given)

    @property
    def known_rows(self) -> IntArray:
        """Rows whose true values the attacker knew beforehand: they are not counted as success."""
        return np.empty(0, np.int64)

    def beliefs(self, view: View) -> Mapping[str, Belief]:
        """What the attacker holds to be the law of each column: what the release states."""
        return view.beliefs

    @abstractmethod
    def run(self, view: View) -> Any:
        """Return the claim."""


@dataclass(frozen=True)
class ValueAttack(Attack):
    """An attack that recovers values of all rows.

    ``together`` says whether all columns make up one finding, or each column its own.
    """

    together: ClassVar[bool] = True

    @abstractmethod
    def run(self, view: View) -> Claim:
        """Return one recovery per column that the attack says something about."""

    def without_order(self, claim: Claim) -> Self | None:  # noqa: ARG002 - only some attacks look at the order
        """Return the attack to run on shuffled rows as the control of `claim`; None where the order of rows plays no part."""
        return None

    def people(self) -> RowGroups | None:
        """Return whose rows the attack looks at together, so that it is scored per person too; None where it looks at rows alone."""
        return None


@dataclass(frozen=True)
class SecretAttack(Attack):
    """An attack that recovers values of people; its control is the same attack on people who are not in the release."""

    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE})
    targets: Targets

    @abstractmethod
    def run(self, view: View) -> Claim:
        """Return one recovery per secret column, with one guess per target."""


@dataclass(frozen=True)
class LinkAttack(Attack):
    """An attack that looks for the rows of people.

    ``controlled`` says whether the same attack on people who are not in the release serves as a control.
    """

    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE})
    controlled: ClassVar[bool] = False
    targets: Targets

    @property
    def unit(self) -> str:
        """What the success is a share of."""
        return PEOPLE

    def chance(self, rows: int) -> float:
        """Return the success of a random pick."""
        return 1 / rows

    def credit(self, links: Any, own: IntArray) -> FloatArray:
        """Return for each target the credit for what `run` returned, given the target's own row; 1/t for a guess among t equals."""
        return np.asarray(links == own, dtype=np.float64)

    def details(self, links: Any, own: IntArray) -> dict[str, Any]:  # noqa: ARG002 - few have any
        """Return further figures about the links."""
        return {}


@dataclass(frozen=True)
class KnowsRows(Attack):
    """An attack by somebody who knows the true values of a few rows, and which rows they are."""

    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_ROWS})
    pairs: Pairs

    @property
    def known_rows(self) -> IntArray:
        """The rows of the pairs."""
        return self.pairs.rows


def _varies(values: FloatArray) -> bool:
    present = values[~np.isnan(values)]
    return bool(len(present) and present.min() < present.max())

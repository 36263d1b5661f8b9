"""What a column may hold, and what its people agreed to.

A `Schema` is declared by the owner, not learned by the software: the domain of a column enters the law of its noise and
is published with the release, so a minimum or maximum that is some person's value would be given away by it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from sfumato.errors import UsageError
from sfumato.scales import FloatArray, Ruler, Scale
from sfumato.text import join_names

E = TypeVar("E", bound=StrEnum)
EPOCH = date(1970, 1, 1)
MISSING_LABEL = "(missing)"
MAX_MAGNITUDE = 1e300
MAX_EXACT_INTEGER = 2**53
"""Beyond this a float64 no longer holds every integer, so a value could change without any noise."""


def check_promise(name: str, promise: object) -> float:
    """Return a promised interval; raise UsageError unless it is a number above 0."""
    if isinstance(promise, bool) or not isinstance(promise, int | float) or not 0 < promise < math.inf:
        raise UsageError(f"{name}: promise = {promise!r} must be a number above 0, the width of an interval")
    return float(promise)


class Kind(StrEnum):
    """How the values of a column are read: `REAL`, `INTEGER`, `DATE`, `CATEGORICAL` or `ORDINAL`.

    Examples
    --------
    >>> Kind("date").numeric, Kind("ordinal").numeric
    (True, False)
    """

    REAL = "real"
    INTEGER = "integer"
    DATE = "date"
    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"

    @property
    def numeric(self) -> bool:
        """Whether distances between values mean something."""
        return self in (Kind.REAL, Kind.INTEGER, Kind.DATE)


class Role(StrEnum):
    """What a column is for: an `ATTRIBUTE`, the `TARGET` that miners predict, or the `IDENTIFIER` of an entity.

    Examples
    --------
    >>> Role("target") is Role.TARGET
    True
    """

    IDENTIFIER = "identifier"
    TARGET = "target"
    ATTRIBUTE = "attribute"


class Consent(StrEnum):
    """The three answers people give when asked for a value (Agrawal & Srikant 2000, section 1).

    Examples
    --------
    >>> [str(answer) for answer in Consent]
    ['withhold', 'true', 'modified']
    """

    WITHHOLD = "withhold"
    TRUE = "true"
    MODIFIED = "modified"


class Missing(StrEnum):
    """What happens to a missing value: it stays visibly missing, or it is one more category that noise may change."""

    KEEP = "keep"
    CATEGORY = "category"


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
        The two ends, finite and in this order.

    Examples
    --------
    >>> Interval(0, 120).range
    120.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", float(self.low))  # 17 and 17.0 are one domain, and so one law
        object.__setattr__(self, "high", float(self.high))
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise UsageError(f"domain [{self.low}, {self.high}] is not finite; give two finite ends")
        if self.low > self.high:
            raise UsageError(f"domain [{self.low}, {self.high}] is upside down; give the lower end first")
        if max(-self.low, self.high) > MAX_MAGNITUDE:
            raise UsageError(
                f"domain [{self.low}, {self.high}] leaves no room for noise; stay within ±{MAX_MAGNITUDE:g}"
            )

    @property
    def range(self) -> float:
        """R, the width that the 2000 paper measures privacy against."""
        return self.high - self.low


@dataclass(frozen=True)
class Categories:
    """A finite list of labels; their order matters only where the column is ordinal.

    Parameters
    ----------
    values : tuple of str
        The labels, each once.

    Examples
    --------
    >>> len(Categories(("no", "yes")))
    2
    """

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError("a list of categories is empty; name at least one")
        earlier: set[str] = set()
        for value in self.values:
            if value in earlier:
                raise UsageError(f"category {value!r} is listed twice; list each once")
            earlier.add(value)

    def __len__(self) -> int:
        return len(self.values)


Domain = Interval | Categories


@dataclass(frozen=True)
class Attribute:
    """One column: how to read it, what it may hold, and what may be released of it.

    Parameters
    ----------
    name : str
        The name of the column.
    kind : Kind
        How its values are read.
    domain : Interval or Categories, optional
        What it may hold. Only an identifier or a withheld column needs none.
    role : Role
        What it is for.
    consent : Consent
        Whether it is withheld, released as true, or modified.
    resolution : float, optional
        The step of the grid on which values are published: 1 for integers and dates unless said otherwise.
    learned : bool
        Whether the domain came from the data, which a recipient must know.
    missing : Missing
        What happens to missing values.
    scale : Scale, optional
        A scale on which noise acts, for real numbers with a long tail.
    clip : bool
        Whether values beyond the ends of the domain are moved to the ends; without it they are an error.

    Examples
    --------
    >>> age = Attribute("age", Kind.INTEGER, Interval(0, 120))
    >>> age.step, age.released
    (1.0, True)
    >>> age.to_dict()["domain"]
    [0, 120]
    """

    name: str
    kind: Kind
    domain: Domain | None = None
    role: Role = Role.ATTRIBUTE
    consent: Consent = Consent.MODIFIED
    resolution: float | None = None
    learned: bool = False
    missing: Missing = Missing.KEEP
    scale: Scale | None = None
    clip: bool = False

    def __post_init__(self) -> None:
        if self.consent is Consent.WITHHOLD or self.role is Role.IDENTIFIER:
            if self.role is Role.IDENTIFIER and self.consent is Consent.MODIFIED:
                raise UsageError(f"{self.name}: an identifier cannot be modified; withhold it, or release it as true")
            return
        if self.domain is None:
            raise UsageError(
                f"{self.name}: no domain is declared; add one to the plan, or let `sfumato plan` propose it"
            )
        if self.kind.numeric != isinstance(self.domain, Interval):
            expected = "an interval [low, high]" if self.kind.numeric else "a list of categories"
            raise UsageError(f"{self.name}: a column of kind {self.kind} needs {expected} as its domain")
        if self.resolution is not None and not (self.kind.numeric and 0 < self.resolution < math.inf):
            raise UsageError(f"{self.name}: resolution {self.resolution} is not a positive step of a numeric column")
        if self.clip and not self.kind.numeric:
            raise UsageError(f"{self.name}: a {self.kind} column has no ends to clip at; leave clip out")
        if self.scale is not None:
            self._check_scale(self.scale)
        if self.kind in (Kind.INTEGER, Kind.DATE):
            self._check_whole_numbers()
        if self.missing is Missing.CATEGORY and self.kind.numeric:
            raise UsageError(
                f"{self.name}: missing values can take part as a category only in a categorical or ordinal column; "
                "keep them missing, or declare the column categorical"
            )

    def _check_whole_numbers(self) -> None:
        step = self.step
        for end in (self.interval.low, self.interval.high):
            if abs(end) > MAX_EXACT_INTEGER:
                raise UsageError(f"{self.name}: {end:g} is beyond ±2^53, where integers are no longer exact; use real")
            if not (end / step).is_integer():
                raise UsageError(f"{self.name}: the domain's end {end:g} is not a multiple of the resolution {step:g}")

    def _check_scale(self, scale: Scale) -> None:
        where = f"{self.name}: the scale {scale.name}"
        if self.kind is not Kind.REAL or self.resolution is not None:
            raise UsageError(
                f'{where} is for real numbers without a resolution; write kind = "real", and no resolution'
            )
        if self.consent is Consent.TRUE:
            raise UsageError(f"{where} is for noise, and the column is released as true; leave the scale out")
        low, high = self._ends.low, self._ends.high
        if low < 0 and not scale.signed:
            raise UsageError(f"{where} begins at 0, and the domain at {low:g}; use asinh")
        ends = scale.stretch(np.array([low, high]))
        if not (np.isfinite(ends).all() and ends[1] - ends[0] > 1e-9 * max(1.0, *np.abs(ends))):
            raise UsageError(f"{where} cannot tell {low:g} from {high:g}; widen the domain, or choose another scale")

    @property
    def _ends(self) -> Interval:
        if not isinstance(self.domain, Interval):
            raise UsageError(f"{self.name}: a {self.kind} column has no interval")
        return self.domain

    @property
    def interval(self) -> Interval:
        """The domain of a numeric column as laws and miners see it: [0, 1] on a scale; a UsageError for any other."""
        return self._ends if self.scale is None else Interval(0.0, 1.0)

    @cached_property
    def ruler(self) -> Ruler | None:
        """What turns values into places on the scale, and back; None without a scale."""
        return None if self.scale is None else Ruler(self.scale, self._ends.low, self._ends.high)

    def to_values(self, places: FloatArray) -> FloatArray:
        """Return numbers as laws and miners see them in the unit of the column."""
        return places if self.ruler is None else self.ruler.to_values(places)

    def to_places(self, values: FloatArray) -> FloatArray:
        """Return numbers in the unit of the column as laws and miners see them."""
        return values if self.ruler is None else self.ruler.to_places(values)

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels of a categorical or ordinal column; a UsageError for any other."""
        if not isinstance(self.domain, Categories):
            raise UsageError(f"{self.name}: a {self.kind} column has no categories")
        return self.domain.values

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories, and a label for missing values where they take part as one more category."""
        return (*self.categories, MISSING_LABEL) if self.missing is Missing.CATEGORY else self.categories

    @property
    def step(self) -> float:
        """The spacing of the true values: `resolution`, else 1 for integers and dates, and 0 where they are continuous."""
        if self.resolution is not None:
            return self.resolution
        return 1.0 if self.kind in (Kind.INTEGER, Kind.DATE) else 0.0

    @property
    def released(self) -> bool:
        """Whether the column appears in a release at all."""
        return self.consent is not Consent.WITHHOLD

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain data, for plans and manifests."""
        out: dict[str, Any] = {
            "name": self.name,
            "kind": str(self.kind),
            "role": str(self.role),
            "consent": str(self.consent),
        }
        if isinstance(self.domain, Interval):
            out["domain"] = [self.format_value(self.domain.low), self.format_value(self.domain.high)]
        elif isinstance(self.domain, Categories):
            out["categories"] = list(self.domain.values)
        if self.resolution is not None:
            out["resolution"] = self.resolution
        if self.domain is not None:
            out["domain_from"] = "data" if self.learned else "declaration"
        if self.missing is not Missing.KEEP:
            out["missing"] = str(self.missing)
        if self.scale is not None:
            out["scale"] = self.scale.to_dict()
        if self.clip:
            out["clip"] = True
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Attribute:
        """Return the attribute that `to_dict` described; raise UsageError for an unknown field, which may be a misspelt one."""
        known = {
            "name", "kind", "role", "consent", "domain", "categories", "resolution", "domain_from", "missing", "scale", "clip",
        }  # fmt: skip
        name = data.get("name")
        if not isinstance(name, str):
            raise UsageError(f"a column's name must be text, not {name!r}")
        if unknown := set(data) - known:
            raise UsageError(
                f"{name}: unknown field {join_names(sorted(unknown))}; known are {join_names(sorted(known), 12)}"
            )
        kind = _member(Kind, data.get("kind"), name, "kind")
        domain: Domain | None = None
        if "domain" in data:
            domain = _interval(name, kind, data["domain"])
        elif "categories" in data:
            values = data["categories"]
            if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
                raise UsageError(f'{name}: categories must be a list of texts, such as ["yes", "no"]')
            try:
                domain = Categories(tuple(values))
            except UsageError as error:
                raise UsageError(f"{name}: {error}") from None
        resolution = data.get("resolution")
        if resolution is not None and (isinstance(resolution, bool) or not isinstance(resolution, int | float)):
            raise UsageError(f"{name}: resolution {resolution!r} is not a number")
        if not isinstance(clip := data.get("clip", False), bool):
            raise UsageError(f"{name}: clip {clip!r} is neither true nor false")
        try:
            scale = Scale.from_dict(data["scale"]) if "scale" in data else None
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
        return cls(
            name=name,
            kind=kind,
            domain=domain,
            role=_member(Role, data.get("role", "attribute"), name, "role"),
            consent=_member(Consent, data.get("consent", "modified"), name, "consent"),
            resolution=None if resolution is None else float(resolution),
            learned=data.get("domain_from") == "data",
            missing=_member(Missing, data.get("missing", "keep"), name, "missing"),
            scale=scale,
            clip=clip,
        )

    def format_value(self, value: float) -> float | int | str:
        """Return a numeric value as people write it: a calendar day for dates, whole numbers without a decimal point."""
        if self.kind is Kind.DATE:
            return (EPOCH + timedelta(days=round(value))).isoformat()
        return int(value) if float(value).is_integer() and abs(value) <= MAX_EXACT_INTEGER else value


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    Parameters
    ----------
    attributes : tuple of Attribute
        Names are unique; at most one column is the target and at most one the identifier.

    Examples
    --------
    >>> age = Attribute("age", Kind.INTEGER, Interval(0, 120))
    >>> sick = Attribute("sick", Kind.CATEGORICAL, Categories(("no", "yes")), role=Role.TARGET)
    >>> schema = Schema((age, sick))
    >>> schema.names, schema.target.name, schema["age"].kind.value
    (('age', 'sick'), 'sick', 'integer')
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = [a.name for a in self.attributes]
        if twice := sorted(n for n, count in Counter(names).items() if count > 1):
            raise UsageError(f"column {join_names(twice)} is described twice; describe each once")
        for role in (Role.TARGET, Role.IDENTIFIER):
            if len(several := [a.name for a in self.attributes if a.role is role]) > 1:
                raise UsageError(
                    f"{join_names(several)}: only one column can be the {role}; give the others another role"
                )

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self._by_name[name] if name in self._by_name else find_column(self.attributes, name)

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {a.name: a for a in self.attributes}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in table order."""
        return tuple(a.name for a in self.attributes)

    @cached_property
    def target(self) -> Attribute | None:
        """The target column, if one is declared."""
        return next((a for a in self.attributes if a.role is Role.TARGET), None)

    @cached_property
    def identifier(self) -> Attribute | None:
        """The column that says whose row this is, if one is declared."""
        return next((a for a in self.attributes if a.role is Role.IDENTIFIER), None)


class Named(Protocol):
    """Anything with the name of a column."""

    @property
    def name(self) -> str:
        """The name of the column."""


N = TypeVar("N", bound=Named)


def find_column(columns: Sequence[N], name: str) -> N:
    """Return the column of this name; raise UsageError with the names there are."""
    for column in columns:
        if column.name == name:
            return column
    raise UsageError(f"there is no column {name!r}; the columns are {join_names(c.name for c in columns)}")


def _member(enum: type[E], value: object, name: str, field: str) -> E:
    try:
        return enum(str(value))
    except ValueError:
        raise UsageError(f"{name}: {field} {value!r} is not one of {join_names(list(enum))}") from None


def _interval(name: str, kind: Kind, ends: object) -> Interval:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UsageError(f"{name}: domain {ends!r} must be two ends, such as [0, 120]")
    try:
        low, high = (day_number(e) if kind is Kind.DATE else _number(e) for e in ends)
        return Interval(low, high)
    except (TypeError, ValueError, UsageError) as error:
        raise UsageError(f"{name}: {error}") from None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"domain end {value!r} is not a number")
    return float(value)


def day_number(value: object) -> float:
    """Return the days from 1970-01-01 to a calendar day.

    >>> day_number("1970-02-01")
    31.0
    """
    try:
        day = value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(f"{str(value)!r} is not a date ({error}); write it as 2024-01-31") from None
    return float((date(day.year, day.month, day.day) - EPOCH).days)

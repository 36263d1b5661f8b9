"""A channel: the law P(released | true) and the sampler that obeys it, in one frozen object.

What a person writes (`Gaussian(privacy=0.5)`) is a wish; `on(attribute)` turns it into a law with all its parameters, which
is what samples, serialises into the manifest and answers questions about itself.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.hashing import WordArray
from sfumato.randomness import CELLS_PER_CHUNK, Addresses, CellWords, SecretKey
from sfumato.schema import MAX_EXACT_INTEGER, MAX_MAGNITUDE, Attribute, Kind, day_number
from sfumato.text import join_names

CHANNELS: dict[str, type[Channel]] = {}
"""Every law by its name; importing the module of a law enters it here."""
JOINT_LAWS = ("correlated-gaussian",)
"""Laws of several columns, which no single column can be given."""

MOST_CELLS = 1024
"""An observed grid is made coarser rather than larger than this."""


class CellRule(StrEnum):
    """How P(released in s | true in p) is computed."""

    EXACT = "exact"
    MIDPOINT = "midpoint"


@dataclass(frozen=True)
class Guarantee:
    """γ, the largest ratio P(y|x)/P(y|x′) over all outputs and inputs; where it is infinite, the reason."""

    gamma: float
    reason: str | None = None

    @property
    def epsilon(self) -> float:
        """ε = ln γ: a law with amplification γ is ε-locally differentially private."""
        return math.log(self.gamma) if math.isfinite(self.gamma) else math.inf


@dataclass(frozen=True)
class Channel(ABC):
    """One law of perturbation. Subclasses are frozen dataclasses whose fields are all of the law."""

    law: ClassVar[str]
    categorical: ClassVar[bool] = False
    """Whether the law can act on categories as well as on numbers."""
    numeric: ClassVar[bool] = True
    """Whether the law can act on numbers at all."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "law" in cls.__dict__:
            CHANNELS[cls.law] = cls

    @abstractmethod
    def on(self, attribute: Attribute) -> Self:
        """The law with every parameter settled for one attribute."""

    @abstractmethod
    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Released values for true ones, given two random words a cell."""

    @abstractmethod
    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """K[s, p] = P(released value is located in `observed` cell s | true value is in `true` cell p)."""

    @abstractmethod
    def observed_grid(self, true: Grid) -> Grid:
        """A grid on which released values of `true` are counted: wider than the domain where noise leads out of it."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The amplification factor γ of the law, or why there is none."""

    @property
    def reports(self) -> int | None:
        """K where a released cell is no value of the attribute but one of the codes 0 … K−1, None where it is a value."""
        return None

    def read(self, reports: IntArray, draws: FloatArray) -> IntArray:  # noqa: ARG002 - for laws that release reports
        """A value for each report, taken at its word; the draws decide between several."""
        raise UsageError(f"{self.law} releases values, not reports; take them as they are")

    @abstractmethod
    def interval_width(self, confidence: float) -> float:
        """The width of the interval that holds the true value with this confidence (Agrawal & Srikant 2000, section 2.1)."""

    def perturb(self, key: SecretKey, addresses: Addresses, values: FloatArray) -> FloatArray:
        """Released values, each a function of the key, its address and itself alone."""
        out = np.empty(len(values))
        cells = CellWords(key)
        for begin in range(0, len(values), CELLS_PER_CHUNK):
            part = values[begin : begin + CELLS_PER_CHUNK]
            words = cells(addresses.part(begin, begin + len(part)), part)
            out[begin : begin + len(part)] = self.sample(part, words)
        return out

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data, defaults left out; `from_dict` gives the same law back, and equal laws look equal."""
        hints = _hints(type(self))
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name) != f.default}
        return {"law": self.law} | {k: _plain(_typed(f"{self.law}: {k}", v, hints[k])) for k, v in fields.items()}

    def drawn_by(self) -> dict[str, Any]:
        """All of the law that a draw hangs on: laws alike in this draw the same noise for the same value."""
        return self.to_dict()

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Channel:
        """A channel from the plain data of a manifest or a plan."""
        cls = channel_class(str(data.get("law", "")))
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := set(data) - known - {"law"}:
            raise UsageError(
                f"{cls.law} has no parameter {join_names(sorted(unknown))}; it has {join_names(sorted(known), 12)}"
            )
        types_ = _hints(cls)
        return cls(**{k: _typed(f"{cls.law}: {k}", v, types_[k]) for k, v in data.items() if k != "law"})

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """What a person may set, with a word on each."""
        return {
            f.name: str(f.metadata.get("about", "")) for f in dataclasses.fields(cls) if not f.metadata.get("bound")
        }


def channel_class(law: str) -> type[Channel]:
    """The class of a law by its name."""
    if law not in CHANNELS:
        if law in JOINT_LAWS:
            raise UsageError(
                f"{law} is noise for several columns together, not for one: give it as --method {law}, or in a plan as "
                f'method = {{ law = "{law}" }} under [release], without noise for the columns that take part'
            )
        raise UsageError(f"there is no law {law!r}; the laws are {join_names(sorted(CHANNELS), 12)}")
    return CHANNELS[law]


def wish(about: str, default: Any = None) -> Any:
    """A field that a person may set."""
    return dataclasses.field(default=default, metadata={"about": about})


def bound(about: str, default: Any = None) -> Any:
    """A field that `on(attribute)` settles."""
    return dataclasses.field(default=default, metadata={"about": about, "bound": True})


@functools.cache
def _hints(law: type[Channel]) -> dict[str, Any]:
    """The types of a law's fields; reading them from the source takes a millisecond."""
    return typing.get_type_hints(law)


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _typed(where: str, value: Any, hint: Any) -> Any:
    """`value` as the field's type, so that 8, 8.0 and "8" from a file, a plan or a command line mean the same law."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(h for h in hint.__args__ if h is not types.NoneType)
    try:
        if typing.get_origin(hint) is tuple:
            inner = typing.get_args(hint)[0]
            values = [v for v in value.split(",") if v.strip()] if isinstance(value, str) else value
            return tuple(_typed(where, v, inner) for v in values)
        if isinstance(value, bool):
            raise TypeError
        if hint is int and float(value) != int(float(value)):
            raise ValueError
        return int(float(value)) if hint is int else hint(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{where} = {value!r} is not {'a whole number' if hint is int else 'a number'}") from None


def positive(law: str, **parameters: float | None) -> None:
    """Refuse parameters that are not positive and finite."""
    for name, value in parameters.items():
        if value is not None and not (0 < value < math.inf):
            raise UsageError(f"{law}: {name} = {value:g} must be a positive number")


def between_0_and_1(law: str, **parameters: float | None) -> None:
    """Refuse parameters that are not proper fractions."""
    for name, value in parameters.items():
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{law}: {name} = {value:g} must lie between 0 and 1")


MOST_BINS = 1_000_000


def not_too_many(law: str, **parameters: int | None) -> None:
    """Refuse numbers of bins that no memory holds and no miner wants."""
    for name, value in parameters.items():
        if value is not None and value > MOST_BINS:
            raise UsageError(f"{law}: {name} = {value:g} is too many; give at most {MOST_BINS:,}")


def exactly_one(law: str, **parameters: object) -> None:
    """Refuse a wish that says the same thing twice, or not at all."""
    if len(given := [n for n, v in parameters.items() if v is not None]) != 1:
        many = f"{join_names(given)} were given together" if given else "none was given"
        raise UsageError(f"{law}: give exactly one of {join_names(list(parameters))}; {many}")


def numeric_only(law: str, attribute: Attribute) -> None:
    """Refuse an attribute that has no distances."""
    if not attribute.kind.numeric:
        raise UsageError(
            f"{attribute.name}: {law} noise needs a numeric column, and this one is {attribute.kind}; "
            "use substitution for it"
        )
    if attribute.interval.range == 0:
        raise UsageError(
            f"{attribute.name}: its domain is the single value {attribute.interval.low:g}, so noise has no scale; "
            "widen the domain, or withhold the column"
        )


EXACT_STEPS = 2.0**52


def representable(attribute: Attribute, step: float, beyond: float) -> None:
    """Refuse noise whose sums float64 rounds more coarsely than the release's grid, or that no calendar holds.

    A sum of 2⁵² steps still has its half step, which rounding to the grid needs; beyond, the law would be another.
    """
    low, high = attribute.interval.low - beyond, attribute.interval.high + beyond
    most = min(EXACT_STEPS * step, MAX_MAGNITUDE if attribute.kind is Kind.REAL else MAX_EXACT_INTEGER)
    if not max(-low, high) <= most:
        raise UsageError(
            f"{attribute.name}: noise that reaches {beyond:g} beyond {attribute.interval.low:g} … {attribute.interval.high:g} "
            f"cannot be held exactly in steps of {step:g}; ask for other noise, declare a coarser resolution, or subtract a "
            "constant from the column"
        )
    if attribute.kind is Kind.DATE and not (day_number(date.min) <= low and high <= day_number(date.max)):
        raise UsageError(
            f"{attribute.name}: noise that reaches {beyond:g} days leads out of the calendar; ask for less"
        )


def snap(values: FloatArray, step: float) -> FloatArray:
    """The nearest multiples of `step`, halves upward; decimal steps give the decimals people expect."""
    if not step:
        return values
    if step == 1.0:
        return _rounded(values + 0.5)
    inverse = round(1.0 / step)
    if inverse > 1 and abs(inverse * step - 1.0) < 1e-12:
        out = values * inverse
        out += 0.5
        return np.divide(_rounded(out), inverse, out=out)
    out = values / step
    out += 0.5
    return np.multiply(_rounded(out), step, out=out)


def _rounded(values: FloatArray) -> FloatArray:
    """⌊values⌋, in their own place."""
    return np.floor(values, out=values)


def decade(value: float) -> float:
    """The largest power of ten that is not above `value`; 0 where float64 has none."""
    return 10.0 ** math.floor(math.log10(value)) if 0 < value < math.inf else 0.0


def lattice_cut(cuts: FloatArray, step: float) -> FloatArray:
    """Where the unrounded value crosses when the released one reaches the cut.

    Released w = step·k with half-up rounding, so w ≥ c means k ≥ ⌈c/step⌉, that is, x + y ≥ step (⌈c/step⌉ − ½).
    """
    return cuts if not step else step * (np.ceil(cuts / step - 1e-9) - 0.5)


def inner_cuts(grid: Grid) -> FloatArray:
    """The cuts between neighbouring cells as `Grid.locate` sees them; beyond the outermost lie the tails."""
    return grid.finite_edges[1:-1] if grid.atoms is not None else grid.points[1:-1]


EXACT_MEMBERS = 64
"""Up to so many lattice points a cell the mean over them is taken one by one; beyond, they are as good as continuous."""


@dataclass(frozen=True, eq=False)
class Members:
    """The single values inside the cells of a grid, laid end to end; `first` is where each cell begins."""

    values: FloatArray
    first: IntArray

    @classmethod
    def of(cls, grid: Grid) -> Members | None:
        """The atoms, or the lattice points of each cell; None where values are, or are as good as, continuous."""
        if grid.atoms is not None:
            return cls(grid.atoms, np.arange(grid.size))
        if not grid.step:
            return None
        edges = grid.points
        begin = np.ceil(edges[:-1] / grid.step - 1e-9)
        end = np.ceil(edges[1:] / grid.step - 1e-9) - 1
        end[-1] = np.floor(edges[-1] / grid.step + 1e-9)
        sizes = (end - begin + 1).astype(np.int64)
        if sizes.max() > EXACT_MEMBERS or sizes.min() < 1:
            return None
        values = np.arange(begin[0], end[-1] + 1) * grid.step
        return cls(values, np.cumsum(sizes) - sizes)

    def mean(self, at_values: FloatArray) -> FloatArray:
        """The mean over each cell of something known at every value (the last axis)."""
        sizes = np.diff(self.first, append=len(self.values))
        return np.asarray(np.add.reduceat(at_values, self.first, axis=-1) / sizes)


def cell_cdf(grid: Grid, points: FloatArray) -> FloatArray:
    """C[j, p] = P(X < points[j] | X in cell p), X uniform over the cell's values or its width."""
    members = Members.of(grid)
    if members is not None:
        return members.mean((members.values < points[:, None]).astype(np.float64))
    edges = grid.finite_edges
    low, high = edges[:-1], edges[1:]
    return np.clip((points[:, None] - low) / (high - low), 0.0, 1.0)


def differences(upper: FloatArray) -> FloatArray:
    """Cell probabilities from the distribution function at the inner cuts: 0 before the first cell, 1 after the last.

    Over narrow cells G(cut − lo) − G(cut − hi) loses digits, so rounding can bend a flat stretch downward; a distribution
    function never falls, and no probability is negative.
    """
    ends = np.zeros((1, upper.shape[1]))
    rising = np.maximum.accumulate(np.clip(upper, 0.0, 1.0), axis=0)
    return np.diff(np.concatenate([ends, rising, ends + 1.0]), axis=0)

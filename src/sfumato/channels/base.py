"""A channel: the law P(released | true) and the sampler that obeys it, in one frozen object.

What a person writes (`Gaussian(privacy=0.5)`) is a wish; `on(attribute)` binds it to a column. Only a bound law samples,
states its probabilities and gives a guarantee; a wish that is asked raises UsageError.

A law speaks for itself: its words, the parameter a trade-off sweeps, the law for labels beside it and its examples are
members of its class. Importing its module enters it in `CHANNELS`, and nothing else in the house lists laws by name.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from sfumato.channels.transition import CellRule, TwoLevels
from sfumato.counts import FloatArray, Grid, IntArray, WordArray
from sfumato.errors import UsageError
from sfumato.randomness import CELLS_PER_CHUNK, Addresses, CellWords, SecretKey
from sfumato.scales import MIN_GRID
from sfumato.schema import MAX_EXACT_INTEGER, MAX_MAGNITUDE, Attribute, Kind, day_number
from sfumato.tables import float_above
from sfumato.text import join_names

if TYPE_CHECKING:
    from sfumato.channels.correlated import CorrelatedGaussian

CHANNELS: dict[str, type[Channel]] = {}
"""Every law of one column by its name."""
JOINT_LAWS: dict[str, type[JointLaw]] = {}
"""Every law of several columns together by its name; no single column can be given one."""

Value = TypeVar("Value")
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Guarantee:
    """γ, the largest ratio P(y|x)/P(y|x′) over all outputs and inputs; where it is infinite, the reason.

    `exact` is γ as counted from the words of the sampler, and `gamma` the float64 next above it.
    """

    gamma: float
    reason: str | None = None
    exact: Fraction | None = None

    @classmethod
    def of(cls, gamma: Fraction) -> Guarantee:
        """Return the guarantee of an exact γ."""
        return cls(float_above(gamma), exact=gamma)

    @property
    def epsilon(self) -> float:
        """ε = ln γ: a law with amplification γ is ε-locally differentially private."""
        return math.log(self.gamma) if math.isfinite(self.gamma) else math.inf


def wish(about: str, default: Any = None) -> Any:
    """Return a field that a person may set."""
    return dataclasses.field(default=default, metadata={"about": about})


def fact(about: str, *, optional: bool = False) -> Any:
    """Return a field that `on(attribute)` sets; always, unless it is `optional`."""
    return dataclasses.field(default=None, metadata={"about": about, "derived": True, "optional": optional})


class Settled(Generic[Value]):
    """The value of a field of a bound law; raises UsageError where it is not set."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __get__(self, channel: Channel | None, owner: type[Channel]) -> Value:
        """Return the value of the field."""
        if channel is None:
            raise AttributeError(f"{self.field} belongs to a bound law, not to {owner.__name__}")
        value: Value | None = getattr(channel, self.field)
        if value is None:
            raise channel.unbound()
        return value


def answer(method: Method) -> Method:
    """Mark a method that only a bound law can answer, here and wherever a subclass overrides it."""
    method.__dict__["answers"] = True
    return method


def guard(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method, preceded by a check that the law is bound."""

    @functools.wraps(method)
    def check_first(self: Channel, *args: Any, **kwargs: Any) -> Any:
        if not self.is_bound:
            raise self.unbound()
        return method(self, *args, **kwargs)

    return answer(check_first)


@dataclass(frozen=True)
class Channel(ABC):
    """One law of perturbation. Subclasses are frozen dataclasses whose fields are all of the law."""

    law: ClassVar[str]
    """The name of the law in plans, manifests and on the command line."""
    categorical: ClassVar[bool] = False
    """Whether the law can act on categories."""
    numeric: ClassVar[bool] = True
    """Whether the law can act on numbers."""
    default: ClassVar[Mapping[str, float]] = {"privacy": 0.5}
    """The wish that stands where a person names the law and nothing else."""
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    """The parameters that a trade-off can sweep, the natural one first, each with the values swept unless others are given."""
    sweep_beside: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    """Parameters of numeric columns that are swept beside the first, each with its values."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            declared = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
            if getattr(declared, "answers", False):
                setattr(cls, name, guard(member))
        if "law" in cls.__dict__:
            CHANNELS[cls.law] = cls

    @abstractmethod
    def on(self, attribute: Attribute) -> Self:
        """Bind the wish to an attribute: return the law with every parameter set."""

    @functools.cached_property
    def is_bound(self) -> bool:
        """Whether every parameter is set that `on(attribute)` sets."""
        needed = (f for f in dataclasses.fields(self) if f.metadata.get("derived") and not f.metadata["optional"])
        return all(getattr(self, f.name) is not None for f in needed)

    def unbound(self) -> UsageError:
        """Return the error for a wish that is used like a law."""
        return UsageError(f"{self.law}: not bound to a column yet; call .on(attribute) first")

    @answer
    @abstractmethod
    def in_words(self) -> str:
        """Say in one line of plain words what the law does to a value."""

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the law's documentation, for help and plan files."""
        return (cls.__doc__ or cls.law).strip().partition("\n")[0]

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        """Return wishes that can be bound to every attribute the law can act on; tests and docs walk them."""
        return (cls(**cls.default),)

    def companion(self) -> Channel:
        """Return the wish for columns that this law cannot act on, in a plan that names one law for all columns."""
        from sfumato.channels.substitution import Substitution

        return Substitution(rho1=0.05, rho2=0.5)

    def suit(self, attribute: Attribute) -> Channel:  # noqa: ARG002 - for laws that have a rival
        """Return the wish itself, or one that says the same and is estimated better on this attribute."""
        return self

    @answer
    @abstractmethod
    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Return released values for true ones, given two random words per cell."""

    @answer
    @abstractmethod
    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return K[s, p] = P(released value is located in `observed` cell s | true value is in `true` cell p)."""

    @answer
    def operator(self, size: int) -> TwoLevels | None:  # noqa: ARG002 - for laws of labels
        """Return K on `size` labels as an operator, where it has two values only; None where it has more."""
        return None

    @answer
    @abstractmethod
    def observed_grid(self, true: Grid) -> Grid:
        """Return a grid to count released values on: wider than the domain of `true` where noise leads out of it."""

    @answer
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the amplification factor γ of the law, or why there is none."""

    @answer
    @abstractmethod
    def interval_width(self, confidence: float) -> float:
        """Return the width of the interval that holds the true value with this confidence (Agrawal & Srikant 2000, 2.1)."""

    @answer
    def exact_table(self) -> dict[str, Any] | None:
        """Return the law as whole numbers for a certificate, None where it has no table.

        `form` says how a draw is computed from two words, and `worst` names two true values and a released one whose
        probabilities differ most.
        """
        return None

    @property
    def reports(self) -> int | None:
        """K where a released cell is not a value of the attribute but one of the codes 0 … K−1, None where it is a value."""
        return None

    @property
    def representatives(self) -> FloatArray | None:
        """All values that can be released, where they are one per bin of the domain; None elsewhere."""
        return None

    @property
    def step(self) -> float | None:
        """The grid of the values, 0 where they are continuous; None where the law has no grid of its own."""
        return None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the numeric domain that the law is bound to; None for labels and for a wish."""
        return None

    @property
    def joint(self) -> CorrelatedGaussian | None:
        """The joint law that drew the noise of this column together with that of others."""
        return None

    def read(self, reports: IntArray, draws: FloatArray) -> IntArray:  # noqa: ARG002 - for laws that release reports
        """Return an unadjusted value for each report; the draws decide between several."""
        raise UsageError(f"{self.law} releases values, not reports; take them as they are")

    def perturb(self, key: SecretKey, addresses: Addresses, values: FloatArray) -> FloatArray:
        """Return released values, each a function of the key, its address and itself alone."""
        if not self.is_bound:
            raise self.unbound()
        out = np.empty(len(values))
        cells = CellWords(key)
        for begin in range(0, len(values), CELLS_PER_CHUNK):
            part = values[begin : begin + CELLS_PER_CHUNK]
            words = cells(addresses.part(begin, begin + len(part)), part)
            out[begin : begin + len(part)] = self.sample(part, words)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data, defaults left out; `from_dict` gives the same law back, and equal laws look equal."""
        hints = _hints(type(self))
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name) != f.default}
        return {"law": self.law} | {k: _plain(_convert(f"{self.law}: {k}", v, hints[k])) for k, v in fields.items()}

    def draw_inputs(self) -> dict[str, Any]:
        """Return all of the law that a draw depends on: laws alike in this draw the same noise for the same value."""
        return self.to_dict()

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Channel:
        """Return a channel from the plain data of a manifest or a plan."""
        cls = channel_class(str(data.get("law", "")))
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := set(data) - known - {"law"}:
            raise UsageError(
                f"{cls.law} has no parameter {join_names(sorted(unknown))}; it has {join_names(sorted(known), 12)}"
            )
        types_ = _hints(cls)
        return cls(**{k: _convert(f"{cls.law}: {k}", v, types_[k]) for k, v in data.items() if k != "law"})

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """Return what a person may set, with a word on each."""
        return {
            f.name: str(f.metadata.get("about", "")) for f in dataclasses.fields(cls) if not f.metadata.get("derived")
        }


class JointLaw(ABC):
    """One law of several columns together; a plan names it as its method."""

    law: ClassVar[str]
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    """As for a law of one column."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "law" in cls.__dict__:
            JOINT_LAWS[cls.law] = cls

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the law's documentation, for help and plan files."""
        return (cls.__doc__ or cls.law).strip().partition("\n")[0]

    @classmethod
    @abstractmethod
    def parameters(cls) -> dict[str, str]:
        """Return what a person may set, with a word on each."""

    @abstractmethod
    def in_words(self) -> str:
        """Say what a recipient must know of noise that was drawn together."""


def channel_class(law: str) -> type[Channel]:
    """Return the class of a law by its name."""
    if law in JOINT_LAWS:
        raise UsageError(
            f"{law} is noise for several columns together, not for one: give it as method={law}, or in a plan as "
            f'method = {{ law = "{law}" }} under [release], without noise for the columns that take part'
        )
    if law not in CHANNELS:
        raise UsageError(f"there is no law {law!r}; the laws are {join_names(sorted(CHANNELS), 12)}")
    return CHANNELS[law]


@functools.cache
def _hints(law: type[Channel]) -> dict[str, Any]:
    """Return the types of a law's fields; reading them from the source takes a millisecond."""
    return typing.get_type_hints(law)


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _convert(where: str, value: Any, hint: Any) -> Any:
    """Return `value` as the field's type, so that 8, 8.0 and "8" from a file, a plan or a command line mean the same law."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(h for h in hint.__args__ if h is not types.NoneType)
    try:
        if typing.get_origin(hint) is tuple:
            inner = typing.get_args(hint)[0]
            values = [v for v in value.split(",") if v.strip()] if isinstance(value, str) else value
            return tuple(_convert(where, v, inner) for v in values)
        if isinstance(value, bool):
            raise TypeError
        if hint is int and float(value) != int(float(value)):
            raise ValueError
        return int(float(value)) if hint is int else hint(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{where} = {value!r} is not {'a whole number' if hint is int else 'a number'}") from None


MAX_BINS = 1_000_000
"""More bins than this fit no memory, and no miner wants them."""


def check_positive(law: str, **parameters: float | None) -> None:
    """Raise UsageError unless every parameter that is given is positive and finite."""
    for name, value in parameters.items():
        if value is not None and not (0 < value < math.inf):
            raise UsageError(f"{law}: {name} = {value:g} must be a positive number")


def check_fractions(law: str, **parameters: float | None) -> None:
    """Raise UsageError unless every parameter that is given lies between 0 and 1."""
    for name, value in parameters.items():
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{law}: {name} = {value:g} must lie between 0 and 1")


def check_bins(law: str, **parameters: int | None) -> None:
    """Raise UsageError where a number of bins exceeds `MAX_BINS`."""
    for name, value in parameters.items():
        if value is not None and value > MAX_BINS:
            raise UsageError(f"{law}: {name} = {value:g} is too many; give at most {MAX_BINS:,}")


def check_exactly_one(law: str, **parameters: object) -> None:
    """Raise UsageError unless exactly one of the parameters is given: they say the same thing."""
    if len(given := [n for n, v in parameters.items() if v is not None]) != 1:
        many = f"{join_names(given)} were given together" if given else "none was given"
        raise UsageError(f"{law}: give exactly one of {join_names(list(parameters))}; {many}")


def check_epsilon(law: str, epsilon: float) -> None:
    """Raise UsageError where ε is so large that it protects nothing."""
    most = 50
    if epsilon > most:
        raise UsageError(
            f"{law}: epsilon = {epsilon:g} protects nothing; give at most {most}, or release the column as true"
        )


def check_numeric(law: str, attribute: Attribute) -> None:
    """Raise UsageError unless the attribute has distances, and a domain with a width."""
    if not attribute.kind.numeric:
        raise UsageError(
            f"{attribute.name}: {law} noise needs a numeric column, and this one is {attribute.kind}; "
            "use substitution for it"
        )
    check_width(attribute)


def check_width(attribute: Attribute) -> None:
    """Raise UsageError where a numeric domain has no width, or float64 cannot cut it or count its values."""
    interval, step = attribute.interval, attribute.step
    if interval.range == 0:
        raise UsageError(
            f"{attribute.name}: its domain is the single value {interval.low:g}, so noise has no scale; "
            "widen the domain, or withhold the column"
        )
    least = 1e-280  # far from the end of float64, where a quotient of two numbers loses its digits
    if not (interval.range >= least and interval.range >= 2.0**-42 * max(abs(interval.low), abs(interval.high))):
        raise UsageError(
            f"{attribute.name}: its domain from {interval.low!r} to {interval.high!r} is too narrow to be cut; "
            "subtract a constant from the column, or multiply it by one"
        )
    if step and not (step >= least and interval.range <= 2.0**53 * step):
        raise UsageError(
            f"{attribute.name}: a resolution of {step:g} is too fine for its domain from {interval.low:g} to "
            f"{interval.high:g}; declare a coarser one"
        )


def check_scale(attribute: Attribute, step: float, scale: float) -> None:
    """Raise UsageError for noise so narrow that float64 has no grid for it, or that it never leads to another value."""
    if not (step >= 1e-290 and scale >= 1e-4 * step):
        grid = (
            f"never leads from one multiple of {step:g} to another" if step >= 1e-290 else "is too narrow for any grid"
        )
        raise UsageError(
            f"{attribute.name}: noise of scale {scale:g} {grid}; ask for more, or release the column as true"
        )


def check_representable(attribute: Attribute, step: float, beyond: float) -> None:
    """Raise UsageError for noise whose sums float64 rounds more coarsely than the release's grid, or that leaves the calendar.

    A sum of 2⁵² steps still has its half step, which rounding to the grid needs; beyond, the law would be another.
    """
    low, high = attribute.interval.low - beyond, attribute.interval.high + beyond
    if attribute.ruler is not None:
        ends = np.abs(attribute.ruler.to_values(np.array([low, high])))
        if not (ends.max() <= MAX_MAGNITUDE and step >= MIN_GRID):
            raise UsageError(
                f"{attribute.name}: noise that reaches {beyond:g} beyond the ends of its scale, in steps of {step:g}, cannot be "
                "written in its unit; ask for other noise, or for another scale"
            )
    most = min(2.0**52 * step, MAX_MAGNITUDE if attribute.kind is Kind.REAL else MAX_EXACT_INTEGER)
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

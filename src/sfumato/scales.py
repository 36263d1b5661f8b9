"""Monotone scales for columns with long tails.

A scale gives every value of the domain a place between 0 and 1. Cells are turned into places where they are read, and back where
they are written, so a law acts on places and its noise is a share of the scale: small where values are crowded, large in the tail.
Noise leads beyond both ends, so every scale goes on there, and stays increasing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UsageError
from sfumato.text import join_names

FloatArray = NDArray[np.float64]

SCALES: dict[str, type[Scale]] = {}
"""Every scale by its name in plans and manifests."""
RESOLUTION = 2.0**-40
"""True places are rounded to this: noise is a function of the place, and machines differ in the last digit of a logarithm."""
MIN_GRID = 1e-8
"""The finest grid of released places that values in float64 can be read back from."""


@dataclass(frozen=True)
class Scale(ABC):
    """An increasing function of a value, on all numbers; a subclass names itself, stretches, and returns."""

    name: ClassVar[str]
    signed: ClassVar[bool] = True
    """Whether the domain may hold negative values."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        SCALES[cls.name] = cls

    @abstractmethod
    def stretch(self, values: FloatArray) -> FloatArray:
        """Return g(x)."""

    @abstractmethod
    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return the x with g(x) = this."""

    def functions(self, places: FloatArray, span: float, power: int) -> FloatArray | None:  # noqa: ARG002 - for most scales
        """Return functions of the place that a shift turns into sums of each other, x^power among their sums.

        Additive noise maps such a space to itself, so x^power has an unbiased weight in it (see `reconstruction.moments`).
        Shape (functions, places); `span` is the length of the stretched domain. None where a scale has no such space.
        """
        return None

    @abstractmethod
    def in_words(self) -> str:
        """Name the scale with its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as plain data."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"name": self.name} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @staticmethod
    def from_dict(data: object) -> Scale:
        """Return a scale from its name, or from its name and parameters.

        >>> Scale.from_dict("log"), Scale.from_dict({"name": "log", "unit": 100})
        (Log(unit=1.0), Log(unit=100.0))
        """
        about = {"name": data} if isinstance(data, str) else data
        if not isinstance(about, Mapping) or not isinstance(about.get("name"), str) or about["name"] not in SCALES:
            raise UsageError(
                f'there is no scale {data!r}; write one of {join_names(sorted(SCALES))}, such as {{ name = "log", unit = 100 }}'
            )
        cls = SCALES[about["name"]]
        known = {f.name for f in fields(cls)}
        if unknown := set(about) - known - {"name"}:
            raise UsageError(f"the scale {cls.name} has no parameter {join_names(sorted(map(str, unknown)))}")
        return cls(**{k: v for k, v in about.items() if k != "name"})


@dataclass(frozen=True)
class Log(Scale):
    """g(x) = ln(1 + x/unit): equal ratios are equal distances far above the unit, and 0 has a place.

    Parameters
    ----------
    unit : float
        Below it the scale is about even. What most values are of the size of is a good choice.

    Examples
    --------
    >>> round(float(Log(unit=100.0).stretch(np.array(9900.0))), 3)
    4.605
    """

    name: ClassVar[str] = "log"
    signed: ClassVar[bool] = False

    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _positive(self.name, "unit", self.unit))

    def stretch(self, values: FloatArray) -> FloatArray:
        """Return ln(1 + |x|/unit) with the sign of x: below 0, where noise may lead, the scale is a mirror image."""
        return np.copysign(np.log1p(np.abs(values) / self.unit), values)

    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return unit (e^|g| − 1) with the sign of g."""
        return np.copysign(self.unit * np.expm1(np.abs(stretched)), stretched)

    def functions(self, places: FloatArray, span: float, power: int) -> FloatArray:
        """Return 1, e^{Lu}, …, since x + unit is such an exponential."""
        return np.exp(span * np.arange(power + 1)[:, None] * (places - 1))

    def in_words(self) -> str:
        """Name the scale with its unit."""
        return f"log scale, log(1 + x/{self.unit:g})"


@dataclass(frozen=True)
class Sqrt(Scale):
    """g(x) = √x: between an even scale and a log one.

    Examples
    --------
    >>> Sqrt().stretch(np.array([0.0, 9.0])).tolist()
    [0.0, 3.0]
    """

    name: ClassVar[str] = "sqrt"
    signed: ClassVar[bool] = False

    def stretch(self, values: FloatArray) -> FloatArray:
        """Return √|x| with the sign of x."""
        return np.copysign(np.sqrt(np.abs(values)), values)

    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return g² with the sign of g."""
        return np.copysign(stretched**2, stretched)

    def functions(self, places: FloatArray, span: float, power: int) -> FloatArray:  # noqa: ARG002 - a polynomial of any length
        """Return 1, u, …, since x is a polynomial of degree two in the place."""
        return places ** np.arange(2 * power + 1)[:, None]

    def in_words(self) -> str:
        """Name the scale."""
        return "square-root scale"


@dataclass(frozen=True)
class Cbrt(Scale):
    """g(x) = ∛(x + unit): between a square root and a log scale, for any sign.

    Parameters
    ----------
    unit : float
        Above 0, the scale is about even below it.

    Examples
    --------
    >>> Cbrt().stretch(np.array([-8.0, 0.0, 27.0])).tolist()
    [-2.0, 0.0, 3.0]
    """

    name: ClassVar[str] = "cbrt"

    unit: float = 0.0

    def __post_init__(self) -> None:
        unit = _number(self.name, "unit", self.unit)
        object.__setattr__(self, "unit", unit and _positive(self.name, "unit", unit))

    def stretch(self, values: FloatArray) -> FloatArray:
        """Return ∛(x + unit)."""
        return np.cbrt(values + self.unit)

    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return g³ − unit."""
        return stretched**3 - self.unit

    def functions(self, places: FloatArray, span: float, power: int) -> FloatArray:  # noqa: ARG002 - a polynomial of any length
        """Return 1, u, …, since x is a polynomial of degree three in the place."""
        return places ** np.arange(3 * power + 1)[:, None]

    def in_words(self) -> str:
        """Name the scale with its unit."""
        return "cube-root scale" + (f", ∛(x + {self.unit:g})" if self.unit else "")


@dataclass(frozen=True)
class Asinh(Scale):
    """g(x) = asinh(x/unit): a log scale in both directions, for columns with negative values.

    Parameters
    ----------
    unit : float
        Within ± this the scale is about even.

    Examples
    --------
    >>> Asinh(unit=10.0).stretch(np.array([-500.0, 0.0, 500.0])).round(2).tolist()
    [-4.61, 0.0, 4.61]
    """

    name: ClassVar[str] = "asinh"

    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _positive(self.name, "unit", self.unit))

    def stretch(self, values: FloatArray) -> FloatArray:
        """Return asinh(x/unit)."""
        return np.arcsinh(values / self.unit)

    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return unit sinh(g)."""
        return self.unit * np.sinh(stretched)

    def functions(self, places: FloatArray, span: float, power: int) -> FloatArray:
        """Return …, e^{−Lu}, 1, e^{Lu}, …, each at most 1 on the domain."""
        k = np.arange(-power, power + 1)[:, None]
        return np.exp(span * (k * places - np.maximum(k, 0)))

    def in_words(self) -> str:
        """Name the scale with its unit."""
        return f"asinh scale, asinh(x/{self.unit:g})"


@dataclass(frozen=True)
class Quantile(Scale):
    """The rank of a value among public reference values, straight between neighbours.

    Parameters
    ----------
    values : tuple of float
        Quantiles of a public table, evenly spaced in rank and increasing. Never those of the table itself: they are published.

    Examples
    --------
    >>> Quantile((0.0, 10.0, 1000.0)).stretch(np.array([5.0, 10.0, 505.0])).tolist()
    [0.5, 1.0, 1.5]
    """

    name: ClassVar[str] = "quantile"

    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        values = self.values
        most = 10_000
        if not isinstance(values, list | tuple) or not 2 <= len(values) <= most:
            raise UsageError(
                f"the scale quantile needs from 2 to {most:,} reference values: values = [0, 100, 2000, …]"
            )
        numbers = tuple(_number(self.name, "values", v) for v in values)
        if not all(b - a > 1e-9 * max(abs(a), abs(b)) for a, b in pairwise(numbers)):
            raise UsageError("the reference values of the scale quantile must increase; list each once, in order")
        object.__setattr__(self, "values", numbers)

    def stretch(self, values: FloatArray) -> FloatArray:
        """Return the rank; beyond the reference it goes on as steep as between the last two values."""
        return _interpolate(np.asarray(values), np.array(self.values), np.arange(len(self.values), dtype=np.float64))

    def unstretch(self, stretched: FloatArray) -> FloatArray:
        """Return the value of a rank."""
        return _interpolate(np.asarray(stretched), np.arange(len(self.values), dtype=np.float64), np.array(self.values))

    def in_words(self) -> str:
        """Name the scale with its size."""
        return f"scale of {len(self.values)} reference values"


@dataclass(frozen=True)
class Ruler:
    """A scale laid on a domain: its low end is at place 0, its high end at place 1.

    Parameters
    ----------
    scale : Scale
        What stretches the values.
    low, high : float
        The ends of the domain.

    Examples
    --------
    >>> ruler = Ruler(Sqrt(), 0.0, 400.0)
    >>> ruler.to_places(np.array([0.0, 100.0, 400.0])).tolist()
    [0.0, 0.5, 1.0]
    >>> ruler.to_values(np.array([0.0, 0.5, 1.5])).tolist()
    [0.0, 100.0, 900.0]
    """

    scale: Scale
    low: float
    high: float

    @property
    def start(self) -> float:
        """g at the low end."""
        return float(self.scale.stretch(np.array(self.low)))

    @property
    def span(self) -> float:
        """L, the length of the stretched domain."""
        return float(self.scale.stretch(np.array(self.high))) - self.start

    def to_places(self, values: FloatArray | float) -> FloatArray:
        """Return places, rounded so that every machine has the same."""
        places = (self.scale.stretch(np.asarray(values, dtype=np.float64)) - self.start) / self.span
        return np.asarray(np.round(places / RESOLUTION) * RESOLUTION + 0.0)  # no −0, which has other bits than 0

    def to_values(self, places: FloatArray | float) -> FloatArray:
        """Return values in the unit of the column."""
        u = np.asarray(places, dtype=np.float64)
        with np.errstate(over="ignore"):
            values = self.scale.unstretch(self.start + self.span * u)
        # the ends are exact, whatever rounding makes of them
        return np.where(u == 0, self.low, np.where(u == 1, self.high, values))

    def write_values(self, places: FloatArray, grid: float) -> FloatArray:
        """Return values in as few decimals as tell neighbours on the grid of places apart, so that no digit tells more."""
        values = self.to_values(places)
        apart = np.minimum(self.to_values(places + grid) - values, values - self.to_values(places - grid))
        digits = np.where(apart > 0, np.ceil(-np.log10(np.where(apart > 0, apart, 1.0))) + 1, 0)
        factor = 10.0 ** np.clip(np.nan_to_num(digits), 0, 300)
        with np.errstate(over="ignore"):
            rounded = np.round(values * factor) / factor
        return np.where(np.isfinite(rounded), rounded, values)


def _interpolate(x: FloatArray, at: FloatArray, to: FloatArray) -> FloatArray:
    """Return the function through (at, to) that is straight between these points, and goes on straight beyond them."""
    cell = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    slope = (to[cell + 1] - to[cell]) / (at[cell + 1] - at[cell])
    return np.asarray(to[cell] + slope * (x - at[cell]))


def _number(scale: str, parameter: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"the scale {scale}: {parameter} = {value!r} is not a number")
    return float(value)


def _positive(scale: str, parameter: str, value: object) -> float:
    number = _number(scale, parameter, value)
    if not 1e-280 <= number <= 1e280:
        raise UsageError(f"the scale {scale}: {parameter} = {number:g} must be a positive number")
    return number

"""Rubin's rules: one figure from the figures of several draws, with an interval that knows how far the draws differ.

Draws that are right on average need no more. Those of a fitted model lean, as the model does: rehearsals of the draws (see
`bootstrap.rehearse_draws`) say how far, and the interval makes room for what is corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError
from sfumato.reconstruction import Figure
from sfumato.text import join_names

Statistic = Callable[[Any], Any]
"""Takes a table, returns a figure, or several."""
TABLE, POPULATION = "the rows behind the release", "the population they come from"


class Pooled(Figure):
    """One figure pooled from draws, with its standard error and 95 % interval.

    Attributes
    ----------
    of : str
        What the interval speaks of: the rows behind the release, or the population they come from.
    within : float
        The mean of the squared standard errors, ū; 0 where none were given.
    between : float
        The variance of the estimates, b.
    degrees : float
        Degrees of freedom of the t interval.
    draws : int
        How many estimates were pooled.
    bias : float
        What was taken off the mean of the estimates, as rehearsals of the draws found it; 0 without them.

    Examples
    --------
    >>> import sfumato as sf
    >>> mean = sf.pool([38.1, 38.4, 38.6, 38.2, 38.7], errors=[0.2] * 5)
    >>> mean, round(mean.low, 2), round(mean.high, 2), round(mean.degrees, 1)
    (38.4 ± 0.34, 37.62, 39.18, 9.2)
    """

    of: str
    within: float
    between: float
    degrees: float
    draws: int
    bias: float

    @classmethod
    def of_draws(cls, estimates: FloatArray, errors: FloatArray | None, leans: FloatArray | None = None) -> Self:
        """Pool the estimates of one figure.

        Parameters
        ----------
        estimates
            One per draw.
        errors
            Their standard errors, or None.
        leans
            How far the estimate of each rehearsal came out off what it was to find, or None.
        """
        from scipy.special import stdtrit

        m, room = len(estimates), 2.0  # for each unit of lean taken off; measured in benchmarks/pooled.py
        within = 0.0 if errors is None else float(np.mean(errors**2))
        between = float(estimates.var(ddof=1))
        spread = (1 + 1 / m) * between
        bias, doubt = (0.0, 0.0) if leans is None else _measure_lean(leans)
        spread += doubt
        total = within + spread
        degrees = degrees_of_freedom(m, within, spread)
        quantile = float(stdtrit(min(degrees, 1e9), 0.975))
        half = quantile * math.sqrt(total) + room * abs(bias)
        value = float(estimates.mean()) - bias
        figure = cls(value, math.sqrt(total), value - half, value + half)
        figure.of = TABLE if errors is None else POPULATION
        figure.within, figure.between, figure.degrees, figure.draws, figure.bias = within, between, degrees, m, bias
        return figure

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.se, self.low, self.high

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: estimate, se, low, high, and how they came about."""
        more = {"within": self.within, "between": self.between, "bias": self.bias}
        out: dict[str, Any] = super().to_dict() | {name: float(f"{value:.12g}") for name, value in more.items()}
        degrees = float(f"{self.degrees:.12g}") if math.isfinite(self.degrees) else None
        return out | {"degrees": degrees, "draws": self.draws, "of": self.of}


def degrees_of_freedom(m: int, within: float, spread: float) -> float:
    """Return ν = (m − 1)(1 + ū/((1 + 1/m) b))² (Rubin 1987, eq. 3.1.6).

    Parameters
    ----------
    m
        How many draws.
    within
        ū, the mean of the squared standard errors.
    spread
        (1 + 1/m) b.

    Examples
    --------
    >>> round(degrees_of_freedom(5, 0.04, 0.078), 2)
    9.15
    """
    return math.inf if spread == 0 else (m - 1) * (1 + within / spread) ** 2


def _measure_lean(leans: FloatArray) -> tuple[float, float]:
    """Return what to take off, and the variance of that.

    The mean of few rehearsals is chance in part. Its weight is w = b̂²/(b̂² + v), v its variance: a lean that stands out is taken off
    whole, one that does not is left.
    """
    if len(leans) < 2:
        return 0.0, 0.0
    mean, variance = float(leans.mean()), float(leans.var(ddof=1)) / len(leans)
    weight = mean**2 / (mean**2 + variance) if mean else 0.0
    return weight * mean, weight**2 * variance


@dataclass(frozen=True, eq=False)
class Reading:
    """What a statistic returned: estimates by name, standard errors or None, and how to give several back."""

    estimates: Mapping[Any, float]
    errors: Mapping[Any, float] | None
    form: str

    @classmethod
    def of(cls, result: Any, errors: Any = None) -> Self:
        """Read what a statistic returned.

        Parameters
        ----------
        result
            A number, a pair of number and error, an array, a mapping of names to these, or something with `params` and `bse`.
        errors
            The standard errors in the same form, where they stand by themselves.
        """
        if hasattr(result, "params") and hasattr(result, "bse"):
            names = list(getattr(result.params, "index", range(len(result.params))))
            estimates, own = (np.asarray(part, dtype=np.float64) for part in (result.params, result.bse))
            pairs = zip(names, zip(estimates, own, strict=True), strict=True)
            return cls.of(dict(pairs))
        if isinstance(result, tuple) and len(result) == 2 and errors is None:
            return cls.of(result[0], result[1])
        if isinstance(result, Mapping):
            parts = {name: cls._pair(value, None if errors is None else errors[name]) for name, value in result.items()}
            return cls._of_pairs(parts, "mapping")
        values = np.asarray(result, dtype=np.float64)
        if values.ndim == 0:
            return cls._of_pairs({None: (float(values), None if errors is None else float(errors))}, "number")
        if values.ndim > 1:
            raise UsageError(
                f"an estimate of shape {values.shape} is not pooled; give a number, a list or a mapping of names"
            )
        beside = [None] * len(values) if errors is None else np.asarray(errors, dtype=np.float64).tolist()
        return cls._of_pairs(dict(enumerate(zip(values.tolist(), beside, strict=True))), "array")

    @staticmethod
    def _pair(value: Any, error: Any) -> tuple[float, float | None]:
        if isinstance(value, tuple) and len(value) == 2 and error is None:
            return float(value[0]), float(value[1])
        return float(value), None if error is None else float(error)

    @classmethod
    def _of_pairs(cls, pairs: Mapping[Any, tuple[float, float | None]], form: str) -> Self:
        estimates = {name: value for name, (value, _) in pairs.items()}
        errors = {name: error for name, (_, error) in pairs.items() if error is not None}
        if errors and len(errors) < len(estimates):
            bare = [str(name) for name in estimates if name not in errors]
            raise UsageError(f"{join_names(bare)}: no standard error, and others have one; give all of them, or none")
        return cls(estimates, errors or None, form)


def pool(estimates: Iterable[Any], errors: Iterable[Any] | None = None) -> Any:
    """Pool what several draws say by Rubin's rules.

    Parameters
    ----------
    estimates : sequence
        One entry per draw: a number, ``(number, standard error)``, an array, a mapping of names to these, or a fitted model with
        ``params`` and ``bse``.
    errors : sequence, optional
        The standard errors, in the same form. With them the interval is for the figure of the population that the rows come from:
        T = ū + (1 + 1/m) b. Without them it is for the figure of the rows behind the release: T = (1 + 1/m) b.

    Returns
    -------
    Pooled, or a mapping or tuple of them
        The figure with its standard error and its 95 % interval.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.pool([10.0, 12.0, 11.0])
    11 ± 1.2
    >>> sf.pool([{"age": (0.5, 0.1)}, {"age": (0.7, 0.1)}])["age"].of
    'the population they come from'
    """
    results = list(estimates)
    beside = [None] * len(results) if errors is None else list(errors)
    if len(results) != len(beside):
        raise UsageError(f"{len(results)} estimates and {len(beside)} standard errors; give one for each draw")
    return pool_readings([Reading.of(r, e) for r, e in zip(results, beside, strict=True)])


def pool_draws(tables: Sequence[Any], statistic: Statistic, rehearsed: Sequence[tuple[Any, Any]] = ()) -> Any:
    """Compute a statistic on every draw, and pool the results.

    Parameters
    ----------
    tables
        The draws.
    statistic
        Takes one of them.
    rehearsed
        Pairs of a table that was taken for the truth and a draw from a release of it; none where nothing is corrected.
    """
    readings = [Reading.of(statistic(table)) for table in tables]
    pairs = [(Reading.of(statistic(truth)), Reading.of(statistic(drawn))) for truth, drawn in rehearsed]
    return pool_readings(readings, pairs)


def pool_readings(readings: Sequence[Reading], rehearsed: Sequence[tuple[Reading, Reading]] = ()) -> Any:
    """Pool estimates that were read, in the form they came in."""
    if len(readings) < 2:
        raise UsageError(f"{len(readings)} estimate has no spread to pool; draw at least two tables, m=5 by default")
    first = readings[0]
    every = [*readings, *(part for pair in rehearsed for part in pair)]
    if any(set(r.estimates) != set(first.estimates) or r.form != first.form for r in every):
        raise UsageError("the statistic does not name the same figures on every draw; return the same names each time")
    if any((r.errors is None) != (first.errors is None) for r in readings):
        raise UsageError("some estimates have a standard error and some have none; give all of them, or none")
    out = {}
    for name in first.estimates:
        values = np.array([r.estimates[name] for r in readings])
        errors = None if first.errors is None else np.array([r.errors[name] for r in readings if r.errors is not None])
        leans = np.array([drawn.estimates[name] - truth.estimates[name] for truth, drawn in rehearsed])
        out[name] = Pooled.of_draws(_check_finite(values, name), errors, leans if len(leans) else None)
    if first.form == "number":
        return out[None]
    return out if first.form == "mapping" else tuple(out.values())


def _check_finite(values: FloatArray, name: Any) -> FloatArray:
    if not np.isfinite(values).all():
        place = int(np.argmax(~np.isfinite(values)))
        what = "" if name is None else f"{name}: "
        raise DataError(
            f"{what}draw {place + 1} has {values[place]:g}; compute the statistic so that it is a number on every draw"
        )
    return values

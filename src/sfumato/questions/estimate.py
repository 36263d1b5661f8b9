"""An estimate with its standard error and interval, and how it came about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.reconstruction import Figure


class Certainty(StrEnum):
    """What an interval promises."""

    EXACT = "exact"
    """There is no noise in the figure."""
    LIKELY = "likely"
    """The interval holds the figure of the true rows in 95 of 100 releases."""
    GUARANTEED = "guaranteed"
    """The interval holds it whatever lies inside the bins of the law, or however rough the column is within what is stated."""
    AS_RELEASED = "as released"
    """A method changed the values and states no law: the figure is that of the released table."""
    UNTOLD = "cannot be told"
    """The noise leaves no honest figure of so few rows."""


@dataclass(frozen=True)
class Estimate:
    """One figure of one group.

    Parameters
    ----------
    value : float, optional
        The estimate; None where it cannot be told, or is NULL.
    se : float, optional
        The standard error of the noise, given the true rows.
    low, high : float, optional
        The interval.
    kind : Certainty
        What the interval promises.
    by : str
        How it was computed.
    rows : float
        The released rows that it rests on.
    effective_rows : float
        As many rows without noise in their group would say as much of the group.
    guaranteed : tuple of float, optional
        An interval that promises more than `low` and `high`.
    why : str
        Why it cannot be told, or under which condition the guaranteed interval holds.

    Examples
    --------
    >>> Estimate(0.25, 0.01, 0.23, 0.27, rows=1000).to_dict()["low"]
    0.23
    """

    value: float | None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    kind: Certainty = Certainty.LIKELY
    by: str = ""
    rows: float = 0.0
    effective_rows: float = 0.0
    guaranteed: tuple[float, float] | None = None
    why: str = ""

    def __post_init__(self) -> None:
        for name in ("value", "se", "low", "high", "rows", "effective_rows"):
            number = getattr(self, name)
            object.__setattr__(self, name, None if number is None else float(number))

    @classmethod
    def exact(cls, value: float | None, rows: float) -> Estimate:
        """Return a figure without noise; None is NULL."""
        known = None if value is None or math.isnan(value) else value
        se = None if known is None else 0.0
        return cls(known, se, known, known, Certainty.EXACT, "counted", rows, rows)

    @classmethod
    def of(cls, figure: Figure, by: str) -> Estimate:
        """Return a figure with its likely interval."""
        return cls(float(figure), figure.se, figure.low, figure.high, by=by)

    @classmethod
    def untold(cls, why: str, rows: float = 0.0, effective_rows: float = 0.0) -> Estimate:
        """Return that a figure cannot be told, and why."""
        return cls(None, kind=Certainty.UNTOLD, rows=rows, effective_rows=effective_rows, why=why)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers to twelve digits: sums over blocks differ in the last ones."""
        out: dict[str, Any] = {
            "estimate": round_digits(self.value),
            "se": round_digits(self.se),
            "low": round_digits(self.low),
            "high": round_digits(self.high),
            "kind": str(self.kind),
            "by": self.by,
            "rests_on": {"rows": round_digits(self.rows), "effective_rows": round_digits(self.effective_rows, 6)},
        }
        if self.guaranteed is not None:
            low, high = self.guaranteed
            out["guaranteed"] = {"low": round_digits(low), "high": round_digits(high)}
        if self.why:
            out["why"] = self.why
        return out


def round_digits(value: float | None, digits: int = 12) -> float | None:
    """Return a number to some significant digits; None where there is none.

    >>> round_digits(0.1 + 0.2)
    0.3
    """
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")

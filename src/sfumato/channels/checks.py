"""Checks of the parameters of a law: each raises UsageError with the column, the value and the next step."""

from __future__ import annotations

import math
from datetime import date

from sfumato.errors import UsageError
from sfumato.schema import MAX_EXACT_INTEGER, MAX_MAGNITUDE, Attribute, Kind, day_number
from sfumato.text import join_names

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
    if attribute.interval.range == 0:
        raise UsageError(
            f"{attribute.name}: its domain is the single value {attribute.interval.low:g}, so noise has no scale; "
            "widen the domain, or withhold the column"
        )


def check_representable(attribute: Attribute, step: float, beyond: float) -> None:
    """Raise UsageError for noise whose sums float64 rounds more coarsely than the release's grid, or that leaves the calendar.

    A sum of 2⁵² steps still has its half step, which rounding to the grid needs; beyond, the law would be another.
    """
    low, high = attribute.interval.low - beyond, attribute.interval.high + beyond
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

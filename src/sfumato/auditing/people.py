"""People found: whose row somebody picks out of the whole release who knows their true values.

The attacker computes Π P(released | true) for every row and picks the likeliest. What a random pick would find as well is chance,
1/rows. Where a method states no law, the attacker learns one from known rows; the strongest of these attacks counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.attacks import (
    PEOPLE,
    Assignment,
    LearnedAssignment,
    LearnedLinkage,
    LikelihoodLinkage,
    NearestLinkage,
    View,
)
from sfumato.auditing import rates
from sfumato.auditing.case import Case
from sfumato.auditing.score import Finding
from sfumato.auditing.trial import try_attack
from sfumato.counts import FloatArray


@dataclass(frozen=True)
class PeopleFound:
    """The share of people found, with its 95 % interval, beside the share that chance finds."""

    share: float
    low: float
    high: float
    chance: float
    rows: int
    """Rows in which they were looked for."""
    people: int
    """People who were looked for."""
    columns: int = 0
    """Columns of which their true values were known."""

    @property
    def beyond_chance(self) -> float:
        """(share − chance)/(1 − chance), at least 0."""
        return rates.advantage(self.share, self.chance)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `beyond_chance`."""
        return rates.advantage(self.low, self.chance), rates.advantage(self.high, self.chance)

    @property
    def in_words(self) -> str:
        """A sentence for people."""
        low, high = (rates.format_share(end) for end in (self.low, self.high))
        return (
            f"Somebody who knows all {self.columns} columns of a person finds the person's row with "
            f"{rates.format_share(self.share)} ({low} to {high}); by chance {rates.format_share(self.chance)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "chance": self.chance,
            "beyond_chance": self.beyond_chance,
            "rows": self.rows,
            "people": self.people,
            "columns": self.columns,
            "in_words": self.in_words,
        }


def find_people(view: View, truth: Mapping[str, FloatArray], *, targets: int = 500, seed: int = 0) -> PeopleFound:
    """Look for people in a release that is held in memory.

    Parameters
    ----------
    view : View
        The released columns with their laws.
    truth : mapping of str to array
        The true values of the same rows by column.
    targets : int
        How many people are looked for, chosen by chance under the seed.
    seed : int
        Under the same seed the same people are chosen.

    Returns
    -------
    PeopleFound
        The share found by the strongest linkage, its 95 % interval, and chance.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.attacks import View
    >>> from sfumato.table import Column
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> true = np.linspace(1, 99, 200)
    >>> find_people(View((Column(age, None, true),)), {"age": true}, targets=50).share
    1.0
    """
    case = Case.in_memory(view, dict(truth), targets=targets, seed=seed)
    kinds = (LikelihoodLinkage, LearnedLinkage, NearestLinkage, Assignment, LearnedAssignment)
    return count_found(f for kind in kinds for f in try_attack(kind, case)[0])


def count_found(findings: Iterable[Finding]) -> PeopleFound:
    """Return what the strongest attack found that looks among all rows, of the findings of an audit."""
    links = [f for f in findings if f.unit == PEOPLE]
    whole = min(f.baseline for f in links)  # a linkage within a sample has more chance, and is another question
    best = max((f for f in links if f.baseline == whole), key=lambda f: f.success)
    low, high = best.interval
    return PeopleFound(best.success, low, high, whole, round(1 / whole), best.trials, len(best.attributes))

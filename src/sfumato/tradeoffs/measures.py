"""What is measured of a release: who is found, what attacks leave of its promises, and how far distributions and answers are off.

The same figures are taken of a release in memory (`measure`) and from the audit of one in a folder (`Measures.of_audit`), so that a
trade-off and a comparison of plans say the same thing by the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from sfumato.advice import judge_strictly
from sfumato.attacks import RowGroups, View
from sfumato.auditing import BROKEN, Audit, PeopleFound, Promise, find_people, judge_columns, measure_distances
from sfumato.counts import FloatArray
from sfumato.reconstruction import wilson
from sfumato.tradeoffs.reader_question import Answer, Question, answer_questions

Distances = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Measures:
    """Privacy left and usefulness of one release.

    Parameters
    ----------
    people : PeopleFound
        The share of people found by somebody who knows all their true values.
    promises : tuple of Promise
        What is left of each column.
    broken, nearly_broken : tuple of str
        Columns of which attacks break the promise, and those of which they may in another draw of the noise.
    distances : mapping
        For every blurred column, how far the reconstructed distribution is from the true one.
    domains : mapping
        The width of each column's domain, or its number of labels.
    answers : tuple of Answer
        The owner's questions.
    """

    people: PeopleFound
    promises: tuple[Promise, ...]
    broken: tuple[str, ...]
    distances: Distances
    domains: Mapping[str, float]
    answers: tuple[Answer, ...] = ()
    nearly_broken: tuple[str, ...] = ()

    @classmethod
    def of_audit(cls, judged: Audit, answers: tuple[Answer, ...] = ()) -> Measures:
        """Return the figures of an audit."""
        distances = judged.utility["distributions"] or {}
        return cls(judged.people, judged.promises, _list_broken(judged.promises), distances, judged.domains, answers)

    @property
    def left(self) -> dict[str, float]:
        """For every blurred column, the interval that attacks leave, as a share of the domain."""
        return {
            p.attribute: min(p.left / (self.domains[p.attribute] or 1.0), 1.0)
            for p in self.promises
            if p.attribute in self.distances and not p.unmeasured
        }

    @property
    def promised(self) -> float | None:
        """The mean 95 % interval that the laws promise of the same columns, as a share of the domain and no wider than that."""
        return _mean(
            min((p.promised or 0.0) / (self.domains[p.attribute] or 1.0), 1.0)
            for p in self.promises
            if p.attribute in self.left and p.promised is not None
        )

    @property
    def mean_left(self) -> float | None:
        """The mean of `left`; None where nothing could be measured."""
        return _mean(self.left.values())

    @property
    def total_variation(self) -> float | None:
        """The mean total variation of reconstructed to true distributions."""
        return _mean(d["total_variation"] for d in self.distances.values())

    @property
    def errors(self) -> dict[str, float]:
        """For every blurred column, W₁ as a share of the range; of labels the total variation."""
        return {n: d.get("wasserstein_share_of_range", d["total_variation"]) for n, d in self.distances.items()}

    @property
    def mean_error(self) -> float | None:
        """The mean of `errors`."""
        return _mean(self.errors.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        low, high = self.people.interval
        return {
            "people_found": self.people.to_dict() | {"beyond_chance_interval": [low, high]},
            "broken": list(self.broken),
            "nearly_broken": list(self.nearly_broken),
            "promised": self.promised,
            "left": self.mean_left,
            "columns": {
                p.attribute: {
                    "promised": p.promised,
                    "left": None if p.unmeasured else p.left,
                    "left_share_of_domain": self.left.get(p.attribute),
                    "verdict": p.verdict,
                    "distribution_error": self.errors.get(p.attribute),
                }
                for p in self.promises
            },
            "distribution_error": self.mean_error,
            "questions": [answer.to_dict() for answer in self.answers],
        }


def _list_broken(promises: Iterable[Promise]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p.attribute for p in promises if p.verdict == BROKEN))


def _mean(values: Any) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def measure(
    draw: Callable[[int], View],
    truth: Mapping[str, FloatArray],
    questions: Sequence[Question] = (),
    *,
    draws: int = 1,
    shuffled: bool = False,
    stated: Mapping[str, float] | None = None,
    groups: RowGroups | None = None,
    seed: int = 0,
) -> Measures:
    """Measure a release that is made in memory, by quick attacks.

    Parameters
    ----------
    draw : callable
        Returns what a reader sees of the given draw of the noise.
    truth : mapping of str to array
        The true values of the same rows by column.
    questions : sequence of Question
        What readers will ask; answered in `draws` draws.
    draws : int
        Draws of the noise for the questions.
    shuffled : bool
        Whether the rows of the release stand in a random order.
    stated : mapping of str to float, optional
        Smaller figures that the owner promises in the place of the laws' own.
    groups : RowGroups, optional
        Which rows are one person's, where people have several.
    seed : int
        Equal seeds give equal figures.

    Returns
    -------
    Measures
        People found in one draw, or in several where there are few rows; promises of two draws or more; distances of the first;
        answers.
    """
    first = draw(0)
    beliefs = first.beliefs  # the laws are the same in every draw, and distributions nearly so

    def redraw(number: int) -> View:
        view = first if number == 0 else draw(number)
        return view.with_beliefs({c.name: replace(beliefs[c.name], column=c) for c in view.columns})

    rows = np.random.default_rng(seed).permutation(first.rows) if shuffled else np.arange(first.rows)
    ordered = {n: v[rows] for n, v in truth.items()}
    theirs = None if groups is None else replace(groups, person=groups.person[rows])
    # A promise near its limit is broken by one draw of the noise and kept by the next, above all among few rows.
    trials = int(np.clip(2000 // max(first.rows, 1), 2, 6))
    promises = [
        judge_columns(redraw(n).take(rows), ordered, stated=stated or {}, groups=theirs, seed=seed)
        for n in range(trials)
    ]
    asked = range(draws if questions else 0)
    columns = [{c.name: c for c in redraw(number).columns} for number in asked]
    domains = {
        c.name: c.attribute.interval.range if c.attribute.kind.numeric else float(len(c.attribute.labels))
        for c in first.columns
    }
    return Measures(
        look_for_people(redraw, truth, seed=seed),
        tuple(promises[0]),
        _list_broken(chain(*promises)),
        measure_distances(redraw(0), truth),
        domains,
        answer_questions(questions, columns, truth) if questions else (),
        tuple(
            n for n in _list_broken(map(judge_strictly, chain(*promises))) if n not in _list_broken(chain(*promises))
        ),
    )


def look_for_people(draw: Callable[[int], View], truth: Mapping[str, FloatArray], *, seed: int = 0) -> PeopleFound:
    """Look for people in as many draws of the noise as give a thousand trials, or two hundred where there are very many cells."""
    first = draw(0)
    targets = int(np.clip(250_000_000 // max(first.rows * len(first.columns), 1), 200, 1000))
    trials = min(targets, first.rows)
    draws = -(-targets // trials)
    each = [find_people(draw(number), truth, targets=targets, seed=seed) for number in range(draws)]
    if draws == 1:
        return each[0]
    share = float(np.mean([p.share for p in each]))
    low, high = (float(end) for end in wilson(np.array(share), trials * draws))
    return replace(each[0], share=share, low=max(low, 0.0), high=min(high, 1.0), people=trials)

"""How smooth a joint table should be, chosen by rows that were held out.

Candidates come in three kinds, from the plainest to the freest: independent columns, each as `reconstruct` has it by itself;
the same columns with the dependence of a smoothed fit of the whole table; that fit as it is. Each is fitted to three
quarters of the rows and scored by the log-likelihood of the rest. The plainest candidate within one standard error of the
best one is taken: where the rows cannot tell candidates apart, the plainer one is closer to the truth more often than not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sfumato.counts import FloatArray
from sfumato.reconstruction.em import Fit, iterate, smooth_table, step_stop
from sfumato.reconstruction.problem import TINY, Problem

FOLDS = 4
MIN_ROWS = 10 * FOLDS
"""With fewer rows nothing is held out, and columns are taken for independent."""


@dataclass(frozen=True, eq=False)
class JointData:
    """Some of the rows: their counts in the raveled table, and the masses of each column by itself."""

    problem: Problem
    margins: tuple[FloatArray, ...]

    @property
    def product(self) -> FloatArray:
        """The masses of independent columns."""
        return reduce(np.multiply.outer, self.margins)


class Candidate(NamedTuple):
    """One way to fit a joint table."""

    own: bool
    """Whether the columns keep the distributions that each has by itself."""
    smoothing: float | None
    """s of the fit whose dependence it has; None for independent columns."""

    @property
    def rank(self) -> tuple[bool, float]:
        """Its place from the plainest to the freest."""
        return not self.own, -np.inf if self.smoothing is None else -self.smoothing

    def describe(self) -> str:
        """Return it in words."""
        if self.smoothing is None:
            return "independent columns"
        dependence = f"smoothed by {self.smoothing:g}" if self.smoothing else "that is not smoothed"
        if self.own:
            return f"the columns as each is by itself with a dependence {dependence}"
        return f"a table {dependence}"


@dataclass(frozen=True, eq=False)
class JointChoice:
    """The fit of the chosen candidate to all rows, and why it was chosen."""

    mass: FloatArray
    trail: tuple[float, ...]
    chosen: Mapping[str, Any]


def rake(mass: FloatArray, margins: Sequence[FloatArray]) -> FloatArray:
    """Scale a table until its margins are these: iterative proportional fitting (Deming & Stephan 1940).

    It keeps the odds ratios, so the dependence stays that of the table.

    Examples
    --------
    >>> import numpy as np
    >>> rake(np.array([[0.4, 0.1], [0.1, 0.4]]), (np.array([0.5, 0.5]), np.array([0.8, 0.2]))).sum(axis=0).round(3)
    array([0.8, 0.2])
    """
    rounds = 10
    for _ in range(rounds):
        for axis, margin in enumerate(margins):
            others = tuple(i for i in range(mass.ndim) if i != axis)
            mass = mass * np.expand_dims(margin / np.maximum(mass.sum(axis=others), TINY), others)
    return np.asarray(mass / mass.sum())


def fit_path(
    problem: Problem, shape: Sequence[int], ordered: Sequence[bool], strengths: Sequence[float], steps: int
) -> Iterator[Fit]:
    """Yield one fit by EMS for each strength along the ordered axes, every one begun where the one before it ended."""
    tolerance = 1e-5  # a finer stop takes several times as long, and rough fits follow chance further
    mass = None
    for strength in strengths:
        smooth = smooth_table(shape, [strength if flag else 0.0 for flag in ordered])
        stop = step_stop(tolerance)
        fit = iterate(problem, stop, method="ems", smooth=smooth, start=mass, most=steps, accelerate=True)
        mass = fit.mass
        yield fit


def choose_joint(
    whole: JointData, folds: Sequence[tuple[JointData, FloatArray]], ordered: Sequence[bool], steps: int
) -> JointChoice:
    """Choose a candidate by held-out rows and fit it to all rows.

    Parameters
    ----------
    whole
        All rows.
    folds
        The rows that are fitted, and the counts of those that are held out, for each part; none where rows are too few.
    ordered
        Whether neighbouring cells of an axis hold neighbouring values, for each axis.
    steps
        The largest number of EM steps of one fit.
    """
    strengths = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0) if any(ordered) else (0.0,)
    patience = 2  # strengths without a better score, after which rougher fits are not tried
    shape = whole.product.shape
    independent = Candidate(True, None)
    scores = HeldOutScores(folds)
    scores.add(independent, [data.product for data, _ in folds])
    since = 0
    paths = [fit_path(data.problem, shape, ordered, strengths, steps) for data, _ in folds]
    for strength, *fits in zip(strengths, *paths, strict=True) if folds else ():
        before = scores.best
        tables = [fit.mass.reshape(shape) for fit in fits]
        if len(shape) > 1:
            pairs = zip(tables, folds, strict=True)
            scores.add(Candidate(True, strength), [rake(table, data.margins) for table, (data, _) in pairs])
        scores.add(Candidate(False, strength), tables)
        since = 0 if scores.best != before else since + 1
        if since == patience:
            break
    choice = scores.choose_plainest()
    mass, trail = whole.product, [whole.problem.log_likelihood(whole.product.ravel())]
    if choice.smoothing is not None:
        as_far_as = strengths[: strengths.index(choice.smoothing) + 1]
        *_, fit = fit_path(whole.problem, shape, ordered, as_far_as, steps)
        mass, trail = fit.mass.reshape(shape), list(fit.trail)
        mass = rake(mass, whole.margins) if choice.own else mass
    gain, error = scores.compare(choice, independent)
    chosen: dict[str, Any] = {
        "independent": choice.smoothing is None,
        "margins": "columns" if choice.own else "table",
        "smoothing": choice.smoothing,
        "gain_over_independence": gain,
        "gain_error": error,
        "candidates": len(scores.logs),
        "why": f"fewer than {MIN_ROWS} rows, so columns are taken for independent",
    }
    if folds:
        plainest = choice.describe()
        chosen["why"] = (
            f"of the fits that explain held-out rows best, within one standard error, the plainest is {plainest}"
        )
    return JointChoice(mass, tuple(trail), chosen)


class HeldOutScores:
    """The log-likelihood of held-out rows under every candidate."""

    def __init__(self, folds: Sequence[tuple[JointData, FloatArray]]) -> None:
        self.folds = folds
        self.seen = [np.flatnonzero(rows) for _, rows in folds]
        counts = [rows[seen] for (_, rows), seen in zip(folds, self.seen, strict=True)]
        self.counts = np.concatenate([np.empty(0), *counts])
        self.logs: dict[Candidate, FloatArray] = {}
        self.totals: dict[Candidate, float] = {}

    def add(self, candidate: Candidate, masses: Sequence[FloatArray]) -> None:
        """Score a candidate by its fits, one for each part.

        One row more, spread over all released cells, keeps the score finite where a fit thinks a cell impossible.
        """
        logs = [np.empty(0)]
        for mass, (data, _), seen in zip(masses, self.folds, self.seen, strict=True):
            n, expected = data.problem.n, data.problem.predict(mass.ravel())
            logs.append(np.log((n * expected[seen] + 1 / len(expected)) / (n + 1)))
        self.logs[candidate] = np.concatenate(logs)
        self.totals[candidate] = float(self.counts @ self.logs[candidate])

    @property
    def best(self) -> Candidate:
        """The candidate with the highest score."""
        return max(self.totals, key=self.totals.__getitem__)

    def compare(self, one: Candidate, other: Candidate) -> tuple[float, float]:
        """Return by how many nats one score is above another, and the standard error of that over rows."""
        difference = self.logs[one] - self.logs[other]
        gain = float(self.counts @ difference)
        n = max(float(self.counts.sum()), 1.0)
        squares = float(self.counts @ difference**2)
        return gain, math.sqrt(max(squares - gain**2 / n, 0.0))

    def choose_plainest(self) -> Candidate:
        """Return the plainest candidate within one standard error of the best one."""
        best = self.best
        behind = {candidate: self.compare(best, candidate) for candidate in self.logs}
        return min((c for c, (gap, error) in behind.items() if gap <= error), key=lambda c: c.rank)

"""What predicted classes and probabilities are worth: scores that a rare class cannot hide behind.

Where 6 % of the rows are positive, a model that never says so is right on 94 %. Accuracy therefore never stands alone here.
Balanced accuracy gives every class the same weight, AUC asks how well rows are ranked, log loss and Brier score whether the
probabilities are true. All of them follow from counts and sums that add up over blocks, so memory does not grow with the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError
from sfumato.mining.ensembles import Ensemble
from sfumato.mining.naive_bayes import NaiveBayes
from sfumato.reconstruction import wilson
from sfumato.trees import Columns, Tree, smooth_shares

Z95 = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""
Ends = tuple[float, float]


def predict_probabilities(body: Tree | Ensemble | NaiveBayes, columns: Columns) -> tuple[FloatArray, IntArray]:
    """Return P(class) of each row, shape (rows, labels), and the class that is predicted.

    The shares of a leaf are smoothed, the prediction is not: it is what `predict` says. The other models are smooth by themselves.
    """
    if isinstance(body, Tree):
        leaves = body.apply(columns)
        return smooth_shares(body)[leaves], body.node_classes[leaves]
    shares = body.predict_proba(columns)
    return shares, np.argmax(shares, axis=1)


def accuracy(confusion: IntArray) -> float:
    """Return the share of rows whose class is predicted right, Σ_c n_cc / n; rows of `confusion` are true classes."""
    return float(np.trace(confusion) / confusion.sum())


def majority_share(confusion: IntArray) -> float:
    """Return the accuracy of always predicting the commonest class, max_c n_c / n."""
    return float(confusion.sum(axis=1).max() / confusion.sum())


def balanced_accuracy(confusion: IntArray) -> float:
    """Return the mean recall of the classes that have rows, Σ_c (n_cc / n_c) / k (Brodersen et al. 2010)."""
    rows = confusion.sum(axis=1)
    present = rows > 0
    return float(np.mean(np.diag(confusion)[present] / rows[present]))


def balanced_accuracy_error(confusion: IntArray) -> float:
    """Return the standard error of the mean recall, √(Σ_c r_c (1 − r_c) / n_c) / k, with r_c = (n_cc + 1) / (n_c + 2).

    The rule of succession keeps a class of three rows, all recognised, from looking certain.
    """
    rows = confusion.sum(axis=1)
    present = rows > 0
    n = rows[present]
    share = (np.diag(confusion)[present] + 1) / (n + 2)
    return math.sqrt(float(np.sum(share * (1 - share) / n))) / len(n)


def wilson_interval(share: float, n: int) -> Ends:
    """Return Wilson's 95 % interval of a share of `n` rows, within [0, 1]."""
    low, high = (float(end) for end in wilson(np.asarray(share), n))
    return (0.0 if share <= 0 else max(low, 0.0)), (1.0 if share >= 1 else min(high, 1.0))


@dataclass(frozen=True, eq=False)
class Ranking:
    """How often an event was predicted with each probability, and how often it came true: what AUC and calibration need.

    Trees have few distinct probabilities, so this is exact for them. A model that has more than 65,536 of them is counted in
    cells of a thousandth on the scale of log-odds.
    """

    values: FloatArray
    """Distinct probabilities, ascending."""
    hits: IntArray
    """Rows with this probability for which the event came true."""
    misses: IntArray
    """The other rows with this probability."""

    @classmethod
    def of(cls, probabilities: FloatArray, events: BoolArray) -> Ranking:
        """Count rows by their probability."""
        # Equal shares that were divided differently may differ in the last bit, and would not be tied.
        values, places = np.unique(np.round(probabilities, 12), return_inverse=True)
        total = np.bincount(places, minlength=len(values))
        hits = np.bincount(places[events], minlength=len(values))
        return cls(values, hits, total - hits).coarsen()

    def __add__(self, other: Ranking) -> Ranking:
        values, places = np.unique(np.concatenate((self.values, other.values)), return_inverse=True)
        hits, misses = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
        np.add.at(hits, places, np.concatenate((self.hits, other.hits)))
        np.add.at(misses, places, np.concatenate((self.misses, other.misses)))
        return Ranking(values, hits, misses).coarsen()

    def coarsen(self) -> Ranking:
        """Return the ranking itself or, where it has too many distinct probabilities, one in cells of log-odds."""
        max_distinct, min_value, per_unit = 65_536, 1e-12, 1000  # log-odds of ±27.6: at most 55,263 cells
        if len(self.values) <= max_distinct:
            return self
        inside = np.clip(self.values, min_value, 1 - min_value)
        cells = np.round(per_unit * np.log(inside / (1 - inside)))
        distinct, places = np.unique(cells, return_inverse=True)
        counts = [np.zeros(len(distinct), np.int64) for _ in range(2)]
        for count, parts in zip(counts, (self.hits, self.misses), strict=True):
            np.add.at(count, places, parts)
        return Ranking(1 / (1 + np.exp(-distinct / per_unit)), *counts)

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.hits.sum() + self.misses.sum())


def auc(ranking: Ranking) -> float:
    """Return the area under the ROC curve: P(a row with the event ranks above one without it), ties counted half.

    That is the statistic of Mann & Whitney, U / (m n) (Hanley & McNeil 1982); NaN where all rows are of one side.
    """
    m, n = int(ranking.hits.sum()), int(ranking.misses.sum())
    below = np.cumsum(ranking.misses) - ranking.misses
    return float(ranking.hits @ (below + ranking.misses / 2) / (m * n)) if m and n else math.nan


def auc_interval(area: float, positives: int, negatives: int) -> Ends:
    """Return the areas A with |area − A| ≤ z √V(A), a 95 % interval that has a width even at an area of 1.

    V(A) = A (1 − A) [1 + (N − 1) ((1 − A)/(2 − A) + A/(1 + A))] / (m n), N = (m + n)/2: Hanley & McNeil's variance in a score
    interval like Wilson's (Newcombe 2006, part 2, method 5). With 10 to 300 positives among 160 to 5,000 rows it held the true area in
    91 to 98 % of draws, where DeLong's area ± 1.96 standard errors held it in 64 to 95 %.
    """
    mean = (positives + negatives) / 2

    def within(a: float) -> bool:
        spread = 1 + (mean - 1) * ((1 - a) / (2 - a) + a / (1 + a))
        return (area - a) ** 2 <= Z95**2 * a * (1 - a) * spread / (positives * negatives)

    return _last_inside(within, area, 0.0), _last_inside(within, area, 1.0)


def _last_inside(within: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where `within` ends between a place inside and one outside, by bisection."""
    steps = 50  # 2⁻⁵⁰ is next to nothing beside an area
    for _ in range(steps):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if within(middle) else (inside, middle)
    return inside


def log_losses(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Return −ln p of the true class of each row (Good 1952), with p no less than 10⁻⁶: a row costs at most 13.8."""
    min_probability = 1e-6
    return -np.log(np.maximum(probabilities[np.arange(len(truth)), truth], min_probability))


def brier_losses(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Return Σ_c (p_c − y_c)² of each row, y_c = 1 for the true class (Brier 1950): 0 is perfect, 2 the worst."""
    true_share = probabilities[np.arange(len(truth)), truth]
    return np.asarray((probabilities**2).sum(axis=1) - 2 * true_share + 1)


def shares_log_loss(shares: FloatArray) -> float:
    """Return the log loss of predicting every row with the class shares: their entropy, −Σ_c π_c ln π_c, in nats."""
    present = shares[shares > 0]
    return float(-np.sum(present * np.log(present)))


def shares_brier(shares: FloatArray) -> float:
    """Return the Brier score of predicting every row with the class shares: 1 − Σ_c π_c²."""
    return float(1 - np.sum(shares**2))


@dataclass(frozen=True)
class Moments:
    """A sum and a sum of squares over rows, for a mean with its standard error."""

    rows: int
    total: float
    squares: float

    @classmethod
    def of(cls, values: FloatArray) -> Moments:
        """Add up the values."""
        return cls(len(values), float(values.sum()), float(values @ values))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.rows + other.rows, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.total / self.rows

    @property
    def standard_error(self) -> float:
        """Of the mean, sd/√n; NaN for a single row."""
        if self.rows < 2:
            return math.nan
        variance = max(self.squares - self.rows * self.mean**2, 0.0) / (self.rows - 1)
        return math.sqrt(variance / self.rows)


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with like predictions: the mean probability that was predicted, and the share for which it came true."""

    predicted: float
    observed: float
    rows: int

    @property
    def interval(self) -> Ends:
        """Wilson's 95 % interval of the share."""
        return wilson_interval(self.observed, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        ends = list(self.interval)
        return {"predicted": self.predicted, "observed": self.observed, "rows": self.rows, "interval": ends}


def calibration_bins(ranking: Ranking) -> tuple[CalibrationBin, ...]:
    """Return at most ten bins of about as many rows each, from low predictions to high ones.

    Bins of equal width would put nearly every row of a rare class into the first of them. Rows with one probability are not
    parted, so a leaf is never in two bins.
    """
    max_bins = 10
    totals = ranking.hits + ranking.misses
    middles = (np.cumsum(totals) - totals / 2) / max(ranking.rows, 1)
    place = np.minimum((max_bins * middles).astype(np.int64), max_bins - 1)
    out = []
    for number in np.unique(place):
        inside = place == number
        rows, hits = int(totals[inside].sum()), int(ranking.hits[inside].sum())
        out.append(CalibrationBin(float(ranking.values[inside] @ totals[inside] / rows), hits / rows, rows))
    return tuple(out)


def expected_calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """Return Σ_b (n_b / n) |observed_b − predicted_b| (Naeini, Cooper & Hauskrecht 2015)."""
    rows = sum(b.rows for b in bins)
    return sum(b.rows * abs(b.observed - b.predicted) for b in bins) / rows


@dataclass(frozen=True, eq=False)
class Scores:
    """What predictions are worth on rows whose class is known; two of them add up to that of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]])
    >>> scores = Scores.of(probabilities, np.array([0, 0, 1, 0]))
    >>> scores.accuracy, scores.majority, scores.balanced_accuracy, scores.auc
    (0.75, 0.75, 0.5, 1.0)
    """

    confusion: IntArray
    """Rows by true class and predicted class."""
    rankings: tuple[Ranking, ...]
    """For every class, its probability, and whether it is the true one."""
    confidence: Ranking
    """The probability of the predicted class, and whether it is the true one."""
    log_losses: Moments
    brier_losses: Moments

    @classmethod
    def of(cls, probabilities: FloatArray, truth: IntArray, guesses: IntArray | None = None) -> Scores:
        """Score rows by P(class), shape (rows, labels), and true codes; the guess is the likeliest class unless it is given."""
        guesses = np.argmax(probabilities, axis=1) if guesses is None else guesses
        k = probabilities.shape[1]
        confusion = np.bincount(truth * k + guesses, minlength=k * k).reshape(k, k)
        certain = probabilities[np.arange(len(truth)), guesses]
        return cls(
            confusion,
            tuple(Ranking.of(probabilities[:, c], truth == c) for c in range(k)),
            Ranking.of(certain, guesses == truth),
            Moments.of(log_losses(probabilities, truth)),
            Moments.of(brier_losses(probabilities, truth)),
        )

    @classmethod
    def empty(cls, labels: int) -> Scores:
        """Return the scores of no rows, to add others to."""
        return cls.of(np.zeros((0, labels)), np.zeros(0, np.int64))

    def __add__(self, other: Scores) -> Scores:
        return Scores(
            self.confusion + other.confusion,
            tuple(a + b for a, b in zip(self.rankings, other.rankings, strict=True)),
            self.confidence + other.confidence,
            self.log_losses + other.log_losses,
            self.brier_losses + other.brier_losses,
        )

    @property
    def rows(self) -> int:
        """Rows that were scored."""
        return int(self.confusion.sum())

    @property
    def shares(self) -> FloatArray:
        """The share of each class among the rows."""
        return np.asarray(self.confusion.sum(axis=1) / self.rows)

    @property
    def accuracy(self) -> float:
        """The share of rows predicted right."""
        return accuracy(self.confusion)

    @property
    def majority(self) -> float:
        """The accuracy of always predicting the commonest class."""
        return majority_share(self.confusion)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes."""
        return balanced_accuracy(self.confusion)

    @property
    def auc(self) -> float:
        """The mean area of each class against the rest, weighted by class share; NaN where all rows are of one class."""
        return self._mean_over_classes([auc(ranking) for ranking in self.rankings])

    @property
    def log_loss(self) -> float:
        """The mean log loss, in nats."""
        return self.log_losses.mean

    @property
    def brier(self) -> float:
        """The mean Brier score."""
        return self.brier_losses.mean

    @property
    def calibrated_class(self) -> int | None:
        """The class whose probability is checked: the rarer of two; None where it is that of the predicted class."""
        if len(self.rankings) != 2:
            return None
        return int(self.shares[1] <= self.shares[0])

    @property
    def calibration(self) -> tuple[CalibrationBin, ...]:
        """Predicted probabilities beside what came true."""
        checked = self.calibrated_class
        return calibration_bins(self.confidence if checked is None else self.rankings[checked])

    def interval(self, name: str) -> Ends:
        """Return the 95 % interval of a score by its name in `SCORES`."""
        if name == "accuracy":
            return wilson_interval(self.accuracy, self.rows)
        if name == "auc":
            return self._auc_interval()
        if name == "balanced-accuracy":
            centre, error, most = self.balanced_accuracy, balanced_accuracy_error(self.confusion), 1.0
        else:
            losses = {"log-loss": self.log_losses, "brier": self.brier_losses}[name]
            centre, error, most = losses.mean, losses.standard_error, math.inf
        return max(centre - Z95 * error, 0.0), min(centre + Z95 * error, most)

    def _auc_interval(self) -> Ends:
        """Return the mean of the classes' intervals: for two classes theirs, for more no narrower than it should be.

        The standard error of a weighted mean is at most the weighted mean of the standard errors, however they are correlated.
        """
        ends = []
        for ranking in self.rankings:
            area, m, n = auc(ranking), int(ranking.hits.sum()), int(ranking.misses.sum())
            ends.append((math.nan, math.nan) if math.isnan(area) else auc_interval(area, m, n))
        return self._mean_over_classes([low for low, _ in ends]), self._mean_over_classes([high for _, high in ends])

    def _mean_over_classes(self, values: Sequence[float]) -> float:
        """Return the mean weighted by class share; classes that are all rows or none have NaN and are left out."""
        known = ~np.isnan(values)
        weights = self.shares[known]
        return float(np.asarray(values)[known] @ weights / weights.sum()) if known.any() else math.nan

    def to_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return plain data: every score, its interval and its value without a model, and the calibration."""
        checked, bins = self.calibrated_class, self.calibration
        keys = {name: name.replace("-", "_") for name in SCORES}
        return {
            **{key: _finite(SCORES[name].of(self)) for name, key in keys.items()},
            "majority": self.majority,
            "interval": {key: [_finite(end) for end in self.interval(name)] for name, key in keys.items()},
            "without_model": {key: _finite(SCORES[name].without_model(self)) for name, key in keys.items()},
            "confusion": self.confusion.tolist(),
            "calibration": {
                "class": None if checked is None else labels[checked],
                "expected_error": expected_calibration_error(bins),
                "bins": [b.to_dict() for b in bins],
            },
        }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class Score:
    """How to compute a score, and what it is for one who knows only the class shares."""

    of: Callable[[Scores], float]
    without_model: Callable[[Scores], float]


SCORES = {
    "accuracy": Score(lambda s: s.accuracy, lambda s: s.majority),
    "balanced-accuracy": Score(lambda s: s.balanced_accuracy, lambda s: 1 / int((s.shares > 0).sum())),
    "auc": Score(lambda s: s.auc, lambda _: 0.5),
    "log-loss": Score(lambda s: s.log_loss, lambda s: shares_log_loss(s.shares)),
    "brier": Score(lambda s: s.brier, lambda s: shares_brier(s.shares)),
}
"""Every score by its name. Without a model accuracy is that of the commonest class, the losses those of the class shares."""


def score_model(body: Tree | Ensemble | NaiveBayes, columns: Columns, truth: IntArray) -> Scores:
    """Score a model on rows of true values; rows whose code in `truth` is negative have no class and are left out."""
    probabilities, guesses = predict_probabilities(body, columns)
    known = truth >= 0
    if not known.any():
        raise DataError("no row has a class to score by; give at least one")
    return Scores.of(probabilities[known], truth[known], guesses[known])

"""Which released row is this person's? By likelihood, by distance, one to one on a sample, or through two halves that meet.

If row r is the target's, it was drawn from P(y | x) and every other row from P(y). So the attacker's posterior over rows is
∝ P(y_r | x)/P(y_r): a row that would suit anybody is weak evidence. Both are products over the known attributes (Islam &
Brankovic's intruder, with the law of the release in the place of theirs). Distances are Gower's: range-scaled differences of
numbers, 0 or 1 for labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._likelihood import Likelihood, floor_logs, log_evidence
from sfumato.attacks.base import Grants, Knowledge, LinkAttack, Targets, View
from sfumato.attacks.known_rows import LearnsLaw
from sfumato.counts import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Space:
    """Columns prepared for distances, with the rows in random order, so that ties fall by chance."""

    numbers: tuple[tuple[str, NDArray[np.float32], float], ...]
    labels: tuple[tuple[str, NDArray[np.int32]], ...]
    order: IntArray

    @classmethod
    def of(cls, view: View, targets: Mapping[str, FloatArray], names: Sequence[str], seed: int) -> Space:
        """The named columns; numbers are divided by their range over release and targets together."""
        # Not the seed itself: people are chosen under it, and their own rows would come first among equals.
        order = np.random.default_rng((seed, 7919)).permutation(view.rows)
        numbers, labels = [], []
        for name in names:
            column = view[name].as_true()
            if column.attribute.kind.numeric:
                both = np.concatenate([column.values, targets[name]])
                known = both[~np.isnan(both)]
                span = float(np.ptp(known)) if len(known) else 0.0
                scale = span if span > 0 else 1.0
                numbers.append((name, (column.values[order] / scale).astype(np.float32), scale))
            else:
                labels.append((name, _codes(column.values)[order]))
        return cls(tuple(numbers), tuple(labels), order)

    def distances(self, targets: Mapping[str, FloatArray], part: slice) -> NDArray[np.float32]:
        """Targets × rows; absence is at distance 0 from absence and 1 from everything else."""
        out = np.zeros((part.stop - part.start, len(self.order)), np.float32)
        gap = np.empty_like(out)
        for name, values, scale in self.numbers:
            queries = (targets[name][part] / scale).astype(np.float32)
            np.subtract(queries[:, None], values[None, :], out=gap)
            np.abs(gap, out=gap)
            if np.isnan(values).any() or np.isnan(queries).any():
                both = np.isnan(queries)[:, None] & np.isnan(values)[None, :]
                gap[np.isnan(gap)] = 1.0
                gap[both] = 0.0
            out += gap
        for name, codes in self.labels:
            out += _codes(targets[name][part])[:, None] != codes[None, :]
        return out

    def nearest(self, targets: Targets, k: int) -> IntArray:
        """Return for each target the `k` nearest rows, the nearest first."""
        size, rows = targets.size, len(self.order)
        k = min(k, rows - (targets.without is not None))
        place = np.empty(rows, np.int64)
        place[self.order] = np.arange(rows)
        out = np.empty((size, k), np.int64)
        step = max(1, 1_000_000 // max(rows, 1))  # targets × rows at a time: their distances stay in the cache
        for begin in range(0, size, step):
            part = slice(begin, min(begin + step, size))
            distances = self.distances(targets.known, part)
            if targets.without is not None:
                distances[np.arange(len(distances)), place[targets.without[part]]] = np.inf
            if k == 1:
                near = distances.argmin(axis=1)[:, None]
            else:
                near = np.argpartition(distances, k - 1, axis=1)[:, :k]
                order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
                near = np.take_along_axis(near, order, axis=1)
            out[part] = self.order[near]
        return out


def _codes(values: FloatArray) -> NDArray[np.int32]:
    return np.where(np.isnan(values), -1, values).astype(np.int32)


NEAR = 1e-4
"""Log-likelihoods closer than this are taken as equal: they are sums of float32."""


@dataclass(frozen=True, eq=False)
class Links:
    """For each target: the best log-likelihood ratio, how many rows share it, log of the sum over rows, and 2^entropy."""

    likelihood: Likelihood
    best: FloatArray
    ties: IntArray
    logsum: FloatArray
    effective: FloatArray

    def credit(self, rows: IntArray) -> FloatArray:
        """The chance that the likeliest pick is the given row: 1/ties where it is among the likeliest."""
        own = self.likelihood.pairs(np.arange(len(rows)), rows)
        return np.where(own >= self.best - NEAR, 1.0 / self.ties, 0.0)

    def credit_beside(self, own: FloatArray, whose: IntArray) -> FloatArray:
        """The chance that a row of this log-likelihood ratio is picked beside the rows that were looked through."""
        best, ties = self.best[whose], self.ties[whose]
        return np.where(own > best + NEAR, 1.0, np.where(own >= best - NEAR, 1.0 / (ties + 1), 0.0))

    def probability(self, rows: IntArray) -> FloatArray:
        """The posterior probability that the given row is the target's."""
        own = self.likelihood.pairs(np.arange(len(rows)), rows)
        return np.exp(np.minimum(own - self.logsum, 0.0))


@dataclass(frozen=True)
class LikelihoodLinkage(LinkAttack):
    """Compute the posterior over all rows of the release for each target."""

    name: ClassVar[str] = "likelihood-linkage"
    title: ClassVar[str] = "Linkage by likelihood"
    assumes: ClassVar[str] = (
        "True values of the named columns of the targets, that they are in the release, and the manifest."
    )

    def run(self, view: View) -> Links:
        """Return the posterior in short."""
        likelihood = self.ratios(view)
        size = self.targets.size
        best, logsum, effective = np.empty(size), np.empty(size), np.empty(size)
        ties = np.empty(size, np.int64)
        for part in likelihood.parts():
            logs = likelihood.logs(part)
            top = logs.max(axis=1)
            best[part], ties[part] = top, (logs >= top[:, None] - NEAR).sum(axis=1)
            shifted = floor_logs(logs - top[:, None])
            weights = np.exp(shifted)
            total = weights.sum(axis=1, dtype=np.float64)
            logsum[part] = top + np.log(total)
            # H = log Σw − Σ w·log w / Σw, with w = exp(shifted); struck rows weigh e⁻⁶⁰
            spread = np.einsum("ij,ij->i", weights, shifted, dtype=np.float64)
            effective[part] = np.exp(np.log(total) - spread / total)
        return Links(likelihood, best, ties, logsum, effective)

    def ratios(self, view: View) -> Likelihood:
        """Return log P(y | x)/P(y) of targets and rows."""
        beliefs = self.beliefs(view)
        return Likelihood.of(view, self.targets, beliefs).against(log_evidence(view, self.targets.known, beliefs))

    def credit(self, links: Links, own: IntArray) -> FloatArray:
        """Return the chance that the likeliest pick is the target's own row."""
        return links.credit(own)

    def details(self, links: Links, own: IntArray) -> dict[str, Any]:
        """Return how sure the attacker is, and among how many rows a target is hidden."""
        return {
            "probability_of_own_row": float(links.probability(own).mean()),
            "hidden_among_median": float(np.median(links.effective)),
        }


@dataclass(frozen=True)
class LearnedLinkage(LikelihoodLinkage, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-linkage"
    title: ClassVar[str] = "Linkage by likelihood, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of the named columns of the targets, that they are in the release, and true values of some other rows."
    )
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})


@dataclass(frozen=True)
class NearestLinkage(LinkAttack):
    """Take the nearest row by Gower's distance; ties fall by chance."""

    name: ClassVar[str] = "nearest-linkage"
    title: ClassVar[str] = "Linkage to the nearest row"
    assumes: ClassVar[str] = "True values of the named columns of the targets, and that they are in the release."
    seed: int = 0

    def run(self, view: View) -> IntArray:
        """Return a row for each target."""
        space = Space.of(view, self.targets.known, list(self.targets.known), self.seed)
        return space.nearest(self.targets, 1)[:, 0]


@dataclass(frozen=True)
class Assignment(LinkAttack):
    """Assign rows to all targets of a sample at once, one to one, by the greatest total likelihood."""

    name: ClassVar[str] = "assignment"
    title: ClassVar[str] = "One-to-one linkage of a sample"
    assumes: ClassVar[str] = "True values of the targets, and that exactly these people make up the rows at hand."
    seed: int = 0
    among: IntArray | None = None

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack on the first people only: the assignment costs their number cubed."""
        max_people = 400
        few = {n: values[:max_people] for n, values in (grants.people or {}).items()}
        among = None if grants.among is None else grants.among[:max_people]
        return super().prepare(replace(grants, people=few, among=among))

    def run(self, view: View) -> IntArray:
        """Return for each target one of the rows `among` which the targets are; all rows by default, as many as targets.

        Rows are shuffled first: among equal assignments the solver keeps to the order it finds, which may be the true one.
        """
        from scipy.optimize import linear_sum_assignment

        rows = np.arange(view.rows) if self.among is None else self.among
        part = view.take(rows)
        beliefs = {n: replace(b, column=part[n]) for n, b in self.beliefs(view).items()}
        likelihood = Likelihood.of(part, self.targets, beliefs)
        cost = np.concatenate([-likelihood.logs(part) for part in likelihood.parts()])
        order = np.random.default_rng((self.seed, 7411)).permutation(cost.shape[1])
        return rows[order[np.asarray(linear_sum_assignment(cost[:, order])[1], dtype=np.int64)]]

    def chance(self, rows: int) -> float:
        """Return the success of a random pick among the rows at hand."""
        return 1 / (rows if self.among is None else len(self.among))


@dataclass(frozen=True)
class LearnedAssignment(Assignment, LearnsLaw):
    """The same where guided columns state no law: the attacker learns it from known rows."""

    name: ClassVar[str] = "learned-assignment"
    title: ClassVar[str] = "One-to-one linkage of a sample, law learned from known rows"
    assumes: ClassVar[str] = (
        "True values of the targets, that exactly these people make up the rows at hand, and true values of some other rows."
    )
    knowledge: ClassVar[frozenset[Knowledge]] = frozenset({Knowledge.KNOWN_PEOPLE, Knowledge.KNOWN_ROWS})


@dataclass(frozen=True)
class Linkability(LinkAttack):
    """Test whether the `neighbours` nearest rows by the columns of `left` and by those of `right` share one.

    Giomi et al. 2022: one holder knows some columns of a person, another holder others. Each looks for the nearest released rows.
    If they find a common one, they have joined their knowledge.
    """

    name: ClassVar[str] = "linkability"
    title: ClassVar[str] = "Two partial rows linked through the release"
    assumes: ClassVar[str] = "Two holders with true values of different columns of the same people."
    controlled: ClassVar[bool] = True
    left: tuple[str, ...]
    right: tuple[str, ...]
    neighbours: int = 1
    seed: int = 0

    @classmethod
    def prepare(cls, grants: Grants) -> Self | str:
        """Return the attack with every other column for either holder, or say that there are too few."""
        min_rows, many_rows = 3, 10_000  # with fewer rows the halves may meet in one row only, not among ten
        view = grants.view
        if len(view.names) < 2 or view.rows < min_rows:
            return "too few columns or rows to be split between two holders"
        neighbours = 10 if view.rows >= many_rows else 1
        return cls(grants.of_people(view.names), view.names[::2], view.names[1::2], neighbours, grants.seed)

    @property
    def unit(self) -> str:
        """What the success is a share of."""
        return f"share of people whose two halves meet among {self.neighbours} nearest rows"

    def chance(self, rows: int) -> float:
        """Return the rate at which two random sets of neighbours meet."""
        return meeting_chance(rows, self.neighbours)

    def credit(self, links: FloatArray, own: IntArray) -> FloatArray:  # noqa: ARG002 - any row will do
        """Return what `run` returned: whichever row they meet in, they have joined what they know."""
        return links

    def details(self, links: FloatArray, own: IntArray) -> dict[str, Any]:  # noqa: ARG002
        """Return who knew what."""
        return {"left": list(self.left), "right": list(self.right), "neighbours": self.neighbours}

    def run(self, view: View) -> FloatArray:
        """Return 1 for each target whose two halves meet in a row, else 0."""
        near = []
        for i, names in enumerate((self.left, self.right)):
            half = Targets({n: self.targets.known[n] for n in names}, self.targets.without)
            near.append(Space.of(view, half.known, names, 2 * self.seed + i).nearest(half, self.neighbours))
        return np.any(near[0][:, :, None] == near[1][:, None, :], axis=(1, 2)).astype(np.float64)


def meeting_chance(rows: int, neighbours: int) -> float:
    """Return the rate at which two random sets of `neighbours` out of `rows` meet: 1 − Π (n−k−i)/(n−i)."""
    if 2 * neighbours > rows:
        return 1.0
    i = np.arange(neighbours)
    return float(1 - np.prod((rows - neighbours - i) / (rows - i)))

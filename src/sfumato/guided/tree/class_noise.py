"""Noise on the class: Random, Probabilistic, All Leaves (Islam & Brankovic 2003, section 3.1), for any number of classes.

Leaf k holds N_k rows, n_kc of class c. All three change E(N) = Σ_k N_k (1 − Σ_c (n_kc/N_k)²) labels on average, which
for two classes is the paper's Σ 2mn/(m + n). The paper's p for All Leaves lacks a division by the number of rows.

Class noise alone hides little: what a leaf predicts stays as predictable as the leaf is pure.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.counts import FloatArray, IntArray
from sfumato.engines import Needs
from sfumato.findings import Note
from sfumato.guided.base import Perturbed
from sfumato.guided.tree.base import Redraw, TreeMethod
from sfumato.guided.tree.owner_tree import Leaves, Segments
from sfumato.randomness import Stream
from sfumato.table import Original

LABELS_PERMUTED = "labels permuted inside each leaf of the owner's tree"


def expected_changes(counts: FloatArray) -> float:
    """Return E(N) = Σ_k N_k (1 − Σ_c (n_kc/N_k)²), counts by leaf and class."""
    n = counts.sum(axis=1)
    return float((n - np.square(counts).sum(axis=1) / np.where(n > 0, n, 1.0)).sum())


def random_variance(counts: FloatArray) -> float:
    """Return the variance of the number of changes under Random; Σ 4m²n²/(N²(N − 1)) for two classes.

    Unchanged labels of a leaf number Σ_c X_c, X_c the rows of class c that a random permutation gives a label c.
    Var X_c = n_c²(N − n_c)²/(N²(N − 1)) and Cov(X_c, X_d) = n_c² n_d²/(N²(N − 1)).
    """
    n = counts.sum(axis=1)
    squares = np.square(counts)
    own = (squares * np.square(n[:, None] - counts)).sum(axis=1)
    crossed = np.square(squares.sum(axis=1)) - np.square(squares).sum(axis=1)
    return float(((own + crossed) / np.where(n > 1, n * n * (n - 1), 1.0))[n > 1].sum())


def probabilistic_variance(counts: FloatArray) -> float:
    """Return the variance under Probabilistic: Σ_k Σ_c n_c f_c (1 − f_c) with f = n_c/N; Σ mn/N for two classes."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return float((counts * share * (1 - share)).sum())


def all_leaves_rate(counts: FloatArray) -> float:
    """Return the chance p = E(N)/N of every label to change under All Leaves."""
    total = float(counts.sum())
    return expected_changes(counts) / total if total else 0.0


def all_leaves_variance(counts: FloatArray) -> float:
    """Return N p (1 − p)."""
    p = all_leaves_rate(counts)
    return float(counts.sum()) * p * (1 - p)


def permute_labels(classes: IntArray, leaf: IntArray, stream: Stream) -> IntArray:
    """Permute the labels of each leaf, so that its class totals stay exactly as they are (Random)."""
    return classes[stream.permutation_within(leaf)]


def redraw_labels(leaf: IntArray, counts: FloatArray, stream: Stream) -> IntArray:
    """Draw every label from the class shares of its leaf (Probabilistic)."""
    return draw_categories(counts, leaf, stream.uniform(len(leaf)))


def flip_labels(classes: IntArray, rate: float, n_classes: int, stream: Stream) -> IntArray:
    """Change every label with probability `rate`, to each of the others alike (All Leaves)."""
    if n_classes < 2:
        return classes.copy()
    change = stream.uniform(len(classes)) < rate
    shift = 1 + stream.integers(len(classes), n_classes - 1)
    return np.where(change, (classes + shift) % n_classes, classes)


def draw_categories(weights: FloatArray, group: IntArray, u: FloatArray) -> IntArray:
    """Return for each place the category at quantile u of its group's weights; a category without weight is never drawn."""
    below = np.cumsum(weights, axis=1)
    whole = below / below[:, -1:]
    # One increasing list for all groups: group g's distribution function runs from g to g + 1.
    steps = (whole + np.arange(len(whole))[:, None]).ravel()
    drawn = np.searchsorted(steps, group + u, side="right") - group * weights.shape[1]
    last = weights.shape[1] - 1 - np.argmax((weights > 0)[:, ::-1], axis=1)
    return np.minimum(drawn, last[group])


def leaf_posterior(counts: FloatArray, leaf: IntArray) -> FloatArray:
    """Return what an intruder who places a row in its leaf believes of its class under Random and Probabilistic.

    Given the leaf, the released label is independent of the true one, so the belief is the leaf's own distribution: the
    best guess is right with m/(m + n), minority rows are guessed wrong, and homogeneous leaves are disclosed.
    """
    return (counts / counts.sum(axis=1, keepdims=True))[leaf]


def flip_posterior(counts: FloatArray, leaf: IntArray, released: IntArray, rate: float) -> FloatArray:
    """Return the same under All Leaves: Bayes' rule with the leaf's distribution as the prior and the flip rate as the noise."""
    k = counts.shape[1]
    likelihood = np.full((len(leaf), k), rate / max(k - 1, 1))
    likelihood[np.arange(len(leaf)), released] = 1 - rate
    belief = leaf_posterior(counts, leaf) * likelihood
    whole = belief.sum(axis=1, keepdims=True)
    return np.asarray(np.where(whole > 0, belief / np.where(whole > 0, whole, 1.0), leaf_posterior(counts, leaf)))


@dataclass(frozen=True)
class ClassNoise(TreeMethod):
    """What the three have in common."""

    needs: ClassVar[Needs] = Needs.COUNTS
    family: ClassVar[str | None] = "class-noise"
    reads: ClassVar[str] = (
        "Only the class was changed, and many labels are still the true ones: a row is a record of somebody, whose class alone "
        "may be another's"
    )
    uses: ClassVar[str] = (
        "A decision tree grown from it comes near the owner's, and statistics of the other columns are exact. Those that involve "
        "the class are not, and cannot be corrected"
    )

    def _draw(self, table: Original, leaves: Leaves, stream: Stream) -> Perturbed:
        known = np.flatnonzero(table.codes >= 0)
        classes, leaf = table.codes[known], leaves.number[known]
        released = self._labels(classes, leaf, leaves.counts, stream)
        out = table.codes.copy()
        out[known] = released
        belief = self._posterior(leaves.counts, leaf, released)
        guess = np.argmax(belief, axis=1)
        owner: dict[str, Any] = {
            "expected_changes": expected_changes(leaves.counts),
            "variance_of_changes": self._variance(leaves.counts),
            "changes": int((released != classes).sum()),
            "leaves": leaves.size,
            "heterogeneous_leaves": int(leaves.heterogeneous.sum()),
            "best_guess_right": float(np.mean(guess == classes)),
            "certainty": belief.max(axis=1),
        }
        hidden = float(np.mean(guess != classes))
        warning = Note(
            "SF230",
            f"{table.required_target.name}: the class of {100 * hidden:.1f} % of the records is hidden from an intruder who can "
            "place a record in its leaf; class noise protects minority records only",
        )
        return Perturbed.of(table, table.with_values({}, out), owner=owner, warnings=[warning])

    @abstractmethod
    def _labels(self, classes: IntArray, leaf: IntArray, counts: FloatArray, stream: Stream) -> IntArray:
        """Return released labels."""

    @abstractmethod
    def _variance(self, counts: FloatArray) -> float:
        """Return the variance of the number of changes."""

    def _posterior(self, counts: FloatArray, leaf: IntArray, released: IntArray) -> FloatArray:  # noqa: ARG002
        return leaf_posterior(counts, leaf)


@dataclass(frozen=True)
class ClassRandom(ClassNoise):
    """Permute the labels inside each leaf of the owner's tree."""

    law: ClassVar[str] = "class-random"
    kind: ClassVar[str] = "random"
    words: ClassVar[str] = LABELS_PERMUTED

    def redraw(self, segments: Segments) -> Redraw:  # noqa: ARG002 - whatever the leaf holds
        """Deal the labels of each leaf out again."""
        return Redraw(shuffle=True)

    def _labels(self, classes: IntArray, leaf: IntArray, counts: FloatArray, stream: Stream) -> IntArray:  # noqa: ARG002
        return permute_labels(classes, leaf, stream)

    def _variance(self, counts: FloatArray) -> float:
        return random_variance(counts)


@dataclass(frozen=True)
class ClassProbabilistic(ClassNoise):
    """Draw the labels from the shares of their leaf in the owner's tree."""

    law: ClassVar[str] = "class-probabilistic"
    kind: ClassVar[str] = "probabilistic"
    words: ClassVar[str] = "labels drawn from the shares of their leaf in the owner's tree"

    def redraw(self, segments: Segments) -> Redraw:
        """Draw every label from the counts of its leaf."""
        return Redraw(laws=segments.counts)

    def _labels(self, classes: IntArray, leaf: IntArray, counts: FloatArray, stream: Stream) -> IntArray:  # noqa: ARG002
        return redraw_labels(leaf, counts, stream)

    def _variance(self, counts: FloatArray) -> float:
        return probabilistic_variance(counts)


@dataclass(frozen=True)
class ClassAllLeaves(ClassNoise):
    """Change every label with the same probability, the natural noise that the paper compares with."""

    law: ClassVar[str] = "class-all-leaves"
    kind: ClassVar[str] = "all-leaves"
    words: ClassVar[str] = "labels changed at random, in all leaves at one rate"

    def redraw(self, segments: Segments) -> Redraw:
        """Flip every label at the rate that all leaves share."""
        return Redraw(flip=all_leaves_rate(segments.counts[segments.leaves]))

    def _labels(self, classes: IntArray, leaf: IntArray, counts: FloatArray, stream: Stream) -> IntArray:  # noqa: ARG002
        return flip_labels(classes, all_leaves_rate(counts), counts.shape[1], stream)

    def _variance(self, counts: FloatArray) -> float:
        return all_leaves_variance(counts)

    def _posterior(self, counts: FloatArray, leaf: IntArray, released: IntArray) -> FloatArray:
        return flip_posterior(counts, leaf, released, all_leaves_rate(counts))

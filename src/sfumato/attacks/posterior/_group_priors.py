"""The distribution of the true values in each group of rows, from the released cells that were counted in it.

A group has few rows, and noise is wide, so shapes compete: the distribution of all rows drawn towards the group by some
steps of EM, and for numbers bells of any place and width. Which is taken, one half of the rows decides for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.channels import Kernel
from sfumato.counts import FloatArray, Grid
from sfumato.reconstruction import em_step

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Bells:
    """Normal densities cut to the true cells, of several kinds (a width, and a share of the whole distribution) and places."""

    grid: Grid
    whole: FloatArray
    kernel: Kernel
    means: int = 121
    widths: int = 16
    broad: tuple[float, ...] = (
        0.02,
        0.3,
        0.6,
    )  # shares of a group that may be like all rows: many, where a noisy label sorts them
    weights: tuple[float, ...] = (0.8, 0.1, 0.1)  # how much each of these shares is believed beforehand
    rounds: int = 3  # in which the groups tell one another which kinds of bells are usual

    @cached_property
    def places(self) -> FloatArray:
        """Means, from end to end of the domain."""
        edges = self.grid.finite_edges
        return np.linspace(edges[0], edges[-1], self.means)

    @cached_property
    def spreads(self) -> FloatArray:
        """Standard deviations, from half a cell (or a thousandth of the domain) to half the domain."""
        edges = self.grid.finite_edges
        span = edges[-1] - edges[0]
        least = max(float(np.median(np.diff(edges))) / 2, span / 1000)
        return np.geomspace(min(least, span / 4), span / 2, self.widths)

    @cached_property
    def beforehand(self) -> FloatArray:
        """The weight of each kind before anything is counted.

        Widths that noise hides cannot be told apart by any likelihood, so a width weighs as much as it is wide, lest the
        many small ones of a geometric row make a sure thing of what is not.
        """
        return np.outer(self.weights, self.spreads / self.spreads.sum()).ravel()

    def bells(self, means: FloatArray, spread: float) -> FloatArray:
        """Return one bell per mean, on the true cells."""
        from scipy.special import ndtr

        mass = np.diff(ndtr((self.grid.finite_edges[None, :] - means[:, None]) / spread), axis=1)
        total = mass.sum(axis=1, keepdims=True)
        return np.where(total > 1e-12, mass / np.maximum(total, TINY), self.whole)

    def mix(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return for each mean the mixture of the kinds around it, by its weights of them."""
        by_share = weights.reshape(len(means), len(self.broad), self.widths)
        out = (by_share.sum(axis=2) @ np.array(self.broad))[:, None] * self.whole
        of_bells = np.einsum("gbv,b->gv", by_share, 1 - np.array(self.broad))
        for k, spread in enumerate(self.spreads):
            out += of_bells[:, k : k + 1] * self.bells(means, float(spread))
        return np.asarray(out)

    @cached_property
    def table(self) -> FloatArray:
        """All bells: spread, place, true cell."""
        return np.stack([self.bells(self.places, float(s)) for s in self.spreads])

    @cached_property
    def logs(self) -> FloatArray:
        """log P(s) under each kind and place."""
        seen = self.table @ self.kernel.dense().T
        whole = self.kernel @ self.whole
        return np.log(np.maximum(np.concatenate([(1 - b) * seen + b * whole for b in self.broad]), TINY))

    def likelihoods(self, counts: FloatArray) -> FloatArray:
        """Return the log-likelihood of each group's counts: group, kind, place."""
        kinds, places, cells = self.logs.shape
        return (counts @ self.logs.reshape(-1, cells).T).reshape(len(counts), kinds, places)

    def average_shapes(self, counts: FloatArray) -> FloatArray:
        """Average all bells by their posterior weight for each group, so that few rows make a broad prior, not a bold one.

        All places are alike beforehand; which kinds are usual, the groups teach one another.
        """
        fit = self.likelihoods(counts)
        usual = self.beforehand
        likely = np.exp(fit - fit.max(axis=(1, 2), keepdims=True))
        for _ in range(self.rounds):
            weight = likely * usual[None, :, None]
            weight /= weight.sum(axis=(1, 2), keepdims=True)
            usual = (self.beforehand + weight.sum(axis=2).mean(axis=0)) / 2
        by_share = weight.reshape(len(counts), len(self.broad), self.widths, self.means)
        of_bells = np.einsum("gbvp,b->gvp", by_share, 1 - np.array(self.broad))
        of_whole = by_share.sum(axis=(2, 3)) @ np.array(self.broad)
        return np.asarray(
            np.einsum("gvp,vpm->gm", of_bells, self.table, optimize=True) + of_whole[:, None] * self.whole
        )


def em_shapes(belief: Belief, counts: FloatArray, stops: Sequence[int] = (2, 6, 20, 60)) -> list[FloatArray]:
    """Run EM from the distribution of all rows, group by group; return how it stands after each number of steps in `stops`.

    After few steps a group keeps to the distribution of all rows, after many it follows its own.
    """
    pseudo_rows = 2.0  # of the whole table's distribution, which every group is given
    kernel, whole = belief.kernel, belief.prior
    n = counts.sum(axis=1, keepdims=True)
    mass = np.tile(whole, (len(counts), 1))
    out = []
    for step in range(1, max(stops) + 1):
        mass = (em_step(kernel, counts, mass).mass + pseudo_rows * whole) / (n + pseudo_rows)
        mass /= mass.sum(axis=1, keepdims=True)
        if step in stops:
            out.append(mass)
    return out


def log_likelihood(belief: Belief, priors: FloatArray, counts: FloatArray) -> float:
    """Return the log-likelihood of counts under the priors of their groups."""
    return float((counts * np.log(np.maximum(priors @ belief.kernel.T, TINY))).sum())


@dataclass(frozen=True, eq=False)
class GroupPriors:
    """The priors that predict best, and by how many nats one half of the rows predicts the other better than all rows do."""

    priors: FloatArray
    gain: float


def group_priors(belief: Belief, halves: tuple[FloatArray, FloatArray]) -> GroupPriors:
    """Choose the shape on halves of the rows, then fit it to all of them."""
    bells = None
    if belief.column.attribute.kind.numeric and belief.grid.size > 1:
        bells = Bells(belief.grid, belief.prior, belief.kernel)

    def shapes(counts: FloatArray) -> list[FloatArray]:
        out = em_shapes(belief, counts)
        return out if bells is None else [*out, bells.average_shapes(counts)]

    whole = np.tile(belief.prior, (len(halves[0]), 1))
    rounds = [
        [log_likelihood(belief, s, held) - log_likelihood(belief, whole, held) for s in shapes(fitted)]
        for fitted, held in (halves, halves[::-1])
    ]
    gains = np.sum(rounds, axis=0)
    best = int(np.argmax(gains))
    return GroupPriors(shapes(halves[0] + halves[1])[best], float(gains[best]))

"""Bayes' rule where rows have priors of their own: P(p | s, g) ∝ K[s, p] π_g(p) for a row of group g with released cell s.

A group is whatever an attacker can sort rows by: a label in another column, or what the rows around it say. A release with a clear
class tells how every column is distributed in each class, and so how to guess better in it. Noisy labels serve too: they sort the
rows less well, and the prior of a released label is reconstructed from the rows that bear it.

A group has few rows, and noise is wide, so shapes compete: the distribution of all rows drawn towards the group by some steps of
EM, and for numbers bells of any place and width. One half of the rows decides for the other which is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.attacks._belief import Belief
from sfumato.attacks.base import CHUNK, Claim, Remedy, Scope, ValueAttack, View
from sfumato.attacks.column_posterior import RowSets
from sfumato.channels import Kernel
from sfumato.counts import FloatArray, Grid, IntArray, scatter
from sfumato.findings import Note
from sfumato.reconstruction import em_step
from sfumato.table import Column, correlated_columns

MAX_CELLS = 1000
"""True cells (labels) beyond which priors of groups or rows are not worked out."""


@dataclass(frozen=True, eq=False)
class Conditional(RowSets):
    """The sets of rows in groups: `priors[g]` for each group, `groups` for each row; −1 where nothing is claimed."""

    priors: FloatArray
    groups: IntArray

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The pairs (group, released cell) that occur, the rows sorted by their pair, and where each pair's rows begin."""
        rows = np.flatnonzero((self.belief.codes >= 0) & (self.groups >= 0))
        key = self.groups[rows] * self.belief.observed.size + self.belief.codes[rows]
        order = np.argsort(key, kind="stable")
        distinct, starts = np.unique(key[order], return_index=True)
        group, cell = np.divmod(distinct, self.belief.observed.size)
        return group, cell, rows[order], np.append(starts, len(rows)).astype(np.int64)

    def tables(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield the rows of some pairs at a time, their places and the posteriors."""
        group, cell, rows, starts = self._pairs
        for begin in range(0, len(group), CHUNK):
            end = min(begin + CHUNK, len(group))
            joint = self.belief.kernel.rows(cell[begin:end]) * self.priors[group[begin:end]]
            total = joint.sum(axis=1, keepdims=True)
            # What no value of the group explains is left to the distribution of all rows.
            alone = self.belief.posterior[cell[begin:end]]
            table = np.where(total > 1e-280, joint / np.maximum(total, 1e-300), alone)
            place = np.repeat(np.arange(end - begin), np.diff(starts[begin : end + 1]))
            yield rows[starts[begin] : starts[end]], place, table


def name_large(view: View) -> str:
    """Return a note on modified columns of too many labels for priors of groups or rows; empty where there are none."""
    large = [c.name for c in view.columns if c.channel and view.beliefs[c.name].grid.size > MAX_CELLS]
    return f"not tried on {', '.join(large)}: more than {MAX_CELLS:,} labels" if large else ""


def grouped_counts(groups: IntArray, codes: IntArray, size: tuple[int, int]) -> FloatArray:
    """Count the rows of each group and released cell, shape `size`; rows without one of them are left out."""
    there = (groups >= 0) & (codes >= 0)
    flat = np.bincount(groups[there] * size[1] + codes[there], minlength=size[0] * size[1])
    return flat.reshape(size).astype(np.float64)


TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Bells:
    """Normal densities cut to the true cells, of several kinds (a width, and a share of the whole distribution) and places."""

    grid: Grid
    whole: FloatArray
    kernel: Kernel
    means: int = 121
    widths: int = 16
    # Shares of a group that may be like all rows: many, where a noisy label sorts them.
    broad: tuple[float, ...] = (0.02, 0.3, 0.6)
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


def group_priors(belief: Belief, halves: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, float]:
    """Choose the shape on halves of the rows, then fit it to all of them.

    Return the priors, and by how many nats one half of the rows predicts the other better than all rows do.
    """
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
    return shapes(halves[0] + halves[1])[best], float(gains[best])


@dataclass(frozen=True)
class ConditionalPosterior(ValueAttack):
    """Guess a column from its released value and from one other released column.

    The attacker reconstructs the column within each group of the other one (each label, or quantile bins of a number) and applies
    Bayes' rule with that group's distribution as the prior. The other column is the one that the released values depend on most.
    """

    name: ClassVar[str] = "given-another"
    title: ClassVar[str] = "Posterior, given another column"
    assumes: ClassVar[str] = (
        "The manifest, and the distribution of the column in each group of another, as reconstructed."
    )
    together: ClassVar[bool] = False
    scope: ClassVar[Scope] = Scope.COLUMNS
    remedy: ClassVar[Remedy] = Remedy(
        Note(
            "SF413",
            "Another column, named above, says which group a person belongs to, and the group is narrower than the promise. Withhold "
            "that column, blur it (or blur it more), or state the smaller figure.",
        ),
        needs_gain=True,
    )
    min_dependence: float = 6.0  # z-score of the dependence below which the other column is ignored
    min_gain: float = 5.0  # nats that the groups must gain on rows they were not fitted to
    bins: int = 20  # of a number, as far as each has enough rows
    max_groups: int = 100  # more groups would be fitted to their own noise
    min_rows: int = 20  # a label with fewer rows teaches nothing of its own

    def run(self, view: View) -> Claim:
        """Return one recovery per modified column that another one tells something about."""
        groups = {c.name: group_rows(c, self.bins, self.max_groups, self.min_rows) for c in view.columns}
        recoveries, given = [], {}
        together = correlated_columns(view.columns)
        for column in view.columns:
            name = column.name
            if column.channel is None or not 1 < view.beliefs[name].grid.size <= MAX_CELLS:
                continue
            others = [n for n in groups if n != name and not (name in together and n in together)]
            source = choose_source(groups[name], {n: groups[n] for n in others}, self.min_dependence)
            if source is None:
                continue
            if (posterior := _fit_conditional(view, name, groups[source], self.min_gain)) is not None:
                recoveries.append(replace(posterior.recovery(), title=f"Posterior, given {source}"))
                given[name] = source
        untried = name_large(view)
        if not recoveries:
            return Claim(skipped="no column tells enough about another", untried=untried)
        return Claim(tuple(recoveries), {"given": given}, untried=untried)


def _fit_conditional(view: View, name: str, groups: IntArray, min_gain: float) -> Conditional | None:
    """Fit the prior of each group; None where the groups do not predict released values better than all rows do."""
    belief = view.beliefs[name]
    size = (int(groups.max()) + 1, belief.observed.size)
    # The rows are split in halves by a seed that no data is made with.
    half = np.random.default_rng((1763, 2311)).random(len(groups)) < 0.5
    one, other = (grouped_counts(np.where(part, groups, -1), belief.codes, size) for part in (half, ~half))
    fitted, gain = group_priors(belief, (one, other))
    if gain < min_gain:
        return None
    # Rows whose label is missing or rare keep the distribution of all rows.
    priors = np.vstack([fitted, belief.prior])
    return Conditional(belief, priors, np.where(groups < 0, size[0], groups))


def group_rows(column: Column, bins: int = 20, max_groups: int = 100, min_rows: int = 20) -> IntArray:
    """Return the group of each row by a released column: its label, or its bin among quantile bins; −1 for none."""
    values = column.values
    present = ~np.isnan(values)
    if column.attribute.kind.numeric and len(np.unique(values[present])) > bins:
        cuts = max(1, min(bins, int(present.sum()) // min_rows))
        edges = np.unique(np.quantile(values[present], np.arange(1, cuts) / cuts))
        return scatter(len(values), present, np.searchsorted(edges, values[present], side="right"), -1)
    _, codes, sizes = np.unique(values[present], return_inverse=True, return_counts=True)
    kept = np.argsort(-sizes, kind="stable")[:max_groups]
    kept = np.sort(kept[sizes[kept] >= min_rows])
    place = scatter(len(sizes), kept, np.arange(len(kept)), -1)
    return scatter(len(values), present, place[codes], -1)


def choose_source(own: IntArray, others: dict[str, IntArray], min_dependence: float = 6.0) -> str | None:
    """Return the column whose groups share most information with the released values; None if none surely does."""
    measured = [(*measure_dependence(own, groups), name) for name, groups in others.items()]
    sure = [(information, name) for information, z, name in measured if z > min_dependence]
    return max(sure)[1] if sure else None


def measure_dependence(first: IntArray, second: IntArray) -> tuple[float, float]:
    """Return the mutual information of two groupings in nats, less what chance adds, and its z-score.

    2 n I is nearly χ² of f degrees of freedom where there is no information, of mean f and variance 2 f.
    """
    size = (int(first.max(initial=-1)) + 1, int(second.max(initial=-1)) + 1)
    if min(size) < 2:
        return 0.0, 0.0
    table: FloatArray = grouped_counts(first, second, size)
    n = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if n == 0:
        return 0.0, 0.0
    expected = np.outer(rows, columns) / n
    there = table > 0
    twice = 2 * float((table[there] * np.log(table[there] / expected[there])).sum())
    free = float((np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1))
    if free <= 0:
        return 0.0, 0.0
    return (twice - free) / (2 * float(n)), (twice - free) / float(np.sqrt(2 * free))

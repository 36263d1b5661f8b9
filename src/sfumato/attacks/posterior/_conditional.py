"""Bayes' rule where rows have priors of their own: P(p | s, g) ∝ K[s, p] π_g(p) for a row of group g with released cell s.

A group is whatever an attacker can sort rows by: a label in another column, or what the rows around it say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.attacks._belief import Belief, best_guesses, smallest_sets
from sfumato.attacks.base import CHUNK, Recovery, View
from sfumato.counts import FloatArray, Grid, IntArray

MAX_CELLS = 1000
"""True cells (labels) beyond which priors of groups or rows are not worked out."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """The sets of rows in groups: `priors[g]` for each group, `groups` for each row; −1 where nothing is claimed."""

    belief: Belief
    priors: FloatArray
    groups: IntArray

    @property
    def grid(self) -> Grid:
        """The true cells."""
        return self.belief.grid

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The pairs (group, released cell) that occur, the rows sorted by their pair, and where each pair's rows begin."""
        rows = np.flatnonzero((self.belief.codes >= 0) & (self.groups >= 0))
        key = self.groups[rows] * self.belief.observed.size + self.belief.codes[rows]
        order = np.argsort(key, kind="stable")
        found, starts = np.unique(key[order], return_index=True)
        group, cell = np.divmod(found, self.belief.observed.size)
        return group, cell, rows[order], np.append(starts, len(rows)).astype(np.int64)

    def _tables(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Rows, the place of each in a table of posteriors, and the table, some pairs at a time."""
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

    def posteriors(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The rows that have a set, some at a time, with their posterior over the true cells."""
        for rows, place, table in self._tables():
            for begin in range(0, len(rows), CHUNK):
                part = slice(begin, begin + CHUNK)
                yield rows[part], table[place[part]]

    def covers(self, truth: FloatArray) -> FloatArray:
        """How much of each true value's place the smallest 95 % set of its row holds."""
        out = np.full(len(truth), np.nan)
        for rows, place, table in self._tables():
            there = ~np.isnan(truth[rows])
            credit = smallest_sets(table, self.belief.widths)
            out[rows[there]] = credit[place[there], self.grid.locate(truth[rows[there]])]
        return out

    def recovery(self) -> Recovery:
        """Mean, likeliest guess and smallest set of every row."""
        belief = self.belief
        mean, pick, width = (np.full(len(self.groups), np.nan) for _ in range(3))
        for rows, place, table in self._tables():
            mean[rows] = (table @ self.grid.centres)[place]
            pick[rows] = best_guesses(self.grid, table, belief.tolerance)[place]
            width[rows] = (smallest_sets(table, belief.widths) @ belief.widths)[place]
        return Recovery(belief.column.name, mean, pick, width, self)


def name_large(view: View) -> str:
    """Return a note on modified columns of too many labels for priors of groups or rows; empty where there are none."""
    large = [c.name for c in view.columns if c.channel and view.beliefs[c.name].grid.size > MAX_CELLS]
    return f"not tried on {', '.join(large)}: more than {MAX_CELLS:,} labels" if large else ""


def grouped_counts(groups: IntArray, codes: IntArray, size: tuple[int, int]) -> FloatArray:
    """Count the rows of each group and released cell, shape `size`; rows without one of them are left out."""
    there = (groups >= 0) & (codes >= 0)
    flat = np.bincount(groups[there] * size[1] + codes[there], minlength=size[0] * size[1])
    return flat.reshape(size).astype(np.float64)

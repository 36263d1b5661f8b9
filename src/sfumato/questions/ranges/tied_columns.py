"""Several columns of a group of rows: each as it is by itself, tied by their correlations, and what a share of them errs by.

A functional G of the true rows (a share, a sum) has three errors, which are added as squares:

columns        The mean of G given the cell of one column is a function h of that column alone, and Σ h f errs as the fit f does.
correlations   A covariance of released values, corrected by the law, errs by chance; G grows with ρ by a known slope.
what no        Columns of real tables go together in other ways than a correlation says. Beyond it the indicators of two ranges have
correlation    a correlation of their own, about .06 on real tables; G errs by that times the norm of its interaction, the part
tells          of G that is no sum of functions of single columns.

A correlation that chance may have made does harm: ρ is shrunk by the factor max(0, 1 − se²/ρ²), which is the least expected
squared error if ρ² is what it seems. Where nothing is left, columns are taken for independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato.channels import Channel
from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import NoWeightError
from sfumato.modelling import Copula, contract, hermite_terms, latent_correlation, nearest_correlation
from sfumato.questions.axes import Axis
from sfumato.questions.ranges.one_column import BlurredCounts
from sfumato.questions.sums import code_rows
from sfumato.reconstruction import Lattice, weights_of
from sfumato.schema import Attribute
from sfumato.table import Column, Table


@dataclass(frozen=True)
class Score:
    """What a released value says, without bias, of the place of the true one: from −½ to ½ over the domain."""

    name: str
    low: float
    width: float
    start: float = 0.0
    slope: float = 1.0
    """E[(y − low)/width | x] is start + slope × (x − low)/width."""

    @classmethod
    def of(cls, column: Column) -> Score:
        """Return the score of a column; raise NoWeightError where its law has none."""
        law = () if column.channel is None else _linear_law(column.channel, column.attribute)
        if law is None:
            assert column.channel is not None
            raise NoWeightError(f"{column.name}: {column.channel.law} noise leaves no unbiased weight of the place")
        return cls(column.name, Lattice.of(column.attribute).low, place_width(column), *law)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the scores, 0 where the value is missing."""
        place = (values - self.low) / self.width
        return np.nan_to_num((place - self.start) / self.slope - 0.5, nan=0.0)


@lru_cache(maxsize=256)
def _linear_law(channel: Channel, attribute: Attribute) -> tuple[float, float] | None:
    weights = weights_of(Column(attribute, channel, np.empty(0)))
    if weights is None:
        return None
    zero, one = (float(end) for end in weights.scores.first(np.array([0.0, 1.0])))  # w₁ is (y − start)/slope
    return zero / (zero - one), 1 / (one - zero)


def place_width(column: Column) -> float:
    """Return the width of a column's domain, as its law sees it."""
    lattice = Lattice.of(column.attribute)
    return lattice.high - lattice.low or 1.0


@dataclass(frozen=True, eq=False)
class CrossSums:
    """Sums of scores, and of products of two of them, by combination of codes of other columns."""

    axes: tuple[Axis, ...]
    scores: tuple[Score, ...]

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums of some rows: of each score, then of the products of each with itself and with all after it."""
        flat, cells = code_rows(self.axes, table, len(rows)), math.prod(axis.size for axis in self.axes)
        values = [score(table[score.name].values) for score in self.scores]
        terms = [*values, *(a * b for i, a in enumerate(values) for b in values[i:])]
        sums = [np.bincount(flat, term, minlength=cells).astype(np.float64) for term in terms]
        return Sums({"sums": np.stack(sums)})


@dataclass(frozen=True, eq=False)
class Functional:
    """G: a weight for each combination of classes, times functions of single columns.

    Parameters
    ----------
    tensor : array
        The weight of each combination of classes of the columns.
    factors : tuple of array or None
        A function of each column, one entry per fine cell; None for 1.
    """

    tensor: FloatArray
    factors: tuple[FloatArray | None, ...]

    def insides(self, classes: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the classes of every column times its function, shape (cells, classes)."""
        return [
            inside if factor is None else inside * factor[:, None]
            for inside, factor in zip(classes, self.factors, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class TiedColumns:
    """The columns of a group of rows, fitted.

    Parameters
    ----------
    columns : tuple of BlurredCounts
        Each by itself.
    covariance, error : array
        Of the true places, shape (columns, columns), and the standard error of each entry.
    """

    columns: tuple[BlurredCounts, ...]
    covariance: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, columns: Sequence[BlurredCounts], sums: FloatArray, noise: FloatArray) -> TiedColumns:
        """Return the fit of a group.

        Parameters
        ----------
        columns
            The released cells of each column.
        sums
            Those of `CrossSums`, of the group.
        noise
            The covariance of noise that was drawn together, in units of the scores.
        """
        size = len(columns)
        if not size:  # rows without any of the numbers
            return cls((), np.zeros((0, 0)), np.zeros((0, 0)))
        total = columns[0].total
        mean = sums[:size] / total
        second = np.zeros((size, size))
        second[np.triu_indices(size)] = sums[size:] / total
        second = second + np.triu(second, 1).T
        released = second - np.outer(mean, mean)
        spread = np.diag(released)
        true = np.array([min(_place_variance(c), v) for c, v in zip(columns, spread, strict=True)])
        if columns[0].spread > 1:  # a group that is noisy itself says nothing of its rows for certain
            true = np.zeros(size)
        chance = np.maximum(np.outer(spread, spread) - np.outer(true, true), 0.0) + noise**2
        return cls(tuple(columns), released - noise, np.sqrt(chance / max(columns[0].effective, 1.0)))

    @cached_property
    def masses(self) -> tuple[FloatArray, ...]:
        """The share of each fine cell of each column."""
        least = 1e-9  # a cell without rows still has a conditional share
        out = []
        for column in self.columns:
            mass = np.maximum(column.distribution.fine[1], 0.0) + least
            out.append(mass / mass.sum())
        return tuple(out)

    @cached_property
    def _latent(self) -> tuple[FloatArray, FloatArray]:
        """ρ of each pair, shrunk, and its standard error."""
        size = len(self.columns)
        terms = [
            hermite_terms(mass, scale_places(column.column, column.distribution.fine[0].centres))
            for mass, column in zip(self.masses, self.columns, strict=True)
        ]
        rho, error = np.eye(size), np.zeros((size, size))
        most = 0.6  # as if nothing at all were known of a correlation
        for i in range(size):
            for j in range(i + 1, size):
                found, slope = latent_correlation(terms[i], terms[j], float(self.covariance[i, j]))
                doubt = min(slope * float(self.error[i, j]), most)
                rho[i, j] = rho[j, i] = found * max(0.0, 1 - (doubt / found) ** 2) if found else 0.0
                error[i, j] = error[j, i] = doubt
        return nearest_correlation(rho), error

    @property
    def correlation(self) -> FloatArray:
        """The correlations of the normal variables behind the columns."""
        return self._latent[0]

    @cached_property
    def copula(self) -> Copula:
        """The columns, tied."""
        return Copula(self.masses, self.correlation)

    @cached_property
    def _untied(self) -> Copula:
        return Copula(self.masses, np.eye(len(self.columns)))

    def share(self, part: Functional, classes: Sequence[FloatArray]) -> float:
        """Return the mean of G over the rows.

        Parameters
        ----------
        part
            G.
        classes
            Which part of each fine cell lies in each class, one array (cells, classes) per column.
        """
        return self.copula.share(self._parts(self.copula, part.insides(classes)), part.tensor)

    def shares_by_cell(self, part: Functional, classes: Sequence[FloatArray], place: int) -> FloatArray:
        """Return the mean of G given each fine cell of one column."""
        insides = part.insides(classes)
        return self.copula.share_by_cell(self._parts(self.copula, insides), part.tensor, place, insides[place])

    def variance(self, parts: Sequence[Functional], gradient: FloatArray, classes: Sequence[FloatArray]) -> float:
        """Return the squared error of Σ gradient × mean of G."""
        beyond = 0.06  # on average over real tables; chosen on five of them, checked on six others (benchmarks/joint_ranges.py)
        used = [
            (part, float(g), insides, self._parts(self.copula, insides), self._parts(self._untied, insides))
            for part, g in zip(parts, gradient, strict=True)
            if g
            for insides in [part.insides(classes)]
        ]
        out, size, bare = 0.0, len(self.columns), 0.0
        for place, column in enumerate(self.columns):
            given, alone = np.zeros((2, len(self.masses[place])))
            for part, g, insides, tied, untied in used:
                given += g * self.copula.share_by_cell(tied, part.tensor, place, insides[place])
                alone += g * self._untied.share_by_cell(untied, part.tensor, place, insides[place])
            mass = self.masses[place]
            out += _column_variance(column, given)
            bare += float(mass @ (alone - mass @ alone) ** 2)
        for i in range(size):
            for j in range(i + 1, size):
                slope = sum(
                    g * self.copula.share_slope(tied, part.tensor, (i, j), (insides[i], insides[j]))
                    for part, g, insides, tied, _ in used
                )
                out += (slope * float(self._latent[1][i, j])) ** 2
        mean = sum(g * self._untied.share(untied, part.tensor) for part, g, _, _, untied in used)
        square = sum(g * h * self._product(one, other, classes) for one, g, *_ in used for other, h, *_ in used)
        return out + beyond**2 * max(square - mean**2 - bare, 0.0)

    def _parts(self, copula: Copula, insides: Sequence[FloatArray]) -> list[FloatArray]:
        return [shares @ inside for shares, inside in zip(copula.shares, insides, strict=True)]

    def _product(self, one: Functional, other: Functional, classes: Sequence[FloatArray]) -> float:
        """Return the mean of the product of two functionals if columns were independent."""
        both = Functional(
            one.tensor * other.tensor,
            tuple(
                b if a is None else a if b is None else a * b for a, b in zip(one.factors, other.factors, strict=True)
            ),
        )
        parts = [mass[None] @ inside for mass, inside in zip(self.masses, both.insides(classes), strict=True)]
        return float(contract(parts, both.tensor)[0])


def scale_places(column: Column, places: FloatArray) -> FloatArray:
    """Return places on the units of a column's score."""
    lattice = Lattice.of(column.attribute)
    return np.asarray((places - lattice.low) / place_width(column) - 0.5)


def _place_variance(counts: BlurredCounts) -> float:
    grid, mass = counts.distribution.fine
    places = scale_places(counts.column, grid.centres)
    return float(mass @ (places - mass @ places) ** 2)


def _column_variance(column: BlurredCounts, function: FloatArray) -> float:
    """Return the squared error of the mean of a function of one column, by its fit."""
    se = column.distribution.combine(function).se
    if column.column.channel is None:  # the values are known; which of them belong to the group may not be
        return se**2 * max(1 - 1 / column.spread, 0.0)
    return se**2


def joint_noise(columns: Sequence[Column]) -> FloatArray:
    """Return the covariance of noise that was drawn together, in units of the scores; 0 elsewhere, and on the diagonal."""
    out = np.zeros((len(columns), len(columns)))
    widths = [place_width(column) for column in columns]
    for i, one in enumerate(columns):
        law = None if one.channel is None else one.channel.joint
        for j, other in enumerate(columns):
            if i != j and law is not None and other.channel is not None and other.channel.joint == law:
                out[i, j] = law.among([one.name, other.name])[0, 1] / (widths[i] * widths[j])
    return out

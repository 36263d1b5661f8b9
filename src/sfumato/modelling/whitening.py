"""Columns whose noise was drawn together, turned so that the noise of each new column is its own.

Released rows are y = x + N(0, Σ). With D the standard deviations of y and R = D⁻¹ Σ D⁻¹, the whitened rows

    z = V R^(−1/2) D⁻¹ (y − c) = V R^(−1/2) D⁻¹ (x − c) + N(0, 1)

are true values behind independent noise for every orthogonal V, which is all that a mixture of products asks for. V = 1 turns
columns least; the axes of R gather what all columns have in common; so do those of the whitened rows, where R knows nothing of
it. The one is taken whose columns are least normal: a shape that stands in one column need not be found in how columns go
together. A draw of z is turned back into x, brought into the domain and onto the lattice.

A row that lacks some of the columns is completed first, with a draw from N(μ, S) given those it has, μ and S the moments of the
released rows: data augmentation, as in multiple imputation. What was missing stays missing in a draw, and one more column says
where it was, so that this goes with other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.channels import Gaussian
from sfumato.counts import FloatArray
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import settle
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Table, group_by_joint_law

FLAG = ("no", "yes")


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one joint law.

    Parameters
    ----------
    columns : tuple of Column
        The columns, without values.
    turned : tuple of Column
        The whitened ones with their laws, without values.
    centre, covariance : array
        Moments of the released rows.
    forward, back : array
        From y − c to z, and from z to x − c.
    flagged : tuple of str
        The columns that lack values.
    """

    columns: tuple[Column, ...]
    turned: tuple[Column, ...]
    centre: FloatArray
    covariance: FloatArray
    forward: FloatArray
    back: FloatArray
    flagged: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[Column], noise: FloatArray) -> Block:
        """Look at some rows: their moments, and the range of each whitened column."""
        min_noise = 1e-10  # a direction without noise gets 1e-5 of a standard deviation
        values = np.stack([c.values for c in columns], axis=1)
        ranges = np.array([c.attribute.interval.range or 1.0 for c in columns])
        middles = np.array([(c.attribute.interval.low + c.attribute.interval.high) / 2 for c in columns])
        centre, covariance = _moments(values, middles, ranges, noise)
        scale = np.sqrt(np.diag(covariance))
        levels, axes = np.linalg.eigh(noise / np.outer(scale, scale))
        roots = np.sqrt(np.maximum(levels, min_noise))
        whitening, recolouring = ((axes / roots) @ axes.T) / scale, scale[:, None] * ((axes * roots) @ axes.T)
        empty = tuple(replace(c, values=np.empty(0)) for c in columns)
        flagged = tuple(c.name for c in columns if np.isnan(c.values).any())
        plain = cls(empty, empty, centre, covariance, whitening, recolouring, flagged)
        whitened = plain.turn(values, Chance.of_rows(np.arange(len(values)), "range"))
        own_axes = np.linalg.eigh(whitening @ covariance @ whitening.T)[1]
        turn = max((np.eye(len(columns)), axes.T, own_axes.T), key=lambda v: _non_normality(_multiply(v, whitened)))
        turned = tuple(_describe_column(c.name, z) for c, z in zip(empty, _multiply(turn, whitened).T, strict=True))
        return replace(plain, turned=turned, forward=turn @ whitening, back=recolouring @ turn.T)

    def turn(self, values: FloatArray, chance: Chance) -> FloatArray:
        """Return z of released rows, shape (rows, columns).

        Sums run column by column: a matrix product may round otherwise in another block of rows.
        """
        return _multiply(self.forward, self._complete(values, chance) - self.centre)

    def turn_back(self, values: FloatArray) -> list[FloatArray]:
        """Return x of whitened rows, in the domain and on the lattice of each column."""
        out = (_multiply(self.back, values) + self.centre).T
        return [settle(c.attribute, x) for c, x in zip(self.columns, out, strict=True)]

    def _complete(self, values: FloatArray, chance: Chance) -> FloatArray:
        """Fill what is missing with a draw from N(c, S), given what is there."""
        from scipy.special import ndtri

        out = values.copy()
        missing = np.isnan(values)
        lacking = missing.any(axis=1)
        for pattern in np.unique(missing[lacking], axis=0) if lacking.any() else ():
            rows = np.flatnonzero((missing == pattern).all(axis=1))
            there, gone = np.flatnonzero(~pattern), np.flatnonzero(pattern)
            across = self.covariance[np.ix_(gone, there)]
            slopes = np.asarray(np.linalg.solve(self.covariance[np.ix_(there, there)], across.T).T, dtype=np.float64)
            left = self.covariance[np.ix_(gone, gone)] - slopes @ across.T
            levels, axes = np.linalg.eigh(left)
            root = axes * np.sqrt(np.maximum(levels, 0.0))
            own = chance.take(rows)
            tiny = 2.0**-54  # an even draw from [0, 1) may be 0, whose quantile is infinite
            normal = np.stack([ndtri(own.heights(f"missing {i}") + tiny) for i in range(len(gone))], axis=1)
            expected = _multiply(slopes, values[np.ix_(rows, there)] - self.centre[there]) + self.centre[gone]
            out[np.ix_(rows, gone)] = expected + _multiply(root, normal)
        return out


@dataclass(frozen=True, eq=False)
class Whitening:
    """A table without correlated noise in the place of one with it.

    Parameters
    ----------
    columns : tuple of Column
        The columns of the table, without values, the target last.
    blocks : tuple of Block
        Those whose noise was drawn together, by their joint law.
    labelled : bool
        Whether the last column is a target.
    """

    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    labelled: bool

    @classmethod
    def of(cls, table: Table) -> Whitening:
        """Look at some rows of a release."""
        columns = {c.name: c for c in table.all_columns}
        blocks = tuple(
            Block.of([columns[n] for n in names], law.among(names))
            for law, names in group_by_joint_law(columns.values()).items()
            if len(names) > 1
        )
        return cls(tuple(replace(c, values=np.empty(0)) for c in table.all_columns), blocks, table.target is not None)

    def turn(self, table: Table, chance: Chance) -> Table:
        """Return the table with whitened columns, and one more for each that lacks values."""
        if not self.blocks:
            return table
        columns = {c.name: c for c in table.columns}
        flags = []
        for block in self.blocks:
            values = np.stack([columns[c.name].values for c in block.columns], axis=1)
            flags += [_flag(columns[name]) for name in block.flagged]
            whitened = block.turn(values, chance.derive(block.columns[0].name)).T
            columns |= {c.name: replace(c, values=z) for c, z in zip(block.turned, whitened, strict=True)}
        return Table((*columns.values(), *flags), table.target)

    def turn_back(self, values: Sequence[FloatArray], released: Table | None) -> list[FloatArray]:
        """Return the values of the table's own columns.

        Parameters
        ----------
        values
            Those of the columns that `turn` gives, in their order.
        released
            The released rows, or None for new ones.
        """
        if not self.blocks:
            return list(values)
        flags = [name for block in self.blocks for name in block.flagged]
        first = len(self.columns) - self.labelled  # flags stand between the attributes and the target
        kept = [*values[:first], *values[first + len(flags) :]]
        own = {c.name: x for c, x in zip(self.columns, kept, strict=True)}
        gone = {name: flag == 1 for name, flag in zip(flags, values[first : first + len(flags)], strict=True)}
        for block in self.blocks:
            out = block.turn_back(np.stack([own[c.name] for c in block.columns], axis=1))
            for column, x in zip(block.columns, out, strict=True):
                missing = gone.get(column.name) if released is None else np.isnan(released[column.name].values)
                own[column.name] = x if missing is None else np.where(missing, np.nan, x)
        return list(own.values())


def _flag(column: Column) -> Column:
    return Column.of_codes(f"{column.name} is missing", FLAG, np.isnan(column.values).astype(np.int64))


def _multiply(matrix: FloatArray, rows: FloatArray) -> FloatArray:
    out = np.zeros((len(rows), len(matrix)))
    for place, column in enumerate(rows.T):
        out += column[:, None] * matrix[:, place]
    return out


def _non_normality(rows: FloatArray) -> float:
    """Return the negentropy of all columns by themselves to the fourth moment, Σ skewness²/12 + excess²/48 (Hyvärinen 1998)."""
    z = rows - rows.mean(axis=0)
    z /= np.maximum(z.std(axis=0), 1e-300)
    return float(((z**3).mean(axis=0) ** 2 / 12 + ((z**4).mean(axis=0) - 3) ** 2 / 48).sum())


def _moments(
    values: FloatArray, middles: FloatArray, ranges: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance over the pairs of columns that a row has; never less than the noise."""
    there = ~np.isnan(values)
    z = np.where(there, (values - middles) / ranges, 0.0)
    counts = there.astype(np.float64)
    pairs = np.maximum(counts.T @ counts, 1.0)
    mean = z.sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0)
    centred = np.where(there, z - mean, 0.0)
    covariance = (centred.T @ centred) / pairs * np.outer(ranges, ranges)
    least = 1e-12 * np.diag(ranges**2)
    # Pairs counted over different rows may leave a negative eigenvalue, and few rows none at all in most directions.
    scale = np.sqrt(np.diag(np.maximum(covariance, noise) + least))
    levels, axes = np.linalg.eigh((covariance - noise) / np.outer(scale, scale))
    true = (axes * np.maximum(levels, 0.0)) @ axes.T * np.outer(scale, scale)
    return mean * ranges + middles, true + noise + least


def _describe_column(name: str, z: FloatArray) -> Column:
    """Return a column for these values: as wide as they are, with noise of standard deviation 1."""
    low, high = (float(z.min()), float(z.max())) if len(z) else (0.0, 0.0)
    attribute = Attribute(name, Kind.REAL, Interval(low - 1.0, high + 1.0))
    return Column(attribute, Gaussian(sigma=1.0).on(attribute), np.empty(0))

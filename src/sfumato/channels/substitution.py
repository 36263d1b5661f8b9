"""Random substitution (Dowd, Xu & Zhang 2006): a value is replaced by another of its domain, by a matrix M.

`Discrete` is what laws with finitely many outputs share: bins of the true value, one representative each, a matrix between them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.channels.base import (
    Channel,
    Guarantee,
    Settled,
    answer,
    check_bins,
    check_epsilon,
    check_exactly_one,
    check_fractions,
    check_positive,
    check_width,
    fact,
    wish,
)
from sfumato.channels.transition import CellRule, OwnCells, TwoLevels
from sfumato.counts import FloatArray, Grid, IntArray, WordArray, cell_cdf, differences, snap
from sfumato.errors import UsageError
from sfumato.schema import Attribute
from sfumato.tables import OwnOrAny, choose, exponential, float_below


@dataclass(frozen=True)
class Discrete(Channel):
    """x falls into bin k; the release holds the representative of bin h with probability M[h, k]."""

    @property
    @abstractmethod
    def bin_grid(self) -> Grid:
        """The bins: cells of a numeric domain, or atoms."""

    @answer
    @abstractmethod
    def matrix_product(self, shares: FloatArray) -> FloatArray:
        """Return M @ shares, without building M where its form allows."""

    @property
    def lattice(self) -> float:
        """The spacing of the true values, 0 where they are continuous."""
        return 0.0

    @cached_property
    def representatives(self) -> FloatArray:
        """The values that can be released, one for each bin: its centre, or the true value next to it (the lower of two)."""
        grid, step = self.bin_grid, self.lattice
        if grid.edges is None or not step or np.diff(grid.edges).min() < step * (1 - 1e-9):
            return grid.centres
        return snap(grid.centres - 1e-6 * step, step)

    def bin_table(self) -> dict[str, Any]:
        """Return the first value of each bin but the first, and what each releases; nothing for labels, which are codes."""
        if self.ends is None:
            return {}
        return {"cuts": self.bin_grid.thresholds.tolist(), "values": self.representatives.tolist()}

    def bins_of(self, values: FloatArray) -> IntArray:
        """Return the bin of each true value."""
        return self.bin_grid.locate(values)

    def observed_grid(self, true: Grid) -> Grid:  # noqa: ARG002 - the same whatever the true grid
        """Return the representatives themselves."""
        grid = self.bin_grid
        return grid if grid.atoms is not None else Grid(atoms=self.representatives)

    def transition(self, true: Grid, observed: Grid, rule: CellRule = CellRule.EXACT) -> FloatArray:
        """Return exact probabilities; the mid-point rule takes each true cell to lie wholly in the bin of its centre."""
        bins = self.bin_grid
        if rule is CellRule.MIDPOINT:
            shares = np.zeros((bins.size, true.size))
            shares[bins.locate(true.centres), np.arange(true.size)] = 1.0
        else:
            shares = differences(cell_cdf(true, bins.thresholds))
        by_bin = self.matrix_product(shares)
        out = np.zeros((observed.size, true.size))
        np.add.at(out, observed.locate(self.representatives), by_bin)
        return out


def bins_over(attribute: Attribute, size: int) -> tuple[float, ...] | None:
    """Return edges of `size` equal bins over a numeric domain; None where the domain has no more values than that.

    "If the domain of an attribute has only d ≤ N distinct values, it is wise to choose N = d" (Dowd et al. 2006, section 6).
    """
    grid = Grid.over(attribute, size)
    return None if grid.edges is None else tuple(float(e) for e in grid.edges)


@dataclass(frozen=True)
class Substitution(Discrete):
    """Keep the value with some probability, else draw any value of the domain.

    Parameters
    ----------
    gamma : float, optional
        γ, the ratio of keeping a value to any one replacement. Give this, or one of the next five.
    epsilon : float, optional
        ln γ.
    rho1, rho2 : float, optional
        A belief of ρ₁ must not become one of ρ₂.
    privacy : float, optional
        Width of the interval that holds the true value with `confidence`, as a fraction of the domain; less than 1.
    signal : float, optional
        Correlation of true and released value under a uniform prior, a = (γ−1)/(γ+N−1).
    matrix : tuple of tuple of float, optional
        A column-stochastic matrix: row h, column k is P(k → h).
    confidence : float, default 0.95
        The confidence at which `privacy` is meant.
    bins : int, default 20
        N, the number of bins of a numeric domain.

    Notes
    -----
    The gamma-diagonal matrix is M = ((γ−1) I + J)/(γ+N−1). Keeping with probability a = (γ−1)/(γ+N−1), else drawing from
    all N values, is the same law as picking row h of column k, at constant cost.

    Examples
    --------
    >>> import sfumato as sf
    >>> colour = sf.Attribute("colour", sf.Kind.CATEGORICAL, sf.Categories(("red", "green", "blue")))
    >>> law = sf.Substitution(gamma=4).on(colour)
    >>> law.keep
    0.5
    >>> law.in_words()
    'kept, or replaced by any of 3 values at random (γ = 4)'
    """

    law: ClassVar[str] = "substitution"
    categorical: ClassVar[bool] = True
    default: ClassVar[Mapping[str, float]] = {"gamma": 19.0}
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "gamma": (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0),  # the range that Dowd et al. (2006) suggest in section 6
        "epsilon": (),
        "privacy": (),
    }
    sweep_beside: ClassVar[Mapping[str, tuple[float, ...]]] = {"bins": (5.0, 10.0, 20.0, 40.0, 60.0, 100.0)}
    gamma: float | None = wish("γ, the ratio of keeping a value to any one replacement")
    epsilon: float | None = wish("ln γ")
    rho1: float | None = wish("prior belief that must not …")
    rho2: float | None = wish("… become a belief as strong as this one")
    privacy: float | None = wish("interval width at the given confidence, as a fraction of the domain's range")
    signal: float | None = wish("correlation of true and released value under a uniform prior, a = (γ−1)/(γ+N−1)")
    confidence: float = wish("the confidence at which `privacy` is meant", 0.95)
    matrix: tuple[tuple[float, ...], ...] | None = wish("a column-stochastic matrix: row h, column k is P(k → h)")
    bins: int = wish("N, the number of bins of a numeric domain", 20)
    edges: tuple[float, ...] | None = fact("edges of the bins; absent where each value is its own bin", optional=True)
    values: tuple[float, ...] | None = fact("the values of a numeric domain that are their own bins", optional=True)
    size: int | None = fact("N as it turned out")
    spacing: float | None = fact("spacing of the true values of a numeric domain that is cut into bins", optional=True)

    _gamma = Settled[float]("gamma")
    _size = Settled[int]("size")

    def on(self, attribute: Attribute) -> Self:
        """Set N from the domain, and γ from whatever says it."""
        where = f"{attribute.name}: {self.law}"
        rho = None if self.rho1 is None and self.rho2 is None else (self.rho1, self.rho2)
        check_exactly_one(
            where,
            gamma=self.gamma,
            epsilon=self.epsilon,
            rho1=rho,
            privacy=self.privacy,
            signal=self.signal,
            matrix=self.matrix,
        )
        check_positive(where, gamma=self.gamma, epsilon=self.epsilon, privacy=self.privacy, bins=self.bins)
        check_fractions(where, confidence=self.confidence)
        check_bins(where, bins=self.bins)
        edges: tuple[float, ...] | None = None
        values: tuple[float, ...] | None = None
        if attribute.kind.numeric and attribute.interval.range:
            check_width(attribute)
        if attribute.kind.numeric:
            edges = bins_over(attribute, len(self.edges) - 1 if self.edges else self.bins)
            if edges is None:
                values = tuple(float(v) for v in Grid.over(attribute, self.bins).points)
            size = len(values) if values is not None else len(edges or ()) - 1
        else:
            size = len(attribute.labels)
        if size < 2:
            raise UsageError(
                f"{where}: the domain has a single value, so there is nothing to put in its place; withhold the column"
            )
        bound = type(self)(edges=edges, values=values, size=size, spacing=(attribute.step or None) if edges else None)
        if self.matrix is not None:
            return replace(bound, matrix=_check_matrix(where, self.matrix, size))
        return replace(bound, gamma=self.gamma_on(where, size))

    def gamma_on(self, where: str, size: int) -> float:
        """Return the γ that the wish means on a domain of `size` values."""
        if self.epsilon is not None:
            check_positive(where, epsilon=self.epsilon)
            check_epsilon(where, self.epsilon)
            gamma = float_below(exponential(Fraction(self.epsilon))[0])
        elif self.rho1 is not None or self.rho2 is not None:
            gamma = gamma_of_rho(self.rho1, self.rho2, where)
        elif self.signal is not None:
            check_fractions(where, signal=self.signal)
            gamma = 1 + size * self.signal / (1 - self.signal)
        elif self.privacy is not None:
            gamma = gamma_of_width(self.privacy * size, size, self.confidence)
            if math.isinf(gamma):
                raise UsageError(
                    f"{where}: privacy {self.privacy:g} of {size} values is less than one value, so that the true one would always "
                    f"be released; ask for more than {self.confidence / size:.3g}, or give gamma"
                )
            if not gamma > 1:
                most = gamma_width(1.0, size, self.confidence) / size
                raise UsageError(
                    f"{where}: privacy {self.privacy:g} is out of reach, since a substitute stays within the domain; "
                    f"ask for less than {most:.3g}, or give gamma"
                )
        else:
            gamma = self.gamma or 0.0
        if not gamma > 1:
            raise UsageError(
                f"{where}: gamma = {gamma:g} must exceed 1; at 1 the release is pure chance and tells nothing"
            )
        return gamma

    @property
    def ends(self) -> tuple[float, float] | None:
        """The outermost edges, or the first and the last value of a numeric domain."""
        places = self.edges or self.values
        return (places[0], places[-1]) if places else None

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        """Return wishes by γ and by ε."""
        return cls(gamma=19, bins=12), cls(epsilon=1.0)

    def in_words(self) -> str:
        """Say how likely a value is kept, or that a matrix was given."""
        if self.matrix is not None:
            return f"replaced by a given {self._size} × {self._size} matrix of probabilities"
        return f"kept, or replaced by any of {self._size} values at random (γ = {self._gamma:.4g})"

    def suit(self, attribute: Attribute) -> Channel:
        """Return k-ary response or projective reports, whichever has the lower variance at the same γ.

        Only for categories, and only where γ, ε or ρ was asked for: the other wishes speak of k-ary response itself.
        """
        from sfumato.channels.projective import Projective, reports_win

        asked = (self.gamma, self.epsilon, self.rho1, self.rho2)
        if attribute.kind.numeric or all(value is None for value in asked) or attribute.domain is None:
            return self
        size = len(attribute.labels)
        gamma = self.gamma_on(f"{attribute.name}: {self.law}", size)
        return Projective(*asked) if size > 2 and reports_win(gamma, size) else self

    @cached_property
    def bin_grid(self) -> Grid:
        """Bins of a numeric domain, or one atom a value."""
        if self.edges is not None:
            return Grid(edges=np.array(self.edges))
        return Grid(atoms=np.arange(self._size, dtype=np.float64) if self.values is None else np.array(self.values))

    @property
    def lattice(self) -> float:
        """The attribute's own spacing."""
        return self.spacing or 0.0

    @cached_property
    def table(self) -> OwnOrAny:
        """The gamma-diagonal law in whole numbers: the value itself, or any of N."""
        return OwnOrAny.within(Fraction(self._gamma), 1, self._size)

    @property
    def keep(self) -> float:
        """a = (γ−1)/(γ+N−1), the probability of not drawing at all."""
        return self.table.near

    def sample(self, values: FloatArray, words: WordArray) -> FloatArray:
        """Keep the value, or draw from all N values (Algorithm 1 for a matrix that is given)."""
        bins = self.bins_of(values)
        if self.matrix is None:
            drawn = np.flatnonzero(~self.table.draws_own(words[:, 0]))
            bins[drawn] = choose(words[drawn, 1], self._size)
            return self.representatives.take(bins)
        starts, bits = self._columns
        place = (bins << bits) + (words[:, 0] >> np.uint64(64 - bits)).view(np.int64)
        row = np.searchsorted(starts.ravel(), place, side="right") - 1 - bins * self._size
        return self.representatives.take(row)

    @cached_property
    def counts(self) -> IntArray:
        """The matrix in whole numbers: words among 2^bits, shape (released, true).

        Every entry is rounded, one that is not 0 to 1 at least; the largest of a column makes up for it.
        """
        matrix = np.array(self.matrix, dtype=np.float64)
        bits = self._bits
        out = np.rint(matrix * 2.0**bits).astype(np.int64)
        out[(out == 0) & (matrix > 0)] = 1
        out[matrix.argmax(axis=0), np.arange(self._size)] += 2**bits - out.sum(axis=0)
        return out

    @property
    def _bits(self) -> int:
        """How many leading bits of a word choose from a column: the column's number and they fit 63 bits."""
        return min(52, 63 - self._size.bit_length())

    @cached_property
    def _columns(self) -> tuple[IntArray, int]:
        """Where each outcome begins, shape (true, released), column k from k · 2^bits on; the bits."""
        counts = self.counts.T
        return np.cumsum(counts, axis=1) - counts + (np.arange(self._size)[:, None] << self._bits), self._bits

    def matrix_product(self, shares: FloatArray) -> FloatArray:
        """Return M @ shares; for gamma-diagonal a·shares + (1−a)/N × column sums."""
        if self.matrix is not None:
            return self.counts * 2.0**-self._bits @ shares
        return self.keep * shares + self.table.rest / self._size * shares.sum(axis=0, keepdims=True)

    def operator(self, size: int) -> TwoLevels | None:
        """Return the gamma-diagonal matrix of labels as an operator."""
        if self.gamma is None or self.size != size or self.edges is not None or self.values is not None:
            return None
        low = self.table.rest / size
        return TwoLevels(OwnCells(size), low, low + self.keep)

    def guarantee(self) -> Guarantee:
        """Return γ as counted from the table, the largest that is at most what was asked; for a matrix the largest ratio in a row."""
        if self.matrix is None:
            return Guarantee.of(self.table.gamma)
        rows = self.counts[self.counts.max(axis=1) > 0]
        if (rows == 0).any():
            return Guarantee(math.inf, "the matrix has zeros: some released values rule some true values out")
        return Guarantee.of(max(Fraction(int(row.max()), int(row.min())) for row in rows))

    def exact_table(self) -> dict[str, Any]:
        """Return the table or the counts of the matrix, and for numbers the cuts between bins and what each releases."""
        values = self.representatives
        if self.matrix is None:
            out = self.table.to_dict() | {"set": "self"}
            released, true, other = self._size - 1, self._size - 1, 0
        else:
            columns = [[hex(count) for count in column] for column in self.counts.T.tolist()]
            out = {"form": "columns", "bits": self._bits, "columns": columns}
            ratios = self.counts.max(axis=1) / np.maximum(self.counts.min(axis=1), 0.5)
            released = int(ratios.argmax())
            true, other = int(self.counts[released].argmax()), int(self.counts[released].argmin())
        worst: list[Any] = [*values[[true, other]].tolist(), float(values[released])]
        return out | self.bin_table() | {"worst": worst}

    def interval_width(self, confidence: float) -> float:
        """Return the width of the smallest set of values with this posterior probability, on a uniform prior."""
        if self.matrix is None:
            bins = gamma_width(self._gamma, self._size, confidence)
        else:
            posterior = np.sort(np.array(self.matrix), axis=1)[:, ::-1]
            posterior /= posterior.sum(axis=1, keepdims=True)
            bins = float(np.mean([_width_of(row, confidence) for row in posterior]))
        edges = self.bin_grid.finite_edges
        return bins * float(edges[-1] - edges[0]) / self._size


def equal_signal(privacy: float) -> float:
    """Return the keep-probability a at which a label correlates with its true one as a number does under gaussian noise.

    Under a uniform prior of range R, noise of σ = privacy·R/3.92 leaves corr² = 1/(1 + 12 (privacy/3.92)²); substitution
    leaves corr = a. So one figure means the same blur for numbers and labels.
    """
    if not 0 < privacy < math.inf:
        raise UsageError(f"privacy = {privacy:g} must be a positive number, such as 0.5")
    return round(1 / math.sqrt(1 + 12 * (privacy / 3.919928) ** 2), 6)


def gamma_of_rho(rho1: float | None, rho2: float | None, where: str = "") -> float:
    """Return γ = ρ₂(1−ρ₁)/(ρ₁(1−ρ₂)), the largest amplification at which no belief of ρ₁ or less becomes one of ρ₂ (section 4).

    Examples
    --------
    >>> round(gamma_of_rho(0.05, 0.5), 6)
    19.0
    """
    if rho1 is None or rho2 is None or not 0 < rho1 < rho2 < 1:
        prefix = f"{where}: " if where else ""
        raise UsageError(
            f"{prefix}rho1 = {rho1} and rho2 = {rho2} must satisfy 0 < rho1 < rho2 < 1; for example 0.05 and 0.5"
        )
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def gamma_width(gamma: float, size: int, confidence: float) -> float:
    """Return how many values the smallest posterior set of this confidence holds, on a uniform prior.

    The likeliest value has γ/t, t = γ+N−1, each other one 1/t; so 1 + (c − γ/t)·t values, or c·t/γ of the likeliest alone.
    """
    total = gamma + size - 1
    if confidence <= gamma / total:
        return confidence * total / gamma
    return 1 + confidence * total - gamma


def gamma_of_width(width: float, size: int, confidence: float) -> float:
    """Return the inverse of `gamma_width`: γ = (1 + c(N−1) − w)/(1−c) above one value, c(N−1)/(w−c) up to it."""
    if width <= 1:
        return confidence * (size - 1) / (width - confidence) if width > confidence else math.inf
    return (1 + confidence * (size - 1) - width) / (1 - confidence)


def _width_of(row: FloatArray, confidence: float) -> float:
    below = np.concatenate([[0.0], np.cumsum(row)])
    return float(np.interp(confidence, below, np.arange(len(below))))


def _check_matrix(where: str, matrix: tuple[tuple[float, ...], ...], size: int) -> tuple[tuple[float, ...], ...]:
    array = np.array([list(r) for r in matrix if len(r) == size], dtype=np.float64)
    if array.shape != (size, size):
        raise UsageError(f"{where}: the matrix must be {size} × {size}, one row and column for each value")
    if (array < 0).any() or not np.allclose(array.sum(axis=0), 1.0, atol=1e-9):
        raise UsageError(f"{where}: each column of the matrix must hold probabilities that add up to 1")
    array /= array.sum(axis=0, keepdims=True)
    return tuple(tuple(float(v) for v in row) for row in array)

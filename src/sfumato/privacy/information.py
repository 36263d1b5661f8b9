"""What a released value tells of the true one, in bits, whatever the width of the cells that the prior is stated in.

I(X;Z) = H(Z) − H(Z|X), for a prior that is even inside each cell, or on the lattice points of each cell. A law of bins tells
no more than the bin, so shares of bins are enough. Noise is counted on a lattice of steps s:

    P(Z in bin j) = Σ_i P(X in bin i) P(noise in bin j − i),

one convolution, of true values that are taken to stand in the middle of their bins. A release rounds the true value before
it adds noise in whole steps, so with s its step the sum is exact. Where that is too fine, s is halved until two sums agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.channels import Additive, Channel, Discrete, Intervals, Projective, SquareWave, Substitution, Transition
from sfumato.counts import FloatArray, Grid, lattice_cut, lattice_range, snap
from sfumato.privacy.formulas import (
    entropy_privacy,
    matrix_entropy,
    mutual_information,
    privacy_loss,
    report_entropy,
    substitution_entropy,
)

MAX_LATTICE = 2**20
"""A convolution of more bins would be felt: this many take a tenth of a second."""
AT_LEAST = "the bits told are at least this many, and Π is at most this wide: the values were counted in cells too wide for the noise"


@dataclass(frozen=True)
class Information:
    """I(X;Z) and what follows from it (Agrawal & Aggarwal 2001).

    Parameters
    ----------
    bits : float
        I(X;Z), right to 1 % or to 10⁻⁶ bits.
    spread : float
        h(X) in bits, −∞ where X has one value.
    reason : str, optional
        Where the bits are only a bound: which way, and why.
    """

    bits: float
    spread: float
    reason: str | None = None

    @property
    def exact(self) -> bool:
        """Whether the figures are right to 1 %, and not only a bound."""
        return self.reason is None

    @property
    def entropy_privacy(self) -> float:
        """Π = 2^h(X|Z)."""
        return entropy_privacy(self.spread, self.bits)

    @property
    def privacy_loss(self) -> float:
        """1 − 2^(−I(X;Z))."""
        return privacy_loss(self.bits)


def measure_information(channel: Channel, grid: Grid, prior: FloatArray) -> Information:
    """Return what a value released by this law tells, for true values with this prior on the cells of `grid`.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 99))
    >>> law = sf.Uniform(alpha=5.5).on(age)  # one of eleven values, of fewer near the ends
    >>> told = measure_information(law, Grid(edges=np.array([-0.5, 99.5]), step=1.0), np.ones(1))
    >>> round(told.entropy_privacy, 2), told.exact
    (10.42, True)
    """
    prior = np.asarray(prior / prior.sum())
    if isinstance(channel, Substitution | Intervals | Projective):
        bits = _bin_bits(channel, _bin_shares(channel, grid, prior))
        return Information(bits, _spread(grid, prior))
    if isinstance(channel, Additive | SquareWave):
        return _measure_noise(channel, grid, prior)
    fine, shares = _cut_finer(grid, prior)
    return Information(mutual_information(shares, Transition.of(channel, fine).matrix), _spread(grid, prior), AT_LEAST)


def _cut_finer(grid: Grid, prior: FloatArray) -> tuple[Grid, FloatArray]:
    """Return the same prior on some hundred cells, for a law that is neither of bins nor of noise."""
    factor = math.ceil(500 / grid.size)
    if grid.edges is None:
        return grid, prior
    edges = np.interp(np.arange(grid.size * factor + 1) / factor, np.arange(grid.size + 1), grid.finite_edges)
    return Grid(edges=edges), np.repeat(prior / factor, factor)


def _read_cells(grid: Grid) -> tuple[FloatArray, float]:
    """Return edges between which the prior is even, and the lattice that the values lie on, 0 where they lie anywhere.

    Cells of a lattice end halfway between its points. Where some hold no point, the values are taken to lie anywhere.
    """
    if grid.edges is not None and grid.step:
        begin, end = lattice_range(grid.finite_edges, grid.step)
        if (end >= begin).all():
            return grid.step * (np.append(begin, end[-1] + 1) - 0.5), grid.step
    return grid.finite_edges, 0.0


def _spread(grid: Grid, prior: FloatArray) -> float:
    """Return h(X) = −Σ p log₂(p/width); a label is one wide, and a single value has no width."""
    widths = np.ones(grid.size) if grid.labels is not None else np.diff(_read_cells(grid)[0])
    if grid.atoms is not None and grid.labels is None and grid.size == 1:
        return -math.inf
    some = prior > 0
    return -float(np.sum(prior[some] * np.log2(prior[some] / widths[some])))


def _bin_shares(channel: Discrete, grid: Grid, prior: FloatArray) -> FloatArray:
    """Return P(X in bin)."""
    bins = channel.bin_grid
    if grid.atoms is not None:
        return np.asarray(np.bincount(channel.bins_of(grid.atoms), prior, minlength=bins.size), np.float64)
    edges, lattice = _read_cells(grid)
    below = np.interp(lattice_cut(bins.thresholds, lattice), edges, np.append(0.0, np.cumsum(prior)))
    return np.diff(below, prepend=0.0, append=1.0)


def _bin_bits(channel: Discrete, shares: FloatArray) -> float:
    """Return I(bin; Z), which is I(X;Z), since Z depends on X by its bin alone."""
    given = 0.0
    if isinstance(channel, Projective):
        given = report_entropy(channel)
    elif isinstance(channel, Substitution):
        gamma, matrix = channel.guarantee().gamma, channel.matrix
        given = substitution_entropy(gamma, len(shares)) if matrix is None else matrix_entropy(np.array(matrix), shares)
    return max(float(_surprise(channel.matrix_product(shares)).sum()) - given, 0.0)


def _surprise(mass: FloatArray) -> FloatArray:
    """Return −p log₂ p."""
    return -mass * np.log2(np.where(mass > 0, mass, 1.0))


def _measure_noise(channel: Additive | SquareWave, grid: Grid, prior: FloatArray) -> Information:
    """Refine the bins until two sums agree."""
    tolerance, least = 0.003, 1e-7  # of the bits, at most one of them: 0.2 % of Π
    noise = _Noise.of(channel)
    true = _True.of(grid, prior)
    if not noise.resolves(true) and true.span / true.lattice <= MAX_LATTICE:
        true = true.single_values()
    spread = _spread(grid, prior)
    if not true.span:
        return Information(0.0, spread)
    before = None
    for bins in noise.refine(true):
        if not noise.resolves(true) or not noise.fits(true, bins):
            break
        bits = noise.bits(true, bins)
        if bins.exact or (before is not None and abs(bits - before) <= tolerance * min(bits, 1.0) + least):
            return Information(bits, spread)
        before = bits
    bins = replace(bins, exact=False)
    while not noise.fits(true, bins):
        bins = replace(bins, step=2 * bins.step)
    return Information(noise.bits(true, bins, wide=True), spread, AT_LEAST)


@dataclass(frozen=True, eq=False)
class _True:
    """The true values: even between `edges`, or at `atoms`."""

    edges: FloatArray
    prior: FloatArray
    atoms: FloatArray | None
    lattice: float

    @classmethod
    def of(cls, grid: Grid, prior: FloatArray) -> _True:
        edges, lattice = _read_cells(grid)
        return cls(edges, prior, grid.atoms, lattice)

    def single_values(self) -> _True:
        """Return the points of the lattice."""
        sizes = np.rint(np.diff(self.edges) / self.lattice).astype(np.int64)
        atoms = self.edges[0] + self.lattice * (np.arange(sizes.sum()) + 0.5)
        return _True.of(Grid(atoms=atoms), np.repeat(self.prior / sizes, sizes))

    @property
    def span(self) -> float:
        places = self.edges if self.atoms is None else self.atoms
        return float(places[-1] - places[0])

    def lies_on(self, step: float) -> bool:
        """Return whether all values are multiples of `step`."""
        if not step:
            return False
        if self.atoms is None:
            return abs(self.lattice / step - 1) < 1e-9
        return bool(np.abs(self.atoms / step - np.rint(self.atoms / step)).max() < 1e-6)

    def shares(self, edges: FloatArray, left: FloatArray, bins: _Bins) -> FloatArray:
        """Return P(X in bin), for masses `left` between `edges`.

        A value between the middles of two bins is shared between them, which keeps its mean; but not where bins are the
        steps of the release, since rounding tells apart what lies on either side of a cut.
        """
        first, last = bins.bin_before(edges), math.ceil((edges[-1] - bins.origin) / bins.step)
        size = last - first + 1
        start = bins.origin + first * bins.step
        if self.atoms is not None:
            if bins.exact:
                own = np.floor((snap(self.atoms, bins.step) - start) / bins.step).astype(np.int64)
                return np.asarray(np.bincount(own, self.prior, minlength=size), np.float64)
            place = (self.atoms - start) / bins.step - 0.5
            low = np.clip(np.floor(place + 1e-6).astype(np.int64), 0, size - 2)
            upper = np.clip(place - low, 0.0, 1.0)
            shared = np.bincount(low, self.prior * (1 - upper), minlength=size)
            return np.asarray(shared + np.bincount(low + 1, self.prior * upper, minlength=size), np.float64)
        if bins.exact:
            cuts = start + bins.step * np.arange(size + 1)
            return np.diff(np.interp(cuts, edges, np.append(0.0, np.cumsum(left))))
        middles = start + bins.step * (np.arange(-1, size + 1) + 0.5)
        return np.maximum(np.diff(_integrate_twice(edges, left, middles), 2) / bins.step, 0.0)


def _integrate_twice(edges: FloatArray, mass: FloatArray, points: FloatArray) -> FloatArray:
    """Return ∫ P(X < t) dt up to each point, X even between the edges: its second differences share X between points."""
    widths = np.diff(edges)
    below = np.append(0.0, np.cumsum(mass))
    twice = np.append(0.0, np.cumsum(widths * (below[1:] + below[:-1]) / 2))
    place = np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(mass) - 1)
    inside = np.clip(points - edges[place], 0.0, widths[place])
    beyond = np.maximum(points - edges[-1], 0.0)
    return twice[place] + inside * (below[place] + inside * mass[place] / widths[place] / 2) + beyond * below[-1]


@dataclass(frozen=True)
class _Bins:
    """Bins of width `step`; where `exact` they are the steps of the release."""

    step: float
    origin: float
    exact: bool = False

    def bin_before(self, edges: FloatArray) -> int:
        """Return the number of the bin before the first edge."""
        return math.floor((edges[0] - self.origin) / self.step) - 1


@dataclass(frozen=True, eq=False)
class _Noise:
    """P(z | x) = near · f(z − x) + rest, where `rest` is the density of reports that know nothing, between two ends.

    That Laplace noise is cut off 16 b beyond the domain, where less than one value in ten million lies, is left out.
    """

    law: Additive
    scale: float
    step: float
    near: float = 1.0
    rest: float = 0.0
    ends: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, channel: Additive | SquareWave) -> _Noise:
        law = channel.noise_near if isinstance(channel, SquareWave) else channel
        scale, step = law.scale or 0.0, law.step or 0.0
        if not isinstance(channel, SquareWave):
            return cls(law, scale, step)
        low, high = channel.reports_between
        return cls(law, scale, step, channel.table.near, channel.table.rest / (high - low), (low, high))

    def reach(self, bins: _Bins) -> int:
        """Return how many bins the noise leads away, all but a billionth of it."""
        tail = 1e-9
        return math.ceil(0.5 * self.law.quantile_width(1 - tail) * self.scale / bins.step) + 1

    def blurs(self, step: float, true: _True) -> bool:
        """Return whether a step is so far below noise and range that it changes nothing."""
        far = 400  # steps: rounding then moves an end of uniform noise, or of the range, by an eight-hundredth at most
        return min(self.scale, true.span) >= far * step

    def resolves(self, true: _True) -> bool:
        """Return whether bins can follow the lattice of the true values."""
        return not true.lattice or true.lies_on(self.step) or self.blurs(true.lattice, true)

    def refine(self, true: _True) -> Iterator[_Bins]:
        """Yield the steps of the release, or finer and finer bins where it has too many or, where they change nothing, many.

        Such bins put both ends of uniform noise on cuts.
        """
        points, levels = 32, 7  # bins per scale at first; halvings
        cheap = 2**15  # bins that take a few thousandths of a second
        bins = _Bins(self.step, self.step / 2, exact=True)
        if self.fits(true, bins, cheap if self.blurs(self.step, true) else MAX_LATTICE):
            yield bins
            return
        for level in range(levels):
            whole = math.ceil(points * 2**level * max(1.0, self.scale / true.span))
            yield _Bins(self.scale / (whole + 0.5), float(true.edges[0]))

    def _cut(self, true: _True, bins: _Bins) -> FloatArray:
        """Return how much of each cell can be left out: whole bins in its even middle."""
        if true.atoms is not None:
            return np.zeros(len(true.prior))
        room = 2 * (self.reach(bins) + 1) * bins.step
        return bins.step * np.floor(np.maximum(np.diff(true.edges) - room, 0.0) / bins.step)

    def fits(self, true: _True, bins: _Bins, most: int | None = None) -> bool:
        """Return whether the convolution has at most this many bins; `MAX_LATTICE` by default."""
        if not bins.step:
            return False
        kept = float(true.edges[-1] - true.edges[0] - self._cut(true, bins).sum())
        return kept / bins.step + 2 * self.reach(bins) <= (most or MAX_LATTICE)

    def _chances(self, bins: _Bins, wide: bool) -> FloatArray:
        """Return P(noise in bin n), n = −reach … reach, from the middle of a bin or, where bins are `wide`, from all of it."""
        reach, s = self.reach(bins), bins.step
        if wide:
            grown = self.law.cdf_integral(s * np.arange(-reach - 1.0, reach + 2))
            chances = np.diff(grown, 2) / s
        else:
            chances = np.diff(self.law.cdf(np.asarray(s * (np.arange(-reach, reach + 2.0) - 0.5), np.float64)))
        return np.maximum(chances, 0.0) / chances.sum()

    def bits(self, true: _True, bins: _Bins, *, wide: bool = False) -> float:
        """Return H(Z) − H(Z|X).

        Farther from its edges than the noise reaches, a wide cell has bins of Z alike, which need not be computed one by
        one. Bins that no noise reaches add the same to both entropies.
        """
        reach, width = self.reach(bins), bins.step
        cut, widths = self._cut(true, bins), np.diff(true.edges)
        density = true.prior / widths
        edges = true.edges[0] + np.append(0.0, np.cumsum(widths - cut))
        shares = true.shares(edges, density * (widths - cut), bins)
        chances = self._chances(bins, wide)
        seen = self.near * _convolve(shares, chances)
        start = bins.bin_before(edges) - reach
        cuts = np.clip(bins.origin + width * (start + np.arange(len(seen) + 1)), self.ends[0], self.ends[1] - cut.sum())
        ground, even = self.rest * np.diff(cuts), self.rest * width
        told = float((_surprise(seen + ground) - _surprise(ground)).sum())
        told += float(cut / width @ _gain(self.near * density * width, even))
        told -= float(_gain(self.near * chances, even).sum())
        padded = self.near * np.pad(chances, len(shares))
        for k in np.flatnonzero(np.abs(ground - even) > 1e-9 * even):  # bins that the ends cut
            near = padded[k + len(shares) - np.arange(len(shares))]
            told -= float(shares @ (_gain(near, float(ground[k])) - _gain(near, even)))
        return max(told, 0.0)


def _gain(mass: FloatArray, ground: float) -> FloatArray:
    """Return by how much −p log₂ p grows where a mass is added to the ground."""
    return _surprise(mass + ground) - _surprise(np.array(ground))


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the convolution by Fourier transform; crumbs below zero are rounding."""
    size = len(a) + len(b) - 1
    length = 1 << (size - 1).bit_length()
    out = np.fft.irfft(np.fft.rfft(a, length) * np.fft.rfft(b, length), length)[:size]
    return np.maximum(out, 0.0)

"""The default for ordered values: shapes as simple as the data allow, averaged by what they predict.

EM alone fits chance; one amount of smoothing rounds off edges or leaves ripples. Here the log-likelihood is maximised less
λ times the total variation of the density (order 1: flat pieces with sharp edges), of its slope (order 2: straight pieces)
or of its curvature (order 3: smooth pieces), for a few λ, on each basis: even cells, cells of a stretched scale, either with
atoms at the ends of the domain, and atoms inside it (see `bases`). EM with smoothing is a candidate too. Each is scored by
the log-likelihood of values held out from its fit, and the estimate is the mean of all candidates weighted by
exp((score − price)/1.4): where the held-out values can tell candidates apart the best one decides, where they cannot the
candidates share and the plainer weigh more. Noise hides jumps, so likelihood hardly refutes those that are not there: a
candidate with a price, which may jump, must lead by more than chance.

λ is in nats on a domain of length one, so it depends neither on the unit nor on the number of cells, and the same few
values serve for a thousand rows and for a million: the data bring nats, and n of them bring n times as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.reconstruction.bases import Basis
from sfumato.reconstruction.em import Fit, Smoother, em_step, iterate, make_smoother, smooth_axis, step_stop
from sfumato.reconstruction.problem import Problem
from sfumato.reconstruction.quadratic import BAND, Differences, solve_penalised

FREE = 0.01
"""λ of a fit that is hardly penalised."""
MAX_CELLS = 112
"""Finer grids are solved in blocks of cells: a solve costs the cube of their number, and noise hides finer detail anyway.
From 128 on, LAPACK's Cholesky also begins to share such small work among threads, which can take a thousand times longer."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One fit of one basis."""

    name: str
    basis: Basis
    coefficients: FloatArray
    """Of the fit to all rows (first) and to all but those of each part."""
    strength: float
    """λ for its standard errors."""
    rows: FloatArray
    """The penalty's differences, as `quadratic` takes them; the spread of a fit without one is that of a weak penalty."""
    price: float
    """Nats. A candidate with a price may jump: it is hardly penalised, or has atoms inside the domain."""

    @property
    def mass(self) -> FloatArray:
        """The masses of the partition's cells, fitted to all rows."""
        return self.basis.spread @ self.coefficients[0]


@dataclass(frozen=True, eq=False)
class AveragedFit(Fit):
    """A weighted mean of candidates, which are kept to say how far they disagree."""

    candidates: tuple[Candidate, ...] = ()
    weights: FloatArray | None = None
    doubts: FloatArray | None = None
    """Weights that also let in candidates which held-out values hardly refute; for standard errors."""
    prior: FloatArray | None = None
    """The mean of the candidates, before the step to the rows' own shares."""

    def weight_of(self, word: str) -> float:
        """Return the weight of all candidates whose basis has this word in its name."""
        weights = self.weights if self.weights is not None else ()
        return float(sum(w for w, c in zip(weights, self.candidates, strict=True) if word in c.basis.name))


@dataclass(frozen=True, eq=False)
class Family:
    """The penalties of all penalised candidates on one basis."""

    strengths: FloatArray
    priors: FloatArray
    """λ for standard errors: at most 10, since a stronger penalty says what is plain, not what is known."""
    bands: FloatArray
    names: tuple[str, ...]

    @classmethod
    def on(
        cls,
        widths: FloatArray,
        atoms: int = 0,
        *,
        shapes: tuple[tuple[int, float], ...] = ((1, 30.0), (2, 3.0), (2, 30.0), (3, 3.0), (3, 30.0)),
        free: bool = False,
    ) -> Family:
        """Return pairs of an order and λ; atoms go free.

        λ is that of order 1; order k has λ/20^(k−1), the same in cells when a domain is cut into twenty. With `free`, the last
        is hardly penalised at all. A handful of cells has no shape to be simple: only that one fits them.
        """
        few = 4
        chosen = [*shapes, *[(1, FREE)] * free] if len(widths) > few else [(1, FREE)]
        max_prior = 10.0
        scale = np.array([20.0 ** (1 - order) for order, _ in chosen])
        strengths = np.array([s for _, s in chosen])
        by_order = {order: Differences.of(widths, order).bands for order, _ in chosen}
        nothing = np.zeros((atoms, BAND))
        return cls(
            strengths * scale,
            np.minimum(strengths, max_prior) * scale,
            np.array([np.concatenate([by_order[order], nothing]) for order, _ in chosen]),
            tuple(f"order {order}, λ {s:g}" for order, s in chosen),
        )


@dataclass(frozen=True, eq=False)
class Expansion:
    """The log-likelihood to second order around a pilot P₀, with expected curvature: ½ PᵀAP − gᵀP.

    ∇ℓ = Kᵀ(N/q) and E[−∇²ℓ] = n Kᵀ diag(1/q) K at q = K P₀; P₀ is a short, hardly smoothed EM. Cells where less than half
    a value is expected count as half a value, so that a pilot's certainty about an empty cell does not become law.
    """

    pilot: FloatArray
    expected: FloatArray
    """K P₀."""
    q: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> Expansion:
        """Expand around the problem's own pilot."""
        smooth = make_smoother(problem, 0.002)
        pilot = iterate(problem, step_stop(0.0), method="pilot", smooth=smooth, most=100, accelerate=True).mass
        expected = problem.kernel @ pilot
        return cls(pilot, expected, np.maximum(expected, 0.5 / problem.n))

    def terms(self, kernel: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A and g of coefficients seen through `kernel`; a part of the rows is expanded around the pilot of all."""
        weighted = kernel.T / self.q
        n = counts.sum()
        return n * weighted @ kernel, weighted @ counts + n * weighted @ self.expected


def smoothing_for(size: int) -> float:
    """Return the strength that spreads mass as far as 0.02 does on twenty cells: s cells² per step, so s grows as m²."""
    return min(0.02 * (size / 20) ** 2, 2 / 3)


def smooth_cells(cells: int) -> Smoother:
    """Return what EM does to the coefficients of a basis after each step: its cells are smoothed, atoms behind them are not."""
    strength = smoothing_for(cells)
    return lambda mass: np.concatenate([smooth_axis(mass[:cells], strength, 0), mass[cells:]])


def fit_candidates(
    problem: Problem, basis: Basis, around: Expansion, parts: Sequence[FloatArray], *, free: bool
) -> list[Candidate]:
    """Fit all candidates of a basis to all rows and to all but each part; their quadratic programmes run side by side.

    With `free`, one that is hardly penalised takes part too. It fits any shape, and chance with it, so it has a price where
    the partition has more than a few cells; a basis that joins many of them into few fits no less of chance. EM with smoothing
    of the cells takes part where these are more than a handful.
    """
    few, free_price = 20, 4.0
    kernel = problem.kernel @ basis.spread
    counts = [problem.possible, *(problem.possible - p for p in parts)]
    family = Family.on(basis.widths, basis.atoms, free=free and not basis.atoms)
    each, times = len(family.names), len(counts)
    terms = [around.terms(kernel, c) for c in counts]
    solved = solve_penalised(
        np.repeat(np.array([a for a, _ in terms]), each, axis=0),
        np.repeat(np.array([g for _, g in terms]), each, axis=0),
        np.tile(family.strengths, times),
        np.tile(family.bands, (times, 1, 1)),
        gap=0.02,  # nats: far below what tells candidates apart
    ).reshape(times, each, -1)
    out = []
    for i, (name, strength) in enumerate(zip(family.names, family.strengths, strict=True)):
        price = basis.price + free_price * (strength == FREE and problem.size > few)
        out.append(Candidate(name, basis, solved[:, i], family.priors[i], family.bands[i], price))
    if each == 1:
        return out
    inner = Problem.of(kernel, problem.possible)
    smoother = smooth_cells(len(basis.widths))
    smooth = [
        iterate(inner.with_counts(c), step_stop(3e-5), method="ems", smooth=smoother, most=150, accelerate=True).mass
        for c in counts
    ]
    like = next((c for c in out if c.name == "order 3, λ 3"), out[0])  # whose spread it is given
    return [*out, Candidate("smoothed", basis, np.array(smooth), like.strength, like.rows, basis.price)]


def split_counts(counts: FloatArray, number: int, seed: int = 20000) -> list[FloatArray]:
    """Split counts into those of `number` random parts of the rows.

    Rows are exchangeable, so splitting each cell's rows by binomial draws is the same as splitting the rows. The fractions
    that weights leave beyond whole numbers stay out of every part.
    """
    rng = np.random.default_rng(seed)
    left = np.floor(counts + 1e-9).astype(np.int64)
    parts = []
    for remaining in range(number, 1, -1):
        part = rng.binomial(left, 1 / remaining)
        parts.append(part.astype(np.float64))
        left = left - part
    return [*parts, left.astype(np.float64)]


def score_candidates(
    problem: Problem, candidates: Sequence[Candidate], parts: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the log-likelihood of held-out values under each candidate, and what weighs against it, in nats.

    That is its price. One that has a price also pays half the standard error of its lead over the best that has none: among
    many that are equally likely through the noise, one leads by chance.
    """
    caution = 0.5
    price = np.array([c.price for c in candidates])
    if not len(parts):
        return np.zeros(len(price)), price
    fits = [c.basis.spread @ c.coefficients[1:].T for c in candidates]
    logs = np.log(np.maximum([problem.kernel @ fit for fit in fits], 1e-12))
    rows = np.array(parts).T
    score = np.einsum("csf,sf->c", logs, rows)
    best = int(np.argmax(np.where(price > 0, -np.inf, score)))
    lead = logs - logs[best]
    variance = np.einsum("csf,sf->c", lead**2, rows) - (score - score[best]) ** 2 / rows.sum()
    return score, price + caution * (price > 0) * np.sqrt(np.maximum(variance, 0.0))


def fit_averaged(
    problem: Problem, bases: Sequence[Basis] = (), around: Expansion | None = None, *, free: bool = False
) -> AveragedFit:
    """Fit the mean of the candidates of all bases, weighted by the likelihood of held-out values.

    Parameters
    ----------
    problem
        The counts, and the kernel of the cells of a partition.
    bases
        The families that take part; by default the cells themselves.
    around
        Where the likelihood is expanded; by default around the problem's own pilot.
    free
        Whether fits that are hardly penalised take part.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([55.0, 45.0]), np.ones(2))
    >>> fit_averaged(problem).mass.round(1)
    array([0.5, 0.5])
    """
    folds, last_steps = 4, 2
    temper, doubt = 1.4, 3.0  # as many nats count as one; the second for standard errors
    if problem.widths is None:
        raise UsageError("the order of unordered categories means nothing; use em, or exact for substitution")
    if problem.size == 1:
        return AveragedFit(np.ones(1), "auto", (problem.log_likelihood(np.ones(1)),))
    bases = bases or (Basis.of_cells(problem.widths, MAX_CELLS),)
    around = around or Expansion.of(problem)
    parts = [p for p in split_counts(problem.possible, folds) if p.sum() > 0]
    held_out = parts if len(parts) == folds and problem.n >= 10 * folds else []
    candidates = [c for basis in bases for c in fit_candidates(problem, basis, around, held_out, free=free)]
    score, against = score_candidates(problem, candidates, held_out)
    weights = _softmax((score - against) / temper)
    prior = weights @ np.array([c.mass for c in candidates])
    prior /= prior.sum()
    # Of all tables that the fitted distribution could have brought forth, the released values tell which one it was: a step
    # of EM is the mean of the true rows' shares, given what was released of each. A second one takes back more of what smoothing
    # displaced.
    mass = prior
    for _ in range(last_steps):
        mass = em_step(problem.kernel, problem.share, mass).mass
        mass /= mass.sum()
    best = candidates[int(np.argmax(weights))]
    return AveragedFit(
        mass,
        "auto",
        (problem.log_likelihood(mass),),
        stopped=f"mean of {len(candidates)} fits weighted by held-out likelihood; most weight, {weights.max():.0%}, on "
        f"{best.name} in {best.basis.name} cells",
        candidates=tuple(candidates),
        weights=weights,
        doubts=(weights + _softmax(score / doubt)) / 2,
        prior=prior,
    )


def _softmax(score: FloatArray) -> FloatArray:
    weights = np.exp(score - score.max())
    return np.asarray(weights / weights.sum())


def find_atoms(
    kernel: FloatArray, sites: FloatArray, at_sites: FloatArray, around: Expansion, problem: Problem
) -> FloatArray:
    """Return the values that seem to be shared by many rows: places where a sharp spike is cheaper than a bent density.

    Each site may take mass at a price per unit; the density beside them is penalised as in `Family`, at λ = 10. Neighbouring sites that
    take mass are one atom, at their centre of mass.

    Parameters
    ----------
    kernel, at_sites
        K of the even cells, and of the sites.
    sites
        Values that may be atoms, in increasing order.
    around, problem
        Where the likelihood is expanded, and the counts on the even cells.
    """
    max_atoms, min_mass, min_share, reach = 8, 1e-3, 0.01, 2
    price = 3 * np.log(problem.n)
    cells = kernel.shape[1]
    a, g = around.terms(np.hstack([kernel, at_sites]), problem.possible)
    g[cells:] -= price
    family = Family.on(np.asarray(problem.widths), len(sites), shapes=((1, 10.0), (2, 10.0)))
    shapes = len(family.names)
    solved = solve_penalised(
        np.repeat(a[None], shapes, axis=0), np.repeat(g[None], shapes, axis=0), family.strengths, family.bands
    )
    mass = solved[:, cells:].mean(axis=0)
    active = np.flatnonzero(mass > min_mass)
    if not len(active):
        return np.empty(0)
    groups = np.split(active, np.flatnonzero(np.diff(active) > reach) + 1)
    totals = np.array([mass[g].sum() for g in groups])
    centres = np.array([mass[g] @ sites[g] / mass[g].sum() for g in groups])
    enough = totals > max(min_share, 2 * np.log(problem.n) / problem.n)
    largest = np.argsort(-totals[enough])[:max_atoms]
    return np.sort(centres[enough][largest])


def averaged_covariance(problem: Problem, fit: AveragedFit) -> FloatArray:
    """Return the covariance of the rows' own shares around a mean of candidates (see `rows_covariance`).

    The distribution behind the rows has the covariance Σ w_j (Cov_j + (P_j − P)(P_j − P)ᵀ), P the mean of the candidates P_j.

    Cov_j = (A + ½κλ² DᵀD + C)⁻¹, held to Σ P = 1. A penalty λ|t| is the prior of a Laplace variable of variance 2/λ²; with a
    normal one in its place the posterior is normal, and its spread holds bias as well as chance (Wahba 1983, Nychka 1988).
    κ = 0.2 lets the truth be rougher than the fit. C = c/max(P, 1/m)² is the curvature of −c log P, a Dirichlet prior worth a
    few rows: positive masses have a scale.
    """
    kappa, min_weight, prior_rows = 0.2, 0.005, 20.0
    if fit.doubts is None or fit.prior is None:
        return np.zeros((problem.size, problem.size))
    q = np.maximum(problem.kernel @ fit.prior, 0.5 / problem.n)
    out = np.zeros((problem.size, problem.size))
    curvatures: dict[int, FloatArray] = {}
    for weight, candidate in zip(fit.doubts, fit.candidates, strict=True):
        if weight < min_weight:
            continue
        basis, coefficients = candidate.basis, candidate.coefficients[0]
        if id(basis) not in curvatures:
            kernel = problem.kernel @ basis.spread
            curvatures[id(basis)] = problem.n * (kernel.T / q) @ kernel
        d = Differences(candidate.rows).matrix
        prior = kappa * candidate.strength**2 / 2 * d.T @ d
        scale = np.diag(prior_rows / len(coefficients) / np.maximum(coefficients, 1 / len(coefficients)) ** 2)
        inverse = np.linalg.inv(curvatures[id(basis)] + prior + scale)
        column = inverse.sum(axis=1)
        off = candidate.mass - fit.prior
        within = basis.spread @ (inverse - np.outer(column, column) / column.sum()) @ basis.spread.T
        out += weight * (within + np.outer(off, off))
    return rows_covariance(problem, fit.prior, out)


def rows_covariance(problem: Problem, mass: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the covariance of the true rows' own shares, from that of the distribution they are thought to come from.

    Given the distribution P, a row released in s lies in p with probability π_s(p) = P(p) K[s, p]/(K P)(s). That leaves
    Σ_s N(s) (diag π_s − π_s π_sᵀ)/n² of chance. Doubt about P enters through the Jacobian of the mean,
    J = diag(Kᵀ(N/n/KP)) − Σ_s N(s)/n π_s K[s, ·]/(K P)(s), which vanishes with the noise: what is released as true leaves none.
    """
    kernel = problem.kernel.dense()
    expected = problem.predict(mass)
    belief = kernel * mass / expected[:, None]
    ratio = problem.share / expected
    shares = problem.share @ belief
    chance = (np.diag(shares) - (belief.T * problem.share) @ belief) / problem.n
    jacobian = np.diag(kernel.T @ ratio) - (belief.T * ratio) @ kernel
    return np.asarray(chance + jacobian @ covariance @ jacobian.T)

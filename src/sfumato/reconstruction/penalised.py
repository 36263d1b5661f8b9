"""The default for ordered values: shapes as simple as the data allow, averaged by what they predict.

EM alone fits chance; one amount of smoothing rounds off edges or leaves ripples. Here the log-likelihood is maximised less
λ times the total variation of the density (order 1: flat pieces with sharp edges), of its slope (order 2: straight pieces)
or of its curvature (order 3: smooth pieces), for a few λ. Each candidate is scored by the log-likelihood of values held
out from its fit, and the estimate is the mean of all candidates weighted by exp(score): where the held-out values can tell
candidates apart the best one decides, where they cannot the candidates share.

λ is in nats on a domain of length one, so it depends neither on the unit nor on the number of cells, and the same few
values serve for a thousand rows and for a million: the data bring nats, and n of them bring n times as many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.reconstruction.em import Fit, fit_ems, iterate, step_stop
from sfumato.reconstruction.problem import Problem
from sfumato.reconstruction.quadratic import Differences, solve_penalised

MAX_CELLS = 112
"""Finer grids are solved in blocks of cells: a solve costs the cube of their number, and noise hides finer detail anyway.
From 128 on, LAPACK's Cholesky also begins to share such small work among threads, which can take a thousand times longer."""


@dataclass(frozen=True, eq=False)
class AveragedFit(Fit):
    """A weighted mean of candidates, which are kept to say how far they disagree."""

    candidates: FloatArray | None = None
    weights: FloatArray | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Family:
    """The penalties of all candidates on one grid."""

    strengths: FloatArray
    bands: FloatArray
    names: tuple[str, ...]

    @classmethod
    def on(cls, widths: FloatArray) -> Family:
        """Return orders 1 to 3 (as far as the number of cells goes), each with every λ.

        λ is that of order 1; order k has λ/20^(k−1), the same in cells when a domain is cut into twenty.
        """
        orders, strengths = (1, 2, 3), (3.0, 10.0)
        chosen = [(order, s) for order in orders if len(widths) > order for s in strengths]
        by_order = {order: Differences.of(widths, order).bands for order, _ in chosen}
        return cls(
            np.array([s / 20.0 ** (order - 1) for order, s in chosen]),
            np.array([by_order[order] for order, _ in chosen]),
            tuple(f"order {order}, λ {s:g}" for order, s in chosen),
        )


@dataclass(frozen=True, eq=False)
class Expansion:
    """The log-likelihood to second order around a pilot P₀, with expected curvature: ½ PᵀAP − gᵀP.

    ∇ℓ = Kᵀ(N/q) and E[−∇²ℓ] = n Kᵀ diag(1/q) K at q = K P₀; P₀ is a short, hardly smoothed EM. Cells where less than half
    a value is expected count as half a value, so that a pilot's certainty about an empty cell does not become law.
    """

    pilot: FloatArray
    q: FloatArray
    curvature: FloatArray
    """A for one value."""

    @classmethod
    def of(cls, problem: Problem) -> Expansion:
        """Expand around the problem's own pilot."""
        pilot = iterate(problem, step_stop(0.0), method="pilot", smoothing=0.002, most=100, accelerate=True).mass
        q = np.maximum(problem.kernel @ pilot, 0.5 / problem.n)
        return cls(pilot, q, (problem.kernel.T.dense() / q) @ problem.kernel.dense())

    def terms(self, problem: Problem) -> tuple[FloatArray, FloatArray]:
        """Return A and g for these counts; a part of the rows is expanded around the pilot of all of them."""
        a = problem.n * self.curvature
        return a, problem.kernel.T @ (problem.possible / self.q) + a @ self.pilot


def smoothing_for(size: int) -> float:
    """Return the strength that spreads mass as far as 0.02 does on twenty cells: s cells² per step, so s grows as m²."""
    return min(0.02 * (size / 20) ** 2, 2 / 3)


def fit_candidates(problems: list[Problem], family: Family) -> list[FloatArray]:
    """Fit all candidates of each problem, the first of which holds all rows; their quadratic programmes run side by side."""
    around = Expansion.of(problems[0])
    parts = [around.terms(p) for p in problems]
    each = len(family.names)
    a = np.repeat(np.array([c for c, _ in parts]), each, axis=0)
    g = np.repeat(np.array([v for _, v in parts]), each, axis=0)
    many = len(problems)
    solved = solve_penalised(a, g, np.tile(family.strengths, many), np.tile(family.bands, (many, 1, 1)))
    strength = smoothing_for(problems[0].size)
    smooth = [fit_ems(p, smoothing=strength, tolerance=1e-5, most=600).mass for p in problems]
    return [np.vstack([solved[i * each : (i + 1) * each], smooth[i]]) for i in range(many)]


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


def fit_averaged(problem: Problem) -> AveragedFit:
    """Fit the mean of the candidates, weighted by the likelihood of held-out values.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([55.0, 45.0]), np.ones(2))
    >>> fit_averaged(problem).mass.round(1)
    array([0.5, 0.5])
    """
    folds = 4
    if problem.widths is None:
        raise UsageError("the order of unordered categories means nothing; use em, or exact for substitution")
    if problem.size == 1:
        return AveragedFit(np.ones(1), "auto", (problem.log_likelihood(np.ones(1)),))
    if problem.size > MAX_CELLS:
        return _spread_blocks(problem, *merge_cells(problem))
    family = Family.on(problem.widths)
    parts = [p for p in split_counts(problem.possible, folds) if p.sum() > 0]
    held_out = parts if len(parts) == folds and problem.n >= 10 * folds else []
    fits = fit_candidates([problem, *(problem.with_counts(problem.possible - p) for p in held_out)], family)
    score = np.zeros(len(fits[0]))
    for part, masses in zip(held_out, fits[1:], strict=True):
        score += np.log(np.maximum(masses @ problem.kernel.T, 1e-12)) @ part
    weights = np.exp(score - score.max())
    weights /= weights.sum()
    names = (*family.names, "smoothed")
    mass = weights @ fits[0]
    mass /= mass.sum()
    best = names[int(np.argmax(weights))]
    return AveragedFit(
        mass,
        "auto",
        (problem.log_likelihood(mass),),
        stopped=f"mean of {len(names)} fits weighted by held-out likelihood; most weight, {weights.max():.0%}, on {best}",
        candidates=fits[0],
        weights=weights,
        names=names,
    )


def merge_cells(problem: Problem) -> tuple[Problem, FloatArray]:
    """Merge neighbouring cells into at most `MAX_CELLS` blocks; return also the matrix that spreads blocks over cells."""
    widths = problem.widths if problem.widths is not None else np.ones(problem.size)
    factor = -(-problem.size // MAX_CELLS)
    block = np.arange(problem.size) // factor
    total = np.bincount(block, widths).astype(np.float64)
    spread = np.zeros((problem.size, len(total)))
    spread[np.arange(problem.size), block] = widths / total[block]
    return Problem.of(problem.kernel @ spread, problem.counts, total), spread


def _spread_blocks(problem: Problem, blocks: Problem, spread: FloatArray) -> AveragedFit:
    fit = fit_averaged(blocks)
    inner = fit.candidates if fit.candidates is not None else fit.mass[None]
    mass = spread @ fit.mass
    return AveragedFit(
        mass,
        "auto",
        (problem.log_likelihood(mass),),
        stopped=fit.stopped,
        candidates=inner @ spread.T,
        weights=fit.weights,
        names=fit.names,
    )

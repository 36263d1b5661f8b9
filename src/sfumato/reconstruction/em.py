"""One EM step, and the loops around it.

Bayes' rule averaged over all released values (Agrawal & Srikant 2000, equation 3) is the step of the EM algorithm for the
same likelihood (Agrawal & Aggarwal 2001):

    P'(p) = P(p) · Σ_s N(s)/n · K[s, p] / (K P)(s).

Loops differ by when they stop and by what they smooth. `bayes` stops early by the paper's chi-square rule, `em` goes on to the
maximum of the likelihood, `ems` smooths after every step (Silverman et al. 1990) and so can go on without making spikes.
`fit_groups` runs the paper's loop for many groups of rows at once, `joint.fit_joint` the smoothed one for tables of several
attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Kernel
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.reconstruction.problem import TINY, Problem
from sfumato.reconstruction.quadratic import BAND, solve_penalised

Stop = Callable[[FloatArray, FloatArray, FloatArray], str | None]
"""(before, after, gradient at before) → why to stop now, or None."""

MOST_STEPS = 20_000
EM_STEPS = 300
NEWTON_STEPS = 100
NEWTON_CELLS = 256
COARSE_CELLS = 128
NATS = 0.01
"""A log-likelihood this close to its maximum cannot be told from it by any data."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Masses, with the trail of the loop: log-likelihood before each kept step and after the last, and why it ended."""

    mass: FloatArray
    method: str
    trail: tuple[float, ...] = ()
    iterations: int = 0
    stopped: str = "closed form"


class EMStep(NamedTuple):
    """What one step of EM computes."""

    mass: FloatArray
    """P ∘ gradient: the next masses, which still need to be scaled where some share is out of K's reach."""
    gradient: FloatArray
    """∂(log-likelihood/n)/∂P(p) = Σ_s N(s)/n · K[s, p]/(K P)(s)."""
    expected: FloatArray
    """K P, the distribution of released values if P were the truth."""


def em_step(
    kernel: Kernel | NDArray[Any], share: NDArray[Any] | float, mass: NDArray[Any], least: float = TINY
) -> EMStep:
    """Make one step of EM: P ← P ∘ Kᵀ(N/KP).

    Parameters
    ----------
    kernel
        K[s, p] = P(released in s | true in p).
    share
        The observed shares (or counts) N, shape (…, released cells).
    mass
        P, shape (…, true cells).
    least
        A floor under K P, which keeps the quotient finite.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> em_step(kernel, np.array([0.55, 0.45]), np.array([0.5, 0.5])).mass
    array([0.5, 0.5])
    """
    expected = np.maximum(mass @ kernel.T, least)
    gradient = (share / expected) @ kernel
    return EMStep(mass * gradient, gradient, expected)


def smooth_axis(mass: FloatArray, strength: float, axis: int) -> FloatArray:
    """P ← (1−s) P + s × mean of the two neighbours along an axis; beyond an end the end cell is its own neighbour.

    With that rule the smoother is doubly stochastic: it keeps the total, and it keeps the uniform distribution.
    """
    if strength == 0 or mass.shape[axis] < 2:
        return mass
    p = mass if axis == 0 else mass.swapaxes(0, axis)
    half = (strength / 2) * p
    out = (1 - strength) * p
    out[1:] += half[:-1]
    out[:-1] += half[1:]
    out[0] += half[0]
    out[-1] += half[-1]
    return out if axis == 0 else out.swapaxes(0, axis)


def smoother(problem: Problem, strength: float) -> Callable[[FloatArray], FloatArray]:
    """P ← (1−s) P + s × mean of neighbours on an ordered grid; nothing on unordered categories."""
    if not 0 <= strength <= 1:
        raise UsageError(f"smoothing {strength:g} must lie between 0 and 1; 0.02 to 0.05 is usual")
    if problem.widths is None or strength == 0:
        return lambda mass: mass
    return lambda mass: smooth_axis(mass, strength, 0)


def iterate(
    problem: Problem,
    stop: Stop,
    *,
    method: str,
    smoothing: float = 0.0,
    start: FloatArray | None = None,
    most: int = MOST_STEPS,
    accelerate: bool = False,
) -> Fit:
    """Repeat the step, from the uniform distribution unless told otherwise, until `stop` or `most` steps.

    With `accelerate`, every two steps are followed by a squared extrapolation (SQUAREM, Varadhan & Roland 2008): with
    r = F(P) − P and v = F(F(P)) − F(P) − r it leaps to P − 2αr + α²v, α = −‖r‖/‖v‖. A leap that leaves the simplex or (for
    plain EM) lowers the likelihood is not taken, so the likelihood never decreases.
    """
    smooth = smoother(problem, smoothing)
    mass = np.full(problem.size, 1.0 / problem.size) if start is None else start / start.sum()
    plain = smoothing == 0 or problem.widths is None
    trail: list[float] = []
    path: list[FloatArray] = []
    leap_from: tuple[FloatArray, float] | None = None
    steps, why = 0, f"{most} steps made"
    while steps < most:
        step = em_step(problem.kernel, problem.share, mass)
        likelihood = float(problem.possible @ np.log(step.expected))
        new = smooth(step.mass)
        new /= new.sum()
        steps += 1
        if leap_from is not None:
            safe, needed = leap_from
            leap_from = None
            residual = float(np.abs(new - mass).sum())
            if (likelihood < needed) if plain else (residual > needed):
                mass = safe
                continue
        trail.append(likelihood)
        if (reason := stop(mass, new, step.gradient)) is not None:
            mass, why = new, reason
            break
        path.append(mass)
        if accelerate and len(path) == 2:
            leap = _extrapolated(path[0], path[1], new)
            path = []
            if leap is not None:
                before = float(np.abs(new - mass).sum())
                leap_from = (new, likelihood if plain else before)
                mass = leap
                continue
        mass = new
    if leap_from is not None:
        mass = leap_from[0]  # a last leap that no step has checked
    trail.append(problem.log_likelihood(mass))
    return Fit(mass, method, tuple(trail), steps, why)


def _extrapolated(first: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray | None:
    r = second - first
    v = third - second - r
    bend = float(np.sqrt(v @ v))
    if bend == 0:
        return None
    alpha = -float(np.sqrt(r @ r)) / bend
    if alpha > -1:
        return None
    for _ in range(4):
        leap = first - 2 * alpha * r + alpha * alpha * v
        if leap.min() >= 0:
            return leap / leap.sum()
        alpha = (alpha - 1) / 2
    return None


def _refined(mass: FloatArray, factor: int, widths: FloatArray) -> FloatArray:
    """Masses of fine cells from those of coarse ones: the density drawn straight from one coarse centre to the next."""
    coarse = np.add.reduceat(widths, np.arange(0, len(widths), factor))
    density = np.interp(np.cumsum(widths) - widths / 2, np.cumsum(coarse) - coarse / 2, mass / coarse)
    fine = np.maximum(density * widths, TINY)
    return fine / fine.sum()


def chi_square_stop(n: float, size: int, fraction: float = 0.01) -> Stop:
    """Stop when n Σ (P' − P)²/P < 1 % of the 95 % threshold of chi-square with m − 1 degrees of freedom (2000, section 3)."""
    from scipy.special import chdtri

    threshold = fraction * float(chdtri(max(size - 1, 1), 0.05))

    def stop(before: FloatArray, after: FloatArray, _: FloatArray) -> str | None:
        change = n * float(np.sum((after - before) ** 2 / np.where(before > 0, before, np.inf)))
        return "chi-square of successive estimates below 1 % of its threshold" if change < threshold else None

    return stop


def gap_stop(n: float, nats: float = NATS) -> Stop:
    """Stop once the likelihood is within `nats` of its maximum over all distributions.

    The likelihood is concave, so for any Q: ℓ(Q) − ℓ(P) ≤ n Σ g(p)(Q(p) − P(p)) ≤ n (max g − 1), since Σ g P = 1.
    """

    def stop(_: FloatArray, __: FloatArray, gradient: FloatArray) -> str | None:
        return f"likelihood within {nats:g} nats of its maximum" if n * (gradient.max() - 1) < nats else None

    return stop


def step_stop(tolerance: float) -> Stop:
    """Stop when a step moves less than this much mass."""

    def stop(before: FloatArray, after: FloatArray, _: FloatArray) -> str | None:
        return f"a step moved less than {tolerance:g}" if 0.5 * np.abs(after - before).sum() < tolerance else None

    return stop


def bayes(problem: Problem, *, start: FloatArray | None = None, most: int = MOST_STEPS) -> Fit:
    """The 2000 paper's iteration with its own stopping rule."""
    return iterate(problem, chi_square_stop(problem.n, problem.size), method="bayes", start=start, most=most)


def em(problem: Problem, *, nats: float = NATS, start: FloatArray | None = None, most: int = MOST_STEPS) -> Fit:
    """The maximum of the likelihood. On few values or wide noise it makes spikes: it fits the chance in the counts too.

    Wide noise makes EM crawl for tens of thousands of steps; after `EM_STEPS` of them Newton's method takes over, where the
    grid is small enough for it.
    """
    stop = gap_stop(problem.n, nats)
    first = min(most, EM_STEPS) if problem.size <= NEWTON_CELLS else most
    fit = iterate(problem, stop, method="em", start=start, most=first, accelerate=True)
    if first == most or fit.iterations < first:
        return fit
    return _newton(problem, fit, stop, min(most - first, NEWTON_STEPS), nats)


def _newton(problem: Problem, fit: Fit, stop: Stop, most: int, nats: float) -> Fit:
    """Finish by sequential quadratic programmes: each maximises the second-order expansion of ℓ over the simplex.

    A step is halved until the likelihood does not fall, so the trail stays monotone.
    """
    mass, trail, why = fit.mass, list(fit.trail), f"{fit.iterations + most} steps made"
    nothing = np.zeros((1, problem.size - 1, BAND))
    matrix, transposed = problem.kernel.dense(), problem.kernel.T.dense()
    steps = 0
    while steps < most:
        expected = problem.expected(mass)
        ratio = problem.possible / expected
        if (reason := stop(mass, mass, transposed @ ratio / problem.n)) is not None:
            why = reason
            break
        curvature = (transposed * (ratio / expected)) @ matrix
        target = transposed @ ratio + curvature @ mass
        towards = solve_penalised(curvature[None], target[None], np.ones(1), nothing, gap=0.01 * nats)[0] - mass
        length, likelihood = 1.0, -np.inf
        while length > 1e-4 and (likelihood := problem.log_likelihood(mass + length * towards)) < trail[-1]:
            length /= 2
        steps += 1
        if likelihood < trail[-1]:
            why = "likelihood at its maximum, as far as rounding shows"
            break
        mass = mass + length * towards
        trail.append(likelihood)
    return Fit(mass, fit.method, tuple(trail), fit.iterations + steps, why)


def ems(
    problem: Problem,
    *,
    smoothing: float = 0.02,
    tolerance: float | None = None,
    start: FloatArray | None = None,
    most: int = 2_000,
) -> Fit:
    """EM with smoothing after each step, to its own fixed point.

    On a fine grid what takes many steps is the coarse shape, so that is found first on a coarse one: s cells² a step are
    s/f² of cells f times as wide. It ends when a step moves less mass than `tolerance`, by default 1e-6, or 1e-5 on more
    than 256 cells.
    """
    fine = problem.size > 2 * COARSE_CELLS
    if tolerance is None:
        tolerance = 1e-5 if fine else 1e-6
    if problem.widths is None or smoothing == 0:
        return iterate(problem, gap_stop(problem.n), method="ems", start=start, most=most, accelerate=True)
    if start is None and fine:
        factor = -(-problem.size // COARSE_CELLS)
        coarse = ems(problem.coarser(factor), smoothing=smoothing / factor**2, tolerance=0.1 * tolerance, most=most)
        start = _refined(coarse.mass, factor, problem.widths)
    return iterate(
        problem, step_stop(tolerance), method="ems", smoothing=smoothing, start=start, most=most, accelerate=True
    )


SHARE_OF_THRESHOLD = 0.002
"""The iteration stops when successive estimates differ by less than this share of the chi-square threshold.

The paper's 1 % stops a little early for trees: with 0.1 % or 0.2 % (which cannot be told apart) the mean over all cells of
benchmarks/accuracy.py is 0.3 points higher, in about the same time. More intervals, smoothing or a penalised fit gain in one
place what they lose in another.
"""

MAX_BATCH_STEPS = 1000


def masses(
    kernel: Kernel,
    counts: FloatArray,
    start: FloatArray | None = None,
    share_of_threshold: float = SHARE_OF_THRESHOLD,
) -> FloatArray:
    """Cell masses of each row of observed counts, by the iteration of Agrawal & Srikant 2000 (equation 3) and its stop.

    P ← P ∘ Kᵀ(N/(KP))/n from `start`, or the uniform distribution, until n Σ (P′−P)²/P falls below a share of the 95 % chi-square
    threshold with m − 1 degrees of freedom. The same as `reconstruct.loop.iterate` row by row, but with one matrix product
    a step for all rows, which is what Local's hundreds of nodes need. A row without any count stays as it starts.
    """
    from scipy.special import chdtri

    size = kernel.shape[1]
    n = counts.sum(axis=1)
    out = np.tile(np.full(size, 1.0 / size) if start is None else start, (len(counts), 1))
    if size < 2:
        return out
    limit = share_of_threshold * float(chdtri(size - 1, 0.05))
    open_rows = np.flatnonzero(n > 0)
    p = out[open_rows]
    shares = counts[open_rows] / n[open_rows, None]
    for _ in range(MAX_BATCH_STEPS):
        if not len(open_rows):
            break
        new = em_step(kernel, shares, p).mass
        change = n[open_rows] * (np.square(new - p) / np.maximum(p, TINY)).sum(axis=1)
        p = new
        done = change < limit
        if done.any():
            out[open_rows[done]] = p[done]
            open_rows, p, shares = open_rows[~done], p[~done], shares[~done]
    out[open_rows] = p
    return out / out.sum(axis=1, keepdims=True)

"""One EM step, and the loops around it.

Bayes' rule averaged over all released values (Agrawal & Srikant 2000, equation 3) is the step of the EM algorithm for the
same likelihood (Agrawal & Aggarwal 2001):

    P'(p) = P(p) · Σ_s N(s)/n · K[s, p] / (K P)(s).

Loops differ by when they stop and by what they smooth. `fit_bayes` stops early by the paper's chi-square rule, `fit_em` goes on
to the maximum of the likelihood, `fit_ems` smooths after every step (Silverman et al. 1990) and so can go on without making
spikes. `fit_groups` runs the paper's loop for many groups of rows at once, `joint.fit_separable` the smoothed one for a
table of several attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
Smoother = Callable[[FloatArray], FloatArray]
"""What a loop does to the masses after each step."""

MAX_STEPS = 20_000
NATS = 0.01
"""No data can tell a log-likelihood this close to its maximum from the maximum."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What a loop found.

    Parameters
    ----------
    mass : array
        P of each true cell; the masses sum to one.
    method : str
        The name of the method.
    trail : tuple of float
        The log-likelihood (nats) before each kept step and after the last.
    iterations : int
        The number of steps made.
    stopped : str
        Why the loop ended.
    """

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
    """Return (1−s) P + s × mean of the two neighbours along an axis; beyond an end the end cell is its own neighbour.

    With that rule the smoother is doubly stochastic: it keeps the total, and it keeps the uniform distribution.

    Parameters
    ----------
    mass
        P, of any number of axes.
    strength
        s, from 0 (as it is) to 1.
    axis
        The axis along which cells are neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> smooth_axis(np.array([0.6, 0.3, 0.1]), 0.2, 0)
    array([0.57, 0.31, 0.12])
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


def make_smoother(problem: Problem, strength: float) -> Smoother | None:
    """Return what a loop does to the masses after each step: `smooth_axis` on an ordered grid, nothing on categories."""
    if not 0 <= strength <= 1:
        raise UsageError(f"smoothing {strength:g} must lie between 0 and 1; 0.02 to 0.05 is usual")
    if problem.widths is None or strength == 0:
        return None
    return lambda mass: smooth_axis(mass, strength, 0)


def smooth_table(shape: Sequence[int], strengths: Sequence[float]) -> Smoother | None:
    """Return what a loop does to the raveled masses of a table: `smooth_axis` along each axis by its own strength."""
    if not any(strengths):
        return None

    def smooth(mass: FloatArray) -> FloatArray:
        table = mass.reshape(shape)
        for axis, strength in enumerate(strengths):
            table = smooth_axis(table, strength, axis)
        return table.ravel()

    return smooth


def iterate(
    problem: Problem,
    stop: Stop,
    *,
    method: str,
    smooth: Smoother | None = None,
    start: FloatArray | None = None,
    most: int = MAX_STEPS,
    accelerate: bool = False,
) -> Fit:
    """Repeat the step from `start`, uniform by default, until `stop` gives a reason or `most` steps are made.

    With `accelerate`, every two steps are followed by a squared extrapolation (SQUAREM, Varadhan & Roland 2008): with
    r = F(P) − P and v = F(F(P)) − F(P) − r it leaps to P − 2αr + α²v, α = −‖r‖/‖v‖. A leap that leaves the simplex or (for
    plain EM) lowers the likelihood is not taken, so the likelihood never decreases.
    """
    mass = np.full(problem.size, 1.0 / problem.size) if start is None else start / start.sum()
    trail: list[float] = []
    path: list[FloatArray] = []
    leap_from: tuple[FloatArray, float] | None = None
    steps, why = 0, f"{most} steps made"
    while steps < most:
        step = em_step(problem.kernel, problem.share, mass)
        likelihood = float(problem.possible @ np.log(step.expected))
        new = step.mass if smooth is None else smooth(step.mass)
        new /= new.sum()
        steps += 1
        if leap_from is not None:
            safe, needed = leap_from
            leap_from = None
            residual = float(np.abs(new - mass).sum())
            if (likelihood < needed) if smooth is None else (residual > needed):
                mass = safe
                continue
        trail.append(likelihood)
        if (reason := stop(mass, new, step.gradient)) is not None:
            mass, why = new, reason
            break
        path.append(mass)
        if accelerate and len(path) == 2:
            leap = _extrapolate(path[0], path[1], new)
            path = []
            if leap is not None:
                before = float(np.abs(new - mass).sum())
                leap_from = (new, likelihood if smooth is None else before)
                mass = leap
                continue
        mass = new
    if leap_from is not None:
        mass = leap_from[0]  # no step has checked the last leap
    trail.append(problem.log_likelihood(mass))
    return Fit(mass, method, tuple(trail), steps, why)


def _extrapolate(first: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray | None:
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


def _refine(mass: FloatArray, factor: int, widths: FloatArray) -> FloatArray:
    """Return masses of fine cells from those of coarse ones: the density is linear between the coarse centres."""
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


def fit_bayes(problem: Problem, *, start: FloatArray | None = None, most: int = MAX_STEPS) -> Fit:
    """Fit by the 2000 paper's iteration with its own stopping rule.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([55.0, 45.0]))
    >>> fit_bayes(problem).mass.round(3)
    array([0.5, 0.5])
    """
    return iterate(problem, chi_square_stop(problem.n, problem.size), method="bayes", start=start, most=most)


def fit_em(problem: Problem, *, nats: float = NATS, start: FloatArray | None = None, most: int = MAX_STEPS) -> Fit:
    """Fit the maximum of the likelihood. On few values or wide noise it makes spikes: it fits the chance in the counts too.

    Wide noise makes EM crawl for tens of thousands of steps. After 300 of them Newton's method takes over, where the grid is
    small enough for it.

    Parameters
    ----------
    problem
        The counts and their kernel.
    nats
        Stop when the likelihood is this close to its maximum.
    start
        Masses to begin with; uniform by default.
    most
        The largest number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([76.0, 24.0]))
    >>> fit_em(problem, nats=1e-9).mass.round(3)
    array([0.8, 0.2])
    """
    em_steps, newton_steps, newton_cells = 300, 100, 256
    stop = gap_stop(problem.n, nats)
    first = min(most, em_steps) if problem.size <= newton_cells else most
    fit = iterate(problem, stop, method="em", start=start, most=first, accelerate=True)
    if first == most or fit.iterations < first:
        return fit
    return _newton(problem, fit, stop, min(most - first, newton_steps), nats)


def _newton(problem: Problem, fit: Fit, stop: Stop, most: int, nats: float) -> Fit:
    """Finish a fit by sequential quadratic programmes: each maximises the second-order expansion of ℓ over the simplex.

    A step is halved until the likelihood does not fall, so the trail stays monotone.
    """
    mass, trail, why = fit.mass, list(fit.trail), f"{fit.iterations + most} steps made"
    nothing = np.zeros((1, problem.size - 1, BAND))
    matrix, transposed = problem.kernel.dense(), problem.kernel.T.dense()
    steps = 0
    while steps < most:
        expected = problem.predict(mass)
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


def fit_ems(
    problem: Problem,
    *,
    smoothing: float = 0.02,
    tolerance: float | None = None,
    start: FloatArray | None = None,
    most: int = 2_000,
) -> Fit:
    """Fit by EM with smoothing after each step, to its own fixed point.

    On a fine grid the coarse shape takes the most steps, so a coarse grid is fitted first: s cells² per step are s/f² of cells
    f times as wide.

    Parameters
    ----------
    problem
        The counts and their kernel.
    smoothing
        s of `smooth_axis`.
    tolerance
        Stop when a step moves less mass than this; by default 1e-6, or 1e-5 on more than 256 cells.
    start
        Masses to begin with; uniform by default.
    most
        The largest number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of(np.eye(3), np.array([10.0, 80.0, 10.0]), np.ones(3))
    >>> fit_ems(problem, smoothing=0.1).mass.round(3)
    array([0.135, 0.73 , 0.135])
    """
    coarse_cells = 128
    fine = problem.size > 2 * coarse_cells
    if tolerance is None:
        tolerance = 1e-5 if fine else 1e-6
    if problem.widths is None or smoothing == 0:
        return iterate(problem, gap_stop(problem.n), method="ems", start=start, most=most, accelerate=True)
    if start is None and fine:
        factor = -(-problem.size // coarse_cells)
        coarse = fit_ems(problem.coarser(factor), smoothing=smoothing / factor**2, tolerance=0.1 * tolerance, most=most)
        start = _refine(coarse.mass, factor, problem.widths)
    smooth = make_smoother(problem, smoothing)
    return iterate(problem, step_stop(tolerance), method="ems", smooth=smooth, start=start, most=most, accelerate=True)


SHARE_OF_THRESHOLD = 0.002
"""The loop of `fit_groups` stops when successive estimates differ by less than this share of the chi-square threshold.

The paper's 1 % stops a little early for trees: with 0.1 % or 0.2 %, which give the same, the mean over all cells of
benchmarks/accuracy.py is 0.3 points higher, in about the same time. More intervals, smoothing or a penalised fit gain in one
place what they lose in another.
"""


def fit_groups(
    kernel: Kernel,
    counts: FloatArray,
    start: FloatArray | None = None,
    share_of_threshold: float = SHARE_OF_THRESHOLD,
) -> FloatArray:
    """Fit many groups of rows at once through one kernel, by the 2000 paper's iteration and its stop.

    The same as `fit_bayes` group by group, but with one matrix product per step for all of them, which is what the hundreds
    of nodes of the strategy local need. A group without any count stays as it starts.

    Parameters
    ----------
    kernel
        K[s, p] = P(released in s | true in p).
    counts
        Observed counts, shape (groups, released cells).
    start
        Masses to begin with, the same for all groups; uniform by default.
    share_of_threshold
        Stop when n Σ (P′−P)²/P falls below this share of the 95 % chi-square threshold with m − 1 degrees of freedom.

    Returns
    -------
    array
        Masses, shape (groups, true cells).

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.channels import DenseKernel
    >>> kernel = DenseKernel(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> fit_groups(kernel, np.array([[550.0, 450.0], [0.0, 0.0]])).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    from scipy.special import chdtri

    max_steps = 1000
    size = kernel.shape[1]
    n = counts.sum(axis=1)
    out = np.tile(np.full(size, 1.0 / size) if start is None else start, (len(counts), 1))
    if size < 2:
        return out
    limit = share_of_threshold * float(chdtri(size - 1, 0.05))
    open_rows = np.flatnonzero(n > 0)
    p = out[open_rows]
    shares = counts[open_rows] / n[open_rows, None]
    for _ in range(max_steps):
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

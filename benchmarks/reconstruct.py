"""Reconstruction measured: errors on the shapes of the 2000 paper's Figure 2, and time against plain loops.

Run it as `python benchmarks/reconstruct.py [seeds]`. Times are ratios where a rival runs beside it in the same process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import Ratio, ratios, speed, timed

from sfumato.channels import CellRule, DenseKernel, Gaussian, Transition, Uniform
from sfumato.counts import Counts, FloatArray, Grid
from sfumato.generators.shapes import plateau, triangles
from sfumato.reconstruction import Problem, fit_averaged, fit_bayes, fit_em, fit_ems, fit_separable, reconstruct
from sfumato.reconstruction.closed_form import exact_counts
from sfumato.reconstruction.em import gap_stop, iterate, step_stop
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

UNIT = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
LAWS = {"gaussian": Gaussian(sigma=0.25).on(UNIT), "uniform": Uniform(alpha=0.5).on(UNIT)}
SHAPES = {"plateau": plateau, "triangles": triangles}
COLUMNS: dict[str, Callable[[Column], FloatArray]] = {
    "paper": lambda c: reconstruct(c, bins=20, method="bayes", kernel=CellRule.MIDPOINT).mass,
    "exact chi2": lambda c: reconstruct(c, bins=20, method="bayes").mass,
    "em 1e-7": lambda c: iterate(_problem(c), step_stop(1e-7), method="em", most=20_000).mass,
    "maximum": lambda c: reconstruct(c, bins=20, method="em").mass,
    "ems .02": lambda c: reconstruct(c, bins=20, method="ems", smoothing=0.02).mass,
    "ems .05": lambda c: reconstruct(c, bins=20, method="ems", smoothing=0.05).mass,
    "default": lambda c: reconstruct(c, bins=20).mass,
}


def _problem(column: Column) -> Problem:
    from sfumato.reconstruction import pose_problem

    return pose_problem(column, Grid.cells(0.0, 1.0, 20))


def released(law: str, shape: str, n: int, seed: int) -> Column:
    rng = np.random.default_rng([seed, n])
    values = SHAPES[shape].quantile(rng.random(n))
    return Column(UNIT, LAWS[law], LAWS[law].sample(values, rng.integers(0, 2**64, (n, 2), dtype=np.uint64)))


def figure_2(seeds: int) -> None:
    print(f"Total variation to the true masses of 20 intervals, mean of {seeds} seeds")
    print(f"{'n':>7} {'shape':<10}{'noise':<9}" + "".join(f"{name:>12}" for name in COLUMNS))
    for n in (10**4, 10**5):
        for shape, drawn in SHAPES.items():
            truth = drawn.true_mass(np.linspace(0, 1, 21))
            for law in LAWS:
                errors = []
                for seed in range(seeds):
                    column = released(law, shape, n, seed)
                    errors.append([0.5 * np.abs(method(column) - truth).sum() for method in COLUMNS.values()])
                means = np.mean(errors, axis=0)
                best = means.min()
                marks = "".join(f"{v:>11.4f}{'*' if v <= best + 5e-4 else ' '}" for v in means)
                print(f"{n:>7} {shape:<10}{law:<9}{marks}", flush=True)


def edges_of_the_midpoint_kernel(seeds: int) -> None:
    """Why the mid-point kernel fails more or less badly on continuous uniform noise.

    With α a multiple of the width, m_s − m_p = ±α for two cells of every column. Equation 3 counts 21 cells of width .05 for
    noise 1.0 wide if both are taken to be inside, 19 if neither is: the shape at the edge is wrong, but alike in all columns. On
    paper it is one or the other; in floating point, rounding decides cell by cell, columns then differ by a twentieth in their
    sum, and the iteration heaps its mass on the heavier ones. Our observed grid is cut between released values, half a step
    off, so one of the two is inside and the other is not, in every column.
    """
    edges, true = np.linspace(-0.5, 1.5, 41), Grid.cells(0.0, 1.0, 20)
    apart = (edges[1:] + edges[:-1])[:, None] / 2 - true.centres
    whole = np.rint(apart / 0.05)
    kernels = {
        "both ends": np.abs(whole) <= 10,
        "no end": np.abs(whole) < 10,
        "one end": (whole > -10) & (whole <= 10),
        "as rounded": np.abs(apart) <= 0.5,
    }
    print("Mid-point kernel on uniform noise, by which ends of the support are inside: total variation")
    print(f"{'n':>7} {'shape':<10}" + "".join(f"{name:>12}" for name in kernels))
    for n in (10**4, 10**5):
        for shape, drawn in SHAPES.items():
            truth = drawn.true_mass(np.linspace(0, 1, 21))
            errors = []
            for seed in range(seeds):
                counts = np.histogram(released("uniform", shape, n, seed).values, edges)[0].astype(np.float64)
                fits = [fit_bayes(Problem.of(inside * 0.05, counts)).mass for inside in kernels.values()]
                errors.append([0.5 * np.abs(mass / mass.sum() - truth).sum() for mass in fits])
            print(f"{n:>7} {shape:<10}" + "".join(f"{v:>12.4f}" for v in np.mean(errors, axis=0)), flush=True)


def ems_on_1024_bins() -> Ratio:
    n, size = 10**6, 1024
    column = released("gaussian", "triangles", n, 0)
    true = Grid.cells(0.0, 1.0, size)

    def whole() -> None:
        transition = Transition.of(LAWS["gaussian"], true)
        counts = Counts.of([transition.observed], [column.locate(transition.observed)]).table
        fit_ems(Problem(transition, counts, np.full(size, 1 / size)), smoothing=0.5)

    took = timed(whole, 2)
    transition = Transition.of(LAWS["gaussian"], true)
    counts = Counts.of([transition.observed], [column.locate(transition.observed)]).table

    def plain() -> None:
        problem = Problem(transition, counts, np.full(size, 1 / size))
        iterate(problem, step_stop(1e-6), method="ems", smoothing=0.5, most=2000)

    naive = timed(plain, 1)
    print(
        f"EMS, n = 1e6, 1,024 bins: {took:.2f} s with counting and kernel; 2,000 plain steps alone take {naive / took:.0f} ×"
    )
    return speed("EMS, 10⁶ values, 1,024 bins: speed against 2,000 plain steps", took, naive)


def one_column() -> None:
    for size in (20, 50, 100):
        column = released("gaussian", "triangles", 10**4, 0)
        transition = Transition.of(LAWS["gaussian"], Grid.cells(0.0, 1.0, size))
        counts = Counts.of([transition.observed], [column.locate(transition.observed)]).table
        problem = Problem(transition, counts, np.full(size, 1 / size))
        times = {m.__name__: timed(partial(m, problem), 3) for m in (fit_bayes, fit_em, fit_ems, fit_averaged)}
        print(f"m = {size:>3}: " + ", ".join(f"{name} {1e3 * t:.1f} ms" for name, t in times.items()))


def exact_against_em() -> Ratio:
    rng = np.random.default_rng(0)
    size, gamma = 100, 10.0
    kernel = (np.ones((size, size)) + (gamma - 1) * np.eye(size)) / (gamma + size - 1)
    y = rng.multinomial(10**5, kernel @ rng.dirichlet(np.ones(size))).astype(float)
    problem = Problem.of(kernel, y)
    closed = timed(lambda: exact_counts(y, gamma), 20)
    climbed = timed(lambda: fit_em(problem, nats=1e-6))
    plain = timed(lambda: iterate(problem, gap_stop(problem.n, 1e-6), method="em", most=10**6), 1)
    beside = f"em takes {climbed / closed:.0f} ×, the plain loop {plain / closed:.0f} ×"
    print(f"Exact maximum at N = 100: {1e6 * closed:.0f} µs; {beside}")
    return speed("exact maximum likelihood, 100 categories: speed against plain EM", closed, plain)


def joint_tables() -> None:
    rng = np.random.default_rng(0)
    for cells, seen, axes in ((52, 64, 2), (26, 40, 3)):
        edges = np.concatenate([[-np.inf], np.linspace(-0.7, 1.7, seen - 1), [np.inf]])
        kernel = LAWS["gaussian"].transition(Grid.cells(0.0, 1.0, cells), Grid(edges=edges))
        counts = rng.integers(0, 60, (seen,) * axes).astype(float)
        took = timed(partial(fit_separable, [DenseKernel(kernel)] * axes, counts, 0.02, 300), 1)
        print(f"Joint table {cells}^{axes} from {seen}^{axes}, 300 steps: {took:.2f} s")


def main(arguments: list[str] | None = None) -> list[Ratio]:
    given = sys.argv[1:] if arguments is None else arguments
    seeds = int(given[0]) if given else 5
    figure_2(seeds)
    edges_of_the_midpoint_kernel(seeds)
    rows = [ems_on_1024_bins()]
    one_column()
    rows.append(exact_against_em())
    joint_tables()
    ratios(rows)
    return rows


if __name__ == "__main__":
    main()

"""Bits told and Π are those of the law and the prior, however wide the cells that the prior is stated in."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sfumato.channels import Channel, Gaussian, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.counts import FloatArray, Grid
from sfumato.privacy import figures, information, measure_information
from sfumato.schema import Attribute, Interval, Kind

REAL = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
AGE = Attribute("age", Kind.INTEGER, Interval(0, 99))
FEW = Attribute("rooms", Kind.INTEGER, Interval(1, 5))

LAWS = {
    "gaussian": [Gaussian(privacy=p) for p in (0.05, 0.5, 5.0)],
    "uniform": [Uniform(privacy=p) for p in (0.05, 0.5, 5.0)],
    "laplace": [Laplace(privacy=p) for p in (0.05, 0.5, 5.0)],
    "square-wave": [SquareWave(epsilon=e) for e in (1.0, 4.0, 6.0, 8.0)],
    "intervals": [Intervals(count=3), Intervals(edges=(0.0, 0.07, 0.5, 1.0))],
    "substitution": [Substitution(gamma=5.0, bins=7), Substitution(gamma=200.0, bins=20)],
}
WISHES = [(law, i) for law, wishes in LAWS.items() for i in range(len(wishes))]

PRIORS = {
    "uniform": ([0.0, 1.0], [1.0]),
    "spike": ([0.0, 0.3, 0.31, 1.0], [0.1, 0.8, 0.1]),
    "bimodal": ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.1, 0.35, 0.05, 0.4, 0.1]),
    "heavy tail": ([0.0, 0.01, 0.03, 0.1, 0.3, 1.0], [0.5, 0.25, 0.12, 0.08, 0.05]),
}
"""Edges on the unit interval, and the mass between them."""


def fine_points(grid: Grid, prior: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """All values of a lattice, or so many that even the narrowest cell has sixteen."""
    if grid.atoms is not None:
        return grid.atoms, prior
    if grid.step:
        values = np.arange(math.ceil(grid.edges[0]), math.floor(grid.edges[-1]) + 1.0)
        cells = grid.locate(values)
        return values, (prior / np.bincount(cells, minlength=grid.size))[cells]
    widths = np.diff(grid.edges)
    sizes = np.maximum(np.ceil(most * widths / widths.sum()).astype(int), 16)
    points = [e + w * (np.arange(n) + 0.5) / n for e, w, n in zip(grid.edges, widths, sizes, strict=False)]
    return np.concatenate(points), np.repeat(prior / sizes, sizes)


def brute_force(channel: Channel, grid: Grid, prior: FloatArray) -> float:
    """I(X;Z) as the double sum over single true values and a fine partition of the released ones."""
    points, mass = fine_points(
        grid, prior, 2000 if isinstance(channel, SquareWave) else 500
    )  # two in each step of a report
    order = np.argsort(points)
    points, mass = points[order], mass[order]
    true = Grid(atoms=points)
    if channel.step is None or isinstance(channel, Intervals):
        observed = channel.observed_grid(true)
    else:
        reach = channel.half_width * channel._span if isinstance(channel, SquareWave) else 1.3 * channel.reach
        low, high = points[0] - reach, points[-1] + reach
        width = channel.step * max(1, round((high - low) / 5000 / channel.step))
        near = np.arange(round((high - low) / width)) * width + channel.step * round(low / channel.step)
        cuts = near + channel.step / 2
        observed = Grid(edges=np.concatenate([[-np.inf], cuts, [np.inf]]))
    kernel = channel.transition(true, observed)
    joint = kernel * mass
    q = joint.sum(axis=1)
    some = joint > 0
    return float(np.sum(joint[some] * (np.log2(kernel[some]) - np.log2(np.broadcast_to(q[:, None], some.shape)[some]))))


@cache
def cases(attribute: Attribute) -> dict[str, tuple[Grid, FloatArray]]:
    low, span = attribute.interval.low - attribute.step / 2, attribute.interval.range + attribute.step
    out = {n: (Grid(edges=low + span * np.array(e), step=attribute.step), np.array(p)) for n, (e, p) in PRIORS.items()}
    if attribute.step:
        values = np.arange(attribute.interval.low, attribute.interval.high + 1)
        out["lattice"] = Grid(atoms=values), np.exp(-3 * (values - values[0]) / np.ptp(values))
        out["lattice"] = out["lattice"][0], out["lattice"][1] / out["lattice"][1].sum()
    if attribute.interval.range < 10 and attribute.step:
        return {"lattice": out["lattice"]}
    return out


def bind(law: str, place: int, attribute: Attribute) -> Channel:
    wish = LAWS[law][place]
    if isinstance(wish, Intervals) and wish.edges:
        wish = Intervals(edges=tuple(attribute.interval.low + attribute.interval.range * e for e in wish.edges))
    return wish.on(attribute)


@pytest.mark.parametrize("attribute", [REAL, AGE, FEW], ids=lambda a: a.name)
@pytest.mark.parametrize(("law", "place"), WISHES)
def test_bits_are_those_of_brute_force_for_every_prior(law, place, attribute):
    channel = bind(law, place, attribute)
    for name, (grid, prior) in cases(attribute).items():
        told = measure_information(channel, grid, prior)
        bits = brute_force(channel, grid, prior)
        assert told.bits == pytest.approx(bits, rel=0.01, abs=1e-6), name
        assert told.exact
        assert told.reason is None


@pytest.mark.parametrize(("law", "place"), WISHES)
def test_cutting_cells_finer_changes_nothing(law, place):
    channel = bind(law, place, REAL)
    edges, prior = (np.array(v) for v in PRIORS["bimodal"])
    whole = measure_information(channel, Grid(edges=edges), prior)
    finer = np.interp(np.arange(5 * len(prior) + 1) / 5, np.arange(len(edges)), edges)
    cut = measure_information(channel, Grid(edges=finer), np.repeat(prior / 5, 5))
    assert cut.bits == pytest.approx(whole.bits, rel=0.005)
    assert cut.entropy_privacy == pytest.approx(whole.entropy_privacy, rel=0.005)


@pytest.mark.parametrize("privacy", [1e-6, 1e-4, 0.01])
@pytest.mark.parametrize(
    ("law", "width"),
    [
        (Gaussian, lambda law: math.sqrt(2 * math.pi * math.e) * law.sigma),
        (Uniform, lambda law: 2 * law.alpha),
        (Laplace, lambda law: 2 * math.e * law.b),
    ],
)
def test_of_little_noise_all_of_its_own_width_is_left(law, width, privacy):
    # h(X|Z) → h(noise) as the noise becomes small against the range; the two ends take off less than its width.
    channel = law(privacy=privacy).on(REAL)
    about = figures(channel, REAL)
    assert about["entropy_privacy"] == pytest.approx(width(channel), rel=0.002 + 0.6 * privacy)
    assert about["entropy_exact"]


def test_of_much_uniform_noise_only_the_ends_tell():
    # Z is a trapezoid with ramps of the range R on either side: I = R/(2α) · log₂(e)/2.
    integers = Attribute("x", Kind.INTEGER, Interval(0, 9_999))
    channel = Uniform(alpha=1e6).on(integers)
    told = measure_information(channel, Grid(edges=np.array([-0.5, 9_999.5]), step=1.0), np.ones(1))
    assert told.bits == pytest.approx(1e4 / 2e6 * math.log2(math.e) / 2, rel=0.005)


@pytest.mark.parametrize("epsilon", [2.0, 6.0, 8.0, 12.0])
def test_a_square_wave_tells_what_its_two_levels_say(epsilon):
    # Away from the ends all reports have density near 1/(1 + 2b): I ≈ log₂(1 + 2b) + 2bp log₂ p + q log₂ q. That is high, since
    # fewer reports lie near the ends, within b of them.
    wide = Attribute("x", Kind.REAL, Interval(0.0, 1.0), resolution=1e-9)
    channel = SquareWave(epsilon=epsilon).on(wide)
    b = channel.half_width
    p, q = (math.exp(e) / (2 * b * math.exp(epsilon) + 1) for e in (epsilon, 0.0))
    most = math.log2(1 + 2 * b) + 2 * b * p * math.log2(p) + q * math.log2(q)
    told = -math.log2(1 - figures(channel, wide)["privacy_loss"])
    assert most - 4 * b < told <= most


@pytest.mark.parametrize(
    "law", [Gaussian(privacy=0.02), Uniform(privacy=0.02), Laplace(privacy=0.02), SquareWave(epsilon=5.0)]
)
def test_where_cells_cannot_be_made_finer_the_figures_are_bounds_that_say_which_way(law, monkeypatch):
    channel = law.on(REAL)
    edges, prior = (np.array(v) for v in PRIORS["bimodal"])
    exact = measure_information(channel, Grid(edges=edges), prior)
    monkeypatch.setattr(information, "MAX_LATTICE", 60)
    bound = measure_information(channel, Grid(edges=edges), prior)
    assert not bound.exact
    assert "at least" in bound.reason
    assert 0.5 * exact.bits < bound.bits < exact.bits
    assert bound.entropy_privacy > exact.entropy_privacy


class Foreign(Channel):
    """A law that is neither of noise nor of bins, as far as its class tells."""

    own = Gaussian(privacy=0.5).on(REAL)
    on = in_words = sample = guarantee = interval_width = None

    def transition(self, true, observed, rule=None):
        return self.own.transition(true, observed)

    def observed_grid(self, true):
        return self.own.observed_grid(true)


def test_a_law_of_a_kind_of_its_own_gets_a_bound():
    exact = measure_information(Foreign.own, Grid(edges=np.array([0.0, 1.0])), np.ones(1))
    bound = measure_information(Foreign(), Grid(edges=np.array([0.0, 1.0])), np.ones(1))
    assert not bound.exact
    assert 0.98 * exact.bits < bound.bits <= exact.bits


def test_a_column_of_one_value_has_nothing_to_tell():
    told = measure_information(Gaussian(sigma=1.0).on(AGE), Grid(atoms=np.array([40.0])), np.ones(1))
    assert (told.bits, told.entropy_privacy, told.exact) == (0.0, 0.0, True)


@pytest.mark.parametrize("law", [Gaussian(privacy=0.3), Uniform(privacy=0.3), Laplace(privacy=0.3)])
def test_rounding_far_below_the_noise_tells_what_finer_rounding_does(law):
    edges, prior = (np.array(v) for v in PRIORS["heavy tail"])
    rounded = law.on(REAL)
    told, finer = (measure_information(c, Grid(edges=edges), prior) for c in (rounded, replace(rounded, step=1e-9)))
    assert told.bits == pytest.approx(finer.bits, rel=0.005)


def test_integers_released_on_a_finer_or_a_coarser_grid_are_single_values():
    grid = Grid(edges=np.array([-0.5, 9.5, 99.5]), step=1.0)
    prior = np.array([0.7, 0.3])
    for step in (0.1, 0.25, 2.0, 5.0):
        channel = Gaussian(sigma=0.4, step=step).on(AGE)
        told = measure_information(channel, grid, prior)
        assert told.bits == pytest.approx(brute_force(channel, grid, prior), rel=0.01)
        assert told.exact

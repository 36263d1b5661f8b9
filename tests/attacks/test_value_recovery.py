"""Recovery of values: calibration of the posterior on every law, filters on independent and on correlated noise."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.correlated import shaped_like

from sfumato.attacks import (
    PCA,
    Averaging,
    BayesEstimate,
    ColumnPosterior,
    InformedPosterior,
    LowBits,
    NaiveReading,
    NoiseReuse,
    RepeatedPerturbation,
    Spectral,
    View,
)
from sfumato.attacks._belief import best_guesses, smallest_sets
from sfumato.attacks.linear_filters import bayes_estimate, linear_view, noise_bounds
from sfumato.channels import CHANNELS, Gaussian, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.counts import Grid
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
LAWS = {
    "gaussian": Gaussian(sigma=8.0),
    "uniform": Uniform(alpha=15.0),
    "laplace": Laplace(privacy=0.3),
    "intervals": Intervals(count=8),
    "substitution": Substitution(gamma=19.0),
    "square-wave": SquareWave(epsilon=3.0),
}


def released(attribute, law, values, name="x"):
    channel = law.on(attribute)
    return Column(attribute, channel, channel.perturb(KEY.derive(name, attribute.name), Rows(0, len(values)), values))


def rmse(claim, truth):
    return {r.attribute: float(np.sqrt(np.mean((r.mean - truth[r.attribute]) ** 2))) for r in claim.recoveries}


def mean_rmse(claim, truth):
    return float(np.sqrt(np.mean(np.square(list(rmse(claim, truth).values())))))


@pytest.fixture(scope="module")
def skewed():
    rng = np.random.default_rng(5)
    values = np.where(rng.random(8000) < 0.3, rng.normal(20, 4, 8000), rng.normal(60, 12, 8000)).clip(0, 100)
    return Attribute("x", Kind.REAL, Interval(0, 100)), values


def test_every_law_of_the_product_is_walked_here():
    assert set(LAWS) == {law for law in CHANNELS if CHANNELS[law].numeric}


@pytest.mark.parametrize("law", sorted(law for law in CHANNELS if CHANNELS[law].categorical))
def test_the_posteriors_95_percent_sets_of_labels_hold_the_truth_too(law):
    attribute = Attribute("code", Kind.CATEGORICAL, Categories(tuple(f"c{i}" for i in range(80))))
    values = np.minimum(np.random.default_rng(8).geometric(0.08, 100_000) - 1.0, 79.0)
    (recovery,) = ColumnPosterior().run(View((released(attribute, CHANNELS[law](gamma=12.0), values),))).recoveries
    assert 0.93 <= recovery.sets.covers(values).mean() <= 0.97
    assert np.mean(recovery.pick == values) > 1.3 * np.mean(values == 0.0)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_the_posteriors_95_percent_sets_hold_the_truth_in_93_to_97_percent(law, skewed):
    attribute, values = skewed
    view = View((released(attribute, LAWS[law], values),))
    grid = Grid.over(attribute, 80)
    mass = np.bincount(grid.locate(values), minlength=80) / len(values)
    for attack in (ColumnPosterior(), InformedPosterior({"x": (grid, mass)})):
        (recovery,) = attack.run(view).recoveries
        assert 0.93 <= recovery.sets.covers(values).mean() <= 0.97


@pytest.mark.parametrize("law", sorted(LAWS))
def test_the_posterior_mean_beats_the_released_value_and_the_prior_mean(law, skewed):
    attribute, values = skewed
    view = View((released(attribute, LAWS[law], values),))
    truth = {"x": values}
    posterior = rmse(ColumnPosterior().run(view), truth)["x"]
    assert posterior <= rmse(NaiveReading().run(view), truth)["x"] * 1.001
    assert posterior < values.std()


def test_the_measured_interval_equals_the_analytic_one_for_normal_values_and_noise():
    # Posterior sd is √(s²σ²/(s²+σ²)) = 10·6/√136 = 5.145, so the 95 % interval is 20.17 wide.
    values = np.random.default_rng(6).normal(100, 10, 40_000)
    column = released(Attribute("x", Kind.REAL, Interval(40, 160)), Gaussian(sigma=6.0), values)
    (recovery,) = ColumnPosterior().run(View((column,))).recoveries
    analytic = 3.919928 * 60 / np.sqrt(136)
    assert recovery.width.mean() == pytest.approx(analytic, rel=0.02)
    assert np.sqrt(np.mean((recovery.mean - values) ** 2)) == pytest.approx(60 / np.sqrt(136), rel=0.02)


def test_the_posterior_of_a_label_is_bayes_rule_by_hand():
    # Shares .9/.1, γ = 4, N = 2: P(b | released b) = .1·.8/(.1·.8 + .9·.2) = .3077, so the guess stays a.
    values = np.repeat([0.0, 1.0], [90_000, 10_000])
    column = released(Attribute("c", Kind.CATEGORICAL, Categories(("a", "b"))), Substitution(gamma=4.0), values)
    belief = View((column,)).beliefs["c"]
    assert belief.posterior[1, 1] == pytest.approx(0.3077, abs=0.01)
    (recovery,) = ColumnPosterior().run(View((column,))).recoveries
    assert (recovery.pick == 0).all()


def test_the_smallest_set_takes_the_densest_cells_and_part_of_the_last():
    credit = smallest_sets(np.array([[0.5, 0.3, 0.2]]), np.array([1.0, 1.0, 1.0]), 0.9)
    assert credit[0] == pytest.approx([1.0, 1.0, 0.5])
    wide = smallest_sets(np.array([[0.5, 0.3, 0.2]]), np.array([10.0, 1.0, 1.0]), 0.9)
    assert wide[0] == pytest.approx([0.8, 1.0, 1.0])  # the first cell is the least dense


def test_the_best_guess_is_the_middle_of_the_likeliest_window():
    atoms = Grid(atoms=np.arange(6.0))
    posterior = np.array([[0.3, 0.0, 0.25, 0.25, 0.2, 0.0]])
    assert best_guesses(atoms, posterior, 0.6)[0] == pytest.approx(2.6)  # 2 and 3 together beat 0
    assert best_guesses(atoms, posterior, 0.0)[0] == 0.0


def test_missing_cells_stay_missing_and_a_clear_column_is_itself():
    attribute = Attribute("x", Kind.REAL, Interval(0, 10))
    values = np.array([1.0, np.nan, 3.0] * 50)
    (recovery,) = ColumnPosterior().run(View((Column(attribute, None, values),))).recoveries
    assert np.array_equal(recovery.mean, values, equal_nan=True)
    channel = Gaussian(sigma=1.0).on(attribute)
    (noisy,) = ColumnPosterior().run(View((Column(attribute, channel, values),))).recoveries
    assert np.array_equal(np.isnan(noisy.mean), np.isnan(values))


# --- twenty attributes of rank three: the setting of Huang, Du & Chen ---


@pytest.fixture(scope="module")
def rank3():
    rng = np.random.default_rng(7)
    loadings = rng.normal(size=(3, 20))
    table = 2 * rng.normal(size=(3000, 3)) @ (loadings / np.sqrt((loadings**2).sum(axis=0)))
    attributes = [Attribute(f"a{i:02d}", Kind.REAL, Interval(-12, 12)) for i in range(20)]
    return attributes, table, {a.name: table[:, i] for i, a in enumerate(attributes)}


@pytest.fixture(scope="module")
def independent(rank3):
    attributes, table, _ = rank3
    return View(tuple(released(a, Gaussian(sigma=1.0), table[:, i]) for i, a in enumerate(attributes)))


def test_filters_cut_independent_noise_of_1_to_below_045_and_042(rank3, independent):
    _, _, truth = rank3
    assert mean_rmse(NaiveReading().run(independent), truth) == pytest.approx(1.0, abs=0.02)
    assert mean_rmse(Spectral().run(independent), truth) <= 0.45
    assert mean_rmse(PCA().run(independent), truth) <= 0.45
    assert mean_rmse(BayesEstimate().run(independent), truth) <= 0.42
    assert Spectral().run(independent).notes["signal_directions"] == 3


def test_correlated_noise_leaves_no_attack_below_the_scalar_shrink(rank3):
    attributes, table, truth = rank3
    law = shaped_like(table, attributes, 1.0)
    y = law.perturb(KEY, Rows(0, len(table)), table)
    columns = tuple(Column(a, law.marginal(a), y[:, i]) for i, a in enumerate(attributes))
    mean = y.mean(axis=0)
    shrunk = mean + (y - mean) / (1 + law.ratio)  # x̂ = μ + (y − μ)/(1 + c)
    shrink = float(np.sqrt(np.mean((shrunk - table) ** 2)))
    assert shrink == pytest.approx(2.0 / np.sqrt(2), rel=0.03)
    told, untold = View(columns, noise=np.array(law.covariance)), View(columns)
    untold.__dict__["beliefs"] = told.beliefs  # the columns are the same, and so is what their laws tell
    for view in (told, untold):
        for attack in (ColumnPosterior(), Spectral(), PCA(), BayesEstimate()):
            if isinstance(attack, ColumnPosterior) and view.noise is None:
                continue
            assert mean_rmse(attack.run(view), truth) >= 0.995 * shrink


def test_filters_gain_nothing_on_substitution_over_the_channels_own_posterior(rank3):
    attributes, table, truth = rank3
    view = View(tuple(released(a, Substitution(gamma=19.0), table[:, i]) for i, a in enumerate(attributes)))
    own = mean_rmse(ColumnPosterior().run(view), truth)
    for attack in (Spectral(), PCA(), BayesEstimate()):
        assert mean_rmse(attack.run(view), truth) >= own


def test_the_bayes_estimate_has_the_papers_form_where_its_inverses_exist():
    rng = np.random.default_rng(8)
    a = rng.normal(size=(4, 4))
    signal, noise = a @ a.T, np.diag([1.0, 2.0, 0.5, 1.5])
    mean, u = rng.normal(size=4), rng.normal(size=(6, 4))
    si, ni = np.linalg.inv(signal), np.linalg.inv(noise)
    paper = (np.linalg.inv(si + ni) @ (si @ mean[:, None] + ni @ u.T)).T
    assert bayes_estimate(u, mean, signal, noise) == pytest.approx(paper)


def test_eigenvalues_of_pure_noise_lie_within_their_bounds():
    low, high = noise_bounds(4.0, 5000, 20)
    values = np.linalg.eigvalsh(np.cov(np.random.default_rng(9).normal(0, 2, (5000, 20)), rowvar=False))
    assert low * 0.97 < values.min()
    assert values.max() < high * 1.03


def test_the_linear_view_of_substitution_is_unbiased():
    # E[w | x] = a x + (1 − a) c̄ with a = (γ−1)/(γ+N−1) = 18/38
    rng = np.random.default_rng(10)
    attributes = [Attribute(n, Kind.REAL, Interval(0, 20)) for n in "pq"]
    x = rng.beta(2, 5, (60_000, 2)) * 20
    view = View(tuple(released(a, Substitution(gamma=19.0), x[:, i]) for i, a in enumerate(attributes)))
    view = linear_view(view)
    assert view.mean == pytest.approx(x.mean(axis=0), abs=0.15)
    errors = view.values - x
    assert np.diag(view.noise) == pytest.approx((errors**2).mean(axis=0), rel=0.06)


def test_filters_say_why_they_do_not_apply_to_one_column(skewed):
    attribute, values = skewed
    view = View((released(attribute, Gaussian(sigma=3.0), values),))
    for attack in (Spectral(), PCA(), BayesEstimate()):
        assert "two numeric columns" in attack.run(view).skipped


# --- several releases ---


def releases(attribute, law, values, size):
    return [View((released(attribute, law, values, f"release {i}"),)) for i in range(size)]


@pytest.mark.parametrize("law", ["gaussian", "laplace", "substitution"])
def test_four_releases_with_fresh_noise_leave_much_less_than_one(law, skewed):
    attribute, values = skewed
    first, *others = releases(attribute, LAWS[law], values, 4)
    truth = {"x": values}
    alone = rmse(ColumnPosterior().run(first), truth)["x"]
    together = rmse(Averaging(tuple(others)).run(first), truth)["x"]
    assert together < 0.75 * alone


def test_averaging_gaussian_noise_over_four_releases_halves_the_interval():
    values = np.random.default_rng(11).uniform(0, 1000, 4000)
    first, *others = releases(Attribute("x", Kind.REAL, Interval(0, 1000)), Gaussian(sigma=10.0), values, 4)
    (recovery,) = Averaging(tuple(others)).run(first).recoveries
    assert recovery.width.mean() == pytest.approx(3.92 * 5, rel=0.06)


def test_the_same_release_again_teaches_nothing(skewed):
    attribute, values = skewed
    first = View((released(attribute, Gaussian(sigma=5.0), values),))
    assert "no independent noise" in Averaging((first,)).run(first).skipped
    reuse = NoiseReuse((first,)).run(first)
    assert reuse.notes["same_values_again"] == ["x"]
    assert reuse.skipped


def test_one_draw_at_two_scales_gives_the_original_away(skewed):
    attribute, values = skewed
    z = np.random.default_rng(12).normal(size=len(values))
    views = [View((Column(attribute, Gaussian(sigma=s).on(attribute), values + s * z),)) for s in (4.0, 8.0)]
    (recovery,) = NoiseReuse((views[1],)).run(views[0]).recoveries
    assert np.abs(recovery.mean - values).max() < 1e-9


def test_independent_draws_at_two_scales_are_not_taken_for_one(skewed):
    attribute, values = skewed
    first = View((released(attribute, Gaussian(sigma=4.0), values, "a"),))
    second = View((released(attribute, Gaussian(sigma=8.0), values, "b"),))
    claim = NoiseReuse((second,)).run(first)
    assert not claim.recoveries
    assert claim.notes["independent_noise"] == ["x"]


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"intervals"}))
def test_perturbing_the_release_again_never_gains(law, skewed):
    attribute, values = skewed
    view = View((released(attribute, LAWS[law], values),))
    once = rmse(NaiveReading().run(view), {"x": values})["x"]
    for times in (1, 4):
        assert rmse(RepeatedPerturbation(times).run(view), {"x": values})["x"] > once


# --- low digits ---


def test_noise_in_whole_percents_on_a_fine_column_is_undone_by_the_low_digits():
    rng = np.random.default_rng(13)
    attribute = Attribute("rm", Kind.REAL, Interval(0, 10), resolution=0.001)
    values = np.round(rng.uniform(3, 9, 2000), 3)
    noise = np.clip(np.round(rng.normal(0, 0.276, 2000) / 0.05) * 5, -60, 60) / 100
    column = Column(attribute, Gaussian(sigma=1.0).on(attribute), values * (1 + noise))
    claim = LowBits().run(View((column, Column(Attribute("k", Kind.REAL, Interval(0, 1)), None, rng.random(2000)))))
    (recovery,) = claim.recoveries
    assert np.mean(np.abs(recovery.mean - values) < 1e-9) > 0.5


@pytest.mark.parametrize("law", sorted(LAWS))
def test_our_own_laws_release_on_their_grid_and_leave_no_low_digits(law, skewed):
    attribute, values = skewed
    assert LowBits().run(View((released(attribute, LAWS[law], values),))).skipped

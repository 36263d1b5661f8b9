"""Regression through the noise gives the coefficients that the owner would fit, with intervals that hold them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import Channel, CorrelatedGaussian
from sfumato.engines import Local
from sfumato.errors import DataError, SfumatoError
from sfumato.questions.regression.families import logistic_mean
from sfumato.questions.regression.linear import Spread, fieller
from sfumato.randomness import Rows, SecretKey
from sfumato.scales import Log
from sfumato.schema import Missing
from sfumato.table import Column, Table

REAL, INTEGER, LABELS = sf.Kind.REAL, sf.Kind.INTEGER, sf.Kind.CATEGORICAL
X = sf.Attribute("x", INTEGER, sf.Interval(0, 100))
Z = sf.Attribute("z", REAL, sf.Interval(-5, 7))
Y = sf.Attribute("y", REAL, sf.Interval(-20, 40))
PAY = sf.Attribute("pay", REAL, sf.Interval(0, 1000), scale=Log(unit=10.0))
COUNT = sf.Attribute("count", INTEGER, sf.Interval(0, 60))
GROUP = sf.Attribute("group", LABELS, sf.Categories(("a", "b", "c")))
BLANK = sf.Attribute("blank", LABELS, sf.Categories(("a", "b")), missing=Missing.CATEGORY)
YES = sf.Attribute("yes", LABELS, sf.Categories(("no", "yes")))
MANY = sf.Attribute("many", LABELS, sf.Categories(tuple(f"l{i}" for i in range(8))))


def people(rows: int = 1200) -> dict[str, Column]:
    """True columns of every kind, related to each other."""
    rng = np.random.default_rng(5)
    x = np.round(rng.gamma(3, 8, rows).clip(0, 100))
    z = (rng.normal(0, 1.3, rows) + 0.02 * x).clip(-5, 7)
    group = rng.choice(3, rows, p=[0.5, 0.3, 0.2]).astype(float)
    along = -0.5 + 0.03 * x - 0.4 * z + 0.6 * (group == 1)
    values = [
        (X, x),
        (Z, z),
        (Y, (3 * along + rng.normal(0, 1 + 0.03 * x, rows)).clip(-20, 40)),
        (PAY, PAY.to_places(rng.lognormal(3, 1, rows).clip(0, 1000))),
        (COUNT, rng.poisson(np.exp(0.6 * along)).clip(0, 60).astype(float)),
        (GROUP, group),
        (BLANK, rng.choice(3, rows, p=[0.5, 0.3, 0.2]).astype(float)),
        (YES, (rng.random(rows) < 1 / (1 + np.exp(-along))).astype(float)),
        (MANY, rng.choice(8, rows).astype(float)),
    ]
    return {a.name: Column(a, None, v) for a, v in values}


PEOPLE = people()


def release(columns: list[str], laws: dict[str, Channel | None], number: int) -> Table:
    """The columns as they are released under one key."""
    key = SecretKey(bytes([number % 256, number // 256] + [7] * 30))
    out = []
    for name in columns:
        column, wish = PEOPLE[name], laws[name]
        out.append(column if wish is None else column.through(wish.on(column.attribute), key.derive(name)))
    return Table(tuple(out))


def named(formula: str) -> list[str]:
    """The columns of a formula."""
    words = formula.translate(str.maketrans("~+*:()", "      ")).split()
    return list(dict.fromkeys(w for w in words if w in PEOPLE))


def measure(formula: str, laws: dict[str, Channel | None], releases: int, **options) -> tuple[np.ndarray, np.ndarray]:
    """Over many releases: the share of intervals that hold each coefficient, and bias over standard error."""
    names = named(formula)
    truth = sf.fit(formula, Table(tuple(PEOPLE[n] for n in names)), **options).coefficients
    held, estimates = [], []
    for number in range(releases):
        fitted = sf.fit(formula, release(names, laws, number), **options).coefficients
        held.append([f.low <= truth[t] <= f.high for t, f in fitted.items()])
        estimates.append([float(f) for f in fitted.values()])
    true = np.array([float(f) for f in truth.values()])
    return np.mean(held, axis=0), (np.mean(estimates, axis=0) - true) / np.std(estimates, axis=0)


def least_held(releases: int, coefficients: int) -> float:
    """The share that a true 95 % interval falls below once in 10,000 times for any of some coefficients."""
    from scipy.stats import binom

    return float(binom.ppf(1e-4 / coefficients, releases, 0.95)) / releases


def largest_bias(releases: int) -> float:
    """The bias over standard error that an unbiased estimate shows in one of a million such samples."""
    from scipy.stats import t

    return float(t.ppf(1 - 1e-6, releases - 1)) / math.sqrt(releases)


def design_matrix(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(columns[0])), *columns])


# --- without noise it is the ordinary fit --------------------------------------------------------------------------------


def test_without_noise_least_squares_are_least_squares() -> None:
    x, z, group, y = (PEOPLE[n].values for n in ("x", "z", "group", "y"))
    fitted = sf.fit("y ~ x + z + C(group)", Table(tuple(PEOPLE.values())))
    by_hand = np.linalg.lstsq(design_matrix(x, z, group == 1, group == 2), y)[0]
    assert np.allclose([float(f) for f in fitted.coefficients.values()], by_hand, rtol=1e-9)
    assert fitted.exact
    assert all(f.se == 0 for f in fitted.coefficients.values())
    residual = y - design_matrix(x, z, group == 1, group == 2) @ by_hand
    assert float(fitted.scale) == pytest.approx(residual @ residual / (len(y) - 5))


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ x*z", lambda c: (c["x"], c["z"], c["x"] * c["z"])),
        ("y ~ x + I(x**2)", lambda c: (c["x"], c["x"] ** 2)),
        (
            "y ~ x*C(group)",
            lambda c: (
                c["x"],
                c["group"] == 1,
                c["group"] == 2,
                c["x"] * (c["group"] == 1),
                c["x"] * (c["group"] == 2),
            ),
        ),
        ("y ~ C(group, Treatment('b'))", lambda c: (c["group"] == 0, c["group"] == 2)),
    ],
)
def test_terms_are_those_of_a_formula(formula: str, columns) -> None:
    values = {n: c.values for n, c in PEOPLE.items()}
    by_hand = np.linalg.lstsq(design_matrix(*columns(values)), values["y"])[0]
    fitted = sf.fit(formula, Table(tuple(PEOPLE.values())))
    assert np.allclose([float(f) for f in fitted.coefficients.values()], by_hand, rtol=1e-7, atol=1e-9)


def test_without_an_intercept_every_label_has_a_coefficient() -> None:
    fitted = sf.fit("y ~ 0 + C(group)", Table(tuple(PEOPLE.values())))
    means = [PEOPLE["y"].values[PEOPLE["group"].values == k].mean() for k in range(3)]
    assert list(fitted.coefficients) == ["C(group)[a]", "C(group)[b]", "C(group)[c]"]
    assert np.allclose([float(f) for f in fitted.coefficients.values()], means)


@pytest.mark.parametrize(
    ("formula", "family"), [("yes ~ x + z + C(group)", "binomial"), ("count ~ x + z + C(group)", "poisson")]
)
def test_without_noise_the_score_is_zero(formula: str, family: str) -> None:
    x, z, group = (PEOPLE[n].values for n in ("x", "z", "group"))
    d = design_matrix(x, z, group == 1, group == 2)
    fitted = sf.fit(formula, Table(tuple(PEOPLE.values())), family=family)
    along = d @ np.array([float(f) for f in fitted.coefficients.values()])
    mean = 1 / (1 + np.exp(-along)) if family == "binomial" else np.exp(along)
    response = PEOPLE["yes" if family == "binomial" else "count"].values
    assert np.abs(d.T @ (response - mean) / len(x)).max() < 1e-5 * np.abs(d).max()
    weight = mean * (1 - mean) if family == "binomial" else mean
    by_hand = np.linalg.inv(d.T * weight @ d)
    sandwich = np.sqrt(np.diag(by_hand @ (d.T * (response - mean) ** 2 @ d) @ by_hand))
    assert np.allclose([f.population_error for f in fitted.coefficients.values()], sandwich, rtol=1e-3)


# --- intervals hold ---------------------------------------------------------------------------------------------------------

G = sf.Gaussian(privacy=0.5)
S = sf.Substitution(gamma=19)
CASES: list[tuple[str, dict[str, Channel | None]]] = [
    ("y ~ x + z + C(group)", {"y": G, "x": G, "z": G, "group": S}),
    ("y ~ x + z + C(group)", {"y": sf.Uniform(privacy=1.0), "x": sf.Uniform(privacy=0.5), "z": sf.Laplace(privacy=0.5), "group": S}),
    ("y ~ x + z", {"y": None, "x": sf.SquareWave(epsilon=4), "z": None}),
    ("y ~ x + z", {"y": sf.Gaussian(privacy=1.0), "x": None, "z": None}),
    ("y ~ x*C(group) + z", {"y": G, "x": G, "z": G, "group": S}),
    ("y ~ x*z", {"y": G, "x": sf.Gaussian(privacy=0.25), "z": sf.Gaussian(privacy=0.25)}),
    ("y ~ x + C(blank)", {"y": G, "x": G, "blank": S}),
    ("y ~ x + pay", {"y": G, "x": G, "pay": sf.Gaussian(privacy=0.2)}),
    ("pay ~ x", {"pay": sf.Gaussian(privacy=0.2), "x": G}),
    ("y ~ C(many)", {"y": G, "many": sf.Projective(gamma=19)}),
    ("yes ~ x + z", {"yes": S, "x": G, "z": G}),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "laws"), CASES, ids=lambda c: c if isinstance(c, str) else "")
def test_intervals_hold_what_the_true_table_gives(formula: str, laws: dict[str, Channel | None]) -> None:
    held, bias = measure(formula, laws, 40)
    assert held.min() >= least_held(40, len(held)), held
    assert np.abs(bias).max() < largest_bias(40), bias


@pytest.mark.parametrize(
    ("formula", "family", "laws"),
    [
        ("yes ~ x + z + C(group)", "binomial", {"yes": S, "x": sf.Gaussian(privacy=0.3), "z": sf.Gaussian(privacy=0.3), "group": S}),
        ("yes ~ x", "binomial", {"yes": S, "x": sf.Uniform(privacy=0.5)}),
        ("count ~ x + z + C(group)", "poisson", {"count": sf.Gaussian(privacy=0.2), "x": sf.Gaussian(privacy=0.3), "z": sf.Laplace(privacy=0.2), "group": S}),
    ],
)  # fmt: skip
def test_intervals_of_other_families_hold(formula: str, family: str, laws: dict[str, Channel | None]) -> None:
    held, bias = measure(formula, laws, 30, family=family)
    assert held.min() >= least_held(30, len(held)), held
    assert np.abs(bias).max() < largest_bias(30), bias


def test_the_naive_fit_is_far_off() -> None:
    """What the correction is for: a noisy predictor loses its coefficient."""
    truth = sf.fit("y ~ x + z", Table(tuple(PEOPLE.values())))
    fitted = sf.fit("y ~ x + z", release(["y", "x", "z"], {"y": G, "x": G, "z": G}, 3))
    assert abs(fitted.naive["z"]) < 0.5 * abs(truth["z"])
    assert fitted["z"].low <= truth["z"] <= fitted["z"].high


def test_noise_that_was_drawn_together_is_taken_out_together() -> None:
    names = ("x", "z", "y")
    values = np.column_stack([PEOPLE[n].values for n in names])
    law = CorrelatedGaussian(names, tuple(map(tuple, np.cov(values.T).tolist())), 1.0, (1.0, 0.001, 0.001))
    truth = sf.fit("y ~ x + z", Table(tuple(PEOPLE[n] for n in names))).coefficients
    held = []
    for number in range(40):
        noisy = law.perturb(SecretKey(bytes([number] * 32)), Rows(0, len(values)), values)
        table = Table(
            tuple(
                Column(PEOPLE[n].attribute, law.marginal(PEOPLE[n].attribute), noisy[:, i]) for i, n in enumerate(names)
            )
        )
        held.append([f.low <= truth[t] <= f.high for t, f in sf.fit("y ~ x + z", table).coefficients.items()])
    assert np.mean(held, axis=0).min() >= least_held(40, 3)


def test_rows_without_a_value_are_left_out() -> None:
    values = PEOPLE["x"].values.copy()
    values[::5] = np.nan
    table = Table((Column(X, None, values), PEOPLE["y"]))
    fitted = sf.fit("y ~ x", table)
    kept = ~np.isnan(values)
    by_hand = np.linalg.lstsq(design_matrix(values[kept]), PEOPLE["y"].values[kept])[0]
    assert np.allclose([float(f) for f in fitted.coefficients.values()], by_hand)
    assert (fitted.rows, fitted.left_out) == (960, 240)


# --- what it says where it cannot ------------------------------------------------------------------------------------------


def test_rows_that_cannot_tell_say_so_and_a_ridge_can() -> None:
    table = release(["y", "x", "z"], {"y": G, "x": sf.Gaussian(privacy=8.0), "z": G}, 1)
    with pytest.raises(DataError, match=r"cannot tell the coefficients? of .*x.*ridge"):
        sf.fit("y ~ x + z", table)
    shrunk = sf.fit("y ~ x + z", release(["y", "x", "z"], {"y": G, "x": G, "z": G}, 1), ridge=0.05)
    assert [c.code for c in shrunk.cautions] == ["SF554"]
    assert abs(shrunk["z"]) < abs(sf.fit("y ~ z", Table(tuple(PEOPLE.values())))["z"])


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y", "write RESPONSE ~ TERM"),
        ("y ~ height", "there is no column 'height'"),
        ("y ~ log(x)", r"log\(x\): .*write x, I\(x\*\*2\) or place\(x\)"),
        ("log(y) ~ x", "write y"),
        ("y ~ x + y", "leave it out there"),
        ("y ~ C(x)", "has no levels; write x"),
        ("y ~ I(group**2)", r"write C\(group\)"),
        ("y ~ C(group, Treatment('q'))", "has no label 'q'"),
        ("group ~ x", "say which of them counts as 1: success="),
        ("y ~ x | z", "several parts"),
        ("y ~ I(x**9)", "a power from 2 to 4"),
        ("y ~ .", "cannot be read"),
        ("y ~ 0", "nothing to fit"),
        ("y ~ __import__('os').getcwd()", "cannot be read|outside"),
    ],
)
def test_what_is_outside_a_formula_gets_one_line(formula: str, words: str) -> None:
    with pytest.raises(SfumatoError, match=words) as caught:
        sf.fit(formula, Table(tuple(PEOPLE.values())))
    assert "\n" not in str(caught.value)


def test_families_ask_for_responses_that_they_explain() -> None:
    table = Table(tuple(PEOPLE.values()))
    with pytest.raises(SfumatoError, match="explains a label or numbers 0 and 1"):
        sf.fit("y ~ x", table, family="binomial")
    with pytest.raises(SfumatoError, match="begins at -20"):
        sf.fit("y ~ x", table, family="poisson")
    with pytest.raises(SfumatoError, match="there is no family"):
        sf.fit("y ~ x", table, family="gamma")


def test_powers_of_noisy_numbers_are_for_least_squares() -> None:
    table = release(["yes", "x"], {"yes": S, "x": G}, 0)
    with pytest.raises(SfumatoError, match="family='gaussian' only"):
        sf.fit("yes ~ x + I(x**2)", table, family="binomial")


def test_a_number_that_is_known_up_to_its_bin_says_so() -> None:
    table = release(["y", "x"], {"y": G, "x": sf.Substitution(gamma=19, bins=10)}, 0)
    assert "SF552" in [c.code for c in sf.fit("y ~ x", table).cautions]
    levels = sf.fit("y ~ C(x)", Table((release(["x"], {"x": sf.Intervals(count=4)}, 0)["x"], PEOPLE["y"])))
    assert len(levels.coefficients) == 4


# --- results and engines ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory):
    place = tmp_path_factory.mktemp("fit") / "release"
    sf.release("iris", sf.plan("iris", privacy=0.25), place, key=SecretKey(bytes(32)))
    return place


@pytest.mark.parametrize(
    ("formula", "family"),
    [("petal_width ~ petal_length + C(class)", "gaussian"), ("petal_width ~ sepal_length", "poisson")],
)
def test_an_engine_that_gathers_nothing_gives_the_same_answer(folder, formula: str, family: str) -> None:
    whole = sf.fit(formula, folder, family=family)
    folded = sf.fit(folder, formula, family=family, engine=Local(gathers=False))
    for term, figure in whole.coefficients.items():
        other = folded[term]
        for one, two in ((float(figure), float(other)), (figure.se, other.se), (figure.low, other.low)):
            assert one == pytest.approx(two, rel=1e-9)


def test_a_fit_prints_and_travels(folder) -> None:
    fitted = sf.fit("petal_width ~ petal_length", folder)
    assert "se (population)" in fitted.summary()
    assert "P>|z|" in fitted.summary()
    plain = fitted.to_dict()
    assert {"term", "estimate", "se", "low", "high"} <= set(plain["coefficients"][0])
    assert fitted.to_arrow().num_rows == 2
    assert list(fitted.to_dataframe().index) == ["Intercept", "petal_length"]


# --- formulas ------------------------------------------------------------------------------------------------------------------


def test_waves_add_up_to_the_logistic_curve() -> None:
    mean, t = logistic_mean(12.0), np.linspace(-12, 12, 241)
    waves = np.exp(np.outer(t, mean.kappa))
    curve = 1 / (1 + np.exp(-t))
    assert np.abs((waves @ mean.mean).real - curve).max() < 1e-6
    assert np.abs((waves @ mean.slope).real - curve * (1 - curve)).max() < 1e-5
    assert np.abs((waves @ mean.square).real - curve**2).max() < 1e-5


def test_the_interval_of_fieller_is_longer_where_the_slope_is_in_doubt() -> None:
    """(θ₀ − 0)² ≤ 4 (1 + (θ₀ − 0)² · 0.09): θ₀² (1 − 0.36) = 4, so θ₀ = ±2.5."""
    spread = Spread(np.array([[1.0, 0.0], [0.0, 0.09]]), 1.0, True)
    low, high = fieller(spread, 1.0, 2.0)
    assert (low, high) == (pytest.approx(-2.5), pytest.approx(2.5))
    assert fieller(Spread(np.array([[1.0, 0.0], [0.0, 0.3]]), 1.0, True), 1.0, 2.0) is None

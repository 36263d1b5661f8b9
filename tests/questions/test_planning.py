"""What is planned without data is what releases then show."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.questions import ColumnWeights, OfLabels
from sfumato.randomness import SecretKey
from sfumato.table import Column, Table

X = sf.Attribute("x", sf.Kind.REAL, sf.Interval(0, 100))
Y = sf.Attribute("y", sf.Kind.REAL, sf.Interval(0, 100))
ROWS, RELEASES = 400, 400


def key(number: int, name: str) -> SecretKey:
    return SecretKey(bytes([number % 256, number // 256] + [5] * 30)).derive(name)


def spread(estimates: list[float], planned: sf.Power) -> float:
    """The spread of estimates over the planned one. Of 400 estimates it is within 15 % but once in 10,000 times."""
    return float(np.std(estimates)) / (planned.error / 1.959963984540054)


def normal(seed: int, rows: int = ROWS, sd: float = 15.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(50, sd, rows).clip(0, 100)


@pytest.mark.parametrize(
    "law",
    [sf.Gaussian(privacy=0.5), sf.Uniform(privacy=1.0), sf.SquareWave(epsilon=3.0), sf.Laplace(privacy=0.5)],
    ids=lambda w: w.law,
)
def test_the_error_of_a_mean_is_the_planned_one(law) -> None:
    wish = {k: v for k, v in law.to_dict().items() if k in ("privacy", "epsilon")}
    planned = sf.power("mean", rows=ROWS, noise=law.law, options=wish, domain=(0, 100), sd=15)
    column = Column(X, None, normal(1))
    weight = ColumnWeights.of(Column(X, law.on(X), np.empty(0))).power(1)
    estimates = [100 * weight(column.through(law.on(X), key(n, "x")).values).mean() for n in range(RELEASES)]
    assert spread(estimates, planned) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("labels", [2, 6])
def test_the_error_of_a_share_and_a_count_is_the_planned_one(labels: int) -> None:
    attribute = sf.Attribute("label", sf.Kind.CATEGORICAL, sf.Categories(tuple(f"l{i}" for i in range(labels))))
    law = sf.Substitution(gamma=19).on(attribute)
    planned = sf.power("share", rows=ROWS, noise="substitution", options={"gamma": 19}, share=0.3, labels=labels)
    codes = (np.arange(ROWS) >= 0.3 * ROWS).astype(float)
    weight = ColumnWeights.of(Column(attribute, law, np.empty(0))).weigh(OfLabels((1.0, *[0.0] * labels)))
    estimates = [
        weight(Column(attribute, None, codes).through(law, key(n, "l")).values).mean() for n in range(RELEASES)
    ]
    assert spread(estimates, planned) == pytest.approx(1, abs=0.15)
    counted = sf.power("count", rows=ROWS, noise="substitution", options={"gamma": 19}, share=0.3, labels=labels)
    assert counted.error == pytest.approx(ROWS * planned.error)


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_the_error_of_a_correlation_is_the_planned_one(rho: float) -> None:
    rows, law = 3000, sf.Gaussian(privacy=0.4)
    planned = sf.power("correlation", rows=rows, noise="gaussian", privacy=0.4, domain=(0, 100), sd=15, rho=rho)
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, rows)
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(0, 1, rows)
    columns = [Column(a, None, (50 + 15 * v).clip(0, 100)) for a, v in ((X, x), (Y, y))]
    estimates = [
        float(sf.associate(Table(tuple(c.through(law.on(c.attribute), key(n, c.name)) for c in columns)))["x", "y"])
        for n in range(80)
    ]
    assert spread(estimates, planned) == pytest.approx(1, abs=0.33)


def test_the_error_of_a_coefficient_is_the_planned_one() -> None:
    rows, law = 3000, sf.Gaussian(privacy=0.4)
    planned = sf.power(
        "coefficient", rows=rows, noise="gaussian", privacy=0.4, domain=(0, 100), sd=15, slope=0.5, residual=8
    )
    x = normal(3, rows)
    y = (25 + 0.5 * x + np.random.default_rng(4).normal(0, 8, rows)).clip(0, 100)
    columns = [Column(a, None, v) for a, v in ((X, x), (Y, y))]
    fits = [
        sf.fit("y ~ x", Table(tuple(c.through(law.on(c.attribute), key(n, c.name)) for c in columns)))["x"]
        for n in range(80)
    ]
    assert spread([float(f) for f in fits], planned) == pytest.approx(1, abs=0.33)
    assert np.median([f.se for f in fits]) == pytest.approx(planned.error / 1.96, rel=0.15)
    assert np.median([f.population_error for f in fits]) == pytest.approx(planned.population_error / 1.96, rel=0.15)


def test_the_error_of_a_difference_is_the_planned_one() -> None:
    group = sf.Attribute("group", sf.Kind.CATEGORICAL, sf.Categories(("a", "b")))
    law, swap = sf.Gaussian(privacy=0.4), sf.Gaussian(privacy=0.4).companion()
    rows = 2000
    planned = sf.power("difference", rows=rows, noise="gaussian", privacy=0.4, domain=(0, 100), sd=15, share=0.3)
    codes = (np.arange(rows) < 0.3 * rows).astype(float)
    columns = [Column(X, None, normal(5, rows)), Column(group, None, codes)]
    laws = [law.on(X), swap.on(group)]
    fits = [
        float(
            sf.fit(
                "x ~ C(group)", Table(tuple(c.through(w, key(n, c.name)) for c, w in zip(columns, laws, strict=True)))
            )["C(group)[T.b]"]
        )
        for n in range(80)
    ]
    assert spread(fits, planned) == pytest.approx(1, abs=0.33)


@pytest.mark.parametrize("figure", ["mean", "share", "difference", "correlation", "coefficient"])
def test_rows_and_error_answer_each_other(figure: str) -> None:
    error = {"mean": 1.0, "difference": 2.0}.get(figure, 0.02)
    for population in (False, True):
        asked = sf.power(figure, error=error, population=population)
        back = sf.power(figure, rows=asked.rows)
        assert (back.population_error if population else back.error) <= error
        fewer = sf.power(figure, rows=max(asked.rows - 1, 1))
        assert (fewer.population_error if population else fewer.error) > error * (1 - 1e-9)


@pytest.mark.parametrize(
    ("figure", "options", "words"),
    [
        ("mode", {"rows": 10}, "there is no figure 'mode'"),
        ("mean", {}, "exactly one of rows and error"),
        ("mean", {"rows": 10, "error": 1.0}, "exactly one"),
        ("mean", {"error": -1.0}, "positive"),
        ("mean", {"rows": 10, "domain": (3, 1)}, "lower end first"),
        ("share", {"rows": 10, "share": 1.5}, "between 0 and 1"),
        ("mean", {"rows": 10, "noise": "pink"}, "there is no law 'pink'"),
    ],
)
def test_wrong_use_gets_one_line(figure: str, options: dict, words: str) -> None:
    with pytest.raises(SfumatoError, match=words):
        sf.power(figure, **options)

"""Tables of two columns, correlations and itemsets through the noise."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency

import sfumato as sf
from sfumato.channels import Channel
from sfumato.engines import Local
from sfumato.errors import SfumatoError
from sfumato.questions.associations.crosstab import chi_square
from sfumato.randomness import SecretKey
from sfumato.schema import Missing
from sfumato.table import Column, Table

LABELS, REAL = sf.Kind.CATEGORICAL, sf.Kind.REAL
A = sf.Attribute("a", LABELS, sf.Categories(("x", "y", "z")))
B = sf.Attribute("b", LABELS, sf.Categories(("u", "v", "w", "q")))
BLANK = sf.Attribute("blank", LABELS, sf.Categories(("u", "v", "w")), missing=Missing.CATEGORY)
S = sf.Substitution(gamma=19)


def blur(column: Column, wish: Channel, number: int) -> Column:
    key = SecretKey(bytes([number % 256, number // 256] + [9] * 30)).derive(column.name)
    return column.through(wish.on(column.attribute), key)


def related(rows: int, share: float, seed: int = 1) -> tuple[Column, Column]:
    """Two columns of labels; in a share of the rows the second repeats the first."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(rows) < share, a, rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1]))
    return Column(A, None, a.astype(float)), Column(B, None, b.astype(float))


def test_without_noise_the_test_is_pearsons() -> None:
    a, b = related(800, 0.2)
    table = np.histogram2d(a.values, b.values, bins=(np.arange(4), np.arange(5)))[0]
    pearson = chi2_contingency(table, correction=False)
    result = sf.associate(Table((a, b)), "a", "b")
    assert result.test.statistic == pytest.approx(pearson.statistic, rel=1e-9)
    assert (result.test.freedom, result.test.p) == (pearson.dof, pytest.approx(pearson.pvalue, rel=1e-6))
    assert [[float(f) for f in row] for row in result.counts] == table.tolist()
    assert float(result.v) == pytest.approx(math.sqrt(pearson.statistic / 800 / 2), rel=1e-9)


def test_pearson_by_hand() -> None:
    """(30·40 − 20·10)² 100 / (50·50·40·60) = 16.67."""
    assert chi_square(np.array([[30.0, 20.0], [10.0, 40.0]]), np.eye(2), np.eye(2)).statistic == pytest.approx(50 / 3)


@pytest.mark.parametrize(
    ("attribute", "law"),
    [(B, S), (B, sf.Projective(gamma=19)), (BLANK, S)],
    ids=lambda x: getattr(x, "law", x.name if hasattr(x, "name") else ""),
)
def test_independent_columns_are_called_related_in_one_of_twenty(attribute: sf.Attribute, law: Channel) -> None:
    """500 fresh tables; outside these ends once in 10,000 times if the level is .05, .04 or .06 at the ends of its claim."""
    wrong, tables, rows = 0, 500, 600
    for number in range(tables):
        rng = np.random.default_rng(number)
        a = Column(A, None, rng.choice(3, rows, p=[0.5, 0.3, 0.2]).astype(float))
        other = Column(attribute, None, rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1]).astype(float))
        wrong += sf.associate(Table((blur(a, S, number), blur(other, law, number))), "a", attribute.name).test.p < 0.05
    assert binom.ppf(1e-4, tables, 0.04) <= wrong <= binom.ppf(1 - 1e-4, tables, 0.06), wrong


def test_counts_and_v_of_the_true_table_are_held() -> None:
    for share in (0.0, 0.3):
        columns = related(1500, share)
        truth = sf.associate(Table(columns), "a", "b")
        counts, v = [], []
        for number in range(100):
            result = sf.associate(Table(tuple(blur(c, S, number) for c in columns)), "a", "b")
            v.append(result.v.low <= truth.v <= result.v.high)
            counts.append(
                [
                    [f.low <= t <= f.high for f, t in zip(*rows, strict=True)]
                    for rows in zip(result.counts, truth.counts, strict=True)
                ]
            )
        assert np.mean(v) >= binom.ppf(1e-4, 100, 0.93) / 100
        assert np.mean(counts, axis=0).min() >= binom.ppf(1e-5, 100, 0.95) / 100


NUMBERS = [sf.Attribute(name, REAL, sf.Interval(-5, 8)) for name in ("p", "q", "r")]


def numbers(rows: int = 1500) -> list[Column]:
    rng = np.random.default_rng(3)
    p = rng.normal(0, 1, rows)
    values = [p, 0.6 * p + rng.normal(0, 1, rows), rng.normal(0, 1, rows)]
    return [Column(a, None, v.clip(-5, 8)) for a, v in zip(NUMBERS, values, strict=True)]


@pytest.mark.parametrize(
    "law", [sf.Gaussian(privacy=0.5), sf.Uniform(privacy=0.5), sf.SquareWave(epsilon=4)], ids=lambda w: w.law
)
def test_correlations_of_the_true_table_are_held(law: Channel) -> None:
    columns = numbers()
    truth = sf.associate(Table(tuple(columns)))
    by_hand = np.corrcoef([c.values for c in columns])
    held = []
    for i, j in combinations(range(3), 2):
        assert float(truth[NUMBERS[i].name, NUMBERS[j].name]) == pytest.approx(by_hand[i, j])
    for number in range(60):
        result = sf.associate(Table(tuple(blur(c, law, number) for c in columns)))
        held.append([f is None or f.low <= truth[pair] <= f.high for pair, f in result.pairs.items()])
    assert np.mean(held, axis=0).min() >= binom.ppf(3e-5, 60, 0.94) / 60


def test_the_heat_map_shows_every_column() -> None:
    drawing = sf.associate(Table(tuple(numbers()))).to_svg()
    assert drawing.startswith("<svg")
    assert all(f">{name}<" in drawing for name in ("p", "q", "r"))


def baskets(rows: int = 2000) -> list[Column]:
    """Five binary columns; milk and bread go together, and butter with both."""
    rng = np.random.default_rng(4)
    milk = rng.random(rows) < 0.5
    bread = np.where(milk, rng.random(rows) < 0.8, rng.random(rows) < 0.3)
    butter = np.where(milk & bread, rng.random(rows) < 0.7, rng.random(rows) < 0.1)
    beer, ice = rng.random(rows) < 0.2, rng.random(rows) < 0.05
    names = {"milk": milk, "bread": bread, "butter": butter, "beer": beer, "ice": ice}
    return [
        Column(sf.Attribute(n, LABELS, sf.Categories(("no", "yes"))), None, v.astype(float)) for n, v in names.items()
    ]


def test_itemsets_without_noise_are_counted() -> None:
    columns = baskets()
    result = sf.associate(Table(tuple(columns)), itemsets=True, min_support=0.25)
    values = {c.name: c.values for c in columns}
    for one in result.itemsets:
        share = np.mean(np.all([values[c] == ("no", "yes").index(label) for c, label in one.items], axis=0))
        assert float(one.support) == pytest.approx(share)
        assert share >= 0.25
    both = (("milk", "yes"), ("bread", "yes"))
    assert both in [one.items for one in result.itemsets]
    rule = next(r for r in result.rules if r.given == (("milk", "yes"),) and r.then == ("bread", "yes"))
    assert float(rule.confidence) == pytest.approx(values["bread"][values["milk"] == 1].mean())


def test_supports_and_confidences_of_the_true_table_are_held_and_nothing_frequent_is_lost() -> None:
    columns = baskets()
    truth = sf.associate(Table(tuple(columns)), itemsets=True, min_support=0.25)
    supports = {one.items: float(one.support) for one in truth.itemsets}
    confidences = {(r.given, r.then): float(r.confidence) for r in truth.rules}
    held, sure, lost, releases = [], [], 0, 40
    for number in range(releases):
        result = sf.associate(
            Table(tuple(blur(c, S, number) for c in columns)), itemsets=True, min_support=0.2, min_confidence=0.0
        )
        there = {one.items: one.support for one in result.itemsets}
        lost += sum(items not in there for items, share in supports.items() if share > 0.3)
        held += [f.low <= supports[items] <= f.high for items, f in there.items() if items in supports]
        rules = {(r.given, r.then): r.confidence for r in result.rules}
        sure += [f.low <= confidences[key] <= f.high for key, f in rules.items() if key in confidences]
    assert lost == 0
    assert 0.9 < np.mean(held) < 0.99
    assert 0.9 < np.mean(sure) < 0.99


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        (("a",), {}, "name two for their table"),
        (("a", "a"), {}, "named twice"),
        (("a", "p"), {}, "is a number without labels"),
        (("a", "nothing"), {}, "there is no column 'nothing'"),
        ((), {"itemsets": True, "min_support": 2.0}, "are shares"),
    ],
)
def test_wrong_use_gets_one_line(columns: tuple[str, ...], options: dict, words: str) -> None:
    table = Table((*related(50, 0.5), *numbers(50)))
    with pytest.raises(SfumatoError, match=words):
        sf.associate(table, *columns, **options)


def test_an_engine_that_gathers_nothing_gives_the_same_answer(tmp_path) -> None:
    release = sf.release("iris", sf.plan("iris", privacy=0.25), tmp_path / "iris", key=SecretKey(bytes(32)))
    whole, folded = sf.associate(release), sf.associate(release, engine=Local(gathers=False))
    for pair, figure in whole.pairs.items():
        assert [figure, figure.se] == pytest.approx([folded[pair], folded[pair].se], rel=1e-9)

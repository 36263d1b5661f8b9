"""The two synthetic tables of the 2005 paper: exact counts of one, the stated law of the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import gammaincc, ndtr

from sfumato.generators import customers


@pytest.mark.parametrize("seed", [0, 1, 99])
def test_every_unit_of_customers_holds_the_stated_counts(seed):
    block = next(customers.csd.blocks(2 * 399, seed=seed))
    for unit in (slice(0, 399), slice(399, 798)):
        good = block["status"][unit] == "Good"
        assert good.sum() == 247
        assert Counter(block["car"][unit][good].tolist()) == {"Ford": 132, "Toyota": 62, "Nissan": 48, "Holden": 5}
        assert Counter(block["profession"][unit][good].tolist()) == {
            "Scientist": 212,
            "Engineering": 18,
            "Academic": 17,
        }
        bad = Counter(zip(block["profession"][unit][~good].tolist(), block["car"][unit][~good].tolist(), strict=True))
        assert bad == {
            ("Engineering", "Nissan"): 56, ("Academic", "Toyota"): 46, ("Academic", "Holden"): 14, ("Scientist", "Toyota"): 36,
        }  # fmt: skip
        abroad = block["country"][unit][~good & (block["profession"][unit] == "Engineering")]
        assert (abroad == "Australia").sum() == 50


def test_unrelated_columns_are_uniform_on_thirty_values():
    block = next(customers.csd.blocks(30_000, seed=4))
    for name in ("parents_country", "favourite_city"):
        counts = np.array(list(Counter(block[name].tolist()).values()))
        assert len(counts) == 30
        assert ((counts - 1000) ** 2 / 1000).sum() < 75  # 29 degrees of freedom


@pytest.mark.parametrize("generator", [customers.csd, customers.crd], ids=["csd", "crd"])
def test_the_first_rows_of_a_long_table_are_the_short_table(generator):
    long, short = next(generator.blocks(1000, seed=3)), next(generator.blocks(399, seed=3))
    for name, values in short.items():
        np.testing.assert_array_equal(values, long[name][:399])
    assert any((next(generator.blocks(399, seed=4))[name] != values).any() for name, values in short.items())


def test_households_follow_the_stated_law():
    n = 60_000
    block = next(customers.crd.blocks(n, seed=2))
    income, rent = block["income"].astype(float), block["house_rent"].astype(float)
    for i, city in enumerate(customers.CITIES):
        here = block["city"] == city
        assert here.mean() == pytest.approx(customers.CITY_SHARES[i], abs=5 * np.sqrt(0.25 / n))
        inside = here & (rent > 100) & (rent < 600)
        if city in ("Sydney", "Melbourne"):
            rest = rent[inside] - 1.6 * (income[inside] - 60)
            assert rest.mean() == pytest.approx(customers.CITY_RENTS[i], abs=2)
            assert rest.std() == pytest.approx(35, abs=1)
    assert [(block["dependents"] == k).mean() for k in range(3)] == pytest.approx(
        [np.exp(-2.2), 2.2 * np.exp(-2.2), 2.42 * np.exp(-2.2)], abs=0.01
    )
    grade = block["job_grade"]
    assert np.bincount(grade, minlength=5)[1:] / n == pytest.approx(np.full(4, 0.25), abs=0.01)
    assert income[grade == 2].mean() == pytest.approx(55, abs=0.5)
    risk = customers.load(rent, income, block["dependents"].astype(float)) > customers.RISK_LOAD
    assert ((block["credit_risk"] == "yes") != risk).mean() == pytest.approx(0.03, abs=0.005)
    assert risk.mean() == pytest.approx(0.32, abs=0.01)


def test_the_risky_load_is_the_68_percent_quantile_of_the_law():
    incomes, rents = np.arange(30.0, 101), np.arange(100.0, 601)
    p_income = np.zeros(len(incomes))
    for grade in range(1, 5):
        p_income += np.diff(ndtr((np.r_[-np.inf, incomes[:-1] + 0.5, np.inf] - 25 - 15 * grade) / 9)) / 4
    p_dependents = np.diff(np.r_[0, gammaincc(np.arange(1, 8), 2.2), 1])
    below = 0.0
    for share, base in zip(customers.CITY_SHARES, customers.CITY_RENTS, strict=True):
        edges = np.r_[-np.inf, rents[:-1] + 0.5, np.inf]
        p_rent = np.diff(ndtr((edges - (base + 1.6 * (incomes - 60))[:, None]) / 35), axis=1)
        loads = customers.load(rents[None, :, None], incomes[:, None, None], np.arange(8.0))
        chance = p_income[:, None, None] * p_rent[:, :, None] * p_dependents
        below += share * chance[loads <= customers.RISK_LOAD].sum()
    assert below == pytest.approx(customers.RISK_QUANTILE, abs=1e-5)

"""The two synthetic tables of Islam & Brankovic 2005: households with a credit risk, and customers with a status.

Credit Risk Dataset (`crd`): four numbers, a city, and a risk that follows rent, income and dependents. The paper gives the
columns and their domains; the law is ours. Job Grade is uniform on 1 to 4. Income is 25 + 15 grade + N(0, 9²), rounded and
kept within [30, 100]. Dependents are Poisson(2.2), at most 7. House Rent is 330, 270, 170 or 90 by city,
+ 1.6 (income − 60) + N(0, 35²), rounded and kept within [100, 600]. The load is rent/income + 0.35 dependents; the risk is
"yes" for loads above the 68 % quantile of this law, and 3 % of the labels are flipped.

Customer Status Dataset (`csd`): five categorical attributes and a status, 399 customers a unit. The paper gives the domains
and the 247 customers of its leaf 1 (132 Ford, 62 Toyota, 48 Nissan, 5 Holden, all Good); the rest is ours, such that the
tree of the car's make is the paper's Figure 4.1 in form: Status, then Profession, leaf 1 and three sibling leaves. Inside a
segment the columns are paired at random; parents' country and favourite city are uniform and related to nothing. Every 399
rows hold these counts exactly, in random order; a table may end within a unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.generators.base import ROWS_PER_BLOCK, Block, Generator, draw_blocks, enter, stream
from sfumato.schema import Attribute, Categories, Interval, Kind

CITIES = ("Sydney", "Melbourne", "Newcastle", "Armidale")
CITY_SHARES = (0.35, 0.27, 0.22, 0.16)
CITY_RENTS = (330.0, 270.0, 170.0, 90.0)
INCOME, RENT, DEPENDENTS, GRADES = (30.0, 100.0), (100.0, 600.0), (0.0, 7.0), (1.0, 4.0)
RISK_QUANTILE = 0.68
RISK_LOAD = 5.72392
"""The 68 % quantile of the load, summed exactly over grades, incomes, cities, rents and dependents."""


def load(
    rent: NDArray[np.float64], income: NDArray[np.float64], dependents: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a household carries: rent/income + 0.35 dependents."""
    return rent / income + 0.35 * dependents


def _draw_households(seed: int, number: int, size: int) -> Block:
    from scipy.special import gammaincc, ndtri

    dependents_mean, flipped = 2.2, 0.03

    u = stream(seed, number).random((6, ROWS_PER_BLOCK))
    grade = 1 + np.floor(4 * u[0])
    income = np.clip(np.round(25 + 15 * grade + 9 * ndtri(u[1])), *INCOME)
    # P(Poisson(m) ≤ k) is the regularised upper incomplete gamma function Q(k + 1, m).
    dependents = np.searchsorted(gammaincc(np.arange(1, 8), dependents_mean), u[2], side="right").astype(np.float64)
    city = np.searchsorted(np.cumsum(CITY_SHARES)[:-1], u[3], side="right")
    rent = np.clip(np.round(np.array(CITY_RENTS)[city] + 1.6 * (income - 60) + 35 * ndtri(u[4])), *RENT)
    risk = (load(rent, income, dependents) > RISK_LOAD) ^ (u[5] < flipped)
    block = {
        "income": income.astype(np.int64),
        "house_rent": rent.astype(np.int64),
        "dependents": dependents.astype(np.int64),
        "job_grade": grade.astype(np.int64),
        "city": np.array(CITIES)[city],
        "credit_risk": np.where(risk, "yes", "no"),
    }
    return {name: values[:size] for name, values in block.items()}


crd = enter(
    Generator(
        name="crd",
        about="households with four numbers, a city and a credit risk (Islam & Brankovic 2005, section III)",
        attributes=(
            Attribute("income", Kind.INTEGER, Interval(*INCOME)),
            Attribute("house_rent", Kind.INTEGER, Interval(*RENT)),
            Attribute("dependents", Kind.INTEGER, Interval(*DEPENDENTS)),
            Attribute("job_grade", Kind.INTEGER, Interval(*GRADES)),
            Attribute("city", Kind.CATEGORICAL, Categories(CITIES)),
            Attribute("credit_risk", Kind.CATEGORICAL, Categories(("yes", "no"))),
        ),
        make=partial(draw_blocks, _draw_households),
        target="credit_risk",
    )
)


UNIT = 399
COUNTRIES = ("USA", "England", "Australia")
CARS = ("Toyota", "Ford", "Holden", "Nissan")
PROFESSIONS = ("Scientist", "Engineering", "Academic")
STATUS = ("Good", "Bad")
PLACES = 30
PARENTS = tuple(f"country {i:02d}" for i in range(1, PLACES + 1))
TOWNS = tuple(f"city {i:02d}" for i in range(1, PLACES + 1))


@dataclass(frozen=True)
class Segment:
    """Customers of one status whose columns are independent of each other; numbers are exact counts."""

    status: str
    country: Mapping[str, int]
    car: Mapping[str, int]
    profession: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of customers."""
        return sum(self.car.values())


SEGMENTS = (
    # .62, .33 and .05 of 247; .90 and twice .05 of the others, all rounded to whole customers.
    Segment(
        "Good",
        {"USA": 153, "England": 82, "Australia": 12},
        {"Toyota": 62, "Ford": 132, "Holden": 5, "Nissan": 48},
        {"Scientist": 212, "Engineering": 18, "Academic": 17},
    ),
    Segment("Bad", {"USA": 3, "England": 3, "Australia": 50}, {"Nissan": 56}, {"Engineering": 56}),
    Segment("Bad", {"USA": 3, "England": 54, "Australia": 3}, {"Toyota": 46, "Holden": 14}, {"Academic": 60}),
    Segment("Bad", {"USA": 32, "England": 2, "Australia": 2}, {"Toyota": 36}, {"Scientist": 36}),
)


def _draw_customers(seed: int, number: int, size: int) -> Block:
    rng = stream(seed, number)
    units = [_draw_unit(rng) for _ in range(-(-size // UNIT))]
    return {name: np.concatenate([unit[name] for unit in units])[:size] for name in units[0]}


def _draw_unit(rng: np.random.Generator) -> Block:
    order = np.argsort(rng.random(UNIT))
    paired = {
        name: np.concatenate([_shuffle_labels(getattr(segment, name), rng) for segment in SEGMENTS])[order]
        for name in ("country", "car", "profession")
    }
    return paired | {
        "parents_country": np.array(PARENTS)[np.floor(PLACES * rng.random(UNIT)).astype(np.int64)],
        "favourite_city": np.array(TOWNS)[np.floor(PLACES * rng.random(UNIT)).astype(np.int64)],
        "status": np.repeat([s.status for s in SEGMENTS], [s.size for s in SEGMENTS])[order],
    }


def _shuffle_labels(counts: Mapping[str, int], rng: np.random.Generator) -> NDArray[np.str_]:
    """Return exactly `counts` of each label, in random order."""
    labels = np.repeat(list(counts), list(counts.values()))
    return labels[np.argsort(rng.random(len(labels)))]


csd = enter(
    Generator(
        name="csd",
        about="customers with five categorical attributes and a status, 399 a unit (Islam & Brankovic 2005, section IV)",
        attributes=(
            Attribute("country", Kind.CATEGORICAL, Categories(COUNTRIES)),
            Attribute("car", Kind.CATEGORICAL, Categories(CARS)),
            Attribute("profession", Kind.CATEGORICAL, Categories(PROFESSIONS)),
            Attribute("parents_country", Kind.CATEGORICAL, Categories(PARENTS)),
            Attribute("favourite_city", Kind.CATEGORICAL, Categories(TOWNS)),
            Attribute("status", Kind.CATEGORICAL, Categories(STATUS)),
        ),
        make=partial(draw_blocks, _draw_customers),
        target="status",
    )
)

"""The Credit Risk Dataset of the 2005 paper: four numbers, a city, and a risk that follows rent, income and dependents.

The paper gives the columns and their domains; the law is ours. Job Grade is uniform on 1 to 4. Income is
25 + 15 grade + N(0, 9²), rounded and kept within [30, 100]. Dependents are Poisson(2.2), at most 7. House Rent is
330, 270, 170 or 90 by city, + 1.6 (income − 60) + N(0, 35²), rounded and kept within [100, 600]. The load is
rent/income + 0.35 dependents; the risk is "yes" for loads above the 68 % quantile of this law, and 3 % of the labels are
flipped.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.generators.base import ROWS_PER_BLOCK, Block, Column, Generator, block_sizes, check_whole, stream

CITIES = ("Sydney", "Melbourne", "Newcastle", "Armidale")
CITY_SHARES = (0.35, 0.27, 0.22, 0.16)
CITY_RENTS = (330.0, 270.0, 170.0, 90.0)
INCOME, RENT, DEPENDENTS, GRADES = (30.0, 100.0), (100.0, 600.0), (0.0, 7.0), (1.0, 4.0)
DEPENDENTS_MEAN = 2.2
RISK_QUANTILE = 0.68
RISK_LOAD = 5.72392
"""The 68 % quantile of the load, summed exactly over grades, incomes, cities, rents and dependents."""
FLIPPED = 0.03


def load(
    rent: NDArray[np.float64], income: NDArray[np.float64], dependents: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a household carries: rent/income + 0.35 dependents."""
    return rent / income + 0.35 * dependents


def make_blocks(rows: int, *, seed: int = 0) -> Iterator[Block]:
    """Yield a table of `rows` households in blocks; the first n rows do not depend on `rows`."""
    rows, seed = check_whole("rows", rows, 1), check_whole("seed", seed, 0)
    return ({k: v[:size] for k, v in _draw(seed, number).items()} for number, size in block_sizes(rows))


def _draw(seed: int, number: int) -> Block:
    from scipy.special import gammaincc, ndtri

    u = stream(seed, number).random((6, ROWS_PER_BLOCK))
    grade = 1 + np.floor(4 * u[0])
    income = np.clip(np.round(25 + 15 * grade + 9 * ndtri(u[1])), *INCOME)
    # P(Poisson(m) ≤ k) is the regularised upper incomplete gamma function Q(k + 1, m).
    dependents = np.searchsorted(gammaincc(np.arange(1, 8), DEPENDENTS_MEAN), u[2], side="right").astype(np.float64)
    city = np.searchsorted(np.cumsum(CITY_SHARES)[:-1], u[3], side="right")
    rent = np.clip(np.round(np.array(CITY_RENTS)[city] + 1.6 * (income - 60) + 35 * ndtri(u[4])), *RENT)
    risk = (load(rent, income, dependents) > RISK_LOAD) ^ (u[5] < FLIPPED)
    return {
        "income": income.astype(np.int64),
        "house_rent": rent.astype(np.int64),
        "dependents": dependents.astype(np.int64),
        "job_grade": grade.astype(np.int64),
        "city": np.array(CITIES)[city],
        "credit_risk": np.where(risk, "yes", "no"),
    }


crd = Generator(
    name="crd",
    about="households with four numbers, a city and a credit risk (Islam & Brankovic 2005, section III)",
    attributes=(
        Column("income", "integer", INCOME),
        Column("house_rent", "integer", RENT),
        Column("dependents", "integer", DEPENDENTS),
        Column("job_grade", "integer", GRADES),
        Column("city", "categorical", CITIES),
        Column("credit_risk", "categorical", ("yes", "no")),
    ),
    make=make_blocks,
    target="credit_risk",
)

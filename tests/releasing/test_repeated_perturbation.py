"""Releases of releases: what substitution leaves of a value each time it is applied again (Dowd et al. 2006, Theorem 2)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Substitution
from sfumato.plans import Plan
from sfumato.privacy import keep_probability, repeated_gamma
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Interval, Kind, Schema

ROWS, TIMES, GAMMA = 60_000, 8, 6.0
LETTERS = tuple("abcdefgh")
ATTRIBUTES = (
    Attribute("letter", Kind.CATEGORICAL, Categories(LETTERS)),
    Attribute("age", Kind.INTEGER, Interval(1, 200)),
)
BINS = {"letter": len(LETTERS), "age": 10}


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A skewed table released, its release released again, and so on, each time under another name."""
    folder = tmp_path_factory.mktemp("chain")
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "letter": rng.choice(LETTERS, ROWS, p=np.array([22, 2, 2, 2, 1, 1, 1, 1]) / 32),
            "age": np.where(rng.random(ROWS) < 0.7, rng.integers(1, 21, ROWS), rng.integers(1, 201, ROWS)),
        }
    )
    channels = {"letter": Substitution(gamma=GAMMA), "age": Substitution(gamma=GAMMA, bins=10)}
    truth = {
        "letter": np.array([LETTERS.index(v) for v in table["letter"].to_pylist()]),
        "age": (table["age"].to_numpy() - 1) // 20,
    }
    seen = []
    for time in range(TIMES):
        plan = Plan(Schema(ATTRIBUTES), channels, name=f"round-{time}")
        made = release(table, plan, folder / str(time), key=SecretKey(bytes(range(32))))
        again = Release.open(made.folder).read_table()
        seen.append({"letter": again["letter"].values.astype(int), "age": (again["age"].values.astype(int) - 1) // 20})
        table = made.to_arrow()
    return truth, seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ["letter", "age"])
def test_the_share_that_is_still_true_falls_as_the_power_of_the_matrix_says(chain, name):
    truth, seen = chain
    for time, found in enumerate(seen, 1):
        expected = keep_probability(repeated_gamma(GAMMA, BINS[name], time), BINS[name])
        spread = math.sqrt(expected * (1 - expected) / ROWS)
        assert np.mean(found[name] == truth[name]) == pytest.approx(expected, abs=5 * spread)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["letter", "age"])
def test_the_distribution_converges_to_one_over_n(chain, name):
    truth, seen = chain
    size = BINS[name]
    kept = (GAMMA - 1) / (GAMMA + size - 1)
    start = np.bincount(truth[name], minlength=size) / ROWS
    for time, found in enumerate(seen, 1):
        shares = np.bincount(found[name], minlength=size) / ROWS
        expected = 1 / size + kept**time * (start - 1 / size)
        assert np.abs(shares - expected).max() < 5 * math.sqrt(0.25 / ROWS)
    last = np.bincount(seen[-1][name], minlength=size) / ROWS
    assert np.abs(last - 1 / size).max() < 0.02 < np.abs(start - 1 / size).max()

"""A table of people with every kind of column, and a plan for it."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Gaussian, Laplace, SquareWave, Substitution, Uniform
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Missing, Role, Schema, day_number

ROWS = 5000
JOBS = ("smith", "miner", "clerk", "nurse, head", 'the "boss"')


def people(rows: int = ROWS, seed: int = 0) -> pa.Table:
    numbers = np.random.default_rng(seed)
    gone = numbers.random(rows) < 0.1
    height = numbers.normal(170, 10, rows).clip(120, 230)
    days = [date(1950, 1, 1) + timedelta(days=int(d)) for d in numbers.integers(0, 20_000, rows)]
    return pa.table(
        {
            "person": pa.array(numbers.permutation(rows) + 1000),
            "age": pa.array(numbers.integers(18, 91, rows)),
            "height": pa.array(np.round(height, 2), mask=gone),
            "born": pa.array(days, pa.date32()),
            "job": pa.array(numbers.choice(JOBS, rows)),
            "smokes": pa.array(numbers.choice(["yes", "no", None], rows, p=[0.2, 0.5, 0.3])),
            "insured": pa.array(numbers.random(rows) < 0.7),
            "town": pa.array(numbers.choice(["north", "south"], rows)),
            "secret": pa.array([f"note {i}" for i in range(rows)]),
            "class": pa.array(numbers.choice(["A", "B"], rows)),
        }
    )


SCHEMA = Schema(
    (
        Attribute("person", Kind.INTEGER, role=Role.ATTRIBUTE, consent=Consent.WITHHOLD),
        Attribute("age", Kind.INTEGER, Interval(18, 90)),
        Attribute("height", Kind.REAL, Interval(100, 250)),
        Attribute("born", Kind.DATE, Interval(day_number("1950-01-01"), day_number("2005-01-01"))),
        Attribute("job", Kind.CATEGORICAL, Categories(JOBS)),
        Attribute("smokes", Kind.CATEGORICAL, Categories(("yes", "no")), missing=Missing.CATEGORY),
        Attribute("insured", Kind.CATEGORICAL, Categories(("false", "true"))),
        Attribute("town", Kind.CATEGORICAL, Categories(("north", "south")), consent=Consent.TRUE),
        Attribute("secret", Kind.CATEGORICAL, consent=Consent.WITHHOLD),
        Attribute("class", Kind.CATEGORICAL, Categories(("A", "B")), role=Role.TARGET, consent=Consent.TRUE),
    )
)
CHANNELS = {
    "age": Gaussian(privacy=0.5),
    "height": Laplace(privacy=0.5),
    "born": Uniform(privacy=0.5),
    "job": Substitution(gamma=19),
    "smokes": Substitution(gamma=6),
    "insured": Substitution(epsilon=1),
}


@pytest.fixture(scope="session")
def table() -> pa.Table:
    return people()


@pytest.fixture(scope="session")
def plan() -> Plan:
    return Plan(SCHEMA, CHANNELS)


@pytest.fixture(scope="session")
def plan_by_id() -> Plan:
    person = Attribute("person", Kind.INTEGER, role=Role.IDENTIFIER, consent=Consent.WITHHOLD)
    return Plan(Schema((person, *SCHEMA.attributes[1:])), CHANNELS)


@pytest.fixture(scope="session")
def owner() -> SecretKey:
    return SecretKey(bytes(range(32)))


@pytest.fixture(scope="session")
def reals_plan() -> Plan:
    """One numeric column for each additive law, for statistics of the noise."""
    names = {"a": Gaussian(sigma=3), "b": Gaussian(sigma=3), "c": Laplace(b=2), "d": SquareWave(epsilon=1)}
    schema = Schema(tuple(Attribute(n, Kind.REAL, Interval(0, 100)) for n in names))
    return Plan(schema, names)

"""Domains declared by the owner, three kinds of consent, and a law for each column."""

import tempfile
from pathlib import Path

import pyarrow as pa

import sfumato as sf

people = pa.table(
    {
        "name": ["Ada", "Ben", "Cid", "Dora"] * 250,
        "age": [34, 51, 28, 73] * 250,
        "smoker": ["yes", "no", "no", "yes"] * 250,
        "ward": ["A", "B", "A", "C"] * 250,
    }
)

schema = sf.Schema(
    (
        sf.Attribute("name", sf.Kind.CATEGORICAL, consent=sf.Consent.WITHHOLD),
        sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 120)),
        sf.Attribute("smoker", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes"))),
        sf.Attribute(
            "ward", sf.Kind.CATEGORICAL, sf.Categories(("A", "B", "C")), role=sf.Role.TARGET, consent=sf.Consent.TRUE
        ),
    )
)
plan = sf.Plan(schema, {"age": sf.Laplace(b=20.0), "smoker": sf.Substitution(rho1=0.05, rho2=0.5)})

with tempfile.TemporaryDirectory() as scratch:
    sf.release(people, plan, Path(scratch) / "release", key=Path(scratch) / "owner.key")
    about = sf.describe(Path(scratch) / "release")
    for name, attribute in about["attributes"].items():
        print(f"{name}: {attribute['what']}; ε {attribute['privacy']['epsilon_in_words']}")
    print(about["record"]["in_words"])

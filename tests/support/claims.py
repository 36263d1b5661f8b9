"""A made table of claims: visits of patients, some of whom came once and some many times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

PATIENTS = 300


def claims(seed: int = 3, patients: int = PATIENTS) -> pa.Table:
    """Return one row per visit in an order that chance made.

    The age of a patient is the same at every visit, costs vary around a level of the patient's own, the weekday is anything.
    """
    rng = np.random.default_rng(seed)
    visits = rng.integers(1, 18, patients)
    who = rng.permutation(np.repeat(np.arange(patients), visits))
    age = rng.normal(55, 12, patients).clip(20, 90).round().astype(np.int64)
    level = rng.normal(400, 80, patients)
    group = rng.integers(0, 6, patients)
    return pa.table(
        {
            "patient_id": 1000 + who,
            "age": age[who],
            "cost": np.round((level[who] + rng.normal(0, 25, len(who))).clip(0, 900), 2),
            "region": np.array(["north", "south", "east", "west", "coast", "hills"])[group[who]],
            "weekday": rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri"], len(who)),
        }
    )

"""Tables whose true joint distribution is known, and the same as released."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.channels import Channel
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Original, Table

KEY = SecretKey(bytes(range(32)))


def two_groups(rows: int, seed: int = 1, spread: float = 6.0) -> Original:
    """Make ages and pays that go together, a label that follows them, and a class that depends on all three."""
    chance = np.random.default_rng(seed)
    old = chance.random(rows) < 0.4
    age = np.where(old, 65, 30) + chance.normal(0, spread, rows)
    pay = np.where(old, 4000, 2000) + chance.normal(0, 50 * spread, rows)
    town = np.where(chance.random(rows) < 0.85, old, ~old).astype(int)
    sick = (chance.random(rows) < np.where(old, 0.8, 0.15)).astype(int)
    columns = (
        Column(Attribute("age", Kind.INTEGER, Interval(0, 100)), None, np.clip(np.round(age), 0, 100)),
        Column(Attribute("pay", Kind.REAL, Interval(0, 6000)), None, np.clip(pay, 0, 6000)),
        Column.of_codes("town", ("A", "B"), town),
    )
    return Original(columns, Column.of_codes("sick", ("no", "yes"), sick))


def blur_table(true: Table, privacy: float = 0.5, gamma: float = 9.0, key: SecretKey = KEY) -> Table:
    """Release every column but the class: gaussian noise on numbers, substitution of labels."""

    def law(column: Column) -> Channel:
        numeric = column.attribute.kind.numeric
        return sf.Gaussian(privacy=privacy) if numeric else sf.Substitution(gamma=gamma)

    columns = (c.through(law(c).on(c.attribute), key.derive(c.name)) for c in true.columns)
    return Table(tuple(columns), true.target)

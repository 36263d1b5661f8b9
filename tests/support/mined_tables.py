"""Tables for the tests of joint, mixture and auto: true values, rules for the class, and releases of them."""

from __future__ import annotations

import numpy as np

from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Table

KEY = SecretKey(bytes(range(32)))
ATTRIBUTES = (
    Attribute("x", Kind.REAL, Interval(0.0, 1.0)),
    Attribute("y", Kind.REAL, Interval(0.0, 1.0)),
    Attribute("junk", Kind.REAL, Interval(0.0, 1.0)),
    Attribute("level", Kind.INTEGER, Interval(0, 4)),
    Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue"))),
)


def truth(n, seed):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.random(n),
        "y": rng.random(n),
        "junk": rng.random(n),
        "level": rng.integers(0, 5, n).astype(float),
        "colour": rng.integers(0, 3, n).astype(float),
    }


def released(columns, classes, channels, labels=("A", "B")):
    """The table as a miner sees it; columns without a channel are released as they are."""
    out = []
    for attribute in ATTRIBUTES:
        if attribute.name not in columns:
            continue
        channel = channels.get(attribute.name)
        law = None if channel is None else channel.on(attribute)
        values = columns[attribute.name]
        filled = np.where(np.isnan(values), 0.0, values)
        noisy = filled if law is None else law.perturb(KEY.derive(attribute.name), Rows(0, len(values)), filled)
        out.append(Column(attribute, law, np.where(np.isnan(values), np.nan, noisy)))
    return Table(tuple(out), Column.of_codes("class", labels, classes))


def bands(columns):
    """Attributes that interact: the band of y that makes a B moves with x."""
    low = np.where(columns["x"] < 0.5, 0.1, 0.5)
    return ((columns["y"] >= low) & (columns["y"] < low + 0.4)).astype(np.int64)


def checkers(columns):
    """Nothing to be seen in x or y alone."""
    return ((columns["x"] < 0.5) ^ (columns["y"] < 0.5)).astype(np.int64)

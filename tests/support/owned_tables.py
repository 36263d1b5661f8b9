"""Small tables in an owner's hands, for tests of trees and of the methods around them."""

from __future__ import annotations

import numpy as np

from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Original

LETTERS = "abcdefgh"


def number(name, values, kind=Kind.REAL, domain=None, resolution=None):
    values = np.asarray(values, np.float64)
    ends = domain or (np.nanmin(values), np.nanmax(values))
    return Column(Attribute(name, kind, Interval(*ends), resolution=resolution), None, values)


def category(name, values, labels):
    return Column(Attribute(name, Kind.CATEGORICAL, Categories(tuple(labels))), None, np.asarray(values, np.float64))


def table(columns, classes, labels=None):
    classes = np.asarray(classes, np.int64)
    names = labels or tuple(f"class {i}" for i in range(max(classes.max() + 1, 2)))
    return Original(tuple(columns), Column.of_codes("class", tuple(names), classes))


def mixed(seed, rows=120, numbers=2, categories=2, classes=3, missing=0.0, signal=1.0):
    """Numbers with few and with many distinct values, categories of 3 and more values, all related to the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    columns = []
    for i in range(numbers):
        v = np.round(rng.normal(size=rows) + signal * (y == i % classes), 1 + i % 2)
        v[rng.random(rows) < missing] = np.nan
        columns.append(number(f"n{i}", v, domain=(-9.0, 9.0), resolution=0.1 if i % 2 == 0 else 0.01))
    for i in range(categories):
        k = 3 + i
        v = np.where(rng.random(rows) < 0.4 * signal, y % k, rng.integers(0, k, rows)).astype(float)
        v[rng.random(rows) < missing] = np.nan
        columns.append(category(f"c{i}", v, LETTERS[:k]))
    return table(columns, y, [f"y{i}" for i in range(classes)])

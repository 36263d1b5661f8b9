"""Tables in an owner's hands for the tree-guided experiments: bundled, from a file, or synthetic; and their draws."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import datasets, generators
from sfumato.counts import FloatArray
from sfumato.errors import DataError
from sfumato.io import Encoder
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Original, Table

BOSTON_WHOLE = ("chas", "rad", "tax")
BOSTON_CLASS = "medv"
BOSTON_LABELS = ("bottom 80%", "top 20%")


def repeatable_stream(seed: int, *labels: Any) -> Stream:
    """Return a stream with a key from a number: an experiment must repeat, where a release takes a fresh secret instead."""
    return Stream(SecretKey(hashlib.sha256(f"tree-guided {seed}".encode()).digest()).derive(*labels))


@cache
def bundled_table(name: str, complete: bool = True) -> Original:
    """Return a bundled table with the domains that its catalogue states; `complete` leaves out rows with missing values."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    about = datasets.describe(name)
    kinds = {c["name"]: Kind(c["kind"]) for c in about["columns"]}
    texts = pacsv.ConvertOptions(
        column_types={n: pa.float64() if k.numeric else pa.string() for n, k in kinds.items()},
        null_values=[""],
        strings_can_be_null=True,
    )
    read = pacsv.read_csv(datasets.path(name), convert_options=texts)
    if complete:
        read = read.drop_null()
    columns: dict[str, Column] = {}
    for c in about["columns"]:
        values = read[c["name"]].combine_chunks()
        domain = Interval(c["min"], c["max"]) if kinds[c["name"]].numeric else Categories(tuple(c["categories"]))
        resolution = None
        if kinds[c["name"]] is Kind.REAL:
            resolution = 10.0 ** -count_decimals(values.drop_null().to_numpy())
        attribute = Attribute(c["name"], kinds[c["name"]], domain, resolution=resolution)
        columns[c["name"]] = Column(attribute, None, Encoder(attribute)(values))
    target = columns.pop(about["target"], None)
    return Original(tuple(columns.values()), target)


@cache
def boston_table(path: str) -> Original:
    """Read Boston Housing from a file of yours (it may not be shipped): 13 attributes, class top 20 % by median value."""
    import pyarrow.csv as pacsv

    if not Path(path).exists():
        raise DataError(f"{path}: there is no such file; give the path of boston_housing.csv, or leave Boston out")
    read = pacsv.read_csv(path)
    if BOSTON_CLASS not in read.column_names:
        raise DataError(f"{path}: there is no column {BOSTON_CLASS!r}; give Boston Housing with its UCI column names")
    columns = []
    for name in read.column_names:
        values = read[name].combine_chunks().to_numpy(zero_copy_only=False).astype(np.float64)
        if name == BOSTON_CLASS:
            price = values
            continue
        kind = Kind.INTEGER if name in BOSTON_WHOLE else Kind.REAL
        resolution = None if kind is Kind.INTEGER else 10.0 ** -count_decimals(values)
        attribute = Attribute(name, kind, Interval(values.min(), values.max()), resolution=resolution)
        columns.append(Column(attribute, None, values))
    top = price > np.percentile(price, 80)
    return Original(tuple(columns), Column.of_codes(BOSTON_CLASS, BOSTON_LABELS, top.astype(np.int64)))


def synthetic_table(name: str, seed: int, rows: int = 399) -> Original:
    """Return a table of one of the generators, with the domains of its definition."""
    generator = generators.get(name)
    block = next(generator.blocks(rows, seed=seed))
    columns: dict[str, Column] = {}
    for c in generator.attributes:
        kind = Kind(c.kind)
        domain = Interval(*map(float, c.domain)) if kind.numeric else Categories(tuple(map(str, c.domain)))
        attribute = Attribute(c.name, kind, domain)
        values = block[c.name]
        if not kind.numeric:
            order = np.argsort(attribute.categories)
            values = order[np.searchsorted(np.array(attribute.categories)[order], values)]
        columns[c.name] = Column(attribute, None, values.astype(np.float64))
    target = columns.pop(str(generator.target), None)
    return Original(tuple(columns.values()), target)


def sample(table: Original, rows: int, seed: int) -> Original:
    """Return some of the rows, in their order."""
    return table.take(np.sort(np.random.default_rng(seed).permutation(table.rows)[:rows]))


def standardise(table: Table, like: Table | None = None) -> FloatArray:
    """Return the columns on the scale of the standard deviations of `like` (the table itself unless given), for linkage."""
    scales = [np.nanstd(c.values) or 1.0 for c in (like or table).columns]
    return np.column_stack([c.values / s for c, s in zip(table.columns, scales, strict=True)])


def count_decimals(values: FloatArray, most: int = 6) -> int:
    """Return how many decimals the values are written with."""
    for places in range(most):
        if np.allclose(values, np.round(values, places), rtol=0, atol=1e-9):
            return places
    return most

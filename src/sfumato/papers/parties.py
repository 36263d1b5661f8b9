"""The two parties of the tree-guided experiments: the owner's tables, and an intruder who looks for a person in a release.

Tables are bundled, from a file, or synthetic. The intruder (Islam & Brankovic 2003, section 3.2) knows some values of a
person: p(X → Y) = Π_i p_i(A*_i − A_i) over the known attributes, normalised over the released rows Y. Where the cell (Y, i)
was perturbed, p_i is the law of the noise; where it was not, the values must match. Y's leaf decides which cells were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import datasets, generators
from sfumato.counts import BoolArray, FloatArray, IntArray
from sfumato.errors import DataError, UsageError
from sfumato.guided import Leaves, value_noise
from sfumato.io import Encoder
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Original, Table
from sfumato.trees import Similarity


def repeatable_stream(seed: int, *labels: Any, experiment: str = "tree-guided") -> Stream:
    """Return a stream with a key from a number: an experiment must repeat, where a release takes a fresh secret instead."""
    return Stream(SecretKey(hashlib.sha256(f"{experiment} {seed}".encode()).digest()).derive(*labels))


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
        name, kind = c["name"], kinds[c["name"]]
        values = read[name].combine_chunks()
        domain = Interval(c["min"], c["max"]) if kind.numeric else Categories(tuple(c["categories"]))
        step = 10.0 ** -count_decimals(values.drop_null().to_numpy()) if kind is Kind.REAL else None
        attribute = Attribute(name, kind, domain, resolution=step)
        columns[name] = Column(attribute, None, Encoder(attribute)(values))
    target = columns.pop(about["target"], None)
    return Original(tuple(columns.values()), target)


@cache
def boston_table(path: str) -> Original:
    """Read Boston Housing from a file of yours (it may not be shipped): 13 attributes, class top 20 % by median value."""
    import pyarrow.csv as pacsv

    whole, target = ("chas", "rad", "tax"), "medv"
    if not Path(path).exists():
        raise DataError(f"{path}: there is no such file; give the path of boston_housing.csv, or leave Boston out")
    read = pacsv.read_csv(path)
    if target not in read.column_names:
        raise DataError(f"{path}: there is no column {target!r}; give Boston Housing with its UCI column names")
    columns = []
    for name in read.column_names:
        values = read[name].combine_chunks().to_numpy(zero_copy_only=False).astype(np.float64)
        if name == target:
            price = values
            continue
        kind = Kind.INTEGER if name in whole else Kind.REAL
        resolution = None if kind is Kind.INTEGER else 10.0 ** -count_decimals(values)
        attribute = Attribute(name, kind, Interval(values.min(), values.max()), resolution=resolution)
        columns.append(Column(attribute, None, values))
    top = price > np.percentile(price, 80)
    return Original(tuple(columns), Column.of_codes(target, ("bottom 80%", "top 20%"), top.astype(np.int64)))


def synthetic_table(name: str, seed: int, rows: int = 399) -> Original:
    """Return a table of one of the generators, with the domains of its definition."""
    generator = generators.get(name)
    block = next(generator.blocks(rows, seed=seed))
    columns: dict[str, Column] = {}
    for attribute in generator.attributes:
        values = block[attribute.name]
        if not attribute.kind.numeric:
            order = np.argsort(attribute.categories)
            values = order[np.searchsorted(np.array(attribute.categories)[order], values)]
        columns[attribute.name] = Column(attribute, None, values.astype(np.float64))
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


@dataclass(frozen=True, eq=False)
class Intrusion:
    """What the intruder ends up believing, one entry per target.

    Attributes
    ----------
    p_true
        The chance given to the target's own row.
    effective_set
        2^H of the belief: among how many rows the target hides.
    class_certainty
        The chance given to the target's true class.
    picked
        Chance that the likeliest row is the target's (a tie is shared).
    matched
        Targets that fit at least one released row; the others keep the uniform belief.
    """

    p_true: FloatArray
    effective_set: FloatArray
    class_certainty: FloatArray
    picked: FloatArray
    matched: BoolArray


def intrude(
    original: Original,
    released: Table,
    leaves: Leaves,
    cells: dict[str, BoolArray],
    noise: value_noise.ValueNoise,
    known: Sequence[str],
    targets: IntArray | None = None,
) -> Intrusion:
    """Try to find each target among the released rows.

    Parameters
    ----------
    original, released
        The same rows in the same order; the intruder knows a target's values in `original` for the columns in `known`.
    leaves
        The owner's leaves of the released rows.
    cells, noise
        Which cells were perturbed (see `cells_to_perturb`) and by which law; both are public.
    targets
        Rows to look for, all unless given.
    """
    if not known:
        raise UsageError("an intruder who knows nothing cannot look for anybody; name known columns")
    rows = np.arange(original.rows) if targets is None else targets
    log_belief = np.zeros((len(rows), released.rows))
    with np.errstate(divide="ignore"):
        for name in known:
            log_belief += np.log(_likelihood(original, released, leaves, cells, noise, name, rows))
    most = log_belief.max(axis=1, keepdims=True)
    matched = np.isfinite(most[:, 0])
    belief = np.exp(log_belief - np.where(np.isfinite(most), most, 0.0))
    belief[~matched] = 1.0
    belief /= belief.sum(axis=1, keepdims=True)
    entropy = -np.where(belief > 0, belief * np.log2(np.where(belief > 0, belief, 1.0)), 0.0).sum(axis=1)
    own = belief[np.arange(len(rows)), rows]
    top = belief >= belief.max(axis=1, keepdims=True) * (1 - 1e-9)
    certainty = own.copy()
    if original.target is not None:
        certainty = (belief * (released.codes[None, :] == original.codes[rows, None])).sum(axis=1)
    return Intrusion(own, 2.0**entropy, certainty, top[np.arange(len(rows)), rows] / top.sum(axis=1), matched)


def _likelihood(
    original: Original,
    released: Table,
    leaves: Leaves,
    cells: dict[str, BoolArray],
    noise: value_noise.ValueNoise,
    name: str,
    rows: IntArray,
) -> FloatArray:
    """Return P(released value of Y | known value of X) for one column; a missing value fits only a missing one."""
    column = original[name]
    x, y = column.values[rows], released[name].values
    same = (x[:, None] == y) | (np.isnan(x)[:, None] & np.isnan(y))
    out = same.astype(np.float64)
    noisy = cells.get(name)
    if noisy is None:
        return out
    at = np.flatnonzero(noisy & ~np.isnan(y))
    have = np.flatnonzero(~np.isnan(x))
    spread = value_noise.spread_of(column)
    step = noise.step(column, spread)
    interval = column.attribute.interval
    low, high = leaves.interval(name, interval.low, interval.high, step or 1.0)
    room = value_noise.Room(low[leaves.number[at]], high[leaves.number[at]], step)
    out[np.ix_(have, at)] = noise.chances(x[have], y[at], spread, room)
    return out


def tree_figures(likeness: Similarity) -> dict[str, Any]:
    """Return how alike two trees are, as plain data."""
    return {
        "rs": likeness.rule_similarity,
        "pa": likeness.agreement,
        "root": float(likeness.same_root),
        "verdict": str(likeness.verdict),
    }


def format_figures(figures: Sequence[dict[str, Any]]) -> str:
    """Return the means of `tree_figures` over many trees, and the share of each grade, in one line."""
    graded = "/".join(f"{100 * np.mean([f['verdict'] == v for f in figures]):.0f}" for v in "EVSD")
    rs, pa, root = (float(np.mean([f[name] for f in figures])) for name in ("rs", "pa", "root"))
    return f"RS {rs:.3f}, PA {pa:.3f}, root {root:.2f}, E/V/S/D {graded} %"

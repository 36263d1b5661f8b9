"""The loan applicants of Agrawal et al., perturbed in memory: the data of the 2000 and 2006 papers' tree experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.counts import IntArray
from sfumato.generators import get
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column, Original, Table

AGRAWAL = get("agrawal")
LABELS = ("A", "B")
ATTRIBUTES = tuple(
    Attribute(c.name, Kind(c.kind), Interval(float(c.domain[0]), float(c.domain[1])))
    for c in AGRAWAL.attributes
    if c.name != AGRAWAL.target
)
Records = dict[str, NDArray[Any]]


def draw_applicants(rows: int, function: int, seed: int) -> Records:
    """Return true rows, equally split between the two classes as the 2000 paper has them."""
    blocks = list(AGRAWAL.blocks(rows, seed=seed, function=function, balanced=True))
    return {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}


def classes(held: Records) -> IntArray:
    """Return 0 for group A, 1 for group B."""
    return (held["class"] == "B").astype(np.int64)


def as_original(held: Records) -> Original:
    """Return the rows as their owner holds them."""
    columns = tuple(Column(a, None, held[a.name].astype(np.float64)) for a in ATTRIBUTES)
    return Original(columns, Column.of_codes("class", LABELS, classes(held)))


def perturb(held: Records, law: Channel, seed: int) -> Table:
    """Return what a miner holds of the rows: every attribute through the law, the class as it is."""
    key = SecretKey(seed.to_bytes(32, "big"))
    true = as_original(held)
    columns = []
    for column in true.columns:
        channel = law.on(column.attribute)
        columns.append(column.through(channel, key.derive(column.name, channel.to_dict())))
    return Table(tuple(columns), true.target)

"""The owner's own table in memory, values as they are: for guided methods, comparisons and audits."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.encoding import Encoder
from sfumato.observed import Column, ObservedTable
from sfumato.releases.plan import Plan
from sfumato.schema import Role
from sfumato.tables import blocks, naming_files, open_table


def true_table(plan: Plan, table: Any, encoding: str = "utf-8") -> ObservedTable:
    """The owner's own table, values as they are."""
    target = plan.schema.target
    wanted = [a for a in plan.schema if a.released]
    parts: dict[str, list[FloatArray]] = {a.name: [] for a in wanted}
    source = open_table(table, encoding)
    with naming_files(source):
        for block in blocks(source, list(parts)):
            for attribute in wanted:
                encoder = Encoder(attribute, plan.absent.get(attribute.name, ("",)))
                parts[attribute.name].append(encoder(block.batch.column(attribute.name), block.start))
    values = {name: np.concatenate(p) for name, p in parts.items()}
    columns = tuple(Column(a, None, values[a.name]) for a in wanted if a.role is not Role.TARGET)
    if target is None:
        return ObservedTable(columns)
    classes = np.where(np.isnan(values[target.name]), -1, values[target.name]).astype(np.int64)
    return ObservedTable(columns, classes, target.categories)

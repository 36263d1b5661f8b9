"""The scale on which distances are measured: part of a clustering, and stated with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.partition import check_finite
from sfumato.counts import FloatArray
from sfumato.errors import UsageError

KINDS = ("min-max", "standard", "none")


@dataclass(frozen=True)
class Scaling:
    """z = (x − offset) / unit, column by column. A constant column has unit 1: it becomes 0 and comes back exactly.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[0.0, 5.0], [10.0, 5.0]])
    >>> Scaling.fit(table).apply(table).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """

    kind: str
    offset: tuple[float, ...]
    unit: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"scaling: {self.kind!r} is unknown; choose min-max, standard or none")
        if len(self.offset) != len(self.unit) or not all(u > 0 for u in self.unit):
            raise UsageError("scaling: every column needs an offset and a positive unit")

    @classmethod
    def fit(cls, values: ArrayLike, kind: str = "min-max") -> Scaling:
        """Return the scale of a table: its smallest and largest values, or its means and standard deviations."""
        table = check_finite(values)
        if not len(table):
            raise UsageError("scaling: the table has no rows; give the scale from a declared domain instead")
        if kind == "min-max":
            offset, unit = table.min(axis=0), np.ptp(table, axis=0)
        elif kind == "standard":
            offset, unit = table.mean(axis=0), table.std(axis=0)
            constant = np.ptp(table, axis=0) == 0
            # The mean of equal numbers may miss them by a bit, and their deviation zero.
            offset, unit = np.where(constant, table[0], offset), np.where(constant, 0.0, unit)
        else:
            offset, unit = np.zeros(table.shape[1]), np.ones(table.shape[1])
        # 1/unit must stay finite: a column that varies by less than that is constant to a float.
        unit = np.where(unit > 1e-300, unit, 1.0)
        return cls(kind, tuple(offset.tolist()), tuple(unit.tolist()))

    @classmethod
    def from_ends(cls, low: ArrayLike, high: ArrayLike) -> Scaling:
        """Return the min-max scale of a declared domain, which is learned from no row."""
        low_, high_ = np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64))
        unit = np.where(high_ > low_, high_ - low_, 1.0)
        return cls("min-max", tuple(low_.tolist()), tuple(unit.tolist()))

    def apply(self, values: ArrayLike) -> FloatArray:
        """Return the scaled table."""
        return (np.asarray(values, np.float64) - np.array(self.offset)) / np.array(self.unit)

    def invert(self, scaled: ArrayLike) -> FloatArray:
        """Return the table in its own units."""
        out: FloatArray = np.asarray(scaled, np.float64) * np.array(self.unit)
        out += np.array(self.offset)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as plain data, for a manifest."""
        return {"kind": self.kind, "offset": list(self.offset), "unit": list(self.unit)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scaling:
        """Return the scale that `to_dict` described."""
        return cls(str(data["kind"]), tuple(map(float, data["offset"])), tuple(map(float, data["unit"])))

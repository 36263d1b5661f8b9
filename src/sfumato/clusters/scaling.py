"""The scale on which distances are measured: part of a clustering, and stated with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.partition import check_finite
from sfumato.counts import FloatArray
from sfumato.errors import UsageError


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

    kind: ClassVar[str] = "min-max"
    offset: tuple[float, ...]
    unit: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.offset) != len(self.unit) or not all(u > 0 for u in self.unit):
            raise UsageError("scaling: every column needs an offset and a positive unit")

    @classmethod
    def fit(cls, values: ArrayLike) -> Scaling:
        """Return the scale of a table: its smallest and largest values."""
        table = check_finite(values)
        if not len(table):
            raise UsageError("scaling: the table has no rows; give the scale from a declared domain instead")
        return cls.from_ends(table.min(axis=0), table.max(axis=0))

    @classmethod
    def from_ends(cls, low: ArrayLike, high: ArrayLike) -> Scaling:
        """Return the min-max scale of a declared domain, which is learned from no row."""
        low_, high_ = np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64))
        # 1/unit must stay finite: a column that varies by less than that is constant to a float.
        unit = np.where(high_ - low_ > 1e-300, high_ - low_, 1.0)
        return cls(tuple(low_.tolist()), tuple(unit.tolist()))

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
        if data["kind"] != cls.kind:
            raise UsageError(f"scaling: {data['kind']!r} is unknown; it must be {cls.kind}")
        return cls(tuple(map(float, data["offset"])), tuple(map(float, data["unit"])))

"""Noise on the attributes that a leaf does not ask about (Islam & Brankovic 2003, section 3.2), and on those it does.

A total innocent attribute (TIA) is tested nowhere in the tree; a leaf innocent attribute (LIA) is tested, but not on the
path of the row's leaf. Influential attributes may be perturbed too, inside their leaf's interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.guided.base import Perturbed
from sfumato.guided.tree.base import TreeMethod, check_choice
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.guided.tree.value_noise import KINDS, SD, Room, ValueNoise
from sfumato.parameters import parameter
from sfumato.randomness import Stream
from sfumato.table import Column, Original, Table
from sfumato.text import join_names

WHICH = ("innocent", "tia", "lia", "influential", "all")


@dataclass(frozen=True)
class Innocent(TreeMethod):
    """Add noise to numeric attributes, leaf by leaf.

    Examples
    --------
    >>> from sfumato.guided import make_method
    >>> make_method("innocent", {"which": "all", "sd": "0.1"}).to_dict()["sd"]
    0.1
    """

    law: ClassVar[str] = "innocent"
    words: ClassVar[str] = "noise on the records of some or all leaves of the owner's tree"
    reads: ClassVar[str] = (
        "A modified column holds noise in some rows and may hold true values in others, and all other columns are true: a row "
        "is a record of somebody, blurred in part"
    )
    which: str = parameter("innocent", "innocent (tia and lia), tia, lia, influential, or all")
    noise: str = parameter(
        "additive", "additive, relative, or percent (a grid of percentages, for small integers only)"
    )
    sd: float = parameter(SD, "standard deviation of the noise, in that of the attribute, or relative to the value")
    heterogeneous: bool = parameter(False, "perturb records of heterogeneous leaves only")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.law, "which", self.which, WHICH)
        check_choice(self.law, "noise", self.noise, KINDS)
        _ = self.law_of_noise

    @property
    def law_of_noise(self) -> ValueNoise:
        """The noise itself."""
        return ValueNoise(self.noise, self.sd)

    def _draw(self, table: Original, leaves: Leaves, stream: Stream) -> Perturbed:
        noise = self.law_of_noise
        cells = cells_to_perturb(table, leaves, self.which, self.heterogeneous)
        for column in table.columns:
            if column.name in cells:
                noise.check(column)
        values = add_noise(table, leaves, cells, noise, stream)
        warnings = []
        if self.noise != "additive":
            zeros = [
                name for name, some in cells.items() if (table[name].values[some] == 0).mean() > 0.01 and some.any()
            ]
            if zeros:
                words = f"{join_names(zeros)}: noise relative to the value leaves every 0 as it is; use additive noise"
                warnings.append(Note("SF229", words))
        public = {"perturbed_columns": sorted(cells)}
        return Perturbed.of(table, table.with_values(values), public=public, warnings=warnings)


def cells_to_perturb(
    table: Table, leaves: Leaves, which: str = "innocent", heterogeneous: bool = False
) -> dict[str, NDArray[np.bool_]]:
    """Return which cells of each numeric column are perturbed; columns without any are left out."""
    out = {}
    used = leaves.tree.used
    where = leaves.heterogeneous[leaves.number] if heterogeneous else np.ones(table.rows, bool)
    for column in table.columns:
        if not column.attribute.kind.numeric:
            continue
        if (which == "tia" and column.name in used) or (which == "lia" and column.name not in used):
            continue
        influential = leaves.influential(column.name)[leaves.number]
        cells = where if which == "all" else where & (influential if which == "influential" else ~influential)
        if cells.any():
            out[column.name] = cells
    return out


def add_noise(
    table: Table, leaves: Leaves, cells: dict[str, NDArray[np.bool_]], noise: ValueNoise, stream: Stream
) -> dict[str, FloatArray]:
    """Return the values of the perturbed columns."""
    return {name: inside_leaf(table[name], leaves, some, noise, stream) for name, some in cells.items()}


def spread_of(column: Column) -> float:
    """Return the standard deviation of the known values."""
    known = column.values[~np.isnan(column.values)]
    return float(known.std()) if len(known) else 0.0


def inside_leaf(
    column: Column, leaves: Leaves, cells: NDArray[np.bool_], noise: ValueNoise, stream: Stream
) -> FloatArray:
    """Add noise to some cells of the column, each folded into the interval that its leaf allows.

    In a leaf that does not test the attribute that interval is the whole domain (LINNAPT).
    """
    values = column.values.copy()
    cells = cells & ~np.isnan(values)
    spread = spread_of(column)
    step = noise.step(column, spread)
    interval = column.attribute.interval
    if not step and noise.kind != "percent":
        return values  # no two values differ, and there is no lattice to move on
    low, high = leaves.interval(column.name, interval.low, interval.high, step or 1.0)
    leaf = leaves.number[cells]
    values[cells] = noise.draw(values[cells], spread, Room(low[leaf], high[leaf], step), stream)
    return values

"""Noise on values: its exact law, and the method that lays it on attributes that a leaf does not ask about, or on those it does.

Numbers stay on the attribute's own resolution, and between two ends:

- additive: A + N(0, (sd · spread of A)²);
- relative: A (1 + N(0, sd²)), "noise as a percentage of the attribute value" (Islam & Brankovic 2003, Figure 3);
- percent: A (1 + e) with e a bell on the multiples of 5 % within ±60 %, as that figure draws it.

Additive and relative values are folded back at the ends (mirrored half a step beyond the last value) and rounded to the
lattice, so nothing piles up. Percent values are rounded and clipped where the attribute has a lattice, and left as they
are where it has none: then A*/A − 1 lies on the percent grid for the true row and for hardly any other.

A total innocent attribute (TIA) is tested nowhere in the tree; a leaf innocent attribute (LIA) is tested, but not on the
path of the row's leaf (Islam & Brankovic 2003, section 3.2). Influential attributes may be perturbed too, inside their leaf's interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.counts import BoolArray, FloatArray, decade, snap
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.guided.base import Perturbed, parameter
from sfumato.guided.tree.base import TreeMethod, check_choice
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.randomness import Stream
from sfumato.schema import Kind
from sfumato.table import Column, Original, Table
from sfumato.text import join_names

KINDS = ("additive", "relative", "percent")
SD = 0.276
PERCENT_STEP = 0.05


@cache
def percent_bell(sd: float = SD) -> tuple[FloatArray, FloatArray]:
    """Return the percentages of Figure 3 and their chances: p_j ∝ exp(−e_j²/2s²) with s solved so that the sd is as stated."""
    percent_reach = 0.60
    steps = round(percent_reach / PERCENT_STEP)
    offsets = np.arange(-steps, steps + 1, dtype=np.float64) * PERCENT_STEP

    def chances(scale: float) -> FloatArray:
        weight = np.exp(-0.5 * np.square(offsets / scale))
        return np.asarray(weight / weight.sum())

    widest = float(np.sqrt(np.mean(np.square(offsets))))
    if not 0 < sd < widest:
        raise UsageError(
            f"sd = {sd}: no bell on ±{percent_reach:.0%} has it; give a number above 0 and below {widest:.3f}"
        )
    low, high = 1e-3, 1e3
    for _ in range(200):
        middle = np.sqrt(low * high)
        if float(np.sqrt(chances(middle) @ np.square(offsets))) < sd:
            low = middle
        else:
            high = middle
    return offsets, chances(high)


@dataclass(frozen=True, eq=False)
class Room:
    """Where released values of some cells may lie: between `low` and `high` (one each, or one for all), in steps."""

    low: FloatArray
    high: FloatArray
    step: float


@dataclass(frozen=True)
class ValueNoise:
    """The law of the noise; `sd` is in units of the attribute's own standard deviation, or of its value."""

    kind: str = "additive"
    sd: float = SD

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"noise = {self.kind!r} is unknown; choose {' or '.join(KINDS)}")
        if not 0 < self.sd < np.inf:
            raise UsageError(f"sd = {self.sd} gives no noise; give a positive number, such as {SD}")

    def check(self, column: Column) -> None:
        """Refuse noise that protects nothing on this column."""
        attribute = column.attribute
        if attribute.kind is Kind.DATE and self.kind != "additive":
            raise UsageError(
                f"{column.name}: {self.kind} noise on a date is noise relative to 1970; use additive noise"
            )
        if self.kind != "percent":
            return
        largest = max(abs(attribute.interval.low), abs(attribute.interval.high))
        if PERCENT_STEP * largest > attribute.step:
            raise UsageError(
                f"{column.name}: noise on a grid of percentages gives no protection here. Steps of {PERCENT_STEP:.0%} leave "
                f"holes between the values of a column with {_resolution(attribute.step)}, so released/true − 1 lies on "
                "the grid for the true record alone (p = 1). Use additive or relative noise, or leaf-swap"
            )

    def scale(self, values: FloatArray, spread: float) -> FloatArray:
        """Return the standard deviation of the noise of each value."""
        return np.full(len(values), self.sd * spread) if self.kind == "additive" else self.sd * np.abs(values)

    def step(self, column: Column, spread: float) -> float:
        """Return the lattice of the released values: the attribute's own, or one at least 500 times finer than the noise."""
        own = column.attribute.step
        if own or self.kind == "percent" or spread <= 0:
            return own
        return decade(self.sd * spread / 500)

    def draw(self, values: FloatArray, spread: float, room: Room, stream: Stream) -> FloatArray:
        """Draw released values for true ones."""
        if not len(values):
            return values.copy()
        if self.kind != "percent":
            noisy = values + self.scale(values, spread) * stream.normal(len(values))
            return fold_into_room(noisy, values, room)
        offsets, chances = percent_bell(self.sd)
        room_ends = np.cumsum(chances)[:-1]
        noisy = values * (1 + offsets[np.searchsorted(room_ends, stream.uniform(len(values)), side="right")])
        return _clip(noisy, room) if room.step else noisy

    def chances(self, true: FloatArray, released: FloatArray, spread: float, room: Room) -> FloatArray:
        """Return P(released | true), one row per true value; `room` belongs to the released ones."""
        if self.kind != "percent":
            return _folded_chances(true, released, self.scale(true, spread), room)
        out = np.zeros((len(true), len(released)))
        for offset, chance in zip(*percent_bell(self.sd), strict=True):
            noisy = true * (1 + offset)
            if room.step:
                at = _clip(np.broadcast_to(noisy[:, None], out.shape), room)
                near = np.abs(at - released) < room.step / 2
            else:
                near = np.abs(noisy[:, None] - released) <= 1e-9 * np.maximum(np.abs(noisy[:, None]), 1e-9)
            out += chance * near
        return out


def room_ends(room: Room) -> tuple[FloatArray, FloatArray]:
    """Return the first and the last multiple of the step inside the room."""
    return np.ceil(room.low / room.step - 1e-6), np.floor(room.high / room.step + 1e-6)


def fold_into_room(noisy: FloatArray, true: FloatArray, room: Room) -> FloatArray:
    """Mirror noisy values at the ends until they lie between them, on the lattice.

    Mirrors stand half a step beyond the first and the last value, so that every value of the lattice has the same room.
    A cell whose room holds no value of the lattice keeps its true one.
    """
    if not room.step:
        return true.copy()  # a constant column: there is no spread, and no noise
    first, last = room_ends(room)
    number = np.maximum(last - first + 1, 1)
    place = np.mod(noisy / room.step - (first - 0.5), 2 * number)
    place = np.where(place >= number, 2 * number - place, place)
    index = first + np.clip(np.floor(place), 0, number - 1)
    return np.where(last >= first, snap(index * room.step, room.step), true)


def _folded_chances(true: FloatArray, released: FloatArray, scale: FloatArray, room: Room) -> FloatArray:
    """Return Σ over the mirror images k of the released value of Φ((k + ½ − x)/σ) − Φ((k − ½ − x)/σ), in steps."""
    from scipy.special import ndtr

    if not room.step:
        return np.asarray(true[:, None] == released, np.float64)
    first, last = room_ends(room)
    number = last - first + 1
    x, k = true / room.step, np.round(released / room.step)
    sigma = scale / room.step
    out = np.asarray(np.round(x)[:, None] == k, np.float64)  # where the noise is none
    noisy = np.flatnonzero(sigma > 0)
    if not len(noisy):
        return out
    x, sigma = x[noisy, None], sigma[noisy, None]
    max_images = 32  # images beyond these are too far away to matter
    images = min(max_images, int(np.ceil(8 * sigma.max() / (2 * number.min()))) + 1)
    total = np.zeros((len(noisy), len(released)))
    for turn in range(-images, images + 1):
        for image in (k + 2 * number * turn, 2 * first - 1 - k + 2 * number * turn):
            total += ndtr((image + 0.5 - x) / sigma) - ndtr((image - 0.5 - x) / sigma)
    out[noisy] = total
    return out


def _clip(noisy: FloatArray, room: Room) -> FloatArray:
    first, last = room_ends(room)
    return snap(np.clip(np.round(noisy / room.step), first, last) * room.step, room.step)


def _resolution(step: float) -> str:
    return f"resolution {step:g}" if step else "continuous values"


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
) -> dict[str, BoolArray]:
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
    table: Table, leaves: Leaves, cells: dict[str, BoolArray], noise: ValueNoise, stream: Stream
) -> dict[str, FloatArray]:
    """Return the values of the perturbed columns."""
    return {name: inside_leaf(table[name], leaves, some, noise, stream) for name, some in cells.items()}


def spread_of(column: Column) -> float:
    """Return the standard deviation of the known values."""
    known = column.values[~np.isnan(column.values)]
    return float(known.std()) if len(known) else 0.0


def inside_leaf(column: Column, leaves: Leaves, cells: BoolArray, noise: ValueNoise, stream: Stream) -> FloatArray:
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

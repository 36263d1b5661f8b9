"""What a miner holds: released values, the law of each column, and the class. Never an original value."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.errors import UsageError
from sfumato.randomness import Addresses, Rows, SecretKey
from sfumato.schema import Attribute, Missing
from sfumato.text import join_names

if TYPE_CHECKING:
    from sfumato.channels import Channel

MISSING_LABEL = "(missing)"
GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Column:
    """One released column: numbers as they are, categories as their codes, NaN where the value is missing.

    ``channel`` is None where values were released as true.
    """

    attribute: Attribute
    channel: Channel | None
    values: FloatArray

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    def true_grid(self, size: int) -> Grid:
        """The natural grid of the true values; a missing value that took part as a category is its last atom."""
        if self.attribute.missing is Missing.CATEGORY:
            return Grid.categories((*self.attribute.categories, MISSING_LABEL))
        return Grid.over(self.attribute, size)

    def observed_grid(self, true: Grid) -> Grid:
        """The grid on which released values are counted."""
        return true if self.channel is None else self.channel.observed_grid(true)

    def located(self, grid: Grid) -> IntArray:
        """Cell codes of the released values; −1 where missing."""
        absent = np.isnan(self.values)
        if not absent.any():
            return grid.locate(self.values)
        codes = grid.locate(np.where(absent, 0.0, self.values))
        codes[absent] = -1
        return codes

    def take(self, rows: NDArray[np.bool_] | IntArray) -> Column:
        """The column of some of the rows."""
        return replace(self, values=self.values[rows])

    def at_its_word(self) -> Column:
        """The column as somebody reads it who takes released cells for true values.

        A report is read as one of the values in whose set it lies, by a public draw.
        """
        if self.channel is None or self.channel.reports is None:
            return replace(self, channel=None)
        present = ~np.isnan(self.values)
        values = np.full(len(self.values), np.nan)
        # Multiples of the golden ratio, spread evenly over [0, 1): nothing here needs to be secret.
        draw = np.modf((zlib.crc32(self.name.encode()) % 1000 + np.arange(int(present.sum()))) * GOLDEN)[0]
        values[present] = self.channel.read(self.values[present].astype(np.int64), draw)
        return replace(self, channel=None, values=values)

    def through(self, channel: Channel, key: SecretKey) -> Column:
        """The column of true values as it is released through a law: missing values stay missing, rows are the addresses."""
        return replace(self, channel=channel, values=released(channel, key, Rows(0, len(self.values)), self.values))


def released(channel: Channel, key: SecretKey, addresses: Addresses, values: FloatArray) -> FloatArray:
    """Present values through the law, missing ones still missing."""
    missing = np.isnan(values)
    if not missing.any():
        return channel.perturb(key, addresses, values)
    out = np.full(len(values), np.nan)
    present = ~missing
    out[present] = channel.perturb(key, addresses.take(present), values[present])
    return out


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a release, with the class of each row where there is a target (−1 where that is missing)."""

    columns: tuple[Column, ...]
    classes: IntArray | None = None
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(c.values) for c in self.columns} | ({len(self.classes)} if self.classes is not None else set())
        if len(sizes) > 1:
            raise UsageError(f"columns of {join_names(sorted(sizes))} rows do not make a table")

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise UsageError(f"there is no column {name!r}; the columns are {join_names(c.name for c in self.columns)}")

    @property
    def rows(self) -> int:
        """N."""
        if self.classes is not None:
            return len(self.classes)
        return len(self.columns[0].values) if self.columns else 0

    @property
    def class_values(self) -> FloatArray:
        """The classes as a column holds them: codes, NaN where the class is missing; nothing where there is no target."""
        if self.classes is None:
            return np.empty(0)
        return np.where(self.classes < 0, np.nan, self.classes.astype(np.float64))

    def take(self, rows: NDArray[np.bool_] | IntArray) -> Table:
        """Some of the rows."""
        return Table(
            tuple(c.take(rows) for c in self.columns),
            None if self.classes is None else self.classes[rows],
            self.labels,
        )


def drawn_together(columns: Iterable[Column]) -> tuple[str, ...]:
    """Columns whose noise a joint law drew together, where there are two or more of one law."""
    laws: dict[object, list[str]] = {}
    for column in columns:
        if (joint := getattr(column.channel, "joint", None)) is not None:
            laws.setdefault(joint, []).append(column.name)
    return tuple(name for names in laws.values() if len(names) > 1 for name in names)


def refuse_correlated_noise(what: str, columns: Iterable[Column]) -> None:
    """For methods that multiply the laws of columns: right only where the noise of each was drawn for itself."""
    if names := drawn_together(columns):
        raise UsageError(
            f"{join_names(names)}: the noise of these columns is correlated, and {what} takes it to be independent from column to "
            "column; use one that looks at each column by itself (byclass, global, naive-bayes)"
        )

"""Columns with their laws, and one of them as the target: what a release shows, or, as its own type, what its owner has."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sfumato.channels import CellRule, Channel, CorrelatedGaussian, Transition, coarsen
from sfumato.counts import BoolArray, FloatArray, Grid, IntArray, scatter
from sfumato.errors import UsageError
from sfumato.randomness import Addresses, Rows, SecretKey
from sfumato.schema import Attribute, Categories, Kind, find_column
from sfumato.text import join_names


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

    @classmethod
    def of_codes(cls, name: str, labels: tuple[str, ...], codes: IntArray) -> Column:
        """Return a column of true labels, given as their places in `labels`, −1 where missing."""
        return cls(Attribute(name, Kind.CATEGORICAL, Categories(labels)), None, _from_codes(codes))

    @property
    def codes(self) -> IntArray:
        """The values of a column of labels as whole numbers, −1 where missing."""
        return np.where(np.isnan(self.values), -1.0, self.values).astype(np.int64)

    def true_grid(self, size: int) -> Grid:
        """Return the natural grid of the true values; a missing value that took part as a category is its last atom."""
        numeric = self.attribute.kind.numeric
        return Grid.over(self.attribute, size) if numeric else Grid.categories(self.attribute.labels)

    def observed_grid(self, true: Grid) -> Grid:
        """Return the grid on which released values are counted."""
        return true if self.channel is None else self.channel.observed_grid(true)

    def transition(
        self,
        true: Grid,
        max_observed: int | None = None,
        *,
        keep_last_cut: bool = False,
        rule: CellRule = CellRule.EXACT,
    ) -> Transition:
        """Return the column's law between `true` and at most `max_observed` cells of the released values (see `coarsen`)."""
        observed = self.observed_grid(true)
        if self.channel is not None and max_observed is not None:
            observed = coarsen(observed, self.values, max_observed, keep_last_cut=keep_last_cut)
        return Transition.of(self.channel, true, observed, rule=rule)

    def locate(self, grid: Grid) -> IntArray:
        """Return the cells of the released values; −1 where missing."""
        codes = grid.locate(self.values)
        codes[np.isnan(self.values)] = -1
        return codes

    def take(self, rows: BoolArray | IntArray) -> Column:
        """Return the column of some of the rows."""
        return replace(self, values=self.values[rows])

    def as_true(self) -> Column:
        """Return the column as somebody reads it who takes released cells for true values.

        A report is read as one of the values in whose set it lies, by a public draw.
        """
        if self.channel is None or self.channel.reports is None:
            return replace(self, channel=None)
        present = ~np.isnan(self.values)
        # Multiples of the golden ratio, spread evenly over [0, 1): nothing here needs to be secret.
        golden = 0.6180339887498949
        draw = np.modf((zlib.crc32(self.name.encode()) % 1000 + np.arange(int(present.sum()))) * golden)[0]
        read = self.channel.read(self.values[present].astype(np.int64), draw).astype(np.float64)
        return replace(self, channel=None, values=scatter(len(self.values), present, read))

    def through(self, channel: Channel, key: SecretKey, addresses: Addresses | None = None) -> Column:
        """Return the column of true values as it is released through a law: missing values stay missing.

        Noise belongs to the rows, or to other `addresses`.
        """
        owners = Rows(0, len(self.values)) if addresses is None else addresses
        return replace(self, channel=channel, values=perturb_present(channel, key, owners, self.values))


def _from_codes(codes: IntArray) -> FloatArray:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def perturb_present(channel: Channel, key: SecretKey, addresses: Addresses, values: FloatArray) -> FloatArray:
    """Return the values that are present as the law releases them, missing ones still missing."""
    present = ~np.isnan(values)
    if present.all():
        return channel.perturb(key, addresses, values)
    return scatter(len(values), present, channel.perturb(key, addresses.take(present), values[present]))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of the same rows, and the target that is to be predicted from them, where there is one.

    Parameters
    ----------
    columns
        The attributes.
    target
        A column of labels. Its name and its labels travel with the table.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.schema import Attribute, Interval, Kind
    >>> age = Column(Attribute("age", Kind.INTEGER, Interval(0, 99)), None, np.array([31.0, 64.0]))
    >>> table = Table((age,), Column.of_codes("pays", ("no", "yes"), np.array([1, -1])))
    >>> table.target.name, table.labels, table.codes.tolist()
    ('pays', ('no', 'yes'), [1, -1])
    """

    columns: tuple[Column, ...]
    target: Column | None = None

    def __post_init__(self) -> None:
        sizes = {len(c.values) for c in self.all_columns}
        if len(sizes) > 1:
            raise UsageError(f"columns of {join_names(sorted(sizes))} rows do not make a table")
        if self.target is not None and self.target.attribute.kind.numeric:
            raise UsageError(
                f"{self.target.name}: a target of numbers has no classes; cut it into categories, or choose another column"
            )

    def __getitem__(self, name: str) -> Column:
        return find_column(self.columns, name)

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """The attributes, and the target after them."""
        return self.columns if self.target is None else (*self.columns, self.target)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.all_columns[0].values) if self.all_columns else 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes of the target; none where there is no target."""
        return () if self.target is None else self.target.attribute.labels

    @cached_property
    def codes(self) -> IntArray:
        """The class of each row, as a place in `labels`; −1 where it is missing."""
        codes = self.required_target.codes
        codes.flags.writeable = False  # shared by all who read it
        return codes

    @property
    def required_target(self) -> Column:
        """The target; a table without one is an error here."""
        if self.target is None:
            raise UsageError("the table has no target; name the target column, or choose one with Table.with_target")
        return self.target

    def take(self, rows: BoolArray | IntArray) -> Self:
        """Return some of the rows."""
        target = None if self.target is None else self.target.take(rows)
        return replace(self, columns=tuple(c.take(rows) for c in self.columns), target=target)

    def with_values(self, values: Mapping[str, FloatArray], codes: IntArray | None = None) -> Table:
        """Return a table with other values in some columns, and other classes if `codes` are given."""
        columns = tuple(replace(c, values=values[c.name]) if c.name in values else c for c in self.columns)
        target = self.target
        if target is not None and codes is not None:
            target = replace(target, values=_from_codes(codes))
        return Table(columns, target)

    def with_target(self, name: str) -> Self:
        """Return the same rows with a column of labels as the target, and the former target as one more attribute."""
        column = self[name]
        if column.attribute.kind.numeric:
            raise UsageError(f"{name}: a {column.attribute.kind} column cannot be a class; choose a categorical one")
        others = tuple(c for c in self.columns if c.name != name)
        if self.target is not None:
            plain = Attribute(self.target.name, Kind.CATEGORICAL, Categories(self.labels))
            others = (*others, replace(self.target, attribute=plain))
        return replace(self, columns=others, target=column)


class Original(Table):
    """The true values, which only their owner has.

    Guided methods perturb an original, and `compare` and audits measure a release by it. A release is never an original,
    and no attack is handed one. `with_values` returns a plain `Table`: other values are no longer the original's.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if noisy := [c.name for c in self.all_columns if c.channel is not None]:
            raise UsageError(
                f"{join_names(noisy)} went through a channel, so this is not an original; keep released values in a Table"
            )


def require_original(table: Table, who: str) -> Original:
    """Return the table if it is an original; raise UsageError for a release, naming `who` asked for it."""
    if not isinstance(table, Original):
        raise UsageError(
            f"{who} needs the original, not a release of it; read it with read_original, or make an Original of true columns"
        )
    return table


def group_by_joint_law(columns: Iterable[Column]) -> dict[CorrelatedGaussian, list[str]]:
    """Return the names of columns whose noise was drawn together, by their law."""
    out: dict[CorrelatedGaussian, list[str]] = {}
    for column in columns:
        if column.channel is not None and (joint := column.channel.joint) is not None:
            out.setdefault(joint, []).append(column.name)
    return out


def correlated_columns(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the names of columns whose noise a joint law drew together, where there are two or more of one law."""
    return tuple(name for names in group_by_joint_law(columns).values() if len(names) > 1 for name in names)


def refuse_correlated_noise(what: str, columns: Iterable[Column]) -> None:
    """Raise UsageError for `what` multiplies the laws of columns, where the noise of some was drawn together."""
    if names := correlated_columns(columns):
        raise UsageError(
            f"{join_names(names)}: the noise of these columns is correlated, and {what} takes it to be independent from column to "
            "column; use one that looks at each column by itself (byclass, global, naive-bayes)"
        )

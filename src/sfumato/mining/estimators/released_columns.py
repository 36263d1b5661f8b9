"""Arrays read as released columns, and the refusal of what no law could have released.

A scaler or a bagging in front of an estimator takes the names of columns away, or changes their values. Laws that are looked up by
name are then found nowhere, and noise would be learned as if it were truth. So a law that cannot be placed is an error, and values
that a law cannot have released are one too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.counts import FloatArray, snap
from sfumato.errors import UsageError
from sfumato.io import released_attribute
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column
from sfumato.text import join_names
from sfumato.trees import encode, is_absent

AS_RELEASED = (
    "give the released values as they are, in their own unit, and put a scaler inside the learner: "
    "PerturbedClassifier(make_pipeline(StandardScaler(), learner), …)"
)


@dataclass(frozen=True)
class Laws:
    """What is known of columns, by name or by number.

    Parameters
    ----------
    channels : mapping
        The law of each column; those without one hold true values.
    attributes : mapping
        What columns may hold.
    """

    channels: Mapping[Any, Channel]
    attributes: Mapping[Any, Attribute]

    @classmethod
    def of(cls, channels: Mapping[Any, Channel] | None, attributes: Mapping[Any, Attribute] | None) -> Laws:
        """Return the laws; raise UsageError where none are given, not even as an empty mapping."""
        if channels is None:
            raise UsageError(
                "channels: no laws are given; take them from a release with from_release, pass channels={column: law}, or "
                "channels={} to say that all values are true"
            )
        return cls(channels, attributes or {})

    def check_places(self, names: Sequence[str] | None, columns: int) -> None:
        """Raise UsageError for a law whose column is not among those of X.

        Parameters
        ----------
        names
            The names of the columns, None where they have none.
        columns
            How many there are.
        """
        keys = [*self.channels, *self.attributes]
        if numbers := sorted({k for k in keys if not isinstance(k, str) and not 0 <= k < columns}):
            raise UsageError(
                f"channels: there is a law for column {join_names(numbers)}, and X has {columns} columns; give X all the columns "
                "that were released, in their order"
            )
        by_name = [k for k in self.channels if isinstance(k, str)]
        if names is None and by_name:
            raise UsageError(
                f"channels: laws are given by name ({join_names(by_name)}), and the columns of X have none, as after a scaler or in "
                'bagging; call set_output(transform="pandas") on the steps before, or number the channels: {0: law, …}'
            )
        lacking = [k for k in by_name if names is not None and k not in names]
        strangers = [n for i, n in enumerate(names or ()) if not {n, i} & {*self.channels, *self.attributes}]
        if lacking and strangers:
            raise UsageError(
                f"channels: there is a law for {join_names(lacking)}, but no such column in X, and nothing is said of "
                f"{join_names(strangers)}; name the columns as the laws do, or leave out laws of columns that are not used"
            )

    def channel(self, place: int, name: str) -> Channel | None:
        """Return the law of a column, None where its values are true."""
        return self.channels.get(name, self.channels.get(place))

    def attribute(self, place: int, name: str, values: NDArray[Any]) -> Attribute:
        """Return what a column may hold, from its values where nothing is declared and no law hides them."""
        declared = self.attributes.get(name, self.attributes.get(place))
        return declared if declared is not None else infer_attribute(name, self.channel(place, name), values)


def infer_attribute(name: str, channel: Channel | None, values: NDArray[Any]) -> Attribute:
    """Return what a column may hold: from the domain of its law, or from values that are true."""
    if channel is not None:
        if channel.ends is None:
            raise UsageError(
                f"{name}: the {channel.law} channel is not bound to a domain; bind it with channel.on(attribute), "
                "or give the attribute in `attributes`"
            )
        kind = Kind.INTEGER if channel.step and float(channel.step).is_integer() else Kind.REAL
        return Attribute(name, kind, Interval(*channel.ends))
    if values.dtype.kind in "OUS" and not _numeric(values):
        labels = sorted({str(v) for v in values if not is_absent(v)})
        return Attribute(name, Kind.CATEGORICAL, Categories(tuple(labels or ["(none)"])), learned=True)
    numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return Attribute(name, Kind.REAL, Interval(low, high), learned=True)


def _numeric(values: NDArray[Any]) -> bool:
    return all(v is None or isinstance(v, int | float | np.number) for v in values)


def read_released(attribute: Attribute, channel: Channel | None, values: NDArray[Any]) -> Column:
    """Return an array as a released column; raise UsageError where the law cannot have released it.

    Parameters
    ----------
    attribute
        What the true values may be.
    channel
        The law, None where the values are true.
    values
        Released cells: numbers, days, labels or reports.
    """
    cells = attribute if channel is None else released_attribute(attribute, channel.reports)
    numbers = encode((cells,), (cells.name,), {cells.name: values})[0][cells.name]
    if not cells.kind.numeric:
        _refuse_unknown(cells, numbers, values)
        return Column(attribute, channel, numbers)
    places = cells.to_places(numbers)
    if channel is not None and channel.step and cells.ruler is not None:
        places = snap(places, channel.step)
    column = Column(attribute, channel, places)
    if channel is not None:
        check_released(column)
    return column


def read_true(attribute: Attribute, values: NDArray[Any]) -> Column:
    """Return an array as a column of true values: places of labels, missing where a label is unknown."""
    numbers = encode((attribute,), (attribute.name,), {attribute.name: values})[0][attribute.name]
    return Column(attribute, None, attribute.to_places(numbers) if attribute.kind.numeric else numbers)


def _refuse_unknown(attribute: Attribute, codes: FloatArray, values: NDArray[Any]) -> None:
    for place in np.flatnonzero(np.isnan(codes)):
        if not is_absent(values[place]):
            raise UsageError(
                f"{attribute.name}: {values[place]!r} is none of its labels ({join_names(attribute.categories)}); give the released "
                "labels as they are, without an encoder before, or declare the label in `attributes`"
            )


def check_released(column: Column) -> None:
    """Raise UsageError for numbers that the law of their column cannot have released.

    Whatever the true values are, a law releases at most max_x P(window | x) of them into a window. A larger share that chance does not
    explain says that the values were changed since: scaled, or never released through this law. So does a value off the law's grid.

    Examples
    --------
    >>> import sfumato as sf
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> check_released(Column(age, sf.Gaussian(privacy=0.5).on(age), np.linspace(-1.7, 1.7, 341)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sfumato.errors.UsageError: age: 100 % of these values lie from -1.7 to 1.7, where its gaussian law releases at most ... %; give ...
    """
    law, values = column.channel, column.values[np.isfinite(column.values)]
    min_rows, cells = 20, 64
    if law is None or len(values) < min_rows:
        return
    if law.reports is not None:
        if not ((values >= 0) & (values < law.reports) & (values == np.floor(values))).all():
            raise UsageError(
                f"{column.name}: reports are whole numbers from 0 to {law.reports - 1}, these are not; {AS_RELEASED}"
            )
        return
    if (grid := _grid_of(column)) is not None:
        low, high = float(values.min()), float(values.max())
        raise UsageError(
            f"{column.name}: these values, from {low:g} to {high:g}, are not on the grid of its {law.law} law ({grid}); {AS_RELEASED}"
        )
    transition = column.transition(column.true_grid(cells))
    kernel = transition.matrix.dense()
    codes = transition.observed.locate(values)
    for tail in (0.0, 0.1, 0.25, 0.4):
        first, last = np.quantile(codes, [tail, 1 - tail], method="nearest").astype(np.int64)
        # A cell stands for points up to its own width away: a window that is wider by one cell on each side bounds them all.
        most = min(1.0, float(kernel[max(first - 1, 0) : last + 2].sum(axis=0).max()) + 0.01)
        inside = (codes >= first) & (codes <= last)
        if _is_beyond_chance(float(inside.mean()), most, len(codes)):
            ends = np.array([values[inside].min(), values[inside].max()])
            low, high = (float(v) for v in column.attribute.to_values(ends))
            raise UsageError(
                f"{column.name}: {100 * inside.mean():.0f} % of these values lie from {low:g} to {high:g}, where its {law.law} law "
                f"releases at most {100 * most:.0f} %; {AS_RELEASED}"
            )


def _grid_of(column: Column) -> str | None:
    """Return the law's grid in words where most values are off it, None where they are on it or there is none."""
    law, values = column.channel, column.values[np.isfinite(column.values)]
    if law is None or column.attribute.ruler is not None:
        return None
    slack = 1e-6 * np.abs(values)  # what single precision leaves
    if (held := law.representatives) is not None:
        nearest = held[np.abs(values[:, None] - held[None, :]).argmin(axis=1)]
        off, words = (
            np.abs(values - nearest) > slack + 1e-6 * np.ptp(held),
            f"{len(held)} values from {held.min():g} to {held.max():g}",
        )
    elif law.step:
        off = np.abs(values - np.round(values / law.step) * law.step) > slack + 0.01 * law.step
        words = f"multiples of {law.step:g}"
    else:
        return None
    return words if off.mean() > 0.5 else None


def _is_beyond_chance(share: float, most: float, rows: int) -> bool:
    """Whether a share is larger than `most` by more than chance explains, by Chernoff's bound; windows were chosen by the data."""
    if share <= most:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - most)) if share < 1 else 0.0
    return rows * (share * math.log(share / most) + rest) > 20 + 2 * math.log(rows)

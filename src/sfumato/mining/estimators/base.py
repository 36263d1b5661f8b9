"""What the estimators share: where laws come from, how rows are read, and fitting a release as it is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.errors import DataError, UsageError
from sfumato.mining.estimators.released_columns import Laws, read_released, read_true
from sfumato.releases import Release, as_release
from sfumato.schema import Attribute
from sfumato.table import Column, Table

CHECKS: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}


@dataclass(frozen=True, eq=False)
class Released:
    """Released rows to learn from.

    Attributes
    ----------
    columns
        The columns to predict from.
    target
        The column to be predicted.
    classes
        Its labels as a person gave them, in the order of the codes; none for numbers.
    frame
        The package of the table that rows came in, pandas or polars; "" for arrays.
    """

    columns: tuple[Column, ...]
    target: Column
    classes: NDArray[Any]
    frame: str = ""

    @property
    def blurred(self) -> bool:
        """Whether any value went through a law."""
        return any(column.channel is not None for column in (*self.columns, self.target))

    @classmethod
    def of_table(cls, table: Table, target: str | None) -> Released:
        """Return the columns of a release apart from the target, and the rows that have one."""
        held = {column.name: column for column in table.all_columns}
        name = target or (table.target.name if table.target is not None else None)
        if name is None:
            raise UsageError(f"target: the release names none; give one of its columns ({', '.join(held)})")
        if name not in held:
            raise UsageError(f"target: there is no column {name!r}; the columns are {', '.join(held)}")
        known = ~np.isnan(held[name].values)
        if not known.any():
            raise DataError(f"{name}: no row has a value, so there is nothing to learn")
        columns = tuple(column.take(known) for column in held.values() if column.name != name)
        if not columns:
            raise UsageError(f"the release holds no column beside {name}, so there is nothing to predict from")
        attribute = held[name].attribute
        classes = np.array(() if attribute.kind.numeric else attribute.labels, dtype=object)
        frame = "pandas" if find_spec("pandas") else ""
        return cls(columns, held[name].take(known), classes, frame)

    def require_classes(self) -> None:
        """Raise UsageError where the target holds numbers."""
        if self.target.attribute.kind.numeric:
            raise UsageError(
                f"{self.target.name}: a target of numbers has no classes; use PerturbedRegressor, or another target"
            )


class PerturbedEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of released values. Subclasses have `channels` and `attributes` among their parameters."""

    channels: Any
    attributes: Any
    target_channel: Any = None
    target_attribute: Attribute | None = None

    def fit_release(self, release: Release | str | Path, target: str | None = None) -> Self:
        """Fit the estimator to a release as it is: its rows, its laws and its target.

        Parameters
        ----------
        release : Release or path
            A release, or its folder.
        target : str, optional
            The column to predict; by default the one that the release names.
        """
        opened = as_release(release)
        table = opened.read_table()
        if target is None and opened.manifest.schema.target is not None:
            target = opened.manifest.schema.target.name
        released = Released.of_table(table, target)
        self.n_features_in_ = len(released.columns)
        self.feature_names_in_ = np.array([column.name for column in released.columns], dtype=object)
        self.attributes_ = tuple(column.attribute for column in released.columns)
        return self._learn(released)

    def _learn(self, released: Released) -> Self:
        """Fit the released rows."""
        raise NotImplementedError

    def _read_features(self, values: NDArray[Any]) -> tuple[Column, ...]:
        """Return X as released columns with their laws."""
        laws = Laws.of(self.channels, self.attributes)
        known = getattr(self, "feature_names_in_", None)
        laws.check_places(None if known is None else list(known), values.shape[1])
        names = [str(n) for n in known] if known is not None else [f"x{i}" for i in range(self.n_features_in_)]
        self.attributes_ = tuple(laws.attribute(i, n, values[:, i]) for i, n in enumerate(names))
        channels = [laws.channel(i, n) for i, n in enumerate(names)]
        return tuple(
            read_released(attribute, channel, values[:, i])
            for i, (attribute, channel) in enumerate(zip(self.attributes_, channels, strict=True))
        )

    def _read_classes(self, y: NDArray[Any]) -> tuple[Column, NDArray[Any]]:
        """Return y as a column of released classes, and the classes in the order of its codes."""
        if self.target_channel is None:
            classes, codes = np.unique(y, return_inverse=True)
            return Column.of_codes(self._target_name(), tuple(map(str, classes)), codes), classes
        if self.target_attribute is None:
            raise UsageError("target_channel: the law of the class needs its labels; give target_attribute too")
        column = read_released(self.target_attribute, self.target_channel, y)
        return column, np.array(self.target_attribute.labels)

    def _target_name(self) -> str:
        """Return a name for y that no column has."""
        name, names = "class", {a.name for a in self.attributes_}
        while name in names:
            name += "_"
        return name

    def _read_rows(self, X: Any) -> Table:
        """Return true values to predict for as a table of columns."""
        check_is_fitted(self)
        values = np.asarray(validate_data(self, X, reset=False, **CHECKS))
        return Table(tuple(read_true(a, values[:, i]) for i, a in enumerate(self.attributes_)))

    def __sklearn_tags__(self) -> Any:
        """Missing values and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def release_laws(release: Release) -> dict[str, Any]:
    """Return what the parameters of an estimator say of a release: the laws and the contents of its columns.

    Parameters
    ----------
    release
        The release.
    """
    columns = release.manifest.columns
    return {
        "channels": {c.attribute.name: c.channel for c in columns if c.channel is not None},
        "attributes": {c.attribute.name: c.attribute for c in columns},
    }

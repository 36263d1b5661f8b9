"""The scikit-learn face: a classifier that is fitted on released values and predicts for true ones.

It is a thin edge on purpose. `fit` never learns a domain for a modified column: its channel must be bound to one, because a
domain taken from noisy values is wrong, and one taken from private values is not the miner's to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.channels import Channel
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.io import Encoder, released_attribute
from sfumato.mining.model import Model, mine
from sfumato.mining.naive_bayes import NAIVE_BAYES
from sfumato.releases import Release
from sfumato.schema import Attribute, Categories, Interval, Kind, day_number
from sfumato.table import Column, Original, Table
from sfumato.trees import original, strategy_for_release

CHECKS: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}


class PerturbedTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree from perturbed training data.

    Parameters
    ----------
    channels : mapping of column name (or number) to bound Channel, optional
        The law each column went through; columns without one hold true values. `Release.open(folder)` has them:
        ``{c.attribute.name: c.channel for c in release.manifest.columns if c.channel}``.
    attributes : mapping of column name (or number) to Attribute, optional
        What columns may hold. Needed for categorical columns that were substituted; numeric channels carry their domain.
    strategy : str, default "auto"
        auto, byclass, local, global, randomized, joint, mixture or naive-bayes.

    Attributes
    ----------
    classes_ : array of the class labels
    model_ : the fitted `Model`

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     table = release.to_arrow()
    >>> tree = sf.PerturbedTreeClassifier.from_release(release, "byclass")
    >>> frame = table.to_pandas()
    >>> fitted = tree.fit(frame.drop(columns="class"), frame["class"])
    >>> len(fitted.classes_)
    3
    """

    def __init__(
        self,
        channels: Mapping[Any, Channel] | None = None,
        attributes: Mapping[Any, Attribute] | None = None,
        strategy: str = "auto",
    ) -> None:
        self.channels = channels
        self.attributes = attributes
        self.strategy = strategy

    @classmethod
    def from_release(cls, release: Release, strategy: str = "auto") -> PerturbedTreeClassifier:
        """An unfitted estimator that knows the laws of a release."""
        columns = release.manifest.columns
        return cls(
            {c.attribute.name: c.channel for c in columns if c.channel is not None},
            {c.attribute.name: c.attribute for c in columns},
            strategy,
        )

    def fit(self, X: Any, y: Any) -> PerturbedTreeClassifier:
        """Grow the tree from released values `X` and classes `y`."""
        strategy_for_release(self.strategy)
        values, y = validate_data(self, X, y, **CHECKS)
        values = np.asarray(values)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        names = self._names()
        self.attributes_ = tuple(self._attribute(i, n, values[:, i]) for i, n in enumerate(names))
        columns = []
        for i, (name, attribute) in enumerate(zip(names, self.attributes_, strict=True)):
            channel: Channel | None = self._look_up(self.channels, i, name)
            cells = attribute if channel is None else released_attribute(attribute, channel.reports)
            columns.append(Column(attribute, channel, _encode(cells, values[:, i])))
        target = Column.of_codes("class", tuple(map(str, range(len(self.classes_)))), codes)
        blurred = any(c.channel is not None for c in columns)
        if len(self.classes_) == 1 or (not blurred and self.strategy != NAIVE_BAYES):
            self.model_ = Model(original(Original(tuple(columns), target)), "original", len(codes))
        else:
            self.model_ = mine(Table(tuple(columns), target), self.strategy)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities for true values `X`, in the order of `classes_`."""
        check_is_fitted(self, "model_")
        values = np.asarray(validate_data(self, X, reset=False, **CHECKS))
        columns = {a.name: _encode(a, values[:, i]) for i, a in enumerate(self.attributes_)}
        table = Table(tuple(Column(a, None, columns[a.name]) for a in self.attributes_))
        return self.model_.body.predict_proba(table)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class for true values `X`."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

    def _names(self) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        return [str(n) for n in known] if known is not None else [f"x{i}" for i in range(self.n_features_in_)]

    @staticmethod
    def _look_up(mapping: Mapping[Any, Any] | None, place: int, name: str) -> Any:
        if mapping is None:
            return None
        return mapping.get(name, mapping.get(place))

    def _attribute(self, place: int, name: str, values: NDArray[Any]) -> Attribute:
        declared: Attribute | None = self._look_up(self.attributes, place, name)
        if declared is not None:
            return declared
        channel: Channel | None = self._look_up(self.channels, place, name)
        if channel is not None:
            if channel.ends is None:
                raise UsageError(
                    f"{name}: the {channel.law} channel is not bound to a domain; bind it with channel.on(attribute), "
                    "or give the attribute in `attributes`"
                )
            kind = Kind.INTEGER if channel.step and float(channel.step).is_integer() else Kind.REAL
            return Attribute(name, kind, Interval(*channel.ends))
        if values.dtype.kind in "OUS" and not _numeric(values):
            labels = sorted({str(v) for v in values if v is not None and v == v})
            return Attribute(name, Kind.CATEGORICAL, Categories(tuple(labels or ["(none)"])), learned=True)
        numbers = values.astype(np.float64)
        known = numbers[np.isfinite(numbers)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        return Attribute(name, Kind.REAL, Interval(low, high), learned=True)

    def __sklearn_tags__(self) -> Any:
        """Missing values and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _numeric(values: NDArray[Any]) -> bool:
    return all(v is None or isinstance(v, int | float | np.number) for v in values)


def _encode(attribute: Attribute, values: NDArray[Any]) -> FloatArray:
    """Column values as numbers: labels as their place in the domain, dates as days, unknown ones and gaps as missing."""
    if attribute.kind is Kind.DATE and not _numeric(values):
        calendar = Interval(day_number(date.min), day_number(date.max))
        return Encoder(replace(attribute, domain=calendar, resolution=None))(pa.array(values, from_pandas=True))
    if attribute.kind.numeric:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    places = {label: float(i) for i, label in enumerate(attribute.categories)}
    return np.array([places.get(str(v), np.nan) for v in values])

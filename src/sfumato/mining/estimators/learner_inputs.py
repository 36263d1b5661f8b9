"""Rows as an estimator takes them: labels as places, as one column per label, or as texts in a table of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.mining.plausible_tables import MAX_GROUPS, label_counts, spread_labels, stack_columns
from sfumato.schema import Attribute
from sfumato.table import Table
from sfumato.text import join_names

FORMS = ("auto", "codes", "one-hot", "text")


@dataclass(frozen=True, eq=False)
class LearnerInput:
    """How rows reach an estimator.

    Attributes
    ----------
    attributes : tuple of Attribute
        The columns.
    form : str
        codes, one-hot or text.
    frame : str
        Where texts go into a table with names, the package it is one of: pandas or polars; "" for arrays.
    fill : array, optional
        What stands for missing numbers, one per attribute; None leaves them missing.
    """

    attributes: tuple[Attribute, ...]
    form: str
    frame: str = ""
    fill: FloatArray | None = None

    @classmethod
    def of(
        cls, estimator: Any, attributes: tuple[Attribute, ...], form: str, frame: str, tables: Sequence[Table]
    ) -> LearnerInput:
        """Choose the form that suits an estimator.

        Parameters
        ----------
        estimator
            What the rows are for.
        attributes
            The columns.
        form
            One of the forms, or auto: codes for an estimator that can be told which columns are categories, text for a pipeline that
            has an encoder of its own, one-hot for all others.
        frame
            The kind of table that rows came in.
        tables
            The rows it is fitted on, whose means stand for missing numbers where the estimator takes none.
        """
        if form not in FORMS:
            raise UsageError(f"labels: {form!r} is none of the forms; choose {join_names(FORMS)}")
        if form == "auto":
            names = {type(step).__name__ for step in walk_steps(estimator)}
            knows = "categorical_features" in estimator.get_params(deep=False)
            own = any(name.endswith("Encoder") or name in ("ColumnTransformer", "TableVectorizer") for name in names)
            form = "codes" if knows else "text" if own else "one-hot"
        takes_gaps = form == "text" or accepts_missing(estimator)
        fill = None
        if not takes_gaps:
            values = np.vstack([stack_columns(t) for t in tables])
            known = ~np.isnan(values)
            fill = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return cls(attributes, form, frame if form == "text" else "", fill)

    def prepare(self, estimator: Any) -> Any:
        """Return the estimator, told which columns are categories where it can be told and has not been."""
        if self.form != "codes" or "categorical_features" not in (params := estimator.get_params(deep=False)):
            return estimator
        told = params["categorical_features"]
        names = [a.name for a in self.attributes]
        if told is None or isinstance(told, str):
            most = min(MAX_GROUPS, params.get("max_bins", MAX_GROUPS))
            told = [i for i, a in enumerate(self.attributes) if not a.kind.numeric and len(a.labels) <= most]
        elif all(isinstance(t, str) for t in told):
            told = [names.index(t) for t in told]
        return estimator.set_params(categorical_features=told or None) if len(told) else estimator

    def rows(self, table: Table) -> Any:
        """Return the rows of a table of true, or plausible true, values."""
        values = stack_columns(table)
        if self.form == "text":
            return self._texts(values)
        if self.fill is not None:
            numbers = [i for i, a in enumerate(self.attributes) if a.kind.numeric or self.form == "codes"]
            values[:, numbers] = np.where(np.isnan(values[:, numbers]), self.fill[numbers], values[:, numbers])
        if self.form == "one-hot":
            values, _ = spread_labels(values, label_counts(self.attributes))
            return np.nan_to_num(values) if self.fill is not None else values
        return values

    def _texts(self, values: FloatArray) -> Any:
        columns: dict[str, Any] = {}
        for place, attribute in enumerate(self.attributes):
            own: Any = values[:, place]
            if not attribute.kind.numeric:
                texts = np.array([*attribute.categories, None, None], dtype=object)
                own = texts[np.where(np.isnan(own), -1, own).astype(np.int64)].tolist()
            columns[attribute.name] = own
        if self.frame:
            return import_module(self.frame).DataFrame(columns)
        if all(a.kind.numeric for a in self.attributes):
            return values
        return np.column_stack([np.array(own, dtype=object) for own in columns.values()])


def walk_steps(estimator: Any) -> list[Any]:
    """Return an estimator and what is inside it: the steps of a pipeline, the estimator of a search.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {})
    >>> [type(step).__name__ for step in walk_steps(search)]
    ['GridSearchCV', 'Pipeline', 'StandardScaler', 'Ridge']
    """
    inner = (
        [step for _, step in estimator.steps]
        if isinstance(estimator, Pipeline)
        else [getattr(estimator, "estimator", None)]
    )
    return [estimator, *(s for step in inner if hasattr(step, "get_params") for s in walk_steps(step))]


def accepts_missing(estimator: Any) -> bool:
    """Whether an estimator takes missing values: every step of a pipeline, or those up to one that fills them in."""
    steps = [s for s in walk_steps(estimator) if not isinstance(s, Pipeline) and not hasattr(s, "estimator")]
    for step in steps:
        if type(step).__name__.endswith("Imputer"):
            return True
        if not get_tags(step).input_tags.allow_nan:
            return False
    return True

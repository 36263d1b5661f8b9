"""The trees of `mine` as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from sfumato.channels import Channel
from sfumato.counts import FloatArray
from sfumato.mining.estimators.base import CHECKS, PerturbedEstimator, Released, release_laws
from sfumato.mining.model import Model, mine
from sfumato.mining.naive_bayes import NAIVE_BAYES
from sfumato.releases import Release
from sfumato.schema import Attribute
from sfumato.table import Original, Table
from sfumato.trees import original, strategy_for_release


class PerturbedTreeClassifier(ClassifierMixin, PerturbedEstimator):  # type: ignore[misc]
    """A decision tree from perturbed training data.

    Parameters
    ----------
    channels : mapping of column name (or number) to bound Channel
        The law each column went through; columns without one hold true values. `from_release` takes them from a release. An empty
        mapping says that all values are true; without any mapping `fit` raises an error, so that no law is forgotten.
    attributes : mapping of column name (or number) to Attribute, optional
        What columns may hold. Needed for categorical columns that were substituted; numeric channels carry their domain.
    strategy : str, default "tree"
        How the tree is grown: tree (the best of them), byclass, local, global, randomized, joint or mixture. The other strategies of
        `mine` work as well, and fit what is no tree.

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
    ...     tree = sf.PerturbedTreeClassifier(strategy="byclass").fit_release(release)
    ...     frame = release.to_arrow().to_pandas()
    >>> len(tree.classes_)
    3
    >>> again = sf.PerturbedTreeClassifier.from_release(release, "byclass")
    >>> len(again.fit(frame.drop(columns="class"), frame["class"]).classes_)
    3
    """

    def __init__(
        self,
        channels: Mapping[Any, Channel] | None = None,
        attributes: Mapping[Any, Attribute] | None = None,
        strategy: str = "tree",
    ) -> None:
        self.channels = channels
        self.attributes = attributes
        self.strategy = strategy

    @classmethod
    def from_release(cls, release: Release, strategy: str = "tree") -> PerturbedTreeClassifier:
        """Return an unfitted estimator that knows the laws of a release."""
        return cls(**release_laws(release), strategy=strategy)

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree from released values `X` and classes `y`."""
        strategy_for_release(self.strategy)
        values, y = validate_data(self, X, y, **CHECKS)
        check_classification_targets(y)
        columns = self._read_features(np.asarray(values))
        return self._learn(Released(columns, *self._read_classes(y)))

    def _learn(self, released: Released) -> Self:
        released.require_classes()
        columns, target = released.columns, released.target
        self._order = np.argsort(released.classes)
        self.classes_ = released.classes[self._order]
        if len(self.classes_) == 1 or (not released.blurred and self.strategy != NAIVE_BAYES):
            self.model_ = Model(original(Original(columns, target)), "original", len(target.values))
        else:
            self.model_ = mine(Table(columns, target), self.strategy)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities for true values `X`, in the order of `classes_`."""
        rows = self._read_rows(X)
        return np.asarray(self.model_.body.predict_proba(rows)[:, self._order])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class for true values `X`."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

"""Any scikit-learn estimator through the noise: fitted on draws of plausible true rows, and averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.channels import Channel
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.mining.estimators.base import CHECKS, PerturbedEstimator, Released, release_laws
from sfumato.mining.estimators.learner_inputs import LearnerInput
from sfumato.mining.estimators.released_columns import infer_attribute, read_released
from sfumato.mining.plausible_tables import draw_tables, fill_empty, limit_threads
from sfumato.releases import Release
from sfumato.schema import Attribute, Role
from sfumato.table import Column, Table


class PerturbedLearner(PerturbedEstimator):
    """What the classifier and the regressor share: draws, clones and how rows reach them."""

    def __init__(
        self,
        estimator: Any = None,
        channels: Mapping[Any, Channel] | None = None,
        attributes: Mapping[Any, Attribute] | None = None,
        draws: int = 5,
        random_state: Any = 0,
        labels: str = "auto",
        target_channel: Channel | None = None,
        target_attribute: Attribute | None = None,
    ) -> None:
        self.estimator = estimator
        self.channels = channels
        self.attributes = attributes
        self.draws = draws
        self.random_state = random_state
        self.labels = labels
        self.target_channel = target_channel
        self.target_attribute = target_attribute

    @classmethod
    def from_release(cls, release: Release, estimator: Any = None, **parameters: Any) -> Self:
        """Return an unfitted estimator that knows the laws of a release.

        Parameters
        ----------
        release : Release
            The release.
        estimator : estimator, optional
            What is fitted to each draw.
        **parameters
            Other parameters.
        """
        laws = release_laws(release)
        target = next((c for c in release.manifest.columns if c.attribute.role is Role.TARGET), None)
        if target is not None and target.channel is not None:
            parameters = {"target_channel": target.channel, "target_attribute": target.attribute, **parameters}
            laws["channels"].pop(target.attribute.name)
        return cls(estimator, **laws, **parameters)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit released values `X` and the released target `y`."""
        values, y = validate_data(self, X, y, **CHECKS, y_numeric=False)
        columns = self._read_features(np.asarray(values))
        return self._learn(Released(columns, *self._read_target(y), _kind_of_frame(X)))

    def _read_target(self, y: NDArray[Any]) -> tuple[Column, NDArray[Any]]:
        raise NotImplementedError

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _learn(self, released: Released) -> Self:
        if isinstance(self.draws, bool) or not isinstance(self.draws, int | np.integer) or self.draws < 1:
            raise UsageError(f"draws: {self.draws!r} is not a number of draws; give 1 or more")
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        self.classes_ = np.sort(released.classes)
        numeric = released.target.attribute.kind.numeric
        whole = Table((*released.columns, released.target)) if numeric else Table(released.columns, released.target)
        tables, self.notes_ = draw_tables(whole, self.draws, int(seed))
        names = [c.name for c in released.columns]
        rows = [Table(tuple(t[n] for n in names)) for t in tables]
        targets = [t[released.target.name].values if numeric else released.classes[t.codes] for t in tables]
        template = self._default_estimator() if self.estimator is None else self.estimator
        self.input_ = LearnerInput.of(template, self.attributes_, self.labels, released.frame, rows)
        self.estimators_ = []
        for number, (drawn, target) in enumerate(zip(rows, targets, strict=True)):
            learner = self.input_.prepare(_seed_randomness(clone(template), int(seed) + number))
            with limit_threads(drawn.rows):
                self.estimators_.append(learner.fit(fill_empty(self.input_.rows(drawn)), target))
        return self


class PerturbedClassifier(ClassifierMixin, PerturbedLearner):  # type: ignore[misc]
    """Any scikit-learn classifier, fitted through the noise of a release.

    One model of all columns is fitted through their laws. It draws a plausible true row for each released one, a few times over. A
    clone of the estimator is fitted to each draw, and their probabilities are averaged. It predicts for true values.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to each draw; by default `HistGradientBoostingClassifier`. A scaler belongs in here, in a pipeline with the
        classifier.
    channels : mapping of column name (or number) to bound Channel
        The law each column went through; columns without one hold true values. `from_release` takes them from a release. An empty
        mapping says that all values are true; without any mapping `fit` raises an error, so that no law is forgotten.
    attributes : mapping of column name (or number) to Attribute, optional
        What columns may hold. Needed for columns of labels that went through a law; laws of numbers carry their domain.
    draws : int
        How many tables of plausible true rows.
    random_state : int or RandomState
        Where draws come from. Estimators without a `random_state` of their own get one that follows from it.
    labels : str
        How columns of labels reach the estimator. `codes`: as numbers, with the parameter `categorical_features` set where there is
        one. `one-hot`: one column of 0 and 1 per label. `text`: as they are, in a table with the names of the columns (days are
        numbers). `auto` takes codes for an estimator with `categorical_features`, text for a pipeline with an encoder or a
        ColumnTransformer, and one-hot for all others. Missing numbers are filled with means where the estimator takes none.
    target_channel : Channel, optional
        The law of the class, where it was blurred too.
    target_attribute : Attribute, optional
        Its labels, needed with `target_channel`.

    Attributes
    ----------
    classes_ : array of the class labels
    estimators_ : list of the fitted clones

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     learner = make_pipeline(StandardScaler(), LogisticRegression())
    ...     fitted = sf.PerturbedClassifier(learner).fit_release(release)
    >>> fitted.classes_.tolist()
    ['Iris-setosa', 'Iris-versicolor', 'Iris-virginica']
    """

    def _default_estimator(self) -> Any:
        return HistGradientBoostingClassifier()

    def _read_target(self, y: NDArray[Any]) -> tuple[Column, NDArray[Any]]:
        check_classification_targets(y)
        return self._read_classes(y)

    def _learn(self, released: Released) -> Self:
        released.require_classes()
        return super()._learn(released)

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: self._gives("predict_proba")
    )
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities for true values `X`: the mean over draws, in the order of `classes_`."""
        check_is_fitted(self)
        rows = self.input_.rows(self._read_rows(X))
        out = np.zeros((len(rows), len(self.classes_)))
        for learner in self.estimators_:
            places = np.searchsorted(self.classes_, learner.classes_)
            # Of a single class some estimators tell the probabilities of two.
            out[:, places] += learner.predict_proba(rows) if len(places) > 1 else 1.0
        return out / len(self.estimators_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class for true values `X`; where the estimator has no probabilities, the one most draws speak for."""
        check_is_fitted(self)
        if self._gives("predict_proba"):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        rows = self.input_.rows(self._read_rows(X))
        votes = np.zeros((len(rows), len(self.classes_)))
        for learner in self.estimators_:
            votes[np.arange(len(rows)), np.searchsorted(self.classes_, learner.predict(rows))] += 1
        return self.classes_[np.argmax(votes, axis=1)]

    def _gives(self, method: str) -> bool:
        fitted = getattr(self, "estimators_", None)
        return hasattr(fitted[0] if fitted else self.estimator or self._default_estimator(), method)


class PerturbedRegressor(RegressorMixin, PerturbedLearner):  # type: ignore[misc]
    """Any scikit-learn regressor, fitted through the noise of a release.

    As `PerturbedClassifier`, for a target of numbers: true ones, or blurred like any other column. Predictions are averaged over draws.

    Parameters
    ----------
    estimator : regressor, optional
        What is fitted to each draw; by default `HistGradientBoostingRegressor`.
    channels, attributes, draws, random_state, labels
        As of `PerturbedClassifier`.
    target_channel : Channel, optional
        The law of the target, where it was blurred too.
    target_attribute : Attribute, optional
        What it may hold; a law of numbers carries its domain.

    Attributes
    ----------
    estimators_ : list of the fitted clones

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     fitted = sf.PerturbedRegressor(draws=2).fit_release(release, target="petal_width")
    >>> fitted.feature_names_in_.tolist()
    ['sepal_length', 'sepal_width', 'petal_length', 'class']
    """

    def _default_estimator(self) -> Any:
        return HistGradientBoostingRegressor()

    def _read_target(self, y: NDArray[Any]) -> tuple[Column, NDArray[Any]]:
        y = np.asarray(y, dtype=np.float64)
        attribute = self.target_attribute or infer_attribute(self._target_name(), self.target_channel, y)
        return read_released(attribute, self.target_channel, y), np.empty(0)

    def _learn(self, released: Released) -> Self:
        if not released.target.attribute.kind.numeric:
            raise UsageError(f"{released.target.name}: a target of labels cannot be regressed; use PerturbedClassifier")
        super()._learn(released)
        del self.classes_
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return predictions for true values `X`: the mean over draws."""
        check_is_fitted(self)
        rows = self.input_.rows(self._read_rows(X))
        return np.asarray(np.mean([learner.predict(rows) for learner in self.estimators_], axis=0))


def _seed_randomness(estimator: Any, seed: int) -> Any:
    """Return an estimator whose sources of chance are set, those excepted that somebody has set."""
    parameters = estimator.get_params(deep=True)
    open_ = [n for n, v in parameters.items() if v is None and (n == "random_state" or n.endswith("__random_state"))]
    return estimator.set_params(**dict.fromkeys(open_, seed))


def _kind_of_frame(X: Any) -> str:
    package = type(X).__module__.partition(".")[0]
    return package if package in ("pandas", "polars") else ""

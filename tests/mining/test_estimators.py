"""The scikit-learn face."""

import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from sfumato.channels import Gaussian  # noqa: E402
from sfumato.errors import UsageError  # noqa: E402
from sfumato.estimators import PerturbedTreeClassifier  # noqa: E402
from sfumato.papers import loans  # noqa: E402


@parametrize_with_checks([PerturbedTreeClassifier(strategy="byclass")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    train, test = loans.records(10_000, 1, 5), loans.records(2_000, 1, 1005)
    table = loans.observed(train, Gaussian(privacy=1.0), 5)
    names = [c.name for c in table.columns]
    return {
        "X": np.column_stack([c.values for c in table.columns]),
        "y": np.where(table.classes == 0, "A", "B"),
        "channels": {i: c.channel for i, c in enumerate(table.columns)},
        "test": np.column_stack([test[n] for n in names]).astype(float),
        "truth": test["class"],
        "names": names,
    }


def test_it_learns_from_released_values_and_predicts_for_true_ones(noisy):
    tree = PerturbedTreeClassifier(noisy["channels"], strategy="byclass").fit(noisy["X"], noisy["y"])
    assert tree.score(noisy["test"], noisy["truth"]) > 0.88
    assert tree.predict_proba(noisy["test"]).sum(axis=1) == pytest.approx(1)


def test_it_takes_dataframes_clones_pickles_and_searches(noisy):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(noisy["X"], columns=noisy["names"])
    channels = {n: noisy["channels"][i] for i, n in enumerate(noisy["names"])}
    tree = clone(PerturbedTreeClassifier(channels, strategy="byclass")).fit(frame, noisy["y"])
    test = pandas.DataFrame(noisy["test"], columns=noisy["names"])
    again = pickle.loads(pickle.dumps(tree))
    assert (again.predict(test) == tree.predict(test)).all()
    search = GridSearchCV(PerturbedTreeClassifier(channels), {"strategy": ["randomized", "byclass"]}, cv=2).fit(
        frame, noisy["y"]
    )
    assert set(search.cv_results_["param_strategy"]) == {"randomized", "byclass"}


def test_a_channel_without_a_domain_is_refused_with_the_next_step(noisy):
    with pytest.raises(UsageError, match=r"channel\.on"):
        PerturbedTreeClassifier({0: Gaussian(sigma=1.0)}).fit(noisy["X"], noisy["y"])

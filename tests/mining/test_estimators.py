"""The scikit-learn face."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from sfumato.channels import Gaussian, Projective  # noqa: E402
from sfumato.errors import UsageError  # noqa: E402
from sfumato.mining.estimators import PerturbedClassifier, PerturbedRegressor, PerturbedTreeClassifier  # noqa: E402
from sfumato.papers import as2000 as loans  # noqa: E402
from sfumato.plans import Plan  # noqa: E402
from sfumato.releasing import release  # noqa: E402


@parametrize_with_checks(
    [
        PerturbedTreeClassifier({}, strategy="byclass"),
        PerturbedClassifier(HistGradientBoostingClassifier(max_iter=20), {}),
        PerturbedClassifier(LogisticRegression(), {}),
        PerturbedRegressor(Ridge(), {}),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    train, test = loans.draw_applicants(10_000, 1, 5), loans.draw_applicants(2_000, 1, 1005)
    table = loans.perturb(train, Gaussian(privacy=1.0), 5)
    names = [c.name for c in table.columns]
    return {
        "X": np.column_stack([c.values for c in table.columns]),
        "y": np.where(table.codes == 0, "A", "B"),
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


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_guides_snippet_takes_dates_gaps_and_reports_from_either_format(tmp_path, form):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    day, code = rng.integers(0, 3000, 4000), rng.integers(0, 300, 4000)
    table = pa.table(
        {
            "seen": pa.array(day.astype(np.int32), mask=day % 50 == 7).cast(pa.date32()),
            "age": pa.array(rng.integers(18, 90, 4000), mask=code == 5),
            "ward": [f"w{c:03}" for c in code],
            "class": np.where(day < 1500, "early", "late"),
        }
    )
    noise = {"seen": Gaussian(privacy=0.3), "age": Gaussian(privacy=0.3), "ward": Projective(epsilon=2.0)}
    made = release(table, replace(Plan.propose(table, target="class"), channels=noise), tmp_path / "r", format=form)
    out = made.to_arrow()
    assert [out[n].type for n in ("seen", "age", "ward")] == [pa.date32(), pa.int64(), pa.int64()]
    assert [out[n].null_count for n in out.column_names] == [table[n].null_count for n in table.column_names]
    frame = out.to_pandas()
    tree = PerturbedTreeClassifier.from_release(made, "byclass").fit(frame.drop(columns="class"), frame["class"])
    true = table.to_pandas()
    assert tree.score(true.drop(columns="class"), true["class"]) > 0.9
    true["seen"] = pandas.to_datetime(true["seen"])
    assert tree.score(true.drop(columns="class"), true["class"]) > 0.9

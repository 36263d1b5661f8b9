"""Any scikit-learn estimator through the noise, and what is refused rather than learned as if it were true."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

import sfumato as sf
from sfumato.errors import UsageError
from sfumato.mining.estimators.released_columns import check_released
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.table import Column

KEY = SecretKey(bytes(range(32)))
FAST = HistGradientBoostingClassifier(max_iter=30, random_state=0)


def people(rows, seed):
    """Age, pay, a ward of five, and a class that all three decide; pay has gaps."""
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 90, rows), np.round(rng.gamma(4, 700, rows).clip(0, 9000), 1)
    ward = rng.integers(0, 5, rows)
    late = (age > 50) ^ (pay > 3000) ^ (ward == 2)
    late = np.where(rng.random(rows) < 0.05, ~late, late)
    pay[rng.random(rows) < 0.03] = np.nan
    return pd.DataFrame(
        {"age": age, "pay": pay, "ward": [f"w{w}" for w in ward], "class": np.where(late, "late", "early")}
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    table = people(4000, 1)
    noise = {"age": sf.Gaussian(privacy=0.5), "pay": sf.Gaussian(privacy=0.5), "ward": sf.Substitution(gamma=8.0)}
    plan = Plan.propose(table, target="class", noise="gaussian", privacy=0.5)
    return sf.release(
        table, Plan(**{**vars(plan), "channels": noise}), tmp_path_factory.mktemp("r") / "release", key=KEY
    )


@pytest.fixture(scope="module")
def frame(made):
    return made.to_arrow().to_pandas()


@pytest.fixture(scope="module")
def true():
    return people(3000, 2)


def split(frame):
    return frame.drop(columns="class"), frame["class"]


def test_boosting_on_draws_is_better_than_on_released_values_and_its_probabilities_are_truer(made, frame, true):
    X, y = split(frame)
    fresh, truth = split(true)
    ours = sf.PerturbedClassifier.from_release(made, FAST).fit(X, y)
    coded = clone(FAST).set_params(categorical_features=[2])
    codes = OrdinalEncoder().fit(X[["ward"]])
    naive = coded.fit(X.assign(ward=codes.transform(X[["ward"]])).to_numpy(float), y)
    theirs = naive.predict_proba(fresh.assign(ward=codes.transform(fresh[["ward"]])).to_numpy(float))
    shares = ours.predict_proba(fresh)
    assert ours.score(fresh, truth) > np.mean(naive.classes_[theirs.argmax(axis=1)] == truth) + 0.02
    assert log_loss(truth, shares) < log_loss(truth, theirs)
    assert brier_score_loss(truth == "late", shares[:, 1]) < brier_score_loss(truth == "late", theirs[:, 1])


def test_fitting_a_release_is_fitting_its_columns(made, frame, true):
    X, y = split(frame)
    fresh, _ = split(true)
    one = sf.PerturbedClassifier.from_release(made, FAST, draws=2).fit(X, y)
    other = sf.PerturbedClassifier(FAST, draws=2).fit_release(made.folder)
    assert np.array_equal(one.predict_proba(fresh), other.predict_proba(fresh))
    assert other.feature_names_in_.tolist() == ["age", "pay", "ward"]
    tree = sf.PerturbedTreeClassifier(strategy="byclass").fit_release(made)
    assert (
        tree.predict(fresh) == sf.PerturbedTreeClassifier.from_release(made, "byclass").fit(X, y).predict(fresh)
    ).all()


def test_with_nothing_blurred_it_is_the_plain_learner(true):
    X, y = split(true)
    numbers = X[["age", "pay"]]
    plain = HistGradientBoostingClassifier(random_state=0).fit(numbers, y)
    ours = sf.PerturbedClassifier(channels={}).fit(numbers, y)
    assert np.array_equal(ours.predict_proba(numbers), plain.predict_proba(numbers))
    assert len(ours.estimators_) == 1
    pay = X["pay"].fillna(0.0)
    line = HistGradientBoostingRegressor(random_state=0).fit(X[["age"]], pay)
    assert np.array_equal(
        sf.PerturbedRegressor(channels={}).fit(X[["age"]], pay).predict(X[["age"]]), line.predict(X[["age"]])
    )


def test_as_noise_goes_to_zero_it_becomes_the_learner_on_true_values(true):
    X, y = split(true.dropna())
    X, fresh, y, truth = X[:1500], X[1500:], y[:1500], y[1500:]
    table = X.assign(**{"class": y})
    scores = []
    for privacy in (1.0, 0.05, 0.001):
        laws = {n: sf.Gaussian(privacy=privacy) for n in ("age", "pay")}
        plan = Plan.propose(table, target="class", noise="gaussian", privacy=0.5)
        attributes = {a.name: a for a in plan.schema}
        channels = {n: law.on(attributes[n]) for n, law in laws.items()}
        noisy = X.copy()
        for name, law in channels.items():
            noisy[name] = Column(attributes[name], None, X[name].to_numpy(float)).through(law, KEY.derive(name)).values
        fitted = sf.PerturbedClassifier(FAST, channels, attributes, draws=2).fit(noisy, y)
        scores.append(fitted.score(fresh, truth))
    plain = sf.PerturbedClassifier(FAST, {}).fit(X, y).score(fresh, truth)
    assert scores[0] < scores[1]
    assert scores[2] == pytest.approx(plain, abs=0.01)


OWN_ENCODER = ColumnTransformer([("w", OneHotEncoder(), ["ward"]), ("n", "passthrough", ["age"])])


@pytest.mark.parametrize(
    ("learner", "form"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), "one-hot"),
        (make_pipeline(OWN_ENCODER, LogisticRegression()), "text"),
        (GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2), "one-hot"),
        (LinearSVC(), "one-hot"),
        (HistGradientBoostingClassifier(max_iter=10, categorical_features=["ward"]), "codes"),
    ],
    ids=["scaled", "own encoder", "search", "no probabilities", "named categories"],
)
def test_estimators_of_all_kinds_are_fitted(made, true, learner, form):
    fresh, truth = split(true)
    fitted = sf.PerturbedClassifier(learner, draws=2).fit_release(made)
    assert fitted.input_.form == form
    assert fitted.predict(fresh).shape == truth.shape
    assert hasattr(fitted, "predict_proba") == (not isinstance(learner, LinearSVC))


def test_it_clones_pickles_searches_and_is_cross_validated(made, frame, true):
    X, y = split(frame[:400])
    fresh, _ = split(true)
    learner = sf.PerturbedClassifier.from_release(made, FAST, draws=1)
    fitted = clone(learner).fit(X, y)
    assert (pickle.loads(pickle.dumps(fitted)).predict(fresh) == fitted.predict(fresh)).all()
    assert len(cross_val_score(learner, X, y, cv=2)) == 2
    search = GridSearchCV(learner, {"estimator__max_leaf_nodes": [4, 8]}, cv=2).fit(X, y)
    assert search.best_params_["estimator__max_leaf_nodes"] in (4, 8)


def test_bagging_takes_names_away_so_laws_are_numbered(made, frame, true):
    X, y = split(frame[:1500])
    fresh, truth = split(true)
    named = sf.PerturbedClassifier.from_release(made, FAST, draws=1)
    with pytest.raises(UsageError, match=r"set_output\(transform=.pandas.\).*number the channels"):
        BaggingClassifier(named, 2, random_state=0).fit(X, y)
    place = {n: i for i, n in enumerate(X.columns)}
    numbered = clone(named).set_params(
        channels={place[n]: c for n, c in named.channels.items()},
        attributes={place[n]: a for n, a in named.attributes.items() if n in place},
    )
    bag = BaggingClassifier(numbered, 2, random_state=0).fit(X, y)
    assert bag.score(fresh, truth) > 0.7
    with pytest.raises(UsageError, match="law for column 2, and X has 2 columns"):
        BaggingClassifier(numbered, 2, max_features=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("kind", [sf.PerturbedClassifier, sf.PerturbedTreeClassifier])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_a_scaler_before_the_laws_is_refused(made, frame, kind, scaler):
    X, y = split(frame)
    numbers = X[["age", "pay"]]
    with pytest.raises(UsageError, match=r"set_output\(transform=.pandas.\)"):
        make_pipeline(clone(scaler), kind.from_release(made)).fit(numbers, y)
    with pytest.raises(UsageError, match=r"(age|pay): .*in their own unit, and put a scaler inside the learner"):
        make_pipeline(clone(scaler), kind.from_release(made)).set_output(transform="pandas").fit(numbers, y)


def test_without_laws_nothing_is_learned(frame):
    X, y = split(frame)
    for kind in (sf.PerturbedClassifier, sf.PerturbedRegressor, sf.PerturbedTreeClassifier):
        with pytest.raises(UsageError, match=r"channels=\{\} to say that all values are true"):
            kind().fit(X[["age"]], y if kind is not sf.PerturbedRegressor else X["age"])


def test_columns_under_other_names_and_labels_under_codes_are_refused(made, frame):
    X, y = split(frame)
    learner = sf.PerturbedClassifier.from_release(made, FAST)
    with pytest.raises(UsageError, match="law for age, but no such column"):
        learner.fit(X.rename(columns={"age": "num__age"}), y)
    coded = X.assign(ward=OrdinalEncoder().fit_transform(X[["ward"]]))
    with pytest.raises(UsageError, match="none of its labels"):
        learner.fit(coded, y)
    assert learner.set_params(draws=1).fit(X.drop(columns="pay"), y).n_features_in_ == 2


LAWS = (
    sf.Gaussian(privacy=0.5), sf.Gaussian(privacy=0.01), sf.Laplace(privacy=0.5), sf.Uniform(privacy=0.5), sf.SquareWave(epsilon=1.0),
    sf.Intervals(privacy=0.3), sf.Substitution(gamma=6.0, bins=8),
)  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.law} {getattr(law, 'privacy', '')}")
def test_what_a_law_released_is_never_taken_for_something_else(law):
    rng = np.random.default_rng(4)
    pay = sf.Attribute("pay", sf.Kind.REAL, sf.Interval(0, 100))
    bound = law.on(pay)
    for name, values in {"one": np.full(3000, 41.3), "end": np.full(3000, 100.0), "two": np.repeat([0.0, 100.0], 1500), "few": np.full(30, 50.0), "wide": rng.uniform(0, 100, 3000)}.items():  # fmt: skip
        column = Column(pay, None, values).through(bound, KEY.derive(name))
        check_released(column)
        small = (column.values - column.values.mean()) / (column.values.std() + 1e-9)
        if name in ("two", "wide"):
            with pytest.raises(UsageError, match="pay: "):
                check_released(Column(pay, bound, small))


def test_a_blurred_target_of_numbers_is_regressed(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 10, 4000)
    table = pd.DataFrame({"x": x.round(2), "pay": (20 + 6 * x + rng.normal(0, 3, 4000)).clip(0, 100).round(2)})
    made = sf.release(table, Plan.propose(table, noise="gaussian", privacy=0.5), tmp_path / "r", key=KEY)
    ours = sf.PerturbedRegressor(LinearRegression()).fit_release(made, target="pay")
    fresh = pd.DataFrame({"x": np.linspace(0, 10, 50)})
    slope = np.polyfit(fresh["x"], ours.predict(fresh), 1)[0]
    released = made.to_arrow().to_pandas()
    assert slope == pytest.approx(6.0, abs=0.5)
    assert np.polyfit(released["x"], released["pay"], 1)[0] < 5.5
    assert r2_score(20 + 6 * fresh["x"], sf.PerturbedRegressor().fit_release(made, "pay").predict(fresh)) > 0.9
    laws = {c.attribute.name: c.channel for c in made.manifest.columns}
    same = sf.PerturbedRegressor(LinearRegression(), {"x": laws["x"]}, target_channel=laws["pay"])
    assert same.fit(released[["x"]], released["pay"]).predict(fresh) == pytest.approx(ours.predict(fresh), abs=1.0)


def test_targets_of_the_wrong_kind_are_refused(made):
    with pytest.raises(UsageError, match="age: a target of numbers has no classes; use PerturbedRegressor"):
        sf.PerturbedClassifier().fit_release(made, "age")
    with pytest.raises(UsageError, match="class: a target of labels cannot be regressed; use PerturbedClassifier"):
        sf.PerturbedRegressor().fit_release(made)
    with pytest.raises(UsageError, match="no column 'sage'"):
        sf.PerturbedRegressor().fit_release(made, "sage")


def test_a_blurred_class_is_learned_through_its_law(tmp_path):
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 100, 6000).round(1)
    true = pd.DataFrame({"x": x, "class": np.where(x > 60, "yes", "no")})
    plan = Plan.propose(true, target="class", noise="gaussian", privacy=0.3)
    classes = sf.Attribute("class", sf.Kind.CATEGORICAL, sf.Categories(("no", "yes")))
    law = sf.Substitution(gamma=3.0).on(classes)
    noisy = Column(classes, None, (x > 60).astype(float)).through(law, KEY)
    y = np.array(["no", "yes"])[noisy.codes]
    frame = true[["x"]]
    ours = sf.PerturbedClassifier(FAST, {}, target_channel=law, target_attribute=classes).fit(frame, y)
    assert ours.score(frame, true["class"]) > 0.97
    assert ours.predict_proba(pd.DataFrame({"x": [10.0, 90.0]}))[:, 1] == pytest.approx([0, 1], abs=0.1)
    assert plan.schema.target.name == "class"


def test_columns_on_a_scale_are_given_in_their_own_unit(tmp_path):
    rng = np.random.default_rng(7)
    cost = np.exp(rng.normal(7, 1.5, 3000)).clip(1, 1e6).round(2)
    true = pd.DataFrame({"cost": cost, "class": np.where(cost > 1100, "high", "low")})
    pay = sf.Attribute("cost", sf.Kind.REAL, sf.Interval(0, 1e6), scale=sf.Log(unit=100))
    plan = Plan.propose(true, target="class", noise="gaussian", privacy=0.3)
    schema = sf.Schema(tuple(pay if a.name == "cost" else a for a in plan.schema))
    made = sf.release(
        true,
        Plan(**{**vars(plan), "schema": schema, "channels": {"cost": sf.Gaussian(privacy=0.3)}}),
        tmp_path / "r",
        key=KEY,
    )
    frame = made.to_arrow().to_pandas()
    for ours in (
        sf.PerturbedClassifier.from_release(made, FAST),
        sf.PerturbedTreeClassifier.from_release(made, "byclass"),
    ):
        assert ours.fit(frame[["cost"]], frame["class"]).score(true[["cost"]], true["class"]) > 0.9

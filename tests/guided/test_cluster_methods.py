"""What every method around clusters must do; the registry is walked, and counted."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from sfumato.clusters.kmeans import kmeans
from sfumato.errors import DataError, UsageError
from sfumato.guided.base import METHODS, make_method
from sfumato.guided.cluster import geometric, racc, rdd, voronoi
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.randomness import SecretKey, Stream

KEY = SecretKey(bytes(range(4, 36)))
MODULES = (rdd, racc, geometric, voronoi)
LAWS = ("rdd", "racc", "geometric", "swap-v", "racc-v")


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).uniform(size=(120, 4))
    x[:, 2] = 0.7  # constant
    x[:30] = x[0]  # equal records
    fit = kmeans(x, 3)
    return x, fit.labels, fit.centres


def test_every_method_is_in_the_registry():
    assert {law for law, method in METHODS.items() if issubclass(method, ClusterMethod)} == set(LAWS)
    assert {METHODS[law].__module__ for law in LAWS} == {module.__name__ for module in MODULES}
    with pytest.raises(UsageError, match="there is no method 'pca'"):
        make_method("pca", {})


@pytest.mark.parametrize("law", LAWS)
def test_the_key_alone_decides_the_release_and_the_input_stays(law):
    x, labels, centres = table()
    before = x.copy()
    method = METHODS[law]()
    first = method.perturb(x, labels, centres, Stream(KEY))
    assert np.array_equal(first, method.perturb(x, labels, centres, Stream(KEY)))
    assert not np.array_equal(first, method.perturb(x, labels, centres, Stream(KEY.derive("other"))))
    assert np.array_equal(x, before)
    assert first.shape == x.shape
    assert np.isfinite(first).all()


@pytest.mark.parametrize("law", LAWS)
def test_constant_columns_are_released_as_they_are(law):
    x, labels, centres = table()
    y = METHODS[law]().perturb(x, labels, centres, Stream(KEY))
    assert (y[:, 2] == 0.7).all()
    assert not np.allclose(x[:, [0, 1, 3]], y[:, [0, 1, 3]])
    same = np.ones((10, 3))
    assert np.array_equal(METHODS[law]().perturb(same, np.zeros(10, np.int64), np.ones((1, 3)), Stream(KEY)), same)


@pytest.mark.parametrize("law", LAWS)
def test_a_method_serialises_itself(law):
    method = METHODS[law]()
    data = json.loads(json.dumps(method.to_dict()))
    assert data["law"] == law
    assert METHODS[law].from_dict(data) == method
    assert METHODS[law].from_dict({k: str(v) for k, v in data.items()}) == method
    assert all(method.parameters().values())
    assert set(method.parameters()) == {f.name for f in dataclasses.fields(method)}
    with pytest.raises(UsageError, match="has no parameter spin"):
        METHODS[law].from_dict({"spin": 1})
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.law = "x"  # type: ignore[misc]


def test_a_parameter_that_is_no_number_is_refused():
    with pytest.raises(UsageError, match="rdd: sigma = 'much' is not of type float"):
        METHODS["rdd"].from_dict({"sigma": "much"})


@pytest.mark.parametrize("law", LAWS)
def test_an_empty_table_stays_empty(law):
    y = METHODS[law]().perturb(np.empty((0, 2)), np.empty(0, np.int64), np.zeros((1, 2)), Stream(KEY))
    assert y.shape == (0, 2)


@pytest.mark.parametrize("law", LAWS)
def test_missing_values_are_refused_by_column(law):
    x, labels, centres = table()
    x[5, 3] = np.nan
    with pytest.raises(DataError, match="column 3"):
        METHODS[law]().perturb(x, labels, centres, Stream(KEY))


@pytest.mark.parametrize("law", [law for law in LAWS if law != "geometric"])
def test_labels_and_centres_that_do_not_fit_are_refused(law):
    x, labels, centres = table()
    method = METHODS[law]()
    for labels_, centres_ in [
        (None, centres),
        (labels, None),
        (labels[:-1], centres),
        (labels + 1, centres),
        (labels * 1.0, centres),
        (labels, centres[:, :2]),
    ]:
        with pytest.raises(UsageError):
            method.perturb(x, labels_, centres_, Stream(KEY))


@pytest.mark.parametrize("law", [law for law in LAWS if law != "geometric"])
def test_a_cluster_of_one_point_and_an_empty_cluster_are_no_trouble(law):
    rng = np.random.default_rng(1)
    x = np.concatenate([np.full((12, 3), 4.0), rng.uniform(size=(30, 3))])
    labels = np.repeat([0, 2], [12, 30])
    centres = np.array([[4.0] * 3, [-9.0] * 3, x[12:].mean(axis=0)])
    y = METHODS[law]().perturb(x, labels, centres, Stream(KEY))
    assert y[:12] == pytest.approx(x[:12])
    assert not np.allclose(y[12:], x[12:])

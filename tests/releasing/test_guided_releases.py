"""Guided methods as releases: every one of them, walked and counted."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.comparison import compare
from sfumato.channels import Substitution
from sfumato.errors import DataError, LedgerError, UsageError
from sfumato.guided.base import METHODS, make_method
from sfumato.mining.clustering import cluster
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release, with_method
from sfumato.schema import Consent, Role, Schema

KEY = SecretKey(bytes(range(32)))
TREE = ("class-all-leaves", "class-probabilistic", "class-random", "detective", "framework", "innocent", "leaf-swap")
CLUSTER = ("geometric", "racc", "racc-v", "rdd", "swap-v")


def test_every_guided_method_is_walked_here():
    assert sorted(METHODS) == sorted([*TREE, *CLUSTER])


def made(method, folder, table, **settings):
    plan = Plan.propose(table)
    return release(table, with_method(plan, method, settings), folder, key=KEY)


@pytest.mark.parametrize("method", TREE)
def test_tree_methods_release_a_mixed_table_with_its_gaps(method, tmp_path):
    found = made(method, tmp_path / "r", "credit_approval")
    manifest = Release.open(tmp_path / "r").manifest
    assert manifest.data.rows == 690
    assert manifest.method["law"] == method
    guided = {c.attribute.name for c in manifest.columns if c.guided == method}
    assert guided == {n for n, share in found.making.changed.items() if share > 0}
    assert guided
    table = found.read_table()
    assert table.rows == 690
    assert table.labels == ("+", "-")


@pytest.mark.parametrize("method", CLUSTER)
def test_cluster_methods_release_numbers_and_swap_labels(method, tmp_path):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(m, 1.0, (120, 2)) for m in (0.0, 8.0, 16.0)])
    table = pa.table(
        {"a": x[:, 0].round(3), "b": x[:, 1].round(3), "ward": np.array(["n", "s", "w"])[rng.integers(0, 3, 360)]}
    )
    plan = Plan.propose(table)
    found = release(table, with_method(plan, method, {"k": "3"}), tmp_path / "r", key=KEY)
    seen = Release.open(tmp_path / "r").read_table()
    assert found.making.changed["a"] > 0.9
    before = np.bincount(np.searchsorted(["n", "s", "w"], table["ward"].to_pylist()))
    assert np.bincount(seen["ward"].values.astype(int)).tolist() == before.tolist()
    if method in ("swap-v", "racc-v"):
        agreed = compare(table, tmp_path / "r", k=3).clusters
        assert agreed["protocols"]["fixed_point"] == 1.0
        assert agreed["protocols"]["rerun"] == 1.0
        assert cluster(tmp_path / "r", 3)["sizes"] == agreed["sizes"] or sorted(
            cluster(tmp_path / "r", 3)["sizes"]
        ) == sorted(agreed["sizes"])


def test_the_same_table_gives_the_same_bytes_and_another_name_other_noise(tmp_path):
    from dataclasses import replace

    first = made("leaf-swap", tmp_path / "a", "iris")
    second = made("leaf-swap", tmp_path / "b", "iris")
    assert first.data_path.read_bytes() == second.data_path.read_bytes()
    plan = replace(Plan.propose("iris"), name="another")
    third = release("iris", with_method(plan, "leaf-swap", {}), tmp_path / "c", key=KEY)
    assert third.data_path.read_bytes() != first.data_path.read_bytes()


def test_the_ledger_refuses_a_second_draw_of_the_same_rows(tmp_path):
    plan = Plan.propose("iris")
    key = tmp_path / "owner.key"
    release("iris", with_method(plan, "leaf-swap", {}), tmp_path / "a", key=key)
    with pytest.raises(LedgerError, match="again=True"):
        release("iris", with_method(plan, "framework", {}), tmp_path / "b", key=key)
    again = release("iris", with_method(plan, "framework", {}), tmp_path / "b", key=key, again=True)
    assert again.manifest.again


def test_the_manifest_tells_parameters_but_no_figure_of_the_original(tmp_path):
    found = made("class-random", tmp_path / "r", "german_credit")
    text = (tmp_path / "r" / "manifest.json").read_text()
    assert found.making.owner
    for name in found.making.owner:
        assert f'"{name}"' not in text
    assert "changed" not in json.loads(text)["extra"]


def test_missing_numbers_have_no_place_among_clusters_and_the_column_is_named(tmp_path):
    table = pa.table({"a": [1.0, None, 2.5, 4.0] * 15, "b": np.arange(60.0) % 11})
    with pytest.raises(DataError, match=r"^a: "):
        release(table, with_method(Plan.propose(table), "swap-v", {"k": 2}), tmp_path / "r", key=KEY)
    assert not (tmp_path / "r").exists()


def test_an_unknown_method_or_parameter_names_the_known_ones():
    with pytest.raises(UsageError, match="leaf-swap"):
        make_method("leafswap", {})
    with pytest.raises(UsageError, match="margin"):
        make_method("swap-v", {"sigma": "3"})


def test_class_noise_is_one_name_for_its_three_kinds():
    assert make_method("class-noise", {}) == make_method("class-random", {})
    assert make_method("class-noise", {"kind": "all-leaves"}) == make_method("class-all-leaves", {})
    with pytest.raises(UsageError, match="kind = 'some' is unknown; choose random, probabilistic or all-leaves"):
        make_method("class-noise", {"kind": "some"})


def test_leaf_swap_keeps_the_tree_where_paper_noise_bends_it(tmp_path):
    made("leaf-swap", tmp_path / "a", "breast_cancer_wisconsin")
    found = compare("breast_cancer_wisconsin", tmp_path / "a").trees[0]
    assert found["same_root"]
    assert found["rule_similarity"] > 0.85


def test_a_plan_can_name_the_method(tmp_path):
    from dataclasses import replace

    from sfumato.cli.app import main

    plan = replace(Plan.propose("iris"), method={"law": "leaf-swap", "best_of": 2}, channels={})
    (tmp_path / "plan.toml").write_text(plan.to_toml("iris"))
    assert Plan.load(tmp_path / "plan.toml") == plan
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "release",
                "iris",
                "--plan",
                str(tmp_path / "plan.toml"),
                "-o",
                str(tmp_path / "r"),
                "--key",
                str(tmp_path / "k"),
            ]
        )
    assert stop.value.code == 0
    assert Release.open(tmp_path / "r").manifest.method["best_of"] == 2


def test_every_way_to_release_goes_through_one_door(tmp_path):
    plan = replace(Plan.propose("iris"), method={"law": "leaf-swap"}, channels={})
    (tmp_path / "plan.toml").write_text(plan.to_toml("iris"))
    by_plan = release("iris", tmp_path / "plan.toml", tmp_path / "a", key=KEY)
    by_name = release("iris", None, tmp_path / "b", method="leaf-swap", key=KEY)
    assert by_plan.manifest.method["law"] == "leaf-swap"
    assert by_plan.data_path.read_bytes() == by_name.data_path.read_bytes()
    assert by_name.making.changed["petal_width"] > 0.1
    joint = release("iris", None, tmp_path / "c", method="correlated-gaussian", options={"ratio": 1}, key=KEY)
    assert joint.manifest.joint.law == "correlated-gaussian"


def test_what_a_plan_says_is_not_said_again(tmp_path):
    with pytest.raises(UsageError, match="method=, options= cannot stand beside plan="):
        release("iris", Plan.propose("iris"), tmp_path / "r", method="leaf-swap", options={"least": 3})
    with pytest.raises(UsageError, match="method= takes the place of noise="):
        release("iris", None, tmp_path / "r", method="leaf-swap", noise="gaussian")
    with pytest.raises(UsageError, match=r"leaf-swap is a method .* not noise: give it as method=leaf-swap"):
        release("iris", None, tmp_path / "r", noise="leaf-swap")
    assert not list(tmp_path.iterdir())


def test_a_key_made_for_a_release_that_fails_is_taken_back(tmp_path):
    table = pa.table({"a": [1.0, None, 2.5, 4.0] * 15, "b": np.arange(60.0) % 11})
    with pytest.raises(DataError, match=r"^a: "):
        release(table, None, tmp_path / "r", method="swap-v", options={"k": 2}, key=tmp_path / "key")
    assert not list(tmp_path.iterdir())


def test_the_ledger_knows_labels_that_class_noise_draws_afresh(tmp_path):
    # The first release blurs the class alone; another draw of it is fresh noise for the same labels.
    plan = Plan.propose("iris")
    schema = Schema(
        tuple(replace(a, consent=Consent.MODIFIED if a.role is Role.TARGET else Consent.TRUE) for a in plan.schema)
    )
    key = tmp_path / "owner.key"
    release(
        "iris",
        replace(plan, schema=schema, channels={plan.schema.target.name: Substitution(gamma=9.0)}),
        tmp_path / "a",
        key=key,
    )
    with pytest.raises(LedgerError, match=plan.schema.target.name):
        release("iris", with_method(plan, "class-random", {}), tmp_path / "b", key=key)

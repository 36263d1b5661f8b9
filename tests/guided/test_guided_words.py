"""The README of a guided release says what is true of its method, and the manifest states what kind its columns are."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.comparison import compare
from sfumato.clusters.kmeans import fixed_point_agreement, kmeans
from sfumato.clusters.points import Scaling
from sfumato.guided.base import METHODS, Pattern
from sfumato.guided.cluster.base import round_keeping_sums
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release, with_method
from sfumato.releasing.whole_table import _fit_attribute
from sfumato.schema import Attribute, Interval, Kind

KEY = SecretKey(bytes(range(32)))
CLUSTERS = ("geometric", "racc", "racc-v", "rdd", "swap-v")
TREES = tuple(sorted(set(METHODS) - set(CLUSTERS)))


def people(gaps):
    """Numbers with ties, a label with gaps, a class with gaps; numbers have gaps where asked."""
    rng = np.random.default_rng(8)
    rows = 300
    x = rng.integers(0, 40, rows)
    label = np.where(x + rng.normal(0, 5, rows) > 20, "hi", "lo").astype(object)
    label[rng.random(rows) < 0.05] = None
    ward = rng.choice(["a", "b", "c"], rows).astype(object)
    ward[rng.random(rows) < 0.1] = None
    holes = (rng.random(rows) < 0.1) & gaps
    return pa.table(
        {
            "x": pa.array(np.where(holes, np.nan, x), pa.float64(), from_pandas=True),
            "y": rng.integers(0, 9, rows),
            "ward": pa.array(ward, pa.string()),
            "class": pa.array(label, pa.string()),
        }
    )


def made(law, folder, table, **settings):
    if law in CLUSTERS:
        settings = {"k": 2} | settings
    plan = Plan.propose(table, target="class")
    return release(table, with_method(plan, law, settings), folder, key=KEY)


@pytest.mark.parametrize(
    ("law", "settings"),
    [*((law, {}) for law in sorted(METHODS)), ("framework", {"numbers": "swap"}), ("leaf-swap", {"small": "keep"})],
)
def test_what_the_readme_says_of_gaps_is_so(law, settings, tmp_path):
    table = people(gaps=law not in CLUSTERS)
    made(law, tmp_path / "r", table, **settings)
    text = (tmp_path / "r" / "README.md").read_text()
    seen = Release.open(tmp_path / "r").to_arrow()
    told = {"left": "", "swapped": ""}
    for line in text.splitlines():
        if line.startswith("- Missing values are left missing"):
            told["left"] = line.rsplit(": ", 1)[1]
        if line.startswith("- Missing values were swapped"):
            told["swapped"] = line.rsplit(": ", 1)[1]
    for name in table.column_names:
        before, after = ([v is None for v in t[name].to_pylist()] for t in (table, seen))
        if any(before):
            assert name in told["left" if before == after else "swapped"].rstrip(".").split(", ")


@pytest.mark.parametrize("law", sorted(METHODS))
def test_a_guided_readme_never_speaks_of_noise_to_be_corrected_nor_denies_true_cells(law, tmp_path):
    table = people(gaps=False)
    found = made(law, tmp_path / "r", table)
    text = (tmp_path / "r" / "README.md").read_text()
    assert "no cell in a modified column" not in text
    assert "correct for it" not in text
    assert "sfumato reconstruct" not in text
    assert "Mine the data as it is" in text
    assert ("sfumato cluster" in text) == (law in CLUSTERS)
    assert ("sfumato mine" in text) == (law in TREES)
    # Where the method leaves cells of a modified column as they are, the opening does not deny it.
    shares = [share for name, share in found.making.changed.items() if share > 0]
    if min(shares) < 0.9:
        assert any(word in text.split("|")[0] for word in ("true ones", "true values", "is its own person's"))


def test_every_method_has_its_words():
    assert len({method.words for method in METHODS.values()}) == len(METHODS)
    assert len({method.reads for method in METHODS.values()}) == 7
    assert len({method.uses for method in METHODS.values()}) == 5
    assert all(method.summary().endswith(".") for method in METHODS.values())
    assert {law for law, method in METHODS.items() if method.pattern is Pattern.CLUSTERS} == set(CLUSTERS)


def test_kept_small_cells_are_told_of_in_the_first_lines(tmp_path):
    table = people(gaps=True)
    for small in ("keep", "climb"):
        made("leaf-swap", tmp_path / small, table, small=small)
        opening = (tmp_path / small / "README.md").read_text().split("|")[0]
        assert ("rows are released as they are" in opening) == (small == "keep")


@pytest.mark.parametrize("law", ["racc", "racc-v"])
def test_a_single_number_is_said_to_be_mirrored_only(law, tmp_path):
    table = people(gaps=False)
    one = table.drop_columns(["y"])
    for given, alone in ((one, True), (table, False)):
        made(law, tmp_path / str(alone), given)
        assert ("mirrored" in (tmp_path / str(alone) / "README.md").read_text()) is alone


def test_labels_are_said_to_be_swapped_and_numbers_moved(tmp_path):
    made("rdd", tmp_path / "r", people(gaps=False))
    rows = [line for line in (tmp_path / "r" / "README.md").read_text().splitlines() if line.startswith("| ")]
    assert next(r for r in rows if r.startswith("| ward")).endswith("labels swapped inside each cluster |")
    assert next(r for r in rows if r.startswith("| y")).endswith("kept in its range |")


def test_whole_numbers_that_swaps_cannot_place_are_released_as_real_ones_and_stay_a_fixed_point(tmp_path):
    # Three columns of six values: some records of a cluster find no place by swaps alone, and the cluster is drawn in.
    x = np.random.default_rng(0).integers(0, 6, (600, 3))
    table = pa.table({name: x[:, i] for i, name in enumerate("abc")})
    plan = Plan.propose(table)
    found = release(table, with_method(plan, "swap-v", {"k": 4}), tmp_path / "r", key=KEY)
    manifest = Release.open(tmp_path / "r").manifest
    seen = np.column_stack([found.read_table()[n].values for n in "abc"])
    bent = ~np.isin(seen, np.arange(6.0))
    assert bent.any()
    for i, name in enumerate("abc"):
        assert manifest[name].attribute.kind is (Kind.REAL if bent[:, i].any() else Kind.INTEGER)
        assert pa.types.is_floating(found.to_arrow().schema.field(name).type) == bent[:, i].any()
    assert compare(table, tmp_path / "r", k=4).clusters["protocols"]["fixed_point"] == 1.0
    scaling = Scaling.from_dict(manifest.extra["public"]["scaling"])
    owned = kmeans(scaling.apply(x.astype(float)), 4)
    means = np.array([scaling.apply(seen)[owned.labels == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(means, owned.centres, atol=1e-6)
    assert fixed_point_agreement(scaling.apply(seen), owned.labels, owned.centres) == 1.0


def test_whole_numbers_that_swaps_do_place_stay_whole(tmp_path):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.integers(m, m + 5, (60, 2)) for m in (0, 40)])
    table = pa.table({"a": x[:, 0], "b": x[:, 1]})
    plan = Plan.propose(table)
    found = release(table, with_method(plan, "swap-v", {"k": 2}), tmp_path / "r", key=KEY)
    assert [c.attribute.kind for c in found.manifest.columns] == [Kind.INTEGER] * 2
    for name in "ab":
        np.testing.assert_array_equal(
            np.sort(found.read_table()[name].values), np.sort(table[name].to_numpy().astype(float))
        )


@pytest.mark.parametrize("law", CLUSTERS)
def test_dates_are_released_as_days_and_can_be_read_again(law, tmp_path):
    rng = np.random.default_rng(2)
    days = np.concatenate([rng.integers(m, m + 200, 60) for m in (18000, 19000)])
    table = pa.table(
        {"d": pa.array(days.astype(np.int32)).cast(pa.date32()), "i": rng.integers(0, 30, 120) + days / 40}
    )
    plan = Plan.propose(table)
    found = release(table, with_method(plan, law, {"k": 2}), tmp_path / "r", key=KEY)
    assert found.to_arrow().schema.field("d").type == pa.date32()
    agreed = compare(table, tmp_path / "r", k=2).clusters["protocols"]
    if law.endswith("-v"):
        assert agreed["fixed_point"] == 1.0


def test_rounding_keeps_the_sums_of_groups_and_moves_no_value_by_a_whole():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 5, 200)
    values = rng.normal(0, 30, 200)
    whole = round_keeping_sums(values, group)
    assert np.all(whole == np.round(whole))
    assert np.abs(whole - values).max() < 1
    np.testing.assert_array_equal(np.bincount(group, whole), np.round(np.bincount(group, values)))


def test_an_attribute_fits_its_values():
    age = Attribute("age", Kind.INTEGER, Interval(0, 99))
    assert _fit_attribute(age, np.array([1.0, np.nan, 7.0])) == age
    assert _fit_attribute(age, np.array([1.0, 7.25])) == replace(age, kind=Kind.REAL)
    size = Attribute("size", Kind.REAL, Interval(0, 2), resolution=0.1)
    assert _fit_attribute(size, np.array([0.3, 1.7])) == size
    assert _fit_attribute(size, np.array([0.31])).resolution is None

"""Rows in a random order that only the owner's key can undo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import cli
from sfumato.engines import Local
from sfumato.errors import DataError, UsageError
from sfumato.io import open_buckets
from sfumato.releases import RowOrder

OWNER = sf.SecretKey(bytes(range(32)))
ROWS = 3000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """People, sorted by income."""
    rng = np.random.default_rng(5)
    income = np.sort(rng.gamma(4, 500, ROWS)).round(0)
    return pa.table({
        "who": [f"p{i}" for i in range(ROWS)],
        "income": income,
        "age": rng.integers(18, 90, ROWS),
        "ward": np.where(income + rng.normal(0, 400, ROWS) > 2000, "north", rng.choice(["south", "west"], ROWS)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def plan(table: pa.Table) -> sf.Plan:
    return sf.plan(table.drop_columns(["who"]), target="ward", privacy=0.5, name="people")


@pytest.fixture(scope="module")
def rows(table: pa.Table) -> pa.Table:
    return table.drop_columns(["who"])


@pytest.fixture(scope="module")
def made(tmp_path_factory, rows, plan) -> tuple[sf.Release, sf.Release]:
    """The same release as the table stands, and shuffled."""
    folder = tmp_path_factory.mktemp("order")
    plain = sf.release(rows, plan, folder / "plain", key=OWNER, shuffle=False)
    return plain, sf.release(rows, plan, folder / "shuffled", key=OWNER)


def test_a_plan_proposes_to_shuffle_a_sorted_table_and_no_other(rows, plan):
    assert plan.shuffle
    assert "shuffle = true" in plan.to_toml()
    assert sf.Plan.from_dict(plan.to_dict()) == plan
    assert "random order" in next(note for note in plan.warnings if note.code == "SF102")
    unsorted = rows.take(np.random.default_rng(1).permutation(ROWS))
    assert not sf.plan(unsorted, target="ward").shuffle


def test_rows_keep_their_noise_and_change_their_places(made):
    plain, shuffled = (release.to_arrow() for release in made)
    order = RowOrder.of(OWNER, made[1].manifest.salt).rows(ROWS)
    assert plain.take(order).equals(shuffled)
    assert made[1].manifest.shuffled
    assert not made[0].manifest.shuffled
    assert "a random order" in (made[1].folder / "README.md").read_text()
    # Spearman's ρ of n random ranks has the standard deviation 1/√(n − 1).
    assert abs(np.corrcoef(order, np.arange(ROWS))[0, 1]) < 4 / np.sqrt(ROWS - 1)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_block_size_threads_and_processes_do_not_matter(tmp_path, rows, plan, form):
    engines = [
        (Local(), 8192),
        (Local(), 100),
        (Local(3), 257),
        (Local(2, processes=True), 1000),
        (Local(gathers=False), 999),
    ]
    files = set()
    for number, (engine, block_rows) in enumerate(engines):
        folder = tmp_path / str(number)
        release = sf.release(rows, plan, folder, key=OWNER, engine=engine, block_rows=block_rows, format=form)
        files.add(release.data_path.read_bytes())
        assert sorted(p.name for p in folder.iterdir()) == ["README.md", f"data.{form}", "manifest.json"]
    assert len(files) == 1


def test_one_table_has_one_order_and_another_table_another(made, rows, plan, tmp_path):
    stronger = sf.plan(rows, target="ward", privacy=0.9, name="people")
    again = sf.release(rows, stronger, tmp_path / "a", key=OWNER)
    assert again.to_arrow()["ward"].equals(made[1].to_arrow()["ward"])
    elsewhere = sf.release(rows, plan, tmp_path / "b", key=OWNER, name="others")
    assert not elsewhere.to_arrow()["ward"].equals(made[1].to_arrow()["ward"])


def test_an_audit_undoes_the_order_with_the_key_and_asks_for_it_in_one_line(made, rows, tmp_path, monkeypatch):
    plain, shuffled = made
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"were shuffled, and there is no sfumato.key here; give the key of its owner with key="
    ):
        sf.audit(shuffled, rows)
    with pytest.raises(DataError, match="give the same table"):
        sf.audit(shuffled, rows, key=sf.SecretKey(bytes(32)))
    first, second = sf.audit(plain, rows, targets=50), sf.audit(shuffled, rows, key=OWNER, targets=50)
    reads = [{f.attributes: f.success for f in a.findings if f.name == "bayes"} for a in (first, second)]
    assert reads[0].keys() == reads[1].keys()
    assert list(reads[0].values()) == pytest.approx(list(reads[1].values()))


def test_the_order_of_the_rows_no_longer_gives_values_away(made, rows):
    def success(result):
        return [f.success for f in result.findings if f.name == "row-order" and f.attributes == ("income",)]

    sorted_, shuffled = sf.audit(made[0], rows, targets=20), sf.audit(made[1], rows, key=OWNER, targets=20)
    assert success(sorted_), {f.name for f in sorted_.findings}
    assert not success(shuffled)


def test_other_releases_are_brought_into_the_same_order(made, rows, plan, tmp_path):
    plain, shuffled = made
    other = sf.release(rows, plan, tmp_path / "b", key=OWNER, name="others")
    left = []
    for first, beside in ((plain, other), (shuffled, other), (other, plain)):
        result = sf.audit(first, rows, others=[beside], key=OWNER, targets=20)
        left.append(next(f.left["income"][0] for f in result.findings if f.name == "averaging" and f.left))
    assert left == pytest.approx([left[0]] * 3, rel=0.1)


def test_compare_undoes_the_order_too(made, rows):
    with pytest.raises(UsageError, match="give the key of its owner"):
        sf.compare(rows, made[1])
    plain, shuffled = sf.compare(rows, made[0]), sf.compare(rows, made[1], key=OWNER)
    assert plain.trees[0]["agreement"] == pytest.approx(shuffled.trees[0]["agreement"])


def test_rows_of_entities_are_shuffled_too(table, tmp_path):
    plan = sf.plan(table, target="ward", identifier="who", privacy=0.5)
    plain, shuffled = (
        sf.release(table, plan, tmp_path / str(s), key=OWNER, shuffle=s, name="people") for s in (False, True)
    )
    order = RowOrder.of(OWNER, shuffled.manifest.salt).rows(ROWS)
    assert plain.to_arrow().take(order).equals(shuffled.to_arrow())
    assert sf.audit(shuffled, table, key=OWNER, targets=10).rows == ROWS


def test_a_guided_method_keeps_the_order_of_its_table(rows, tmp_path):
    assert not sf.release(rows, None, tmp_path / "a", target="ward", method="class-random").manifest.shuffled
    with pytest.raises(UsageError, match="shuffle the table's rows first"):
        sf.release(rows, None, tmp_path / "b", target="ward", method="class-random", shuffle=True)


def test_engines_that_do_not_gather_rows_refuse_to_undo_it(made, rows):
    with pytest.raises(UsageError, match=r"only engine=Local\(\) puts them in order again"):
        sf.audit(made[1], rows, key=OWNER, engine=Local(gathers=False))


def test_the_command_line_shuffles_and_audits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(cli, ["release", "iris", "-o", "r", "--privacy", "0.5", "--shuffle"]).exit_code == 0
    assert run(cli, ["audit", "iris", "r", "--targets", "10"]).exit_code == 0, "the key lies where release left it"
    (tmp_path / "sfumato.key").rename(tmp_path / "owner.key")
    refused = run(cli, ["audit", "iris", "r"])
    assert refused.exit_code == 2
    assert "give the key of its owner with --key" in refused.stderr
    assert run(cli, ["audit", "iris", "r", "--key", "owner.key", "--targets", "10"]).exit_code == 0
    assert run(cli, ["compare", "iris", "r", "--key", "owner.key"]).exit_code == 0


def test_buckets_hand_rows_out_by_their_words_and_equal_words_as_they_came(tmp_path: Path):
    words = np.random.default_rng(2).integers(0, 2**63, 5000).astype(np.uint64)
    words[100:200] = words[0]
    numbers = pa.array(np.arange(5000))
    with open_buckets(tmp_path, pa.schema([("n", pa.int64())])) as buckets:
        for begin in range(0, 5000, 700):
            part = pa.RecordBatch.from_arrays([numbers.slice(begin, 700)], ["n"])
            buckets.put(part, words[begin : begin + 700])
        out = pa.Table.from_batches(list(buckets.read()))["n"].to_numpy()
    np.testing.assert_array_equal(out, np.argsort(words, kind="stable"))
    assert not list(tmp_path.iterdir())

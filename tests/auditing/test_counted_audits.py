"""Comparisons and audits of tables that an engine holds: the same findings, as far as the sample reaches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.auditing.comparison import compare
from sfumato.auditing.runner import audit
from sfumato.auditing.utility import count_distances
from sfumato.engines import Local
from sfumato.errors import DataError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releases.reader import gather_sample
from sfumato.releasing import release

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    plan = Plan.propose("iris", target="class", noise="gaussian", privacy=0.5)
    return release("iris", plan, tmp_path_factory.mktemp("r") / "r", key=KEY)


def plain(found: dict) -> dict:
    found = dict(found)
    found.pop("seconds")
    found["utility"] = {k: v for k, v in found["utility"].items() if k != "all_rows"}
    return found


@pytest.mark.slow
def test_an_audit_by_an_engine_finds_the_same_where_all_rows_are_seen(made: Release) -> None:
    whole, counted = audit("iris", made, targets=50), audit("iris", made, targets=50, engine=Local(2, gathers=False))
    assert plain(whole.to_dict()) == plain(counted.to_dict())
    every = counted.to_dict()["utility"]["all_rows"]
    for name, about in whole.to_dict()["utility"]["distributions"].items():
        assert every[name]["rows"] == 150
        assert 0 <= every[name]["total_variation"] <= 1
        assert set(about) & set(every[name])


@pytest.mark.slow
def test_an_audit_of_some_rows_says_so_and_names_rows_of_the_table(made: Release) -> None:
    found = audit("iris", made, targets=20, engine=Local(gathers=False), sample=60)
    assert found.rows == 60
    assert "60 of 150 rows" in found.notes["rows"]
    assert max(int(r) for r in found.exposure.worst) >= 60


def test_distances_over_all_rows_are_those_of_hand_counted_shares(tmp_path: Path) -> None:
    n = 4000
    x = np.repeat([0, 1, 2, 3], n // 4)
    pq.write_table(pa.table({"x": pa.array(x).cast(pa.string())}), tmp_path / "t.parquet")
    plan = Plan.propose(tmp_path / "t.parquet", noise="substitution", options={"gamma": "4"})
    made = release(tmp_path / "t.parquet", plan, tmp_path / "r", key=KEY)
    about = count_distances(made, tmp_path / "t.parquet", Local(gathers=False))["x"]
    seen = np.bincount(made.read_table()["x"].values.astype(int), minlength=4) / n
    assert about["total_variation_released"] == pytest.approx(np.abs(seen - 0.25).sum() / 2, abs=1e-12)
    assert about["total_variation"] < 0.06


def test_comparisons_by_an_engine_are_the_same_where_all_rows_are_seen(made: Release) -> None:
    whole, counted = compare("iris", made, k=3), compare("iris", made, k=3, engine=Local(gathers=False))
    assert whole.to_dict() == counted.to_dict()
    some = compare("iris", made, k=2, engine=Local(gathers=False), sample=90)
    assert some.notes == ("compared by 90 of 150 rows, chosen by a hash of their numbers",)


def test_samples_do_not_depend_on_how_the_rows_are_parted(made: Release) -> None:
    counted = made.count_table(Local())
    sample = gather_sample(counted, 40)
    whole = made.read_table()
    assert len(sample.rows) == 40
    assert sample.of == 150
    np.testing.assert_array_equal(sample.table.columns[0].values, whole.columns[0].values[sample.rows])
    for rows in (1, 7, 149):
        reader = counted.reader
        parts = [whole.take(np.arange(b, min(b + rows, 150))) for b in range(0, 150, rows)]
        from sfumato.releases.reader import Sampling

        found = [Sampling(reader, 40)(p, np.arange(i * rows, i * rows + p.rows)) for i, p in enumerate(parts)]
        total = found[0]
        for part in found[1:]:
            total = total + part
        np.testing.assert_array_equal(total.rows, sample.rows)


def test_another_table_is_not_compared(made: Release, tmp_path: Path) -> None:
    for engine in (Local(), Local(gathers=False)):
        with pytest.raises(DataError, match="the original has 100 rows and the release 150; give the same table"):
            compare(pq_of(tmp_path), made, engine=engine)


def pq_of(folder: Path) -> Path:
    from sfumato.io import open_table, read_blocks

    whole = pa.Table.from_batches([b.batch for b in read_blocks(open_table("iris"))])
    pq.write_table(whole.slice(0, 100), folder / "fewer.parquet")
    return folder / "fewer.parquet"

"""Folders in folders: partitions give their rows a column, and no row is lost without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sfumato.errors import DataError
from sfumato.io import open_table, read_blocks
from sfumato.io.pieces import cut_into_pieces
from sfumato.plans import Plan
from sfumato.releasing import release


def visits(rows: int, shift: int = 0) -> pa.Table:
    return pa.table(
        {"age": [20 + (shift + i) % 50 for i in range(rows)], "job": [("a", "b")[i % 2] for i in range(rows)]}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for year, place, rows in (("2023", "north", 30), ("2023", "a%20b", 20), ("2024", "__HIVE_DEFAULT_PARTITION__", 50)):
        part = tmp_path / "visits" / f"year={year}" / f"place={place}"
        part.mkdir(parents=True)
        pq.write_table(visits(rows, int(year)), part / "part-0.parquet", row_group_size=8)
    (tmp_path / "visits" / "_SUCCESS").touch()
    return tmp_path / "visits"


def whole(path: Path) -> pa.Table:
    return pa.Table.from_batches([b.batch for b in read_blocks(open_table(path), rows=7)])


def test_partitions_are_columns_as_other_programs_read_them(folder: Path) -> None:
    found = whole(folder)
    theirs = ds.dataset(folder, partitioning=ds.partitioning(flavor="hive")).to_table()
    theirs = theirs.set_column(2, "year", theirs["year"].cast(pa.string())).select(found.column_names)
    order = [(name, "ascending") for name in ("year", "place", "age", "job")]
    assert found.sort_by(order).equals(theirs.sort_by(order))
    assert open_table(folder).rows == found.num_rows == 100
    assert found["place"].to_pylist() == ["a b"] * 20 + ["north"] * 30 + [None] * 50  # by the names of the folders


@pytest.mark.parametrize("columns", [["year"], ["place", "age"], ["job"], ["age", "job", "year", "place"]])
def test_workers_read_the_same_rows_piece_by_piece(folder: Path, columns: list[str]) -> None:
    pieces = cut_into_pieces(open_table(folder), 13, lambda p: [])
    parts = [b for p in pieces for b in p.blocks(columns, 5)]
    assert pa.Table.from_batches([b.batch for b in parts]).equals(whole(folder).select(columns).combine_chunks())
    np.testing.assert_array_equal(np.concatenate([b.row_numbers for b in parts]), np.arange(100))


def test_csv_partitions_are_counted_and_read(tmp_path: Path) -> None:
    for year, rows in (("2023", 4), ("2024", 6)):
        part = tmp_path / "t" / f"year={year}"
        part.mkdir(parents=True)
        (part / "x.csv").write_text("age\n" + "".join(f"{i}\n" for i in range(rows)))
    source = open_table(tmp_path / "t")
    pieces = cut_into_pieces(source, 10, lambda ps: [p.count() for p in ps])
    assert [(p.start, p.count()) for p in pieces] == [(0, 4), (4, 6)]
    assert whole(tmp_path / "t")["year"].to_pylist() == ["2023"] * 4 + ["2024"] * 6


def test_a_partitioned_table_is_planned_and_released_with_its_folders_columns(folder: Path, tmp_path: Path) -> None:
    plan = Plan.propose(folder, noise="gaussian", privacy=0.5)
    assert set(plan.schema.names) == {"age", "job", "year", "place"}
    made = release(folder, plan, tmp_path / "out")
    assert made.manifest.data.rows == 100
    assert made.manifest["place"].missing == 50


def test_a_column_of_the_files_wins_over_that_of_the_folder(tmp_path: Path) -> None:
    part = tmp_path / "t" / "age=99"
    part.mkdir(parents=True)
    pq.write_table(visits(3), part / "p.parquet")
    assert whole(tmp_path / "t").equals(visits(3))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("t/2024/p.parquet", "t/2024 is a folder inside the folder .*NAME=VALUE.*move its files"),
        ("t/year=1/year=2/p.parquet", "two folders give the column 'year'"),
        ("t/year=1/notes.txt", "holds other things .* such as notes.txt"),
        ("t/p.parquet", "need the same columns"),
    ],
)
def test_what_is_unclear_is_refused(tmp_path: Path, make: str, words: str) -> None:
    for path in ("t/year=2023/p.parquet", make):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(visits(3), tmp_path / path)
    with pytest.raises(DataError, match=words):
        open_table(tmp_path / "t")

"""Tables in several files: one table to every reader, whole or in pieces."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sfumato.engines import Local, Target
from sfumato.engines.local import count_groups
from sfumato.engines.worker import NUMBER, PART, Batches, Count, Failed, Fold, Map, NumberedWords, Pieces, Write, unpack
from sfumato.errors import DataError, UsageError
from sfumato.io import open_table, read_blocks
from sfumato.io.outputs import Written, checksum
from sfumato.io.pieces import cut_into_pieces
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.releasing.base import Scope
from sfumato.releasing.entity_ids import EntityWords
from sfumato.releasing.row_by_row import kernel_for


@pytest.fixture
def folder(tmp_path: Path, table: pa.Table) -> Path:
    """The table in three files, the second of which has several row groups."""
    path = tmp_path / "parts"
    path.mkdir()
    for name, begin, end in (("a", 0, 10), ("b", 10, 1200), ("c", 1200, table.num_rows)):
        pq.write_table(table.slice(begin, end - begin), path / f"{name}.parquet", row_group_size=300)
    (path / "_SUCCESS").touch()  # as Spark leaves it
    return path


def whole(source: object) -> pa.Table:
    return pa.Table.from_batches([b.batch for b in read_blocks(open_table(source))])


def test_a_folder_is_read_file_by_file(folder: Path, table: pa.Table) -> None:
    assert whole(folder).equals(table)
    assert open_table(folder).rows == table.num_rows


def test_pieces_hold_every_row_once_with_its_number(folder: Path, table: pa.Table, tmp_path: Path) -> None:
    for rows in (1_000_000, 700, 77):
        found = cut_into_pieces(open_table(folder), rows, lambda pieces: [])
        parts = [b for p in found for b in p.blocks(table.column_names, 50)]
        assert pa.Table.from_batches([b.batch for b in parts]).equals(table)
        np.testing.assert_array_equal(np.concatenate([b.row_numbers for b in parts]), np.arange(table.num_rows))
        assert sum(p.count() for p in found) == table.num_rows
    csvs = tmp_path / "csvs"
    csvs.mkdir()
    pacsv.write_csv(table.slice(0, 40), csvs / "1.csv")
    pacsv.write_csv(table.slice(40, 60), csvs / "2.csv")
    found = cut_into_pieces(open_table(csvs), 10, lambda pieces: [p.count() for p in pieces])
    assert [(p.start, p.count()) for p in found] == [(0, 40), (40, 60)]


def test_a_folder_gives_the_release_of_the_table(
    folder: Path, table: pa.Table, plan: Plan, owner: SecretKey, tmp_path: Path
) -> None:
    one = release(table, plan, tmp_path / "one", key=owner)
    many = release(folder, plan, tmp_path / "many", key=owner, engine=Local(2), block_rows=130)
    assert one.data_path.read_bytes() == many.data_path.read_bytes()


def test_folders_that_are_no_table_say_what_is_wrong(folder: Path, tmp_path: Path, table: pa.Table) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="name the file or folder in it"):
        open_table(tmp_path / "empty")
    pq.write_table(table.select(table.column_names[:2]), folder / "d.parquet")
    with pytest.raises(DataError, match="need the same columns"):
        open_table(folder)
    (folder / "d.parquet").unlink()
    (folder / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="holds other things"):
        open_table(folder)


def test_the_checksum_of_a_folder_is_that_of_the_list_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "data.parquet"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / name).write_text(name * 3)
    lines = "".join(f"{hashlib.sha256(n.encode() * 3).hexdigest()}  {n}\n" for n in "ab")
    assert checksum(folder) == hashlib.sha256(lines.encode()).hexdigest()
    listed = subprocess.run(
        "sha256sum * | sha256sum", shell=True, cwd=folder, capture_output=True, text=True, check=True
    )
    assert listed.stdout.split()[0] == checksum(folder)
    parts = [Written("b", "parquet", 2, 3, "x"), Written("a", "parquet", 5, 4, "y")]
    made = Written.folder("data.parquet", parts)
    assert (made.rows, made.bytes, made.parts, made.format) == (7, 7, 2, "parquet")
    assert made == Written.folder("data.parquet", parts[::-1])


def handed(rows: int) -> list[pa.RecordBatch]:
    """What a cluster hands a worker: numbers of pieces."""
    return [pa.RecordBatch.from_pydict({"id": list(range(rows))})]


def test_workers_write_fold_and_count_what_one_process_does(
    folder: Path, table: pa.Table, plan_by_id: Plan, owner: SecretKey, tmp_path: Path
) -> None:
    """The part of the cluster that is ours, run here: without Spark, but with its batches."""
    kernel = kernel_for(plan_by_id, owner, Scope("r", "00"))
    names = tuple(dict.fromkeys([c.name for c in kernel.columns] + [str(kernel.identifier)]))
    pieces = tuple(cut_into_pieces(open_table(folder), 400, lambda p: []))
    rows = Pieces(pieces, names, 150)
    target = tmp_path / "data.parquet"
    target.mkdir()
    results = [
        unpack(b.column("result")[0].as_py())
        for b in Write(rows, kernel, Target(target, "parquet", kernel.schema))(handed(len(pieces)))
    ]
    alone = release(table, plan_by_id, tmp_path / "alone", key=owner)
    assert whole(target).equals(alone.to_arrow())
    assert sorted(p.name for p in target.iterdir()) == [w.file for w, _ in results]
    tally = results[0][1]
    for _, more in results[1:]:
        tally = tally + more
    assert {n: alone.manifest[n].missing for n in tally.missing} == dict(tally.missing)
    count = next(iter(Fold(rows, EntityWords(str(kernel.identifier), kernel.entity_key))(handed(1))))
    assert len(unpack(count.column("result")[0].as_py())) == 10
    words = pa.Table.from_batches(
        list(Map(rows, NumberedWords(EntityWords(str(kernel.identifier), kernel.entity_key)))(handed(len(pieces))))
    )
    assert words["row"].to_pylist() == list(range(table.num_rows))
    assert count_groups([words["word"].to_numpy().view(np.uint64)]) == (table.num_rows, 1)
    assert [unpack(b.column("result")[0].as_py()) for b in Count(pieces)(handed(2))] == [p.count() for p in pieces[:2]]


def test_an_error_for_a_person_comes_back_as_a_result(folder: Path, table: pa.Table) -> None:
    def refuse(block: object) -> int:
        raise DataError("age, row 7: 300 is outside [0, 120]")

    pieces = tuple(cut_into_pieces(open_table(folder), 400, lambda p: []))
    batches = list(Fold(Pieces(pieces, tuple(table.column_names), 100), refuse)(handed(len(pieces))))
    assert len(batches) == 1
    failed = unpack(batches[0].column("result")[0].as_py())
    assert isinstance(failed, Failed)
    assert str(failed.error) == "age, row 7: 300 is outside [0, 120]"


def handed_over(x: list[float], numbers: list[int | None]) -> pa.RecordBatch:
    kinds = pa.schema([("x", pa.float64()), (NUMBER, pa.int64()), (PART, pa.int64())])
    return pa.RecordBatch.from_pydict({"x": x, NUMBER: numbers, PART: [4] * len(x)}, kinds)


def test_rows_that_a_cluster_hands_over_keep_their_numbers() -> None:
    batches = [handed_over([1.0, 2.0], [7, 3]), handed_over([], []), handed_over([5.0], [9])]
    ((part, rows),) = Batches(("x",), "at").parts(batches)
    found = list(rows)
    assert part == 4
    assert np.concatenate([b.row_numbers for b in found]).tolist() == [7, 3, 9]
    assert [b.batch.column("x").to_pylist() for b in found if b.rows] == [[1.0, 2.0], [5.0]]
    assert list(Batches(("x",), "at").parts([])) == []


@pytest.mark.parametrize(("number", "words"), [(None, "a row has no number"), (-2, "the row number -2 is negative")])
def test_a_worker_sends_back_that_a_row_number_is_none(number: int | None, words: str) -> None:
    batches = [handed_over([1.0], [7]), handed_over([2.0, 3.0], [8, number])]
    (failed,) = Fold(Batches(("x",), "at"), lambda block: block.rows)(batches)
    error = unpack(failed.column("result")[0].as_py()).error
    assert isinstance(error, DataError)
    assert str(error).startswith(f"at: {words}; ")


def test_pieces_of_a_table_in_memory_are_refused(table: pa.Table) -> None:
    with pytest.raises(UsageError, match="distant workers read files"):
        cut_into_pieces(open_table(table), 10, lambda p: [])


def test_a_release_with_a_data_folder_is_a_release(
    folder: Path, plan: Plan, owner: SecretKey, tmp_path: Path, table: pa.Table
) -> None:
    """Made by hand from one that has a file: what a cluster writes."""
    made = release(table, plan, tmp_path / "r", key=owner)
    data = made.data_path
    content = pq.read_table(data)
    data.unlink()
    data.mkdir()
    for number, begin in enumerate((0, 500)):
        part = content.slice(begin, 500 if number == 0 else content.num_rows)
        pq.write_table(part, data / f"part-{number:05d}.parquet")
    text = (tmp_path / "r/manifest.json").read_text()
    (tmp_path / "r/manifest.json").write_text(text.replace(made.manifest.data.sha256, checksum(data)))
    opened = Release.open(tmp_path / "r")
    opened.verify()
    assert opened.to_arrow().num_rows == opened.read_table().rows == table.num_rows
    next(data.iterdir()).write_bytes(b"")
    with pytest.raises(DataError, match="checksum"):
        opened.verify()

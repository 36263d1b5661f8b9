"""A wrong cell of a table in several files is named with its file and its row there, on this machine and on workers."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.auditing.comparison import compare
from sfumato.engines import Local
from sfumato.engines.worker import Count, Failed, Fold, Pieces, unpack
from sfumato.errors import CellError, DataError
from sfumato.io import checksum, open_table
from sfumato.io.cells import Encoder
from sfumato.io.pieces import cut_into_pieces
from sfumato.mining.model import mine
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releases.reader import ReadColumn, Reader
from sfumato.releasing import release

ROWS = [f"{i},{20 + i % 50},{'AB'[i % 50 > 25]}" for i in range(90)]


def written(folder: Path, rows: list[str], *, ending: str = "csv") -> Path:
    folder.mkdir(exist_ok=True)
    for place, name in enumerate("abc"):
        text = "id,age,class\n" + "\n".join(rows[30 * place : 30 * place + 30]) + "\n"
        (folder / f"{name}.{ending}").write_text(text)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "t", ROWS)


def spoilt(table: Path, row: int, text: str) -> None:
    written(table, [*ROWS[:row], text, *ROWS[row + 1 :]])


@pytest.mark.parametrize(
    ("row", "place"), [(0, "a.csv, age, row 1"), (30, "b.csv, age, row 1"), (89, "c.csv, age, row 30")]
)
def test_an_owner_learns_the_file_of_a_wrong_cell(tmp_path: Path, table: Path, row: int, place: str) -> None:
    plan = Plan.propose(table, target="class")
    spoilt(table, row, f"{row},212,A")
    for engine in (Local(), Local(2)):
        with pytest.raises(DataError, match=f"{place}: 212 is outside"):
            release(table, plan, tmp_path / "r", engine=engine, block_rows=7)
    assert not (tmp_path / "r").exists()


def test_ids_are_named_with_their_files(tmp_path: Path, table: Path) -> None:
    plan = Plan.propose(table, target="class", identifier="id")
    spoilt(table, 65, ",30,A")
    with pytest.raises(DataError, match=r"c.csv, id, row 6: the id is missing"):
        release(table, plan, tmp_path / "r")


def test_a_miner_learns_the_file_of_a_wrong_cell(tmp_path: Path, table: Path, owner: SecretKey) -> None:
    plan = Plan.propose(table, target="class", noise="gaussian", privacy=0.1)
    made = release(table, plan, tmp_path / "r", format="csv", key=owner)
    model = mine(made)
    # The same release as a folder of files, one of which was spoilt on its way.
    lines = made.data_path.read_text().splitlines()
    made.data_path.unlink()
    folder = tmp_path / "r" / "data.csv"
    folder.mkdir()
    for place, name in enumerate("abc"):
        rows = lines[1 + 30 * place : 31 + 30 * place]
        rows[4] = rows[4] if name != "b" else "abc," * (len(lines[0].split(",")) - 1) + "A"
        (folder / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    manifest = tmp_path / "r/manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace(made.manifest.data.sha256, checksum(folder)), "utf-8")
    with pytest.raises(DataError, match=r"b.csv, .*, row 5: 'abc' is not a number"):
        Release.open(tmp_path / "r").read_table()
    spoilt(table, 40, "40,old,A")
    with pytest.raises(DataError, match=r"b.csv, age, row 11: 'old' is not a number"):
        model.predict(table)
    with pytest.raises(DataError, match=r"b.csv, age, row 11: 'old' is not a number"):
        compare(table, Release.open(tmp_path / "r"))


def test_workers_name_the_file_too(table: Path) -> None:
    made = Plan.propose(table, target="class")
    spoilt(table, 35, "35,212,A")
    pieces = tuple(cut_into_pieces(open_table(table), 10, lambda ps: [p.count() for p in ps]))
    rows = Pieces(pieces, ("age",), 4)
    reader = Reader((ReadColumn(made.schema["age"], None, Encoder(made.schema["age"])),))
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(pieces)))})
    *_, last = Fold(rows, lambda block: reader(block).rows)([numbers])
    failed = unpack(last.column("result")[0].as_py())
    assert isinstance(failed, Failed)
    assert "b.csv, age, row 6: 212 is outside" in str(failed.error)
    assert len(list(Count(pieces)([numbers]))) == 3


def test_an_error_about_a_cell_travels_as_it_is() -> None:
    error = CellError("age", 4, "is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "age, row 5: is wrong"
    assert (again.column, again.row, again.why) == ("age", 4, "is wrong")

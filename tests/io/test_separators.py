"""Tables whose values are parted by other signs than commas, and text in other encodings."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.io import open_table, read_blocks
from sfumato.io.formats.csv_files import CsvSource
from sfumato.io.formats.dialects import detect_separator
from sfumato.io.pieces import cut_into_pieces
from sfumato.randomness import SecretKey

HEADER = ["age", "lab,value", 'the "q" | x', "note; more", "sex"]
ROWS = [
    [str(20 + i % 50), f"{i}.5", f'a "b" {i % 3}', f"first, second;\tthird | {i % 4}", "MF"[i % 2]] for i in range(90)
]


def written(separator: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows([HEADER, *ROWS])
    return text.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz"])
def test_every_separator_is_told_from_the_first_lines(tmp_path: Path, separator: str, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    content = written(separator).encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    source = open_table(path)
    assert source.columns == tuple(HEADER)
    assert [list(r.values()) for b in read_blocks(source, rows=7) for r in b.batch.to_pylist()] == ROWS
    (piece,) = cut_into_pieces(source, 10, lambda _: [])
    assert [list(r.values()) for b in piece.blocks(HEADER) for r in b.batch.to_pylist()] == ROWS


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["a,b", "1,2"], ","),
        (["a;b", "1;2"], ";"),
        (["a;b", "1,5;2,5"], ";"),
        (["a;b;x,y", "1;2;3,5"], ";"),
        (["a;b,c", "1;2,3"], ","),  # either would do: the usual one
        (["a;b,c", "1;2,3,4"], ";"),
        (["a;b,c", "1;2;3,4"], ","),
        (["x|y,b", "1,2"], ","),
        (["x|y", "1"], ","),  # one column, whose name holds a bar
        (["x|y", "1|2"], "|"),
        (["a;b;c"], ";"),
        (['"a;b",c', '"1;2;3",4'], ","),
        (['"a;b;c;d"', "1"], ","),
        (["a\tb", "1\t2", "", "3\t4"], "\t"),
        (["a;b", "1;2", "3"], ";"),  # one ragged row is an error, and no reason to doubt
        (["a;b", '1;"2', "3"], ";"),
        (["a", "1"], ","),
        ([""], ","),
        ([], ","),
    ],
)
def test_the_sign_is_the_one_that_fits_header_and_rows(lines: list[str], separator: str) -> None:
    assert detect_separator([line + "\n" for line in lines]) == separator


def test_a_file_of_tabs_prefers_tabs() -> None:
    assert detect_separator(["a,b\tc,d\n", "1,2\t3,4\n"], "\t") == "\t"


def test_a_folder_may_hold_tables_of_several_separators(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for place, (sign, ending) in enumerate([(",", "csv"), (";", "csv"), ("\t", "tsv")]):
        (folder / f"{place}.{ending}").write_text(written(sign))
    assert sum(b.rows for b in read_blocks(open_table(folder))) == 3 * len(ROWS)


def test_the_same_table_gives_the_same_release_whatever_parts_its_values(tmp_path: Path) -> None:
    files = {}
    for name, sign in {"comma": ",", "semicolon": ";"}.items():
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(written(sign))
    plan = sf.Plan.propose(files["comma"], name="one")
    assert sf.Plan.propose(files["semicolon"], name="one") == plan
    key = SecretKey(bytes(range(32)))
    made = [sf.release(path, plan, tmp_path / name, key=key).to_arrow() for name, path in files.items()]
    assert made[0].equals(made[1])


def test_a_released_csv_is_read_by_commas_whatever_its_names_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a;b"\n' + "".join(f"{'x;y' if i % 2 else 'z;w'}\n" for i in range(30)))
    assert CsvSource(path, "t").columns == ("a;b",)
    made = sf.release(path, sf.Plan.propose(path), tmp_path / "r", key=tmp_path / "k", format="csv")
    assert made.to_arrow().column_names == ["a;b"]
    assert set(made.to_arrow()["a;b"].to_pylist()) <= {"x;y", "z;w"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1;2\n3;4\n", "separated by semicolons?"),
        ("a;b;c\n1,2,3\n4,5,6\n", "separated by semicolons?"),
        ("a\tb\n1,2\n", "separated by tabs?"),
        ("a;b\n1;2\n1;2;3\n", "quote the values that hold semicolons"),
        ("a,b\n1,2\n1,2,3\n", "quote the values that hold commas"),
    ],
)
def test_a_row_that_does_not_fit_names_the_likely_separator(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        list(read_blocks(open_table(path)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "named"), [("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be")]
)
@pytest.mark.parametrize("taken_for", ["utf-8", "latin-1"])
def test_utf_16_is_named_and_read_under_its_name(tmp_path: Path, encoding: str, named: str, taken_for: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;b\n1;2\n".encode(encoding))
    with pytest.raises(DataError, match=f"encoding={named}\\)"):
        open_table(path, taken_for)
    (block,) = read_blocks(open_table(path, named))
    assert block.batch.to_pylist() == [{"größe": "1", "b": "2"}]


def test_latin_1_is_the_guess_where_bytes_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;b\n1;2\n".encode("latin-1"))
    assert open_table(path).columns == ("größe", "b")
    with pytest.raises(DataError, match="encoding=cp1252"):
        open_table(path, "utf-8")

"""Files in the dialects of many programs: bytes in, what is said of them, columns and cells out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, UsageError
from sfumato.io import ReadTable, open_table, read_blocks


def cells(path: Path | str, **options: Any) -> dict[str, list[Any]]:
    """Return the columns as the house reads them."""
    return pa.Table.from_batches([b.batch for b in read_blocks(open_table(path, **options))]).to_pydict()


def notes(path: Path, **options: Any) -> list[str]:
    """Return the codes of what is said of the reading."""
    table = open_table(path, **options)
    assert isinstance(table, ReadTable)
    return [note.code for note in table.notes]


CASES: dict[str, tuple[bytes, dict[str, Any], dict[str, list[Any]], list[str]]] = {
    "a plain file": (b"a,b\n1,x\n2.5,y\n", {}, {"a": ["1", "2.5"], "b": ["x", "y"]}, []),
    "decimal commas between semicolons": (b"a;b\n1,5;x\n-2,25;y\n", {}, {"a": ["1.5", "-2.25"], "b": ["x", "y"]}, ["SF261"]),
    "points between thousands": (b"a;b\n1.234,56;1\n7,00;2\n", {}, {"a": ["1234.56", "7.00"], "b": ["1", "2"]}, ["SF261"]),
    "points between thousands of whole numbers beside decimal commas": (
        b"a;b\n1,50;1.234\n2,25;12\n", {}, {"a": ["1.50", "2.25"], "b": ["1.234", "12"]}, ["SF261"]),
    "the same where thousands are seen elsewhere": (
        b"a;b\n1.001,50;1.234\n2,25;12\n", {}, {"a": ["1001.50", "2.25"], "b": ["1234", "12"]}, ["SF261"]),
    "commas between thousands": (b'a,b\n"1,234.56",x\n7.10,y\n', {}, {"a": ["1234.56", "7.10"], "b": ["x", "y"]}, ["SF261"]),
    "several groups of thousands": (b'a,b\n"1,234,567",x\n"2,000,000",y\n', {}, {"a": ["1234567", "2000000"], "b": ["x", "y"]}, ["SF261"]),
    "spaces of three kinds between thousands": (
        "a;b\n1 234,5;x\n2\u00a0000,5;y\n3\u202f000,5;z\n".encode(), {}, {"a": ["1234.5", "2000.5", "3000.5"], "b": ["x", "y", "z"]}, ["SF261"]),
    "apostrophes between thousands": ("a;b\n1'234.50;x\n2’000.00;y\n".encode(), {}, {"a": ["1234.50", "2000.00"], "b": ["x", "y"]}, ["SF261"]),
    "a minus behind the number": (b"a\tb\n12,50-\tx\n1.000,00\ty\n", {}, {"a": ["-12.50", "1000.00"], "b": ["x", "y"]}, ["SF261"]),
    "commas that could mean both": (b'a,b\n"1,234",x\n"2,500",y\n', {}, {"a": ["1234", "2500"], "b": ["x", "y"]}, ["SF261", "SF262"]),
    "the same, said to be decimals": (b'a,b\n"1,234",x\n"2,500",y\n', {"decimal": ","}, {"a": ["1.234", "2.500"], "b": ["x", "y"]}, ["SF261"]),
    "the same between semicolons": (b"a;b\n1,234;x\n2,500;y\n", {}, {"a": ["1.234", "2.500"], "b": ["x", "y"]}, ["SF261", "SF262"]),
    "points said to be between thousands": (b"a;b\n1.234;x\n5;y\n", {"decimal": ","}, {"a": ["1234", "5"], "b": ["x", "y"]}, ["SF261"]),
    "codes with points beside decimal commas": (b"a;b\n1,5;250.01\n2,5;401.9\n", {}, {"a": ["1.5", "2.5"], "b": ["250.01", "401.9"]}, ["SF261"]),
    "codes with leading zeros": (b"a;b\n1,5;0123\n2,5;0999\n", {}, {"a": ["1.5", "2.5"], "b": ["0123", "0999"]}, ["SF261"]),
    "numbers with words that may mean missing": (b"a;b\n1,5;x\nk.A.;y\n2,5;z\n", {}, {"a": ["1.5", "k.A.", "2.5"], "b": ["x", "y", "z"]}, ["SF261"]),
    "labels that hold commas": (b'a,b\n"red, blue",1\n"green",2\n', {}, {"a": ["red, blue", "green"], "b": ["1", "2"]}, []),
    "German days": (b"d,b\n31.12.2024,1\n1.2.2024,2\n", {}, {"d": ["2024-12-31", "2024-02-01"], "b": ["1", "2"]}, ["SF261"]),
    "British days": (b"d,b\n31/12/2024,1\n01/02/2024,2\n", {}, {"d": ["2024-12-31", "2024-02-01"], "b": ["1", "2"]}, ["SF261"]),
    "American days": (b"d,b\n12/31/2024,1\n01/02/2024,2\n", {}, {"d": ["2024-12-31", "2024-01-02"], "b": ["1", "2"]}, ["SF261"]),
    "days that could be both": (b"d,b\n03/04/2024,1\n01/02/2024,2\n", {}, {"d": ["2024-03-04", "2024-01-02"], "b": ["1", "2"]}, ["SF261", "SF262"]),
    "the same, said to be British": (
        b"d,b\n03/04/2024,1\n01/02/2024,2\n", {"date_format": "%d/%m/%Y"}, {"d": ["2024-04-03", "2024-02-01"], "b": ["1", "2"]}, ["SF261"]),
    "settled by another column": (b"d,e\n03/04/2024,31/01/2024\n", {}, {"d": ["2024-04-03"], "e": ["2024-01-31"]}, ["SF261"]),
    "days with dashes": (b"d,b\n31-12-2024,1\n", {}, {"d": ["2024-12-31"], "b": ["1"]}, ["SF261"]),
    "years of two digits": (b"d,b\n31.12.24,1\n01.01.70,2\n", {}, {"d": ["2024-12-31", "1970-01-01"], "b": ["1", "2"]}, ["SF261"]),
    "months by name": (b"d,b\n31 Dec 2024,1\n1 March 2024,2\n", {}, {"d": ["2024-12-31", "2024-03-01"], "b": ["1", "2"]}, ["SF261"]),
    "days of Stata": (b"d,b\n31dec2024,1\n01mar2024,2\n", {}, {"d": ["2024-12-31", "2024-03-01"], "b": ["1", "2"]}, ["SF261"]),
    "days of SAP": (b"d,b\n20241231,1\n20240301,2\n", {}, {"d": ["2024-12-31", "2024-03-01"], "b": ["1", "2"]}, ["SF261"]),
    "numbers of eight digits": (b"d,b\n20241331,1\n20240301,2\n", {}, {"d": ["20241331", "20240301"], "b": ["1", "2"]}, []),
    "timestamps": (b"d,b\n2024-12-31 23:59:59,1\n2024-01-01 00:00:00,2\n", {}, {"d": ["2024-12-31", "2024-01-01"], "b": ["1", "2"]}, ["SF261", "SF263"]),
    "timestamps with zones": (
        b"d,b\n2024-12-31T23:59:59.123+01:00,1\n2024-01-01T00:00:00Z,2\n", {}, {"d": ["2024-12-31", "2024-01-01"], "b": ["1", "2"]}, ["SF261", "SF263"]),
    "American timestamps": (b"d,b\n12/31/2024 11:59 PM,1\n", {}, {"d": ["2024-12-31"], "b": ["1"]}, ["SF261", "SF263"]),
    "midnights, of which nothing is lost": (b"d,b\n31.12.2024 00:00:00,1\n", {}, {"d": ["2024-12-31"], "b": ["1"]}, ["SF261"]),
    "days that are in no calendar": (b"d,b\n31.02.2024,1\n1.2.2024,2\n", {}, {"d": ["31.02.2024", "1.2.2024"], "b": ["1", "2"]}, []),
    "a byte-order mark": (b"\xef\xbb\xbfa,b\n1,2\n", {}, {"a": ["1"], "b": ["2"]}, []),
    "Latin-1": ("größe,b\nÄ,1\n".encode("latin-1"), {}, {"größe": ["Ä"], "b": ["1"]}, ["SF261"]),
    "the euro of Windows": ("a,b\n5 €,1\n".encode("cp1252"), {}, {"a": ["5 €"], "b": ["1"]}, ["SF261"]),
    "UTF-16": ("größe\tb\nÄ\t1\n".encode("utf-16"), {}, {"größe": ["Ä"], "b": ["1"]}, ["SF261"]),
    "UTF-16 without a mark": ("a;b\nÄ;1\n".encode("utf-16-le"), {}, {"a": ["Ä"], "b": ["1"]}, ["SF261"]),
    "empty lines before the header": (b"\n\na,b\n1,2\n", {}, {"a": ["1"], "b": ["2"]}, ["SF261"]),
    "comments": (b"# made by a machine\na,b\n1,2\n# half way\n3,4\n", {}, {"a": ["1", "3"], "b": ["2", "4"]}, ["SF261"]),
    "a comment in a quoted value": (b'# x\na,b\n1,"y\n# z"\n', {}, {"a": ["1"], "b": ["y\n# z"]}, ["SF261"]),
    "a header that begins with #": (b"#a,b\n1,2\n", {}, {"#a": ["1"], "b": ["2"]}, []),
    "comments with another sign": (b"a,b\n1,2\n% 3,4\n", {"comment": "%"}, {"a": ["1"], "b": ["2"]}, ["SF261"]),
    "a title": (b"List of items\nprinted today\n\na;b\n1;x\n2;y\n", {}, {"a": ["1", "2"], "b": ["x", "y"]}, ["SF261"]),
    "a title that is said": (b"List, of, items\na,b\n1,x\n", {"skip_rows": 1}, {"a": ["1"], "b": ["x"]}, ["SF261"]),
    "the separator that Excel states": (b"sep=|\na|b\n1|2\n", {}, {"a": ["1"], "b": ["2"]}, ["SF261"]),
    "quotes around everything": (b'"a";"b"\n"1,5";"x;y"\n"2,5";"a ""b"""\n', {}, {"a": ["1.5", "2.5"], "b": ["x;y", 'a "b"']}, ["SF261"]),
    "a separator that is said": (b"a:b\n1:2\n", {"delimiter": ":"}, {"a": ["1"], "b": ["2"]}, ["SF261"]),
    "a tab by its name": (b"a\tb\n1\t2\n", {"delimiter": "tab"}, {"a": ["1"], "b": ["2"]}, ["SF261"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_dialect_gives_the_cells_that_its_author_meant(tmp_path: Path, case: str) -> None:
    content, options, expected, said = CASES[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert cells(path, **options) == expected
    assert notes(path, **options) == said


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_a_compressed_file_is_read_as_the_file(tmp_path: Path, ending: str) -> None:
    content = CASES["points between thousands"][0]
    path = tmp_path / f"t.csv{ending}"
    with pa.OSFile(str(path), "wb") as file:
        codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}[ending]
        with pa.CompressedOutputStream(file, codec) as packed:
            packed.write(content)
    assert cells(path) == CASES["points between thousands"][2]
    path.write_bytes(path.read_bytes()[:12])
    with pytest.raises(DataError, match=r"t\.csv.* cannot be read.*complete"):
        cells(path)


def test_what_decides_may_stand_far_down(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("d,b\n" + "01/02/2024,1\n" * 70_000 + "13/02/2024,1\n")
    assert cells(path)["d"][0] == "2024-02-01"
    assert notes(path) == ["SF261"]


def test_a_decimal_point_among_decimal_commas_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1,5;x\n" * 750_000 + "12.5;x\n")
    with pytest.raises(DataError, match=r"a, row 750001: '12\.5' has a decimal point"):
        cells(path)


def test_times_of_typed_columns_are_left_out_with_a_note(tmp_path: Path) -> None:
    instants = pa.array([1577836800, 1577855167], pa.timestamp("s", tz="UTC"))
    table = open_table(pa.table({"x": instants}))
    assert isinstance(table, ReadTable)
    assert [n.code for n in table.notes] == ["SF261", "SF263"]
    assert [str(v) for v in cells(table)["x"]] == ["2020-01-01", "2020-01-01"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "ab"}, "delimiter='ab' is not one sign"),
        ({"decimal": "x"}, "decimal='x' is not a decimal sign"),
        ({"decimal": ",", "thousands": ","}, "cannot be both"),
        ({"thousands": "x"}, "thousands='x' is not known"),
        ({"date_format": "%d.%m"}, "does not name a day, a month and a year"),
        ({"date_format": "%Q%d.%m.%Y"}, "%Q is not read"),
        ({"comment": "##"}, "is not one sign"),
        ({"skip_rows": -1}, "below 0"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
    ],
)
def test_an_impossible_reading_is_refused_in_one_line(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError) as caught:
        open_table(path, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_format_that_no_column_has_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no column holds days as %d/%m/%Y"):
        open_table(path, date_format="%d/%m/%Y")


def test_a_file_of_two_encodings_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\ncafé,1\n".encode() + "café,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="column 'a', row 2: byte 0xe9 is not utf-8 text"):
        cells(path)


def test_a_plan_remembers_the_reading_and_releases_by_it(tmp_path: Path) -> None:
    path, plan = tmp_path / "t.csv", tmp_path / "plan.toml"
    rows = "".join(f"{i % 28 + 1:02d}/{i % 12 + 1:02d}/2024;1.{i:03d},50;{'ab'[i % 2]}\n" for i in range(60))
    path.write_bytes(("día;coste;clase\n" + rows).encode("cp1252"))
    proposal = sf.plan(path, target="clase")
    plan.write_text(proposal.to_toml("t.csv"), "utf-8")
    loaded = sf.Plan.load(plan)
    assert loaded.reading is not None
    assert loaded.reading == proposal.reading
    assert loaded.reading.to_dict() == {
        "delimiter": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252", "numbers": ["coste"],
        "dates": {"día": "%d/%m/%Y"},
    }  # fmt: skip
    key = sf.SecretKey(bytes(32))
    made = [sf.release(path, p, tmp_path / n, key=key, name="x") for n, p in {"a": loaded, "b": proposal}.items()]
    assert made[0].to_arrow().equals(made[1].to_arrow())
    path.write_text("día,coste,clase\n2024-01-02,1001.5,a\n", "utf-8")
    with pytest.raises(
        DataError, match=r"does not fit the reading in the plan \(semicolons between fields.*\[reading\]"
    ):
        sf.release(path, loaded, tmp_path / "c", key=key)


def test_a_plan_without_a_reading_is_one_of_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,c\n" + "".join(f"{i}.5,{'xy'[i % 2]}\n" for i in range(30)))
    plan = sf.plan(path, target="c")
    assert plan.reading is None
    path.write_text('a,c\n"1,5",x\n"2,5",y\n')
    with pytest.raises(
        DataError, match="a, row 1: '1,5' is not a number; such values look like numbers with decimal commas"
    ):
        sf.release(path, plan, tmp_path / "r", key=sf.SecretKey(bytes(32)))
    sf.release(open_table(path, decimal=","), plan, tmp_path / "r", key=sf.SecretKey(bytes(32)))


def test_a_wrong_reading_in_a_plan_is_refused_in_words(tmp_path: Path) -> None:
    iris = sf.plan("iris").to_dict()
    for reading in (
        1,
        {"x": 1},
        {"numbers": "a"},
        {"dates": ["a"]},
        {"skip_rows": "1"},
        {"numbers": [1]},
        {"decimal": 1},
    ):
        with pytest.raises(UsageError) as caught:
            sf.Plan.from_dict(iris | {"reading": reading})
        assert "\n" not in str(caught.value)


def test_gzipped_json_lines_may_have_other_keys_in_every_line(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson.gz"
    path.write_bytes(gzip.compress(b'{"a": 1, "b": "x"}\n\n{"a": 2.5, "c": {"d": [1]}}\n{"b": 3, "c": null}\n'))
    assert cells(path) == {"a": [1.0, 2.5, None], "b": ["x", None, "3"], "c": [None, '{"d": [1]}', None]}

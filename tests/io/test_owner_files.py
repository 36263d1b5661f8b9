"""What owners have, read as it is meant: twelve files with their truth, one table in all formats, databases, standard input."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.support.owner_files import MAKERS, OwnerFile, csv_text, number_text
from tests.support.spreadsheet import write_workbook

import sfumato as sf
from sfumato.errors import DataError, SfumatoError, UsageError
from sfumato.io import open_table, read_blocks
from sfumato.io.formats.streams import spool

ABSENT = (None, "", "NA")


def cells(table: Any, **options: Any) -> dict[str, list[Any]]:
    return pa.Table.from_batches([b.batch for b in read_blocks(open_table(table, **options))]).to_pydict()


def means(cell: Any, truth: Any) -> bool:
    """Return whether a cell says what is true."""
    if truth is None:
        return cell in ABSENT
    if isinstance(truth, int | float):
        return float(cell) == truth
    text = str(cell).lower() if isinstance(cell, bool) else str(cell)
    return text == str(truth)


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_no_cell_of_an_owners_file_is_misread(make: Callable[[Path], OwnerFile], tmp_path: Path) -> None:
    made = make(tmp_path)
    read = cells(made.table)
    assert set(read) == set(made.truth)
    for name, column in made.truth.items():
        wrong = [(row, c, t) for row, (c, t) in enumerate(zip(read[name], column, strict=True)) if not means(c, t)]
        assert not wrong[:3], name


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_the_plan_of_an_owners_file_knows_its_numbers_and_days(
    make: Callable[[Path], OwnerFile], tmp_path: Path
) -> None:
    made = make(tmp_path)
    plan = sf.plan(made.table, target=made.target)
    assert not [name for name in made.identifying if plan.schema[name].released]
    for name, column in made.truth.items():
        first = next(v for v in column if v is not None)
        if plan.schema[name].released and name != made.target:
            assert (plan.schema[name].kind is sf.Kind.DATE) == isinstance(first, date), name
            assert plan.schema[name].kind.numeric or not isinstance(first, float), name
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(), "utf-8")
    assert sf.Plan.load(path).reading == plan.reading
    assert [n.code for n in plan.warnings if n.code == "SF261"] == (["SF261"] if plan.reading else [])


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_making_an_owners_file_again_gives_the_same_table(make: Callable[[Path], OwnerFile], tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    assert make(folders[0]).truth == make(folders[1]).truth


def one_table(folder: Path) -> dict[str, str]:
    """Write one table in every format; return what to open."""
    rows = 240
    truth: dict[str, list[Any]] = {
        "day": [date(2024, 1 + i % 12, 1 + i % 28) for i in range(rows)],
        "cost": [round(0.5 + 37.25 * i, 2) for i in range(rows)],
        "age": [18 + 7 * i % 60 for i in range(rows)],
        "town": [("Köln", "Suhl", "Lyon")[i % 3] for i in range(rows)],
        "class": ["ab"[i % 2] for i in range(rows)],
    }
    german = truth | {
        "day": [d.strftime("%d.%m.%Y") for d in truth["day"]],
        "cost": [number_text(v, ",", ".") for v in truth["cost"]],
    }
    table = pa.table(truth)
    pa.csv.write_csv(table, folder / "plain.csv")
    (folder / "german.csv").write_bytes(csv_text(german, ";").encode("cp1252"))
    (folder / "unicode.txt").write_bytes(csv_text(german, "\t").encode("utf-16"))
    (folder / "report.csv").write_bytes(("# a\nTitle\n\n" + csv_text(german, "|")).encode())
    pa.parquet.write_table(table, folder / "t.parquet")
    pa.feather.write_feather(table, folder / "t.feather")
    with pa.OSFile(str(folder / "t.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    (folder / "t.jsonl").write_text("".join(_json_line(row) for row in table.to_pylist()), "utf-8")
    write_workbook(folder / "t.xlsx", {"t": [list(truth), *zip(*truth.values(), strict=True)]})
    with sqlite3.connect(folder / "t.db") as database:
        database.execute('CREATE TABLE t (day TEXT, cost REAL, age INTEGER, town TEXT, "class" TEXT)')
        database.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)", zip(map(str, truth["day"]), *list(truth.values())[1:], strict=True)
        )
    database.close()
    files = (
        "plain.csv",
        "german.csv",
        "unicode.txt",
        "report.csv",
        "t.parquet",
        "t.feather",
        "t.arrows",
        "t.jsonl",
        "t.xlsx",
    )
    return {name: str(folder / name) for name in files} | {
        "sqlite": f"sqlite:///{folder / 't.db'}?query=SELECT * FROM t"
    }


def _json_line(row: dict[str, Any]) -> str:
    import json

    return json.dumps(row, default=str, ensure_ascii=False) + "\n"


def test_one_table_in_all_formats_gives_one_plan_and_the_same_released_bytes(tmp_path: Path) -> None:
    tables = one_table(tmp_path)
    plans = {name: sf.plan(table, target="class", name="one") for name, table in tables.items()}
    assert all(plan == plans["plain.csv"] for plan in plans.values()), plans
    key = sf.SecretKey(bytes(range(32)))
    made = {
        name: sf.release(table, plans[name], tmp_path / f"r-{name}", key=key, format="csv")
        for name, table in tables.items()
    }
    assert len({(tmp_path / f"r-{name}" / "data.csv").read_bytes() for name in made}) == 1
    assert len({(tmp_path / f"r-{name}" / "manifest.json").read_text() for name in made}) == 1


def test_a_model_and_an_audit_read_the_original_in_its_own_dialect(tmp_path: Path) -> None:
    tables = one_table(tmp_path)
    key = sf.SecretKey(bytes(32))
    made = sf.release(tables["german.csv"], None, tmp_path / "r", target="class", privacy=0.5, key=key)
    audits = [sf.audit(made, tables[name], targets=20, key=key).to_dict() for name in ("german.csv", "t.parquet")]
    assert audits[0]["promised"] == audits[1]["promised"]
    assert [a["success"] for a in audits[0]["attacks"]] == [a["success"] for a in audits[1]["attacks"]]
    model = sf.mine(made, "randomized")
    predicted = [sf.predict(model, tables[name]) for name in ("german.csv", "t.xlsx", "sqlite")]
    assert predicted[0].equals(predicted[1])
    assert predicted[0].equals(predicted[2])


def run(*words: str, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "sfumato", *words]
    return subprocess.run(
        command, input=stdin, cwd=folder, capture_output=True, check=False, env=os.environ | {"TMPDIR": str(folder)}
    )


def test_the_command_line_shows_overrides_and_remembers_a_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "d;x;class\n"
        + "".join(f"{1 + i % 12:02d}/{1 + i % 11:02d}/2024;1,{100 + i};{'ab'[i % 2]}\n" for i in range(60))
    )
    ran = run("plan", "t.csv", "-o", "plan.toml", folder=tmp_path)
    told = ran.stderr.decode()
    assert ran.returncode == 0, told
    assert "read as: semicolons between fields, decimal commas (x), days as 31/12/2024 (d) [SF261]" in told
    assert "give --date-format %m/%d/%Y [SF262]" in told
    assert "give --decimal . [SF262]" in told
    ran = run("plan", "t.csv", "-o", "us.toml", "--date-format", "%m/%d/%Y", "--decimal", ".", folder=tmp_path)
    assert "SF262" not in ran.stderr.decode()
    for name in ("plan", "us"):
        ran = run("release", "t.csv", "--plan", f"{name}.toml", "-o", name, folder=tmp_path)
        assert ran.returncode == 0, ran.stderr.decode()
    days, numbers = (sf.Plan.load(tmp_path / f"{n}.toml").schema["d"].interval for n in ("plan", "us"))
    assert days != numbers
    ran = run("audit", "t.csv", "us", "--date-format", "%m/%d/%Y", "--decimal", ".", "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr.decode()
    ran = run("audit", "t.csv", "us", folder=tmp_path)
    assert "give --date-format %m/%d/%Y [SF262]" in ran.stderr.decode()


def test_standard_input_is_read_twice_and_leaves_nothing_behind(tmp_path: Path) -> None:
    tables = one_table(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    for name in ("german.csv", "t.parquet", "t.jsonl", "t.xlsx", "t.feather"):
        ran = run("release", "-", "-o", f"from-{name}", "--target", "class", "--privacy", "0.5", "--key", "k", "--again", folder=tmp_path,
                  stdin=Path(tables[name]).read_bytes())  # fmt: skip
        assert ran.returncode == 0, ran.stderr.decode()
        shutil.rmtree(tmp_path / f"from-{name}")
    assert [n for n in sorted(p.name for p in tmp_path.iterdir()) if n not in before and not n.startswith("k")] == []
    ran = run("plan", "-", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.decode().strip() == "error: standard input is empty; a table needs a header and at least one row"


def test_what_is_spooled_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"a,b\n1,2\n")
    with path.open("rb") as stream:
        copy = spool(stream)
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777, copy.suffix) == (0o600, 0o700, ".csv")


WORKBOOKS: dict[str, tuple[dict[str, list[list[Any]]], dict[str, Any], dict[str, list[Any]]]] = {
    "numbers and texts": ({"t": [["a", "b"], [1, "x"], [2.5, None]]}, {}, {"a": [1.0, 2.5], "b": ["x", None]}),
    "whole numbers": ({"t": [["a", "b"], [1, True], [2, False]]}, {}, {"a": [1, 2], "b": [True, False]}),
    "numbers among texts": ({"t": [["a", "b"], [1, 1], ["k.A.", 2.5]]}, {}, {"a": ["1", "k.A."], "b": [1.0, 2.5]}),
    "days": ({"t": [["a", "b"], [date(2024, 12, 31), 1]]}, {}, {"a": [date(2024, 12, 31)], "b": [1]}),
    "days as texts": ({"t": [["a", "b"], ["31.12.2024", "1.234,50"]]}, {}, {"a": ["2024-12-31"], "b": ["1234.50"]}),
    "a title and empty rows": ({"t": [["Report"], [], ["a", "b"], [1, 2], [None, None], [3, 4]]}, {}, {"a": [1, 3], "b": [2, 4]}),
    "the second sheet": ({"s": [["x", "y"], [1, 2]], "t": [["a", "b"], [1, 2]]}, {"sheet": "t"}, {"a": [1], "b": [2]}),
    "the second sheet by number": ({"s": [["x", "y"], [1, 2]], "t": [["a", "b"], [1, 2]]}, {"sheet": "2"}, {"a": [1], "b": [2]}),
    "an empty first sheet": ({"s": [], "t": [["a", "b"], [1, 2]]}, {}, {"a": [1], "b": [2]}),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKBOOKS)
def test_a_workbook_gives_the_cells_that_excel_shows(tmp_path: Path, case: str) -> None:
    sheets, options, expected = WORKBOOKS[case]
    assert cells(write_workbook(tmp_path / "t.xlsx", sheets), **options) == expected


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "not a workbook": ("t.xlsx", b"PK\3\4 no", r"t\.xlsx cannot be read as a workbook: .*; is it complete"),
    "not an object": ("t.jsonl", b'{"a": 1}\n[1, 2]\n', r"t\.jsonl, line 2: '\[1, 2\]' is not a JSON object"),
    "half an object": ("t.jsonl", b'{"a": 1}\n{"a": \n', r"t\.jsonl, line 2: '{\"a\":' is not a JSON object"),
    "another encoding": ("t.jsonl", b'{"a": "\xe9"}\n', r"t\.jsonl, after line 0: not utf-8 text"),
    "no line": ("t.jsonl", b"\n", r"t\.jsonl is empty"),
    "not an arrow file": ("t.arrow", b"ARROW1 no", r"t\.arrow cannot be read as Arrow: .*; is it complete"),
    "not a database": ("t.db", b"no database at all", r"t\.db.*: the query fails: .*; fix the query"),
    "an unknown ending": ("t.sav", b"x", r"t\.sav: unsupported extension; convert it to \.csv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_not_what_its_name_says_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    name, content, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        cells(tmp_path / name, query="SELECT * FROM t" if name.endswith(".db") else None)
    assert "\n" not in str(caught.value)


def test_a_sheet_that_is_not_there_is_told_beside_those_that_are(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"s": [["x", "y"], [1, 2]], "t": [["a"], [1]]})
    with pytest.raises(DataError, match="has no sheet 'u'; its sheets are s, t"):
        open_table(path, sheet="u")


def test_a_database_needs_a_query_and_cannot_be_written(tmp_path: Path) -> None:
    one_table(tmp_path)
    for table in (tmp_path / "t.db", f"sqlite:///{tmp_path / 't.db'}"):
        with pytest.raises(UsageError, match="a database with the tables t; say with query= what to read"):
            open_table(table)
        assert cells(table, query="SELECT max(age) AS oldest, 5 % 3 AS rest FROM t") == {"oldest": [77], "rest": [2]}
        with pytest.raises(DataError, match=r"the query fails: not authorized"):
            open_table(table, query="DELETE FROM t")
    with pytest.raises(DataError, match="there is no database"):
        open_table(f"sqlite:///{tmp_path / 'absent.db'}?query=SELECT 1")


def test_duckdb_answers_a_query(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT range AS a, DATE '2024-12-31' AS d FROM range(3)")
    expected = {"a": [0, 1, 2], "d": [date(2024, 12, 31)] * 3}
    assert cells(f"duckdb:///{tmp_path / 't.duckdb'}?query=SELECT * FROM t ORDER BY a") == expected
    assert cells(tmp_path / "t.duckdb", query="SELECT * FROM t ORDER BY a") == expected
    with pytest.raises(DataError, match="the query fails"):
        open_table(tmp_path / "t.duckdb", query="SELECT no")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of our own on a socket, where this machine has the program; it refuses to run as root."""
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    nobody = 65534
    user = {"user": nobody} if os.geteuid() == 0 else {}
    if user:
        os.chown(folder, nobody, nobody)
    data = ["-D", str(folder / "data")]
    subprocess.run(["initdb", "-A", "trust", "-U", "me", *data], check=True, capture_output=True, cwd=folder, **user)
    options = f"-c listen_addresses='' -k {folder}"
    start = ["pg_ctl", *data, "-w", "-l", str(folder / "log"), "-o", options, "start"]
    subprocess.run(start, check=True, capture_output=True, cwd=folder, **user)
    try:
        yield f"postgresql://me:secret@/postgres?host={folder}"
    finally:
        subprocess.run(
            ["pg_ctl", *data, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder, **user
        )
        shutil.rmtree(folder)


def test_postgresql_answers_a_query_and_keeps_its_password(server: str) -> None:
    query = "SELECT g AS a, DATE '2024-12-31' AS d, 'x' AS t FROM generate_series(1, 3) g ORDER BY g"
    assert cells(f"{server}&query={query}") == {"a": [1, 2, 3], "d": [date(2024, 12, 31)] * 3, "t": ["x"] * 3}
    assert "secret" not in open_table(server, query=query).name
    with pytest.raises(DataError, match="the query fails") as caught:
        open_table(server, query="SELECT no")
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="read-only"):
        open_table(server, query="WITH gone AS (DELETE FROM pg_description RETURNING 1 AS a) SELECT a FROM gone")
    with pytest.raises(UsageError, match="begin it with SELECT"):
        open_table(server, query="CREATE TABLE t (a int)")


def test_review_h2_postgresql_runs_no_program_for_a_query(server: str) -> None:
    """The server's user may run programs, and a read-only transaction does not stop COPY."""
    trace = Path(tempfile.mkdtemp(prefix="pg-trace-"))
    trace.chmod(0o777)
    with pytest.raises(SfumatoError):
        open_table(server, query=f"COPY (SELECT 1 AS a) TO PROGRAM 'cat > {trace}/stolen'")
    stolen = (trace / "stolen").exists()
    shutil.rmtree(trace)
    assert not stolen


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("duckdb", "adbc_driver_postgresql"):
        monkeypatch.setitem(sys.modules, package, None)
    for url in (f"duckdb:///{tmp_path / 't.duckdb'}?query=SELECT 1", "postgresql://localhost/t?query=SELECT 1"):
        with pytest.raises(UsageError, match=r"needs a driver that is not installed: install sfumato\[sql\]"):
            open_table(url)


def test_reading_is_imported_when_it_is_used() -> None:
    heavy = "python_calamine", "duckdb", "adbc_driver_postgresql", "sqlite3", "pandas"
    assert all(importlib.util.find_spec(name) for name in heavy)
    script = (
        "import sys, sfumato as sf; sf.open_table; sf.plan('iris', privacy=0.5); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

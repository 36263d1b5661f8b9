"""Whatever is given wrongly: a sentence with the thing, the value and the next step, the exit code, and nothing written."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import main
from sfumato.io.outputs import checksum

ROWS = [
    f"{i},{20 + i % 50},{1000.5 + 13 * i:.2f},{('smith', 'clerk', 'nurse')[i % 3]},2024-01-{1 + i % 28:02d},{'AB'[i % 50 > 25]}"
    for i in range(200)
]
HEAD = "id,age,income,job,seen,class"


def table(row: str | None = None, rows: list[str] = ROWS) -> str:
    """The table, its third row replaced."""
    rows = rows if row is None else [*rows[:2], row, *rows[3:]]
    return "\n".join([HEAD, *rows]) + "\n"


def without(place: int) -> str:
    lines = [HEAD, *ROWS]
    return "\n".join(",".join(c for i, c in enumerate(line.split(",")) if i != place) for line in lines) + "\n"


TABLES: dict[str, str | bytes] = {
    "people.csv": table(),
    "outside.csv": table("2,212,1026.50,nurse,2024-01-03,A"),
    "ragged.csv": table("2,22,1026.50,nurse"),
    "word.csv": table("2,old,1026.50,nurse,2024-01-03,A"),
    "nan.csv": table("2,NaN,1026.50,nurse,2024-01-03,A"),
    "inf.csv": table("2,22,inf,nurse,2024-01-03,A"),
    "job.csv": table("2,22,1026.50,pilot,2024-01-03,A"),
    "day.csv": table("2,22,1026.50,nurse,2024-02-31,A"),
    "quote.csv": table('2,22,1026.50,"nurse,2024-01-03,A'),
    "empty.csv": "",
    "header.csv": HEAD + "\n",
    "twice.csv": "a,a\n1,2\n",
    "unnamed.csv": "a,\n1,2\n",
    "latin.csv": table().replace("smith", "müller").encode("latin-1"),
    "wide.csv": table().encode("utf-16"),
    "lacking.csv": without(1),
    "fewer.csv": table(rows=ROWS[:99]),
    "cut.csv.gz": gzip.compress(table().encode())[:200],
    "spoilt.parquet": b"PAR1 nothing",
    "table.sav": table(),
    "no_key": "hello\n",
    "file": "x",
    "broken.toml": "a = [",
    "model_cut.json": '{"format": "sfumato-model", "ver',
    "model_list.json": "[]",
}


def spoilt_release(folder: Path, name: str, change: Callable[[Path], None]) -> None:
    shutil.copytree(folder / "r", folder / name)
    change(folder / name)


def edited(**fields: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        data = json.loads((folder / "manifest.json").read_text())
        for name, value in fields.items():
            data[name] = value
        (folder / "manifest.json").write_text(json.dumps({k: v for k, v in data.items() if v is not None}))

    return change


def data(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        pq.write_table(change(pq.read_table(folder / "data.parquet")), folder / "data.parquet")
        state_checksum(folder)

    return write


def state_checksum(folder: Path) -> None:
    """Let the manifest speak of the data as it is now."""
    about = json.loads((folder / "manifest.json").read_text())
    about["data"]["sha256"] = checksum(folder / "data.parquet")
    (folder / "manifest.json").write_text(json.dumps(about))


def cut_data(folder: Path) -> None:
    (folder / "data.parquet").write_bytes((folder / "data.parquet").read_bytes()[:-50])


def cut_data_before_the_checksum(folder: Path) -> None:
    cut_data(folder)
    state_checksum(folder)


def cut_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text()[:300])


RELEASES: dict[str, Callable[[Path], None]] = {
    "r_cut": cut_manifest,
    "r_newer": edited(sfumato_manifest=2),
    "r_future": edited(future=1),
    "r_half": edited(attributes=None),
    "r_bytes": lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\x00") and None,
    "r_list": lambda f: (f / "manifest.json").write_text("[]") and None,
    "r_no_data": lambda f: (f / "data.parquet").unlink(),
    "r_cut_data": cut_data,
    "r_made_cut": cut_data_before_the_checksum,
    "r_no_age": data(lambda t: t.drop_columns(["age"])),
    "r_text": data(lambda t: t.set_column(0, "age", pa.array(["x"] * t.num_rows))),
    "r_short": data(lambda t: t.slice(0, 50)),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, content in TABLES.items():
            path = folder / name
            path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        (folder / "no_key").chmod(0o600)
        (folder / "folder").mkdir()
        for command in (
            "plan people.csv --target class --privacy 0.5 -o plan.toml",
            "release people.csv --plan plan.toml -o r --no-shuffle",
            "mine r -o model.json",
        ):
            with pytest.raises(SystemExit) as ended:
                main(command.split())
            assert ended.value.code == 0
        plan = (folder / "plan.toml").read_text()
        plans = {
            "joint": plan.replace("\n[release]", '\n[release]\nmethod = {law = "correlated-gaussian"}'),
            "one_law": plan.replace('law = "gaussian"', 'law = "correlated-gaussian"'),
            "month": plan.replace('"2024-01-01"', '"2024-13-01"'),
            "other": plan.replace('name = "age"', 'name = "Age"'),
        }
        for name, text in plans.items():
            assert text != plan
            (folder / f"{name}.toml").write_text(text)
        model = (folder / "model.json").read_text()
        (folder / "model_new.json").write_text(json.dumps(json.loads(model) | {"version": 9}))
    for name, change in RELEASES.items():
        spoilt_release(folder, name, change)
    return folder


CASES = [
    # tables
    ("plan ragged.csv", 1, "ragged.csv, line 4: 4 values where the header has 6 ('2,22,1026.50,nurse'); fix the row"),
    ("plan quote.csv", 1, "close the quote that the row opens"),
    ("plan empty.csv", 1, "empty.csv is empty; a table needs a header"),
    ("plan header.csv", 1, "header.csv has a header but no rows"),
    ("plan twice.csv", 1, "the column name 'a' occurs twice; rename"),
    ("plan unnamed.csv", 1, "column 2 has no name; name it"),
    ("plan latin.csv --encoding utf-8", 1, "column 'job', row 1: byte 0xfc is not utf-8 text; convert the file, or name its encoding (--encoding cp1252)"),
    ("plan wide.csv --encoding utf-8", 1, "(--encoding utf-16)"),
    ("plan cut.csv.gz", 1, "ended before the end-of-stream marker was reached; is it a complete CSV file?"),
    ("plan spoilt.parquet", 1, "cannot be read as Parquet"),
    ("plan table.sav", 1, "unsupported extension"),
    ("plan nowhere.csv", 1, "no file nowhere.csv"),
    ("plan r", 1, "such as README.md; name the file or folder in it"),
    ("plan people.csv --encoding utf9", 2, "'utf9'; common ones are"),
    # columns and noise
    ("plan people.csv --target clas", 2, "no column 'clas'; its columns are id, age"),
    ("plan people.csv --target class --id class", 2, "class: a column is either the class or the id"),
    ("plan people.csv --noise gausian", 2, "no law 'gausian'; the laws are gaussian"),
    ("plan people.csv --noise=", 2, "no law ''"),
    ("plan people.csv --noise correlated-gaussian", 2, "--method correlated-gaussian"),
    ("release people.csv -o out --noise correlated-gaussian", 2, "--method correlated-gaussian"),
    ("release people.csv -o out --noise leaf-swap", 2, "--method leaf-swap"),
    ("release people.csv -o out --method gaussian", 2, "--noise gaussian"),
    ("release people.csv -o out --method best", 2, "the methods are correlated-gaussian"),
    ("release people.csv -o out --noise square-wave --set epsilon=-1", 2, "epsilon = -1 must be a positive number"),
    ("plan people.csv --privacy inf", 2, "privacy = inf must be a positive number"),
    ("plan people.csv --privacy nan", 2, "privacy = nan"),
    ("plan people.csv --set gamma", 2, "NAME=VALUE"),
    ("release people.csv -o out --workers -3", 2, "-3"),
    # plans
    ("release people.csv -o out --plan joint.toml", 2, "and the plan has none; take the noise line of age, income, seen out of the plan"),
    ("release people.csv -o out --plan one_law.toml", 2, "age: correlated-gaussian is noise for several columns together"),
    ("release people.csv -o out --plan month.toml", 2, "seen: '2024-13-01' is not a date"),
    ("release people.csv -o out --plan other.toml", 2, "nothing about column age of people.csv, and speaks of Age"),
    ("release people.csv -o out --plan broken.toml", 2, "broken.toml is not TOML"),
    ("release people.csv -o out --plan nowhere.toml", 2, "No such file or directory; let one be proposed with: sfumato plan"),
    # cells
    ("release outside.csv -o out --plan plan.toml", 1, "age, row 3: 212 is outside [20, 69]; widen the domain"),
    ("release word.csv -o out --plan plan.toml", 1, "age, row 3: 'old' is not a number; fix it, or list it under missing_values"),
    ("release nan.csv -o out --plan plan.toml", 1, "age, row 3: NaN is not a finite number"),
    ("release inf.csv -o out --plan plan.toml", 1, "income, row 3: inf is not a finite number"),
    ("release job.csv -o out --plan plan.toml", 1, "job, row 3: 'pilot' is not among the declared categories"),
    ("release day.csv -o out --plan plan.toml", 1, "seen, row 3: '2024-02-31' is not a date"),
    ("release lacking.csv -o out --plan plan.toml", 1, "no column age; its columns are id, income, job, seen, class; fix the plan"),
    # keys and outputs
    ("release people.csv -o out --key no_key", 2, "no_key is not a key of this program"),
    ("release people.csv -o out --key folder", 2, "the key folder is a folder; name the key file"),
    ("demo -o out --key nowhere", 2, "the key nowhere cannot be read"),
    ("release people.csv -o r", 1, "r exists already; name another output, or replace it with --force"),
    ("release people.csv -o file/out", 1, "file is a file, not a folder; name another output"),
    ("release people.csv -o file --force", 1, "not something this program wrote"),
    ("plan people.csv -o file/plan.toml", 1, "file is a file, not a folder"),
    ("plan people.csv -o folder --force", 1, "Is a directory; name another output"),
    ("generate agrawal --rows 10 -o file/g.csv", 1, "file is a file, not a folder"),
    ("generate agrawal --rows 10 -o g.csv --plan plan.toml", 1, "plan.toml exists already"),
    ("predict model.json people.csv -o file/p.csv", 1, "file is a file, not a folder"),
    ("reconstruct r --plot file/x.svg", 1, "file is a file, not a folder"),
    ("reconstruct r --plot x.png", 2, "x.png: unsupported extension; use .svg"),
    ("mine r -o new.json --draw people.csv", 2, "use .svg"),
    ("mine r -o new.json --export file/x.sql", 1, "file is a file, not a folder"),
    ("mine r -o model.json --draw new.svg", 1, "model.json exists already"),
    # releases
    ("describe nowhere", 1, "name a folder that `sfumato release` made"),
    ("describe people.csv", 1, "people.csv is a file, not a release folder; make a release with: sfumato release people.csv"),
    ("describe r_cut", 1, "r_cut/manifest.json cannot be read"),
    ("describe r_bytes", 1, "get the release again from the data owner"),
    ("describe r_list", 1, "is not a manifest; get the release again"),
    ("describe r_half", 1, "it lacks 'attributes'; get the release again"),
    ("mine r_newer", 1, "r_newer/manifest.json: the manifest has version 2, and this program reads version 1; update the program"),
    ("cluster r_future", 1, "holds future, which this version does not know; update the program"),
    ("mine r_no_data", 1, "lacks its data file data.parquet"),
    ("cluster r_cut_data", 1, "is not the data the manifest speaks of (checksum); get the release again"),
    ("cluster r_made_cut", 1, "cannot be read as Parquet"),
    ("reconstruct r_no_age", 1, "no column age; its columns are income, job, seen, class; get the release again"),
    ("mine r_text", 1, "age, row 1: 'x' is not a number; get the release again"),
    ("mine r_short", 1, "holds 50 rows, and the manifest states 200; get the release again"),
    ("reconstruct r --attribute Age", 2, "no column 'Age'; the columns are age"),
    ("cluster r -k 0", 2, "k: 0 is not a number of clusters"),
    ("cluster r -k 300", 1, "take a smaller k"),
    # models and originals
    ("predict model_cut.json people.csv -o p.csv", 1, "is not a model of this program"),
    ("predict model_list.json people.csv -o p.csv", 1, "is not a model of this program"),
    ("predict model_new.json people.csv -o p.csv", 1, "of version 9, which this program does not read; update it"),
    ("predict nowhere.json people.csv -o p.csv", 1, "make one with: sfumato mine"),
    ("predict model.json lacking.csv -o p.csv", 1, "no column age; its columns are id, income, job, seen, class; the model needs it"),
    ("predict model.json word.csv -o p.csv", 1, "age, row 3: 'old' is not a number"),
    ("evaluate model.json header.csv", 1, "has a header but no rows"),
    ("compare lacking.csv r", 1, "no column age; its columns are id, income, job, seen, class; give the same table"),
    ("compare fewer.csv r", 1, "the original has 99 rows and the release 200; give the same table"),
    ("compare outside.csv r", 1, "age, row 3: 212 is outside [20, 69]; give the same table"),
    ("compare people.csv r -k 0", 2, "k: 0 is not a number of clusters"),
    ("compare people.csv r --sample 0", 2, "sample: 0 rows cannot be compared"),
    ("audit outside.csv r", 1, "age, row 3: 212 is outside [20, 69]; give the same table"),
    ("audit people.csv r --control lacking.csv", 1, "give people who are not in the release, in a table of the same columns"),
    ("audit people.csv r --key nowhere", 2, "the key nowhere cannot be read"),
    ("tradeoff people.csv --target class --repeats 0", 2, "--repeats 0 must lie between 1 and 1,000"),
    ("tradeoff people.csv --target income", 2, "income: a target of numbers has no classes; cut it into categories first"),
    ("tradeoff people.csv --target class --method leaf-swap", 2, "no single strength to sweep; make a release with --method leaf-swap"),
    ("tradeoff people.csv --target class -o plan.toml", 2, "unsupported extension; use .html or .json"),
]  # fmt: skip


def listing(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*")}


@pytest.mark.parametrize(("command", "code", "words"), CASES, ids=[case[0] for case in CASES])
def test_what_is_wrong_is_named_and_nothing_is_written(
    world: Path, command: str, code: int, words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    before = listing(world)
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    caught = capfd.readouterr()
    assert words in caught.err, caught.err
    assert "Traceback" not in caught.err
    assert (ended.value.code, caught.out) == (code, "")
    after = {name: at for name, at in listing(world).items() if (world / name).is_file()}
    assert after == {name: at for name, at in before.items() if (world / name).is_file()}
    assert set(listing(world)) == set(before)


@pytest.mark.slow
def test_files_of_another_shape_are_refused_whatever_in_them_is_wrong(
    world: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place of a manifest and of a model, spoilt in several ways, ends in words or in a result."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(world / "r", tmp_path / "r")
    shutil.copy(world / "people.csv", tmp_path)
    tried = 0
    for file, command in (("r/manifest.json", "describe r"), ("model.json", "evaluate model.json people.csv")):
        whole = json.loads((world / file).read_text())
        for place in places(whole):
            for value in (None, "x", -1, float("inf"), [], {}):
                (tmp_path / file).write_text(json.dumps(spoilt(whole, place, value)))
                with pytest.raises(SystemExit) as ended:
                    main(command.split())
                assert ended.value.code in (0, 1, 2), (file, place, value)
                tried += 1
    assert tried > 300
    assert "Traceback" not in capfd.readouterr().err


def places(whole: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of nested data; of lists, the first."""
    keys = list(whole) if isinstance(whole, dict) else [0] if isinstance(whole, list) and whole else []
    return [place, *(p for key in keys for p in places(whole[key], (*place, key)))]


def spoilt(whole: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy: Any = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[place[0]] = spoilt(whole[place[0]], place[1:], value)
    return copy

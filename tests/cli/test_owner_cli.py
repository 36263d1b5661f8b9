"""The owner's verbs at the command line: one JSON document, words on stderr, exit codes, and nothing half done."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import main
from sfumato.cli.app import VERBS
from sfumato.releases import Release

PEOPLE = "id,age,income,job,class\n" + "".join(
    f"{i},{20 + i % 50},{1000.5 + 13 * i:.2f},{('smith', 'clerk', 'nurse')[i % 3]},{'AB'[i % 2]}\n" for i in range(200)
)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=pytest.fail)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)

    def call(*arguments: object) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        caught = capfd.readouterr()
        assert "Traceback" not in caught.err
        return Ran(int(ended.value.code or 0), caught.out, caught.err)

    return call


def listing(folder: Path) -> dict[str, bytes | None]:
    """Every file with its content, hidden ones too; the owner's key and ledger aside."""
    return {
        str(p.relative_to(folder)): None if p.is_dir() else p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if not p.name.startswith("sfumato.key")
    }


@pytest.mark.parametrize("verb", ["generate", "plan", "release", "describe"])
def test_help_has_an_example(run: Run, verb: str) -> None:
    shown = run(verb, "--help")
    assert shown.code == 0
    assert f"sfumato {verb}" in shown.out.split("Example:")[1]
    assert "--json" in shown.out
    assert shown.err == ""


def test_the_program_lists_its_verbs_and_its_version(run: Run) -> None:
    shown = run("--help")
    assert shown.code == 0
    assert all(verb in shown.out for verb in VERBS)
    assert run("--version").out.startswith("sfumato")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["release"],
        ["release", "people.csv"],
        ["release", "people.csv", "-o", "r", "--nonsense"],
        ["release", "people.csv", "-o", "r", "--format", "orc"],
        ["release", "people.csv", "-o", "r", "--privacy", "much"],
        ["release", "people.csv", "-o", "r", "--noise", "gausian"],
        ["release", "people.csv", "-o", "r", "--noise", "gaussian", "--set", "sd=3"],
        ["release", "people.csv", "-o", "r", "--set", "sigma"],
        ["release", "people.csv", "-o", "r", "--privacy", "-1"],
        ["release", "people.csv", "-o", "r", "--privacy", "nan"],
        ["release", "people.csv", "-o", "r", "--target", "nobody"],
        ["release", "people.csv", "-o", "r", "--id", "nobody"],
        ["release", "people.csv", "-o", "r", "--plan", "nowhere.toml"],
        ["release", "people.csv", "-o", "r", "--encoding", "klingon"],
        ["release", "people.csv", "-o", "r", "--encoding", "rot13"],
        ["release", "people.csv", "-o", "r", "--key", "r/my.key"],
        ["plan", "people.csv", "--target", "nobody"],
        ["generate", "unknown", "--rows", "5", "-o", "x.csv"],
        ["generate", "agrawal", "--rows", "5", "-o", "x.txt"],
        ["generate", "agrawal", "--rows", "-5", "-o", "x.csv"],
        ["generate", "agrawal", "--rows", "5", "--function", "99", "-o", "x.csv"],
        ["generate", "plateau", "--rows", "5", "--function", "1", "-o", "x.csv"],
    ],
)
def test_wrong_use_exits_with_2_and_writes_nothing(run: Run, tmp_path: Path, arguments: list[str]) -> None:
    before = listing(tmp_path)
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err) > 10
    assert listing(tmp_path) == before


def test_release_prints_one_json_document_and_says_the_rest_on_stderr(run: Run, tmp_path: Path) -> None:
    ran = run("release", "people.csv", "-o", "r", "--target", "class", "--id", "id", "--privacy", "0.5", "--json")
    assert ran.code == 0
    assert ran.json["rows"] == 200
    assert ran.json["output"] == "r"
    assert ran.json["noise_belongs_to"] == "entity"
    assert {a["name"] for a in ran.json["attributes"]} == {"age", "income", "job", "class"}
    assert "new key" in ran.err
    assert "learned from the data" in ran.err
    assert sorted(p.name for p in Path("r").iterdir()) == ["README.md", "data.parquet", "manifest.json"]
    plain = run("release", "people.csv", "-o", "r2", "--target", "class", "--id", "id", "--privacy", "0.5")
    assert plain.code == 0
    assert plain.out == ""
    assert "new key" not in plain.err
    assert Path("r/data.parquet").read_bytes() == Path("r2/data.parquet").read_bytes()
    assert Path("sfumato.key").stat().st_mode & 0o777 == 0o600


def test_plan_edit_release(run: Run) -> None:
    ran = run("plan", "people.csv", "--target", "class", "--id", "id", "--privacy", "0.5", "-o", "plan.toml", "--json")
    assert ran.code == 0
    assert ran.json["output"] == "plan.toml"
    text = Path("plan.toml").read_text("utf-8")
    parsed = tomllib.loads(text)
    assert [c["name"] for c in parsed["column"]] == ["id", "age", "income", "job", "class"]
    assert parsed["column"] == ran.json["plan"]["column"]
    assert text.count("#") > 15
    kinds = {c["name"]: (c["kind"], c["role"], c["consent"]) for c in parsed["column"]}
    assert kinds["age"] == ("integer", "attribute", "modified")
    assert kinds["income"] == ("real", "attribute", "modified")
    assert kinds["job"] == ("categorical", "attribute", "modified")
    assert kinds["class"] == ("categorical", "target", "true")
    assert kinds["id"][1:] == ("identifier", "withhold")
    edited = text.replace('name = "age"', 'name = "age" # edited', 1).replace("domain = [20, 69]", "domain = [0, 120]")
    assert edited != text
    edited = edited.replace('noise = {law = "gaussian", privacy = 0.5}', 'noise = { law = "laplace", b = 3 }', 1)
    Path("plan.toml").write_text(edited, "utf-8")
    made = run("release", "people.csv", "--plan", "plan.toml", "-o", "r", "--json", "--name", "first")
    assert made.code == 0, made.err
    age = next(a for a in made.json["attributes"] if a["name"] == "age")
    assert age["domain"] == [0, 120]
    assert age["mechanism"]["law"] == "laplace"
    assert age["mechanism"]["b"] == 3
    assert made.json["name"] == "first"
    assert Release.open("r").read_table()["age"].values.size == 200


def test_plan_without_output_prints_toml_or_json(run: Run, tmp_path: Path) -> None:
    before = listing(tmp_path)
    assert len(tomllib.loads(run("plan", "people.csv").out)["column"]) == 5
    assert run("plan", "people.csv", "--json").json["output"] is None
    assert listing(tmp_path) == before


def test_options_that_the_plan_settles_cannot_stand_beside_it(run: Run) -> None:
    run("plan", "people.csv", "-o", "plan.toml")
    for options in (
        ["--target", "class"],
        ["--noise", "laplace"],
        ["--privacy", "1"],
        ["--set", "sigma=3"],
        ["--id", "id"],
    ):
        ran = run("release", "people.csv", "--plan", "plan.toml", "-o", "r", *options)
        assert ran.code == 2
        assert options[0] in ran.err


@pytest.mark.parametrize(
    ("toml", "word"),
    [
        ("not toml [", "TOML"),
        ("[[column]]\nkind = 'real'", "name"),
        ("[[column]]\nname = 'age'\nkind = 'number'", "number"),
        ("[[column]]\nname = 'age'\nkind = 'integer'", "domain"),
        (
            "[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [90, 0]\nnoise = {law='gaussian', privacy=1}",
            "upside down",
        ),
        (
            "[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [0, nan]\nnoise = {law='gaussian', privacy=1}",
            "finite",
        ),
        ("[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [0, 90]", "noise"),
        ("[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [0, 90]\nnoise = 3", "noise"),
        ("[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [0, 90]\nnoise = {law='gauss'}", "gauss"),
        ("[[column]]\nname = 'age'\nkind = 'integer'\ndomain = [0, 90]\nsurprise = 1", "surprise"),
        ("[[column]]\nname = 'age'\nkind = 'integer'\ndomain = 'wide'", "wide"),
        ("[[column]]\nname = 'born'\nkind = 'date'\ndomain = ['1990-02-30', '2000-01-01']", "born"),
        ("[[column]]\nname = 'job'\nkind = 'categorical'\ncategories = ['a', 'a']", "twice"),
        ("[[column]]\nname = 'job'\nkind = 'categorical'\ncategories = []", "empty"),
        ("[[column]]\nname = 'id'\nkind = 'integer'\nrole = 'identifier'", "identifier"),
        ("column = 3", "column"),
        ("[surprise]\nx = 1", "surprise"),
        ("", "no column"),
        ("[release]\nname = 3\n[[column]]\nname = 'id'\nkind = 'integer'\nconsent = 'true'\ndomain = [0, 999]", "name"),
    ],
)
def test_a_plan_with_a_mistake_is_refused_in_words(run: Run, tmp_path: Path, toml: str, word: str) -> None:
    Path("plan.toml").write_text(toml)
    before = listing(tmp_path)
    ran = run("release", "people.csv", "--plan", "plan.toml", "-o", "r")
    assert ran.code == 2
    assert "plan.toml" in ran.err
    assert word in ran.err
    assert listing(tmp_path) == before


def test_existing_outputs_are_refused_without_force(run: Run, tmp_path: Path) -> None:
    commands = [
        ["release", "people.csv", "-o", "r", "--target", "class"],
        ["plan", "people.csv", "-o", "p.toml"],
        ["generate", "agrawal", "--rows", "50", "-o", "g.csv"],
    ]
    for command in commands:
        assert run(*command).code == 0
        before = listing(tmp_path)
        refused = run(*command)
        assert refused.code == 1
        assert "--force" in refused.err
        assert listing(tmp_path) == before
        assert run(*command, "--force").code == 0
        assert listing(tmp_path) == before


def test_fresh_noise_is_refused_with_the_reason_and_made_with_again(run: Run, tmp_path: Path) -> None:
    assert run("release", "people.csv", "-o", "r", "--name", "spring").code == 0
    before = listing(tmp_path)
    refused = run("release", "people.csv", "-o", "r2", "--name", "autumn")
    assert refused.code == 1
    for word in ("spring", "average", "--again"):
        assert word in refused.err
    assert listing(tmp_path) == before
    made = run("release", "people.csv", "-o", "r2", "--name", "autumn", "--again", "--json")
    assert made.json["independent_of_earlier_releases"] == ["spring"]


def test_generate_writes_what_it_says(run: Run) -> None:
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        ran = run("generate", "agrawal", "--rows", "300", "--function", "2", "--seed", "7", "-o", name, "--json")
        assert ran.code == 0
        assert ran.json["rows"] == 300
        assert ran.json["seed"] == 7
        assert ran.json["output"] == name
    assert gzip.decompress(Path("t.csv.gz").read_bytes()) == Path("t.csv").read_bytes()
    assert pq.read_table("t.parquet").num_rows == 300
    made = run("generate", "agrawal", "--rows", "300", "--plan", "plan.toml", "-o", "u.csv")
    assert made.code == 0
    assert run("release", "u.csv", "--plan", "plan.toml", "-o", "r").code == 0
    assert not Release.open("r").manifest.columns[0].attribute.learned


@pytest.mark.parametrize("law", ["gaussian", "uniform", "laplace", "intervals", "substitution", "square-wave"])
def test_every_noise_of_the_contract_works_on_a_bundled_table(run: Run, law: str) -> None:
    ran = run("release", "iris", "-o", "r", "--noise", law, "--privacy", "0.4", "--json")
    assert ran.code == 0, ran.err
    assert {a["mechanism"]["law"] for a in ran.json["attributes"] if a["role"] == "attribute"} == {law}
    assert "learned" not in ran.err


def test_set_takes_the_parameters_of_the_law(run: Run) -> None:
    ran = run(
        "release", "people.csv", "-o", "r", "--noise", "substitution", "--set", "gamma=8", "--set", "bins=5", "--json"
    )
    assert ran.code == 0
    laws = {a["name"]: a["mechanism"] for a in ran.json["attributes"]}
    assert laws["age"]["gamma"] == 8
    assert laws["age"]["size"] == 5


def _bytes(name: str, content: bytes) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / name).write_bytes(content)
        return name

    return make


def _parquet(table: pa.Table) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        pq.write_table(table, folder / "t.parquet")
        return "t.parquet"

    return make


CUT_GZIP = gzip.compress(PEOPLE.encode() * 50)
SPOILT_GZIP = bytearray(CUT_GZIP)
SPOILT_GZIP[len(SPOILT_GZIP) // 2] ^= 0xFF
LATE = PEOPLE + "".join(f"{i},30,1000.0,smith,A\n" for i in range(200, 70_000))

MALFORMED: dict[str, tuple[Callable[[Path], str], list[str], list[str]]] = {
    "no such file": (lambda _: "nowhere.csv", [], ["nowhere.csv"]),
    "a folder of other things": (lambda folder: str(Path(_bytes("notes.txt", b"x")(folder)).parent), [], ["folder"]),
    "no known ending": (_bytes("t.sav", b"a,b\n1,2\n"), [], ["t.sav", ".csv", "convert"]),
    "empty file": (_bytes("t.csv", b""), [], ["t.csv", "empty"]),
    "blank lines": (_bytes("t.csv", b"\n\n\n"), [], ["t.csv"]),
    "header only": (_bytes("t.csv", b"a,b\n"), [], ["t.csv", "no rows"]),
    "header without a line end": (_bytes("t.csv", b"a,b"), [], ["t.csv"]),
    "empty gzip": (_bytes("t.csv.gz", b""), [], ["t.csv.gz"]),
    "truncated gzip": (_bytes("t.csv.gz", CUT_GZIP[: len(CUT_GZIP) // 2]), [], ["t.csv.gz", "complete"]),
    "gzip cut in its head": (_bytes("t.csv.gz", CUT_GZIP[:5]), [], ["t.csv.gz"]),
    "spoilt gzip": (_bytes("t.csv.gz", bytes(SPOILT_GZIP)), [], ["t.csv.gz"]),
    "gzip that is none": (_bytes("t.csv.gz", PEOPLE.encode()), [], ["t.csv.gz"]),
    "parquet that is none": (_bytes("t.parquet", PEOPLE.encode()), [], ["t.parquet", "Parquet"]),
    "empty parquet": (_bytes("t.parquet", b""), [], ["t.parquet"]),
    "ragged row, short": (_bytes("t.csv", b"a,b\n1,2\n3\n"), [], ["line 3", "1", "2", "quote"]),
    "ragged row, long": (_bytes("t.csv", b"a,b\n1,2\n3,4,5\n"), [], ["line 3", "3,4,5"]),
    "ragged row, late": (_bytes("t.csv", (LATE + "oops\n").encode()), [], ["values where the header has 5", "oops"]),
    "duplicate header": (_bytes("t.csv", b"a,b,a\n1,2,3\n"), [], ["'a'", "twice"]),
    "nameless column": (_bytes("t.csv", b"a,,c\n1,2,3\n"), [], ["column 2", "name"]),
    "open quote": (_bytes("t.csv", b'a,b\n1,2\n1,"2\n3,4\n'), [], ["column 'b'", "row 2", "quote"]),
    "open quote in the header": (_bytes("t.csv", b'a,"b\n1,2\n3,4\n'), [], ["t.csv"]),
    "mixed encodings": (
        _bytes("t.csv", "a,b\ncafé,1\n".encode() + "café,2\n".encode("latin-1")),
        [],
        ["'a'", "row 2", "0xe9", "--encoding"],
    ),
    "another encoding in the header": (
        _bytes("t.csv", "café,b\n1,2\n".encode("latin-1")),
        ["--encoding", "utf-8"],
        ["header", "0xe9", "--encoding cp1252"],
    ),
    "utf-16 as utf-8": (_bytes("t.csv", "a,b\n1,2\n".encode("utf-16")), [], ["t.csv"]),
    "ascii as utf-16": (_bytes("t.csv", b"a,b\n1,2\n3,4"), ["--encoding", "utf-16"], ["t.csv", "utf-16"]),
    "utf-8 as ascii": (_bytes("t.csv", "a,b\né,2\n".encode()), ["--encoding", "ascii"], ["t.csv", "ascii"]),
    "one row": (_bytes("t.csv", b"a,b\n1,2\n"), [], ["a", "b"]),
    "all columns constant": (_bytes("t.csv", b"a,b\n1,x\n1,x\n1,x\n"), [], ["a", "x"]),
    "only missing values": (_bytes("t.csv", b"a,b\n,\n,\n"), [], ["a"]),
    "missing ids": (
        _bytes("t.csv", PEOPLE.encode() + b",30,1000.0,smith,A\n"),
        ["--id", "id"],
        ["id, row 201", "missing"],
    ),
    "infinite number in parquet": (
        _parquet(pa.table({"x": [1.0, 2.5, float("inf"), 4.0]})),
        [],
        ["x, row 3", "inf", "finite"],
    ),
    "nothing but a nested column": (_parquet(pa.table({"n": [[1], [2]]})), [], ["n", "list"]),
    "parquet without rows": (_parquet(pa.table({"x": pa.array([], pa.int64())})), [], ["t.parquet", "no rows"]),
    "parquet without columns": (_parquet(pa.table({})), [], ["t.parquet", "no columns"]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_table_is_an_error_in_words_and_nothing_is_written(run: Run, tmp_path: Path, name: str) -> None:
    make, options, words = MALFORMED[name]
    table = make(tmp_path)
    before = listing(tmp_path)
    ran = run("release", table, "-o", "r", *options)
    assert ran.code == 1, ran.err
    assert ran.out == ""
    for word in words:
        assert word in ran.err
    assert ran.err.startswith("error: ") or "\nerror: " in ran.err
    assert ";" in ran.err, "what to do next"
    assert listing(tmp_path) == before
    with_json = run("release", table, "-o", "r", "--json", *options)
    assert with_json.code == 1
    assert with_json.out == ""


def test_an_id_that_repeats_is_a_person_with_several_rows(run: Run) -> None:
    Path("people.csv").write_text(PEOPLE + "7,30,1000.0,smith,A\n")
    ran = run("release", "people.csv", "-o", "r", "--id", "id", "--privacy", "0.5", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["rows"] == 201
    assert "200 people have 1.0 rows on average and up to 2" in ran.err
    assert "SF275" in ran.err


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("200,212,1000.5,smith,A", ["age, row 201", "212", "[20, 69]", "plan"]),
        ("200,old,1000.5,smith,A", ["age, row 201", "'old'", "not a number"]),
        ("200,30.5,1000.5,smith,A", ["age, row 201", "30.5", "multiple"]),
        ("200,30,inf,smith,A", ["income, row 201", "inf", "finite"]),
        ("200,30,nan,smith,A", ["income, row 201", "nan", "missing_values"]),
        ("200,30,1e999,smith,A", ["income, row 201"]),
        ("200,30,1000.5,spy,A", ["job, row 201", "'spy'", "categories"]),
        ("200,30,1000.5,smith,C", ["class, row 201", "'C'", "categories"]),
    ],
)
def test_a_value_that_the_plan_does_not_allow_is_named(run: Run, tmp_path: Path, row: str, words: list[str]) -> None:
    assert run("plan", "people.csv", "--target", "class", "--privacy", "0.5", "-o", "plan.toml").code == 0
    Path("people.csv").write_text(PEOPLE + row + "\n")
    before = listing(tmp_path)
    ran = run("release", "people.csv", "--plan", "plan.toml", "-o", "r")
    assert ran.code == 1
    for word in words:
        assert word in ran.err
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "content",
    [
        PEOPLE.encode("utf-8-sig"),
        PEOPLE.replace("\n", "\r\n").encode(),
        PEOPLE.rstrip("\n").encode(),
        PEOPLE.replace("id,age", '"id","age"').encode("utf-8-sig"),
        PEOPLE.replace("smith", '"smith"').encode(),
        (PEOPLE + "\n\n").encode(),
    ],
    ids=[
        "byte order mark",
        "windows line ends",
        "no last line end",
        "mark and quotes",
        "quoted values",
        "blank lines at the end",
    ],
)
def test_harmless_differences_between_csv_files_are_harmless(run: Run, content: bytes) -> None:
    first = run("release", "people.csv", "-o", "r", "--target", "class", "--json")
    Path("other.csv").write_bytes(content)
    second = run("release", "other.csv", "-o", "r2", "--target", "class", "--json")
    assert second.code == 0, second.err
    assert second.json["data"]["sha256"] == first.json["data"]["sha256"]


def test_a_file_in_latin_1_is_read_when_told_so(run: Run) -> None:
    Path("t.csv").write_bytes(
        b"a,b\n" + b"".join(f"{'café' if i % 2 else 'thé'},{i % 7}\n".encode("latin-1") for i in range(40))
    )
    ran = run("release", "t.csv", "-o", "r", "--encoding", "latin-1", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["attributes"][0]["categories"] == ["café", "thé"]


def test_one_column_is_a_table(run: Run) -> None:
    Path("t.csv").write_text("a\n" + "".join(f"{i * 0.5}\n" for i in range(40)))
    assert run("release", "t.csv", "-o", "r", "--json").json["rows"] == 40


def test_dates_that_do_not_exist_are_not_taken_for_dates(run: Run) -> None:
    Path("t.csv").write_text("d,x\n" + "2024-02-30,1\n2024-01-01,2\n 2024-01-02,3\n0000-01-01,4\n" * 10)
    ran = run("plan", "t.csv", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["plan"]["column"][0]["kind"] == "categorical"
    Path("u.csv").write_text("d,x\n" + "".join(f" 2024-01-{1 + i % 28:02d} ,{i}\n" for i in range(60)))
    padded = run("plan", "u.csv", "--json")
    assert padded.code == 0, padded.err
    assert padded.json["plan"]["column"][0]["kind"] == "date"


def test_the_installed_program_speaks_for_itself(tmp_path: Path) -> None:
    """The real thing, once: a process, its exit codes and its two streams."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    program = [str(Path(sys.executable).with_name("sfumato"))]
    made = subprocess.run(
        [*program, "release", "people.csv", "-o", "r", "--target", "class", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0
    assert json.loads(made.stdout)["rows"] == 200
    assert "\x1b" not in made.stderr, "no colours and no progress bar where there is no terminal"
    wrong = subprocess.run(
        [*program, "release", "nowhere.csv", "-o", "x"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("error: ")
    assert "Traceback" not in wrong.stderr


def test_a_release_that_fails_leaves_no_key_behind_and_the_next_one_tells_of_its_own(run: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    ran = run("release", "iris", "-o", "r", "--method", "swap-v", "--set", "k=1000")
    assert ran.code != 0
    assert sorted(tmp_path.iterdir()) == before
    ran = run("release", "iris", "-o", "r", "--method", "leaf-swap")
    assert ran.code == 0
    assert "made a new key" in ran.err


def test_noise_that_a_guided_method_takes_the_place_of_is_named(run: Run, tmp_path: Path) -> None:
    assert run("plan", "iris", "--privacy", "0.5", "-o", "plan.toml").code == 0
    text = (tmp_path / "plan.toml").read_text()
    (tmp_path / "plan.toml").write_text(text.replace("\n[release]", '\n[release]\nmethod = { law = "leaf-swap" }', 1))
    ran = run("release", "iris", "--plan", "plan.toml", "-o", "r")
    assert ran.code == 0, ran.err
    assert "the plan gives noise of their own, but leaf-swap takes its place" in " ".join(ran.err.split())

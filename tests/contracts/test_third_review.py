"""What a third adversarial review found, one test per finding, by its number. Each failed on the code that was reviewed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.support.spreadsheet import write_workbook

import sfumato as sf
from sfumato.certificates import check_certificate
from sfumato.errors import DataError, LedgerError, SfumatoError, UsageError
from sfumato.io import Reading
from sfumato.mining.ensembles import fit_boosting
from sfumato.privacy import averaged_width
from sfumato.scales import Log, Scale, Sqrt
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

ROWS = 1000
MAX_SECONDS = 5.0


def incomes(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {"income": np.exp(rng.normal(9, 1, ROWS)).clip(0, 99_999).round(), "age": rng.integers(18, 90, ROWS)}
    )


def on_scale(scale: Scale, law: sf.Channel, high: float = 100_000.0) -> sf.Plan:
    income = Attribute("income", Kind.REAL, Interval(0, high), scale=scale)
    age = Attribute("age", Kind.INTEGER, Interval(0, 120))
    return sf.Plan(Schema((income, age)), {"income": law, "age": sf.Gaussian(privacy=0.5)})


@pytest.mark.parametrize(
    "law", [sf.Gaussian(privacy=0.5), sf.Laplace(privacy=0.5), sf.Intervals(count=8)], ids=lambda c: c.law
)
@pytest.mark.parametrize(
    ("scale", "high"),
    [(Log(200.0), 100_000.0), (Log(100.0), 200_000.0), (Sqrt(), 100_000.0)],
    ids=["unit", "end", "scale"],
)
def test_review_h1_the_same_rows_on_another_scale_are_refused(
    tmp_path: Path, scale: Scale, high: float, law: sf.Channel
) -> None:
    """The law of places from 0 to 1 is the same on any scale, but a value has another place there, and so fresh noise."""
    sf.release(incomes(), on_scale(Log(100.0), law), tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError, match=r"^income: the same rows were released before"):
        sf.release(incomes(), on_scale(scale, law, high), tmp_path / "2", key=tmp_path / "k")
    again = sf.release(incomes(), on_scale(Log(100.0), law), tmp_path / "3", key=tmp_path / "k")
    assert again.data_path.read_bytes() == (tmp_path / "1/data.parquet").read_bytes()


def clinic(folder: Path, form: str) -> Path:
    """Write a database of one table with true values."""
    path = folder / f"clinic.{form}"
    create = "CREATE TABLE visit (age INTEGER, ward INTEGER)"
    rows = [(age % 90, age % 3) for age in range(200)]
    if form == "sqlite":
        with sqlite3.connect(path) as database:
            database.execute(create)
            database.executemany("INSERT INTO visit VALUES (?, ?)", rows)
        database.close()
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as database:
            database.execute(create)
            database.executemany("INSERT INTO visit VALUES (?, ?)", rows)
    return path


@pytest.mark.parametrize(
    ("form", "query"),
    [
        ("duckdb", "COPY visit TO '{stolen}'; SELECT * FROM visit"),
        ("duckdb", "COPY visit TO '{stolen}'"),
        ("duckdb", "SELECT length(content) AS age, 1 AS ward FROM read_text('{secret}')"),
        ("duckdb", "ATTACH '{stolen}' AS other (READ_WRITE); SELECT * FROM visit"),
        ("sqlite", "VACUUM INTO '{stolen}'"),
        ("sqlite", "ATTACH '{stolen}' AS other"),
    ],
)
def test_review_h2_a_query_that_a_plan_brings_reads_its_database_and_nothing_else(
    tmp_path: Path, form: str, query: str
) -> None:
    """A plan remembers the query of its table. Who writes a plan must not write the true table into a file of theirs."""
    path, stolen, secret = clinic(tmp_path, form), tmp_path / "stolen", tmp_path / "secret"
    secret.write_text("xyz")
    proposed = sf.plan(f"{form}:///{path}?query=SELECT * FROM visit", privacy=0.5)
    hostile = replace(proposed, reading=Reading(query=query.format(stolen=stolen, secret=secret)))
    (tmp_path / "plan.toml").write_text(hostile.to_toml(), "utf-8")
    with pytest.raises(SfumatoError, match="query"):
        sf.release(path, tmp_path / "plan.toml", tmp_path / "r", key=tmp_path / "k")
    assert not stolen.exists()


def test_review_h2_a_server_is_asked_questions_only() -> None:
    """COPY … TO PROGRAM runs programs on a server where the user may; a read-only transaction does not stop it."""
    from sfumato.io.formats.databases import check_question

    for query in (
        "COPY visit TO PROGRAM 'curl x'",
        "-- SELECT\nDO $$ x $$",
        "/* SELECT */ CREATE TABLE t (a int)",
        "",
        "SET x = 1",
    ):
        with pytest.raises(UsageError, match="begin it with SELECT"):
            check_question(query, "server")
    for query in (
        "select 1",
        " -- all\n(SELECT 1) UNION (SELECT 2)",
        "WITH t AS (SELECT 1) SELECT * FROM t",
        "TABLE visit",
    ):
        check_question(query, "server")


def test_review_m1_noise_drawn_together_is_counted_row_by_row_for_a_person(tmp_path: Path) -> None:
    """A person's children stay two in ten rows, but weight changes: ten draws of noise, and not the four values of the domain."""
    people, rows = 300, 10
    rng = np.random.default_rng(4)
    children = np.repeat(rng.integers(0, 4, people), rows)
    weight = rng.normal(70, 8, people * rows).round().clip(30, 150) + children
    table = pa.table({"id": np.repeat(np.arange(people), rows), "children": children, "weight": weight.astype(int)})
    columns = (
        Attribute("id", Kind.CATEGORICAL, role=Role.IDENTIFIER, consent=Consent.WITHHOLD),
        Attribute("children", Kind.INTEGER, Interval(0, 3)),
        Attribute("weight", Kind.INTEGER, Interval(0, 200)),
    )
    plan = sf.Plan(Schema(columns), {}, method={"law": "correlated-gaussian", "ratio": 2.0})
    made = sf.release(table, plan, tmp_path / "r", key=tmp_path / "k")
    told = sf.describe(made)["person"]
    left = np.array(made.to_arrow()["children"]).reshape(people, rows).mean(axis=1) - children[::rows]
    measured = 2 * 1.96 * left.std()
    stated = told["attributes"]["children"]["mean_interval_width_95"]
    assert stated == pytest.approx(averaged_width(made.manifest["children"].channel, rows))
    # The standard deviation of 300 means has an error of 4 %; the noise is rounded to whole numbers, which adds 1/12 to σ².
    assert stated <= measured * 1.2
    assert "fresh in every row where one of children, weight changes" in told["in_words"]


@pytest.mark.parametrize(
    "law",
    [sf.Gaussian(privacy=0.5), sf.Laplace(privacy=0.5), sf.Uniform(privacy=0.5), sf.SquareWave(epsilon=1.0)],
    ids=lambda c: c.law,
)
def test_review_m2_a_release_on_a_scale_can_be_certified(tmp_path: Path, law: sf.Channel) -> None:
    made = sf.release(incomes(), on_scale(Log(100.0), law), tmp_path / "r", key=tmp_path / "k")
    sf.certify(made)
    files = [str(made.folder / name) for name in ("law.cert.json", "manifest.json")]
    assert check_certificate.main(files) == 0


def test_review_m3_a_workbook_with_a_cell_in_a_far_corner_is_refused(tmp_path: Path) -> None:
    """A reader lays out 16,384 × 1,048,576 cells for it: 512 GB, at which the whole process was aborted."""
    small = write_workbook(tmp_path / "small.xlsx", {"t": [["a", "b"], [1, 2], [3, 4]]})
    with zipfile.ZipFile(small) as book, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as far:
        for part in book.namelist():
            corner = b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'
            far.writestr(part, book.read(part).replace(b"</sheetData>", corner))
    read = "import sys, sfumato as sf\ntry:\n    sf.open_table(sys.argv[1])\nexcept sf.errors.DataError as error:\n    print(error)"
    run = subprocess.run(
        [sys.executable, "-c", read, tmp_path / "far.xlsx"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-500:]
    assert "spans 1,048,576 rows and 16,384 columns" in run.stdout
    assert sf.open_table(small).columns == ("a", "b")


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> sf.Release:
    """A release with columns of many labels."""
    rng = np.random.default_rng(2)
    many, few = tuple(f"w{i}" for i in range(4000)), tuple(f"k{i}" for i in range(40))
    table = pa.table(
        {
            "ward": np.array(many)[rng.integers(0, 50, 300)],
            "kind": np.array(few)[rng.integers(0, 40, 300)],
            "other": np.array(few)[rng.integers(0, 40, 300)],
            "age": rng.integers(18, 90, 300),
            "cost": rng.integers(0, 100, 300),
        }
    )
    columns = (
        *(Attribute(n, Kind.CATEGORICAL, Categories(c)) for n, c in (("ward", many), ("kind", few), ("other", few))),
        Attribute("age", Kind.INTEGER, Interval(0, 120)),
        Attribute("cost", Kind.INTEGER, Interval(0, 100)),
    )
    laws = dict.fromkeys(("ward", "kind", "other"), sf.Substitution(epsilon=3.0))
    laws |= dict.fromkeys(("age", "cost"), sf.Gaussian(privacy=0.5))
    return sf.release(table, sf.Plan(Schema(columns), laws), tmp_path_factory.mktemp("wards") / "r")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("cost ~ age ** 100000000", "more than 10,000 terms"),
        ("cost ~ (age + kind) ** 99", "more than 10,000 terms"),
        ("cost ~ " + "*".join(["age", "kind", "other", "ward"] * 5), "more than 10,000 terms"),
        ("cost ~ kind*other", "asks for 1,681 coefficients"),
        ("cost ~ C(ward)", "asks for 4,001 coefficients"),
        ("cost ~ " + "age+" * 6000 + "age", "characters"),
        ("cost ~ I(age**3)", "no weight of the power"),
    ],
    ids=lambda text: text[:24],
)
def test_review_m4_a_formula_that_would_fill_the_memory_is_refused(wards: sf.Release, formula: str, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=words):
            sf.fit(formula, wards)
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


def test_review_m5_a_release_that_states_many_labels_does_not_fill_the_memory(wards: sf.Release) -> None:
    """Labels are stated by the release's author; a table of all pairs of 4,000 and 40 of them would take 200 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="a table of at most 10,000 cells"):
            sf.associate(wards, "ward", "kind")
        with pytest.raises(UsageError, match="at most 3,000 of these"):
            sf.ask(wards, "SELECT ward, AVG(age) FROM release GROUP BY ward")
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


def test_review_l1_an_error_that_no_number_of_rows_reaches_is_refused() -> None:
    with pytest.raises(UsageError, match="error = 1e-300 must be a positive number that rows can reach"):
        sf.power("mean", error=1e-300)


def test_review_m6_a_model_file_of_many_lists_of_labels_is_refused(tmp_path: Path) -> None:
    """A file of 3 MB with 60,000 labels and as many tests of one label each laid out 3.4 GB; one of 30 MB, 300 GB."""
    made = sf.release("car_evaluation", sf.plan("car_evaluation", noise="substitution", privacy=0.5), tmp_path / "r")
    few = fit_boosting(made.read_table(), draws=1, trees=2)
    about = json.loads(sf.Model(few.tree, "boosting", 60).to_json())
    size = 30_000
    about["model"]["inputs"][0]["categories"] = [f"l{place}" for place in range(size)]
    member = about["model"]["members"][0]
    chain = {
        "column": [c for _ in range(size) for c in (0, -1)] + [-1],
        "right": [2 * node + 2 for node in range(size)],
        "cut": [[place] for place in range(size)],
        "missing_left": [0] * size,
        "leaf": [0.0] * (size + 1),
        "output": 0,
    }
    about["model"]["members"] = [{"base": member["base"], "trees": [chain]}]
    (tmp_path / "model.json").write_text(json.dumps(about), "utf-8")
    with pytest.raises(DataError, match="30,000 lists of labels"):
        sf.predict(tmp_path / "model.json", made.to_arrow())


@pytest.mark.parametrize(
    ("ids", "people"),
    [
        (["A1", "A1 ", "\tA1", "B"], 1),
        (["Jos\u00e9", "Jose\u0301", "B"], 1),
        (["007", "7", "+7", "08", "8"], 2),
        (["A1 ", "A1\u00a0"], 1),
        (["007", "08", "A1 ", "a1", "0x7", "7x"], 0),
    ],
    ids=str,
)
def test_review_m7_ids_that_differ_in_writing_alone_are_named(tmp_path: Path, ids: list[str], people: int) -> None:
    """Each form of an id has fresh noise, so the mean of two rows of one person had half its variance, and nobody was told."""
    table = pa.table({"id": [*ids, *(f"x{i}" for i in range(100))], "weight": [70] * (len(ids) + 100)})
    columns = (
        Attribute("id", Kind.CATEGORICAL, role=Role.IDENTIFIER, consent=Consent.WITHHOLD),
        Attribute("weight", Kind.INTEGER, Interval(0, 200)),
    )
    plan = sf.Plan(Schema(columns), {"weight": sf.Gaussian(privacy=0.5)})
    for key, rows in (("1", 1000), ("2", 2)):
        made = sf.release(table, plan, tmp_path / key, key=tmp_path / f"{key}.key", block_rows=rows)
        told = [note for note in made.making.warnings if note.code == "SF278"]
        assert len(told) == (people > 0)
        assert not told or told[0].startswith(f"id: {people} id")


@pytest.mark.parametrize("part", ["1", "1-", "DE12 ", "+49 ", "street 1 ", "a@"])
def test_review_m8_long_texts_neither_stop_nor_stall_a_plan(part: str) -> None:
    """Digits beyond Python's limit ended in a traceback; patterns of phone numbers and streets took minutes for each value."""
    table = pa.table({"text": [f"{part * 20_000}{row}" for row in range(40)], "x": [row % 5 for row in range(40)]})
    begin = time.process_time()
    assert sf.plan(table, privacy=0.5).schema["text"].consent is Consent.WITHHOLD
    assert time.process_time() - begin < MAX_SECONDS


def test_review_l2_a_draft_that_is_withdrawn_by_a_link_is_gone(tmp_path: Path) -> None:
    """The link was removed, and the draft that the ledger called withdrawn stayed where it was."""
    sf.release("iris", sf.plan("iris", privacy=0.5), tmp_path / "draft", key=tmp_path / "k", draft=True)
    (tmp_path / "link").symlink_to(tmp_path / "draft")
    sf.withdraw(tmp_path / "link", tmp_path / "k")
    assert not (tmp_path / "draft").exists()


def test_review_l3_one_name_for_two_tables_is_told_where_no_ledger_refuses_it(tmp_path: Path) -> None:
    """With a key in memory, two tables of one name shared their noise: released cells agreed wherever the true ones did."""
    key, plan = sf.SecretKey.generate(), replace(on_scale(Log(100.0), sf.Gaussian(privacy=0.5)), name="spring")
    first = sf.release(incomes(1), plan, tmp_path / "1", key=key)
    again = sf.release(incomes(1), plan, tmp_path / "2", key=key)
    other = sf.release(incomes(2), plan, tmp_path / "3", key=key)
    told = [[getattr(note, "code", "") for note in made.making.notes].count("SF233") for made in (first, again, other)]
    assert told == [0, 0, 1]

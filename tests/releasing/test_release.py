"""From a table to a release: same bytes however it is worked, and only what was agreed to."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sfumato.channels import Gaussian, Intervals, Substitution
from sfumato.engines import Local
from sfumato.errors import DataError, OutputError, UsageError
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Manifest, Release
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Missing, Role, Schema, day_number


def data(made: Release) -> bytes:
    return made.data_path.read_bytes()


def numbers(made: Release, name: str) -> np.ndarray:
    return made.to_arrow()[name].to_numpy().astype(float)


@pytest.mark.parametrize("engine", [Local(1), Local(2), Local(3), Local(2, processes=True)], ids=str)
def test_threads_and_processes_give_identical_bytes(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey, engine: Local
) -> None:
    alone = release(table, plan, tmp_path / "alone", key=owner)
    together = release(table, plan, tmp_path / "together", key=owner, engine=engine, block_rows=700)
    assert data(alone) == data(together)
    assert (tmp_path / "alone/manifest.json").read_bytes() == (tmp_path / "together/manifest.json").read_bytes()


@pytest.mark.parametrize("rows", [1, 7, 4096, 10**9])
def test_blocks_of_any_size_give_identical_bytes(
    tmp_path: Path, table: pa.Table, plan: Plan, plan_by_id: Plan, owner: SecretKey, rows: int
) -> None:
    table = table.slice(0, 1500 if rows > 1 else 200)
    for form in ("parquet", "csv"):
        for each in (plan, plan_by_id):
            name = f"{form}-{each is plan}"
            whole = release(table, each, tmp_path / f"whole-{name}", key=owner, format=form)
            parts = release(table, each, tmp_path / f"parts-{name}", key=owner, format=form, block_rows=rows)
            assert data(whole) == data(parts)


def test_row_groups_do_not_depend_on_blocks_either(tmp_path: Path, owner: SecretKey) -> None:
    long = pa.table({"x": np.arange(300_000) % 100})
    plan = Plan(Schema((Attribute("x", Kind.INTEGER, Interval(0, 99)),)), {"x": Gaussian(privacy=0.5)})
    a = release(long, plan, tmp_path / "a", key=owner)
    b = release(long, plan, tmp_path / "b", key=owner, block_rows=100_001, engine=Local(2))
    assert data(a) == data(b)
    assert pq.ParquetFile(a.data_path).num_row_groups == 3


@pytest.mark.parametrize("rows", [131_071, 131_072, 131_073, 262_144])
def test_no_row_is_lost_where_row_groups_end(tmp_path: Path, owner: SecretKey, rows: int) -> None:
    long = pa.table({"x": np.arange(rows)})
    schema = Schema((Attribute("x", Kind.INTEGER, Interval(0, 10**6), consent=Consent.TRUE),))
    made = release(long, Plan(schema, {}), tmp_path / "r", key=owner, block_rows=4096)
    assert made.to_arrow()["x"].to_pylist() == list(range(rows))
    assert made.manifest.data.rows == rows


def test_zero_rows_a_block_are_refused_rather_than_worked_for_ever(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    for rows in (0, -3):
        with pytest.raises(UsageError, match="block"):
            release(table, plan, tmp_path / "r", key=owner, block_rows=rows)


def test_the_same_table_as_csv_gzip_parquet_arrow_and_pandas_gives_the_same_release(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    pacsv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=999)
    coded = table.set_column(4, "job", table["job"].dictionary_encode())
    pq.write_table(coded, tmp_path / "coded.parquet", row_group_size=501)
    frame = table.to_pandas()
    inputs = [str(tmp_path / f"t.{ending}") for ending in ("csv", "csv.gz", "parquet")]
    first = release(table, plan, tmp_path / "arrow", key=owner)
    for number, given in enumerate([*inputs, tmp_path / "coded.parquet", coded, frame, table.to_batches()[0]]):
        again = release(given, plan, tmp_path / f"r{number}", key=owner, block_rows=1234)
        assert data(again) == data(first)


def test_a_filtered_dataframe_does_not_release_its_row_numbers(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    frame = table.to_pandas()
    frame = frame[frame["age"] > 50]
    made = release(frame, plan, tmp_path / "r")
    assert made.manifest.data.rows == len(frame)
    proposal = Plan.propose(frame.head(15), target="class")
    assert not [n for n in proposal.schema.names if n.startswith("__")]


def test_the_days_of_a_dataframe_are_days(tmp_path: Path) -> None:
    """Pandas keeps dates as instants; those that are all at midnight are meant as days."""
    import pandas as pd

    frame = pd.DataFrame({"seen": pd.date_range("2020-01-01", periods=300).tolist() * 2, "x": range(600)})
    frame.loc[5, "seen"] = None
    plan = Plan.propose(frame)
    assert plan.schema["seen"].kind is Kind.DATE
    made = release(frame, plan, tmp_path / "r")
    assert made.to_arrow()["seen"].type == pa.date32()
    assert made.to_arrow()["seen"].null_count == 1


def test_a_dataframe_of_mixed_objects_is_refused_in_words(tmp_path: Path, plan: Plan) -> None:
    import pandas as pd

    with pytest.raises(DataError, match="mixed"):
        release(pd.DataFrame({"mixed": [1, "x", 2.5]}, dtype=object), plan, tmp_path / "r")


def test_other_things_than_tables_are_refused(tmp_path: Path, plan: Plan) -> None:
    for thing in (None, 3, {"a": [1]}, [1, 2], b"a,b"):
        with pytest.raises(UsageError, match="table"):
            release(thing, plan, tmp_path / "r")


def test_what_is_released_is_what_was_agreed_to(tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey) -> None:
    made = release(table, plan, tmp_path / "r", key=owner)
    out = made.to_arrow()
    assert out.column_names == ["age", "height", "born", "job", "smokes", "insured", "town", "class"]
    assert made.manifest.withheld == ("person", "secret")
    for clear in ("town", "class"):
        assert out[clear].to_pylist() == table[clear].to_pylist()
    assert out["age"].type == pa.int64()
    assert out["height"].type == pa.float64()
    assert out["born"].type == pa.date32()
    assert set(out["job"].to_pylist()) == set(table["job"].to_pylist())
    for blurred in ("age", "height", "born"):
        same = pc.sum(pc.fill_null(pc.equal(out[blurred], table[blurred]), fill_value=False)).as_py()
        assert same < 0.1 * len(table)
    assert set(out["insured"].to_pylist()) == {"true", "false"}
    for path in (tmp_path / "r").iterdir():
        assert b"note 1" not in path.read_bytes()
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == ["README.md", "data.parquet", "manifest.json"]


def test_missing_values_stay_missing_or_take_part_as_the_law_says(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    made = release(table, plan, tmp_path / "r", key=owner)
    out = made.to_arrow()
    assert np.array_equal(out["height"].is_null().to_numpy(), table["height"].is_null().to_numpy())
    assert made.manifest["height"].missing == table["height"].null_count
    assert "reveals" in (tmp_path / "r/README.md").read_text("utf-8")
    was, now = table["smokes"].is_null().to_numpy(), out["smokes"].is_null().to_numpy()
    # γ = 6 on {yes, no, missing}: stays with 6/8, each other with 1/8.
    for truth, stays in ((was, 6 / 8), (~was, 1 / 8)):
        assert abs(now[truth].mean() - stays) < 5 * np.sqrt(stays * (1 - stays) / truth.sum())


def test_noise_has_the_size_that_was_asked_for(tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey) -> None:
    out = release(table, plan, tmp_path / "r", key=owner).to_arrow()
    noise = out["age"].to_numpy() - table["age"].to_numpy()
    assert noise.std() == pytest.approx(0.5 * 72 / 3.92, rel=0.06)
    assert abs(noise.mean()) < 5 * noise.std() / np.sqrt(len(noise))
    days = out["born"].to_numpy().astype("datetime64[D]").astype(int) - table["born"].to_numpy().astype(
        "datetime64[D]"
    ).astype(int)
    half = 0.5 * (day_number("2005-01-01") - day_number("1950-01-01")) / 0.95 / 2
    assert np.abs(days).max() <= half + 1
    assert np.abs(days).max() > 0.99 * half


def test_a_release_opens_again_and_knows_its_values(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    for form in ("parquet", "csv"):
        made = release(table, plan, tmp_path / form, key=owner, format=form)
        again = Release.open(tmp_path / form)
        assert again.manifest == made.manifest
        again.verify()
        seen = again.read_table(block_rows=512)
        assert seen.rows == len(table)
        assert seen.labels == ("A", "B")
        assert [seen.labels[c] for c in seen.codes] == table["class"].to_pylist()
        assert np.array_equal(
            seen["age"].values, release(table, plan, tmp_path / f"{form}2", key=owner).to_arrow()["age"]
        )
        assert np.array_equal(np.isnan(seen["height"].values), table["height"].is_null().to_numpy())
        assert seen["born"].values.std() > 1000
        assert set(seen["smokes"].values) == {0.0, 1.0, 2.0}
        assert set(seen["town"].values) == {0.0, 1.0}
        only = again.read_table(["age"])
        assert [c.name for c in only.columns] == ["age"]
        with pytest.raises(UsageError, match="nothing"):
            again.read_table(["nothing"])


def test_a_csv_release_is_the_same_arrow_table_as_a_parquet_one(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    one, other = (
        release(table, plan, tmp_path / form, key=owner, format=form).to_arrow() for form in ("parquet", "csv")
    )
    assert one.to_pylist() == other.to_pylist()
    labels = {n for n in one.column_names if pa.types.is_dictionary(one[n].type)}
    assert all(other[n].type == (pa.string() if n in labels else one[n].type) for n in one.column_names)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    "wish", [Intervals(count=7), Substitution(gamma=19, bins=9), Gaussian(privacy=0.4)], ids=lambda w: w.law
)
def test_dates_are_released_as_dates_under_every_law(
    tmp_path: Path, table: pa.Table, wish: Gaussian, form: str
) -> None:
    born = Attribute("born", Kind.DATE, Interval(day_number("1950-01-01"), day_number("2005-01-01")))
    made = release(table.select(["born"]), Plan(Schema((born,)), {"born": wish}), tmp_path / "r", format=form)
    assert made.to_arrow()["born"].cast(pa.string()).to_pylist()[0].count("-") == 2
    values = made.read_table()["born"].values
    law = made.manifest["born"].channel
    assert law is not None
    codes = law.observed_grid(made.read_table()["born"].true_grid(20)).locate(values)
    assert len(np.unique(codes)) > 4


def test_a_flipped_byte_and_a_lost_file_are_found(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    made = release(table, plan, tmp_path / "r")
    content = bytearray(data(made))
    content[len(content) // 2] ^= 1
    made.data_path.write_bytes(content)
    with pytest.raises(DataError, match="checksum"):
        Release.open(tmp_path / "r").verify()
    made.data_path.unlink()
    with pytest.raises(DataError, match=r"data\.parquet"):
        Release.open(tmp_path / "r")
    with pytest.raises(DataError, match="not a release"):
        Release.open(tmp_path)


def test_an_identifier_may_be_released_as_true(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    for kind in (Kind.INTEGER, Kind.CATEGORICAL):
        person = Attribute("person", kind, role=Role.IDENTIFIER, consent=Consent.TRUE)
        made = release(table, Plan(Schema((person, *plan.schema.attributes[1:])), plan.channels), tmp_path / kind)
        assert [int(v) for v in made.to_arrow()["person"].to_pylist()] == table["person"].to_pylist()
        assert Release.open(tmp_path / kind).read_table()["age"].values.size == len(table)


def test_an_entity_has_the_same_noise_for_the_same_value_in_any_table(
    tmp_path: Path, table: pa.Table, plan_by_id: Plan, owner: SecretKey
) -> None:
    first = release(table, plan_by_id, tmp_path / "first", key=owner).to_arrow()
    order = np.random.default_rng(5).permutation(len(table))[:2000]
    other = table.take(order)
    other = other.set_column(0, "person", other["person"].cast(pa.string()))
    second = release(other, replace(plan_by_id, name="another name"), tmp_path / "second", key=owner).to_arrow()
    assert second.equals(first.take(order).unify_dictionaries()) or second.to_pylist() == first.take(order).to_pylist()


def test_without_ids_another_place_or_name_draws_independent_noise(
    tmp_path: Path, reals_plan: Plan, owner: SecretKey
) -> None:
    rows = 40_000
    table = pa.table({n: np.full(rows, 50.0) for n in "abcd"})
    one = release(table, reals_plan, tmp_path / "one", key=owner)
    two = release(table, replace(reals_plan, name="two"), tmp_path / "two", key=owner)
    key = release(table, reals_plan, tmp_path / "key", key=SecretKey(bytes(32)))
    limit = 5 / np.sqrt(rows)
    for name in "abcd":
        here = numbers(one, name)
        for there in (numbers(two, name), numbers(key, name), np.roll(here, 1), np.roll(here, 64)):
            assert abs(np.corrcoef(here, there)[0, 1]) < limit
            assert abs(np.corrcoef(np.abs(here - 50), np.abs(there - 50))[0, 1]) < limit
    # Two attributes of one law have noise of their own.
    for a, b in (("a", "b"), ("a", "c"), ("c", "d")):
        assert abs(np.corrcoef(numbers(one, a), numbers(one, b))[0, 1]) < limit


def test_another_scale_draws_independent_noise(tmp_path: Path, reals_plan: Plan, owner: SecretKey) -> None:
    """Or x = 2 y₁ − y₂ would give the original away."""
    rows = 40_000
    table = pa.table({n: np.full(rows, 50.0) for n in "abcd"})
    named = replace(reals_plan, name="same")
    doubled = replace(named, channels={**named.channels, "a": Gaussian(sigma=6)})
    y1, y2 = (numbers(release(table, p, tmp_path / str(i), key=owner), "a") for i, p in enumerate((named, doubled)))
    assert abs(np.corrcoef(y1, y2)[0, 1]) < 5 / np.sqrt(rows)
    assert np.std(2 * y1 - y2) == pytest.approx(np.sqrt(4 * 9 + 36), rel=0.03)


def test_a_corrected_value_leaves_every_other_cell_and_draws_fresh_noise_for_itself(
    tmp_path: Path, reals_plan: Plan, owner: SecretKey
) -> None:
    rows = 20_000
    truth = {n: np.round(np.random.default_rng(1).uniform(20, 80, rows), 2) for n in "abcd"}
    corrected = np.random.default_rng(2).random(rows) < 0.5
    mended = truth["a"] + np.where(corrected, 5.0, 0.0)
    before = release(pa.table(truth), reals_plan, tmp_path / "before", key=owner)
    after = release(pa.table(truth | {"a": mended}), reals_plan, tmp_path / "after", key=owner)
    for name in "bcd":
        assert numbers(before, name).tobytes() == numbers(after, name).tobytes()
    old, new = numbers(before, "a"), numbers(after, "a")
    assert old[~corrected].tobytes() == new[~corrected].tobytes()
    fresh, stale = (new - mended)[corrected], (old - truth["a"])[corrected]
    assert abs(np.corrcoef(fresh, stale)[0, 1]) < 5 / np.sqrt(corrected.sum())
    assert np.std(new[corrected] - old[corrected]) == pytest.approx(3 * np.sqrt(2), rel=0.03)


def test_one_corrected_cell_changes_one_cell(tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey) -> None:
    ages = table["age"].to_pylist()
    ages[1234] = 20 if ages[1234] != 20 else 21
    mended = table.set_column(1, "age", pa.array(ages))
    before = release(table, plan, tmp_path / "before", key=owner).to_arrow().to_pylist()
    after = release(mended, plan, tmp_path / "after", key=owner).to_arrow().to_pylist()
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] in ([1234], [])
    before[1234]["age"] = after[1234]["age"] = None
    assert before == after


def test_the_readme_names_every_column_and_the_manifest_goes_round(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    made = release(table, plan, tmp_path / "r", key=owner)
    text = (tmp_path / "r/README.md").read_text("utf-8")
    for attribute in plan.schema:
        assert attribute.name in text
    assert made.manifest.data.sha256 in text
    assert Manifest.load(tmp_path / "r") == made.manifest
    assert Manifest.from_dict(json.loads(made.manifest.to_json())).to_json() == made.manifest.to_json()
    parsed = json.loads((tmp_path / "r/manifest.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert {a["name"]: a["mechanism"]["law"] for a in parsed["attributes"]} == {
        "age": "gaussian", "height": "laplace", "born": "uniform", "job": "substitution", "smokes": "substitution",
        "insured": "substitution", "town": "none", "class": "none",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sfumato_manifest": 2}, "version"),
        ({"sfumato_manifest": None}, "version"),
        ({"surprise": 1}, "surprise"),
        ({"attributes": [{"name": "a"}]}, "not complete"),
        ({"attributes": "none"}, "complete|contradicts"),
        ({"data": {"file": "x"}}, "complete"),
        ({"data": None}, "complete"),
    ],
)
def test_a_manifest_that_is_not_understood_is_refused(
    tmp_path: Path, table: pa.Table, plan: Plan, change: dict[str, object], word: str
) -> None:
    made = release(table, plan, tmp_path / "r")
    (tmp_path / "r/manifest.json").write_text(json.dumps(made.manifest.to_dict() | change))
    with pytest.raises(DataError, match=word):
        Release.open(tmp_path / "r")


def test_unknown_fields_deep_in_a_manifest_are_refused(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    made = release(table, plan, tmp_path / "r").manifest.to_dict()
    for path in (("attributes", 0), ("attributes", 0, "mechanism"), ("data",)):
        broken = json.loads(json.dumps(made))
        place = broken
        for step in path:
            place = place[step]
        place["surprise"] = 1
        with pytest.raises(DataError, match="surprise"):
            Manifest.from_dict(broken)


def test_a_manifest_cannot_lead_to_a_file_elsewhere(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    made = release(table, plan, tmp_path / "r").manifest.to_dict()
    (tmp_path / "elsewhere.parquet").write_bytes(b"x")
    for name in ("../elsewhere.parquet", str(tmp_path / "elsewhere.parquet"), ""):
        (tmp_path / "r/manifest.json").write_text(json.dumps(made | {"data": made["data"] | {"file": name}}))
        with pytest.raises(DataError, match="file"):
            Release.open(tmp_path / "r")


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"sfumato_manifest": 1}', "\x00\xff"])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "latin-1")
    with pytest.raises(DataError):
        Release.open(tmp_path)


def test_nan_in_a_file_is_refused_with_the_next_step_and_accepted_once_listed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, float("nan"), 3.0]}), tmp_path / "t.parquet")
    schema = Schema((Attribute("x", Kind.REAL, Interval(0, 10)),))
    plan = Plan(schema, {"x": Gaussian(sigma=1)})
    with pytest.raises(DataError, match=r"x, row 2: nan .*missing_values"):
        release(tmp_path / "t.parquet", plan, tmp_path / "r")
    assert not (tmp_path / "r").exists()
    made = release(tmp_path / "t.parquet", replace(plan, absent={"x": ("", "nan")}), tmp_path / "r")
    assert made.to_arrow()["x"].is_null().to_pylist() == [False, True, False]


def test_appended_rows_leave_the_first_ones_as_they_were(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    some = release(table.slice(0, 3000), plan, tmp_path / "some", key=owner).to_arrow()
    more = release(table, plan, tmp_path / "more", key=owner).to_arrow()
    assert more.slice(0, 3000).to_pylist() == some.to_pylist()


def test_an_output_that_exists_is_refused_without_force(
    tmp_path: Path, table: pa.Table, plan: Plan, owner: SecretKey
) -> None:
    release(table, plan, tmp_path / "r", key=owner)
    before = {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()}
    with pytest.raises(OutputError, match="force=True"):
        release(table, plan, tmp_path / "r", key=owner)
    assert {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()} == before
    release(table.slice(0, 10), plan, tmp_path / "r", key=owner, force=True)
    assert Release.open(tmp_path / "r").manifest.data.rows == 10
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r"]


def test_force_replaces_releases_only(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    for name, content in (("thesis.tex", "years of work"), ("manifest.json", '{"name": "somebody else\'s"}')):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text(content)
        with pytest.raises(OutputError, match="force"):
            release(table, plan, folder, force=True)
        assert (folder / name).read_text() == content
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(OutputError):
        release(table, plan, file, force=True)
    assert file.read_text() == "x"


def test_an_input_inside_the_folder_to_replace_is_not_lost(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, plan, tmp_path / "r")
    pq.write_table(table, tmp_path / "r/original.parquet")
    with pytest.raises(OutputError, match="inside"):
        release(tmp_path / "r/original.parquet", plan, tmp_path / "r", force=True)
    assert pq.read_table(tmp_path / "r/original.parquet").equals(table)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("age", [30, 212], r"age, row 2: 212 is outside \[18, 90\].*plan"),
        ("age", [30, 17.5], r"age, row 2: 17\.5 .*(outside|multiple)"),
        ("age", [30.5, 40], r"age, row 1: 30\.5 is not a multiple of 1"),
        ("age", ["30", "old"], r"age, row 2: 'old' is not a number.*missing_values"),
        ("height", [170.0, float("inf")], r"height, row 2: inf is not a finite number"),
        ("height", ["170", "nan"], r"height, row 2: nan is not a finite number"),
        ("job", ["smith", "spy"], r"job, row 2: 'spy' is not among the declared categories \(smith.*plan"),
        ("born", ["1970-01-01", "1970-02-30"], r"born, row 2: '1970-02-30' is not a date"),
        ("born", ["1970-01-01", "1949-12-31"], r"born, row 2: 1949-12-31 is outside \[1950-01-01, 2005-01-01\]"),
        ("age", [[1], [2]], r"age.*list.*not numeric"),
        ("job", [[1], [2]], r"job.*list"),
    ],
)
def test_a_wrong_value_is_named_with_column_row_and_next_step(
    tmp_path: Path, plan: Plan, column: str, values: list[object], words: str
) -> None:
    attribute = replace(plan.schema[column])
    one = Plan(Schema((attribute,)), {column: plan.channels[column]})
    with pytest.raises(DataError, match=words):
        release(pa.table({column: pa.array(values)}), one, tmp_path / "r", block_rows=1)
    assert list(tmp_path.iterdir()) == []


def test_ids_must_be_there(tmp_path: Path, table: pa.Table, plan_by_id: Plan) -> None:
    ids = table["person"].to_pylist()
    lacking = table.set_column(0, "person", pa.array([*ids[:3000], None, *ids[3001:]]))
    with pytest.raises(DataError, match=r"person, row 3001: the id is missing"):
        release(lacking, plan_by_id, tmp_path / "r", block_rows=512)
    empty = table.set_column(0, "person", pa.array([*map(str, ids[:3000]), "", *map(str, ids[3001:])]))
    with pytest.raises(DataError, match=r"person, row 3001: the id is missing"):
        release(empty, plan_by_id, tmp_path / "r", block_rows=512)
    nested = table.set_column(0, "person", pa.array([[i] for i in ids]))
    with pytest.raises(DataError, match="person"):
        release(nested, plan_by_id, tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_and_a_table_that_do_not_fit_are_refused(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    with pytest.raises(UsageError, match="shoe"):
        release(table.append_column("shoe", pa.array([1] * len(table))), plan, tmp_path / "r")
    with pytest.raises(DataError, match="age"):
        release(table.drop(["age"]), plan, tmp_path / "r")
    with pytest.raises(DataError, match="no rows"):
        release(table.slice(0, 0), plan, tmp_path / "r")
    with pytest.raises(UsageError, match="orc"):
        release(table, plan, tmp_path / "r", format="orc")
    assert list(tmp_path.iterdir()) == []


def test_one_row_and_one_column_are_a_table(tmp_path: Path) -> None:
    plan = Plan(Schema((Attribute("x", Kind.INTEGER, Interval(0, 10)),)), {"x": Gaussian(privacy=0.5)})
    for form in ("parquet", "csv"):
        made = release(pa.table({"x": [3]}), plan, tmp_path / form, format=form)
        assert made.manifest.data.rows == made.read_table().rows == 1
    gaps = release(pa.table({"x": [None, 3, None]}), plan, tmp_path / "gaps", format="csv")
    assert np.isnan(gaps.read_table()["x"].values).tolist() == [True, False, True]


def test_labels_that_look_like_nothing_or_like_csv_survive(tmp_path: Path) -> None:
    labels = ("NA", "null", "nan", "None", "a,b", 'say "x"', "two\nlines", " pad ", "é", "0", "1.0", "-")
    attribute = Attribute("x", Kind.CATEGORICAL, Categories(labels), consent=Consent.TRUE)
    for form in ("parquet", "csv"):
        made = release(
            pa.table({"x": labels, "y": [1] * len(labels)}), _with_y(attribute), tmp_path / form, format=form
        )
        assert made.read_table()["x"].values.tolist() == list(range(len(labels)))


def _with_y(attribute: Attribute) -> Plan:
    return Plan(Schema((attribute, Attribute("y", Kind.INTEGER, consent=Consent.WITHHOLD))), {})


def test_missing_as_a_category_goes_round_when_released_as_true(tmp_path: Path) -> None:
    attribute = Attribute("x", Kind.CATEGORICAL, Categories(("a", "b")), consent=Consent.TRUE, missing=Missing.CATEGORY)
    made = release(pa.table({"x": ["a", None, "b", ""]}), Plan(Schema((attribute,)), {}), tmp_path / "r")
    assert made.to_arrow()["x"].to_pylist() == ["a", None, "b", None]
    assert made.read_table()["x"].values.tolist() == [0, 2, 1, 2]


def test_a_full_disk_is_told_in_words_and_leaves_nothing(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OutputError, match=r"cannot be written"):
            release(table, plan, tmp_path / "r")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_column_with_one_value_is_withheld_from_a_bundled_table_as_from_any_other() -> None:
    plan = Plan.propose("mushroom")
    assert plan.schema["veil_type"].consent is Consent.WITHHOLD
    assert "tells nothing" in plan.notes["veil_type"]
    assert len(plan.bind()) == 21


def test_a_target_of_free_text_is_refused_when_a_plan_is_proposed() -> None:
    table = pa.table({"x": [i % 7 for i in range(300)], "story": [f"once upon a time {i}" for i in range(300)]})
    with pytest.raises(UsageError, match="story: too many different values to be classes"):
        Plan.propose(table, target="story")

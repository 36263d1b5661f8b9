"""Columns that point at people are recognised by name and by content, and withheld with the reason; look-alikes are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.support.columns_of_people import MadeColumn, corpus, full, rare_words
from tests.support.made_ids import digits as made_digits
from tests.support.made_ids import ean, isin
from tests.support.owners_columns import births, is_released, owners_corpus, owners_plan

import sfumato as sf
from sfumato import datasets
from sfumato.io import open_table, read_blocks
from sfumato.plans import Plan
from sfumato.plans.identity_values import fold, is_address, is_card, is_full_name, is_iban, is_ip, is_titled_name
from sfumato.plans.person_names import GIVEN_NAMES, SURNAMES
from sfumato.plans.profile import SAMPLE_SIZE, profile
from sfumato.plans.recognition import recognise
from sfumato.schema import Consent

CORPUS = list(corpus())
FLAGS = ["yes", "no"]


def propose(column: MadeColumn) -> Plan:
    return Plan.propose(pa.table({column.name: column.values, "flag": FLAGS * (len(column.values) // 2)}))


def test_the_corpus_is_large_and_its_rare_names_are_not_in_the_lists() -> None:
    assert sum(c.direct for c in CORPUS) >= 60
    assert sum(not c.direct for c in CORPUS) >= 60
    assert not [w for w in rare_words() if fold(w) in GIVEN_NAMES | SURNAMES]
    assert all(len(set(c.values)) * 5 <= len(c.values) for c in CORPUS), "no column is withheld for being unique"


def test_direct_identifiers_are_withheld_and_look_alikes_are_not() -> None:
    released = {c.name for c in CORPUS if propose(c).schema[c.name].released}
    personal = [c.name for c in CORPUS if c.direct]
    missed = [n for n in personal if n in released]
    assert 1 - len(missed) / len(personal) >= 0.98, missed
    harmless = [c.name for c in CORPUS if not c.direct]
    alarms = [n for n in harmless if n not in released]
    assert len(alarms) <= 0.02 * len(harmless), alarms


def test_columns_as_owners_write_them_are_told_apart(tmp_path: Path) -> None:
    seen = [c for c in owners_corpus() if not c.held_out][::3]
    missed = [c.name for c in seen if c.direct and is_released(c, tmp_path)]
    alarms = [c.name for c in seen if not c.direct and not is_released(c, tmp_path)]
    assert len(missed) <= 0.02 * sum(c.direct for c in seen), missed
    assert len(alarms) <= 0.02 * sum(not c.direct for c in seen), alarms


def test_a_date_of_birth_is_released_with_a_note_however_it_is_called(tmp_path: Path) -> None:
    for made in births():
        plan = owners_plan(made, tmp_path)
        assert plan.schema[plan.schema.names[0]].released
        assert [line for line in plan.remarks if line.code == "SF272"], made.name


@pytest.mark.parametrize("name", datasets.names())
def test_no_column_of_a_bundled_table_is_taken_for_people(name: str) -> None:
    assert not [line for line in Plan.propose(datasets.path(name)).remarks if line.code == "SF271"]


def test_names_of_48_patients_do_not_leave_the_house(tmp_path: Path) -> None:
    draws = np.random.default_rng(5)
    patients = [full("de")(draws) for _ in range(48)]
    table = pa.table({"name": patients * 10, "age": list(range(20, 68)) * 10})
    plan = Plan.propose(table)
    assert plan.schema["name"].consent is Consent.WITHHOLD
    told = [line for line in plan.remarks if line.code == "SF271"]
    assert told == ["withheld: name (names of people, by its values: points at people, and is withheld)"]
    release = sf.release(table, plan, tmp_path / "r")
    public = (
        (release.folder / "manifest.json").read_text() + (release.folder / "README.md").read_text() + plan.to_toml()
    )
    assert not [p for p in patients if p in public]


def test_an_owner_who_knows_better_changes_the_consent(tmp_path: Path) -> None:
    table = pa.table({"client_no": [i % 30 for i in range(300)], "flag": FLAGS * 150})
    data = Plan.propose(table).to_dict()
    column = data["column"][0]
    assert column["consent"] == "withhold"
    assert column["domain"] == [0, 29], "what only a name says leaves the domain at hand"
    column |= {"consent": "modified", "role": "attribute", "noise": {"law": "gaussian", "privacy": 0.5}}
    release = sf.release(table, Plan.from_dict(data), tmp_path / "r")
    assert "client_no" in release.manifest.schema.names


def test_what_points_at_people_together_is_released_with_a_note() -> None:
    table = pa.table(
        {"zip": ["10115", "10117"] * 100, "Geburtsdatum": ["1980-05-01", "1990-01-31"] * 100, "x": FLAGS * 100}
    )
    plan = Plan.propose(table)
    assert plan.schema["zip"].released
    assert next(line for line in plan.remarks if line.code == "SF272").startswith("zip, Geburtsdatum: together")


def test_one_wrong_check_digit_is_no_account_and_no_card() -> None:
    assert is_iban("DE89 3704 0044 0532 0130 00")
    assert not is_iban("DE88 3704 0044 0532 0130 00")
    assert is_card("4111-1111-1111-1111")
    assert not is_card("4111-1111-1111-1112")


@pytest.mark.parametrize(
    ("text", "expected"), [("Hauptstraße 5", True), ("12 rue Haute", True), ("Main Street", False), ("Stadt 5", False)]
)
def test_an_address_has_a_street_and_a_number(text: str, expected: bool) -> None:
    assert is_address(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Anna Weber", True),
        ("O'Neill, Mary-Jane", True),
        ("heart failure", False),
        ("Weber", False),
        ("Area 51", False),
    ],
)
def test_a_full_name_is_words_with_capitals(text: str, expected: bool) -> None:
    assert is_full_name(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Weber", True),
        ("J. R. Smith", True),
        ("Smith, J.", True),
        ("E. coli", False),
        ("Weber", False),
    ],
)
def test_titles_and_initials_make_a_name(text: str, expected: bool) -> None:
    assert is_titled_name(text) is expected


def holds(values: list[str], name: str = "F1") -> str | None:
    """Return what a column of these values under this name is taken for."""
    recognition = recognise(profile(read_blocks(open_table(pa.table({name: values}))))[name])
    return recognition[0].what if recognition else None


def test_digits_that_are_right_for_goods_are_no_ids_of_people() -> None:
    draws = np.random.default_rng(3)
    assert holds([ean("40" + made_digits(draws, 10)) for _ in range(60)]) is None
    assert holds([isin(draws) for _ in range(60)]) is None
    assert holds([made_digits(draws, 13) for _ in range(60)]) == "ids of people"


def test_a_batch_named_by_its_month_is_no_id_of_people() -> None:
    assert holds([f"B{year}-{month:02d}" for year in range(2019, 2024) for month in range(1, 13)]) is None
    assert holds([f"B{n:05d}7" for n in range(0, 60_000, 1009)]) == "ids of people"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("198.51.100.7:8080", True),
        ("198.51.100.0/24", True),
        ("[2a02::1]:443", True),
        ("10.0.19041.1", False),
        ("42", False),
        ("8:15", False),
    ],
)
def test_an_ip_address_may_have_a_port(text: str, expected: bool) -> None:
    assert is_ip(text) is expected


def test_the_look_at_a_column_is_bounded_however_many_values_it_has() -> None:
    table = pa.table({"x": [f"u{i}@example.org" for i in range(150_000)]})
    seen = profile(read_blocks(open_table(table)))["x"]
    assert seen.counts is None
    assert len(seen.sample) == SAMPLE_SIZE
    assert "e-mail addresses" in Plan.propose(table.append_column("y", pa.array(FLAGS * 75_000))).notes["x"]


def test_rows_of_a_value_are_counted_over_all_blocks() -> None:
    values = [str(i % 7) for i in range(100)]
    table = pa.table({"x": values, "n": [int(v) for v in values]})
    seen = profile(read_blocks(open_table(table), rows=9))
    assert seen["x"].counts == seen["n"].counts == {str(i): values.count(str(i)) for i in range(7)}

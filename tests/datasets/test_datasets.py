"""The bundled tables against their fingerprints, their catalogue and their notice."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sfumato import datasets
from sfumato.errors import UsageError

# rows, columns, empty fields, class counts, first half of the SHA-256 of the uncompressed CSV
FACTS = {
    "iris": (
        150,
        5,
        0,
        {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50},
        "e1412f8c8c69c78fea91c42d8732f7ed",
    ),
    "glass": (
        214,
        10,
        0,
        {
            "building_windows_non_float": 76,
            "building_windows_float": 70,
            "headlamps": 29,
            "vehicle_windows_float": 17,
            "containers": 13,
            "tableware": 9,
        },
        "327e9d08e44b73fae248a902cb24f1b1",
    ),
    "yeast": (
        1484,
        9,
        0,
        {
            "CYT": 463,
            "NUC": 429,
            "MIT": 244,
            "ME3": 163,
            "ME2": 51,
            "ME1": 44,
            "EXC": 35,
            "VAC": 30,
            "POX": 20,
            "ERL": 5,
        },
        "bea9f4cf4b1d6afa69185c692390431e",
    ),
    "breast_cancer_wisconsin": (699, 10, 16, {"benign": 458, "malignant": 241}, "ac9798070863fbdf3057c700bd346d8c"),
    "german_credit": (1000, 21, 0, {"good": 700, "bad": 300}, "9d0c589bbd0080626fe2acedab72d1c7"),
    "adult": (32561, 15, 4262, {"<=50K": 24720, ">50K": 7841}, "49da690e9bdce117a5b09e1723f7519f"),
    "adult_test": (16281, 15, 2203, {"<=50K": 12435, ">50K": 3846}, "2f2407270a37868b0c78db794b098bd8"),
    "mushroom": (8124, 23, 2480, {"edible": 4208, "poisonous": 3916}, "a296654e79dcb5e62b19e799d6faede0"),
    "nursery": (
        12960,
        9,
        0,
        {"not_recom": 4320, "priority": 4266, "spec_prior": 4044, "very_recom": 328, "recommend": 2},
        "cfd50f92b8b65b8d398670ce13f1e78f",
    ),
    "car_evaluation": (
        1728,
        7,
        0,
        {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65},
        "0023b86e0dd3502aaa0e4a610ef4d8ae",
    ),
    "credit_approval": (690, 16, 67, {"-": 383, "+": 307}, "f8de65ee0356129561acf9aac79565b8"),
}


def text(name: str) -> bytes:
    return gzip.decompress(datasets.path(name).read_bytes())


@cache
def table(name: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(text(name).decode("ascii")))
    return header, rows


def column_values(name: str, position: int) -> list[str]:
    return [row[position] for row in table(name)[1]]


def test_the_bundle_is_the_list_of_tables_checked_here():
    assert sorted(datasets.names()) == sorted(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_the_bytes_are_those_that_were_verified(name):
    digest = hashlib.sha256(text(name)).hexdigest()
    assert digest == datasets.describe(name)["sha256"]
    assert digest[:32] == FACTS[name][4]


@pytest.mark.parametrize("name", FACTS)
def test_rows_columns_gaps_and_classes_are_those_of_the_original(name):
    header, rows = table(name)
    expected_rows, expected_columns, gaps, classes, _ = FACTS[name]
    assert len(rows) == expected_rows == datasets.describe(name)["rows"]
    assert len(header) == expected_columns
    assert {len(row) for row in rows} == {expected_columns}
    assert sum(row.count("") for row in rows) == gaps
    assert Counter(row[-1] for row in rows) == classes


@pytest.mark.parametrize("name", FACTS)
def test_the_layout_is_plain(name):
    raw = text(name)
    assert raw.isascii()
    assert b"\r" not in raw
    assert b'"' not in raw
    assert raw.endswith(b"\n")
    assert not any(field != field.strip() or field == "?" for row in table(name)[1] for field in row)


@pytest.mark.parametrize("name", FACTS)
def test_the_archive_carries_no_time_stamp_so_its_bytes_can_be_made_again(name):
    assert datasets.path(name).read_bytes()[4:8] == b"\0\0\0\0"


def test_the_bundle_stays_small():
    assert sum(datasets.path(name).stat().st_size for name in datasets.names()) < 800_000


@pytest.mark.parametrize("name", FACTS)
def test_the_catalogue_describes_the_columns_of_the_header(name):
    entry = datasets.describe(name)
    header, _ = table(name)
    assert [column["name"] for column in entry["columns"]] == header
    assert entry["target"] == header[-1] == "class"


@pytest.mark.parametrize("name", FACTS)
def test_every_value_is_of_the_kind_and_in_the_domain_that_the_catalogue_states(name):
    for position, column in enumerate(datasets.describe(name)["columns"]):
        found = column_values(name, position)
        filled = [value for value in found if value]
        assert len(found) - len(filled) == column.get("missing", 0), column["name"]
        if column["kind"] in ("real", "integer"):
            numbers = [(int if column["kind"] == "integer" else float)(value) for value in filled]
            assert column["min"] <= min(numbers) <= max(numbers) <= column["max"], column["name"]
        else:
            assert column["kind"] in ("categorical", "ordinal")
            assert set(filled) <= set(column["categories"]), column["name"]
            assert len(set(column["categories"])) == len(column["categories"]), column["name"]


@pytest.mark.parametrize(
    "parts", [(name,) for name in FACTS if not name.startswith("adult")] + [("adult", "adult_test")]
)
def test_the_domains_in_the_catalogue_are_attained(parts):
    for position, column in enumerate(datasets.describe(parts[0])["columns"]):
        filled = {value for part in parts for value in column_values(part, position) if value}
        if "categories" in column:
            assert filled == set(column["categories"]), column["name"]
        else:
            numbers = {float(value) for value in filled}
            assert (min(numbers), max(numbers)) == (column["min"], column["max"]), column["name"]


def test_the_two_parts_of_adult_have_the_same_columns_and_domains():
    train, test = (
        [{k: v for k, v in column.items() if k != "missing"} for column in datasets.describe(name)["columns"]]
        for name in ("adult", "adult_test")
    )
    assert train == test


def test_the_order_of_education_is_that_of_its_rank():
    header, rows = table("adult")
    rank = {row[header.index("education")]: int(row[header.index("education_num")]) for row in rows}
    column = datasets.describe("adult")["columns"][header.index("education")]
    assert column["kind"] == "ordinal"
    assert column["categories"] == sorted(rank, key=rank.__getitem__)


def test_ordered_categories_stand_in_their_order():
    ordinal = {
        (name, column["name"])
        for name in datasets.names()
        for column in datasets.describe(name)["columns"]
        if column["kind"] == "ordinal"
    }
    assert len(ordinal) == 19
    safety = next(c for c in datasets.describe("car_evaluation")["columns"] if c["name"] == "safety")
    assert safety["categories"] == ["low", "med", "high"]


@pytest.mark.parametrize("name", FACTS)
def test_the_notice_credits_the_table(name):
    entry = datasets.describe(name)
    notice = (datasets.path(name).parent / "NOTICE.md").read_text("utf-8")
    section = " ".join(re.split(r"^## ", notice, flags=re.MULTILINE)[1 + list(datasets.names()).index(name)].split())
    assert section.startswith(f"{name} ")
    for needed in (
        entry["title"],
        entry["doi"],
        entry["changes"],
        *entry["creators"],
        entry["licence"],
        entry["source"],
    ):
        assert needed in section
    assert entry["licence"] == "CC BY 4.0"
    assert re.fullmatch(r"10\.24432/C5[0-9A-Z]{4}", entry["doi"])
    assert "https://creativecommons.org/licenses/by/4.0/" in notice


def test_nothing_is_bundled_that_the_catalogue_does_not_name():
    folder = datasets.path("iris").parent
    assert {p.name for p in folder.glob("*.gz")} == {datasets.describe(name)["file"] for name in datasets.names()}


def test_a_path_is_a_file_and_a_description_is_a_copy():
    assert isinstance(datasets.path("iris"), Path)
    assert datasets.path("iris").is_file()
    datasets.describe("iris")["columns"].clear()
    assert len(datasets.describe("iris")["columns"]) == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adlt", "dataset: 'adlt' is not bundled; there are iris, .*; did you mean adult"),
        ("mushrooms", "did you mean mushroom"),
        ("zzz", "dataset: 'zzz' is not bundled; .*; choose one of them"),
    ],
)
@pytest.mark.parametrize("ask", [datasets.path, datasets.describe])
def test_an_unknown_name_is_answered_with_near_ones(ask, name, message):
    with pytest.raises(UsageError, match=message):
        ask(name)

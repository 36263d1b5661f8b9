"""Numbers and days in other spellings: read and told, or said to be so with how to rewrite them; never taken for texts in silence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.channels import Gaussian
from sfumato.errors import DataError
from sfumato.io.cells import Encoder, detect_spelling
from sfumato.plans import Plan
from sfumato.schema import Attribute, Interval, Kind

ROWS = 200
START = datetime(2020, 1, 1, tzinfo=UTC)
MOMENTS = [START + timedelta(hours=31 * i + i % 5) for i in range(ROWS)]
SPELLINGS = {
    "numbers with decimal commas": [f"{i // 7},{i % 7}0" for i in range(ROWS)],
    "percentages": [f"{i / 3:.1f}%" for i in range(ROWS)],
    "commas, it seems between thousands": [f"{i * 98_765 + 1000:,}" for i in range(ROWS)],
    "amounts of money": [f"${i}.50" for i in range(ROWS)],
    "time stamps": [f"{m:%Y-%m-%d %H:%M:%S}" for m in MOMENTS],
    "days with points": [f"{m:%d.%m.%Y}" for m in MOMENTS],
    "days with slashes": [f"{m:%m/%d/%Y}" for m in MOMENTS],
}
UNREAD = ("percentages", "amounts of money")
READ = {
    "numbers with decimal commas": Kind.REAL,
    "commas, it seems between thousands": Kind.INTEGER,
    "time stamps": Kind.DATE,
    "days with points": Kind.DATE,
    "days with slashes": Kind.DATE,
}


@pytest.mark.parametrize("what", READ)
def test_a_column_in_another_spelling_is_read_and_told(what: str) -> None:
    plan = Plan.propose(pa.table({"x": SPELLINGS[what], "y": ["a", "b"] * (ROWS // 2)}))
    assert plan.schema["x"].kind is READ[what]
    (told,) = [line for line in plan.remarks if line.code == "SF261"]
    assert "(x)" in told


@pytest.mark.parametrize("what", UNREAD)
def test_a_column_in_another_spelling_is_withheld_with_that_reason(what: str) -> None:
    plan = Plan.propose(pa.table({"x": SPELLINGS[what], "y": ["a", "b"] * (ROWS // 2)}))
    assert not plan.schema["x"].released
    assert what in plan.notes["x"]
    assert any(what in line and "withheld: x" in line for line in plan.remarks)


@pytest.mark.parametrize("what", UNREAD)
def test_the_same_spelling_among_few_labels_is_a_doubt(what: str) -> None:
    few = SPELLINGS[what][:: ROWS // 4]
    plan = Plan.propose(pa.table({"x": few * 20, "y": ["a", "b"] * (10 * len(few))}))
    assert plan.schema["x"].released
    assert f"the labels look like {detect_spelling(few)}" in plan.notes["x"]
    assert any(line.startswith("x: the labels look like") for line in plan.remarks)


@pytest.mark.parametrize(
    ("what", "kind"), [(w, Kind.DATE if "days" in w or "time" in w else Kind.REAL) for w in SPELLINGS]
)
def test_a_column_declared_otherwise_is_refused_with_the_spelling(what: str, kind: Kind) -> None:
    encoder = Encoder(Attribute("x", kind, Interval(0, 40_000)))
    with pytest.raises(DataError, match=f"x, row 1: .* is not a .*look like {what}|look like numbers with {what}"):
        encoder(pa.array(SPELLINGS[what]))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_typed_instants_are_days_and_their_times_are_said_to_be_left_out(zone: str | None) -> None:
    instants = (
        pa.array(MOMENTS, pa.timestamp("us", zone)) if zone else pa.array([m.replace(tzinfo=None) for m in MOMENTS])
    )
    plan = Plan.propose(pa.table({"x": instants, "y": ["a", "b"] * (ROWS // 2)}))
    assert plan.schema["x"].kind is Kind.DATE
    assert [line.code for line in plan.remarks if line.startswith("x: the time of day is left out")] == ["SF263"]


@pytest.mark.parametrize(
    "texts", [["a", "b"], ["1,5", "b"], ["1.2.3.4"], ["12:30"], ["2020-05-17"], ["1,2,3"], ["10-20"], ["%"], []]
)
def test_other_texts_have_no_spelling(texts: list[str]) -> None:
    assert detect_spelling(texts) is None


def test_whole_numbers_beside_decimal_commas_are_of_one_spelling() -> None:
    cells = [f"{i},5" if i % 2 else str(i) for i in range(ROWS)]
    plan = Plan.propose(pa.table({"x": cells, "y": ["a", "b"] * (ROWS // 2)}))
    assert plan.schema["x"].kind is Kind.REAL


def test_a_rewritten_column_is_proposed_with_noise(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "".join(c.replace(",", ".") + "\n" for c in SPELLINGS["numbers with decimal commas"]))
    assert isinstance(Plan.propose(path).channels["x"], Gaussian)

"""A table is known again by the ledger although rows moved, labels changed places, or a column changed its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Gaussian, Substitution
from sfumato.errors import LedgerError
from sfumato.plans import Plan
from sfumato.releasing import release
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema

ROWS = 3000
WARDS = tuple(f"w{i}" for i in range(8))
NOISE = {"income": Gaussian(privacy=0.5), "ward": Substitution(gamma=3.0)}


@pytest.fixture(autouse=True)
def fixed_key(tmp_path: Path) -> None:
    """The same key in every run: which rows a ledger remembers depends on the key, and a few keys remember too few."""
    key = tmp_path / "k"
    key.write_text(
        "sfumato owner key v1 - whoever holds it can remove the noise: keep it private, and keep it\n"
        + "5f" * 32
        + "\n"
    )
    key.chmod(0o600)


def people(seed: int = 0, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array([f"p{seed}-{i}" for i in range(rows)]),
            "income": pa.array(rng.integers(0, 100_001, rows)),
            "ward": pa.array(np.array(WARDS)[rng.integers(0, 8, rows)]),
        }
    )


def plan_of(
    *, identified: bool = False, wards: tuple[str, ...] = WARDS, income: str = "income", high: int = 100_000
) -> Plan:
    consent = {"role": Role.IDENTIFIER, "consent": Consent.WITHHOLD}
    attributes = [
        Attribute("id", Kind.CATEGORICAL, None, **(consent if identified else {"consent": Consent.WITHHOLD})),
        Attribute(income, Kind.INTEGER, Interval(0, high), consent=Consent.MODIFIED),
        Attribute("ward", Kind.CATEGORICAL, Categories(wards), consent=Consent.MODIFIED),
    ]
    return Plan(Schema(tuple(attributes)), {income: NOISE["income"], "ward": NOISE["ward"]}, name="r")


def put_in(table: pa.Table, at: int, rows: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, at), people(9, rows), table.slice(at)])


@pytest.mark.parametrize("at", [0, ROWS * 35 // 100, ROWS * 60 // 100])
def test_rows_behind_an_inserted_one_would_draw_anew(tmp_path: Path, at: int) -> None:
    """Row 1,051 was row 1,050 before: its noise is fresh, though the first third of the table is where it was."""
    release(people(), plan_of(), tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError, match="income, ward"):
        release(put_in(people(), at, 1), plan_of(), tmp_path / "2", key=tmp_path / "k")
    again = release(put_in(people(), at, 1), plan_of(), tmp_path / "2", key=tmp_path / "k", again=True)
    assert again.manifest.again == ("r",)


def test_few_rows_behind_an_inserted_one_are_no_second_release(tmp_path: Path) -> None:
    release(people(), plan_of(), tmp_path / "1", key=tmp_path / "k")
    assert not release(
        put_in(people(), ROWS * 9 // 10, 2), plan_of(), tmp_path / "2", key=tmp_path / "k"
    ).manifest.again


def test_a_sorted_column_does_not_make_moved_rows_look_unmoved(tmp_path: Path) -> None:
    table = people().sort_by("ward")
    release(table, plan_of(), tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError, match="income"):
        release(put_in(table, 0, 1), plan_of(), tmp_path / "2", key=tmp_path / "k")


def test_an_entitys_rows_may_stand_anywhere(tmp_path: Path) -> None:
    release(people(), plan_of(identified=True), tmp_path / "1", key=tmp_path / "k")
    moved = release(put_in(people(), 0, 1), plan_of(identified=True), tmp_path / "2", key=tmp_path / "k")
    assert not moved.manifest.again


def test_labels_in_another_order_are_fresh_noise(tmp_path: Path) -> None:
    """A draw goes by a label's place in the list; eight orders of one list would be eight releases to vote over."""
    release(people(), plan_of(identified=True), tmp_path / "1", key=tmp_path / "k")
    turned = plan_of(identified=True, wards=(*WARDS[1:], WARDS[0]))
    with pytest.raises(LedgerError, match=r"^ward:"):
        release(people(), turned, tmp_path / "2", key=tmp_path / "k")


def test_a_renamed_column_is_known_again(tmp_path: Path) -> None:
    release(people(), plan_of(identified=True), tmp_path / "1", key=tmp_path / "k")
    table = people().rename_columns(["id", "salary", "ward"])
    with pytest.raises(LedgerError, match=r"^salary:"):
        release(table, plan_of(identified=True, income="salary"), tmp_path / "2", key=tmp_path / "k")


def test_another_column_in_the_place_of_one_is_no_rename(tmp_path: Path) -> None:
    release(people(), plan_of(identified=True), tmp_path / "1", key=tmp_path / "k")
    other = people().set_column(1, "salary", people(5)["income"])
    made = release(other, plan_of(identified=True, income="salary"), tmp_path / "2", key=tmp_path / "k")
    assert not made.manifest.again


def test_the_end_of_a_domain_changes_no_draw(tmp_path: Path) -> None:
    """Under one σ a person's noise is the same whether the domain ends at 100,000 or a little farther."""
    sigma = {"income": Gaussian(sigma=12_000.0), "ward": NOISE["ward"]}
    first, second = (
        release(
            people(), replace(plan_of(identified=True, high=h), channels=sigma), tmp_path / str(h), key=tmp_path / "k"
        )
        for h in (100_000, 100_500)
    )
    assert not second.manifest.again
    assert first.to_arrow()["income"].equals(second.to_arrow()["income"])


def test_one_changed_column_of_joint_noise_draws_its_whole_record_anew(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = ("a", "b", "visit")
    attributes = [Attribute("id", Kind.CATEGORICAL, None, role=Role.IDENTIFIER, consent=Consent.WITHHOLD)]
    attributes += [Attribute(n, Kind.INTEGER, Interval(-1000, 1000), consent=Consent.MODIFIED) for n in names]
    covariance = [[10_000, 8_000, 0], [8_000, 10_000, 0], [0, 0, 90_000]]
    method = {"law": "correlated-gaussian", "names": list(names), "covariance": covariance}
    plan = Plan(Schema(tuple(attributes)), {}, name="j", method=method)
    columns = {n: rng.integers(-500, 501, ROWS) for n in names}
    table = pa.table({"id": [f"p{i}" for i in range(ROWS)]} | columns)
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    few = columns["visit"].copy()
    few[: ROWS // 10] += 1
    corrected = table.set_column(3, "visit", pa.array(few))
    assert not release(corrected, plan, tmp_path / "2", key=tmp_path / "k").manifest.again
    later = table.set_column(3, "visit", pa.array(rng.integers(-500, 501, ROWS)))
    with pytest.raises(LedgerError, match=r"^a, b:"):
        release(later, plan, tmp_path / "3", key=tmp_path / "k")


def test_rows_like_one_another_are_said_to_be_beyond_the_ledger(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    table = pa.table({"age": rng.integers(0, 10, ROWS), "sex": np.array(["f", "m"])[rng.integers(0, 2, ROWS)]})
    plan = Plan.propose(table)
    assert "look like others" in " ".join(release(table, plan, tmp_path / "1", key=tmp_path / "k").making.warnings)
    assert not release(people(), plan_of(), tmp_path / "2", key=tmp_path / "k").making.warnings
    assert not release(table, plan, tmp_path / "3").making.warnings

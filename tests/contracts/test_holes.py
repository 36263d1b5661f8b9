"""What an adversarial review found, one test per hole, by its number. Each failed on the code that was reviewed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.channels import Gaussian, Substitution
from sfumato.errors import LedgerError
from sfumato.releases.ledger import Ledger
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Schema

ROWS = 2000


def flags(seed: int, rows: int = ROWS) -> pa.Table:
    return pa.table({"flag": np.array(["no", "yes"])[np.random.default_rng(seed).integers(0, 2, rows)]})


def flag_plan(epsilon: float = 1.0) -> sf.Plan:
    flag = Attribute("flag", Kind.CATEGORICAL, Categories(("no", "yes")), consent=Consent.MODIFIED)
    return sf.Plan(Schema((flag,)), {"flag": Substitution(epsilon=epsilon)})


def people(seed: int = 0, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, rows),
            "income": rng.integers(0, 100_000, rows),
            "weight": rng.normal(70, 12, rows).clip(30, 150).round(1),
            "visits": rng.integers(0, 40, rows),
        }
    )


def people_plan(privacy: float = 0.5) -> sf.Plan:
    ends = {"age": (0, 120), "income": (0, 100_000), "weight": (30, 150), "visits": (0, 40)}
    kinds = {name: Kind.REAL if name == "weight" else Kind.INTEGER for name in ends}
    columns = tuple(Attribute(n, kinds[n], Interval(*ends[n]), consent=Consent.MODIFIED) for n in ends)
    return sf.Plan(Schema(columns), {n: Gaussian(privacy=privacy) for n in ends})


@pytest.mark.parametrize("in_memory", [False, True])
def test_hole_01_one_plan_and_key_on_two_tables_share_no_noise(tmp_path: Path, in_memory: bool) -> None:
    """Were noise shared, released cells would agree wherever the true ones do: in three quarters of all cells, not in 55 %."""
    key = sf.SecretKey.generate() if in_memory else tmp_path / "k"
    first, second = (sf.release(flags(seed, 20_000), flag_plan(), tmp_path / str(seed), key=key) for seed in (1, 2))
    assert first.manifest.salt != second.manifest.salt
    true = np.array(flags(1, 20_000)["flag"]) == np.array(flags(2, 20_000)["flag"])
    shown = np.array(first.to_arrow()["flag"]) == np.array(second.to_arrow()["flag"])
    # With independent noise P(agree | equal) = k² + (1 − k)², k = e/(1 + e): .607. With shared noise it is 1.
    assert shown[true].mean() == pytest.approx(0.607, abs=0.02)
    again = sf.release(flags(1, 20_000), flag_plan(), tmp_path / "again", key=key)
    assert again.manifest.salt == first.manifest.salt
    assert again.data_path.read_bytes() == first.data_path.read_bytes()


def test_hole_01_one_corrected_cell_redraws_no_other(tmp_path: Path) -> None:
    """The salt is not a digest of the table: a corrected table keeps it, and everybody else's noise."""
    table, corrected = people(), people().to_pydict()
    corrected["age"][7] = 55
    first = sf.release(table, people_plan(), tmp_path / "1", key=tmp_path / "k")
    second = sf.release(pa.table(corrected), people_plan(), tmp_path / "2", key=tmp_path / "k")
    changed = [
        (name, row)
        for name in table.column_names
        for row in np.flatnonzero(np.array(first.to_arrow()[name]) != np.array(second.to_arrow()[name]))
    ]
    assert changed == [("age", 7)]


def test_hole_01_a_name_belongs_to_one_table(tmp_path: Path) -> None:
    sf.release(people(1), people_plan(), tmp_path / "1", key=tmp_path / "k", name="spring")
    with pytest.raises(LedgerError, match="'spring' belongs to another table"):
        sf.release(people(2), people_plan(), tmp_path / "2", key=tmp_path / "k", name="spring")


@pytest.mark.parametrize("how", ["link", "copy", "linked folder"])
def test_hole_02_a_linked_or_copied_key_leads_to_the_same_ledger(tmp_path: Path, how: str) -> None:
    (tmp_path / "own").mkdir()
    key, other = tmp_path / "own/k", tmp_path / "other"
    sf.release(people(), people_plan(), tmp_path / "1", key=key)
    if how == "link":
        other.symlink_to(key)
    elif how == "copy":
        shutil.copy(key, other)
    else:
        (tmp_path / "linked").symlink_to(tmp_path / "own")
        other = tmp_path / "linked/k"
    with pytest.raises(LedgerError, match="released before"):
        sf.release(people(), people_plan(0.7), tmp_path / "2", key=other)
    same = sf.release(people(), people_plan(), tmp_path / "2", key=other)
    assert same.data_path.read_bytes() == (tmp_path / "1/data.parquet").read_bytes()


def _delete(path: Path, old: bytes) -> None:
    path.unlink()


def _roll_back(path: Path, old: bytes) -> None:
    path.write_bytes(old)


def _empty(path: Path, old: bytes) -> None:
    path.write_bytes(b"")


def _drop_line(path: Path, old: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))


def _change_line(path: Path, old: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(b'"rows":2000', b'"rows":2001'))


@pytest.mark.parametrize("harm", [_delete, _roll_back, _empty, _drop_line, _change_line])
def test_hole_03_a_ledger_that_is_not_whole_is_refused_with_the_way_out(tmp_path: Path, harm: object) -> None:
    key = tmp_path / "k"
    sf.release(people(1), people_plan(), tmp_path / "1", key=key)
    ledger = Ledger.of_key(key)
    old, first_line = ledger.path.read_bytes(), ledger.path.read_bytes().splitlines(keepends=True)[0]
    sf.release(people(2), people_plan(), tmp_path / "2", key=key)
    harm(ledger.path, old if harm is not _roll_back else first_line)  # type: ignore[operator]
    for privacy in (0.5, 0.7):
        with pytest.raises(LedgerError) as refused:
            sf.release(people(2), people_plan(privacy), tmp_path / "3", key=key)
        assert f"cp {ledger.copy} {ledger.path}" in str(refused.value)
    # The way out: the copy in its place, and the ledger knows everything again.
    shutil.copy(ledger.copy, ledger.path)
    with pytest.raises(LedgerError, match="released before"):
        sf.release(people(2), people_plan(0.7), tmp_path / "3", key=key)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("harm", [_delete, _empty, _change_line])
def test_hole_03_an_owner_who_lost_the_ledger_for_good_may_insist_and_the_manifest_says_so(
    tmp_path: Path, harm: object
) -> None:
    key = tmp_path / "k"
    sf.release(people(), people_plan(), tmp_path / "1", key=key)
    ledger = Ledger.of_key(key)
    harm(ledger.path, b"")  # type: ignore[operator]
    ledger.copy.unlink()
    with pytest.raises(
        LedgerError, match="restore it from a backup, or, if it is lost for good, insist with again=True"
    ):
        sf.release(people(), people_plan(), tmp_path / "2", key=key)
    made = sf.release(people(), people_plan(), tmp_path / "2", key=key, again=True)
    assert made.manifest.again == ("releases of a lost ledger",)
    assert sf.release(people(), people_plan(), tmp_path / "3", key=key).manifest.again == ()


def test_hole_03_another_key_in_the_place_of_one_is_refused(tmp_path: Path) -> None:
    sf.release(people(), people_plan(), tmp_path / "1", key=tmp_path / "k")
    sf.release(people(), people_plan(), tmp_path / "2", key=tmp_path / "other")
    for name in ("k", "k.ledger"):
        (tmp_path / "aside").mkdir(exist_ok=True)
        shutil.copy(tmp_path / name, tmp_path / "aside" / name)
    other = (tmp_path / "other").read_text().replace(str(tmp_path / "other.ledger"), str(tmp_path / "k.ledger"))
    (tmp_path / "k").write_text(other)
    with pytest.raises(LedgerError, match="belongs to another key"):
        sf.release(people(), people_plan(), tmp_path / "3", key=tmp_path / "k")
    with pytest.raises(LedgerError, match="belongs to another key"):
        sf.release(people(), people_plan(), tmp_path / "3", key=tmp_path / "k", again=True)
    (tmp_path / "k").unlink()
    with pytest.raises(LedgerError, match="releases of another key"):
        sf.release(people(), people_plan(), tmp_path / "3", key=tmp_path / "k")


def test_hole_04_a_public_name_tells_nothing_of_the_plan(tmp_path: Path) -> None:
    """The same plan under two keys has two names, so nobody can find a plan (or a withheld label) by trying names."""
    names = {sf.release(people(), people_plan(), tmp_path / k, key=tmp_path / f"{k}.key").manifest.name for k in "ab"}
    assert len(names) == 2


def _shuffle(table: pa.Table) -> pa.Table:
    return table.take(np.random.default_rng(5).permutation(len(table)))


def _put_on_top(table: pa.Table) -> pa.Table:
    return pa.concat_tables([people(9, 1), table])


@pytest.mark.parametrize("move", [_shuffle, _put_on_top])
@pytest.mark.parametrize("column", ["age", "income", "weight", "visits"])
def test_hole_06_moved_rows_with_a_changed_column_are_known_again(tmp_path: Path, column: str, move: object) -> None:
    sf.release(people(), people_plan(), tmp_path / "1", key=tmp_path / "k")
    fresh = people(seed=3)[column]
    changed = people().set_column(people().column_names.index(column), column, fresh)
    rest = [n for n in people().column_names if n != column]
    with pytest.raises(LedgerError, match="released before") as refused:
        sf.release(move(changed), people_plan(), tmp_path / "2", key=tmp_path / "k")  # type: ignore[operator]
    assert set(rest) <= set(str(refused.value).partition(":")[0].split(", "))
    # Another table with the same columns is not taken for this one.
    sf.release(_shuffle(people(seed=4)), people_plan(), tmp_path / "2", key=tmp_path / "k")


def test_hole_06_moved_rows_are_known_again_though_a_column_is_left_out(tmp_path: Path) -> None:
    sf.release(people(), people_plan(), tmp_path / "1", key=tmp_path / "k")
    whole = people_plan()
    plan = sf.Plan(
        Schema(tuple(a for a in whole.schema if a.name != "visits")),
        {n: c for n, c in whole.channels.items() if n != "visits"},
    )
    with pytest.raises(LedgerError, match="released before"):
        sf.release(_shuffle(people().drop_columns(["visits"])), plan, tmp_path / "2", key=tmp_path / "k")


def test_the_manifest_states_the_scheme_and_the_salt_of_the_noise(tmp_path: Path) -> None:
    made = sf.release(people(), people_plan(), tmp_path / "1", key=tmp_path / "k")
    stated = json.loads((tmp_path / "1/manifest.json").read_text("utf-8"))
    assert stated["noise_scheme"] == 2
    assert stated["salt"] == made.manifest.salt
    assert len(bytes.fromhex(stated["salt"])) == 12

"""What a ledger tells those who have it without the key, and which tables it knows again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import LedgerError
from sfumato.releases import Ledger


@pytest.fixture
def owned(tmp_path, monkeypatch):
    """A key whose ledger has its copy in a state folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "owner.key"


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "height": rng.normal(170, 12, n).round(3),
            "weight": rng.normal(70, 14, n).round(3),
            "age": rng.integers(18, 95, n),
            "rooms": rng.integers(1, 9, n),
        }
    )


def release(table, key, folder, **asked):
    return sf.release(table, None, key.parent / folder, key=key, **({"privacy": 0.5} | asked))


def test_a_ledger_shows_names_dates_and_laws_but_no_hash_of_a_cell(owned):
    made = release(people(), owned, "r")
    lines = [json.loads(line) for line in Path(f"{owned}.ledger").read_text("utf-8").splitlines()]
    entry = lines[1]["release"]
    assert entry["name"] == made.manifest.name
    assert isinstance(entry["sketch"], str)
    again = Ledger.of_key(owned)._seal(Ledger.of_key(owned).entries()[0])
    assert again["sketch"] != entry["sketch"]  # the same rows are sealed differently each time


def test_without_the_key_a_ledger_is_refused_with_what_to_give(owned):
    made = release(people(), owned, "r")
    with pytest.raises(LedgerError, match="sealed under its key: give the key file"):
        sf.audit(made, people(), ledger=f"{owned}.ledger", targets=20)


def test_a_ledger_that_lies_elsewhere_is_read_with_its_key(owned, tmp_path):
    made = release(people(), owned, "r")
    elsewhere = tmp_path / "moved.ledger"
    elsewhere.write_bytes(Path(f"{owned}.ledger").read_bytes())
    assert sf.audit(made, people(), key=owned, ledger=elsewhere, targets=20).repeats is not None


def as_float32(table):
    return table.set_column(0, "height", table["height"].cast(pa.float32())).set_column(
        1, "weight", table["weight"].cast(pa.float32())
    )


def as_labels(table):
    return table.set_column(3, "rooms", table["rooms"].cast(pa.string()))


def repeat_rows(table):
    return pa.concat_tables([table] * 5)


@pytest.mark.parametrize("change", [as_float32, as_labels, repeat_rows])
def test_the_same_people_are_known_again_in(change, owned):
    release(people(), owned, "first")
    with pytest.raises(LedgerError, match="released before"):
        release(change(people()), owned, "second", privacy=0.9)


def test_a_column_of_numbers_that_a_plan_calls_labels_is_known_again(owned):
    release(people(), owned, "first")
    plan = sf.plan(people(), privacy=0.5)
    entries = plan.to_dict()
    rooms = next(c for c in entries["column"] if c["name"] == "rooms")
    del rooms["domain"]
    rooms |= {
        "kind": "categorical",
        "categories": [str(i) for i in range(1, 9)],
        "noise": {"law": "substitution", "gamma": 5.0},
    }
    with pytest.raises(LedgerError, match="rooms"):
        sf.release(people(), sf.Plan.from_dict(entries), owned.parent / "second", key=owned)


def test_one_name_does_not_serve_two_tables_that_share_a_column(owned):
    release(people(), owned, "first", name="survey")
    other = people(seed=2).set_column(2, "age", people()["age"])
    with pytest.raises(LedgerError, match="belongs to another table"):
        release(other, owned, "second", name="survey")


def test_a_ledger_without_its_copy_says_so(owned, tmp_path):
    assert not [n for n in release(people(), owned, "first").making.notes if getattr(n, "code", "") == "SF232"]
    for copy in (tmp_path / "state" / "sfumato").iterdir():
        copy.unlink()
    assert [n for n in release(people(), owned, "again").making.notes if getattr(n, "code", "") == "SF232"]


def test_a_planted_link_is_not_followed_when_the_ledger_is_written(owned, tmp_path):
    release(people(), owned, "first")
    victim = tmp_path / "victim"
    victim.write_text("untouched", "utf-8")
    Path(f"{owned}.ledger.new").symlink_to(victim)
    release(people(seed=5), owned, "second")
    assert victim.read_text("utf-8") == "untouched"
    assert not Path(f"{owned}.ledger").is_symlink()


def test_first_releases_at_once_share_one_new_key(owned, tmp_path):
    script = (
        "import sys, sfumato as sf\n"
        "sf.release('iris', sf.plan('iris', privacy=0.5, name=sys.argv[2]), sys.argv[2], key=sys.argv[1])\n"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(owned), f"r{i}"], cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE
        )
        for i in range(3)
    ]
    codes = [run.wait() for run in runs]
    for run in runs:
        run.stderr.close()
    assert codes.count(0) == 1  # the others are refused: the same rows under other noise
    assert [e.name for e in Ledger.of_key(owned).entries()] == [f"r{codes.index(0)}"]

"""What the owner's ledger tells an audit: other releases of the same rows, and what averaging over them leaves."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from sfumato.attacks import View
from sfumato.auditing.case import find_repeats
from sfumato.auditing.runner import audit
from sfumato.channels import Gaussian, Substitution
from sfumato.cli.audit import audit as audit_command
from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.releases import Release
from sfumato.releases.ledger import Ledger
from sfumato.releasing import release, with_method
from sfumato.schema import Attribute, Categories, Interval, Kind, Schema

SCHEMA = Schema(
    (
        Attribute("x", Kind.REAL, Interval(0, 100), resolution=0.01),
        Attribute("t", Kind.CATEGORICAL, Categories(("p", "q", "r"))),
    )
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(9)
    return pa.table({"x": rng.uniform(0, 100, 1500).round(2), "t": rng.choice(["p", "q", "r"], 1500)})


def plan(name, sigma=5.0):
    return Plan(SCHEMA, {"x": Gaussian(sigma=sigma), "t": Substitution(gamma=6.0)}, name=name)


@pytest.fixture(scope="module")
def shelf(table, tmp_path_factory):
    where = tmp_path_factory.mktemp("shelf")
    key = where / "owner.key"
    key.touch(mode=0o600)
    key.write_text(f"sfumato owner key v1\n{bytes(range(32)).hex()}\n")
    for name, sigma in (("r-one", 5.0), ("r-two", 5.0), ("r-three", 2.5)):
        release(table, plan(name, sigma), where / name, key=key, again=True)
    release(table, plan("r-one"), where / "copy", key=key, again=True)  # the same release again is no further one
    rng = np.random.default_rng(1)
    other = pa.table({"x": rng.uniform(0, 100, 1500).round(2), "t": rng.choice(["p", "q", "r"], 1500)})
    release(other, plan("elsewhere"), where / "elsewhere", key=key)
    return where


@pytest.fixture(scope="module")
def found(shelf, table):
    return audit(table, shelf / "r-one", ledger=Ledger.of_key(shelf / "owner.key"), targets=50)


def test_the_ledger_counts_the_releases_of_the_same_rows_and_no_others(found):
    assert found.repeats["releases_known_to_the_ledger"] == 3
    assert found.repeats["names"] == ["r-two", "r-three"]
    assert found.repeats["columns"]["x"]["independent_draws"] == 3


def test_the_expected_interval_is_that_of_the_best_average(found):
    column = found.repeats["columns"]["x"]
    # σ = 5, 5 and 2.5: precisions 0.04 + 0.04 + 0.16 = 0.24, so σ of the average is 1/√0.24 = 2.0412
    assert column["interval_width_95"] == pytest.approx(3.919928 * 5, rel=1e-4)
    assert column["expected_after_averaging"] == pytest.approx(3.919928 * 2.041241, rel=1e-4)


def test_averaging_over_stand_ins_leaves_what_the_law_says_and_what_the_folders_leave(found, shelf, table):
    column = found.repeats["columns"]["x"]
    assert column["measured_after_averaging"] == pytest.approx(column["expected_after_averaging"], rel=0.08)
    folders = audit(
        table, shelf / "r-one", others=[shelf / "r-two", shelf / "r-three"], key=shelf / "owner.key", targets=50
    )
    assert folders.repeats["given_as_folders"] == ["r-three", "r-two"]
    left = folders.repeats["columns"]["x"]["measured_after_averaging"]
    assert left == pytest.approx(column["measured_after_averaging"], rel=0.05)
    labels = [a.repeats["columns"]["t"]["measured_after_averaging"] for a in (found, folders)]
    assert labels[0] == pytest.approx(labels[1], rel=0.1)


def test_the_promise_is_broken_by_what_is_out_there_and_the_report_says_so(found):
    promise = next(p for p in found.promises if p.attribute == "x")
    assert (promise.verdict, promise.attack) == ("broken", "averaging")
    alarm = next(a for a in found.alarms() if "ledger knows 3 releases" in a["words"])
    assert any(i.startswith("x: 3 draws, noise of width 19.6 averages to 8") for i in alarm["items"])
    assert "ledger knows 3 releases" in found.html()
    assert "names" not in found.to_dict("public")["repeats"]
    assert "r-two" not in found.html("public")


def test_rows_in_another_order_are_counted_but_not_laid_side_by_side(shelf, table, tmp_path):
    key = shelf / "owner.key"
    shutil.copy(key, tmp_path / "copy")
    shutil.copy(Ledger.of_key(key).path, Ledger.of_key(tmp_path / "copy").path)
    shuffled = table.take(np.random.default_rng(3).permutation(1500))
    release(shuffled, plan("shuffled"), tmp_path / "r", key=tmp_path / "copy", again=True)
    first = release(table, plan("r-one"), tmp_path / "f", key=tmp_path / "copy", again=True)
    known = find_repeats(Ledger.of_key(tmp_path / "copy"), first.manifest)
    assert [placed for _, _, placed in known.others.values()].count(False) == 1
    assert known.views()["x"] == 4


def test_a_guided_release_of_the_same_rows_is_counted_but_has_no_law_to_average_by(tmp_path):
    key = tmp_path / "k"
    release("iris", with_method(Plan.propose("iris"), "leaf-swap", {}), tmp_path / "g", key=key)
    first = release("iris", Plan.propose("iris", privacy=0.2), tmp_path / "r", key=key, again=True)
    found = audit("iris", first, ledger=Ledger.of_key(key), targets=20)
    assert found.repeats["releases_known_to_the_ledger"] == 2
    assert found.repeats["columns"]["petal_width"]["independent_draws"] == 2
    assert found.repeats["columns"]["petal_width"]["expected_after_averaging"] is None
    assert "averaging" in found.notes


def test_a_release_that_the_ledger_does_not_know_is_said_to_be_unknown(shelf, table, tmp_path):
    made = release(table, plan("stranger"), tmp_path / "r", key=tmp_path / "other.key")
    with pytest.raises(UsageError, match="knows no release 'stranger'"):
        audit(table, made, ledger=Ledger.of_key(shelf / "owner.key"))


def test_one_release_alone_raises_no_alarm(table, tmp_path):
    made = release(table, plan("only"), tmp_path / "r", key=tmp_path / "k")
    found = audit(table, made, key=tmp_path / "k", targets=20)
    assert found.repeats["releases_known_to_the_ledger"] == 1
    assert "averaging" in found.notes
    assert not [a for a in found.alarms() if "ledger" in a["words"]]


def test_the_command_finds_the_ledger_beside_the_key(shelf, table, tmp_path):
    from pyarrow import csv

    csv.write_csv(table, tmp_path / "t.csv")
    arguments = [str(tmp_path / "t.csv"), str(shelf / "r-two"), "--targets", "20", "--json"]
    result = CliRunner().invoke(audit_command, [*arguments, "--key", str(shelf / "owner.key")], catch_exceptions=False)
    assert result.exit_code == 0
    about = json.loads(result.stdout)
    assert about["repeats"]["releases_known_to_the_ledger"] == 3
    assert "The ledger knows 3 releases" in result.stderr
    with pytest.raises(UsageError, match="cannot be read"):
        CliRunner().invoke(audit_command, [*arguments, "--key", str(tmp_path / "none")], catch_exceptions=False)


def test_the_ledger_itself_is_unchanged_by_an_audit(shelf, table):
    path = Ledger.of_key(shelf / "owner.key").path
    before = path.read_bytes()
    audit(table, shelf / "r-one", key=shelf / "owner.key", targets=20)
    assert path.read_bytes() == before


def test_a_name_released_under_two_laws_is_told_apart_by_its_law(table, tmp_path):
    key = tmp_path / "owner.key"
    for folder, sigma in (("weak", 5.0), ("strong", 0.5)):
        release(table, plan("same", sigma), tmp_path / folder, key=key, again=True)
    book = Ledger.of_key(key)
    widths = {}
    for folder in ("weak", "strong"):
        made = Release.open(tmp_path / folder)
        again = find_repeats(book, made.manifest)
        assert again.own.laws["x"] == made.manifest["x"].channel.to_dict()
        widths[folder] = again.widths(View.of(made))["x"]
    # Each release has its own width, and averaging both leaves less than the narrower of them.
    assert widths["weak"][0] > 9 * widths["strong"][0]
    assert widths["weak"][1] == pytest.approx(widths["strong"][1])
    assert widths["strong"][1] < widths["strong"][0]


def test_rows_in_another_order_are_draws_of_their_own_even_under_one_noise_name(table, tmp_path):
    key = tmp_path / "owner.key"
    release(table, plan("one"), tmp_path / "one", key=key)
    for turn in range(3):
        order = np.random.default_rng(turn).permutation(table.num_rows)
        release(table.take(order), plan("two"), tmp_path / f"two-{turn}", key=key, again=True)
    made = Release.open(tmp_path / "one")
    again = find_repeats(Ledger.of_key(key), made.manifest)
    own, averaged = again.widths(View.of(made))["x"]
    assert again.views()["x"] == 4
    assert averaged == pytest.approx(own / 2)

"""An attack speaks for itself: one file and one import line bring it into audit, report, JSON, docs and contract tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*words: str, code: int | None = 0) -> str:
    ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert code is None or ran.returncode == code, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    script = (
        "import sys, tests.support.toy_attack\n"
        "from sfumato.cli import main\n"
        "main(sys.argv[1:])\n"
    )  # fmt: skip
    run(
        "-m",
        "sfumato",
        "release",
        "iris",
        "-o",
        str(folder / "r"),
        "--key",
        str(folder / "key"),
        "--noise",
        "uniform",
        "--privacy",
        "0.5",
    )
    page = folder / "report.html"
    told = json.loads(
        run("-c", script, "audit", "iris", str(folder / "r"), "--targets", "20", "-o", str(page), "--json")
    )
    return told, page.read_text("utf-8")


def test_a_new_attack_is_in_the_json_of_an_audit(audited):
    told, _ = audited
    (finding,) = (f for f in told["attacks"] if f["name"] == "toy-mean")
    assert finding["trials"] == 150 - 30
    assert told["granted"]["toy-mean"] == ["known rows"]


def test_a_new_attack_is_in_the_report(audited):
    _, page = audited
    assert "Mean of the known rows" in page
    assert "True values of some rows of the release." in page


def test_a_new_attack_is_held_to_the_contract_of_attacks():
    words = "-m pytest -v -p no:cacheprovider -p tests.support.toy_attack tests/contracts/test_attacks.py -k toy-mean"
    told = run(*words.split(), code=None)
    failed = [line for line in told.splitlines() if line.startswith("FAILED ")]
    assert "1 failed, 6 passed" in told
    assert len(failed) == 1
    assert "test_the_guide_says_what_an_attack_is_granted[toy-mean]" in failed[0]  # no guide speaks of it yet


def test_a_new_attack_has_its_place_in_the_reference():
    assert "## toy-mean" in run(
        "-c", "import tests.support.toy_attack\nfrom docs.generate import attacks\nprint(attacks())"
    )

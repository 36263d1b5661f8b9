"""A law in a file of its own, registered by one import, is at home in every room."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.source import MODULES, ROOT, SOURCE, TREES

from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.guided import METHODS

LAW = "triangular"
REGISTER = f"import tests.support.{LAW}"
"""All that makes the law known. It runs in a process of its own, so that no other test meets the law."""
RUN = f"""
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
{REGISTER}
from sfumato.cli import main

said = []
for words in json.loads(sys.stdin.read()):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as err:
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


def in_python(arguments: list[str], text: str = "") -> str:
    ran = subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(LAW)


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    """What the command line says of the law, by what was asked."""
    noise = ["--noise", LAW, "--privacy", "0.5"]
    commands = {
        "release --help": ["release", "--help"],
        "plan --help": ["plan", "--help"],
        "tradeoff --help": ["tradeoff", "--help"],
        "plan": ["plan", "iris", "--noise", LAW, "-o", f"{folder}/plan.toml", "--json"],
        "release": ["release", "iris", *noise, "-o", f"{folder}/release", "--key", f"{folder}/key", "--json"],
        "labels": ["release", "car_evaluation", *noise, "-o", f"{folder}/labels", "--key", f"{folder}/key", "--json"],
        "describe": ["describe", f"{folder}/release", "--json"],
        "reconstruct": ["reconstruct", f"{folder}/release", "--json"],
        "tradeoff": ["tradeoff", "iris", "--noise", LAW, "--repeats", "1", "--json"],
        "audit": ["audit", "iris", f"{folder}/release", "--targets", "20", "--json"],
    }
    answers = json.loads(in_python(["-c", RUN], json.dumps(list(commands.values()))).splitlines()[-1])
    for asked, (code, _, err) in zip(commands, answers, strict=True):
        assert code in (0, None), f"{asked}: {err}"
    return {asked: out for asked, (_, out, _) in zip(commands, answers, strict=True)}


@pytest.mark.parametrize("verb", ["release", "plan", "tradeoff"])
def test_the_help_names_it(said: dict[str, str], verb: str) -> None:
    about = said[f"{verb} --help"].partition("--noise TEXT")[2].partition("\n  --")[0]
    assert LAW in re.split(r"[\s,]+", about)


def test_a_plan_names_it_explains_it_and_gives_it_its_default(said: dict[str, str], folder: Path) -> None:
    plan = json.loads(said["plan"])["plan"]
    noise = [column["noise"] for column in plan["column"] if "noise" in column]
    assert {n["law"] for n in noise} == {LAW}
    assert all(n["privacy"] >= 0.5 for n in noise)  # its default, or what the rehearsal asks for beyond it
    assert re.search(rf"^# +{LAW} +Add triangular noise", (folder / "plan.toml").read_text(), re.MULTILINE)


def test_a_release_states_it_in_manifest_readme_and_description(said: dict[str, str], folder: Path) -> None:
    columns = {c["name"]: c for c in json.loads(said["release"])["attributes"]}
    assert columns["petal_width"]["mechanism"]["law"] == LAW
    words = "true value plus triangular noise between −"
    assert (folder / "release" / "README.md").read_text().count(words) == 4
    about = json.loads(said["describe"])["attributes"]["petal_width"]
    assert about["mechanism"] == LAW
    assert about["what"].startswith(words)
    assert about["privacy"]["interval_width_95_share"] == pytest.approx(0.5)


def test_labels_get_its_companion(said: dict[str, str]) -> None:
    columns = json.loads(said["labels"])["attributes"]
    laws = {c["mechanism"]["law"] for c in columns if c["consent"] == "modified"}
    assert laws == {"substitution"}


def test_its_release_is_reconstructed_and_audited(said: dict[str, str]) -> None:
    assert sum(json.loads(said["reconstruct"])["attributes"]["petal_width"]["mass"]) == pytest.approx(1)
    assert json.loads(said["audit"])["attacks"]


def test_a_trade_off_sweeps_it(said: dict[str, str]) -> None:
    swept = json.loads(said["tradeoff"])
    assert swept["law"] == LAW
    assert len(swept["points"]) == 7


def test_the_contract_of_laws_holds_it_to_its_sampler() -> None:
    """The contract tests walk the registry, so that one more import is one more law in them."""
    options = ["-q", "-p", "no:cacheprovider", "-p", f"tests.support.{LAW}", "-k", LAW]
    ran = in_python(["-m", "pytest", *options, "tests/contracts/test_channels.py", "-n", "0", "-rN"])
    passed = ran.count(".")
    assert passed > 80, ran


def test_a_law_is_registered_by_its_import_alone() -> None:
    registered = (
        f"from sfumato.channels import CHANNELS; before = set(CHANNELS); {REGISTER}; print(set(CHANNELS) - before)"
    )
    assert in_python(["-c", registered]).strip() == f"{{'{LAW}'}}"


ALLOWED = {
    ("plans/document.py", "gaussian"),  # the law that a plan proposes unless another is named
    ("privacy/figures.py", "substitution"),  # a field of the JSON: the variance under either law for labels
    ("privacy/figures.py", "projective"),
}


def test_no_other_room_keeps_a_list_of_laws_or_methods() -> None:
    names = {*CHANNELS, *JOINT_LAWS, *METHODS} | {m.family for m in METHODS.values() if m.family}
    assert len(names) >= 21
    found = set()
    for module, tree in TREES.items():
        place = MODULES[module].relative_to(SOURCE)
        if place.parts[0] in ("channels", "guided", "papers"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in names:
                found.add((str(place), node.value))
    assert found == ALLOWED

"""Numbered findings: one meaning each, in words, and a note keeps its code wherever it goes."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import cli
from sfumato.errors import UsageError
from sfumato.findings import FINDINGS, Note, code_notes, explain


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_says_what_it_means_and_what_to_do(code: str) -> None:
    entry = FINDINGS[code]
    assert re.fullmatch(r"SF[1-6]\d\d", code)
    assert entry.code == code
    assert entry.meaning.endswith(".")
    assert entry.next_step.endswith(".")
    assert not entry.title.endswith(".")


def test_titles_are_told_apart() -> None:
    assert len({entry.title for entry in FINDINGS.values()}) == len(FINDINGS)


@pytest.mark.parametrize("carried", [copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))], ids=["copy", "pickle"])
def test_a_note_keeps_its_code_when_it_travels(carried) -> None:
    note = carried(Note("SF102", "neighbouring rows are alike"))
    assert (note, note.code) == ("neighbouring rows are alike", "SF102")


def test_a_note_is_text_in_json() -> None:
    assert json.dumps([Note("SF102", "words")]) == '["words"]'
    assert code_notes([Note("SF102", "words"), "plain"]) == [
        {"code": "SF102", "title": "Neighbouring rows are alike", "words": "words"}
    ]


def test_a_code_that_is_not_in_the_list_is_refused() -> None:
    with pytest.raises(KeyError):
        Note("SF999", "words")
    with pytest.raises(UsageError, match="there is no finding 'SF999'; the codes are SF101"):
        explain("SF999")


def test_the_command_line_explains_a_code() -> None:
    done = CliRunner().invoke(cli, ["explain", "sf102"])
    assert done.exit_code == 0
    assert "Shuffle the rows" in done.output
    done = CliRunner().invoke(cli, ["explain", "--json"])
    assert [entry["code"] for entry in json.loads(done.output)["findings"]] == list(FINDINGS)


def test_every_alarm_of_an_audit_has_its_code_in_json_and_in_the_report(tmp_path: Path) -> None:
    made = sf.release(
        "iris", sf.Plan.propose("iris", noise="gaussian", privacy=0.3), tmp_path / "r", key=tmp_path / "key"
    )
    audit = sf.audit("iris", made, targets=20)
    about = audit.to_dict()
    assert [{k: f[k] for k in ("level", "words", "items", "remedy")} for f in about["findings"]] == about["alarms"]
    assert about["findings"]
    assert all(f["title"] == FINDINGS[f["code"]].title for f in about["findings"])
    page = audit.html()
    for finding in about["findings"]:
        assert f'href="#{finding["code"]}"' in page
        assert f'id="{finding["code"]}"' in page


def test_every_attack_has_a_remedy_with_a_code_of_its_own_kind() -> None:
    from sfumato.attacks import ATTACKS

    codes = {name: cls.remedy.words.code for name, cls in ATTACKS.items() if cls.remedy.words}
    assert len(codes) > 12
    assert all(code.startswith(("SF41", "SF42", "SF277")) for code in codes.values())
    assert all(cls.remedy.instead.code == codes[n] for n, cls in ATTACKS.items() if cls.remedy.instead)


def test_every_code_is_used_and_no_other_is() -> None:
    source = Path(sf.__file__).parent
    used = {
        code
        for p in source.rglob("*.py")
        if p.name != "findings.py"
        for code in re.findall(r'"(SF\d+)"', p.read_text("utf-8"))
    }
    assert used == set(FINDINGS)


@pytest.mark.parametrize(
    "command",
    [
        "plan {table}",
        "release {table} -o {new} --key {key} --noise gaussian",
        "release iris -o {new} --key {key} --method leaf-swap",
        "describe {made}",
        "cluster {made} -k 2",
        "compare {table} {made} --key {other}",
        "mine {made} --strategy auto",
        "tradeoff credit_approval --levels 0.5 --repeats 1",
    ],
)
def test_what_the_terminal_notes_is_in_the_json_with_the_same_codes(command: str, tmp_path: Path) -> None:
    table, made, key, other = (tmp_path / name for name in ("table.csv", "made", "key", "other"))
    rows = [f"{n % 90},{'NA' if n % 7 == 0 else n % 13},{'yes' if n % 3 else 'no'}" for n in range(300)]
    table.write_text("\n".join(["age,visits,class", *rows]))
    sf.release(table, sf.plan(table, target="class", privacy=0.5), made, key=other)
    words = command.format(table=table, made=made, key=key, other=other, new=tmp_path / "new").split()
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.stderr
    listed = [finding["code"] for finding in json.loads(done.stdout)["findings"]]
    assert listed
    assert set(listed) <= set(FINDINGS)
    if words[0] != "describe":  # whose words all go to stdout
        assert re.findall(r"\[(SF\d+)\]$", done.stderr, re.MULTILINE) == listed

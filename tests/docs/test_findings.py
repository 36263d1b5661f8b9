"""Numbered findings: one meaning each, in words, and a note keeps its code wherever it goes."""

from __future__ import annotations

import copy
import json
import pickle
import re

import pytest
from click.testing import CliRunner

from sfumato.cli.app import cli
from sfumato.errors import UsageError
from sfumato.findings import FINDINGS, Note, coded, explain


@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_says_what_it_means_and_what_to_do(code: str) -> None:
    entry = FINDINGS[code]
    assert re.fullmatch(r"SF[1-4]\d\d", code)
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
    assert coded([Note("SF102", "words"), "plain"]) == [
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

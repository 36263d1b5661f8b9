"""The walk through the rooms is the way the data goes: every hop exists, and is called, in that order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.pages import DOCS
from tests.support.trace import first_calls

from sfumato.cli import main

SECTIONS = dict(
    re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", (DOCS / "walk.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
)


def hops(section: str) -> list[str]:
    """The functions that begin the numbered lines of a section."""
    return re.findall(r"^\s*\d+\. `([\w.]+)`", SECTIONS[section], re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("walk")


def command(*words: object) -> Callable[[], None]:
    def run() -> None:
        with pytest.raises(SystemExit) as done:
            main([str(word) for word in words])
        assert done.value.code == 0

    return run


def test_the_walk_has_three_ways() -> None:
    assert list(SECTIONS) == ["release", "mine", "audit"]
    assert all(len(hops(section)) >= 8 for section in SECTIONS)


def test_the_data_goes_the_way_that_the_walk_tells(folder: Path) -> None:
    made, key = folder / "release", folder / "key"
    ways = {
        "release": command("release", "iris", "-o", made, "--key", key, "--privacy", 0.5, "--workers", 1),
        "mine": command("mine", made, "-o", folder / "model.json", "--strategy", "byclass"),
        "audit": command("audit", "iris", made, "--targets", 20),
    }
    for section, run in ways.items():
        calls = first_calls(run)
        places = []
        for hop in hops(section):
            assert hop in calls, f"{section}: {hop} is not called; python -m tests.support.trace prints what is"
            places.append(calls.index(hop))
        disorder = [hop for hop, a, b in zip(hops(section), places, sorted(places), strict=True) if a != b]
        assert not disorder, f"{section}: in another order: {disorder}"

"""What the guides show is what happens: their commands are run, and every line shown is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.guides import Command

from docs import guides


@pytest.mark.parametrize("page", guides.guides(), ids=lambda p: p.stem)
def test_the_output_in_a_guide_is_the_output_of_its_commands(page: Path, tmp_path: Path) -> None:
    for done in guides.run(page, tmp_path):
        if isinstance(done, Command):
            assert not done.untrue, (
                f"$ {done.words}\nprints now:\n" + "\n".join(done.printed) + "\nrun `make docs-guides`"
            )
        else:
            assert not done, done


def test_a_line_that_is_not_printed_is_found() -> None:
    command = Command("sfumato x", ["first", "…", "third 2.5 s"], ["first", "second", "third 9 s"])
    assert not command.untrue
    assert Command("sfumato x", ["second", "first"], ["first", "second"]).untrue == ["first"]
    assert Command("sfumato x", ["first row"], ["first line"]).renewed() == ["first line"]


def test_the_guides_have_commands_to_run() -> None:
    shown = {page.stem: len(guides.blocks(page)) for page in guides.guides()}
    assert all(shown[name] >= 3 for name in ("owner", "miner", "guided", "audit")), shown

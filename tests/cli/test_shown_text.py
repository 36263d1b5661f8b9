"""Names and labels are printed as they stand, whatever they look like to a terminal library."""

from __future__ import annotations

import pytest

from sfumato.cli.output import table


@pytest.mark.parametrize("text", ["glucose [mg/dL]", "[a]", "[/]", "[bold]x[/bold]", "[10,20)", "a\\[b", ":smile:"])
def test_brackets_are_no_markup(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    table(["column", text], [[text, "1"]])
    assert capsys.readouterr().out.count(text) == 2

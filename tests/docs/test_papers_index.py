"""A reader finds each numbered table and figure of the five papers: ours beside it, or a line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
INDEX = (FOLDER / "README.md").read_text("utf-8")

NUMBERED = {
    "Agrawal & Srikant 2000": ["Table 1", "Table 2", "Table 3", *(f"Figure {i}" for i in range(1, 7))],
    "Islam & Brankovic 2003": ["Figure 1", "Figure 2", "Figure 3"],
    "DETECTIVE 2005": ["Figure 3.1", "Figure 4.1", "Figure 4.2", "Figure 4.3", "Table 4.1", "Table 4.2"],
    "Dowd, Xu & Zhang 2006": [f"Figure {i}" for i in range(1, 6)],
    "Liu et al. 2012": ["Table 1", "Figure 1"],
}
"""All that the papers number, as printed."""
ROWS = re.findall(r"^\| ([^|]+) \| ((?:Table|Figure) [0-9.]+) \| ([^|]+) \| ([^|]+) \|$", INDEX, re.MULTILINE)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_table_and_figure_has_one_line(paper: str) -> None:
    named = [number for of, number, _, _ in ROWS if of == paper]
    assert sorted(named) == sorted(NUMBERED[paper])


def test_the_index_names_no_other_paper() -> None:
    assert {row[0] for row in ROWS} == set(NUMBERED)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}, {row[1]}")
def test_a_line_leads_to_our_result_or_says_why_there_is_none(row: tuple[str, ...]) -> None:
    ours = row[3]
    links = re.findall(r"\]\(([^)]+)\)", ours)
    assert links or ours.startswith(("no result: ", "not shown"))
    for link in links:
        assert (FOLDER / link).exists(), f"{row[0]}, {row[1]} leads to {link}, which is not there"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}, {row[1]}")
def test_quoted_sections_stand_in_the_results(row: tuple[str, ...]) -> None:
    pages = {link for link in re.findall(r"\]\(([^)]+)\)", row[3]) if link.endswith("results.md")}
    for page in pages:
        headings = re.findall(r"^## (.+)$", (FOLDER / page).read_text("utf-8"), re.MULTILINE)
        for quoted in re.findall(r'"([^"]+)"', row[3]):
            assert any(h == quoted or h.startswith(f"{quoted},") for h in headings), f"{page} has no section {quoted}"

"""The documentation says what the package has, and the package has what the documentation says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
from sfumato.cli.app import VERBS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
API = (ROOT / "docs" / "api.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(sfumato.PUBLIC))
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(sfumato, name) is not None
    assert f"`{name}" in API, f"docs/api.md does not mention {name}"


def test_every_name_in_the_api_page_is_public():
    named = re.findall(r"^\| `(\w+)", API, re.MULTILINE)
    assert named
    assert set(named) == set(sfumato.PUBLIC)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_verbs_in_the_documentation_exist(page):
    for verb in re.findall(r"^(?:\$ )?sfumato (\w+)", page.read_text("utf-8"), re.MULTILINE):
        assert verb in VERBS, f"{page.name} speaks of sfumato {verb}"


@pytest.mark.parametrize(
    "name", re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs" / "formulas.md").read_text("utf-8"))
)
def test_tests_named_in_the_formula_index_exist(name):
    assert (ROOT / name).exists()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()

"""The documentation says what the package has, and the package has what the documentation says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.pages import DOCS, PAGES, ROOT, anchors, fenced, links

from sfumato.cli.app import VERBS

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@by_name
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}, where no heading is called so"


def test_every_page_is_in_the_navigation() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for block in fenced(page, "{toctree}"):
            for line in block.splitlines():
                if line.strip() and not line.startswith(":"):
                    entries = [p for p in sorted(page.parent.glob(f"{line.strip()}.md")) if p.resolve() != page]
                    assert entries, f"{page.relative_to(DOCS)} lists {line.strip()}, which is not there"
                    waiting += [p.resolve() for p in entries if p.resolve() not in reached]
    assert reached == set(DOCS.glob("**/*.md"))


def test_pages_of_the_site_link_to_nothing_outside_it() -> None:
    for page in DOCS.glob("**/*.md"):
        for link in links(page):
            path = (page.parent / link.partition("#")[0]).resolve()
            assert path.is_relative_to(DOCS), f"{page.relative_to(DOCS)} links to {link}: write it as code"


@by_name
def test_verbs_in_the_documentation_exist(page: Path) -> None:
    for verb in re.findall(r"^(?:\$ )?sfumato (\w+)", page.read_text("utf-8"), re.MULTILINE):
        assert verb in VERBS, f"{page.name} speaks of sfumato {verb}"


@by_name
def test_options_in_the_documentation_exist(page: Path) -> None:
    known = set(re.findall(r"--[a-z][\w-]*", (DOCS / "reference" / "verbs.md").read_text("utf-8"))) | {"--help"}
    for block in fenced(page):
        for line in re.findall(r"^(?:\$ )?sfumato .*$", block, re.MULTILINE):
            unknown = set(re.findall(r"(?<=\s)--[a-z][\w-]*", line.partition("#")[0])) - known
            assert not unknown, f"{page.name}: {line}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()

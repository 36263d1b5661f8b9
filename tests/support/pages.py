"""Pages as the tests see them: their headings, links and fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md")])
FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1\s*$", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    """The Markdown of a page without its fenced blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def headings(page: Path, level: int | None = None) -> list[str]:
    """The headings of a page, of one level or all."""
    marks = "#{1,6}" if level is None else "#" * level
    return re.findall(rf"^{marks} (.+?)\s*$", text_of(page), re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that a forge and the site give to headings."""
    seen: dict[str, int] = {}
    out = set()
    for heading in headings(page):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        out.add(slug if slug not in seen else f"{slug}-{seen[slug]}")
        seen[slug] = seen.get(slug, 0) + 1
    return out


def links(page: Path) -> list[str]:
    """Links to pages and files of this repository."""
    return [t for t in re.findall(r"\]\(([^)\s]+)\)", text_of(page)) if not re.match(r"[a-z]+:", t)]


def fenced(page: Path, language: str = "") -> list[str]:
    """The content of fenced blocks, of one language or of all."""
    blocks = re.findall(r"^(`{3,})([^\n]*)\n(.*?)^\1\s*$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [body for _, info, body in blocks if not language or info.strip() == language]

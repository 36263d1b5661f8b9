"""Everything that has a name has a place in the documentation, and the documentation names nothing else."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.support.pages import DOCS, anchors, headings, text_of

import sfumato
from docs import generate
from sfumato import attacks, channels, errors, guided
from sfumato.cli import main
from sfumato.cli.app import VERBS
from sfumato.findings import FINDINGS
from sfumato.scales import SCALES
from sfumato.trees import STRATEGIES


def test_the_pages_that_the_code_writes_are_current() -> None:
    for path, text in generate.pages().items():
        on_file = (DOCS / path).read_text("utf-8")
        changes = difflib.unified_diff(on_file.splitlines(), text.splitlines(), path, "from the code", lineterm="", n=0)
        assert text == on_file, "\n".join(["run `make docs-pages`", *changes])


def test_no_page_of_a_finding_is_left_over() -> None:
    assert {p.stem for p in (DOCS / "findings").glob("SF*.md")} == set(FINDINGS)


def classes_of_errors() -> set[str]:
    return {n for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, errors.SfumatoError)}


PLACES: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {
    "verb": ("reference/verbs.md", lambda: [f"sfumato {verb}" for verb in VERBS]),
    "law": ("reference/laws.md", lambda: [*channels.CHANNELS, channels.CorrelatedGaussian.law]),
    "method": ("reference/methods.md", lambda: guided.METHODS),
    "strategy": ("reference/strategies.md", lambda: [s.name for s in STRATEGIES.values() if not s.true_values]),
    "attack": ("reference/attacks.md", lambda: attacks.ATTACKS),
    "error": ("reference/errors.md", classes_of_errors),
}


@pytest.mark.parametrize("thing", PLACES)
def test_each_has_a_heading_and_no_heading_is_of_nothing(thing: str) -> None:
    page, names = PLACES[thing]
    listed = headings(DOCS / page, 2)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(names())


@pytest.mark.parametrize("name", sorted(sfumato.PUBLIC))
def test_every_public_name_exists_and_has_an_anchor(name: str) -> None:
    assert getattr(sfumato, name) is not None
    assert generate.anchor(name) in anchors(DOCS / "api.md")


def test_the_python_page_names_nothing_else() -> None:
    named = [h.replace("class ", "").replace("module ", "").strip("`()") for h in headings(DOCS / "api.md", 3)]
    assert sorted(named) == sorted(sfumato.PUBLIC)


def test_the_glossary_is_in_order_and_used_by_the_guides() -> None:
    words = headings(DOCS / "glossary.md", 2)
    assert words == sorted(words)
    for word in ("channel", "law", "method", "row", "target", "class", "original", "release", "grid", "cell", "bin"):
        assert word in words
    for guide in (DOCS / "guide").glob("*.md"):
        assert guide.stem == "README" or "glossary.md" in guide.read_text("utf-8"), f"{guide.name} has no link to it"


def keys(data: Any) -> set[str]:
    """Names of all fields, at any depth, but for names that the owner gave."""
    if isinstance(data, dict):
        return set(data).union(*(keys(v) for v in data.values()))
    return set().union(*(keys(v) for v in data)) if isinstance(data, list) else set()


RELEASES = {
    "laws": "release iris --noise gaussian --privacy 0.5",
    "labels": "release credit_approval --noise substitution --set gamma=8 --format csv",
    "intervals": "release iris --noise intervals --set count=6",
    "reports": "release car_evaluation --noise projective --set gamma=12",
    "waves": "release iris --noise square-wave --set epsilon=2",
    "uniform": "release iris --noise uniform --privacy 0.5",
    "laplace": "release iris --noise laplace --privacy 0.5",
    "joint": "release iris --method correlated-gaussian --set ratio=1",
    "guided": "release iris --method leaf-swap",
    "shuffled": "release iris --noise gaussian --privacy 0.5 --shuffle",
    "draft": "release iris --noise gaussian --privacy 0.5 --draft",
    "gaps": "release {gaps} --noise gaussian --privacy 0.5",
    "scales": "release {tail} --noise gaussian --privacy 0.5",
    "visits": "release {visits} --id patient",
}
OF_METHODS = {"limits", "small", "least", "redraws", "labels", "best_of"}
"""What a guided method says about itself under `extra`; its page lists the parameters."""


def test_every_field_of_a_manifest_is_documented_and_every_documented_field_exists(tmp_path: Path) -> None:
    fields: set[str] = set()
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("\n".join(["weight", *(f"{w}.5" if w % 9 else "NA" for w in range(40, 120))]))
    tail = tmp_path / "tail.csv"
    tail.write_text("\n".join(["cost", *(f"{1.1**i:.2f}" for i in range(100)), "300000"]))
    visits = tmp_path / "visits.csv"
    visits.write_text("\n".join(["patient,weight", *(f"p{i % 20},{40 + i % 33}" for i in range(60))]))
    for name, command in RELEASES.items():
        folder = tmp_path / name
        with pytest.raises(SystemExit) as done:
            main(
                [
                    *command.format(gaps=gaps, tail=tail, visits=visits).split(),
                    "-o",
                    str(folder),
                    "--key",
                    str(tmp_path / f"{name}.key"),
                ]
            )
        assert done.value.code == 0
        fields |= keys(json.loads((folder / "manifest.json").read_text("utf-8")))
    text = text_of(DOCS / "manifest.md")
    rows = re.findall(r"^\| (.+?) \|(.+)\|$", text, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([a-z][\w-]*)`", " ".join(row))}
    assert fields - OF_METHODS <= documented, f"docs/manifest.md lacks {sorted(fields - OF_METHODS - documented)}"
    first = (
        {name for row in rows for name in re.findall(r"`([a-z][\w]*)`", row[0])} - set(channels.CHANNELS) - set(SCALES)
    )
    rare = {
        "parts",
        "resolution",
        "missing",
        "matrix",
        "values",
        "clip",
        "promise",
    }  # of a folder, or where the owner declares them
    assert first - rare <= fields, f"docs/manifest.md documents {sorted(first - rare - fields)}, which no release has"


def test_every_room_is_named_in_the_overview() -> None:
    source = Path(sfumato.__file__).parent
    rooms = {p.stem for p in source.iterdir() if (p.is_dir() and (p / "__init__.py").exists()) or p.suffix == ".py"}
    table = text_of(DOCS / "how-it-works.md").partition("## The rooms")[2]
    assert set(re.findall(r"`([a-z_]+)`", table.partition("|---|")[2])) == rooms - {"__init__", "__main__"}

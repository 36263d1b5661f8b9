"""Prose a colleague speaks, and documentation that a reader can trust."""

from __future__ import annotations

import ast
import re

from tests.support.source import MODULES, ROOT, TREES, functions, place

import sfumato

OLD_TURNS = re.compile(
    r"\bhangs? on\b|\bhung on\b|\bmend(?:s|ed|ing)?\b|\bthe very (?:same|table|rows?)\b|\bso many\b|\btold by\b|\blaid beside\b|\bat its word\b"
    r"|\bwhence\b|\bthereof\b|\bwhoever\b|\bone a (?:core|row|column|leaf|class)\b|\bis no (?:number|float|block|probability|array|label)\b"
    r"|\bcannot be; give\b|\bnobodys?\b|\bbut for\b",
    re.IGNORECASE,
)
RIDDLES = re.compile(r"(?:Themselves|Itself|N|Yes|No|The same|Of one \w+|How many|Which|All of them|Its name)\.")


def strings(tree: ast.Module) -> list[tuple[int, str]]:
    """Every string of a module with its line: docstrings, messages, words of a report."""
    return [(n.lineno, n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_sentences_survive_being_read_aloud() -> None:
    old = [
        f"{place(module, line)} {match.group()!r}"
        for module, tree in TREES.items()
        for line, text in strings(tree)
        if (match := OLD_TURNS.search(text))
    ]
    for module, path in MODULES.items():
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if "#" in line and (match := OLD_TURNS.search(line.partition("#")[2])):
                old.append(f"{place(module, number)} {match.group()!r}")
    assert not old


def test_no_docstring_is_a_riddle() -> None:
    riddles = [
        f"{place(module, node.lineno)} {node.name}: {text}"
        for module, node in functions()
        if (text := ast.get_docstring(node)) and RIDDLES.fullmatch(text)
    ]
    assert not riddles


def test_the_library_never_mentions_an_option() -> None:
    """Errors name parameters; the command line turns them into options."""
    css = re.compile(r"var\(--[a-z]+\)|--[a-z]+:#[0-9a-f]+")  # a variable of a style sheet, read or declared
    spoken = [
        f"{place(module, line)} {text.strip()[:80]!r}"
        for module, tree in TREES.items()
        if not module.startswith("sfumato.cli")
        for line, text in strings(tree)
        if re.search(r"(?:^|[ (`])--[a-z]", css.sub("", text))
    ]
    assert not spoken


def test_a_public_name_has_parameters_returns_and_an_example() -> None:
    lacking = []
    for name in sorted(sfumato.PUBLIC):
        public = getattr(sfumato, name)
        text = public.__doc__ or ""
        if hasattr(public, "__path__") or (isinstance(public, type) and issubclass(public, Exception)):
            continue
        if ">>>" not in text:
            lacking.append(f"{name} shows no example")
        if not isinstance(public, type):
            lacking += [f"{name} lacks {part}" for part in ("Parameters", "Returns") if f"{part}\n" not in text]
    assert not lacking


def test_examples_in_docstrings_are_run() -> None:
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    assert "--doctest-modules" in settings
    skipped = [name for name, path in MODULES.items() if "doctest: +SKIP" in path.read_text("utf-8")]
    assert not skipped

"""Run the commands that the guides show, and hold or renew the output beside them: `make docs-guides`.

In a `console` block a line `$ sfumato …` is a command, and the lines after it are lines of what it prints, in order; `…` stands for
lines that are left out. A `pycon` block is Python. A page is run from top to bottom in an empty folder. The key and the salts are
fixed, so every figure is the same each time; only seconds differ.
"""

from __future__ import annotations

import difflib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest.mock import patch

HERE = Path(__file__).parent
KEY = "sfumato owner key v1 - whoever holds it can remove the noise: keep it private, and keep it\n" + "5f" * 32 + "\n"
BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "…"


@dataclass(frozen=True)
class Command:
    """A command of a guide: the words, the lines that are shown, and the lines that it really prints."""

    words: str
    shown: list[str]
    printed: list[str]

    @property
    def untrue(self) -> list[str]:
        """Lines that are shown and not printed, or not in that order."""
        rest = iter([_normal(line) for line in self.printed])
        return [line for line in self.shown if line.strip() != LEFT_OUT and _normal(line) not in rest]

    def renewed(self) -> list[str]:
        """The shown lines, each as the line printed now that is most like it."""
        out, at = [], 0
        for line in self.shown:
            if line.strip() == LEFT_OUT:
                out.append(line)
                continue
            places = range(at, len(self.printed))
            best = max(places, key=lambda i: _likeness(line, self.printed[i]), default=None)
            if best is None or _likeness(line, self.printed[best]) < 0.4:
                sys.stderr.write(f"dropped: {line}\n")
                continue
            same = _normal(line) == _normal(self.printed[best])
            out.append(line if same else self.printed[best].rstrip())
            at = best + 1
        return out


def guides() -> list[Path]:
    """The pages that are run."""
    return sorted((HERE / "guide").glob("*.md"))


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page that are run, with their language."""
    return BLOCK.findall(page.read_text("utf-8"))


def run(page: Path, folder: Path) -> Iterator[Command | str]:
    """Run the blocks of a page in a folder; a Python block yields what went wrong, or nothing."""
    key = folder / "sfumato.key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    names: dict[str, object] = {}
    with chdir(folder), patch("sfumato.releasing.door.random_salt", side_effect=map("{:024x}".format, count())):
        for language, body in blocks(page):
            if language == "pycon":
                yield _python(body, names, page.name)
                continue
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                words, *shown = part.rstrip("\n").split("\n")
                yield Command(words, shown, printed(words))


def printed(command: str) -> list[str]:
    """Run a command of the terminal in this process, and return the lines of both its streams."""
    from sfumato.cli import main

    program, *words = shlex.split(command, comments=True)
    if program != "sfumato":
        raise ValueError(f"guides run sfumato and nothing else: {command}")
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        try:
            main(words)
        except SystemExit as done:
            if done.code not in (0, None):
                raise RuntimeError(f"{command}: exit {done.code}\n{out.getvalue()}") from None
    return out.getvalue().splitlines()


def _python(body: str, names: dict[str, object], page: str) -> str:
    test = doctest.DocTestParser().get_doctest(body, names, page, page, 0)
    wrong = io.StringIO()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags).run(test, out=wrong.write, clear_globs=False)
    names.update(test.globs)
    return wrong.getvalue()


def _normal(line: str) -> str:
    return re.sub(r"\b[\d.]+ s\b", "# s", " ".join(line.split()))


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, _normal(a), _normal(b)).ratio()


def renew(page: Path) -> None:
    """Write the lines that commands print now into a page, in place of those that are shown."""
    with tempfile.TemporaryDirectory() as folder:
        done = list(run(page, Path(folder)))
    text = page.read_text("utf-8")
    for command in done:
        if isinstance(command, Command):
            old = "\n".join([f"$ {command.words}", *command.shown])
            text = text.replace(old, "\n".join([f"$ {command.words}", *command.renewed()]), 1)
        else:
            sys.stderr.write(command)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    for path in guides():
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            renew(path)

"""Words to stderr, one JSON document to stdout, a progress bar where there is a terminal, files that appear whole."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click

from sfumato.findings import Note, code_notes
from sfumato.text import visible

NOTES = "sfumato.notes"


def show(text: str) -> None:
    """Write a line of the answer to stdout; what a table's own texts hold is shown, never obeyed."""
    click.echo(visible(text))


def show_lines(text: str) -> None:
    """Write several lines of the answer to stdout."""
    for line in text.split("\n"):
        show(line)


def say(text: str = "", *, mark: str = "", colour: str | None = None) -> None:
    """Write a line for the person at the terminal; `mark` stands in front of it in bold."""
    head = click.style(mark, fg=colour, bold=True) if mark else ""
    click.echo(f"{head}{visible(text)}", err=True)


def warn(note: Note) -> None:
    """Write a line that should not be overlooked, with its code, and keep it for the JSON document."""
    context = click.get_current_context()
    context.meta.setdefault(NOTES, []).append(note)
    words = name_options(note, context.info_name)
    say(f"{words} [{note.code}]", mark="note: ", colour="yellow")


def name_options(text: str, verb: str | None) -> str:
    """Write the parameters in a message of the library (``force=True``, ``target=COLUMN``) as options (--force, --target COLUMN).

    An option of the verb itself comes first, then those of other verbs.
    """
    options = _all_options() | (_options(verb) if verb else {})

    def rewrite(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"] or ""
        if name not in options:
            return match.group()
        word = {"True": "", "Local()": "local"}.get(value, value.strip("'\""))
        return f"{options[name]} {word}".strip()

    text = re.sub(r"sweep\['(\w+)'\]", lambda m: options.get(f"sweep_{m[1]}", m.group()), text)
    return re.sub(r"(?<![\w-])(?P<name>[a-z_]+)=(?P<value>'[^']*'|\w[\w-]*(?:\.\w+)*(?:\(\))?)?", rewrite, text)


@cache
def _options(verb: str) -> dict[str, str]:
    """Return the long option of every parameter that a verb can set."""
    from sfumato.cli.app import load_verb

    command = load_verb(verb)
    return {str(p.name): max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}


@cache
def _all_options() -> dict[str, str]:
    from sfumato.cli.app import VERBS

    out: dict[str, str] = {}
    for verb in VERBS:
        out = _options(verb) | out
    return out


def give(data: dict[str, Any]) -> None:
    """Print the one JSON document of a command, with the notes shown before it; numbers that JSON does not have become null."""
    click.echo(_document({"findings": code_notes(click.get_current_context().meta.get(NOTES, ()))} | data))


def _document(data: Any) -> str:
    text = json.dumps(_finite(data), indent=2, ensure_ascii=not _stdout_is_unicode())
    # JSON escapes the first 32 characters itself; a terminal obeys the others too.
    return re.sub(
        "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]", lambda match: f"\\u{ord(match[0]):04x}", text
    )


def _stdout_is_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def _finite(data: Any) -> Any:
    """Return the data with infinities and NaN as null, and NumPy's numbers as plain ones."""
    if isinstance(data, dict):
        return {str(k): _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    if hasattr(data, "tolist"):
        return _finite(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar on a terminal, nothing elsewhere; call it with what is done and, where known, what there is in all."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def table(headers: list[str], rows: list[list[str]], *, err: bool = False) -> None:
    """Print a table as wide as the terminal allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=err)
    if not console.is_terminal:
        console.width = max(console.width, 140)
    grid = Table(box=box.SIMPLE_HEAD)
    for header in headers:
        grid.add_column(Text(visible(header)), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))  # as it stands: "glucose [mg/dL]" is not markup
    console.print(grid)


def check_outputs(*paths: Path | None, force: bool) -> None:
    """Raise an error before any work is done if an output exists already, or cannot be there."""
    from sfumato.io import check_outputs_free

    check_outputs_free(*paths, force=force)


def check_private(path: Path | None) -> None:
    """Raise OutputError if the owner's own report would lie in a release, and be given away with it."""
    from sfumato.errors import OutputError

    if path is not None and (
        folder := next((p for p in path.resolve().parents if (p / "manifest.json").exists()), None)
    ):
        raise OutputError(
            f"{path} lies in the release {folder}, and the report is for the owner alone; name another output"
        )


def check_extension(path: Path | None, *allowed: str) -> None:
    """Raise UsageError unless `path` ends in one of `allowed`."""
    from sfumato.errors import UsageError

    if path is not None and path.suffix.lower() not in allowed:
        *others, last = allowed
        raise UsageError(f"{path}: unsupported extension; use {', '.join(others)}{' or ' if others else ''}{last}")


def write_text(path: Path | None, content: Callable[[], str | bytes], *, force: bool) -> None:
    """Write a text, or bytes, to a file, if one was asked for."""
    from sfumato.io import write_file

    if path is not None:
        write_file(path, content(), force=force)


def write_report(path: Path, html: Callable[[], str], data: Any, *, force: bool) -> None:
    """Write a report as a page or, to a .json file, as data."""
    write_text(path, html if path.suffix.lower() == ".html" else lambda: _document(data) + "\n", force=force)


def check_new_file(path: Path, table: str, *, force: bool) -> None:
    """Raise an error if an output exists already, or if it is the table that is to be read."""
    from sfumato.errors import OutputError

    check_outputs(path, force=force)
    if path.exists() and Path(table).exists() and path.samefile(table):
        raise OutputError(f"{path} is the table to predict for; name another output")


def write_rows(rows: Any, path: Path, *, force: bool) -> None:
    """Write an Arrow table to a .csv or .parquet file."""
    from sfumato.io import write_table

    write_table(rows, path, force=force)

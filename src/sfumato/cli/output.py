"""Words to stderr, one JSON document to stdout, a progress bar where there is a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
force_option = click.option("--force", is_flag=True, help="Replace an existing output.")


def say(text: str = "") -> None:
    """A line for the person at the terminal."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """A line that should not be overlooked."""
    click.echo(click.style("note: ", fg="yellow", bold=True) + text, err=True)


def give(data: Any) -> None:
    """The one JSON document of a command; numbers that JSON does not have become null."""
    click.echo(json.dumps(finite(data), indent=2, ensure_ascii=False))


def finite(data: Any) -> Any:
    """The data with infinities and NaN as null, and NumPy's numbers as plain ones."""
    if isinstance(data, dict):
        return {str(k): finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [finite(v) for v in data]
    if hasattr(data, "tolist"):
        return finite(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal, nothing elsewhere; called with what is done and, where known, what there is in all."""
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
    """A table as wide as the terminal allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=err)
    if not console.is_terminal:
        console.width = max(console.width, 140)
    grid = Table(box=box.SIMPLE_HEAD)
    for header in headers:
        grid.add_column(Text(header), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))  # as it stands: "glucose [mg/dL]" is no markup
    console.print(grid)


def settings(texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE pairs from --set."""
    from sfumato.errors import UsageError

    out = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {text}: write it as NAME=VALUE, for example --set gamma=8")
        out[name.strip()] = value.strip()
    return out


def refuse_ending(path: Path | None, *endings: str) -> None:
    """What the file will hold is told by its name, and must be what it does hold."""
    from sfumato.errors import UsageError

    if path is None or path.suffix.lower() in endings:
        return
    if len(endings) == 1:
        raise UsageError(f"{path}: the ending does not say {endings[0]}, which is what is written; give it that ending")
    raise UsageError(
        f"{path}: the ending says neither {', '.join(endings[:-1])} nor {endings[-1]}; give it one of them"
    )

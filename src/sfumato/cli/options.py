"""Where the work is done: the options --engine and --master, and the engine they ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def engine_options(command: F) -> F:
    """Give a command --engine and --master."""
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="This machine, or a Spark cluster (needs sfumato[spark] and Java).",
    )
    master = click.option(
        "--master", metavar="URL", help="The cluster, such as spark://host:7077 (default: this machine's cores)."
    )
    return engine(master(command))


def opened(folder: Path, spark: Any) -> Any:
    """A release folder whose data is what its manifest says; on a cluster that would be one more reading of all of it."""
    from sfumato.releases import Release

    release = Release.open(folder)
    if spark is None:
        release.verify()
    return release


def cluster(engine: str, master: str | None) -> Any:
    """The Spark engine, or None for work in this process."""
    from sfumato.errors import UsageError

    if engine == "local":
        if master:
            raise UsageError("--master names a Spark cluster; give --engine spark beside it, or leave it out")
        return None
    from sfumato.engines import Spark

    return Spark.connect(master)

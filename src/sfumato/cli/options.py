"""Options that several verbs share. An option's name inside the program is the parameter that it sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from sfumato.text import OWNER_KEY

F = TypeVar("F", bound=Callable[..., Any])


class Listing(click.Option):
    """An option whose help lists what is registered at the time somebody asks for help; `{}` stands for the list."""

    def __init__(self, *args: Any, lists: Callable[[], list[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lists = lists
        self.template = self.help or "{}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Fill the list into the help."""
        *others, last = self.lists()
        self.help = self.template.format(f"{', '.join(others)} or {last}" if others else last)
        return super().get_help_record(ctx)


def list_laws() -> list[str]:
    """Return the laws that a column can be given."""
    from sfumato.channels import CHANNELS

    return sorted(CHANNELS)


def list_joint_laws() -> list[str]:
    """Return the laws that draw the noise of several columns together."""
    from sfumato.channels import JOINT_LAWS

    return sorted(JOINT_LAWS)


def list_swept(parameter: str) -> list[str]:
    """Return the laws that a trade-off can sweep over a parameter."""
    from sfumato.channels import CHANNELS, JOINT_LAWS

    swept = {law: (*cls.sweep, *cls.sweep_beside) for law, cls in CHANNELS.items()}
    swept |= {law: (*cls.sweep,) for law, cls in JOINT_LAWS.items()}
    return sorted(law for law, parameters in swept.items() if parameter in parameters)


def noise(about: str) -> Callable[[F], F]:
    """Give a command --noise, with the laws in its help."""
    return click.option("--noise", cls=Listing, lists=list_laws, help=about)


def method(about: str) -> Callable[[F], F]:
    """Give a command --method, with the laws for several columns in its help."""
    return click.option("--method", cls=Listing, lists=list_joint_laws, help=about)


table = click.argument("table", metavar="INPUT")
release = click.argument("release", type=Path, metavar="DIR")
model = click.argument("model", type=Path, metavar="MODEL")
target = click.option("--target", help="The class column, released as it is.")
identifier = click.option("--id", "identifier", help="The column that says whose row it is; noise is tied to it.")
privacy = click.option(
    "--privacy", type=float, help="Width of the 95 % interval, as a fraction of each range; labels keep as much signal."
)
goal = click.option(
    "--goal",
    metavar="found=5%",
    help="Choose the noise so that at most this many people are found by their true values (default: found=5%).",
)
questions = click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="FIGURE",
    help="A figure that readers will want: mean(age), median(age), quantile(age, 0.9), share(age >= 40), share(sex = F); may repeat.",
)
seed = click.option("--seed", type=int, default=0, show_default=True)
force = click.option("--force", is_flag=True, help="Replace an existing output.")
json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


READING = {
    "delimiter": ("SIGN", "Between the fields of a CSV file: , ; | or tab."),
    "decimal": ("SIGN", "The decimal sign of numbers: . or ,"),
    "thousands": ("SIGN", "The sign between thousands: , . ' space or none."),
    "date_format": ("FORMAT", "How days are written: %d.%m.%Y, %m/%d/%Y, …"),
    "encoding": ("NAME", "Encoding of a text file: utf-8, cp1252, utf-16, …"),
    "comment": ("SIGN", "Lines that begin with this sign are left out."),
    "skip_rows": ("N", "Lines before the header that are left out."),
    "sheet": ("NAME", "The sheet of a workbook, by name or number."),
    "query": ("SQL", "The query whose answer is the table, where INPUT is a database."),
}
"""How INPUT is read; what is not given is found out from it."""


def reading(*, shown: bool) -> Callable[[F], F]:
    """Give a command the options that say how its table is read, and the table opened with them.

    `shown` says that notes on the reading are shown here; otherwise they are part of the command's own answer.
    """

    def decorate(command: F) -> F:
        @wraps(command)
        def with_table(**asked: Any) -> Any:
            said = {name: value for name in READING if (value := asked.pop(name)) is not None}
            place = "table" if "table" in asked else "original"
            asked[place] = _open_input(asked[place], said, shown=shown)
            return command(**asked)

        out: Any = with_table
        for name, (metavar, about) in reversed(READING.items()):
            kind = click.IntRange(min=0) if name == "skip_rows" else str
            out = click.option(f"--{name.replace('_', '-')}", name, metavar=metavar, type=kind, help=about)(out)
        return out

    return decorate


def _open_input(table: str, said: dict[str, Any], *, shown: bool) -> Any:
    """Return the table, opened where something is said of it or to be shown; a release is left to the verb to refuse."""
    if not (said or shown) or (Path(table) / "manifest.json").exists():
        return table
    import sfumato as sf
    from sfumato.cli.output import warn

    opened = sf.open_table(table, **said)
    if shown:
        for note in getattr(opened, "notes", ()):
            warn(note)
    return opened


def owner_key(about: str) -> Callable[[F], F]:
    """Give a command --key, the file of the owner's key."""
    return click.option("--key", type=Path, default=Path(OWNER_KEY), show_default=True, help=about)


def output(about: str, name: str = "output", *, required: bool = False) -> Callable[[F], F]:
    """Give a command -o and --output, which sets the parameter `name`."""
    return click.option("-o", "--output", name, type=Path, required=required, help=about)


def _pairs(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Return NAME=VALUE pairs as a mapping."""
    from sfumato.errors import UsageError

    out = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {text}: write it as NAME=VALUE, for example --set gamma=8")
        out[name.strip()] = value.strip()
    return out


parameters = click.option(
    "--set",
    "options",
    multiple=True,
    callback=_pairs,
    metavar="NAME=VALUE",
    help="A parameter of the noise or method; may repeat.",
)


def _points(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Return POINT=FILE pairs; a point has no = in it."""
    from sfumato.errors import UsageError

    out = []
    for text in texts:
        point, equals, file = (part.strip() for part in text.partition("="))
        if not (equals and point and file):
            raise UsageError(
                f"--write-plan {text}: write it as POINT=FILE, such as recommended=plan.toml or 0.5=plan.toml"
            )
        out.append((point, Path(file)))
    return out


points = click.option(
    "--write-plan",
    "plans",
    multiple=True,
    callback=_points,
    metavar="POINT=FILE",
    help="Write the plan of a point: recommended=plan.toml, or the values swept, 0.5=plan.toml or 8,20=plan.toml; may repeat.",
)


class Numbers(click.ParamType[list[float]]):
    """A list of numbers with commas between."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:  # noqa: ARG002
        """Parse the list; an empty text is an empty list."""
        from sfumato.errors import UsageError

        if isinstance(value, list):
            return value
        out = []
        for part in value.split(",") if value.strip() else []:
            try:
                out.append(float(part))
            except ValueError:
                option = param.opts[-1] if param else "the option"
                raise UsageError(
                    f"{option} {value}: {part.strip()!r} is not a number; write numbers with commas between, such as 1,2,5"
                ) from None
        return out


def engine(command: F) -> F:
    """Give a command --engine and --master."""
    where = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="This machine, or a Spark cluster (needs sfumato[spark] and Java).",
    )
    master = click.option(
        "--master", metavar="URL", help="The cluster, such as spark://host:7077 (default: this machine's cores)."
    )
    return where(master(command))


def open_engine(engine: str, master: str | None, *, workers: int = 1, keys_on_workers: bool = False) -> Any:
    """Return the engine that the options ask for; 0 workers are one thread per core."""
    from dataclasses import replace

    from sfumato.engines import Local
    from sfumato.errors import UsageError

    if engine == "local":
        if master:
            raise UsageError("--master names a Spark cluster; give --engine spark beside it, or leave it out")
        if keys_on_workers:
            raise UsageError("--key-on-workers is for noise on a cluster; give --engine spark, and no --method")
        return Local(workers) if workers else Local.all_cores()
    from sfumato.engines import Spark

    return replace(Spark.connect(master), keys_on_workers=keys_on_workers)

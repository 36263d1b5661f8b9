"""sfumato tradeoff: what each setting promises, and what it costs, before anything is released."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, progress, say, show, warn, write_report
from sfumato.cli.output import table as show_table

SWEPT = {
    "privacy": ("--levels", "V,V,…", "Values of privacy to sweep, for example 0.1,0.5,1 ({})."),
    "epsilon": ("--epsilons", "V,V,…", "Values of ε to sweep ({})."),
    "gamma": ("--gammas", "V,V,…", "Values of γ to sweep ({})."),
    "bins": ("--sizes", "N,N,…", "Numbers of bins to sweep beside ({})."),
    "count": ("--counts", "N,N,…", "Numbers of intervals to sweep ({})."),
    "ratio": ("--ratios", "V,V,…", "Values of c to sweep ({})."),
}
"""The option of every parameter that can be swept."""


def sweep_options(command: Any) -> Any:
    """Give a command one option for each parameter that can be swept."""
    for name, (option, metavar, about) in reversed(SWEPT.items()):
        swept = {"type": options.Numbers(), "lists": functools.partial(options.list_swept, name)}
        command = click.option(option, f"sweep_{name}", cls=options.Listing, metavar=metavar, help=about, **swept)(
            command
        )
    return command


@click.command(epilog="Example:  sfumato tradeoff adult --target class --levels 0.25,0.5,1 -o tradeoff.html")
@options.table
@click.option("--target", help="The class column.")
@click.option("--id", "identifier", help="The column that says whose row it is; it is not released.")
@click.option("--plan", type=Path, help="A plan: its domains and consents are kept, its noise is swept.")
@options.noise("{} (default: what the plan names, or gaussian).")
@options.method("Instead of noise column by column: {}.")
@sweep_options
@click.option("--repeats", type=int, default=3, show_default=True, help="Random splits of the table.")
@click.option(
    "--rows", type=int, default=30_000, show_default=True, help="A larger table is sampled to this many rows."
)
@click.option("--strategy", default="byclass", show_default=True, help="How the recipient mines, as in sfumato mine.")
@options.seed
@options.output("A report to write: a .html page, or the same content as .json.")
@options.reading(shown=True)
@options.force
@options.json
def tradeoff(table: Any, output: Path | None, force: bool, as_json: bool, **asked: Any) -> None:
    """Sweep the settings of a law on INPUT and show accuracy, error and ε of each; nothing is released."""
    check_extension(output, ".html", ".json")
    check_outputs(output, force=force)
    sweep = {name: values for name in SWEPT if (values := asked.pop(f"sweep_{name}")) is not None}
    with progress("trying settings") as tick:
        result = sf.tradeoff(table, sweep=sweep, progress=tick, **asked)
    with_choice = release_options(result)
    about = result.to_dict() | {"release_options": with_choice}
    named = shlex.join(["--target", result.target, *(["--id", asked["identifier"]] if asked["identifier"] else [])])
    if output:
        command = f"sfumato release INPUT -o DIR --target {shlex.quote(result.target)} {with_choice}"
        write_report(output, lambda: result.html(command), about, force=force)
        say(f"wrote {output}")
    for note in result.notes:
        warn(note)
    if as_json:
        give(about)
        return
    show(result.headline)
    show_table(*result.table())
    for line in result.remarks:
        show(line)
    if result.choice and asked["plan"]:
        say(f"next:  write {result.in_plan} into {asked['plan']}, and release with it")
    elif result.choice:
        say(f"next:  sfumato release {shlex.quote(str(table))} -o release {named} {with_choice}")


def release_options(result: sf.Tradeoff) -> str | None:
    """Return what to give `sfumato release` for the choice."""
    if result.choice is None:
        return None
    sets = [
        f"--privacy {v:g}" if n == "privacy" and not result.joint else f"--set {n}={v:g}"
        for n, v in result.choice.items()
    ]
    return " ".join([f"{'--method' if result.joint else '--noise'} {result.law}", *sets])

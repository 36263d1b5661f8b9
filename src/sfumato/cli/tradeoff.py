"""sfumato tradeoff: what attacks leave of each setting, and what it costs, before anything is released."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import check_extension, check_outputs, give, progress, say, show, warn, write_report, write_text
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
@options.questions
@options.goal
@options.points
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
def tradeoff(
    table: Any, output: Path | None, plans: list[tuple[str, Path]], force: bool, as_json: bool, **asked: Any
) -> None:
    """Sweep the settings of a law on INPUT and show what attacks leave of each and what it costs; nothing is released."""
    check_extension(output, ".html", ".json")
    check_outputs(output, *(file for _, file in plans), force=force)
    sweep = {name: values for name in SWEPT if (values := asked.pop(f"sweep_{name}")) is not None}
    with progress("trying settings") as tick:
        result = sf.tradeoff(table, sweep=sweep, progress=tick, **asked)
    written = [(result.find(point), file) for point, file in plans]
    with_choice, with_advised = (release_options(result, setting) for setting in (result.choice, result.advised))
    about = result.to_dict() | {"release_options": with_choice, "advised_options": with_advised}
    begin = with_advised or with_choice
    named = shlex.join(["--target", result.target, *(["--id", asked["identifier"]] if asked["identifier"] else [])])
    if output:
        command = f"sfumato release INPUT -o DIR --target {shlex.quote(result.target)} {begin}"
        write_report(output, lambda: result.html(command), about, force=force)
        say(f"wrote {output}")
    for point, file in written:
        write_text(file, lambda: result.plan(point).to_toml(str(table)), force=force)  # noqa: B023 - called at once
        say(f"wrote the plan of {point.in_words} to {file}")
    for note in result.notes:
        warn(note)
    if as_json:
        give(about)
        return
    show(result.headline)
    show_table(*result.table())
    show_table(*result.left_table())
    if asked["questions"]:
        show_table(*result.question_table())
    for line in result.remarks:
        show(line)
    if result.begin and not result.advised:
        say("no setting swept is safe to publish; this one, by accuracy alone, is for a draft to audit:")
    if result.begin and asked["plan"]:
        say(f"next:  write {result.begin_in_plan} into {asked['plan']}, and release with it")
    elif result.begin:
        say(f"next:  sfumato release {shlex.quote(str(table))} -o release {named} {begin}")


def release_options(result: sf.Tradeoff, setting: dict[str, float] | None) -> str | None:
    """Return what to give `sfumato release` for a setting."""
    if setting is None:
        return None
    sets = [
        f"--privacy {v:g}" if n == "privacy" and not result.joint else f"--set {n}={v:g}" for n, v in setting.items()
    ]
    return " ".join([f"{'--method' if result.joint else '--noise'} {result.law}", *sets])

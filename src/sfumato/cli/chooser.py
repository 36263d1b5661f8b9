"""Before a release: what each setting promises, and what it costs."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.show import force_option, give, json_option, progress, say, table


@click.command(epilog="Example:  sfumato tradeoff adult --target class -o tradeoff.html")
@click.argument("table_", metavar="INPUT")
@click.option("--target", help="The class column.")
@click.option(
    "--method", "law", default="gaussian", show_default=True, help="gaussian, uniform, laplace, substitution, …"
)
@click.option("--repeats", type=int, default=3, show_default=True, help="Random splits of the table.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=Path, help="A report to write, .html.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")
@force_option
@json_option
def tradeoff(
    table_: str,
    target: str | None,
    law: str,
    repeats: int,
    seed: int,
    output: Path | None,
    encoding: str,
    force: bool,
    as_json: bool,
) -> None:
    """Sweep privacy levels on INPUT and show accuracy, error and ε of each; nothing is released."""
    from sfumato.releases.folder import refuse_taken, write_whole
    from sfumato.tradeoff import report
    from sfumato.tradeoff import tradeoff as sweep

    refuse_taken(output, force=force)
    with progress("trying settings") as tick:
        found = sweep(table_, target=target, law=law, repeats=repeats, seed=seed, encoding=encoding, progress=tick)
    if output:
        write_whole(output, report(found), force=force)
        say(f"wrote {output}")
    if as_json:
        give(found.to_dict())
        return
    rows = [
        [", ".join(f"{k}={v:g}" for k, v in p.setting.items()), f"{p.accuracy:.1%}", f"{p.naive:.1%}", f"{p.error:.3f}",
         f"{p.interval:.0%}", "∞" if p.epsilon is None else f"{p.epsilon:.1f}"]
        for p in found.points
    ]  # fmt: skip
    click.echo(f"{found.target}: a tree from the true values is right on {found.original:.1%}")
    table(["setting", "accuracy", "naive", "error of distributions", "95 % interval", "ε of a record"], rows)
    for r in found.recommended:
        click.echo(f"γ = {r['gamma']:g}: N = {r['bins']} is enough ({r['accuracy']:.1%}, best {r['best']:.1%})")

"""Before a release: what each setting promises, and what it costs."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.output import finite, force_option, give, json_option, progress, refuse_ending, say, table, warn


@click.command(epilog="Example:  sfumato tradeoff adult --target class --levels 0.25,0.5,1 -o tradeoff.html")
@click.argument("table_", metavar="INPUT")
@click.option("--target", help="The class column.")
@click.option("--id", "identifier", help="The column that says whose row it is; it is not released.")
@click.option("--plan", "plan_file", type=Path, help="A plan: its domains and consents are kept, its noise is swept.")
@click.option(
    "--method",
    "--noise",
    "law",
    help="gaussian, uniform, laplace, intervals, substitution, projective, square-wave or correlated-gaussian "
    "(default: what the plan names, or gaussian).",
)
@click.option("--levels", metavar="V,V,…", help="Values of privacy to sweep, for example 0.1,0.5,1.")
@click.option("--epsilons", metavar="V,V,…", help="Values of ε to sweep (square-wave, substitution, projective).")
@click.option("--gammas", metavar="V,V,…", help="Values of γ to sweep (substitution, projective).")
@click.option("--sizes", metavar="N,N,…", help="Numbers of bins to sweep beside (substitution).")
@click.option("--counts", metavar="N,N,…", help="Numbers of intervals to sweep (intervals).")
@click.option("--ratios", metavar="V,V,…", help="Values of c to sweep (correlated-gaussian).")
@click.option("--repeats", type=int, default=3, show_default=True, help="Random splits of the table.")
@click.option("--rows", type=int, default=30_000, show_default=True, help="A larger table is sampled to so many rows.")
@click.option("--strategy", default="byclass", show_default=True, help="How the recipient mines, as in sfumato mine.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=Path, help="A report to write: a .html page, or the same content as .json.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")
@force_option
@json_option
def tradeoff(
    table_: str,
    target: str | None,
    identifier: str | None,
    plan_file: Path | None,
    law: str | None,
    levels: str | None,
    epsilons: str | None,
    gammas: str | None,
    sizes: str | None,
    counts: str | None,
    ratios: str | None,
    repeats: int,
    rows: int,
    strategy: str,
    seed: int,
    output: Path | None,
    encoding: str,
    force: bool,
    as_json: bool,
) -> None:
    """Sweep the settings of a law on INPUT and show accuracy, error and ε of each; nothing is released."""
    import json

    from sfumato.io import check_outputs_free, write_file
    from sfumato.tradeoff import HEAD, cells, infinite, plan_words, release_command, report
    from sfumato.tradeoff import tradeoff as sweep

    refuse_ending(output, ".html", ".json")
    check_outputs_free(output, force=force)
    with progress("trying settings") as tick:
        found = sweep(
            table_,
            target=target,
            identifier=identifier,
            plan=plan_file,
            law=law,
            levels=numbers("levels", levels),
            epsilons=numbers("epsilons", epsilons),
            gammas=numbers("gammas", gammas),
            sizes=numbers("sizes", sizes),
            counts=numbers("counts", counts),
            ratios=numbers("ratios", ratios),
            repeats=repeats,
            rows=rows,
            strategy=strategy,
            seed=seed,
            encoding=encoding,
            progress=tick,
        )
    if output:
        as_data = json.dumps(finite(found.to_dict()), indent=2, ensure_ascii=False) + "\n"
        write_file(output, report(found) if output.suffix.lower() == ".html" else as_data, force=force)
        say(f"wrote {output}")
    for note in found.notes:
        warn(note)
    if as_json:
        give(found.to_dict())
        return
    click.echo(
        f"{found.target}: a tree from the true values is right on {found.original:.1%}, the commonest class on "
        f"{found.majority:.1%} ({found.rows:,} rows)"
    )
    table(HEAD, [cells(p) for p in found.points])
    if words := infinite(found.points):
        click.echo(words)
    for r in found.recommended:
        if "bins" in r:
            name = found.axis.parameter
            click.echo(f"{name} = {r[name]:g}: N = {r['bins']} is enough ({r['accuracy']:.1%}, best {r['best']:.1%})")
    click.echo(found.why)
    if found.choice and plan_file:
        say(f"next:  write {plan_words(found.law, found.choice)} into {plan_file}, and release with it")
    elif found.choice:
        say(f"next:  {release_command(found, table_, 'release', identifier)}")


def numbers(option: str, text: str | None) -> list[float] | None:
    """Numbers from a list of an option; None where it was not given."""
    from sfumato.errors import UsageError

    if text is None:
        return None
    out = []
    for part in text.split(",") if text.strip() else []:
        try:
            out.append(float(part))
        except ValueError:
            raise UsageError(
                f"--{option} {text}: {part.strip()!r} is no number; write numbers with commas between, such as 1,2,5"
            ) from None
    return out

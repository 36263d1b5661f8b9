"""What the data owner does: generate, plan, release, describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import cluster, engine_options
from sfumato.cli.output import finite, force_option, give, json_option, progress, say, settings, table, warn
from sfumato.text import join_names

DEFAULT_KEY = "sfumato.key"
set_option = click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A parameter of the noise or method; may repeat."
)
encoding_option = click.option("--encoding", default="utf-8", show_default=True, help="Encoding of a CSV file.")


@click.command(epilog="Example:  sfumato generate agrawal --function 2 --rows 100000 --balanced -o train.csv")
@click.argument("name")
@click.option("--rows", type=int, required=True, help="How many rows.")
@click.option("--function", type=int, help="Which classification function (agrawal).")
@click.option("--balanced", is_flag=True, help="As many rows of one class as of the other (agrawal).")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=Path, required=True, help="A .csv, .csv.gz or .parquet file.")
@click.option("--plan", "plan_file", type=Path, help="Also write a plan with the declared domains to this file.")
@force_option
@json_option
def generate(
    name: str,
    rows: int,
    function: int | None,
    balanced: bool,
    seed: int,
    output: Path,
    plan_file: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the synthetic table NAME: agrawal, plateau, triangles, …"""
    from sfumato.generators import generate_table, get, plan_for
    from sfumato.io import check_outputs_free, write_file

    check_outputs_free(output, plan_file, force=force)
    generator = get(name)
    options: dict[str, Any] = {}
    if function is not None:
        options["function"] = function
    if balanced:
        options["balanced"] = True
    with progress(f"generating {name}") as tick:
        generate_table(generator, rows, output, seed=seed, options=options, force=force, progress=tick)
    if plan_file:
        write_file(plan_file, plan_for(generator).to_toml(str(output), str(plan_file)), force=force)
    say(
        f"wrote {rows:,} rows of {name} to {output} (seed {seed})"
        + (f", and its plan to {plan_file}" if plan_file else "")
    )
    if as_json:
        give({"name": name, "rows": rows, "seed": seed, "options": options, "output": str(output)})


@click.command(epilog="Example:  sfumato plan patients.csv --target diagnosis --id patient -o plan.toml")
@click.argument("table_", metavar="INPUT")
@click.option("--target", help="The class column, released as it is.")
@click.option("--id", "identifier", help="The column that says whose row it is; noise is tied to it.")
@click.option("--noise", "law", help="gaussian, uniform, laplace, intervals, substitution, projective or square-wave.")
@click.option(
    "--privacy", type=float, help="Width of the 95 % interval, as a fraction of each range; labels keep as much signal."
)
@set_option
@click.option("-o", "--output", type=Path, help="Where to write the plan (default: to stdout).")
@encoding_option
@force_option
@json_option
def plan(
    table_: str,
    target: str | None,
    identifier: str | None,
    law: str | None,
    privacy: float | None,
    pairs: tuple[str, ...],
    output: Path | None,
    encoding: str,
    force: bool,
    as_json: bool,
) -> None:
    """Look at INPUT (.csv, .csv.gz, .tsv, .parquet or a bundled table's name) and propose a plan."""
    from sfumato.io import check_outputs_free, write_file
    from sfumato.plans import Plan

    _refuse_method(law)
    check_outputs_free(output, force=force)
    proposal = Plan.propose(
        table_,
        target=target,
        identifier=identifier,
        law=law,
        privacy=privacy,
        parameters=settings(pairs),
        encoding=encoding,
    )
    text = proposal.to_toml(table_, str(output or "plan.toml"))
    if output:
        write_file(output, text, force=force)
        say(f"wrote a plan for {len(proposal.schema)} columns to {output}; read it, then:")
        say(f"  sfumato release {table_} --plan {output} -o release")
    elif not as_json:
        click.echo(text)
    for line in proposal.remarks:
        warn(line)
    _warn_learned(proposal.learned)
    _warn_ordered(proposal.ordered)
    if as_json:
        about = {"notes": dict(proposal.notes), "remarks": list(proposal.remarks)}
        give({"plan": proposal.to_dict()} | about | {"output": str(output) if output else None})


@click.command(epilog="Example:  sfumato release adult -o release --noise gaussian --privacy 0.5")
@click.argument("table_", metavar="INPUT")
@click.option("-o", "--output", type=Path, required=True, help="The release folder to make.")
@click.option("--plan", "plan_file", type=Path, help="A plan; without one, a plan is proposed and followed at once.")
@click.option("--target", help="The class column, released as it is.")
@click.option("--id", "identifier", help="The column that says whose row it is; noise is tied to it.")
@click.option(
    "--noise",
    "law",
    help="gaussian, uniform, laplace, intervals, substitution, projective or square-wave, for all columns.",
)
@click.option(
    "--privacy", type=float, help="Width of the 95 % interval, as a fraction of each range; labels keep as much signal."
)
@set_option
@click.option(
    "--method",
    "method",
    help="Instead of noise column by column: correlated-gaussian, or a guided method such as leaf-swap.",
)
@click.option("--name", help="The release's name; noise is fixed for a name (default: a digest of the plan).")
@click.option(
    "--key",
    "key_file",
    type=Path,
    default=DEFAULT_KEY,
    show_default=True,
    help="The owner's key; made if there is none.",
)
@click.option("--again", is_flag=True, help="Release rows with fresh noise although they were released before.")
@click.option("--format", "form", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@engine_options
@click.option("--key-on-workers", is_flag=True, help="Spark workers have the key file; no key is sent to them.")
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Threads (default: one a core).")
@encoding_option
@force_option
@json_option
def release(
    table_: str,
    output: Path,
    plan_file: Path | None,
    target: str | None,
    identifier: str | None,
    law: str | None,
    privacy: float | None,
    pairs: tuple[str, ...],
    method: str | None,
    name: str | None,
    key_file: Path,
    again: bool,
    form: str,
    engine: str,
    master: str | None,
    key_on_workers: bool,
    workers: int,
    encoding: str,
    force: bool,
    as_json: bool,
) -> None:
    """Turn INPUT (.csv, .csv.gz, .tsv, .parquet or a bundled table's name) into a release folder."""
    from dataclasses import replace

    from sfumato.channels import JOINT_LAWS
    from sfumato.engines import Local
    from sfumato.errors import UsageError
    from sfumato.plans import Plan
    from sfumato.releases import cautions
    from sfumato.releasing import joint_method, with_joint_noise
    from sfumato.releasing import release as make_release

    _refuse_method(law)
    _refuse_noise(method)
    spark = cluster(engine, master)
    if key_on_workers:
        if spark is None or method:
            raise UsageError("--key-on-workers is for noise on a cluster; give --engine spark, and no --method")
        spark = replace(spark, keys_on_workers=True)
    if method and (law or privacy is not None):
        raise UsageError(
            "--method takes the place of --noise, and its parameters by --set; leave --noise and --privacy out"
        )
    guided_settings = settings(pairs) if method else {}
    pairs = () if method else pairs
    given = {
        "--target": target,
        "--id": identifier,
        "--noise": law,
        "--privacy": privacy,
        "--set": pairs or None,
        "--method": method,
    }
    if plan_file:
        if clash := [option for option, value in given.items() if value is not None]:
            raise UsageError(
                f"{', '.join(clash)} cannot stand beside --plan, which says it all; change the plan instead"
            )
        proposal = Plan.load(plan_file)
    else:
        proposal = Plan.propose(
            table_,
            target=target,
            identifier=identifier,
            law=law,
            privacy=privacy,
            parameters=settings(pairs),
            encoding=encoding,
        )
    if name:
        proposal = replace(proposal, name=name)
    if method in JOINT_LAWS:
        proposal = with_joint_noise(proposal, guided_settings)
    elif method:
        proposal = replace(proposal, method={"law": method} | guided_settings, channels={})
    for line in proposal.remarks:
        warn(line)
    _warn_learned(proposal.learned)
    _warn_ordered(proposal.ordered)
    fresh_key = not key_file.exists()
    notes: tuple[str, ...] = ()
    changed: dict[str, float] = {}
    common: dict[str, Any] = {"key": key_file, "again": again, "force": force, "format": form, "encoding": encoding}
    with _no_key_without_release(key_file):
        if proposal.method is not None and not joint_method(proposal):
            from sfumato.guided import make_method
            from sfumato.releasing import counted_release, guided_release

            wanted = dict(proposal.method)
            way = make_method(wanted.pop("law"), wanted)
            if spark is None:
                guided = guided_release(table_, proposal, way, output, **common)
                made, notes, changed = guided.release, guided.perturbed.warnings, dict(guided.perturbed.changed)
            else:
                counted = counted_release(table_, proposal, way, output, engine=spark, **common)
                made, notes, changed = counted.release, counted.warnings, dict(counted.changed)
                say(f"the trees were grown from {counted.mined_rows:,} rows, and all rows were counted in them")
        else:
            with progress("releasing") as tick:
                threads = Local(workers) if workers else Local.all_cores()
                made = make_release(table_, proposal, output, engine=spark or threads, progress=tick, **common)
            notes = made.notes
    if fresh_key:
        say(f"made a new key in {key_file}: keep it, and never give it away; whoever has it can remove the noise")
    say(f"released {made.manifest.data.rows:,} rows and {len(made.manifest.columns)} columns to {output}")
    if changed:
        table(["column", "cells changed"], [[n, f"{share:.1%}"] for n, share in changed.items()], err=True)
    for line in dict.fromkeys((*notes, *cautions(made.manifest))):
        warn(line)
    say(f"next:  sfumato describe {output}")
    if as_json:
        about = {"output": str(output), "key": str(key_file)} | ({"changed": changed} if changed else {})
        give(made.manifest.to_dict() | about)


def _refuse_method(law: str | None) -> None:
    """Somebody who asks for a method as noise is told where it belongs."""
    from sfumato.channels import CHANNELS
    from sfumato.errors import UsageError

    if law is None or law in CHANNELS:
        return
    from sfumato.guided import is_guided

    if is_guided(law):
        raise UsageError(
            f"{law} is a method around a pattern of the whole table, not noise: give it as sfumato release --method {law}, "
            f'or in a plan as method = {{ law = "{law}" }} under [release]'
        )


def _refuse_noise(method: str | None) -> None:
    """Raise UsageError where a law of one column is asked for as a method."""
    from sfumato.channels import CHANNELS
    from sfumato.errors import UsageError

    if method in CHANNELS:
        raise UsageError(
            f"{method} is noise for each column, not a method: give it as --noise {method}, or as noise in the plan"
        )


@contextmanager
def _no_key_without_release(key_file: Path) -> Iterator[None]:
    """A key that was made for a release which then failed is taken back: nothing was blurred with it."""
    from sfumato.releases import Ledger

    fresh = not key_file.exists()
    try:
        yield
    except BaseException:
        if fresh and not Ledger.beside(key_file).path.exists():
            key_file.unlink(missing_ok=True)
        raise


@click.command(epilog="Example:  sfumato describe release")
@click.argument("folder", type=Path, metavar="DIR")
@engine_options
@json_option
def describe(folder: Path, engine: str, master: str | None, as_json: bool) -> None:  # noqa: ARG001
    """What the release in DIR says about itself: laws, privacy in every unit, cautions.

    All of it stands in the manifest, so either engine says the same, and no cluster is asked.
    """
    from sfumato.releases import Release, describe_manifest

    about = describe_manifest(Release.open(folder).manifest)
    if as_json:
        give(about)
        return
    click.echo(f"{about['name']}: {about['rows']:,} rows, noise belongs to the {about['noise_belongs_to']}")
    rows = [
        [name, a["kind"], a["what"], a["privacy"].get("in_words", ""), a["privacy"].get("epsilon_in_words", "")]
        for name, a in about["attributes"].items()
    ]
    table(["column", "kind", "what was done", "95 % interval", "ε"], rows)
    if about["withheld"]:
        click.echo(f"Withheld by the owner's plan, and not in the data: {join_names(about['withheld'], 12)}.")
    click.echo(about["record"]["in_words"])
    for line in about["cautions"]:
        click.echo(f"- {line}")


def _warn_learned(names: list[str]) -> None:

    if names:
        warn(
            f"the domain of {join_names(names)} was learned from the data, and its ends or labels will be published. "
            "Declare domains in a plan to avoid it"
        )


def _warn_ordered(names: tuple[str, ...]) -> None:

    if names:
        warn(
            f"neighbouring rows are alike in {join_names(names)}, as in a sorted table: a release keeps the order of rows, and the "
            "noise of neighbours averages out. Shuffle the rows of the table first; nobody needs their order"
        )


__all__ = ["describe", "finite", "generate", "plan", "release"]

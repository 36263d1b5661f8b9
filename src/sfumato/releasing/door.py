"""Make a release: the one function that turns a table and a plan into a folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.engines import Engine, Local, Progress, Target, first_repeat
from sfumato.errors import CellError, DataError, OutputError, UsageError
from sfumato.hashing import WordArray
from sfumato.io import BLOCK_ROWS, Block, Source, describe_row, name_files_in_errors, open_new_folder, read_blocks
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import (
    Entry,
    Ledger,
    Manifest,
    Release,
    ReleasedColumn,
    check_key_outside,
    explain_refusal,
    load_or_create_key,
    readme,
)
from sfumato.releasing.joint_noise import joint_law
from sfumato.releasing.row_by_row import (
    EntityWords,
    KernelByKeyFile,
    Released,
    ReleaseKernel,
    Tally,
    WordsByKeyFile,
    cell_text,
    kernel_for,
    key_fingerprint,
    noise_names,
)
from sfumato.text import join_names


def release(
    table: Any,
    plan: Plan,
    folder: str | Path,
    *,
    key: SecretKey | str | Path | None = None,
    again: bool = False,
    force: bool = False,
    format: str = "parquet",  # noqa: A002 - the word users expect
    engine: Engine | None = None,
    block_rows: int = BLOCK_ROWS,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Release:
    """Turn a table into a release folder: data, manifest, README.

    Parameters
    ----------
    key
        The owner's key, or the file that holds it (created if there is none; the ledger lies beside it). Without a key a
        fresh one is drawn and thrown away: nobody can repeat such a release, and no ledger knows of it.
    again
        Release rows with fresh noise although they were released before; the manifest then says so.
    """
    engine = engine or Local()
    source = engine.open(table, encoding)
    folder = Path(folder)
    refuse_input_inside(table, folder)
    owner, ledger = owner_key(key, folder)
    joint = joint_law(plan, source, learn=engine.gathers)
    kernel = replace(kernel_for(plan, owner, joint), gathers=engine.gathers)
    engine.check_numbers(source)
    shipped, words = _travelling(plan, kernel, key, owner, engine)
    with open_new_folder(folder, force=force) as hidden:
        columns = columns_read(source, plan, kernel)
        written, tally = engine.write(
            shipped, source, columns, Target(hidden, format, kernel.schema), block_rows=block_rows, progress=progress
        )
        if written.rows == 0:
            raise DataError(f"{source.name} has a header but no rows; a release needs at least one")
        if kernel.identifier:
            _refuse_repeats(
                source,
                kernel.identifier,
                first_repeat(tally.entities)
                if engine.gathers
                else engine.first_repeat(words, source, [kernel.identifier]),
            )
        laws = {c.name: c.channel.to_dict() for c in kernel.columns if c.channel is not None}
        entry = Entry.now(
            plan.release_name, noise_names(plan, owner, joint), tally.sketch, laws, joint.names if joint else ()
        )
        manifest = publish(
            hidden, entry, ledger, lambda earlier: _manifest(plan, kernel, written, tally, earlier), again=again
        )
    return Release(folder, manifest, _beyond_the_ledger(entry) if ledger and not kernel.identifier else ())


def _beyond_the_ledger(entry: Entry) -> tuple[str, ...]:
    note = (
        "Most rows look like others in what is released, so the ledger cannot know them again in another order or behind an "
        "inserted row: keep rows and order as they are when releasing again, or name people by --id, whose noise is fixed."
    )
    return () if entry.rows_distinct else (note,)


def refuse_input_inside(table: Any, folder: Path) -> None:
    """A folder that is about to be replaced must not hold the table that is to be read."""
    if isinstance(table, str | Path) and folder.resolve() in Path(table).resolve().parents:
        raise OutputError(f"the input {table} lies inside the folder {folder} to be written; name another output")


def owner_key(key: SecretKey | str | Path | None, folder: Path) -> tuple[SecretKey, Ledger | None]:
    """The owner's key and the ledger beside it; without a file there is no ledger, without a key a fresh one is drawn."""
    if isinstance(key, str | Path):
        check_key_outside(Path(key), folder)
        return load_or_create_key(key)[0], Ledger.beside(key)
    return key or SecretKey.generate(), None


def publish(
    hidden: Path,
    entry: Entry,
    ledger: Ledger | None,
    manifest_of: Callable[[tuple[str, ...]], Manifest],
    *,
    again: bool,
) -> Manifest:
    """Ask the ledger, then write manifest and README beside the data; the entry is recorded before the release appears."""
    with ledger.lock() if ledger else nullcontext():
        earlier = ledger.check(entry) if ledger else []
        if earlier and not again:
            raise explain_refusal(earlier, entry)
        manifest = manifest_of(tuple(dict.fromkeys(e.name for e in earlier)))
        (hidden / "manifest.json").write_text(manifest.to_json(), "utf-8")
        (hidden / "README.md").write_text(readme(manifest), "utf-8")
        if ledger:
            ledger.record(entry)
    return manifest


def _travelling(
    plan: Plan, kernel: ReleaseKernel, key: SecretKey | str | Path | None, owner: SecretKey, engine: Engine
) -> tuple[Callable[[Block], Released], Callable[[Block], WordArray]]:
    """What goes to the workers: the kernel with the keys of this release, or, where they have the key file, none."""
    if not engine.keys_on_workers:
        return kernel, EntityWords(str(kernel.identifier), kernel.entity_key)
    if not isinstance(key, str | Path):
        raise UsageError("workers that read the key themselves need a key file; give its path as the key")
    law = kernel.joint.law if kernel.joint else None
    by_file = KernelByKeyFile(plan, str(Path(key).absolute()), key_fingerprint(owner), law)
    return by_file, WordsByKeyFile(by_file)


def columns_read(source: Source, plan: Plan, kernel: ReleaseKernel) -> list[str]:
    """The columns that a release reads, after a check that the plan says something about each."""
    if unplanned := [c for c in source.columns if c not in plan.schema.names]:
        beyond = [a.name for a in plan.schema if a.name not in source.columns]
        raise UsageError(
            f"the plan says nothing about column {join_names(unplanned)} of {source.name}"
            + (
                f", and speaks of {join_names(beyond)}, which is not there; is it another name, or another table?"
                if beyond
                else ""
            )
            + ("" if beyond else "; add it, or withhold it")
        )
    names = [c.name for c in kernel.columns] + ([kernel.identifier] if kernel.identifier else [])
    return list(dict.fromkeys(names))


def _refuse_repeats(source: Source, identifier: str, repeat: tuple[int, int] | None) -> None:
    if repeat is None:
        return
    earlier, later = repeat
    for block in read_blocks(source, [identifier]):
        if block.start <= later < block.start + block.rows:
            text = cell_text(block, identifier, later - block.start)
            why = (
                f"the id {text!r} stands in {describe_row(source, earlier)} already; "
                "give each row an id of its own, or release without --id"
            )
            with name_files_in_errors(source):
                raise CellError(identifier, later, why)


def _manifest(plan: Plan, kernel: ReleaseKernel, written: Any, tally: Tally, again: tuple[str, ...]) -> Manifest:
    columns = tuple(
        ReleasedColumn(c.encoder.attribute, c.channel, tally.missing.get(c.name, 0), absent=c.encoder.absent)
        for c in kernel.columns
    )
    return Manifest(
        name=plan.release_name,
        columns=columns,
        data=written,
        addressing="entity" if kernel.identifier else "row",
        withheld=tuple(a.name for a in plan.schema if not a.released),
        again=again,
        joint=kernel.joint.law if kernel.joint else None,
    )

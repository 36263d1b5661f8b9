"""Make a release: the one function that turns a table and a plan into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.description import cautions, readme
from sfumato.engines import Engine, Local, Needs, Progress, Target
from sfumato.errors import OutputError, UsageError
from sfumato.guided import METHODS, make_method
from sfumato.io import BLOCK_ROWS, open_new_folder
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import (
    SAMPLE,
    Entry,
    Ledger,
    Manifest,
    Release,
    check_key_outside,
    explain_refusal,
    load_or_create_key,
)
from sfumato.releasing import intent
from sfumato.releasing.base import Draft
from sfumato.releasing.by_counts import draft_by_counts
from sfumato.releasing.joint_noise import joint_method
from sfumato.releasing.row_by_row import draft_rows
from sfumato.releasing.whole_table import draft_whole_table
from sfumato.text import join_names


def release(
    table: Any,
    plan: Plan | str | Path | None,
    folder: str | Path,
    *,
    target: str | None = None,
    identifier: str | None = None,
    noise: str | None = None,
    privacy: float | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    key: SecretKey | str | Path | None = None,
    again: bool = False,
    force: bool = False,
    format: str = "parquet",  # noqa: A002 - the word users expect
    engine: Engine = Local(),
    sample: int = SAMPLE,
    block_rows: int = BLOCK_ROWS,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Release:
    """Turn a table into a release folder: data, manifest, README.

    Parameters
    ----------
    table : path, bundled name, dataframe or Arrow table
        The original.
    plan : Plan, path or None
        What is done to each column. Without a plan one is proposed from `target`, `identifier`, `noise`, `privacy`, `method`
        and `options`, as `sfumato.plan` does it; beside a plan these cannot be given.
    folder : path
        The folder to make. It appears when it is complete.
    name : str, optional
        The release's name; noise is fixed for a name. By default a digest of the plan.
    key : SecretKey or path, optional
        The owner's key, or the file that holds it (created if there is none; the ledger lies beside it). Without a key a
        fresh one is drawn and thrown away: such a release cannot be repeated, and no ledger knows of it.
    again : bool
        Release rows with fresh noise although they were released before; the manifest then says so.
    force : bool
        Replace an existing release.
    format : str
        parquet or csv.
    engine : Engine
        Where the work is done. On an engine that does not gather rows, guided methods work by counts.
    sample : int
        Rows that a guided method by counts grows its trees from.
    block_rows : int
        Rows per block of work; the release does not depend on it.
    encoding : str
        Encoding of a CSV file.
    progress : callable, optional
        Called with the rows done and, where they are known, the rows in all.

    Returns
    -------
    Release
        The release; `release.making` holds what only the owner should know of it.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("iris", None, f"{folder}/release", noise="gaussian", privacy=0.5)
    >>> made.manifest.data.rows, made.making.changed
    (150, {})
    """
    folder = Path(folder)
    if isinstance(table, str | Path) and folder.resolve() in Path(table).resolve().parents:
        raise OutputError(f"the input {table} lies inside the folder {folder} to be written; name another output")
    asked = {"target": target, "identifier": identifier, "noise": noise, "privacy": privacy, "method": method}
    followed = _resolve_plan(table, plan, asked | {"options": options}, encoding)
    if name:
        followed = replace(followed, name=name)
    with _owner_key(key, folder) as (owner, ledger, notes), open_new_folder(folder, force=force) as hidden:
        draft = _draft(table, followed, owner, key, engine, sample, encoding)
        written, tally = engine.write(
            draft.kernel,
            draft.source,
            draft.columns,
            Target(hidden, format, draft.schema),
            block_rows=block_rows,
            progress=progress,
        )
        draft.check(written, tally)
        manifest = _publish(hidden, draft.entry(tally), ledger, partial(draft.manifest, written, tally), again=again)
        making = draft.making(written, tally)
    making = replace(
        making,
        plan=followed,
        notes=(*notes, *making.notes),
        cautions=tuple(cautions(manifest)),
    )
    return Release(folder, manifest, making)


def _resolve_plan(table: Any, plan: Plan | str | Path | None, asked: Mapping[str, Any], encoding: str) -> Plan:
    """Return the plan that is given, or propose one."""
    if plan is None:
        return intent.plan(table, encoding=encoding, **asked)
    if clash := [f"{name}=" for name, value in asked.items() if value not in (None, {})]:
        raise UsageError(f"{', '.join(clash)} cannot stand beside plan=, which says it all; change the plan instead")
    return plan if isinstance(plan, Plan) else Plan.load(plan)


def _draft(
    table: Any,
    plan: Plan,
    owner: SecretKey,
    key: SecretKey | str | Path | None,
    engine: Engine,
    sample: int,
    encoding: str,
) -> Draft:
    """Prepare the release in the one way that its plan and the engine allow."""
    if plan.method is None or joint_method(plan):
        return draft_rows(engine.open(table, encoding), plan, owner, key, engine)
    parameters = dict(plan.method)
    method = make_method(parameters.pop("law"), parameters)
    if plan.schema.identifier is not None:
        raise UsageError(
            f"{method.law}: noise that follows the whole table cannot be tied to an entity; leave identifier= out, or declare "
            "no identifier in the plan"
        )
    if engine.gathers:
        return draft_whole_table(table, plan, method, owner, encoding)
    if method.needs is not Needs.COUNTS:
        by_counts = sorted(m.law for m in METHODS.values() if m.needs is Needs.COUNTS)
        raise UsageError(
            f"{method.law} moves values between rows and needs the whole table in the memory of one machine: run it with "
            f"engine=Local(). By counts, on a cluster, there are {join_names(by_counts)}"
        )
    return draft_by_counts(engine.open(table, encoding), plan, method, owner, engine, sample)


@contextmanager
def _owner_key(
    key: SecretKey | str | Path | None, folder: Path
) -> Iterator[tuple[SecretKey, Ledger | None, tuple[str, ...]]]:
    """Give the owner's key, the ledger beside its file, and a note if the key is new.

    Without a file there is no ledger, without a key a fresh one is drawn. A new key file is removed again if the release
    fails: nothing was blurred with it.
    """
    if not isinstance(key, str | Path):
        yield key or SecretKey.generate(), None, ()
        return
    file = Path(key)
    check_key_outside(file, folder)
    owner, is_new = load_or_create_key(file)
    ledger = Ledger.beside(file)
    note = f"made a new key in {file}: keep it, and never give it away; anybody who has it can remove the noise"
    try:
        yield owner, ledger, (note,) if is_new else ()
    except BaseException:
        if is_new and not ledger.path.exists():
            file.unlink(missing_ok=True)
        raise


def _publish(
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

"""Make a plan from a table and a few words, and a release from a table and a plan: the two functions of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.advice import Goal, advise
from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.description import cautions
from sfumato.engines import Engine, Local, Needs, Progress, Target
from sfumato.errors import DataError, OutputError, UsageError
from sfumato.guided import METHODS, is_guided, make_method
from sfumato.io import BLOCK_ROWS, Written, open_new_folder
from sfumato.plans import Plan, without_identifier
from sfumato.randomness import SecretKey, random_salt
from sfumato.releases import (
    MEMORY,
    SAMPLE,
    Entry,
    Ledger,
    Manifest,
    Release,
    check_key_outside,
    load_or_create_key,
    open_described,
    recall_salt,
)
from sfumato.releasing.base import Draft, Scope
from sfumato.releasing.by_counts import draft_by_counts
from sfumato.releasing.drafts import digest_of, name_earlier, write_statement
from sfumato.releasing.joint_noise import joint_method, with_joint_noise
from sfumato.releasing.row_by_row import draft_rows, order_rows, sketch_rows
from sfumato.releasing.whole_table import draft_whole_table
from sfumato.schema import Schema
from sfumato.text import join_names


def plan(
    table: Any,
    *,
    target: str | None = None,
    identifier: str | None = None,
    noise: str | None = None,
    privacy: float | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    goal: str | None = None,
    name: str | None = None,
    encoding: str | None = None,
) -> Plan:
    """Look at a table and propose a plan that a person can edit.

    Without a strength (`privacy`, `options`) or a method, the plan has the weakest noise at which few enough people are found
    again, by attacks on a rehearsal in memory.

    Parameters
    ----------
    table : path, bundled name, dataframe or Arrow table
        The original.
    target : str, optional
        The class column, released as it is.
    identifier : str, optional
        The column that says whose row it is; noise is tied to it.
    noise : str, optional
        The law that blurs every column: gaussian (the default), uniform, laplace, intervals, substitution, projective or
        square-wave. Labels take the substitution of the same strength.
    privacy : float, optional
        Width of the 95 % interval, as a fraction of each range.
    method : str, optional
        In place of noise: correlated-gaussian, or a guided method such as leaf-swap.
    options : mapping, optional
        Parameters of the noise or of the method.
    goal : str, optional
        How many people somebody may find again who knows all their true values: ``found=5%`` (the default).
    name : str, optional
        The release's name; noise is fixed for a name.
    encoding : str, optional
        Encoding of a CSV file.

    Returns
    -------
    Plan
        The proposal; `Plan.to_toml` writes it as text.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.plan("iris", noise="laplace", privacy=0.5).channels["petal_width"].law
    'laplace'
    >>> sf.plan("iris", method="leaf-swap", options={"least": 3}).method
    {'law': 'leaf-swap', 'least': 3}
    """
    if method is not None and (noise is not None or privacy is not None):
        raise UsageError(
            "method= takes the place of noise=, and its parameters are given by options=; leave noise= and privacy= out"
        )
    named = privacy is not None or bool(options) or method is not None
    if goal is not None and named:
        raise UsageError("goal= chooses the strength of the noise; leave privacy=, options= and method= out, or goal=")
    wanted = Goal.parse(goal) if goal is not None else Goal()
    if noise is not None and noise not in CHANNELS and is_guided(noise):
        raise UsageError(
            f"{noise} is a method around a pattern of the whole table, not noise: give it as method={noise}, or in a plan as "
            f'method = {{ law = "{noise}" }} under [release]'
        )
    proposal = Plan.propose(
        table,
        target=target,
        identifier=identifier,
        noise=noise,
        privacy=privacy,
        options=None if method else options,
        name=name,
        encoding=encoding,
    )
    if method is None:
        return proposal if named else advise(proposal, table, noise=noise, goal=wanted, encoding=encoding)
    # A guided method moves values between rows, so an id that was not asked for is only withheld.
    untied = method not in JOINT_LAWS and identifier is None
    return with_method(without_identifier(proposal) if untied else proposal, method, options)


def with_method(plan: Plan, method: str, options: Mapping[str, Any] | None = None) -> Plan:
    """Return a plan with a method in place of its noise.

    Noise for several columns together keeps a matching substitution on the columns of labels.
    """
    parameters = dict(options or {})
    if method in JOINT_LAWS:
        return with_joint_noise(plan, parameters)
    make_method(method, parameters)  # a wrong name or parameter is told at once
    plain = Schema(tuple(replace(a, scale=None) for a in plan.schema))
    return replace(plan, schema=plain, method={"law": method} | parameters, channels={}, shuffle=False)


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
    goal: str | None = None,
    name: str | None = None,
    shuffle: bool | None = None,
    key: SecretKey | str | Path | None = None,
    draft: bool = False,
    again: bool = False,
    force: bool = False,
    format: str = "parquet",  # noqa: A002 - the word users expect
    engine: Engine = Local(),
    sample: int = SAMPLE,
    block_rows: int = BLOCK_ROWS,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Turn a table into a release folder: data, manifest, README.

    Parameters
    ----------
    table : path, bundled name, dataframe or Arrow table
        The original.
    plan : Plan, path or None
        What is done to each column. Without a plan one is proposed from `target`, `identifier`, `noise`, `privacy`, `method`,
        `options` and `goal`, as `sfumato.plan` does it; beside a plan these cannot be given.
    folder : path
        The folder to make. It appears when it is complete.
    name : str, optional
        The release's name; noise is fixed for a name. Without one, noise is fixed for the table, as far as the ledger knows
        its rows again.
    shuffle : bool, optional
        Put the rows in a random order, which only the key can undo; by default as the plan says. For noise, not for guided
        methods.
    key : SecretKey or path, optional
        The owner's key, or the file that holds it (created if there is none; the ledger lies beside it). Without a key a
        fresh one is drawn and thrown away: such a release cannot be repeated, and no ledger knows of it. A key that is not a
        file has no ledger either: give a name beside it if the release is to be repeated.
    draft : bool
        Make a draft: the ledger knows it as unpublished, and the folder says so. Audit it, then `publish` or `withdraw` it. Until
        it is published, drafts of other plans may follow. Needs a key file.
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
    encoding : str, optional
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
    place = getattr(table, "path", table)
    if isinstance(place, str | Path) and folder.resolve() in Path(place).resolve().parents:
        raise OutputError(f"the input {table} lies inside the folder {folder} to be written; name another output")
    asked = {"target": target, "identifier": identifier, "noise": noise, "privacy": privacy, "method": method}
    asked |= {"goal": goal}
    if draft and not isinstance(key, str | Path):
        raise UsageError("draft=True needs a ledger that remembers the draft; name the owner's key file with key=")
    followed = _resolve_plan(table, plan, asked | {"options": options}, encoding)
    followed = replace(followed, name=name or followed.name, shuffle=_resolve_shuffle(followed, shuffle))
    table = open_described(table, followed, encoding)
    with _owner_key(key, folder) as (owner, ledger, notes), open_new_folder(folder, force=force) as hidden:
        lost = bool(ledger and again and ledger.restore())
        scope = _choose_scope(table, followed, owner, ledger, key, engine)
        prepared = _prepare(table, followed, scope, owner, key, engine, sample)
        written, tally = engine.write(
            prepared.kernel,
            prepared.source,
            prepared.columns,
            Target(hidden, format, prepared.schema),
            order=order_rows(scope, owner, key, engine) if followed.shuffle else None,
            block_rows=block_rows,
            progress=progress,
        )
        prepared.check(written, tally)
        _check_gaps(followed, tally.missing, format)
        manifest_of = partial(_state, prepared, written, tally, draft, followed.shuffle)
        manifest = _record(hidden, prepared.entry(tally), ledger, manifest_of, again=again, lost=lost)
        making = prepared.making(written, tally)
        if isinstance(key, SecretKey):
            notes += MEMORY.notes(key, prepared.entry(tally))
            MEMORY.record(key, prepared.entry(tally))
    notes += making.notes
    return Release(folder, manifest, replace(making, plan=followed, notes=notes, cautions=tuple(cautions(manifest))))


def _resolve_plan(table: Any, given: Plan | str | Path | None, asked: Mapping[str, Any], encoding: str | None) -> Plan:
    """Return the plan that is given, or propose one."""
    if given is None:
        return plan(table, encoding=encoding, **asked)
    if clash := [f"{name}=" for name, value in asked.items() if value not in (None, {})]:
        raise UsageError(f"{', '.join(clash)} cannot stand beside plan=, which says it all; change the plan instead")
    return given if isinstance(given, Plan) else Plan.load(given)


def _resolve_shuffle(followed: Plan, asked: bool | None) -> bool:
    """Return whether rows are shuffled: as asked, or as the plan says."""
    wanted = followed.shuffle if asked is None else asked
    if wanted and followed.method is not None and not joint_method(followed):
        raise UsageError(
            f"shuffle=True is for noise, and {followed.method['law']} follows the whole table; shuffle the table's rows first, and "
            "leave shuffle out of the plan"
        )
    return wanted


def _choose_scope(
    table: Any,
    plan: Plan,
    owner: SecretKey,
    ledger: Ledger | None,
    key: SecretKey | str | Path | None,
    engine: Engine,
) -> Scope:
    """Return the name of a release and the salt of its table.

    The salt follows from the name, where one is given. Otherwise it is that of an earlier release, where its rows are known
    again: to find out they are read once more. A table that is new gets a new one.
    """
    if plan.name:
        return Scope.of_name(plan.name, owner)
    salt = None
    if known := ledger.entries() if ledger else MEMORY.entries(owner):
        salt = recall_salt(known, sketch_rows(engine.open(table), plan, owner, key, engine))
    salt = salt or random_salt()
    # Under the key: a bare digest of a plan could be guessed, and with it the labels of columns that are withheld.
    return Scope(f"release-{owner.fingerprint('name', salt, replace(plan, reading=None).to_dict())[:12]}", salt)


def _prepare(
    table: Any,
    plan: Plan,
    scope: Scope,
    owner: SecretKey,
    key: SecretKey | str | Path | None,
    engine: Engine,
    sample: int,
) -> Draft:
    """Prepare the release in the one way that its plan and the engine allow."""
    if plan.method is None or joint_method(plan):
        return draft_rows(engine.open(table), plan, scope, owner, key, engine)
    parameters = dict(plan.method)
    method = make_method(parameters.pop("law"), parameters)
    if plan.schema.identifier is not None:
        raise UsageError(
            f"{method.law}: noise that follows the whole table cannot be tied to an entity; leave identifier= out, or declare "
            "no identifier in the plan"
        )
    if engine.gathers:
        return draft_whole_table(table, plan, scope, method, owner)
    if method.needs is not Needs.COUNTS:
        by_counts = sorted(m.law for m in METHODS.values() if m.needs is Needs.COUNTS)
        raise UsageError(
            f"{method.law} moves values between rows and needs the whole table in the memory of one machine: run it with "
            f"engine=Local(). By counts, on a cluster, there are {join_names(by_counts)}"
        )
    return draft_by_counts(engine.open(table), plan, scope, method, owner, engine, sample)


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
    is_new = not file.exists()
    note = f"made a new key in {file}: keep it, and never give it away; anybody who has it can remove the noise"
    try:
        read = load_or_create_key(file)
        ledger = Ledger.of_key(file)
        yield read.secret, ledger, (*((note,) if is_new else ()), *ledger.notes)
    except BaseException:
        if is_new and file.exists():
            Ledger.of_key(file).remove_unused(file)
        raise


def _check_gaps(plan: Plan, missing: Mapping[str, int], form: str) -> None:
    """Raise DataError where a CSV file would show a missing value and the empty label alike."""
    for attribute in plan.schema if form == "csv" else ():
        labelled = attribute.domain is not None and not attribute.kind.numeric and "" in attribute.categories
        if labelled and missing.get(attribute.name, 0):
            raise DataError(
                f"{attribute.name}: it has missing values and the label '', and in a CSV file both are empty; release it with "
                "format=parquet, or rename the label"
            )


def _state(
    prepared: Draft, written: Written, tally: Any, draft: bool, shuffled: bool, earlier: tuple[str, ...]
) -> Manifest:
    return replace(prepared.manifest(written, tally, earlier), draft=draft, shuffled=shuffled)


def _record(
    hidden: Path,
    entry: Entry,
    ledger: Ledger | None,
    manifest_of: Callable[[tuple[str, ...]], Manifest],
    *,
    again: bool,
    lost: bool,
) -> Manifest:
    """Ask the ledger, then write manifest and README beside the data; the entry is recorded before the release appears."""
    with ledger.lock() if ledger else nullcontext():
        manifest = manifest_of(name_earlier(ledger, entry, again=again, lost=lost))
        write_statement(hidden, manifest)
        if ledger:
            ledger.record(replace(entry, draft=digest_of(hidden)) if manifest.draft else entry)
    return manifest

"""audit(original, release): attack every promise, and give every finding its baseline, control, interval and seed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.attacks import ATTACKS, RowGroups, View
from sfumato.auditing.case import Case, find_repeats, read_case, read_control
from sfumato.auditing.decision import Condition
from sfumato.auditing.exposure import measure_exposure, record_information
from sfumato.auditing.people import count_found
from sfumato.auditing.per_person import read_groups
from sfumato.auditing.promises import judge_promises, remedies_taken
from sfumato.auditing.result import Audit
from sfumato.auditing.score import Finding
from sfumato.auditing.trial import try_attack
from sfumato.auditing.utility import count_distances, measure_utility
from sfumato.engines import Engine, Local, Progress
from sfumato.errors import UsageError
from sfumato.guided import exposed_rows
from sfumato.randomness import SecretKey
from sfumato.releases import Ledger, Release, load_key, open_pair


def audit(
    original: Any,
    release: Release | str | Path,
    *,
    others: Sequence[Release | str | Path] = (),
    control: Any = None,
    known: Sequence[str] | None = None,
    targets: int = 500,
    key: SecretKey | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    identifier: str | None = None,
    seed: int = 0,
    encoding: str | None = None,
    progress: Progress | None = None,
    engine: Engine = Local(),
    sample: int = 20_000,
    fail_on: Sequence[str] = (),
) -> Audit:
    """Attack a release with all that its manifest tells, and compare what the attacks claim with the original.

    Parameters
    ----------
    original : table
        The same table that the release was made from, with its rows in the same order (shuffled ones need the key).
    release : Release or path
        The release. The two are told apart, so they may be given in the other order too.
    others : sequence of releases
        Other releases of the same rows, which an attacker may hold too.
    control : table, optional
        People who are not in the release. Without it, the control is the release without the person's row.
    known : sequence of str, optional
        Columns that an attacker who links people knows; all by default.
    targets : int
        How many people are attacked, where an attack goes person by person.
    key : SecretKey or path, optional
        The owner's key: it puts rows that were shuffled in order again, and its file opens the ledger beside it.
    ledger : Ledger or path, optional
        The ledger, where it does not lie beside its key. Releases of the same rows that it knows, and that are not among
        `others`, are drawn again from the original, so that averaging over them can be measured.
    identifier : str, optional
        The column of the original that says whose row it is, so that one person's rows are attacked together. Not needed where the
        release ties its noise to people who have several rows: its manifest names the column.
    seed : int
        Under the same seed the audit repeats itself.
    encoding : str, optional
        The encoding of a CSV file.
    progress : callable, optional
        Called with the number of steps done and of all steps.
    engine : Engine
        Where the work is done. An engine that does not gather rows lets the attacks see a sample, the same rows of both tables,
        and ``utility["all_rows"]`` holds what counting alone can say of all of them.
    sample : int
        How many rows the attacks see then.
    fail_on : sequence of str
        What a pipeline must not let pass: ``broken``, ``care``, ``do-not-publish``, ``found=5%`` or ``risk=20``. `Audit.failures`
        then says what failed.

    Returns
    -------
    Audit
        Findings, promises, exposed rows and usefulness, as data (`to_dict`) and as a page (`html`).

    Examples
    --------
    >>> import sfumato as sf
    >>> folder = getfixture("tmp_path") / "release"
    >>> made = sf.release("iris", sf.Plan.propose("iris"), folder, key=folder.with_suffix(".key"))
    >>> result = sf.audit("iris", made, targets=50)
    >>> result.rows
    150
    >>> sorted({finding.name for finding in result.findings})[:3]
    ['assignment', 'at-its-word', 'bayes']
    """
    start = time.perf_counter()
    conditions = tuple(Condition.parse(text) for text in fail_on)
    book = _open_ledger(key, ledger)
    original, made = open_pair(original, release)
    case = read_case(made, original, others, engine=engine, sample=sample, encoding=encoding, key=key)
    outside = None if control is None else read_control(made.manifest, control, encoding)
    case = case.choose_people(outside, known, targets=targets, seed=seed)
    case = replace(case, groups=_group_rows(made, original, case, identifier, engine, encoding))
    again = find_repeats(book, made.manifest) if book is not None else None
    given = [other.name for other in case.others]
    if again is not None:
        case = replace(case, redrawn=again.redraw(case.view, case.truth, given, seed))
    findings, notes = _attack(case, progress)
    exposure = measure_exposure(case.view, case.truth, case.pairs)
    released = {c.name: c.values for c in case.view.columns}
    unchanged = case.rows[exposed_rows.unchanged_rows(case.truth, released, case.view.guided)]
    attributes = [c.attribute for c in case.view.columns]
    useful = dict(measure_utility(case.view, case.truth, seed))
    if not engine.gathers:
        useful["all_rows"] = count_distances(made, original, engine, encoding)
        if case.view.rows < (of := made.manifest.data.rows):
            notes["rows"] = f"attacks saw {case.view.rows:,} of {of:,} rows, chosen by a hash of their numbers"
    promises = tuple(judge_promises(case, findings, remedies_taken(made.manifest), _stated_promises(made)))
    described = _describe(made)
    return Audit(
        name=case.view.name,
        rows=case.view.rows,
        findings=tuple(findings),
        people=count_found(findings),
        promises=promises,
        exposure=replace(exposure, worst=case.rows[exposure.worst]),
        utility=useful,
        privacy=_privacy(described, case.view),
        domains={a.name: a.interval.range if a.kind.numeric else float(len(a.categories)) for a in attributes},
        notes=notes,
        seed=seed,
        seconds=time.perf_counter() - start,
        again=made.manifest.again,
        repeats=None if again is None else again.to_dict(case.view, given, findings),
        whole=tuple((unchanged + 1).tolist()),
        conditions=conditions,
        described=described,
    )


def _stated_promises(made: Release) -> dict[str, float]:
    """Return the smaller intervals that the owner promises in the place of the laws' own."""
    return {c.attribute.name: c.promise for c in made.manifest.columns if c.promise is not None}


def _group_rows(
    made: Release, original: Any, case: Case, identifier: str | None, engine: Engine, encoding: str | None
) -> RowGroups | None:
    """Return which rows are one person's, as the original says; None where each person has one, or only a sample is attacked."""
    entities = made.manifest.entities
    column = identifier or (entities.column if entities else None)
    if column is None or not engine.gathers:
        return None
    return read_groups(original, column, case.rows, encoding, shared=made.manifest.addressing == "entity")


def _open_ledger(key: SecretKey | str | Path | None, ledger: Ledger | str | Path | None) -> Ledger | None:
    """Return the ledger of a key, beside it or where `ledger` says."""
    if isinstance(key, str | Path) and ledger is None:
        ledger = Ledger.of_key(key)
    if isinstance(ledger, str | Path):
        ledger = Ledger(Path(ledger), load_key(key) if isinstance(key, str | Path) else key)
    book = ledger
    if book is not None and not book.path.exists():
        raise UsageError(f"there is no ledger {book.path}; give the key that the release was made with")
    return book


def _attack(case: Case, progress: Progress | None) -> tuple[list[Finding], dict[str, str]]:
    """Run every attack; return the findings, and for attacks that were not run (or not on all columns) the reason."""
    findings: list[Finding] = []
    notes: dict[str, str] = {}
    steps = len(ATTACKS) + 1  # one more for what comes after the attacks
    for done, (name, kind) in enumerate(ATTACKS.items(), start=1):
        measured, why = try_attack(kind, case)
        findings += measured
        if why:
            notes[name] = why
        if progress:
            progress(done, steps)
    return findings, notes


def _describe(made: Release) -> dict[str, Any]:
    """Return what the release says about itself, with its data, the day and the version that audits it."""
    from importlib.metadata import version

    from sfumato.description import describe_manifest

    about = describe_manifest(made.manifest)
    today = date.today()  # noqa: DTZ011 - the day where the officer is
    audited = f"{today.day} {today:%B %Y}"
    return about | {"data": made.manifest.data.to_dict(), "audited": audited, "version": version("sfumato")}


def _privacy(about: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return the figures of the laws alone, and what each column tells with its reconstructed distribution as prior.

    That is I(X;Z), 1 − 2^(−I) and Π = 2^h(X|Z) (Agrawal & Aggarwal 2001).
    """
    from sfumato.privacy import measure_information

    told: dict[str, dict[str, Any]] = {}
    for name, belief in view.beliefs.items():
        if (channel := belief.column.channel) is not None:
            information = measure_information(channel, belief.grid, belief.prior)
            told[name] = {
                "bits": information.bits,
                "privacy_loss": information.privacy_loss,
                "entropy_privacy": information.entropy_privacy,
                "exact": information.exact,
                "reason": information.reason,
            }
    return {
        "attributes": {n: v["privacy"] for n, v in about["attributes"].items()},
        "record": about["record"] | record_information(view, {n: v["bits"] for n, v in told.items()}),
        "information": told,
    }

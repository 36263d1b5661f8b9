"""audit(release, original): attack every promise, and give every finding its baseline, control, interval and seed.

Here is how an attack of each kind is run and scored. What is special to one attack stands in the attack.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sfumato.attacks import ATTACKS, Attack, LinkAttack, SecretAttack, ValueAttack, View
from sfumato.auditing.case import Case, find_repeats, read_case
from sfumato.auditing.exposure import measure_exposure, record_information
from sfumato.auditing.promises import judge_promises, remedies_taken
from sfumato.auditing.result import Audit
from sfumato.auditing.score import Finding, score_people, score_values
from sfumato.auditing.utility import count_distances, measure_utility
from sfumato.engines import Engine, Local, Progress
from sfumato.errors import UsageError
from sfumato.guided import exposed_rows
from sfumato.randomness import SecretKey
from sfumato.releases import Ledger, Release, as_release

AnyAttack = TypeVar("AnyAttack", bound=Attack)
Outcome = tuple[list[Finding], str]
"""The findings of an attack, and why it was not run, or not on all columns; both empty where it does not apply."""


def try_attack(kind: type[Attack], case: Case) -> Outcome:
    """Run an attack with what it is granted, and compare what it claims with the truth."""
    if not kind.in_audit or (kind.guided_only and not case.view.guided):
        return [], ""
    attack = kind.prepare(case.grants(kind.knowledge))
    if isinstance(attack, str):
        return [], attack
    if isinstance(attack, ValueAttack):
        return _try_values(attack, case)
    if isinstance(attack, SecretAttack):
        return _try_secrets(attack, case)
    if isinstance(attack, LinkAttack):
        return _try_links(attack, case)
    raise TypeError(f"{kind.__name__} is neither a ValueAttack nor a SecretAttack nor a LinkAttack")


def _outsiders(attack: AnyAttack, case: Case) -> AnyAttack:
    """Return the same attack on the control group."""
    shadow = attack.prepare(case.grants(attack.knowledge, outside=True))
    assert not isinstance(shadow, str)
    return shadow


def _try_values(attack: ValueAttack, case: Case) -> Outcome:
    claim = attack.run(case.view)
    why = claim.untried or claim.skipped
    if claim.skipped:
        return [], why
    findings = score_values(attack, claim, case.attributes, case.truth, seed=case.seed, together=attack.together)
    shadow = attack.without_order(claim)
    if shadow is None or not findings:
        return findings, why
    order = np.random.default_rng(case.seed).permutation(case.view.rows)
    truth = {name: values[order] for name, values in case.truth.items()}
    control = shadow.run(case.view.take(order))
    shuffled = score_values(shadow, control, case.attributes, truth, seed=case.seed, leaves=False)
    by_column = {f.attributes: f for f in shuffled}
    return [_with_control(f, by_column[f.attributes]) for f in findings], why


def _try_secrets(attack: SecretAttack, case: Case) -> Outcome:
    claims = attack.run(case.view), _outsiders(attack, case).run(case.view)
    if skipped := next((c.skipped for c in claims if c.skipped), ""):
        return [], skipped
    known = np.flatnonzero(np.isin(case.people, attack.known_rows))
    scored = [
        score_values(
            attack, claim, case.attributes, case.secrets(outside=outside), seed=case.seed, known=known, leaves=False
        )
        for claim, outside in zip(claims, (False, True), strict=True)
    ]
    return [_with_control(f, g) for f, g in zip(*scored, strict=True)], ""


def _try_links(attack: LinkAttack, case: Case) -> Outcome:
    own = case.people[: attack.targets.size]
    counted = ~np.isin(own, attack.known_rows)
    links = attack.run(case.view)
    control = None
    if attack.controlled:
        shadow = _outsiders(attack, case)
        control = shadow.credit(shadow.run(case.view), own)[counted]
    finding = score_people(
        attack,
        attack.credit(links, own)[counted],
        tuple(attack.targets.known),
        baseline=attack.chance(case.view.rows),
        control=control,
        seed=case.seed,
        details=attack.details(links, own),
    )
    return [finding], ""


def _with_control(finding: Finding, control: Finding) -> Finding:
    return replace(finding, control=control.success, control_interval=control.interval)


def audit(
    release: Release | str | Path,
    original: Any,
    *,
    others: Sequence[Release | str | Path] = (),
    control: Any = None,
    known: Sequence[str] | None = None,
    targets: int = 500,
    key: SecretKey | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    seed: int = 0,
    encoding: str = "utf-8",
    progress: Progress | None = None,
    engine: Engine = Local(),
    sample: int = 20_000,
) -> Audit:
    """Attack a release with all that its manifest tells, and compare what the attacks claim with the original.

    Parameters
    ----------
    release : Release or path
        The release.
    original : table
        The same table that the release was made from, with its rows in the same order (shuffled ones need the key).
    others : sequence of releases
        Other releases of the same rows, which an attacker may hold too.
    control : table, optional
        People who are not in the release. Without it, the control is the release without the person's row.
    known : sequence of str, optional
        Columns that an attacker who links people knows; all by default.
    targets : int
        How many people are attacked, where an attack goes person by person.
    key : SecretKey or path, optional
        The owner's key: it puts rows that were shuffled in order again, and beside its file lies the ledger.
    ledger : Ledger or path, optional
        The ledger itself, where the key is not at hand. Releases of the same rows that it knows, and that are not among
        `others`, are drawn again from the original, so that averaging over them can be measured.
    seed : int
        Under the same seed the audit repeats itself.
    encoding : str
        The encoding of a CSV file.
    progress : callable, optional
        Called with the number of steps done and of all steps.
    engine : Engine
        Where the work is done. An engine that does not gather rows lets the attacks see a sample, the same rows of both tables,
        and ``utility["all_rows"]`` holds what counting alone can say of all of them.
    sample : int
        How many rows the attacks see then.

    Returns
    -------
    Audit
        Findings, promises, exposed rows and usefulness, as data (`to_dict`) and as a page (`html`).

    Examples
    --------
    >>> import sfumato as sf
    >>> folder = getfixture("tmp_path") / "release"
    >>> made = sf.release("iris", sf.Plan.propose("iris"), folder, key=folder.with_suffix(".key"))
    >>> result = sf.audit(made, "iris", targets=50)
    >>> result.rows
    150
    >>> sorted({finding.name for finding in result.findings})[:3]
    ['assignment', 'at-its-word', 'bayes']
    """
    start = time.perf_counter()
    book = _open_ledger(key, ledger)
    made = as_release(release, verify=engine.gathers)
    case = read_case(made, original, others, engine=engine, sample=sample, encoding=encoding, key=key)
    case = case.choose_people(control, known, targets=targets, seed=seed, encoding=encoding)
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
    return Audit(
        name=case.view.name,
        rows=case.view.rows,
        findings=tuple(findings),
        promises=tuple(judge_promises(case, findings, remedies_taken(made.manifest))),
        exposure=replace(exposure, worst=case.rows[exposure.worst]),
        utility=useful,
        privacy=_privacy(made, case.view),
        domains={a.name: a.interval.range if a.kind.numeric else float(len(a.categories)) for a in attributes},
        notes=notes,
        seed=seed,
        seconds=time.perf_counter() - start,
        again=made.manifest.again,
        repeats=None if again is None else again.to_dict(case.view, given, findings),
        whole=tuple((unchanged + 1).tolist()),
    )


def _open_ledger(key: SecretKey | str | Path | None, ledger: Ledger | str | Path | None) -> Ledger | None:
    """Return the ledger beside a key file, or the one that is given."""
    if key is not None and ledger is not None:
        raise UsageError("key= and ledger= name the same thing; give one of them")
    if isinstance(key, str | Path):
        ledger = Ledger.of_key(key)
    book = Ledger(Path(ledger)) if isinstance(ledger, str | Path) else ledger
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


def _privacy(made: Release, view: View) -> dict[str, Any]:
    """Return the figures of the laws alone, and what each column tells with its reconstructed distribution as prior.

    That is I(X;Z), 1 − 2^(−I) and Π = 2^h(X|Z) (Agrawal & Aggarwal 2001).
    """
    from sfumato.description import describe_manifest
    from sfumato.privacy import measure_information

    about = describe_manifest(made.manifest)
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

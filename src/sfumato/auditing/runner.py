"""audit(release, original): every promise attacked, every finding with its baseline, control, interval and seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks import Pairs, View
from sfumato.auditing import redaction as public
from sfumato.auditing.alarms import alarm, grouped, narrowers, repeated, shown_rows
from sfumato.auditing.exposure import Exposure, exposure, record_information
from sfumato.auditing.ledger_repeats import repeats
from sfumato.auditing.promises import (
    BROKEN,
    CLEAR,
    KEPT,
    NARROWED,
    NONE,
    OWN_LAW,
    UNMEASURED,
    Promise,
    promises,
    remedies_taken,
    shown,
)
from sfumato.auditing.sample import SomeRows, rows_of
from sfumato.auditing.score import Finding
from sfumato.auditing.trials import TRIALS, Case
from sfumato.auditing.truth import attributes_of, read_original, read_truth
from sfumato.auditing.utility import counted_distances, utility
from sfumato.counts import IntArray
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.guided import whole_records
from sfumato.releases import Ledger, Release, refuse_other_rows

Progress = Callable[[int, int | None], None]
AUDITED = 20_000
"""Rows that attacks see where an engine holds the table."""
TARGETS = 500
KNOWN_SHARE, FRIENDS = 0.02, 30
"""An intruder who knows records knows 2 % of the rows, or thirty where that is less than a fifth of them."""
EDITIONS = ("owner", "public")
LINKAGE = ("likelihood-linkage", "nearest-linkage", "assignment")
FOUND, NOTHING_HIDDEN = "people found", "nothing hidden"
"""Levels of alarms that are as grave as a broken promise and are none."""
ALARMING = 0.05
"""From this share of people found on, linkage is an alarm."""
CONTROLS = "give people who are not in the release, in a table of the same columns"
WHOLE = "Some records are released as they are in every modified column, and no other row is like theirs: whoever knows one finds it."
UNMOVED = "Leave these rows out (leaf-swap: small=suppress), merge rare labels, or perturb more of the columns."
LINKED = "Withhold columns that others may know, release fewer of them as they are, or add noise."


@dataclass(frozen=True, eq=False)
class Audit:
    """What was promised, what is left, who is exposed, and what the release is still good for."""

    name: str
    rows: int
    findings: tuple[Finding, ...]
    promises: tuple[Promise, ...]
    exposure: Exposure
    utility: Mapping[str, Any]
    privacy: Mapping[str, Any]
    domains: Mapping[str, float]
    """The range of each numeric attribute, the number of labels of the others."""
    notes: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    seconds: float = 0.0
    again: tuple[str, ...] = ()
    """Earlier releases of the same rows with independent noise, as the manifest names them."""
    repeats: Mapping[str, Any] | None = None
    """What the owner's ledger knows of other releases of the same rows; None where it was not asked."""
    whole: tuple[int, ...] = ()
    """Rows of the original, from 1 on, that a guided method left as they are, and that are like no other (`guided.whole`)."""

    @property
    def risk(self) -> float:
        """The greatest advantage of any attack on what was meant to be hidden; 1 where nothing was."""
        hidden = {p.attribute for p in self.promises if p.verdict != CLEAR}
        if not hidden:
            return 1.0
        return max((f.advantage for f in self.findings if hidden & set(f.attributes) and f.gains), default=0.0)

    @property
    def broken(self) -> list[Promise]:
        """Promises that an attack broke, the worst first."""
        return sorted((p for p in self.promises if p.verdict == BROKEN), key=lambda p: p.kept_share)

    @property
    def _linked(self) -> list[Finding]:
        """Attacks that find people; they break no promise, since no interval of a value speaks of rows."""
        return [f for f in self.findings if f.name in LINKAGE and f.gains and f.advantage >= ALARMING]

    def alarms(self, edition: str = "owner") -> list[dict[str, Any]]:
        """What must be read first, in words, with what to do; the public edition names no rows."""
        out = []
        clear = [p.attribute for p in self.promises if p.verdict == CLEAR]
        if len(clear) == len(self.promises):
            out.append(
                alarm(NOTHING_HIDDEN, "Every column is released as it is: the risk is 100 %.", "Release it with noise.")
            )
        out += grouped("broken", self.broken)
        if found := self._linked:
            rates = [f"{f.title}: {f.success:.1%} (by chance {shown(100 * f.baseline)} %)" for f in found]
            out.append(alarm(FOUND, "People can be found in the release by whoever knows them.", LINKED, rates))
        if self.whole:
            out.append(alarm(FOUND, WHOLE, UNMOVED, [] if edition == "public" else [shown_rows(self.whole)]))
        out += grouped("narrowed", [p for p in self.promises if p.verdict == NARROWED])
        if self.repeats is not None and self.repeats["columns"]:
            out.append(repeated(self.repeats))
        elif self.again:
            words = f"The same rows were released before with independent noise: {', '.join(self.again)}."
            remedy = (
                "Whoever holds both can average; audit them together with --also, or with --key as the ledger has them."
            )
            out.append(alarm("narrowed", words, remedy))
        if unmeasured := [p for p in self.promises if p.verdict == UNMEASURED]:
            items = [f"{p.attribute}: {p.unmeasured}" for p in unmeasured]
            out.append(alarm(UNMEASURED, "Not measured, so nothing is known of it.", "Do not count it as kept.", items))
        if clear and len(clear) < len(self.promises):
            out.append(alarm("clear", f"Released as it is: {', '.join(clear)}.", "As asked for; nothing hides it."))
        return out

    def to_dict(self, edition: str = "owner") -> dict[str, Any]:
        """The content of the report as plain data; the public edition says nothing about single people."""
        is_public = _edition(edition) == "public"
        seen = self._coarse() if is_public else self
        kept = [p.verdict for p in seen.promises]
        about = {
            "release": self.name,
            "edition": edition,
            "rows": self.rows,
            "risk": seen.risk,
            "verdict": seen.verdict,
            "alarms": seen.alarms(edition),
            "promised": {p.attribute: p.to_dict() for p in seen.promises},
            "domains": dict(self.domains),
            "promises": {v: kept.count(v) for v in (KEPT, NARROWED, BROKEN, NONE, CLEAR, UNMEASURED)},
            "attacks": [f.to_dict() for f in seen.findings],
            "not_run": dict(self.notes),
            "records": self.exposure.to_dict(public=is_public),
            "utility": dict(seen.utility),
            "privacy": dict(self.privacy),
            "repeats": seen.repeats if seen.repeats is None or not is_public else _unnamed(seen.repeats),
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
        }
        return _three_digits(about) if is_public else about

    def _coarse(self) -> Audit:
        """The same audit in figures that no count can be read from."""
        known = {f.attributes[0]: f.trials for f in self.findings if len(f.attributes) == 1 and f.name in OWN_LAW}
        repeats_ = self.repeats
        if repeats_ is not None:
            repeats_ = dict(repeats_) | {
                "columns": {n: public.coarse_repeat(c, self.rows) for n, c in repeats_["columns"].items()}
            }
        return replace(
            self,
            findings=tuple(public.coarse_finding(f) for f in self.findings),
            promises=tuple(public.coarse_promise(p, known.get(p.attribute, self.rows)) for p in self.promises),
            utility=public.coarse_utility(self.utility, self.rows, known, self.domains),
            repeats=repeats_,
        )

    @property
    def verdict(self) -> str:
        """One sentence."""
        hidden = [p for p in self.promises if p.verdict not in (CLEAR, UNMEASURED)]
        if not hidden:
            if any(p.verdict == UNMEASURED for p in self.promises):
                return "No promise could be measured."
            return "Nothing is hidden: the risk is 100 %."
        if all(p.promised is None for p in hidden):
            undone = f"; {len(self.broken)} of {len(hidden)} columns are undone by an attack" if self.broken else ""
            found = " Some records are released whole." if self.whole else ""
            return f"{hidden[0].mechanism} promises no interval{undone}. The worst attack gives {self.risk:.0%} away.{found}"
        if self.broken:
            return f"{len(self.broken)} of {len(hidden)} promises are broken by an attack."
        if narrowed := [p for p in hidden if p.verdict == NARROWED]:
            return f"No promise is broken; {narrowers(narrowed, len(hidden))}."
        kept = f"All {len(hidden)} promises are kept against every attack tried"
        return f"{kept}; but people can be found in the release." if self._linked else f"{kept}."

    def html(self, edition: str = "owner") -> str:
        """The report as one self-contained page."""
        from sfumato.report import audit_page

        return audit_page(self.to_dict(edition))


def _unnamed(about: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in about.items() if k not in ("names", "given_as_folders")}


def _edition(edition: str) -> str:
    if edition not in EDITIONS:
        raise UsageError(f"there is no edition {edition!r}; choose owner or public")
    return edition


def _three_digits(value: Any) -> Any:
    """Three significant digits, which is all that the laws' own figures need, too."""
    if isinstance(value, dict):
        return {k: _three_digits(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_three_digits(v) for v in value]
    if isinstance(value, float) and np.isfinite(value):
        return float(f"{value:.3g}")
    return value


def audit(
    release: Release | str | Path,
    original: Any,
    *,
    others: Sequence[Release | str | Path] = (),
    control: Any = None,
    known: Sequence[str] | None = None,
    targets: int = TARGETS,
    ledger: Ledger | str | Path | None = None,
    seed: int = 0,
    encoding: str = "utf-8",
    progress: Progress | None = None,
    engine: Engine | None = None,
    sample: int = AUDITED,
) -> Audit:
    """Attack a release with all that an intruder may know of its making, and lay the results beside the original.

    Parameters
    ----------
    original
        The very table that the release was made from, rows in the same order.
    others
        Other releases of the same rows, which an intruder may lay beside this one.
    control
        A table of people who are not in the release; without one, the control is the release without the person's row.
    known
        Columns that an intruder who links records knows; all by default.
    targets
        How many people are attacked where an attack goes person by person.
    ledger
        The owner's ledger (the file beside the key). Releases of the same rows that it knows, and that are not among
        `others`, are drawn again from the original, so that averaging over them can be measured.
    engine, sample
        With an engine neither table is held: attacks see the same `sample` of rows of both (all where there are no more),
        and ``utility["all_rows"]`` holds what counting alone can say of all of them.
    """
    start = time.perf_counter()
    made = release if isinstance(release, Release) else Release.open(release)
    if engine is None:
        truth, rows = read_original(made, original, encoding)
        opened = [o if isinstance(o, Release) else Release.open(o) for o in others]
        beside = tuple(_beside(o, rows, original, encoding) for o in opened)
        some = SomeRows(truth, View.of(made), beside, rows)
    else:
        some = rows_of(made, original, others, engine, sample, encoding)
        rows = some.rows
    case = _case(made, some, control, known, targets, seed, encoding)
    book = Ledger(Path(ledger)) if isinstance(ledger, str | Path) else ledger
    found_again = repeats(book, made.manifest) if book is not None else None
    given = [s.name for s in case.others]
    if found_again is not None:
        case = replace(case, stand_ins=found_again.stand_ins(case.view, case.truth, given, seed))
    steps = len(TRIALS) + 3
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, steps)

    findings: list[Finding] = []
    notes: dict[str, str] = {}
    for trial in TRIALS:
        found, reasons = trial(case)
        findings += found
        notes |= reasons
        tick()
    kept = tuple(promises(case.view, case.truth, findings, remedies_taken(made.manifest)))
    worst = exposure(case.view, case.truth)
    worst = replace(worst, worst=rows[worst.worst])
    whole = rows[whole_records(case.truth, {c.name: c.values for c in case.view.columns}, case.view.guided)]
    tick()
    good = dict(utility(case.view, case.truth, seed))
    if engine is not None:
        good["all_rows"] = counted_distances(made, original, engine, encoding)
        if len(rows) < made.manifest.data.rows:
            notes["rows"] = (
                f"attacks saw {len(rows):,} of {made.manifest.data.rows:,} rows, chosen by a hash of their numbers"
            )
    tick()
    measures = _privacy(made, case.view)
    tick()
    seconds = time.perf_counter() - start
    return Audit(
        case.view.name,
        case.view.rows,
        tuple(findings),
        kept,
        worst,
        good,
        measures,
        _sizes(case.view),
        notes,
        seed,
        seconds,
        made.manifest.again,
        None if found_again is None else found_again.to_dict(case.view, given, findings),
        tuple((whole + 1).tolist()),
    )


def _beside(other: Release, rows: IntArray, original: Any, encoding: str) -> View:
    """Another release, with those of its rows that are given by their numbers in the original."""
    view = View.of(other)
    if view.rows == len(rows):
        return view
    own = read_original(other, original, encoding)[1]
    if not np.isin(rows, own).all():
        raise DataError(
            f"{other.folder} leaves rows out that the release has; audit that one instead, with this one beside it"
        )
    return view.take(np.searchsorted(own, rows))


def _case(
    made: Release,
    some: SomeRows,
    control: Any,
    known: Sequence[str] | None,
    targets: int,
    seed: int,
    encoding: str,
) -> Case:
    if targets < 1:
        raise UsageError(f"targets = {targets}: an audit needs at least one person to attack")
    truth, view = some.truth, some.view
    if not view.columns:
        raise UsageError(f"{made.folder} releases no column beside the identifier; there is nothing to audit")
    refuse_other_rows(view.columns, truth, view.guided)
    for name in known or ():
        view[name]
    rng = np.random.default_rng(seed)
    order = rng.permutation(view.rows)
    people = np.sort(order[: min(targets, view.rows)])
    numeric = [c.name for c in view.numeric]
    few = max(2 * len(numeric) + 2, int(KNOWN_SHARE * view.rows), min(FRIENDS, view.rows // 5))
    friends = np.sort(order[::-1][:few])
    pairs = Pairs(friends, {n: truth[n][friends] for n in view.names})
    view = replace(view, friends=pairs)
    outside = read_truth(made.manifest, control, encoding, CONTROLS) if control is not None else None
    if outside is not None and len(next(iter(outside.values()))) < len(people):
        people = people[: len(next(iter(outside.values())))]
    return Case(
        view, truth, attributes_of(made.manifest), some.others, people, tuple(known or view.names), outside, pairs, seed,
    )  # fmt: skip


def _sizes(view: View) -> dict[str, float]:
    attributes = [c.attribute for c in view.columns]
    return {a.name: a.interval.range if a.kind.numeric else float(len(a.categories)) for a in attributes}


def _privacy(made: Release, view: View) -> dict[str, Any]:
    """The figures of the laws alone, and what each column tells with its reconstructed distribution as prior."""
    from sfumato.releases import described

    about = described(made.manifest)
    told = dict(_informations(view))
    return {
        "attributes": {n: v["privacy"] for n, v in about["attributes"].items()},
        "record": about["record"] | record_information(view, {n: v["bits"] for n, v in told.items()}),
        "information": told,
    }


def _informations(view: View) -> Iterator[tuple[str, dict[str, float]]]:
    """I(X;Z), 1 − 2^(−I) and Π = 2^h(X|Z) (Agrawal & Aggarwal 2001) with the reconstructed distribution as prior."""
    from sfumato.privacy import entropy_privacy, mutual_information, privacy_loss

    for column in view.columns:
        if column.channel is not None:
            belief = view.beliefs[column.name]
            yield (
                column.name,
                {
                    "bits": mutual_information(belief.prior, belief.kernel),
                    "privacy_loss": privacy_loss(belief.prior, belief.kernel),
                    "entropy_privacy": entropy_privacy(belief.prior, belief.kernel, belief.widths),
                },
            )

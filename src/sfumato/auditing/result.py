"""The result of an audit: what was promised, what is left, and what to do, as data, in words and as a page.

Its public edition holds figures of the whole, so coarse that no count of people can be read off. A share of n rows is a count over
n: 98.7 % of 300 can only be 296 of them. Rounded to a unit of at least 10/n it may be any of some ten counts. What follows from
other figures (an advantage, a share left, a sentence) is worked out from the rounded ones, or it would give them away again;
verdicts stay those of the figures themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.attacks import PEOPLE, Scope
from sfumato.auditing.exposure import Exposure
from sfumato.auditing.promises import BROKEN, CLEAR, KEPT, NARROWED, NONE, UNMEASURED, Promise, shorten
from sfumato.auditing.score import BOTH, LABELS, NUMBERS, Finding
from sfumato.errors import UsageError
from sfumato.findings import Note, explain
from sfumato.text import join_names


def describe_narrowed(narrowed: Sequence[Promise], of: int) -> str:
    """Say how many are narrowed, and by what: the column's own distribution, or what lies outside the column."""
    causes = [
        (sum(p.scope is Scope.COLUMN for p in narrowed), "by the distribution of their column"),
        (sum(p.scope is Scope.COLUMNS for p in narrowed), "through other columns"),
    ]
    causes.append((len(narrowed) - sum(n for n, _ in causes), "by other attacks"))
    given = [(n, words) for n, words in causes if n]
    if len(given) == 1:
        return f"{len(narrowed)} of {of} are narrowed {given[0][1]}"
    return f"{len(narrowed)} of {of} are narrowed, " + ", ".join(f"{n} {words}" for n, words in given)


def make_alarm(level: str, words: str, remedy: Note, items: Sequence[str] = ()) -> dict[str, Any]:
    """Return one alarm as plain data; its code is that of the remedy."""
    return {"level": level, "words": words, "items": list(items), "remedy": remedy}


def name_rows(rows: Sequence[int]) -> str:
    """Name rows of the original by their numbers, cut short where there are many."""
    if len(rows) == 1:
        return f"row {rows[0]} of the original"
    return f"{len(rows):,} rows of the original: {join_names([str(r) for r in rows], 12)}"


def group_alarms(level: str, kept: Sequence[Promise]) -> list[dict[str, Any]]:
    """Return one alarm for all promises that the same remedy would fix, the worst first."""
    out = []
    for remedy in dict.fromkeys(p.remedy for p in kept):
        group = sorted((p for p in kept if p.remedy == remedy), key=lambda p: p.kept_share)
        by = " and ".join(f"“{title}”" for title in dict.fromkeys(p.title for p in group))
        items = [
            f"{p.attribute}: {shorten(p.left)} of {shorten(p.reference if p.promised is None else p.promised)} left"
            for p in group
        ]
        many = f"{len(group)} promised intervals are" if len(group) > 1 else "One promised interval is"
        out.append(make_alarm(level, f"{many} {level} by {by}.", remedy, items))
    return out


def make_repeats_alarm(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the alarm about several releases of the same rows with fresh noise, with what is left of each interval."""
    items = []
    for name, column in about["columns"].items():
        wide, expected = column["interval_width_95"], column["expected_after_averaging"]
        left = column["measured_after_averaging"]
        noise = f", noise of width {shorten(wide)} averages to {shorten(expected)}" if expected is not None else ""
        measured = f", {shorten(left)} left" if left is not None else ""
        items.append(f"{name}: {column['independent_draws']} draws{noise}{measured}")
    words = f"The ledger knows {about['releases_known_to_the_ledger']} releases of these rows with noise of their own."
    remedy = Note("SF406", "Somebody who holds them all can average. Release no more, and withdraw what you can.")
    return make_alarm("narrowed", words, remedy, items)


MIN_PEOPLE = 10
"""A figure may change by this many people before it is printed otherwise."""
WIDTHS = ("rmse", "rmse_interval", "rmse_without_release", "hidden_among_median", "measured_after_averaging")
"""Figures in a column's own unit, or numbers of people: rounded by their size."""
DISTANCES = ("wasserstein", "wasserstein_released")
"""Differences of two distributions in the column's own unit: rounded by its range."""
EDITIONS = ("owner", "public")
FOUND, NOTHING_HIDDEN = "people found", "nothing hidden"
"""Levels of alarms that are as grave as a broken promise and are none."""
WHOLE = "Some rows are released as they are in every modified column, and no other row is like theirs: those who know one find it."
UNMOVED = Note(
    "SF405", "Leave these rows out (leaf-swap: small=suppress), merge rare labels, or perturb more of the columns."
)
LINKED = Note("SF404", "Withhold columns that others may know, release fewer of them as they are, or add noise.")


@dataclass(frozen=True, eq=False)
class Audit:
    """What was promised, what is left, who is exposed, and what the release is still good for.

    Examples
    --------
    >>> import sfumato as sf
    >>> folder = getfixture("tmp_path") / "release"
    >>> made = sf.release("iris", sf.Plan.propose("iris"), folder, key=folder.with_suffix(".key"))
    >>> result = sf.audit("iris", made, targets=50)
    >>> result.to_dict()["granted"]["known-input"]
    ['known rows']
    """

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
    """Rows of the original, from 1 on, that a guided method left as they are, and that are like no other."""
    min_people_found: float = 0.05  # share of people found, beyond chance, from which linkage is an alarm

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
        return [f for f in self.findings if f.unit == PEOPLE and f.gains and f.advantage >= self.min_people_found]

    def alarms(self, edition: str = "owner") -> list[dict[str, Any]]:
        """Return what must be read first, in words, with what to do; the public edition names no rows."""
        out = []
        clear = [p.attribute for p in self.promises if p.verdict == CLEAR]
        if len(clear) == len(self.promises):
            words = "Every column is released as it is: the risk is 100 %."
            out.append(make_alarm(NOTHING_HIDDEN, words, Note("SF401", "Release it with noise.")))
        out += group_alarms("broken", self.broken)
        if linked := self._linked:
            rates = [f"{f.title}: {f.success:.1%} (by chance {shorten(100 * f.baseline)} %)" for f in linked]
            out.append(make_alarm(FOUND, "People can be found in the release by those who know them.", LINKED, rates))
        if self.whole:
            out.append(make_alarm(FOUND, WHOLE, UNMOVED, [] if edition == "public" else [name_rows(self.whole)]))
        out += group_alarms("narrowed", [p for p in self.promises if p.verdict == NARROWED])
        if self.repeats is not None and self.repeats["columns"]:
            out.append(make_repeats_alarm(self.repeats))
        elif self.again:
            words = f"The same rows were released before with independent noise: {', '.join(self.again)}."
            remedy = Note(
                "SF407",
                "Somebody who holds both can average; audit them together as `others`, or give the `ledger` that knows them.",
            )
            out.append(make_alarm("narrowed", words, remedy))
        if unmeasured := [p for p in self.promises if p.verdict == UNMEASURED]:
            items = [f"{p.attribute}: {p.unmeasured}" for p in unmeasured]
            words = "Not measured, so nothing is known of it."
            out.append(make_alarm(UNMEASURED, words, Note("SF403", "Do not count it as kept."), items))
        if clear and len(clear) < len(self.promises):
            words = f"Released as it is: {', '.join(clear)}."
            out.append(make_alarm("clear", words, Note("SF402", "As asked for; nothing hides it.")))
        return out

    def to_dict(self, edition: str = "owner") -> dict[str, Any]:
        """Return the content of the report as plain data; the public edition says nothing about single people."""
        if edition not in EDITIONS:
            raise UsageError(f"there is no edition {edition!r}; choose owner or public")
        is_public = edition == "public"
        seen = self._coarse() if is_public else self
        kept = [p.verdict for p in seen.promises]
        about = {
            "release": self.name,
            "edition": edition,
            "rows": self.rows,
            "risk": seen.risk,
            "verdict": seen.verdict,
            "alarms": (alarms := seen.alarms(edition)),
            "findings": [{"code": a["remedy"].code, "title": explain(a["remedy"].code).title} | a for a in alarms],
            "promised": {p.attribute: p.to_dict() for p in seen.promises},
            "domains": dict(self.domains),
            "promises": {v: kept.count(v) for v in (KEPT, NARROWED, BROKEN, NONE, CLEAR, UNMEASURED)},
            "attacks": [f.to_dict() for f in seen.findings],
            "granted": {f.name: sorted(map(str, f.attack.knowledge)) for f in seen.findings},
            "not_run": dict(self.notes),
            "records": coarsen_exposure(self.exposure) if is_public else self.exposure.to_dict(),
            "utility": dict(seen.utility),
            "privacy": dict(self.privacy),
            "repeats": seen.repeats,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
        }
        return _three_digits(about) if is_public else about

    def _coarse(self) -> Audit:
        """Return the same audit in figures that no count can be read from."""
        alone = [f for f in self.findings if len(f.attributes) == 1 and f.attack.scope is Scope.COLUMN]
        known = {f.attributes[0]: f.trials for f in alone}
        repeats = self.repeats
        if repeats is not None:
            columns = {n: coarsen_repeat(c, self.rows) for n, c in repeats["columns"].items()}
            public = {k: v for k, v in repeats.items() if k not in ("names", "given_as_folders")}
            repeats = public | {"columns": columns}
        return replace(
            self,
            findings=tuple(coarsen_finding(f) for f in self.findings),
            promises=tuple(coarsen_promise(p, known.get(p.attribute, self.rows)) for p in self.promises),
            utility=coarsen_utility(self.utility, self.rows, known, self.domains),
            repeats=repeats,
        )

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        hidden = [p for p in self.promises if p.verdict not in (CLEAR, UNMEASURED)]
        if not hidden:
            if any(p.verdict == UNMEASURED for p in self.promises):
                return "No promise could be measured."
            return "Nothing is hidden: the risk is 100 %."
        if all(p.promised is None for p in hidden):
            undone = f"; {len(self.broken)} of {len(hidden)} columns are undone by an attack" if self.broken else ""
            whole = " Some rows are released whole." if self.whole else ""
            return f"{hidden[0].mechanism} promises no interval{undone}. The worst attack gives {self.risk:.0%} away.{whole}"
        if self.broken:
            return f"{len(self.broken)} of {len(hidden)} promises are broken by an attack."
        if narrowed := [p for p in hidden if p.verdict == NARROWED]:
            return f"No promise is broken; {describe_narrowed(narrowed, len(hidden))}."
        kept = f"All {len(hidden)} promises are kept against every attack tried"
        return f"{kept}; but people can be found in the release." if self._linked else f"{kept}."

    def html(self, edition: str = "owner") -> str:
        """Return the report as one self-contained page."""
        from sfumato.report import audit_page

        return audit_page(self.to_dict(edition))


def least_unit(size: float) -> float:
    """Return the least of 1, 2, 5 × 10ᵏ that is no less than `size`."""
    decade = 10.0 ** math.floor(math.log10(size))
    return next(float(f"{u * decade:.6g}") for u in (1, 2, 5, 10) if u * decade >= size * (1 - 1e-9))


def share_unit(rows: float) -> float:
    """Return the unit of a share of `rows` rows."""
    return min(1.0, least_unit(MIN_PEOPLE / max(rows, 1)))


def round_to_unit(value: float, step: float) -> float:
    """Return the nearest multiple of `step`."""
    return float(f"{round(value / step) * step:.12g}") if math.isfinite(value) else value


def round_by_size(value: float, rows: float) -> float:
    """Round a figure that is not a share to 10/n of its own size."""
    if value == 0 or not math.isfinite(value):
        return value
    return round_to_unit(value, least_unit(min(1.0, MIN_PEOPLE / max(rows, 1)) * abs(value)))


def coarsen(value: Any, rows: float, span: float = 1.0, key: str = "") -> Any:
    """Return plain data with every number that is not whole rounded for `rows` rows."""
    if isinstance(value, Mapping):
        return {k: coarsen(v, rows, span, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [coarsen(v, rows, span, key) for v in value]
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if key in WIDTHS:
        return round_by_size(value, rows)
    return round_to_unit(value, share_unit(rows) * (span if key in DISTANCES else 1.0))


def coarsen_finding(finding: Finding) -> Finding:
    """Return the finding with its success, baseline, control and widths rounded by its trials."""
    n = finding.trials
    step = share_unit(n)
    # By chance alone a person is found with 1/n, which says nothing about the truth.
    guessed = finding.unit in (BOTH, NUMBERS, LABELS)
    ends = tuple(
        None if i is None else (round_to_unit(i[0], step), round_to_unit(i[1], step))
        for i in (finding.interval, finding.control_interval)
    )
    return replace(
        finding,
        success=round_to_unit(finding.success, step),
        baseline=round_to_unit(finding.baseline, step) if guessed else finding.baseline,
        interval=ends[0] or (0.0, 1.0),
        control=None if finding.control is None else round_to_unit(finding.control, step),
        control_interval=ends[1],
        left={name: _widths(left, n) for name, left in finding.left.items()},
        details=coarsen(finding.details, n),
        judged=finding.gains,
    )


def _widths(left: tuple[float, float, float], rows: float) -> tuple[float, float, float]:
    return round_by_size(left[0], rows), round_by_size(left[1], rows), round_by_size(left[2], rows)


def coarsen_promise(promise: Promise, rows: float) -> Promise:
    """Return the promise with what is left, and what there was to hide, rounded; the law's own figures stay."""
    _, low, high = _widths((promise.left, *promise.left_interval), rows)
    return replace(
        promise,
        without_release=round_by_size(promise.without_release, rows),
        left=round_by_size(promise.left, rows),
        left_interval=(low, high),
        own_law=round_by_size(promise.own_law, rows),
        narrowest=None if promise.narrowest is None else round_by_size(promise.narrowest, rows),
        typical=None if promise.typical is None else round_by_size(promise.typical, rows),
        judged=promise.verdict,
    )


def coarsen_exposure(exposure: Exposure) -> dict[str, Any]:
    """Return what is said of all rows together, and of no person."""
    return exposure.of_all() | {"share_over": round_to_unit(exposure.over, share_unit(len(exposure.bits)))}


def coarsen_repeat(about: Mapping[str, Any], rows: float) -> dict[str, Any]:
    """Round what averaging over other releases left of a column; what it should leave follows from the laws."""
    return {k: coarsen(v, rows, key=k) if k in WIDTHS else v for k, v in about.items()}


def coarsen_utility(
    about: Mapping[str, Any], rows: float, known: Mapping[str, int], spans: Mapping[str, float]
) -> dict[str, Any]:
    """Round every part by the rows that it was measured on; a column by those that have a value."""
    out = coarsen({k: v for k, v in about.items() if k not in ("distributions", "trees", "clusters", "all_rows")}, rows)
    for part in ("distributions", "all_rows"):
        if part in about:
            columns = (about[part] or {}).items()
            out[part] = {n: coarsen(v, v.get("rows", known.get(n, rows)), spans.get(n, 1.0)) for n, v in columns}
    for part, size in (("trees", "test_rows"), ("clusters", "rows")):
        if part in about:
            out[part] = coarsen(about[part], (about[part] or {}).get(size, rows))
    if (about.get("trees") or {}).get("scores"):
        out["trees"]["scores"] = {name: coarsen_scores(s) for name, s in about["trees"]["scores"].items()}
    return {k: out[k] for k in about}


def _three_digits(value: Any) -> Any:
    """Return the data with three significant digits, which is all that the laws' own figures need too."""
    if isinstance(value, dict):
        return {k: _three_digits(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_three_digits(v) for v in value]
    if isinstance(value, float) and np.isfinite(value):
        return float(f"{value:.3g}")
    return value


def coarsen_scores(about: Mapping[str, Any]) -> dict[str, Any]:
    """Round the accuracy of a tree by its rows, and its other scores by those of the rarest class, which moves them most.

    Counts, bins and intervals are left out. So is a score that would be rounded to halves or coarser.
    """
    rows = [n for n in map(sum, about["confusion"]) if n]

    def round_all(scores: Mapping[str, Any]) -> dict[str, float | None]:
        return {k: _round_score(v, share_unit(sum(rows) if k == "accuracy" else min(rows))) for k, v in scores.items()}

    names = about["without_model"]
    chance = {k: v for k, v in names.items() if k in ("balanced_accuracy", "auc")}  # 1/k and ½, whatever the rows are
    return round_all({k: about[k] for k in names}) | {"without_model": round_all(names) | chance}


def _round_score(value: float | None, step: float) -> float | None:
    return None if value is None or step >= 0.5 else round_to_unit(value, step)

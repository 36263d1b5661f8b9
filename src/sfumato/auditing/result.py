"""The result of an audit: the verdict, what was promised, what is left, and what to do, as data, in words and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.attacks import PEOPLE, Scope
from sfumato.auditing.decision import LIMITS, Condition, Decision, Limits, Reason, Verdict, decide
from sfumato.auditing.exposure import Exposure
from sfumato.auditing.people import PeopleFound
from sfumato.auditing.promises import (
    BROKEN,
    CLEAR,
    INFERRED,
    KEPT,
    NARROWED,
    NONE,
    UNMEASURED,
    Promise,
    shorten,
)
from sfumato.auditing.public_edition import (
    coarsen_exposure,
    coarsen_finding,
    coarsen_people,
    coarsen_promise,
    coarsen_repeat,
    coarsen_utility,
    round_to_three_digits,
)
from sfumato.auditing.score import Finding
from sfumato.errors import UsageError
from sfumato.findings import Note, explain
from sfumato.report import file_release
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


def make_given_away_alarm(columns: Sequence[Promise]) -> dict[str, Any]:
    """Return the alarm about hidden columns that are guessed right, the worst first."""
    items = [f"{p.attribute}:{p.guess_in_words}" for p in sorted(columns, key=lambda p: -p.gain)]
    words = "More than half of what was unknown of some hidden columns is given away to anybody who knows the row."
    return make_alarm(
        GIVEN_AWAY, words, Note("SF282", "Ask for more privacy for these columns, or withhold them."), items
    )


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


EDITIONS = ("owner", "public")
FOUND, NOTHING_HIDDEN, GIVEN_AWAY = "people found", "nothing hidden", "given away"
"""Levels of alarms that are as grave as a broken promise and are none."""
WHOLE = "Some rows are released as they are in every modified column, and no other row is like theirs: those who know one find it."
UNMOVED = Note(
    "SF405", "Leave these rows out (leaf-swap: small=suppress), merge rare labels, or perturb more of the columns."
)
SAMPLE = (
    "In the whole release few people are found, but somebody who is told which rows are theirs can match more of them."
)
MATCHED = Note(
    "SF404", "Keep it from others which people a part of the rows belongs to, such as the sample of a survey."
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
    people: PeopleFound
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
    limits: Limits = LIMITS
    conditions: tuple[Condition, ...] = ()
    """What a pipeline must not let pass."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """What the release says about itself, when it was audited and with which version, for the record that is filed."""
    decided: Decision | None = None
    """The decision, where the figures here are rounded and can no longer tell."""

    @property
    def headline(self) -> Verdict:
        """Whether to publish the release, with the worst fact and what to do about it."""
        cautions = tuple(self._cautions())
        leading = self.exposure.leading
        made = decide(self.people, self.promises, limits=self.limits, leading=leading, cautions=cautions)
        return replace(made, decided=self.decided)

    def _cautions(self) -> Iterator[Reason]:
        if self.whole:
            yield Reason(Decision.DO_NOT_PUBLISH, WHOLE, UNMOVED)
        for alarm in self._repeats_alarms():
            yield Reason(Decision.WITH_CARE, alarm["words"], alarm["remedy"])

    def _repeats_alarms(self) -> Iterator[dict[str, Any]]:
        if self.repeats is not None and self.repeats["columns"]:
            yield make_repeats_alarm(self.repeats)
        elif self.again:
            words = f"The same rows were released before with independent noise: {', '.join(self.again)}."
            remedy = Note(
                "SF407",
                "Somebody who holds both can average; audit them together as `others`, or give the `ledger` that knows them.",
            )
            yield make_alarm("narrowed", words, remedy)

    @property
    def failures(self) -> list[str]:
        """A sentence for each condition that the release fails."""
        decision = self.headline.decision
        verdict = f"the verdict is “{decision.in_words}”"
        figures = {
            "found": (
                100 * self.people.beyond_chance,
                "{value} % of people are found beyond chance; at most {limit} % may be",
            ),
            "risk": (self.headline.risk, "the risk is {value}; at most {limit} may be"),
            "broken": (float(len(self.broken)), "{value} promises are broken; none may be"),
            "care": (float(decision.severity), f"{verdict}; it must be “{Decision.FIT.in_words}”"),
            "do-not-publish": (float(decision.severity), verdict),
        }
        return [words for c in self.conditions if (words := c.failure(figures))]

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
        """Attacks that find people in the release; they break no promise, since no interval of a value speaks of rows."""
        return [f for f in self._matched if f.baseline <= self.people.chance]

    @property
    def _matched(self) -> list[Finding]:
        """The same, with those that are told which rows to look at."""
        return [f for f in self.findings if f.unit == PEOPLE and f.gains and f.advantage >= self.limits.people_found]

    def alarms(self, edition: str = "owner") -> list[dict[str, Any]]:
        """Return what must be read first, in words, with what to do; the public edition names no rows."""
        out = []
        clear = [p.attribute for p in self.promises if p.verdict == CLEAR]
        if len(clear) == len(self.promises):
            words = "Every column is released as it is: the risk is 100 %."
            out.append(make_alarm(NOTHING_HIDDEN, words, Note("SF401", "Release it with noise.")))
        out += group_alarms("broken", self.broken)
        hidden = [p for p in self.promises if p.verdict != CLEAR]
        if given := [p for p in hidden if p.gain >= self.limits.half_given_away]:
            out.append(make_given_away_alarm(given))
        if self._linked:
            rates = [f"{f.title}: {f.success:.1%} (by chance {shorten(100 * f.baseline)} %)" for f in self._matched]
            out.append(make_alarm(FOUND, "People can be found in the release by those who know them.", LINKED, rates))
        elif matched := self._matched:
            rates = [f"{f.title}: {f.success:.1%} (by chance {shorten(100 * f.baseline)} %)" for f in matched]
            out.append(make_alarm("narrowed", SAMPLE, MATCHED, rates))
        if self.whole:
            out.append(make_alarm(FOUND, WHOLE, UNMOVED, [] if edition == "public" else [name_rows(self.whole)]))
        out += group_alarms("narrowed", [p for p in self.promises if p.verdict == NARROWED])
        out += group_alarms("inferred", [p for p in self.promises if p.verdict == INFERRED])
        out += self._repeats_alarms()
        if unmeasured := [p for p in self.promises if p.verdict == UNMEASURED]:
            items = [f"{p.attribute}: {p.unmeasured}" for p in unmeasured]
            words = "Not measured, so nothing is known of it."
            out.append(make_alarm(UNMEASURED, words, Note("SF403", "Do not count it as kept."), items))
        if clear and len(clear) < len(self.promises):
            words = f"Released as it is: {', '.join(clear)}."
            out.append(make_alarm("clear", words, Note("SF402", "As asked for; nothing hides it.")))
        return out

    def summary(self) -> dict[str, Any]:
        """Return the verdict and its figures in short, for a pipeline."""
        about = self.to_dict()
        kept = ("release", "rows", "decision", "headline", "people_found", "promises", "seed")
        findings = [{"code": f["code"], "level": f["level"], "words": f["words"]} for f in about["findings"]]
        return {k: about[k] for k in kept} | {"findings": findings}

    def to_dict(self, edition: str = "owner") -> dict[str, Any]:
        """Return the content of the report as plain data; the public edition has no exact counts and no single rows."""
        if edition not in EDITIONS:
            raise UsageError(f"there is no edition {edition!r}; choose owner or public")
        is_public = edition == "public"
        seen = self._coarse() if is_public else self
        kept = [p.verdict for p in seen.promises]
        about = {
            "release": self.name,
            "edition": edition,
            "rows": self.rows,
            "decision": str(seen.headline.decision),
            "headline": seen.headline.to_dict(),
            "people_found": seen.people.to_dict(),
            "risk": seen.risk,
            "verdict": seen.verdict,
            "alarms": (alarms := seen.alarms(edition)),
            "findings": [{"code": a["remedy"].code, "title": explain(a["remedy"].code).title} | a for a in alarms],
            "promised": {p.attribute: p.to_dict() for p in seen.promises},
            "domains": dict(self.domains),
            "promises": {v: kept.count(v) for v in (KEPT, NARROWED, INFERRED, BROKEN, NONE, CLEAR, UNMEASURED)},
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
        about = round_to_three_digits(about) if is_public else about
        return about | {"filing": file_release(about, self.described) if self.described else []}

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
            people=coarsen_people(self.people),
            decided=self.headline.decision,
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
        if short := [
            describe_narrowed(n, len(hidden))
            for v in (NARROWED, INFERRED)
            if (n := [p for p in hidden if p.verdict == v])
        ]:
            return f"No promise is broken; {'; '.join(short)}."
        kept = f"All {len(hidden)} promises are kept against every attack tried"
        return f"{kept}; but people can be found in the release." if self._linked else f"{kept}."

    def html(self, edition: str = "owner") -> str:
        """Return the report as one self-contained page."""
        from sfumato.report import audit_page

        return audit_page(self.to_dict(edition))

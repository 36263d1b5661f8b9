"""For each attribute: the interval that the law promises, and the interval that the strongest attack leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks import ATTACKS, DISTRIBUTION, NO_REMEDY, Remedy, Scope, cell_widths, smallest_sets
from sfumato.auditing.case import Case, distribution
from sfumato.auditing.rates import central_width
from sfumato.auditing.score import Finding
from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.privacy import exactly_true, hides_little
from sfumato.releases import Manifest
from sfumato.table import Column
from sfumato.text import format_number

KEPT, NARROWED, BROKEN, CLEAR, NONE = "kept", "narrowed", "broken", "in the clear", "no promise"
UNMEASURED = "not measured"
NOTHING_KNOWN = "no row has both a true and a released value, so no attack could be scored"
NO_INTERVAL = "no attack that was run leaves an interval or a set of labels for it"

COARSE_GRID = Note(
    "SF423",
    "The steps of the column's grid are wide against the noise, which is rounded away in most cells. Ask for more privacy, or "
    "declare the column categorical and use substitution.",
)
NEARLY_TRUE = Note(
    "SF424", "The released values are nearly the true ones. Use a method that changes this column, or add noise."
)


def remedies_taken(manifest: Manifest) -> tuple[Remedy, ...]:
    """Return the remedies of attacks that a release has taken already, such as correlated noise."""
    remedies = dict.fromkeys(attack.remedy for attack in ATTACKS.values())
    return tuple(remedy for remedy in remedies if remedy.taken(manifest))


def shorten(value: float) -> str:
    """Write a number with three significant digits."""
    return format_number(value, 3)


@dataclass(frozen=True)
class Promise:
    """What was promised of one attribute, what is left, and which attack left it."""

    attribute: str
    mechanism: str
    unit: str
    promised: float | None
    """None where a method states no interval; what is left is then measured against what people differ by."""
    without_release: float
    left: float
    left_interval: tuple[float, float]
    own_law: float
    attack: str
    title: str
    narrowest: float | None = None
    """The 1 % of records that the column's posterior pins down most have no wider interval than this."""
    typical: float | None = None
    """The mean of that posterior's intervals over all records."""
    done: tuple[Remedy, ...] = ()
    """Remedies that the release has taken already, which are not to be recommended once more."""
    exactly_true: float | None = None
    """The share of cells that the law leaves exactly true on the column's grid, where that is most of them."""
    judged: str | None = None
    """The verdict, where the figures here are rounded and can no longer tell."""
    unmeasured: str = ""
    """Why no attack could be measured on the column; what is left is then NaN, and null as plain data."""
    min_kept: float = 0.95  # share of the promise that must be left for it to count as kept
    min_unbroken: float = 2 / 3  # below this share it is broken, whatever did it
    min_hidden: float = 0.1  # share of the unknown; an attack that leaves less has undone a release without a promise
    min_own_law: float = 0.9  # share of what the column's own law leaves; an attack that leaves less got around the law

    @property
    def reference(self) -> float:
        """The promise, as far as there was so much to hide: no release can promise a wider interval than people differ by."""
        return self.without_release if self.promised is None else min(self.promised, self.without_release)

    @property
    def kept_share(self) -> float:
        """Left/reference."""
        return self.left / self.reference if self.reference > 0 else 0.0

    @property
    def verdict(self) -> str:
        """Kept, narrowed by what the column tells of itself, or broken."""
        if self.mechanism == "none":
            return CLEAR
        if self.unmeasured:
            return UNMEASURED
        if self.judged is not None:
            return self.judged
        if self.promised is None:
            return BROKEN if self.kept_share < self.min_hidden else NONE
        if self.kept_share >= self.min_kept or self.left_interval[1] >= self.reference:
            return KEPT
        around = self.left < self.min_own_law * self.own_law
        return BROKEN if around or self.kept_share < self.min_unbroken else NARROWED

    @property
    def in_words(self) -> str:
        """A sentence for people."""
        if self.verdict == CLEAR:
            return f"{self.attribute} is released as it is."
        if self.unmeasured:
            return f"{self.attribute}: not measured, because {self.unmeasured}."
        if self.promised is None:
            return (
                f"{self.attribute}: {self.mechanism} promises no interval; after “{self.title}” {shorten(self.left)} are left of "
                f"the {shorten(self.without_release)} that people differ by ({self.kept_share:.0%})."
            )
        unit = f" {self.unit}" if self.unit else ""
        void = ""
        if self.without_release < self.promised:
            void = f"; 95 % of all people lie within {shorten(self.without_release)} anyway"
        true = ""
        if self.exactly_true is not None:
            true = f" The law itself leaves {100 * self.exactly_true:.4g} % of the cells exactly true."
        return (
            f"{self.attribute}: a 95 % interval of {shorten(self.promised)}{unit} was promised{void}; "
            f"after “{self.title}” {shorten(self.left)} are left ({self.kept_share:.0%}).{true}"
        )

    @property
    def remedy(self) -> Note:
        """What to do."""
        if self.verdict in (KEPT, CLEAR, NONE, UNMEASURED):
            return NO_REMEDY
        if ATTACKS[self.attack].scope in (Scope.VALUE, Scope.COLUMN):
            if self.promised is None:
                return NEARLY_TRUE
            if self.exactly_true is not None:
                return COARSE_GRID
        remedy = DISTRIBUTION if self.adds_little else ATTACKS[self.attack].remedy
        return remedy.instead if remedy in self.done else remedy.words

    @property
    def adds_little(self) -> bool:
        """Whether the attack adds little to what the column's own law and distribution tell, and its remedy needs more."""
        return ATTACKS[self.attack].remedy.needs_gain and self.left >= self.min_own_law * self.own_law

    @property
    def scope(self) -> Scope:
        """What the strongest attack looks at; the column itself where its distribution does most of the work."""
        return Scope.COLUMN if self.adds_little else ATTACKS[self.attack].scope

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attribute": self.attribute,
            "mechanism": self.mechanism,
            "unit": self.unit,
            "interval_width_95": self.promised,
            "without_release": self.without_release,
            "left": None if self.unmeasured else self.left,
            "left_interval": None if self.unmeasured else list(self.left_interval),
            "left_by_own_law": None if self.unmeasured else self.own_law,
            "narrowest_1_percent": self.narrowest,
            "posterior_mean_width": self.typical,
            "exactly_true": self.exactly_true,
            "attack": self.attack,
            "share_left": None if self.unmeasured else self.kept_share,
            "not_measured_because": self.unmeasured or None,
            "verdict": self.verdict,
            "in_words": self.in_words,
            "remedy": self.remedy,
        }


def own_width(column: Column, truth: FloatArray) -> float:
    """Return the 95 % interval of a person of whom nothing is known: the smallest set, or the central interval if that is less."""
    known = truth[~np.isnan(truth)]
    if not len(known):
        return 0.0
    grid, mass = distribution(column, truth)
    widths = cell_widths(grid)
    smallest = float(smallest_sets(mass[None, :], widths)[0] @ widths)
    return min(smallest, central_width(known)) if column.attribute.kind.numeric else smallest


def judge_promises(case: Case, findings: Sequence[Finding], done: tuple[Remedy, ...] = ()) -> list[Promise]:
    """Return one promise per column, with the attack that leaves least of it, or the reason why none could be measured."""
    view, truth = case.view, case.truth
    out = []
    for column in view.columns:
        name, channel = column.name, column.channel
        unit = "" if column.attribute.kind.numeric else f"of {len(column.attribute.categories)} labels"
        if column.attribute.scale is not None:
            unit = f"of its {column.attribute.scale.name} scale"
        free = own_width(column, truth[name])
        if view.is_clear(name):
            out.append(Promise(name, "none", unit, 0.0, free, 0.0, (0.0, 0.0), 0.0, "posterior", "Reading it"))
            continue
        mechanism = view.guided.get(name, "") if channel is None else (channel.joint or channel).law
        promised = None if channel is None else channel.interval_width(0.95)
        grainy = channel is not None and hides_little(channel, column.attribute)
        true = exactly_true(channel, column.attribute) if channel is not None and grainy else None
        head = (name, mechanism, unit, promised, free)
        left = [(f.left[name], f) for f in findings if name in f.left]
        if not left:
            scored = bool((~np.isnan(column.values) & ~np.isnan(truth[name])).any())
            why = NO_INTERVAL if scored else NOTHING_KNOWN
            out.append(Promise(*head, math.nan, (math.nan, math.nan), math.nan, "", "", unmeasured=why))
            continue
        (value, low, high), strongest = min(left, key=lambda pair: pair[0][0])
        own = min((w[0] for w, f in left if f.attack.scope is Scope.COLUMN), default=value)
        narrowest = typical = None
        if name not in view.guided or name in case.learned:
            belief = case.learned.get(name, view.beliefs[name])
            widths = belief.of_rows(belief.set_widths)
            widths = widths[~np.isnan(widths)]
            if len(widths):
                narrowest, typical = float(np.quantile(widths, 0.01)), float(widths.mean())
        measured = (value, (low, high), own, strongest.name, strongest.title)
        out.append(Promise(*head, *measured, narrowest, typical, done, true))
    return out

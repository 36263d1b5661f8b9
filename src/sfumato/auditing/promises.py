"""For each attribute: the interval that is promised, and the interval that the strongest attack leaves.

The promise is the law's own figure, or the smaller one that the owner states beside it. No release can promise more than the domain
is wide, nor more than people differ by without any release. A promise is judged by what the release adds: that most people are alike,
and that one thing follows from another in the whole population, anybody may know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.attacks import (
    ATTACKS,
    DISTRIBUTION,
    NO_REMEDY,
    PCA,
    BayesEstimate,
    ColumnPosterior,
    ConditionalPosterior,
    InformedPosterior,
    NaiveReading,
    PersonRows,
    Remedy,
    RowGroups,
    RowOrder,
    Scope,
    Spectral,
    View,
    WholeTable,
    cell_widths,
    smallest_sets,
)
from sfumato.auditing.case import Case, distribution
from sfumato.auditing.rates import central_width, format_share
from sfumato.auditing.score import Finding, Guess
from sfumato.auditing.trial import try_attack
from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.privacy import exactly_true, hides_little
from sfumato.releases import Manifest
from sfumato.table import Column
from sfumato.text import format_number

KEPT, NARROWED, INFERRED, BROKEN = "kept", "narrowed", "inferred", "broken"
CLEAR, NONE, UNMEASURED = "in the clear", "no promise", "not measured"
NOTHING_KNOWN = "no row has both a true and a released value, so no attack could be scored"
NOTHING_STATED: Mapping[str, float] = {}
NO_INTERVAL = "no attack that was run leaves an interval or a set of labels for it"

COARSE_GRID = Note(
    "SF423",
    "The steps of the column's grid are wide against the noise, which is rounded away in most cells. Ask for more privacy, or "
    "declare the column categorical and use substitution.",
)
GIVEN_AWAY = Note(
    "SF282",
    "The released value gives it away to anybody who knows the distribution. Ask for more privacy for this column.",
)
FOLLOWS = Note(
    "SF284",
    "The release teaches how the columns go together, which is what it is for. Blur or withhold the other column if this one must "
    "not be guessed from it.",
)
OVERSTATED = Note("SF283", "State no more than is left, or ask for more privacy for this column.")
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
    stated: float | None = None
    """The smaller figure that the owner states in the place of the law's own."""
    guess: Guess | None = None
    """The guesses of the attack that gains most."""
    own_gain: float = 1.0
    """The gain of the best guess by the column's own law and distribution."""
    source: str = ""
    """The other column that the strongest attack looks at."""
    source_left: float | None = None
    """What is left of a person who is not in the release, and whose true value of that column is known."""
    judged: str | None = None
    """The verdict, where the figures here are rounded and can no longer tell."""
    unmeasured: str = ""
    """Why no attack could be measured on the column; what is left is then NaN, and null as plain data."""
    min_kept: float = 0.95  # share of the promise that must be left for it to count as kept
    min_unbroken: float = 2 / 3  # below this share it is broken, unless the release adds little
    min_gain: float = (
        0.1  # share of the unknown; with less gained, the distribution is narrow, and the release gave nothing away
    )
    min_hidden: float = 0.1  # share of the unknown; an attack that leaves less has undone a release without a promise
    min_own_law: float = 0.9  # share of what the column's own law leaves; an attack that leaves less got around the law

    @property
    def reference(self) -> float:
        """The promise, as far as there was so much to hide: no release can promise a wider interval than people differ by."""
        promised = self.promised if self.stated is None else self.stated
        return self.without_release if promised is None else min(promised, self.without_release)

    @property
    def kept_share(self) -> float:
        """Left/reference."""
        return self.left / self.reference if self.reference > 0 else 0.0

    @property
    def kept_interval(self) -> tuple[float, float]:
        """The 95 % interval of `kept_share`."""
        low, high = (end / self.reference if self.reference > 0 else 0.0 for end in self.left_interval)
        return low, high

    @property
    def gain(self) -> float:
        """The share of what was unknown that the best guess gives away."""
        return 0.0 if self.guess is None else self.guess.gain

    @property
    def verdict(self) -> str:
        """Kept; narrowed by a narrow distribution; inferred as of people outside the release; or broken."""
        if self.mechanism == "none":
            return CLEAR
        if self.unmeasured:
            return UNMEASURED
        if self.judged is not None:
            return self.judged
        if self.promised is None and self.stated is None:
            return BROKEN if self.kept_share < self.min_hidden else NONE
        if self.kept_share >= self.min_kept or self.left_interval[1] >= self.reference:
            return KEPT
        if self.stated is not None:
            return BROKEN
        if self.own_law < self.min_unbroken * self.reference and self.own_gain >= self.min_gain:
            return BROKEN
        if self.left >= self.min_own_law * self.own_law:
            return NARROWED
        if self.source_left is None:
            return BROKEN
        # The law is to hide as much of what is unknown of somebody outside the release as it does of anybody.
        return INFERRED if self.left >= self.min_unbroken * min(self.reference, self.source_left) else BROKEN

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
        stated = self.promised if self.stated is None else self.stated
        void = ""
        if stated is not None and self.without_release < stated:
            void = f"; 95 % of all people lie within {shorten(self.without_release)} anyway"
        true = ""
        if self.exactly_true is not None:
            true = f" The law itself leaves {100 * self.exactly_true:.4g} % of the cells exactly true."
        return (
            f"{self.attribute}: a 95 % interval of {shorten(stated or 0.0)}{unit} was promised{void}; "
            f"after “{self.title}” {shorten(self.left)} are left ({self.kept_share:.0%}).{true}{self.guess_in_words}"
        )

    @property
    def guess_in_words(self) -> str:
        """How often the value is guessed right, with the release and without; empty where nothing was guessed."""
        if self.guess is None:
            return ""
        right, without = (format_share(s) for s in (self.guess.right, self.guess.without_release))
        return f" It is guessed right {right} of the time; {without} without the release."

    @property
    def remedy(self) -> Note:
        """What to do."""
        if self.verdict in (KEPT, CLEAR, NONE, UNMEASURED):
            return NO_REMEDY
        if self.verdict == INFERRED:
            return FOLLOWS
        if self.stated is not None:
            return OVERSTATED
        if ATTACKS[self.attack].scope in (Scope.VALUE, Scope.COLUMN):
            if self.promised is None:
                return NEARLY_TRUE
            if self.exactly_true is not None:
                return COARSE_GRID
        remedy = DISTRIBUTION if self.adds_little else ATTACKS[self.attack].remedy
        if remedy is DISTRIBUTION and self.verdict == BROKEN:
            return GIVEN_AWAY
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
            "share_left_interval": None if self.unmeasured else list(self.kept_interval),
            "stated": self.stated,
            "guessed_right": None if self.guess is None else self.guess.to_dict(),
            "inferred_from": self.source or None,
            "left_outside_release": self.source_left,
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


def judge_promises(
    case: Case, findings: Sequence[Finding], done: tuple[Remedy, ...] = (), stated: Mapping[str, float] = NOTHING_STATED
) -> list[Promise]:
    """Return one promise per column, with the attack that leaves least of it, or the reason why none could be measured.

    `stated` are smaller figures that the owner promises in the place of the laws' own.
    """
    view, truth = case.view, case.truth
    out = []
    for column in view.columns:
        name, channel, attribute = column.name, column.channel, column.attribute
        unit = "" if attribute.kind.numeric else f"of {len(attribute.categories)} labels"
        if attribute.scale is not None:
            unit = f"of its {attribute.scale.name} scale"
        free = own_width(column, truth[name])
        if view.is_clear(name):
            out.append(Promise(name, "none", unit, 0.0, free, 0.0, (0.0, 0.0), 0.0, "posterior", "Reading it"))
            continue
        mechanism = view.guided.get(name, "") if channel is None else (channel.joint or channel).law
        widest = attribute.interval.range if attribute.kind.numeric else float(len(attribute.labels))
        promised = None if channel is None else min(channel.interval_width(0.95), widest)
        grainy = channel is not None and hides_little(channel, attribute)
        true = exactly_true(channel, attribute) if channel is not None and grainy else None
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
        out.append(
            Promise(
                *head, value, (low, high), own, strongest.name, strongest.title, narrowest, typical, done, true,
                stated=stated.get(name),
                guess=best_guess(name, findings),
                own_gain=_gain(best_guess(name, [f for f in findings if f.attack.scope in (Scope.VALUE, Scope.COLUMN)])),
                source=strongest.details.get("given", {}).get(name, ""),
                source_left=strongest.control_left,
            )
        )  # fmt: skip
    return out


def judge_columns(
    view: View,
    truth: Mapping[str, FloatArray],
    *,
    stated: Mapping[str, float] = NOTHING_STATED,
    groups: RowGroups | None = None,
    seed: int = 0,
) -> list[Promise]:
    """Judge the promise of every column by quick attacks on a release that is held in memory.

    Parameters
    ----------
    view : View
        The released columns with their laws.
    truth : mapping of str to array
        The true values of the same rows by column.
    stated : mapping of str to float
        Smaller figures that the owner promises in the place of the laws' own.
    groups : RowGroups, optional
        Which rows are one person's, where people have several.
    seed : int
        Under the same seed the figures repeat.

    Returns
    -------
    list of Promise
        One per column: what is promised, what is left, how often it is guessed right, and the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.randomness import SecretKey
    >>> from sfumato.table import Column
    >>> age = sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100))
    >>> true = Column(age, None, np.random.default_rng(0).uniform(0, 100, 2000))
    >>> released = true.through(sf.Gaussian(privacy=0.5).on(age), SecretKey(bytes(32)))
    >>> [(p.attribute, p.promised, p.verdict) for p in judge_columns(View((released,)), {"age": true.values})]
    [('age', 50.0, 'narrowed')]
    """
    case = replace(Case.in_memory(view, dict(truth), targets=1, seed=seed), groups=groups)
    quick = (
        NaiveReading,
        ColumnPosterior,
        InformedPosterior,
        ConditionalPosterior,
        RowOrder,
        PersonRows,
        BayesEstimate,
        Spectral,
        PCA,
        WholeTable,
    )
    return judge_promises(case, [f for kind in quick for f in try_attack(kind, case)[0]], stated=stated)


def best_guess(name: str, findings: Sequence[Finding]) -> Guess | None:
    """Return the guesses of the attack that gains most at an attribute; None where none guesses it."""
    guesses = [guess for f in findings if (guess := f.guess(name)) is not None]
    return max(guesses, key=lambda g: (g.gain, g.right), default=None)


def _gain(guess: Guess | None) -> float:
    return 0.0 if guess is None else guess.gain

"""Which attacks an audit makes, in which order, with what each intruder is granted, and what each is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato import attacks as a
from sfumato.attacks import MOST_CELLS, Claim, Pairs, Targets, View, chance
from sfumato.auditing.score import Finding, score_people, score_values
from sfumato.auditing.truth import Truth, distribution
from sfumato.counts import FloatArray, IntArray
from sfumato.schema import Attribute

ASSIGNED = 400
"""People in the one-to-one linkage: the assignment costs their number cubed."""
FEWEST = 3
"""Rows below which a release without one person is none."""
NEIGHBOURS, MANY = 10, 10_000
"""Neighbours in which two holders may meet; one alone where there are fewer rows than `MANY`."""


@dataclass(frozen=True, eq=False)
class Case:
    """All that the single trials share."""

    view: View
    truth: Truth
    attributes: Mapping[str, Attribute]
    others: tuple[View, ...]
    people: IntArray
    known: tuple[str, ...]
    control: Truth | None
    pairs: Pairs
    seed: int
    stand_ins: tuple[View, ...] = ()
    """Releases that the ledger knows and nobody gave, drawn again under their laws."""

    def targets(self, names: Sequence[str], rows: IntArray | None = None, *, without: bool = False) -> Targets:
        """Some people of the original, with the named values known."""
        rows = self.people if rows is None else rows
        return Targets({n: self.truth[n][rows] for n in names}, rows if without else None)

    def outsiders(self, names: Sequence[str]) -> Targets:
        """The control group: people of another table, or the same ones with their rows struck out."""
        if self.control is None:
            return self.targets(names, without=True)
        return Targets({n: self.control[n][: len(self.people)] for n in names})

    def secrets(self) -> Truth:
        """The true values of the people attacked."""
        return {n: v[self.people] for n, v in self.truth.items()}

    def control_secrets(self) -> Truth:
        """The true values of the control group."""
        return self.secrets() if self.control is None else {n: v[: len(self.people)] for n, v in self.control.items()}


Trial = Callable[[Case], tuple[list[Finding], dict[str, str]]]


def _values(attack: a.Attack, case: Case, *, together: bool = True) -> tuple[list[Finding], dict[str, str]]:
    claim: Claim = attack.run(case.view)
    if "skipped" in claim.notes:
        return [], {attack.name: str(claim.notes["skipped"])}
    found = score_values(attack, claim, case.attributes, case.truth, seed=case.seed, together=together)
    return found, {}


def _alone(case: Case) -> tuple[list[Finding], dict[str, str]]:
    return _values(a.ColumnPosterior(), case, together=False)


def _informed(case: Case) -> tuple[list[Finding], dict[str, str]]:
    population = {c.name: distribution(c, case.truth[c.name]) for c in case.view.columns}
    return _values(a.InformedPosterior(population), case, together=False)


def _large(case: Case, name: str) -> dict[str, str]:
    """A note where an attack passes over columns of too many labels: what was not tried must not count as kept."""
    large = [c.name for c in case.view.columns if c.channel and case.view.beliefs[c.name].grid.size > MOST_CELLS]
    return {name: f"not tried on {', '.join(large)}: more than {MOST_CELLS:,} labels"} if large else {}


def _given(case: Case) -> tuple[list[Finding], dict[str, str]]:
    found, notes = _values(a.GivenAnother(), case, together=False)
    notes |= _large(case, a.GivenAnother.name)
    return [replace(f, title=a.GivenAnother.titled(f.details["given"][f.attributes[0]])) for f in found], notes


def _row_order(case: Case) -> tuple[list[Finding], dict[str, str]]:
    """The control is the same attack on the same rows in an order that chance has made."""
    found, notes = _values(a.RowOrder(), case, together=False)
    notes |= _large(case, a.RowOrder.name)
    if not found:
        return found, notes
    order = np.random.default_rng(case.seed).permutation(case.view.rows)
    attack = a.RowOrder(tuple(f.attributes[0] for f in found))
    truth = {name: values[order] for name, values in case.truth.items()}
    shuffled = score_values(
        attack, attack.run(case.view.take(order)), case.attributes, truth, seed=case.seed, leaves=False
    )
    control = {f.attributes[0]: f for f in shuffled}
    return [_with_control(f, control[f.attributes[0]]) for f in found], notes


def _whole(make: Callable[[Case], a.Attack]) -> Trial:
    return lambda case: _values(make(case), case)


def _likelihood_linkage(case: Case) -> tuple[list[Finding], dict[str, str]]:
    attack = a.LikelihoodLinkage(case.targets(case.known))
    links = attack.run(case.view)
    details = {
        "probability_of_own_row": float(links.probability(case.people).mean()),
        "hidden_among_median": float(np.median(links.effective)),
    }
    chance_ = 1 / case.view.rows
    return [
        score_people(attack, links.credit(case.people), case.known, baseline=chance_, seed=case.seed, details=details)
    ], {}


def _nearest_linkage(case: Case) -> tuple[list[Finding], dict[str, str]]:
    attack = a.NearestLinkage(case.targets(case.known), case.seed)
    right: FloatArray = (attack.run(case.view) == case.people).astype(np.float64)
    return [score_people(attack, right, case.known, baseline=1 / case.view.rows, seed=case.seed)], {}


def _assignment(case: Case) -> tuple[list[Finding], dict[str, str]]:
    rows = case.people[:ASSIGNED]
    attack = a.Assignment(case.targets(case.known, rows), case.seed)
    right: FloatArray = (attack.run(case.view.take(rows)) == np.arange(len(rows))).astype(np.float64)
    return [score_people(attack, right, case.known, baseline=1 / len(rows), seed=case.seed)], {}


def _linkability(case: Case) -> tuple[list[Finding], dict[str, str]]:
    names = case.view.names
    if len(names) < 2 or case.view.rows < FEWEST:
        return [], {"linkability": "too few columns or rows to be split between two holders"}
    left, right = names[::2], names[1::2]
    near = NEIGHBOURS if case.view.rows >= MANY else 1

    def run(targets: Targets) -> tuple[a.Attack, FloatArray]:
        attack = a.Linkability(targets, left, right, near, case.seed)
        return attack, attack.run(case.view)

    attack, linked = run(case.targets(names))
    _, control = run(case.outsiders(names))
    unit = f"share of people whose two halves meet among {near} nearest rows"
    details = {"left": list(left), "right": list(right), "neighbours": near}
    base = chance(case.view.rows, near)
    return [
        score_people(attack, linked, names, baseline=base, control=control, seed=case.seed, unit=unit, details=details)
    ], {}


def _inference(case: Case) -> tuple[list[Finding], dict[str, str]]:
    names = case.view.names
    if len(names) < 2 or case.view.rows < FEWEST:
        return [], {"inference": "too few columns or rows to infer anything from"}
    attack = a.LikelihoodInference(case.targets(names), names)
    claim = attack.run(case.view)
    shadow = a.LikelihoodInference(case.outsiders(names), names).run(case.view)
    own = score_values(attack, claim, case.attributes, case.secrets(), seed=case.seed, leaves=False)
    outside = score_values(attack, shadow, case.attributes, case.control_secrets(), seed=case.seed, leaves=False)
    return [_with_control(f, g) for f, g in zip(own, outside, strict=True)], {}


def _leaf(case: Case) -> tuple[list[Finding], dict[str, str]]:
    if case.view.classes() is None:
        return [], {"leaf-class": "the release has no class of labels"}
    names = [n for n in case.view.names if n != case.view.target]
    attack = a.LeafClass(case.targets(names))
    claim, shadow = attack.run(case.view), a.LeafClass(case.outsiders(names)).run(case.view)
    if "skipped" in claim.notes or "skipped" in shadow.notes:
        return [], {"leaf-class": str(claim.notes.get("skipped") or shadow.notes["skipped"])}
    own = score_values(attack, claim, case.attributes, case.secrets(), seed=case.seed, leaves=False)
    outside = score_values(attack, shadow, case.attributes, case.control_secrets(), seed=case.seed, leaves=False)
    return [_with_control(f, g) for f, g in zip(own, outside, strict=True)], {}


def _with_control(finding: Finding, control: Finding) -> Finding:
    return replace(finding, control=control.success, control_interval=control.interval)


def _several(make: Callable[[Case], a.Averaging | a.NoiseReuse]) -> Trial:
    def trial(case: Case) -> tuple[list[Finding], dict[str, str]]:
        attack = make(case)
        if not attack.others:
            return [], {attack.name: "no other release of the same rows was given"}
        return _values(attack, case)

    return trial


TRIALS: tuple[Trial, ...] = (
    _whole(lambda _: a.AtItsWord()),
    _alone,
    _informed,
    _given,
    _row_order,
    _whole(lambda _: a.Spectral()),
    _whole(lambda _: a.PCA()),
    _whole(lambda _: a.BayesEstimate()),
    _several(lambda c: a.Averaging((*c.others, *c.stand_ins))),
    _several(lambda c: a.NoiseReuse(c.others)),
    _whole(lambda c: a.RepeatedPerturbation(seed=c.seed)),
    _whole(lambda _: a.LowBits()),
    _whole(lambda c: a.KnownInput(c.pairs)),
    _whole(lambda c: a.ClusterLinear(c.pairs, seed=c.seed)),
    _whole(lambda c: a.Reflection(c.pairs, seed=c.seed)),
    _likelihood_linkage,
    _nearest_linkage,
    _assignment,
    _linkability,
    _inference,
    _leaf,
)

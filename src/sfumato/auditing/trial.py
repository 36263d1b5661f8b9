"""One attack, tried: it claims what it can from what it is granted, and the claim meets the truth.

Here is how an attack of each kind is run and scored. What is special to one attack stands in the attack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from sfumato.attacks import (
    TOLERANCE,
    Attack,
    Belief,
    LinkAttack,
    OtherColumns,
    SecretAttack,
    ValueAttack,
    best_guesses,
    cell_widths,
    fit_beliefs,
    group_rows,
    grouped_counts,
    smallest_sets,
)
from sfumato.auditing.case import Case, distribution
from sfumato.auditing.per_person import score_per_person
from sfumato.auditing.rates import Rate
from sfumato.auditing.score import Finding, hits, score_people, score_values
from sfumato.table import Table

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
    per_person = score_per_person(attack, claim, case.attributes, case.truth, case.seed)
    if "model" in claim.notes:
        outside = infer_from_all(case, [r.attribute for r in claim.recoveries])
        return [_control_by_all(f, outside) for f in findings], why
    if given := claim.notes.get("given"):
        return [_control_by(f, given[f.attributes[0]], case) for f in findings], why
    shadow = attack.without_order(claim)
    if shadow is None or not findings:
        return findings + per_person, why
    order = np.random.default_rng(case.seed).permutation(case.view.rows)
    truth = {name: values[order] for name, values in case.truth.items()}
    control = shadow.run(case.view.take(order))
    shuffled = score_values(shadow, control, case.attributes, truth, seed=case.seed, leaves=False)
    by_column = {f.attributes: f for f in shuffled}
    return [_with_control(f, by_column[f.attributes]) for f in findings] + per_person, why


def _control_by(finding: Finding, source: str, case: Case) -> Finding:
    """Return the finding with its control: people who are not in the release, and whose true `source` is known."""
    right, left = infer_from(case, finding.attributes[0], source)
    return replace(finding, control=right.value, control_interval=right.interval, control_left=left)


def infer_from(case: Case, name: str, source: str) -> tuple[Rate, float]:
    """Return how often a column is guessed right from the true value of another, and the width of the 95 % set that is left.

    The relation between the two is learned from one half of the people and tried on the other half, who play no part in it. So it
    tells what anybody knows of the population, and nothing that a release gives away about one person.
    """
    grid, whole = distribution(case.view[name], case.truth[name])
    groups = group_rows(replace(case.view[source], channel=None, values=case.truth[source]))
    codes = grid.locate(np.nan_to_num(case.truth[name]))
    codes[np.isnan(case.truth[name])] = -1
    half = np.random.default_rng((case.seed, 2311)).random(len(codes)) < 0.5  # not the seed that a table was made with
    size = (int(groups.max(initial=0)) + 1, grid.size)
    attribute = case.attributes[name]
    tolerance = TOLERANCE * attribute.interval.range if attribute.kind.numeric else 0.0
    right, widths = [], []
    for taught in (half, ~half):
        counts = grouped_counts(np.where(taught, groups, -1), codes, size)
        belief = (counts + whole) / (
            counts.sum(axis=1, keepdims=True) + 1
        )  # one person's worth of the whole population
        belief = np.vstack([belief, whole])  # for people whose group is unknown
        picks = best_guesses(grid, belief, tolerance)
        sets = smallest_sets(belief, cell_widths(grid)) @ cell_widths(grid)
        tried = ~taught & (codes >= 0)
        right.append(hits(attribute, picks[groups[tried]], case.truth[name][tried]))
        widths.append(sets[groups[tried]])
    return Rate.of(np.concatenate(right)), float(np.concatenate(widths).mean())


def _control_by_all(finding: Finding, outside: Mapping[str, tuple[Rate, float]]) -> Finding:
    """Return the finding with its control: people who are not in the release, and whose other true values are known."""
    if finding.attributes[0] not in outside:
        return finding
    right, left = outside[finding.attributes[0]]
    return replace(finding, control=right.value, control_interval=right.interval, control_left=left)


def infer_from_all(case: Case, names: Sequence[str]) -> dict[str, tuple[Rate, float]]:
    """Return how often columns are guessed right from the true values of all others, and the width of the 95 % set that is left.

    As in `infer_from`, a model of the true values of one half of the people is tried on some of the other half.
    """
    max_tried = 2000
    half = np.random.default_rng((case.seed, 2311)).random(case.view.rows) < 0.5
    true = [replace(c, channel=None, values=case.truth[c.name]) for c in case.view.columns]
    beliefs = []
    for column in true:
        grid, mass = distribution(column, column.values)
        beliefs.append(Belief(column, column.transition(grid), mass))
    model = fit_beliefs(Table(tuple(c.take(half) for c in true)), beliefs)
    tried = np.flatnonzero(~half)[:max_tried]
    others = OtherColumns.of(model, [f.codes(c.take(tried)) for f, c in zip(model.facets, true, strict=True)])
    out = {}
    for place, belief in enumerate(beliefs):
        name = belief.column.name
        if name not in names:
            continue
        posterior = (others.shares(place) @ others.tilts(place)) * belief.prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        attribute, truth = case.attributes[name], case.truth[name][tried]
        known = ~np.isnan(truth)
        if not known.any():
            continue
        picks = best_guesses(belief.grid, posterior, belief.tolerance)
        widths = smallest_sets(posterior, belief.widths) @ belief.widths
        out[name] = Rate.of(hits(attribute, picks[known], truth[known])), float(widths[known].mean())
    return out


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

"""A rehearsal: the table is cut in two, the larger part perturbed in memory at each setting and mined as a recipient would.

The model is judged on the true values of the rest. Nothing leaves the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.advice import Goal
from sfumato.attacks import RowGroups, View
from sfumato.auditing import read_groups
from sfumato.channels import JOINT_LAWS, Intervals, channel_class
from sfumato.counts import IntArray
from sfumato.engines import Progress
from sfumato.errors import DataError, SfumatoError, UsageError
from sfumato.findings import Note
from sfumato.guided import is_guided, make_method
from sfumato.mining import Scores, score_model
from sfumato.plans import DEFAULT_LAW, Plan, with_consent
from sfumato.randomness import SecretKey
from sfumato.releases import read_original
from sfumato.schema import Attribute, Consent
from sfumato.table import Original
from sfumato.text import join_names
from sfumato.tradeoffs.choice import choose, recommend, recommend_safe
from sfumato.tradeoffs.measures import Measures, measure
from sfumato.tradeoffs.point import REPEATS, Point, Tradeoff, average_scores, standard_error
from sfumato.tradeoffs.reader_question import Question, parse_questions
from sfumato.tradeoffs.setting import (
    Blur,
    Sweep,
    blur_for,
    in_words,
    law_of,
    modified_attributes,
    sweep_for,
)
from sfumato.trees import STRATEGIES, strategy_for_release
from sfumato.trees import original as tree_of_truth

MIN_ROWS = 30
MAX_ROWS = 30_000
"""A larger table is sampled: the choice needs no more, and an owner should not wait."""
OR = " or "


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, with whose they are where people have several, and rows that judge."""

    train: Original
    test: Original
    people: IntArray | None = None


def tradeoff(
    table: Any,
    *,
    target: str | None = None,
    identifier: str | None = None,
    plan: Plan | str | Path | None = None,
    noise: str | None = None,
    method: str | None = None,
    sweep: Mapping[str, Sequence[float]] | None = None,
    questions: Sequence[str] = (),
    goal: Goal | str | None = None,
    repeats: int = REPEATS,
    rows: int = MAX_ROWS,
    strategy: str = "byclass",
    seed: int = 0,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Tradeoff:
    """Try settings of a law on a table with a class, and measure what attacks leave of each and what it costs.

    Nothing is released: rows are blurred in memory, attacked, mined as a recipient would mine them, and judged on true values.

    Parameters
    ----------
    table : path, bundled name, dataframe or Arrow table
        The original.
    target : str, optional
        The class column.
    identifier : str, optional
        The column that says whose row it is; it takes no part.
    plan : Plan or path, optional
        Domains, consents and missing values as the owner declared them; without one, a plan is proposed.
    noise : str, optional
        A law that blurs column by column; without one, the law that the plan names, or gaussian.
    method : str, optional
        In place of noise: correlated-gaussian.
    sweep : mapping, optional
        Values to try by parameter, such as ``{"privacy": [0.1, 0.5, 1]}``: privacy, epsilon, gamma, bins, count or ratio, as
        far as the law has them. By default the law's natural parameter over a usual range.
    questions : sequence of str
        Figures that readers will want, such as ``mean(age)``, ``median(wage)``, ``quantile(wage, 0.9)``, ``share(age >= 40)`` or
        ``share(region = North)``. Each point says how far off the answer is.
    goal : Goal or str, optional
        How many people may be found, as ``found=5%``.
    repeats : int
        Random splits into training and test rows, and draws of the noise for the questions.
    rows : int
        A larger table is sampled down to this many rows.
    strategy : str
        How the recipient mines, as in `sfumato.mine`.
    seed : int
        Equal seeds give equal figures.
    encoding : str, optional
        Encoding of a CSV file.
    progress : callable, optional
        Called with the settings done, and those there are in all.

    Returns
    -------
    Tradeoff
        One point per setting, the accuracy without noise, and the settings that attacks and accuracy recommend.

    Examples
    --------
    >>> import sfumato as sf
    >>> result = sf.tradeoff("iris", noise="laplace", sweep={"privacy": [0.1, 0.5]}, repeats=1)
    >>> [point.setting for point in result.points]
    [{'privacy': 0.1}, {'privacy': 0.5}]
    """
    _check_numbers(repeats, rows, seed)
    strategy_for_release(strategy)
    law = _named_law(noise, method)
    values = dict(sweep or {})
    if law is not None:
        sweep_for(law, values)  # a wrong word is told before the table is read
    aim = goal if isinstance(goal, Goal) else Goal() if goal is None else Goal.parse(goal)
    base = _plan(table, plan, target, identifier, encoding)
    plan = _without_identifier(base)
    named = _class(plan)
    asked = parse_questions(questions, plan.schema)

    attributes = modified_attributes(plan)
    chosen = sweep_for(law or law_of(plan) or DEFAULT_LAW, values, numbers=any(a.kind.numeric for a in attributes))
    whole = read_original(table, plan, encoding=encoding)
    known = _rows_with_class(whole, named)
    whose = base.schema.identifier
    groups = None if whose is None else read_groups(table, whose.name, known, encoding, shared=True)
    chosen_rows = _sample(len(known), groups, rows, seed)
    whole = whole.take(known[chosen_rows])
    groups = (
        None
        if groups is None
        else replace(groups, person=np.unique(groups.person[chosen_rows], return_inverse=True)[1])
    )
    blurs, notes = _bind_settings(chosen, plan, whole)
    splits = [_split(whole, groups, seed + i) for i in range(repeats)]
    tested = splits[0].test.rows
    true_scores = [_score(tree_of_truth(s.train), s.test) for s in splits]
    truth = [s.accuracy for s in true_scores]
    error = standard_error(float(np.mean(truth)), _spread(truth), repeats, tested)
    majority = float(np.bincount(whole.codes).max() / whole.rows)
    points = []
    for i, blur in enumerate(blurs):
        measures = measure_setting(whole, groups, blur, plan, asked, repeats, seed)
        points.append(_point(splits, blur, attributes, strategy, seed, measures))
        if progress:
            progress(i + 1, len(blurs))
    choice, why = choose(points, chosen.axis, (float(np.mean(truth)), error), majority)
    advised, advice = recommend_safe(points, chosen.axis, aim, majority)
    recommended = recommend(points) if "bins" in points[0].setting else _alone(points, choice)
    return Tradeoff(
        chosen.law,
        named.name,
        whole.rows,
        float(np.mean(truth)),
        tuple(points),
        tuple(recommended),
        choice,
        why,
        error,
        majority,
        chosen.axis,
        _laws(blurs),
        (*notes, *_companions(chosen, blurs, attributes, law_of(plan) == chosen.law)),
        strategy,
        repeats,
        seed,
        average_scores(true_scores, whole.labels),
        tuple(whole.labels),
        advised,
        advice,
        aim.found,
        base,
    )


def _named_law(noise: str | None, method: str | None) -> str | None:
    """Return the law that is named, as noise or as a method of several columns."""
    if method is None:
        if noise in JOINT_LAWS:
            channel_class(noise)
        return noise
    if noise is not None:
        raise UsageError("method= takes the place of noise=; leave one of them out")
    if method not in JOINT_LAWS and not is_guided(method):
        make_method(method, {})
    return method


def _check_numbers(repeats: int, rows: int, seed: int) -> None:
    max_repeats = 1000  # a choice needs no more, and each costs as much as the first
    if not 1 <= repeats <= max_repeats:
        raise UsageError(f"repeats={repeats} must lie between 1 and {max_repeats:,}; 3 is usual")
    if rows < MIN_ROWS:
        raise UsageError(f"rows={rows}: that is too few to judge accuracy on; at least {MIN_ROWS} are needed")
    if seed < 0:
        raise UsageError(f"seed={seed} must not be negative")


def _plan(
    table: Any, plan: Plan | str | Path | None, target: str | None, identifier: str | None, encoding: str | None
) -> Plan:
    if plan is None:
        return Plan.propose(table, target=target, identifier=identifier, encoding=encoding)
    if target is not None or identifier is not None:
        raise UsageError(
            "target= and identifier= cannot stand beside plan=, which says it all; change the plan instead"
        )
    return plan if isinstance(plan, Plan) else Plan.load(plan)


def _without_identifier(plan: Plan) -> Plan:
    """Return the plan with its identifier withheld: a released id is a name, not a value to predict from."""
    named = plan.schema.identifier
    return plan if named is None else with_consent(plan, named.name, Consent.WITHHOLD)


def _class(plan: Plan) -> Attribute:
    """The target, which has to be a class."""
    goal = plan.schema.target
    if goal is None:
        raise UsageError("a trade-off needs a class to be accurate about; name it with target=COLUMN")
    if goal.kind.numeric:
        raise UsageError(
            f"{goal.name}: a target of numbers has no classes; cut it into categories first, or name another target="
        )
    if goal.domain is None:
        raise UsageError(f"{goal.name}: too many different texts to be classes; name another target=")
    if not goal.released:
        raise UsageError(f'{goal.name}: the plan withholds the class, so it could not be mined; set consent = "true"')
    return goal


def _rows_with_class(truth: Original, goal: Attribute) -> IntArray:
    """The rows whose class is known."""
    known = np.flatnonzero(truth.codes >= 0)
    if len(known) < MIN_ROWS:
        raise DataError(
            f"{goal.name}: {len(known)} rows with a class are too few to judge accuracy on; at least {MIN_ROWS} are needed"
        )
    classes = np.unique(truth.codes[known])
    if len(classes) < 2:
        raise DataError(
            f"{goal.name}: every row is {truth.labels[classes[0]]!r}, so there is nothing to predict; name another target="
        )
    return known


def _sample(size: int, groups: RowGroups | None, most: int, seed: int) -> IntArray:
    """Choose at most `most` rows, by people where these have several: some of a person's rows would hide how alike they are."""
    if size <= most:
        return np.arange(size)
    chance = np.random.default_rng(seed)
    if groups is None:
        return np.sort(chance.permutation(size)[:most])
    places = chance.permutation(int(groups.person.max()) + 1)[groups.person]
    order = np.argsort(places, kind="stable")
    return np.sort(order[:most])


def _bind_settings(sweep: Sweep, plan: Plan, truth: Original) -> tuple[list[Blur], list[Note]]:
    """The laws of every setting before any is tried; usual values that this table does not allow are left out, and said."""
    blurs, notes = [], []
    first: SfumatoError | None = None
    for setting in sweep.settings:
        try:
            blurs.append(blur_for(sweep.law, setting, plan, truth))
        except SfumatoError as error:
            if sweep.chosen:
                raise
            first = first or error
            notes.append(Note("SF308", f"{in_words(setting)} was left out: {error}"))
    if first is not None and not blurs:
        raise first
    return blurs, notes


def _split(table: Original, groups: RowGroups | None, seed: int) -> Split:
    """Keep a third of the rows, or of the people, to judge by."""
    test_share = 1 / 3
    people = np.arange(table.rows) if groups is None else groups.person
    size = int(people.max(initial=-1)) + 1
    test = (np.random.default_rng(seed).permutation(size) < test_share * size)[people]
    return Split(table.take(~test), table.take(test), None if groups is None else people[~test])


def _score(body: Any, test: Original) -> Scores:
    return score_model(body, test, test.codes)


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def measure_setting(
    whole: Original,
    groups: RowGroups | None,
    blur: Blur,
    plan: Plan,
    questions: Sequence[Question],
    draws: int,
    seed: int,
) -> Measures:
    """Attack a release of all rows at a setting, and ask it the owner's questions, in memory."""

    def draw(number: int) -> View:
        # Nothing is released: this noise protects no one and is thrown away.
        key = SecretKey(np.random.default_rng((seed, number)).bytes(32))
        seen = blur.perturb(whole, key.derive("attack"), None if groups is None else groups.person)
        return View(seen.all_columns, whole.required_target.name)

    truth = {c.name: c.values for c in whole.all_columns}
    return measure(
        draw,
        truth,
        questions,
        draws=draws,
        shuffled=plan.shuffle,
        stated=plan.promises,
        groups=groups,
        seed=seed,
    )


def _point(
    splits: Sequence[Split], blur: Blur, attributes: list[Attribute], strategy: str, seed: int, measures: Measures
) -> Point:
    key = SecretKey(
        np.random.default_rng(seed).bytes(32)
    )  # nothing is released: this noise protects no one and is thrown away
    scores, naive = [], []
    for i, split in enumerate(splits):
        seen = blur.perturb(split.train, key.derive(i), split.people)
        scores.append(_score(STRATEGIES[strategy].grow(seen)[0], split.test))
        naive.append(_score(STRATEGIES["randomized"].grow(seen)[0], split.test).accuracy)
    first = splits[0]
    gaps = {a.name for a in attributes for part in (first.train, first.test) if np.isnan(part[a.name].values).any()}
    accuracies = [s.accuracy for s in scores]
    return Point(
        setting=blur.setting,
        accuracy=float(np.mean(accuracies)),
        spread=_spread(accuracies),
        naive=float(np.mean(naive)),
        error=measures.total_variation or 0.0,
        repeats=len(splits),
        tested=first.test.rows,
        scores=average_scores(scores, first.test.labels),
        measured=measures.to_dict(),
        **blur.promise(attributes, gaps),
    )


def _alone(points: Sequence[Point], choice: dict[str, float] | None) -> list[dict[str, Any]]:
    """The choice in the form of a recommendation."""
    best = max(p.accuracy for p in points)
    return [p.setting | {"accuracy": p.accuracy, "best": best} for p in points if p.setting == choice]


def _laws(blurs: Sequence[Blur]) -> dict[str, str]:
    """The law of each column; two where they change with the setting."""
    names = blurs[0].channels
    joint = blurs[0].joint
    together = set(joint.names) if joint else set()
    by_column = {n: dict.fromkeys(b.channels[n].law for b in blurs) for n in names}
    return {n: joint.law if joint and n in together else OR.join(laws) for n, laws in by_column.items()}


def _companions(sweep: Sweep, blurs: Sequence[Blur], attributes: list[Attribute], named: bool) -> list[Note]:
    """Words on columns that have another law; beside a joint law that the plan itself has `named`, it is the plan's."""
    laws = _laws(blurs)
    others = [a.name for a in attributes if sweep.law not in laws[a.name].split(OR)]
    if not others:
        return []
    standing = " and ".join(dict.fromkeys(law for n in others for law in laws[n].split(OR)))
    names = join_names(others)
    if len(others) == len(attributes):
        words = f"No column takes {sweep.law} itself: {standing} of the same strength stand in for it."
    elif sweep.law == Intervals.law and sweep.axis.parameter == "count":
        same = blurs[0].promise([a for a in attributes if a.name in others])["epsilon"]
        words = (
            f"{names}: labels have no intervals; their {standing} is the same at every setting (ε = {same:.1f} in all)."
        )
    elif sweep.law in JOINT_LAWS and named:
        words = f"{names}: keep the noise that the plan gives them ({standing}), the same at every setting."
    else:
        words = f"{names}: here {standing} of the same strength takes the place of {sweep.law}."
    return [Note("SF309", words)]

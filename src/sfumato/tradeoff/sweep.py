"""A rehearsal: the table is cut in two, the larger part perturbed in memory at each setting and mined as a recipient would.

The model is judged on the true values of the rest. Nothing leaves the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.channels import JOINT_LAWS, Intervals
from sfumato.counts import FloatArray
from sfumato.errors import DataError, SfumatoError, UsageError
from sfumato.mining import STRATEGIES
from sfumato.plans import DEFAULT_LAW, Plan, with_consent
from sfumato.randomness import SecretKey
from sfumato.reconstruction import reconstruct
from sfumato.releases import true_table
from sfumato.schema import Attribute, Consent
from sfumato.table import Table
from sfumato.text import join_names
from sfumato.tradeoff.point import REPEATS, Point, Tradeoff, standard_error
from sfumato.tradeoff.recommendation import choose, recommend
from sfumato.tradeoff.setting import (
    Blur,
    Sweep,
    blur_for,
    in_words,
    law_of,
    modified,
    refuse_nothing_to_blur,
    sweep_for,
)
from sfumato.trees import original as tree_of_truth

TEST_SHARE = 1 / 3
FEWEST_ROWS = 30
MOST_ROWS = 30_000
"""A larger table is sampled: the choice needs no more, and an owner should not wait."""
MOST_REPEATS = 1000
OR = " or "

Progress = Callable[[int, int | None], None]
Split = tuple[Table, Table]


def tradeoff(
    table: Any,
    *,
    target: str | None = None,
    identifier: str | None = None,
    plan: Plan | str | Path | None = None,
    law: str | None = None,
    levels: Sequence[float] | None = None,
    gammas: Sequence[float] | None = None,
    sizes: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    counts: Sequence[float] | None = None,
    ratios: Sequence[float] | None = None,
    repeats: int = REPEATS,
    rows: int = MOST_ROWS,
    strategy: str = "byclass",
    seed: int = 0,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Tradeoff:
    """Sweep the settings of a law on a table with a class.

    Parameters
    ----------
    plan
        Domains, consents and missing values as the owner declared them; without one, a plan is proposed.
    law
        Any law of a plan, or correlated-gaussian; without one, the law that the plan names, or gaussian.
    levels, epsilons, gammas, sizes, counts, ratios
        Values of `privacy`, `epsilon`, `gamma`, `bins`, `count` and `ratio` to sweep, as far as the law has them; without
        any, the law's natural parameter over a usual range.
    repeats
        Random splits into training and test records.
    rows
        A larger table is sampled down to so many rows.
    """
    _check_numbers(repeats, rows, seed)
    if strategy not in STRATEGIES:
        raise UsageError(f"there is no strategy {strategy!r}; choose {join_names(STRATEGIES, 12)}")
    given = {
        "privacy": levels,
        "epsilon": epsilons,
        "gamma": gammas,
        "bins": sizes,
        "count": counts,
        "ratio": ratios,
    }
    if law is not None:
        sweep_for(law, given)  # a wrong word is told before the table is read
    plan = _without_identifier(_plan(table, plan, target, identifier, encoding))
    goal = _class(plan)
    refuse_nothing_to_blur(plan)
    attributes = modified(plan)
    sweep = sweep_for(law or law_of(plan) or DEFAULT_LAW, given, numbers=any(a.kind.numeric for a in attributes))
    whole = _rows_with_class(true_table(plan, table, encoding), goal, rows, seed)
    blurs, notes = _settled(sweep, plan, whole)
    splits = [_split(whole, seed + i) for i in range(repeats)]
    tested = splits[0][1].rows
    truth = [_accuracy(tree_of_truth(train), test) for train, test in splits]
    error = standard_error(float(np.mean(truth)), _spread(truth), repeats, tested)
    majority = float(np.bincount(whole.codes).max() / whole.rows)
    points = []
    for i, blur in enumerate(blurs):
        points.append(_point(splits, blur, attributes, strategy, seed))
        if progress:
            progress(i + 1, len(blurs))
    choice, why = choose(points, sweep.axis, (float(np.mean(truth)), error), majority)
    recommended = recommend(points) if "bins" in points[0].setting else _alone(points, choice)
    return Tradeoff(
        sweep.law,
        goal.name,
        whole.rows,
        float(np.mean(truth)),
        tuple(points),
        tuple(recommended),
        choice,
        why,
        error,
        majority,
        sweep.axis,
        _laws(blurs),
        (*notes, *_companions(sweep, blurs, attributes, law_of(plan) == sweep.law)),
        strategy,
        repeats,
        seed,
    )


def _check_numbers(repeats: int, rows: int, seed: int) -> None:
    if not 1 <= repeats <= MOST_REPEATS:
        raise UsageError(f"--repeats: {repeats} must lie between 1 and {MOST_REPEATS:,}; 3 is usual")
    if rows < FEWEST_ROWS:
        raise UsageError(f"--rows: {rows} are too few to judge accuracy on; at least {FEWEST_ROWS} are needed")
    if seed < 0:
        raise UsageError(f"--seed: {seed} must not be negative")


def _plan(
    table: Any, plan: Plan | str | Path | None, target: str | None, identifier: str | None, encoding: str
) -> Plan:
    if plan is None:
        return Plan.propose(table, target=target, identifier=identifier, encoding=encoding)
    if target is not None or identifier is not None:
        raise UsageError("--target and --id cannot stand beside --plan, which says it all; change the plan instead")
    return plan if isinstance(plan, Plan) else Plan.load(plan)


def _without_identifier(plan: Plan) -> Plan:
    """A released id is a name and no value; nobody predicts from it."""
    named = plan.schema.identifier
    return plan if named is None else with_consent(plan, named.name, Consent.WITHHOLD)


def _class(plan: Plan) -> Attribute:
    """The target, which has to be a class."""
    goal = plan.schema.target
    if goal is None:
        raise UsageError("a trade-off needs a class to be accurate about; name it with --target COLUMN")
    if goal.kind.numeric:
        raise UsageError(
            f"{goal.name}: a target of numbers has no classes; cut it into categories first, or name another --target"
        )
    if goal.domain is None:
        raise UsageError(f"{goal.name}: too many different texts to be classes; name another --target")
    if not goal.released:
        raise UsageError(f'{goal.name}: the plan withholds the class, so nobody could mine it; set consent = "true"')
    return goal


def _rows_with_class(truth: Table, goal: Attribute, most: int, seed: int) -> Table:
    """The rows whose class is known, sampled down where there are many."""
    known = np.flatnonzero(truth.codes >= 0)
    if len(known) < FEWEST_ROWS:
        raise DataError(
            f"{goal.name}: {len(known)} rows with a class are too few to judge accuracy on; at least {FEWEST_ROWS} are needed"
        )
    if len(known) > most:
        known = np.sort(np.random.default_rng(seed).permutation(known)[:most])
    found = np.unique(truth.codes[known])
    if len(found) < 2:
        raise DataError(
            f"{goal.name}: every row is {truth.labels[found[0]]!r}, so there is nothing to predict; name another --target"
        )
    return truth.take(known)


def _settled(sweep: Sweep, plan: Plan, truth: Table) -> tuple[list[Blur], list[str]]:
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
            notes.append(f"{in_words(setting)} was left out: {error}")
    if first is not None and not blurs:
        raise first
    return blurs, notes


def _split(table: Table, seed: int) -> Split:
    test = np.random.default_rng(seed).permutation(table.rows) < TEST_SHARE * table.rows
    return table.take(~test), table.take(test)


def _accuracy(tree: Any, test: Table) -> float:
    return float(tree.accuracy(test, test.codes))


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _point(splits: Sequence[Split], blur: Blur, attributes: list[Attribute], strategy: str, seed: int) -> Point:
    key = SecretKey(np.random.default_rng(seed).bytes(32))  # a rehearsal: this noise protects nobody and is thrown away
    accuracies, naive = [], []
    error = 0.0
    for i, (train, test) in enumerate(splits):
        seen = blur.seen(train, key.derive(i))
        accuracies.append(_accuracy(STRATEGIES[strategy](seen)[0], test))
        naive.append(_accuracy(STRATEGIES["randomized"](seen)[0], test))
        if i == 0:
            distances = [_distance(seen, train, a.name) for a in attributes if not np.isnan(train[a.name].values).all()]
            error = float(np.mean(distances)) if distances else 0.0
    gaps = {a.name for a in attributes for part in splits[0] if np.isnan(part[a.name].values).any()}
    promise = blur.promise(attributes, gaps)
    return Point(
        blur.setting,
        float(np.mean(accuracies)),
        _spread(accuracies),
        float(np.mean(naive)),
        error,
        promise.interval,
        promise.epsilon,
        promise.entropy,
        len(splits),
        splits[0][1].rows,
        promise.reason,
    )


def _distance(seen: Table, true: Table, name: str) -> float:
    found = reconstruct(seen[name])
    codes = true[name].located(found.grid)
    mass: FloatArray = np.bincount(codes[codes >= 0], minlength=found.grid.size) / max((codes >= 0).sum(), 1)
    return float(np.abs(mass - found.mass).sum() / 2)


def _alone(points: Sequence[Point], choice: dict[str, float] | None) -> list[dict[str, Any]]:
    """The choice in the form of a recommendation."""
    best = max(p.accuracy for p in points)
    return [p.setting | {"accuracy": p.accuracy, "best": best} for p in points if p.setting == choice]


def _laws(blurs: Sequence[Blur]) -> dict[str, str]:
    """The law of each column; two where they change with the setting."""
    names = blurs[0].channels
    joint = blurs[0].joint
    together = set(joint.names) if joint else set()
    found = {n: dict.fromkeys(b.channels[n].law for b in blurs) for n in names}
    return {n: joint.law if joint and n in together else OR.join(laws) for n, laws in found.items()}


def _companions(sweep: Sweep, blurs: Sequence[Blur], attributes: list[Attribute], named: bool) -> list[str]:
    """Words on columns that have another law; beside a joint law that the plan itself has `named`, it is the plan's."""
    laws = _laws(blurs)
    others = [a.name for a in attributes if sweep.law not in laws[a.name].split(OR)]
    if not others:
        return []
    standing = " and ".join(dict.fromkeys(law for n in others for law in laws[n].split(OR)))
    if len(others) == len(attributes):
        return [f"No column takes {sweep.law} itself: {standing} of the same strength stand in for it."]
    if sweep.law == Intervals.law and sweep.axis.parameter == "count":
        same = blurs[0].promise([a for a in attributes if a.name in others]).epsilon
        return [
            f"{join_names(others)}: labels have no intervals; their {standing} is the same at every setting (ε = {same:.1f} in all)."
        ]
    if sweep.law in JOINT_LAWS and named:
        return [
            f"{join_names(others)}: keep the noise that the plan gives them ({standing}), the same at every setting."
        ]
    return [f"{join_names(others)}: here {standing} of the same strength takes the place of {sweep.law}."]

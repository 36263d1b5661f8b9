"""A model of all columns as an intruder's tool: what it gains, where it gains nothing, and that draws find no more people."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.made_tables import blur_table, two_groups

from sfumato.attacks import ATTACKS, View, WholeTable
from sfumato.auditing.case import Case
from sfumato.auditing.trial import try_attack
from sfumato.table import Column, Table


def case_of(rows: int, privacy: float) -> Case:
    true = two_groups(rows)
    released = blur_table(true, privacy, gamma=4.0)
    view = View(released.all_columns, "sick")
    return Case.in_memory(view, {c.name: c.values for c in true.all_columns}, targets=300, seed=0)


@pytest.fixture(scope="module")
def case() -> Case:
    return case_of(3000, 1.0)


def test_other_columns_narrow_a_value_beyond_its_own_posterior(case: Case) -> None:
    own = {f.attributes[0]: f for f in try_attack(ATTACKS["posterior"], case)[0]}
    whole = {f.attributes[0]: f for f in try_attack(WholeTable, case)[0]}
    assert set(whole) == {"age", "pay", "town"}
    for name in ("age", "pay"):
        assert whole[name].left[name][0] < 0.9 * own[name].left[name][0]
    assert whole["town"].success > own["town"].success


def test_its_sets_hold_the_truth_as_often_as_they_say(case: Case) -> None:
    claim = WholeTable().run(case.view)
    for recovery in claim.recoveries:
        assert recovery.sets is not None
        covered = recovery.sets.covers(case.truth[recovery.attribute])
        assert np.isfinite(covered).sum() == 2000
        assert np.nanmean(covered) == pytest.approx(0.95, abs=0.035)


def test_the_control_is_people_outside_the_release_whose_other_values_are_known(case: Case) -> None:
    """Who is in one of the groups is known from the true other columns: pays of a group have a standard deviation of 300."""
    control = {f.attributes[0]: f.control_left for f in try_attack(WholeTable, case)[0]}
    assert control["pay"] == pytest.approx(2 * 1.96 * 300, rel=0.3)
    assert control["town"] is not None


def test_it_is_bayes_rule_written_out(case: Case) -> None:
    claim = WholeTable().run(case.view)
    recovery = next(r for r in claim.recoveries if r.attribute == "town")
    model = case.view.table_model
    codes = [f.codes(case.view[f.name]) for f in model.facets]
    row, place = int(np.flatnonzero(~np.isnan(recovery.mean))[7]), model.names.index("town")
    weights = model.mixture.weights.copy()
    for other, (facet, table) in enumerate(zip(model.facets, model.mixture.tables, strict=True)):
        if other != place:
            weights *= table @ facet.kernel.dense()[codes[other][row]]
    posterior = (weights @ model.mixture.tables[place]) * model.facets[place].kernel.dense()[codes[place][row]]
    posterior /= posterior.sum()
    assert recovery.mean[row] == pytest.approx(posterior @ np.arange(2), abs=1e-4)


def test_columns_that_have_nothing_in_common_teach_nothing() -> None:
    chance = np.random.default_rng(6)
    true = two_groups(800)
    apart = Table(tuple(Column(c.attribute, None, chance.permutation(c.values)) for c in true.columns))
    claim = WholeTable().run(View(blur_table(apart).columns))
    assert "do not surely depend" in claim.skipped


def test_draws_find_no_more_people_than_the_release_does(case: Case) -> None:
    (sample,), _ = try_attack(ATTACKS["assignment"], case)
    (drawn,), _ = try_attack(ATTACKS["drawn-linkage"], case)
    assert drawn.baseline == sample.baseline
    assert drawn.success <= sample.interval[1]

"""Rubin's rules: numbers worked out by hand, every form that a statistic may return, and whether intervals hold."""

from __future__ import annotations

import hashlib
import math
from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pytest
from tests.support.made_tables import blur_table, two_groups

import sfumato as sf
from sfumato.errors import DataError, UsageError
from sfumato.modelling import Pooled, TableModel
from sfumato.modelling.bootstrap import rehearse_draws, resample_models
from sfumato.modelling.pooling import POPULATION, TABLE, pool_draws
from sfumato.randomness import SecretKey


def test_rubins_rules_worked_by_hand() -> None:
    """Estimates 1, 2, 3, 4, 5 with errors of 1: ū = 1, b = 2.5, T = 1 + 1.2 · 2.5 = 4, ν = 4 (1 + 1/3)² = 7.11, t = 2.358."""
    pooled = sf.pool([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5)
    assert (float(pooled), pooled.within, pooled.between, pooled.se) == (3.0, 1.0, 2.5, 2.0)
    assert pooled.degrees == pytest.approx(64 / 9)
    assert pooled.high - 3.0 == pytest.approx(2.358 * 2, abs=5e-3)
    assert pooled.of == POPULATION


def test_without_errors_the_interval_is_for_the_rows_behind_the_release() -> None:
    """T = 1.2 · 2.5 = 3 with ν = 4, t = 2.776."""
    pooled = sf.pool([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (pooled.of, pooled.degrees, pooled.within) == (TABLE, 4.0, 0.0)
    assert pooled.high - 3.0 == pytest.approx(2.776 * math.sqrt(3), abs=2e-3)


def test_estimates_that_agree_leave_the_errors_alone() -> None:
    exact = sf.pool([2.0, 2.0, 2.0])
    assert (exact.low, exact.high) == (2.0, 2.0)
    sure = sf.pool([2.0, 2.0, 2.0], [0.5] * 3)
    assert sure.high == pytest.approx(2.0 + 1.959964 * 0.5, abs=1e-4)
    assert sure.to_dict()["degrees"] is None


def test_every_form_that_a_statistic_returns_is_pooled() -> None:
    numbers, errors = [1.0, 3.0], [0.1, 0.2]
    plain = sf.pool(numbers, errors)
    pairs = sf.pool(list(zip(numbers, errors, strict=True)))
    named = sf.pool([{"x": (n, e)} for n, e in zip(numbers, errors, strict=True)])["x"]
    beside = sf.pool([{"x": n} for n in numbers], [{"x": e} for e in errors])["x"]
    listed = sf.pool([np.array([n, 7.0]) for n in numbers], [np.array([e, 1.0]) for e in errors])
    index = SimpleNamespace(params=np.array(numbers[:1]), bse=np.array(errors[:1]))
    other = SimpleNamespace(params=np.array(numbers[1:]), bse=np.array(errors[1:]))
    fitted = sf.pool([index, other])[0]
    for one in (pairs, named, beside, listed[0], fitted):
        assert one.to_dict() == plain.to_dict()
    assert float(listed[1]) == 7.0


@pytest.mark.parametrize(
    ("estimates", "errors", "words"),
    [
        ([1.0], None, "draw at least two tables"),
        ([1.0, 2.0], [0.1], "2 estimates and 1 standard errors"),
        ([(1.0, 0.1), 2.0], None, "some have none"),
        ([{"a": 1.0}, {"b": 1.0}], None, "does not name the same figures"),
        ([{"a": (1.0, 0.1), "b": 2.0}] * 2, None, "b: no standard error"),
        ([np.ones((2, 2))] * 2, None, "shape"),
    ],
)
def test_what_cannot_be_pooled_is_refused_in_a_line(estimates: list[object], errors: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sf.pool(estimates, errors)  # type: ignore[arg-type]


def test_a_figure_that_a_draw_does_not_have_is_refused() -> None:
    with pytest.raises(DataError, match="x: draw 2 has nan"):
        sf.pool([{"x": 1.0}, {"x": math.nan}])


def test_a_lean_that_stands_out_is_taken_off_and_one_that_does_not_is_left() -> None:
    values = np.array([10.0, 10.2, 9.8, 10.1, 9.9])
    surely = Pooled.of_draws(values, None, np.array([-2.0, -2.1, -1.9, -2.0, -2.0]))
    assert float(surely) == pytest.approx(12.0, abs=0.02)
    assert surely.low < 10.1
    hardly = Pooled.of_draws(values, None, np.array([-0.3, 0.3, -0.2, 0.2, 0.01]))
    assert float(hardly) == pytest.approx(10.0, abs=0.01)
    assert hardly.high - hardly.low == pytest.approx(surely.high - surely.low - 8.0, abs=0.3)


def test_draws_pool_a_statistic_in_any_form(tmp_path_factory: pytest.TempPathFactory) -> None:
    plan = sf.plan("iris", privacy=0.25)
    release = sf.release("iris", plan, tmp_path_factory.mktemp("iris") / "release", key=SecretKey(bytes(32)))
    drawn = release.draws(4)

    def mean(table: object) -> float:
        return float(pc.mean(table["petal_length"]).as_py())  # type: ignore[index]

    pooled = drawn.pool(mean)
    assert pooled.low < 3.758 < pooled.high
    frames = drawn.pool(lambda frame: frame["petal_length"].mean(), form="pandas")
    assert float(frames) == pytest.approx(float(pooled))
    assert drawn.pool(mean, rehearse=False).bias == 0.0
    with pytest.raises(UsageError, match="arrow, pandas or polars"):
        drawn.pool(mean, form="excel")


def test_intervals_hold_the_figures_of_the_rows_behind_the_release() -> None:
    """The short form of benchmarks/pooled.py. Of 10 releases at 95 %, 5 or fewer happen less than once in 10,000."""
    settings = sf.FitSettings(components=(4,), starts=1, passes=(30, 0))
    releases, rows, m = 10, 500, 5
    held = {"mean": 0, "correlation": 0}
    for seed in range(releases):
        true = two_groups(rows, seed=500 + seed)
        released = blur_table(true, key=SecretKey(hashlib.sha256(bytes([seed])).digest()))
        model = TableModel.fit(released, settings)
        names = [f"draw {j}" for j in range(m)]
        models = resample_models(model, released, names)
        drawn = [own.draw(released, np.arange(rows), name) for own, name in zip(models, names, strict=True)]
        pairs = rehearse_draws(model, models, released, names, lambda _: None)

        def figures(table: object) -> dict[str, float]:
            age, pay = (table[name].values for name in ("age", "pay"))  # type: ignore[index]
            return {"mean": float(pay.mean()), "correlation": float(np.corrcoef(age, pay)[0, 1])}

        pooled, truth = pool_draws(drawn, figures, pairs), figures(true)
        for name in held:
            held[name] += pooled[name].low <= truth[name] <= pooled[name].high
    assert min(held.values()) >= 6

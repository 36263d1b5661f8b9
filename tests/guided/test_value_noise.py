"""Noise on numbers: its law against draws, its place, and where it is refused; innocent and influential attributes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.owned_tables import category, mixed, number, table

from sfumato.errors import UsageError
from sfumato.guided.tree.owner_tree import Leaves
from sfumato.guided.tree.value_noise import Innocent, Room, ValueNoise, cells_to_perturb, percent_bell
from sfumato.randomness import SecretKey, Stream
from sfumato.schema import Kind
from sfumato.trees.grow.c45 import c45


def stream(key=0):
    return Stream(SecretKey(bytes([key]) * 32))


def room(low, high, step):
    return Room(np.array([float(low)]), np.array([float(high)]), step)


def test_the_bell_of_figure_3_has_the_stated_deviation():
    offsets, chances = percent_bell()
    assert (offsets.min(), offsets.max(), len(offsets)) == (pytest.approx(-0.6), pytest.approx(0.6), 25)
    assert chances.sum() == pytest.approx(1)
    assert np.sqrt(chances @ offsets**2) == pytest.approx(0.276, abs=1e-9)
    np.testing.assert_allclose(chances, chances[::-1])
    assert (np.diff(chances[:13]) > 0).all()
    with pytest.raises(UsageError, match="no bell"):
        percent_bell(0.5)


@pytest.mark.parametrize("kind", ["additive", "relative", "percent"])
@pytest.mark.parametrize("true", [1.0, 4.0, 10.0])
def test_draws_follow_the_stated_chances(kind, true):
    law, place, draws = ValueNoise(kind, 0.276), room(1, 10, 1.0), 40_000
    values = np.arange(1.0, 11.0)
    expected = law.chances(np.array([true]), values, 2.5, Room(np.full(10, 1.0), np.full(10, 10.0), 1.0))[0]
    assert expected.sum() == pytest.approx(1)
    seen = law.draw(np.full(draws, true), 2.5, place, stream())
    counts = np.array([(seen == v).sum() for v in values])
    assert counts.sum() == draws
    assert counts[expected == 0].sum() == 0
    some = expected * draws > 5
    chi = ((counts - expected * draws)[some] ** 2 / (expected * draws)[some]).sum()
    assert chi < 40  # 9 degrees of freedom at most: p < 1e-5


def test_value_1_of_wbc_mostly_rounds_back():
    # e up to 45 % rounds to 1, and below 1 it is clipped: the spec's .96.
    assert ValueNoise("percent").chances(np.ones(1), np.ones(1), 1.0, room(1, 10, 1.0))[0, 0] == pytest.approx(
        0.96, abs=0.005
    )


def test_folding_keeps_a_uniform_column_uniform():
    values = np.repeat(np.arange(6.0), 20_000)
    seen = ValueNoise("additive", 1.0).draw(values, 2.0, room(0, 5, 1.0), stream())
    np.testing.assert_allclose(np.bincount(seen.astype(int), minlength=6), 20_000, atol=5 * np.sqrt(20_000))


def test_released_values_lie_on_the_lattice_and_between_the_ends():
    values = np.round(np.random.default_rng(0).uniform(2, 3, 500), 2)
    seen = ValueNoise("additive", 3.0).draw(values, 1.0, room(2.0, 3.0, 0.01), stream())
    assert seen.min() >= 2.0
    assert seen.max() <= 3.0
    np.testing.assert_allclose(seen, np.round(seen, 2), atol=1e-12)


@pytest.mark.parametrize(
    ("column", "refused"),
    [
        (number("grades", [1.0, 10.0], Kind.INTEGER), False),
        (number("tax", [187.0, 711.0], Kind.INTEGER), True),
        (number("rooms", [3.5, 8.7]), True),
        (number("rooms", [3.5, 8.7], resolution=0.001), True),
        (number("halves", [0.5, 5.0], resolution=0.5), False),
    ],
)
def test_percentages_are_refused_where_they_leave_holes(column, refused):
    law = ValueNoise("percent")
    if not refused:
        law.check(column)
        return
    with pytest.raises(UsageError, match=r"gives no protection here.*Use additive or relative noise, or leaf-swap"):
        law.check(column)


def test_percentages_on_a_continuous_column_are_refused_by_the_method():
    owned = table(
        [number("x", np.linspace(0, 7, 60)), number("z", np.random.default_rng(1).normal(size=60))], np.arange(60) > 30
    )
    with pytest.raises(UsageError, match="z: noise on a grid of percentages gives no protection"):
        Innocent(noise="percent").perturb(owned, stream())


def test_a_date_takes_additive_noise_only():
    with pytest.raises(UsageError, match="relative to 1970"):
        ValueNoise("relative").check(number("day", [1.0, 9.0], Kind.DATE))


@pytest.mark.parametrize("which", ["innocent", "tia", "lia", "influential", "all"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_noise_reaches_the_cells_it_is_meant_for_and_every_record_keeps_its_leaf(which, missing):
    owned = mixed(6, rows=250, numbers=4, missing=missing, signal=1.5)
    tree = c45(owned)
    leaves = Leaves.of(tree, owned)
    cells = cells_to_perturb(owned, leaves, which)
    after = Innocent(which=which, sd=1.0).perturb(owned, stream(), tree=tree).table
    np.testing.assert_array_equal(tree.apply(after), tree.apply(owned))
    for column in owned.columns:
        old, new = column.values, after[column.name].values
        moved = ~((old == new) | (np.isnan(old) & np.isnan(new)))
        meant = cells.get(column.name, np.zeros(owned.rows, bool))
        assert not (moved & ~meant).any()
        if meant.any():
            assert moved.sum() > 0.5 * (meant & ~np.isnan(old)).sum()
        np.testing.assert_array_equal(np.isnan(old), np.isnan(new))
    used = [n for n in tree.used if n.startswith("n")]
    if which == "tia":
        assert not set(cells) & set(used)
    if which == "lia":
        assert set(cells) <= set(used)


def test_heterogeneous_leaves_alone_can_be_perturbed():
    owned = mixed(6, rows=250, numbers=4, signal=1.5)
    tree = c45(owned)
    leaves = Leaves.of(tree, owned)
    after = Innocent(heterogeneous=True).perturb(owned, stream(), tree=tree).table
    pure = ~leaves.heterogeneous[leaves.number]
    for column in owned.columns:
        np.testing.assert_array_equal(after[column.name].values[pure], column.values[pure])


def test_relative_noise_leaves_zeros_and_says_so():
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    x = np.where(rng.random(80) < 0.5, 0.0, rng.uniform(1, 9, 80).round(1))
    owned = table([number("sign", y + 0.1 * rng.normal(size=80)), number("x", x, resolution=0.1)], y)
    done = Innocent(noise="relative").perturb(owned, stream())
    assert (done.table["x"].values[x == 0] == 0).all()
    assert any(w.startswith("x: noise relative to the value leaves every 0") for w in done.warnings)


def test_columns_that_stay_in_clear_are_named():
    owned = table([number("x", np.arange(40.0)), category("c", np.arange(40) % 3, "abc")], np.arange(40) >= 20)
    done = Innocent().perturb(owned, stream())
    assert any(w.startswith("x, c: released as in the original") for w in done.warnings)


def test_a_constant_column_stays():
    owned = table([number("x", np.arange(40.0)), number("k", np.full(40, 3.0), domain=(3, 3))], np.arange(40) >= 20)
    np.testing.assert_array_equal(Innocent().perturb(owned, stream()).table["k"].values, 3.0)


@pytest.mark.parametrize("change", [{"which": "some"}, {"noise": "loud"}, {"sd": 0.0}, {"sd": -1.0}, {"best_of": 0}])
def test_wrong_parameters_are_refused(change):
    with pytest.raises(UsageError):
        Innocent(**change)

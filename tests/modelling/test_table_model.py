"""The joint model of a table behind its noise, and rows drawn from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.made_tables import KEY, blur_table, two_groups

import sfumato as sf
from sfumato.counts import FloatArray
from sfumato.modelling import TableModel
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import Facet, group_cells
from sfumato.modelling.product_mixture import Bins, Expectation, Mixture, maximise, start_mixture
from sfumato.modelling.table_model import HeldRows, locate, run_passes
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column, Table

QUICK = sf.FitSettings(components=(1, 8), starts=2, passes=(30, 5))


def fitted(rows: int = 4000, privacy: float = 0.5) -> tuple[Table, Table, TableModel]:
    true = two_groups(rows)
    released = blur_table(true, privacy)
    return true, released, TableModel.fit(released, QUICK)


def shares(values: FloatArray, bins: int = 25) -> FloatArray:
    counts = np.histogram(values[~np.isnan(values)], bins, (0, 6000))[0]
    return np.asarray(counts / counts.sum())


@pytest.fixture(scope="module")
def usual() -> tuple[Table, Table, TableModel]:
    return fitted()


def small_mixture(released: Table, size: int = 3) -> tuple[tuple[Facet, ...], Bins, Mixture]:
    facets = tuple(Facet.of(c, 8) for c in released.all_columns)
    bins = Bins.of(facets, locate(facets, released))
    return facets, bins, start_mixture(facets, size, np.random.default_rng(3))


def test_likelihood_never_decreases() -> None:
    facets, bins, mixture = small_mixture(blur_table(two_groups(500)))
    heights = []
    for _ in range(25):
        sums = Expectation.of(mixture, facets)(bins)
        heights.append(float(sums.arrays["likelihood"]))
        mixture = maximise(mixture, sums, facets, prior=0.0)
    assert (np.diff(heights) > -1e-2).all()  # each row's part is rounded to 2⁻²⁰, and computed in single precision
    assert heights[-1] > heights[0] + 50


def test_responsibilities_are_bayes_rule_written_out() -> None:
    released = blur_table(two_groups(40))
    facets, bins, mixture = small_mixture(released)
    codes = locate(facets, released)
    naive = np.empty((40, 3))
    for row in range(40):
        for k in range(3):
            naive[row, k] = mixture.weights[k]
            for facet, table, code in zip(facets, mixture.tables, codes, strict=True):
                naive[row, k] *= facet.kernel.dense()[code[row]] @ table[k]
    naive /= naive.sum(axis=1, keepdims=True)
    shares, _ = bins.responsibilities(mixture.log_bins(facets), mixture.log_weights)
    assert shares == pytest.approx(naive, rel=2e-4, abs=1e-6)


def test_sums_over_blocks_are_those_over_all_rows_to_the_last_bit() -> None:
    facets, bins, mixture = small_mixture(blur_table(two_groups(700)))
    count = Expectation.of(mixture, facets)
    whole = count(bins)
    parts = [count(bins.take(np.arange(b, min(b + 97, 700)))) for b in range(0, 700, 97)]
    total = parts[0]
    for part in parts[1:]:
        total += part
    for name in ("counts", "weights", "likelihood"):
        assert (total.arrays[name] == whole.arrays[name]).all()


def test_columns_that_go_together_are_known_better_than_by_themselves(usual: tuple[Table, Table, TableModel]) -> None:
    true, released, model = usual
    drawn = model.draw(released, np.arange(released.rows))

    def together(table: Table) -> float:
        return float(np.corrcoef(table["age"].values, table["pay"].values)[0, 1])

    assert abs(together(drawn) - together(true)) < abs(together(released) - together(true)) / 4
    alone = TableModel.fit(Table(tuple(c for c in released.columns if c.name == "pay")), QUICK)
    by_itself = alone.draw(Table((released["pay"],)), np.arange(released.rows))

    def error(table: Table) -> float:
        return float(np.sqrt(np.mean((table["pay"].values - true["pay"].values) ** 2)))

    assert error(drawn) < error(by_itself)
    assert error(by_itself) < 1.05 * np.sqrt(2) * np.std(released["pay"].values - true["pay"].values)


def test_draws_follow_the_true_distribution_not_the_blurred_one(usual: tuple[Table, Table, TableModel]) -> None:
    true, released, model = usual
    drawn = model.draw(released, np.arange(released.rows))

    def distance(table: Table) -> float:
        return float(abs(shares(table["pay"].values) - shares(true["pay"].values)).sum() / 2)

    assert distance(drawn) < distance(released) / 2
    towns = [float((t["town"].values == t.codes).mean()) for t in (true, released, drawn)]
    assert abs(towns[2] - towns[0]) < abs(towns[1] - towns[0]) / 2


def test_as_noise_goes_to_zero_a_draw_becomes_the_true_row() -> None:
    true = two_groups(1000)
    errors = []
    for privacy in (0.2, 0.02, 0.002):
        released = blur_table(true, privacy, gamma=1e9)
        drawn = TableModel.fit(released, QUICK).draw(released, np.arange(1000))
        errors.append(float(np.abs(drawn["pay"].values - true["pay"].values).mean() / 6000))
        assert (drawn.codes == true.codes).all()
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert (drawn["town"].values == true["town"].values).all()
    assert np.abs(drawn["age"].values - true["age"].values).max() <= 1


def test_what_was_released_as_true_is_drawn_as_it_is() -> None:
    true = two_groups(300)
    drawn = TableModel.fit(true, QUICK).draw(true, np.arange(300))
    for ours, theirs in zip(drawn.all_columns, true.all_columns, strict=True):
        assert (ours.values == theirs.values).all()


def test_draws_lie_on_the_columns_own_values(usual: tuple[Table, Table, TableModel]) -> None:
    drawn = usual[2].draw(usual[1], np.arange(usual[1].rows))
    assert (drawn["age"].values == np.round(drawn["age"].values)).all()
    assert drawn["age"].values.min() >= 0
    assert drawn["age"].values.max() <= 100
    assert drawn["pay"].values.min() >= 0
    assert drawn["pay"].values.max() <= 6000


def test_a_draw_belongs_to_its_row_and_not_to_its_block(usual: tuple[Table, Table, TableModel]) -> None:
    _, released, model = usual
    whole = model.draw(released, np.arange(4000))
    part = model.draw(released.take(np.arange(1000, 1100)), np.arange(1000, 1100))
    for ours, theirs in zip(part.all_columns, whole.all_columns, strict=True):
        assert (ours.values == theirs.values[1000:1100]).all()
    other = model.draw(released, np.arange(4000), "another")
    assert (other["pay"].values != whole["pay"].values).mean() > 0.9


def test_missing_values_stay_missing_and_are_learned_from() -> None:
    true = two_groups(3000)
    holes = (true.codes == 1) & (np.arange(3000) % 2 == 0)
    gapped = [replace(c, values=np.where(holes, np.nan, c.values)) if c.name == "pay" else c for c in true.columns]
    released = blur_table(Table(tuple(gapped), true.target))
    model = TableModel.fit(released, QUICK)
    drawn = model.draw(released, np.arange(3000))
    assert (np.isnan(drawn["pay"].values) == holes).all()
    fresh = model.sample(3000)
    missing = np.isnan(fresh["pay"].values)
    assert abs(missing.mean() - holes.mean()) < 0.04
    assert fresh.codes[missing].mean() > 0.8  # only the sick lack it


def test_few_rows_of_columns_that_have_nothing_in_common_take_one_component() -> None:
    chance = np.random.default_rng(5)
    names = [Attribute(n, Kind.REAL, Interval(0, 1)) for n in "ab"]
    true = Table(tuple(Column(a, None, chance.random(600)) for a in names))
    model = TableModel.fit(blur_table(true), sf.FitSettings(components=(1, 4, 16)))
    assert model.chosen["components"] == 1
    assert "do not show" in model.chosen["why"]


def test_new_rows_have_the_dependences_of_the_true_ones(usual: tuple[Table, Table, TableModel]) -> None:
    true, _, model = usual
    fresh = model.sample(20_000, seed=4)

    def together(table: Table) -> float:
        return float(np.corrcoef(table["age"].values, table["pay"].values)[0, 1])

    assert together(fresh) == pytest.approx(together(true), abs=0.08)
    assert fresh.codes.mean() == pytest.approx(true.codes.mean(), abs=0.02)


def test_held_rows_and_a_fold_give_the_same_model() -> None:
    released = blur_table(two_groups(3000))
    settings = replace(QUICK, sketch=1000)
    whole = TableModel.fit(released, settings)

    class Blocks(HeldRows):
        def fold(self, count: object) -> object:
            total = None
            for begin in range(0, 3000, 701):
                rows = np.arange(begin, min(begin + 701, 3000))
                part = count(self.table.take(rows), rows)  # type: ignore[operator]
                total = part if total is None else total + part
            return total

    folded = TableModel.fit(Blocks(released), replace(settings, rows=2999))
    # The sample that cuts the cells lacks one row, so only the same cells make the same model.
    assert folded.rows == whole.rows == 3000
    again = TableModel.fit(Blocks(released), settings)
    for ours, theirs in zip(again.mixture.tables, whole.mixture.tables, strict=True):
        assert (ours == theirs).all()


def test_groups_of_cells_cover_all_and_split_the_mass() -> None:
    mass = np.exp(-np.linspace(0, 20, 300))
    first = group_cells(mass, 32)
    assert first[0] == 0
    assert (np.diff(first) > 0).all()
    assert 16 <= len(first) <= 32


def test_a_posterior_draw_has_the_probabilities_of_bayes_rule() -> None:
    labels = ("a", "b", "c")
    attribute = Attribute("x", Kind.CATEGORICAL, Categories(labels))
    law = sf.Substitution(gamma=5.0).on(attribute)
    chance = np.random.default_rng(8)
    true = Column(attribute, None, chance.choice(3, 30_000, p=[0.6, 0.3, 0.1]).astype(float))
    released = Table((true.through(law, KEY),))
    drawn = TableModel.fit(released, sf.FitSettings(components=(1,)))
    picks = drawn.draw(released, np.arange(30_000))["x"].values
    kernel = np.where(np.eye(3), 5 / 7, 1 / 7)
    posterior = kernel * [0.6, 0.3, 0.1]
    posterior /= posterior.sum(axis=1, keepdims=True)
    for seen in range(3):
        rows = released["x"].values == seen
        counts = np.bincount(picks[rows].astype(int), minlength=3)
        assert counts / rows.sum() == pytest.approx(posterior[seen], abs=0.05)


def test_run_passes_comes_to_rest() -> None:
    facets, bins, mixture = small_mixture(blur_table(two_groups(400)))
    near = run_passes(mixture, facets, bins, 300, prior=0.5)
    after = run_passes(near, facets, bins, 1, prior=0.5)
    assert max(float(np.abs(a - b).max()) for a, b in zip(near.tables, after.tables, strict=True)) < 5e-3


def test_a_cell_that_no_noise_leads_into_gives_its_near_end() -> None:
    attribute = Attribute("x", Kind.REAL, Interval(0, 100))
    law = sf.Gaussian(sigma=0.01).on(attribute)
    true = Column(attribute, None, np.random.default_rng(4).random(500) * 100)
    facet = Facet.of(true.through(law, KEY), 8)
    edges = facet.fine.finite_edges[facet.first]
    beside = Column(attribute, law, np.full(50, edges[3] + 1.0))  # a hundred standard deviations above the third group
    chance = Chance.of_rows(np.arange(50), "any")
    drawn = facet.values(np.full(50, 2), facet.codes(beside), beside, chance)
    assert drawn == pytest.approx(np.full(50, edges[3]), abs=0.02)

"""Every law on every kind of column, through the model of the whole table: draws are legal values, and nearer to the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from tests.support.made_tables import KEY

import sfumato as sf
from sfumato.channels import CHANNELS, Channel
from sfumato.counts import FloatArray
from sfumato.modelling import TableModel
from sfumato.modelling.facets import Facet
from sfumato.modelling.product_mixture import Bins, Expectation, Mixture, start_mixture
from sfumato.modelling.table_model import locate, run_passes
from sfumato.scales import Log
from sfumato.schema import Attribute, Categories, Interval, Kind, Missing
from sfumato.table import Column, Table

ROWS = 1500
CHANCE_ERROR = 0.05
"""Of the total variation that 1,500 rows behind noise leave."""
QUICK = sf.FitSettings(components=(1, 4), starts=1, passes=(20, 2))

REAL = Attribute("income", Kind.REAL, Interval(-20.0, 130.0))
TENTHS = Attribute("acidity", Kind.REAL, Interval(0.0, 2.5), resolution=0.1)
SMALL = Attribute("children", Kind.INTEGER, Interval(0, 9))
FIVES = Attribute("pulse", Kind.INTEGER, Interval(40, 200), resolution=5)
DAY = Attribute("birth", Kind.DATE, Interval(-3653, 18262))
TAIL = Attribute("fortune", Kind.REAL, Interval(0.0, 1e6), scale=Log())
LABELS = Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "black", "white")))
GRADES = Attribute("grade", Kind.ORDINAL, Categories(("low", "middle", "high")))
ABSENT = Attribute("answer", Kind.CATEGORICAL, Categories(("yes", "no")), missing=Missing.CATEGORY)
MANY = Attribute("place", Kind.CATEGORICAL, Categories(tuple(f"{i:04}" for i in range(600))))
NUMBERS = (REAL, TENTHS, SMALL, FIVES, DAY, TAIL)
LABELLED = (LABELS, GRADES, ABSENT, MANY)


@dataclass(frozen=True)
class Case:
    wish: Channel | None
    attribute: Attribute
    gaps: bool

    def __str__(self) -> str:
        law = "true" if self.wish is None else self.wish.law
        return f"{law}-{self.attribute.name}{'-gaps' if self.gaps else ''}".replace(" ", "-")

    @cached_property
    def law(self) -> Channel | None:
        return None if self.wish is None else self.wish.on(self.attribute)

    @cached_property
    def true(self) -> Table:
        """A skewed column, and a class that follows it."""
        chance = np.random.default_rng(11)
        place = chance.beta(1.5, 5.0, ROWS)
        if self.attribute.kind.numeric:
            low, step = self.attribute.interval.low, self.attribute.step
            values = low + place * self.attribute.interval.range
            values = np.round(values / step) * step if step else values
        else:
            values = np.floor(place * len(self.attribute.labels))
        if self.gaps:
            values = np.where(chance.random(ROWS) < 0.1, np.nan, values)
        sick = (chance.random(ROWS) < np.where(place < 0.2, 0.15, 0.85)).astype(np.int64)
        return Table((Column(self.attribute, None, values),), Column.of_codes("sick", ("no", "yes"), sick))

    @cached_property
    def released(self) -> Table:
        if self.law is None:
            return self.true
        return replace(self.true, columns=(self.true.columns[0].through(self.law, KEY),))


CASES = [
    Case(wish, attribute, gaps)
    for wish in (None, *(wish for law in CHANNELS.values() for wish in law.examples()[:1]))
    for attribute in (
        *(NUMBERS if wish is None or wish.numeric else ()),
        *(LABELLED if wish is None or wish.categorical else ()),
    )
    for gaps in (False, True)
    if not (wish is None and attribute.scale) and not (gaps and attribute not in (REAL, LABELS, MANY))
]


def test_every_law_and_kind_is_walked() -> None:
    assert {case.wish.law for case in CASES if case.wish} == set(CHANNELS)
    for law in CHANNELS.values():
        walked = {case.attribute.kind for case in CASES if case.wish and case.wish.law == law.law}
        numbers = {Kind.REAL, Kind.INTEGER, Kind.DATE} if law.numeric else set()
        assert walked == numbers | ({Kind.CATEGORICAL, Kind.ORDINAL} if law.categorical else set())


def assert_legal(column: Column) -> None:
    values, attribute = column.values[~np.isnan(column.values)], column.attribute
    if not attribute.kind.numeric:
        assert np.isin(values, np.arange(len(attribute.labels))).all()
        return
    assert values.min() >= attribute.interval.low
    assert values.max() <= attribute.interval.high
    if step := attribute.step:
        assert np.abs(values / step - np.round(values / step)).max() < 1e-9


def distance(case: Case, column: Column) -> float:
    """Return the total variation from the true values, on 20 cells; labels in groups of 30 where there are hundreds."""
    true = case.true.columns[0]

    def shares(values: FloatArray) -> FloatArray:
        held = values[~np.isnan(values)]
        if case.attribute.kind.numeric:
            ends = case.attribute.interval
            places = np.clip((held - ends.low) / ends.range * 20, 0, 19)
        else:
            places = held // (30 if len(case.attribute.labels) > 100 else 1)
        counts = np.bincount(places.astype(int), minlength=40)
        return np.asarray(counts / counts.sum())

    return float(np.abs(shares(column.values) - shares(true.values)).sum() / 2)


def height(mixture: Mixture, facets: Sequence[Facet], bins: Bins) -> float:
    """Return the log-likelihood of released rows."""
    return float(Expectation.of(mixture, facets)(bins).arrays["likelihood"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_are_legal_values_and_nearer_to_the_truth_than_what_was_released(case: Case) -> None:
    model = TableModel.fit(case.released, QUICK)
    drawn = model.draw(case.released, np.arange(ROWS)).columns[0]
    fresh = model.sample(ROWS).columns[0]
    assert_legal(drawn)
    assert_legal(fresh)
    missing = np.isnan(case.true.columns[0].values)
    assert (np.isnan(drawn.values) == missing).all()
    assert abs(np.isnan(fresh.values).mean() - missing.mean()) < 0.05
    seen = case.released.columns[0]
    readable = seen.channel is None or seen.channel.reports is None
    before = distance(case, seen) if readable else 1.0
    after, new = distance(case, drawn), distance(case, fresh)
    assert after < before + CHANCE_ERROR
    assert new < before + 2 * CHANCE_ERROR
    if case.law is None:
        assert np.array_equal(drawn.values, seen.values, equal_nan=True)
    mixture = start_mixture(model.facets, 4, np.random.default_rng(3))
    bins = Bins.of(model.facets, locate(model.facets, case.released))
    heights = [
        height(run_passes(mixture, model.facets, bins, passes, 0.0), model.facets, bins) for passes in (0, 1, 10)
    ]
    assert heights[0] < heights[1] <= heights[2] + 1e-2  # sums of single precision

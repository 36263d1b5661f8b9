"""Every law, walked and counted: what is sampled is what is stated."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy import stats

from sfumato.channels import (
    CHANNELS,
    CellRule,
    Channel,
    Gaussian,
    Intervals,
    Laplace,
    SquareWave,
    Substitution,
    Uniform,
)
from sfumato.counts import Grid
from sfumato.errors import UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind, Missing

KEY = SecretKey(bytes(range(32)))
DRAWS = 200_000
FALSE_ALARM = 1e-8
"""Of one chi-square; there are fewer than a thousand, so the whole file errs less than once in 100,000 keys."""

REAL = Attribute("income", Kind.REAL, Interval(-20.0, 130.0))
TENTHS = Attribute("acidity", Kind.REAL, Interval(0.0, 2.5), resolution=0.1)
SMALL = Attribute("children", Kind.INTEGER, Interval(0, 9))
LARGE = Attribute("salary", Kind.INTEGER, Interval(-700, 4300))
FIVES = Attribute("pulse", Kind.INTEGER, Interval(40, 200), resolution=5)
DAY = Attribute("birth", Kind.DATE, Interval(-3653, 18262))
LABELS = Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "black", "white")))
GRADES = Attribute("grade", Kind.ORDINAL, Categories(("low", "middle", "high")))
ABSENT = Attribute("answer", Kind.CATEGORICAL, Categories(("yes", "no")), missing=Missing.CATEGORY)
CODES = Attribute("zip", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(40))))
NUMERIC = (REAL, TENTHS, SMALL, LARGE, FIVES, DAY)

SKEWED = ((0.7, 0.1, 0.0), (0.2, 0.8, 0.3), (0.1, 0.1, 0.7))

LABELLED = (LABELS, GRADES, ABSENT, CODES)


def attributes_of(law: type[Channel]) -> tuple[Attribute, ...]:
    """Every attribute that a law says it can act on."""
    return (*(NUMERIC if law.numeric else ()), *(LABELLED if law.categorical else ()))


WISHES: list[tuple[Channel, tuple[Attribute, ...]]] = [
    *((wish, attributes_of(law)) for law in CHANNELS.values() for wish in law.examples()),
    (Gaussian(sigma=0.8), (REAL, TENTHS, SMALL)),
    (Uniform(privacy=1.0), NUMERIC),
    (Uniform(alpha=1.5), (TENTHS, SMALL)),
    (Laplace(privacy=0.7), NUMERIC),
    (Laplace(b=0.6), (TENTHS, SMALL)),
    (Intervals(edges=(-1.0, 2.0, 3.0, 9.5)), (SMALL, TENTHS)),
    (Substitution(rho1=0.05, rho2=0.5), (LABELS, ABSENT)),
    (Substitution(privacy=0.5, bins=30), (REAL, LARGE)),
    (Substitution(signal=0.4), (GRADES, SMALL)),
    (Substitution(matrix=SKEWED), (GRADES, ABSENT)),
    (Substitution(matrix=SKEWED, bins=3), (REAL, LARGE)),
]
"""The examples of every law on every attribute it acts on, and wishes that fit some attributes only."""


@dataclass(frozen=True)
class Case:
    wish: Channel
    attribute: Attribute

    @cached_property
    def law(self) -> Channel:
        return self.wish.on(self.attribute)

    @property
    def true_grid(self) -> Grid:
        if self.attribute.missing is Missing.CATEGORY:
            return Grid.categories((*self.attribute.categories, "(missing)"))
        return Grid.over(self.attribute, 20)

    @property
    def true_values(self) -> list[float]:
        """Both ends of the domain and two values inside it."""
        attribute = self.attribute
        if not attribute.kind.numeric:
            return [float(code) for code in range(self.true_grid.size)]
        low, high = attribute.interval.low, attribute.interval.high
        inner = [low + 0.31 * (high - low), low + 0.5 * (high - low)]
        if step := attribute.step:
            inner = [float(repr(round(round(v / step) * step, 10))) for v in inner]
        return [low, *inner, high]

    def __str__(self) -> str:
        words = "-".join(f"{k}={v}" for k, v in self.wish.to_dict().items() if k not in ("law", "matrix", "edges"))
        return f"{self.wish.law}-{words}-{self.attribute.name}"


CASES = [Case(wish, attribute) for wish, attributes in WISHES for attribute in attributes]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """The p-value, after neighbouring cells are pooled until each expects at least ten."""
    assert observed[expected == 0].sum() == 0, "a value was drawn that the law calls impossible"
    pooled_observed, pooled_expected, o, e = [], [], 0.0, 0.0
    for seen, hoped in zip(observed, expected, strict=True):
        o, e = o + seen, e + hoped
        if e >= 10:
            pooled_observed.append(o)
            pooled_expected.append(e)
            o = e = 0.0
    pooled_observed[-1] += o
    pooled_expected[-1] += e
    if len(pooled_observed) == 1:
        return 1.0
    statistic = sum((a - b) ** 2 / b for a, b in zip(pooled_observed, pooled_expected, strict=True))
    return float(stats.chi2.sf(statistic, len(pooled_observed) - 1))


def assert_drawn_from(released: np.ndarray, observed: Grid, column: np.ndarray) -> None:
    counts = np.bincount(observed.locate(released), minlength=observed.size)
    assert chi_square(counts, column * len(released)) > FALSE_ALARM


def odd_grids(case: Case) -> list[Grid]:
    law, natural = case.law, case.law.observed_grid(case.true_grid)
    ends = natural.finite_edges
    low, high = float(ends[0]), float(ends[-1])
    span = high - low
    wild = np.array([low - span, low + 0.07 * span, low + 0.071 * span, low + 0.5 * span, high + 3 * span])
    grids = [
        natural,
        Grid.cells(low, high, 2),
        Grid.cells(low - 0.3 * span, high + 0.4 * span, 3001),
        Grid(edges=wild),
        Grid(edges=np.array([-np.inf, low + span / 3, np.inf])),
        Grid(edges=np.array([low + 0.4 * span, low + 0.6 * span])),
        Grid(atoms=np.array([low + span / 2])),
        Grid(atoms=np.array([low, low + 0.2 * span, low + 0.9 * span])),
    ]
    if step := law.step:
        first = math.floor(low / step)
        grids.append(Grid(atoms=(first + np.arange(min(4000, math.ceil(span / step) + 1))) * step, step=step))
    return grids


def test_every_law_is_walked() -> None:
    assert len(CHANNELS) >= 7
    walked = {case.wish.law for case in CASES}
    assert walked == set(CHANNELS)
    for law, about in CHANNELS.items():
        assert attributes_of(about), f"{law} acts on no attribute"
        assert about.examples(), f"{law} has no example"
        assert all(type(wish) is about for wish in about.examples())


every_law = pytest.mark.parametrize("law", CHANNELS.values(), ids=list(CHANNELS))


@pytest.mark.parametrize("law", [c for c in CHANNELS.values() if not c.categorical], ids=lambda c: c.law)
def test_laws_of_numbers_refuse_categories_and_say_what_to_use(law: type[Channel]) -> None:
    with pytest.raises(UsageError, match=r"colour: .*numeric.*substitution"):
        law.examples()[0].on(LABELS)


@pytest.mark.parametrize("law", [c for c in CHANNELS.values() if not c.numeric], ids=lambda c: c.law)
def test_laws_of_categories_refuse_numbers_and_say_what_to_use(law: type[Channel]) -> None:
    with pytest.raises(UsageError, match=r"income: .*categories.*substitution"):
        law.examples()[0].on(REAL)


@every_law
def test_a_wish_that_is_not_bound_answers_nothing_and_names_the_next_step(law: type[Channel]) -> None:
    one = np.ones(1)
    grid = Grid.cells(0, 1, 2)
    questions: dict[str, tuple[object, ...]] = {
        "sample": (one, np.ones((1, 2), np.uint64)),
        "perturb": (KEY, Rows(0, 1), one),
        "transition": (grid, grid),
        "observed_grid": (grid,),
        "guarantee": (),
        "interval_width": (0.95,),
        "in_words": (),
        "cdf": (one,),
        "cdf_integral": (one,),
        "density": (one,),
        "noise": (np.ones(1, np.uint64),),
        "matrix_product": (np.ones((2, 1)),),
    }
    for wish in law.examples():
        assert not wish.is_bound
        asked = [name for name in questions if hasattr(law, name)]
        assert len(asked) >= 7
        for name in asked:
            with pytest.raises(
                UsageError, match=rf"^{law.law}: not bound to a column yet; call \.on\(attribute\) first$"
            ):
                getattr(wish, name)(*questions[name])
        assert wish.on(attributes_of(law)[0]).is_bound


@every_law
def test_a_law_speaks_for_itself(law: type[Channel]) -> None:
    assert law.summary().endswith(".")
    assert set(law.default) <= set(law.parameters())
    assert all(law.parameters().values()), "a parameter has no word on what it is"
    wish = law(**law.default)
    for attribute in (*NUMERIC, *LABELLED):
        stands_in = wish if attribute in attributes_of(law) else wish.companion()
        assert stands_in.on(attribute).in_words()
    for parameter, values in {**law.sweep, **law.sweep_beside}.items():
        assert parameter in law.parameters()
        assert list(values) == sorted(set(values))
    assert law.sweep, "a law that cannot be swept cannot be chosen by its trade-off"
    assert law.sweep[next(iter(law.sweep))], "the natural parameter has no values to begin with"


@every_case
def test_samples_obey_the_stated_law_at_every_true_value(case: Case) -> None:
    law, natural = case.law, case.law.observed_grid(case.true_grid)
    for place, value in enumerate(case.true_values):
        released = law.perturb(KEY.derive("law", str(case), place), Rows(0, DRAWS), np.full(DRAWS, value))
        column = law.transition(Grid(atoms=np.array([value])), natural)[:, 0]
        assert_drawn_from(released, natural, column)


@every_case
def test_samples_obey_the_law_of_the_released_value_on_its_finest_lattice(case: Case) -> None:
    """Rounding is part of the law: each single released value has the probability that is stated for it."""
    law, value = case.law, case.true_values[1]
    released = law.perturb(KEY.derive("lattice", str(case)), Rows(0, DRAWS), np.full(DRAWS, value))
    step = law.step
    if step and case.wish.law != "intervals":
        centre = round(np.median(released) / step)
        grid = Grid(atoms=np.arange(centre - 300, centre + 301) * step, step=step)
        quotient = released / step
        assert np.abs(quotient - np.round(quotient)).max() < 1e-6
    else:
        grid = Grid(atoms=np.unique(released))
    assert_drawn_from(released, grid, law.transition(Grid(atoms=np.array([value])), grid)[:, 0])


@every_case
def test_samples_of_a_whole_cell_obey_its_column(case: Case) -> None:
    law, true = case.law, case.true_grid
    natural = law.observed_grid(true)
    table = law.transition(true, natural)
    for place in sorted({0, true.size // 2, true.size - 1}):
        numbers = np.random.default_rng(place)
        if true.atoms is not None:
            values = np.full(DRAWS, true.atoms[place])
        elif step := true.step:
            low, high = true.points[place], true.points[place + 1]
            values = numbers.integers(math.ceil(low / step), math.floor(high / step), DRAWS, endpoint=True) * step
        else:
            values = numbers.uniform(true.points[place], true.points[place + 1], DRAWS)
        released = law.perturb(KEY.derive("cell", str(case), place), Rows(0, DRAWS), values)
        assert_drawn_from(released, natural, table[:, place])


@every_case
def test_columns_of_the_law_add_up_to_one_on_any_grid(case: Case) -> None:
    domain = case.true_grid
    trues = [domain, Grid(atoms=np.array(case.true_values[:1]))]
    if case.attribute.kind.numeric:
        low, high = case.attribute.interval.low, case.attribute.interval.high
        trues += [Grid.cells(low, high, 1), Grid.cells(low, high, 257), Grid(edges=np.array([low, low + 1e-3, high]))]
    for true in trues:
        for observed in odd_grids(case):
            table = case.law.transition(true, observed)
            assert table.shape == (observed.size, true.size)
            assert np.abs(table.sum(axis=0) - 1).max() < 1e-9
            assert table.min() >= 0


@every_case
def test_a_cell_of_the_law_is_the_mean_of_its_values(case: Case) -> None:
    """The naive twin: the column of a cell against many single values spread over it."""
    law, true = case.law, case.true_grid
    if true.atoms is not None:
        return
    observed = law.observed_grid(true)
    table = law.transition(true, observed)
    for place in (0, true.size // 2, true.size - 1):
        low, high = true.points[place], true.points[place + 1]
        if true.step:
            values = np.arange(math.ceil(low / true.step), math.floor(high / true.step) + 1) * true.step
        else:
            values = low + (np.arange(4000) + 0.5) * (high - low) / 4000
        twin = law.transition(Grid(atoms=values), observed).mean(axis=1)
        assert np.abs(twin - table[:, place]).max() < (2e-3 if true.step else 1e-3)


@every_case
def test_a_law_is_the_same_after_it_is_written_and_read(case: Case) -> None:
    law = case.law
    again = Channel.from_dict(json.loads(json.dumps(law.to_dict())))
    assert again == law
    assert again.to_dict() == law.to_dict()
    assert json.dumps(again.to_dict(), allow_nan=False)
    assert Channel.from_dict(json.loads(json.dumps(case.wish.to_dict()))).on(case.attribute) == law
    values = np.resize(case.true_values, 1000)
    assert again.perturb(KEY, Rows(0, 1000), values).tobytes() == law.perturb(KEY, Rows(0, 1000), values).tobytes()
    true = case.true_grid
    observed = law.observed_grid(true)
    assert np.array_equal(again.transition(true, observed), law.transition(true, observed))


@every_case
def test_blocks_of_any_size_give_identical_bytes(case: Case) -> None:
    size = 10_000
    values = np.random.default_rng(3).choice(case.true_values, size)
    whole = case.law.perturb(KEY, Rows(5, size), values)
    for block in (7, 4096):
        parts = [
            case.law.perturb(KEY, Rows(5 + begin, len(values[begin : begin + block])), values[begin : begin + block])
            for begin in range(0, size, block)
        ]
        assert np.concatenate(parts).tobytes() == whole.tobytes()
    singly = [case.law.perturb(KEY, Rows(5 + i, 1), values[i : i + 1]) for i in range(300)]
    assert np.concatenate(singly).tobytes() == whole[:300].tobytes()
    order = np.random.default_rng(4).permutation(size)
    shuffled = case.law.perturb(KEY, Rows(5, size).take(np.ones(size, bool)).take(order), values[order])
    assert shuffled.tobytes() == whole[order].tobytes()


@every_case
def test_settling_a_law_is_done_once_and_its_figures_are_sound(case: Case) -> None:
    law = case.law
    guarantee = law.guarantee()
    assert guarantee.gamma > 1
    assert (guarantee.reason is None) == math.isfinite(guarantee.epsilon)
    widths = [law.interval_width(c) for c in (0.5, 0.95, 0.999)]
    assert 0 < widths[0] <= widths[1] <= widths[2] < math.inf
    assert set(case.wish.parameters()) <= set(type(law).__dataclass_fields__)


@every_case
def test_a_stated_epsilon_bounds_every_likelihood_ratio(case: Case) -> None:
    """max over outputs and pairs of inputs of P(y|x)/P(y|x′) ≤ e^ε, on the finest lattice, ends included."""
    law = case.law
    gamma = law.guarantee().gamma
    if not math.isfinite(gamma):
        return
    step = law.step if case.wish.law != "substitution" else None
    true = Grid(atoms=np.array(sorted(case.true_values)))
    if step is None:
        grid = law.observed_grid(case.true_grid)
    else:
        natural = law.observed_grid(case.true_grid).finite_edges
        reach = 6 * (natural[-1] - natural[0])  # far beyond any end, where nothing is released at all
        low, high = (math.floor((natural[0] - reach) / step), math.ceil((natural[-1] + reach) / step))
        stride = max(1, (high - low) // 30_000)
        grid = Grid(edges=(np.arange(low, high, stride) - 0.5) * step, step=step)
    table = law.transition(true, grid)
    most, least = table.max(axis=1), table.min(axis=1)
    assert (most <= gamma * (least * (1 + 1e-9) + 5e-16)).all()  # differences of probabilities near 1 round to 1e-16
    if case.wish.law != "laplace" and (step is None or case.attribute is REAL):
        assert (most[most > 1e-9] / least[most > 1e-9]).max() == pytest.approx(gamma, rel=1e-6), "the bound is reached"


def test_the_midpoint_kernel_is_equation_3_of_the_2000_paper() -> None:
    true, observed = Grid.cells(0, 100, 10), Grid.cells(-50, 150, 20)
    centres_true, centres_observed = 5 + 10 * np.arange(10), -45 + 10 * np.arange(20)
    apart = centres_observed[:, None] - centres_true[None, :]
    attribute = Attribute("a", Kind.REAL, Interval(0, 100))
    cases = [
        (Gaussian(sigma=7), np.exp(-(apart**2) / 98) / (7 * math.sqrt(2 * math.pi))),
        (Uniform(alpha=25), np.where(np.abs(apart) <= 25, 1 / 50, 0)),
        (Laplace(b=6), np.exp(-np.abs(apart) / 6) / 12),
    ]
    for wish, density in cases:
        law = wish.on(attribute)
        assert np.allclose(law.transition(true, observed, CellRule.MIDPOINT), 10 * density, rtol=1e-12, atol=0)
        assert not np.allclose(law.transition(true, observed), 10 * density, atol=1e-4), "exact is another thing"


def test_the_midpoint_kernel_comes_close_to_the_exact_one_on_fine_grids() -> None:
    attribute = Attribute("a", Kind.REAL, Interval(0, 100))
    for wish in (Gaussian(sigma=15), Laplace(b=15), SquareWave(epsilon=1)):
        law = wish.on(attribute)
        true = Grid.cells(0, 100, 200)
        observed = law.observed_grid(true)
        near = law.transition(true, observed, CellRule.MIDPOINT)[1:-1]
        assert np.abs(near - law.transition(true, observed)[1:-1]).sum(axis=0).max() < 0.02


def test_integers_under_gaussian_noise_have_the_law_of_the_rounded_sum() -> None:
    law = Gaussian(sigma=1.3).on(SMALL)
    values = np.arange(-5, 12)
    table = law.transition(Grid(atoms=np.arange(10.0)), Grid(atoms=values.astype(float), step=1.0))
    for true in range(10):
        by_hand = stats.norm.cdf((values + 0.5 - true) / 1.3) - stats.norm.cdf((values - 0.5 - true) / 1.3)
        assert np.allclose(table[1:-1, true], by_hand[1:-1], atol=2.4e-7)  # straight between multiples of σ/512


def test_reals_are_released_on_a_lattice_that_is_fine_beside_the_noise() -> None:
    for wish in (Gaussian(privacy=0.5), Uniform(privacy=0.5), Laplace(privacy=0.5)):
        law = wish.on(REAL)
        assert law.step is not None
        assert 0 < law.step <= law.scale / 500
        released = law.perturb(KEY, Rows(0, 1000), np.full(1000, math.pi))
        assert np.array_equal(released, [float(f"{v:.10g}") for v in released]), "decimals that people can read"


def test_a_declared_resolution_is_the_lattice_of_the_release() -> None:
    for wish in (Gaussian(privacy=0.5), SquareWave(epsilon=1)):
        assert wish.on(TENTHS).step == 0.1
        released = wish.on(FIVES).perturb(KEY, Rows(0, 1000), np.full(1000, 60.0))
        assert np.all(released % 5 == 0)


def test_table_1_of_the_2000_paper() -> None:
    """Width of the interval that holds the true value with 50, 95, 99.9 % confidence."""
    attribute = Attribute("a", Kind.REAL, Interval(0, 100))
    for confidence in (0.5, 0.95, 0.999):
        assert Uniform(alpha=7).on(attribute).interval_width(confidence) == pytest.approx(confidence * 2 * 7)
        assert Intervals(count=10).on(attribute).interval_width(confidence) == pytest.approx(confidence * 10)
    gaussian = Gaussian(sigma=1).on(attribute)
    assert gaussian.interval_width(0.5) == pytest.approx(1.34, abs=0.01)
    assert gaussian.interval_width(0.95) == pytest.approx(3.92, abs=0.001)
    assert gaussian.interval_width(0.999) == pytest.approx(6.58, abs=0.01)  # printed as 6.8 in the paper


def test_privacy_is_a_fraction_of_the_range_at_95_percent() -> None:
    attribute = Attribute("a", Kind.REAL, Interval(20, 120))
    assert Gaussian(privacy=1.0).on(attribute).sigma == pytest.approx(100 / 3.92, rel=1e-4)
    assert Uniform(privacy=1.0).on(attribute).alpha == pytest.approx(100 / 0.95 / 2)
    assert Laplace(privacy=1.0).on(attribute).b == pytest.approx(100 / (2 * math.log(20)))
    assert Gaussian(privacy=1.0, confidence=0.5).on(attribute).sigma == pytest.approx(100 / 1.349, rel=1e-3)
    for wish in (Gaussian, Uniform, Laplace, SquareWave):
        for privacy in (0.25, 0.5, 0.75):
            assert wish(privacy=privacy).on(attribute).interval_width(0.95) == pytest.approx(100 * privacy, rel=1e-6)
    assert Substitution(privacy=0.5).on(attribute).interval_width(0.95) == pytest.approx(50)
    assert Intervals(privacy=0.2).on(attribute).interval_width(0.95) >= 20


def test_gamma_19_keeps_a_belief_of_5_percent_from_becoming_50() -> None:
    law = Substitution(rho1=0.05, rho2=0.5).on(LABELS)
    assert law.gamma == pytest.approx(19)
    assert law.guarantee().epsilon == pytest.approx(math.log(19))
    assert round(law.guarantee().epsilon, 3) == 2.944
    table = law.transition(Grid.categories(LABELS.categories), Grid.categories(LABELS.categories))
    assert np.allclose(table, (18 * np.eye(5) + 1) / (19 + 4))
    # The worst event: one value, prior 5 %, seen as itself, all else one value that is never seen as it more often.
    posterior = 0.05 * table[0, 0] / (0.05 * table[0, 0] + 0.95 * table[0, 1])
    assert posterior == pytest.approx(0.5)


def test_columns_of_the_gamma_diagonal_have_the_entropy_of_dowd() -> None:
    """H = −γ/t log₂ γ/t − (N−1)/t log₂ 1/t with t = γ+N−1."""
    law = Substitution(gamma=19, bins=20).on(REAL)
    grid = Grid.over(REAL, 20)
    column = law.transition(grid, law.observed_grid(grid))[:, 3]
    t = 19 + 20 - 1
    assert -(column * np.log2(column)).sum() == pytest.approx(-19 / t * math.log2(19 / t) - 19 / t * math.log2(1 / t))


def test_laplace_states_range_over_b_and_square_wave_what_was_asked() -> None:
    attribute = Attribute("a", Kind.REAL, Interval(0, 10))
    assert Laplace(b=4).on(attribute).guarantee().epsilon == pytest.approx(2.5)
    assert SquareWave(epsilon=0.7).on(attribute).guarantee().epsilon == pytest.approx(0.7)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 12.0, 30.0, 50.0])
def test_laplace_can_release_for_one_true_value_whatever_it_can_for_another(epsilon: float) -> None:
    """Words of the last blocks: the farthest draw from one end of the domain covers all that the other end can release."""
    law = Laplace(b=100 / epsilon).on(Attribute("a", Kind.REAL, Interval(0, 100)))
    last = law.table.blocks.starts[-1]
    words = np.array([[last, 0], [last + np.uint64(1), 0]], np.uint64)
    from_low, from_high = law.sample(np.zeros(2), words), law.sample(np.full(2, 100.0), words)
    assert max(from_low) == max(from_high) == pytest.approx(100 + 16 * law.b, abs=law.step)
    assert min(from_low) == min(from_high) == pytest.approx(-16 * law.b, abs=law.step)


def test_square_wave_has_the_published_densities() -> None:
    """Li et al. 2020: p = e^ε/(2b e^ε + 1) within b of the value, q = p/e^ε elsewhere on [−b, 1+b]."""
    law = SquareWave(epsilon=1.0).on(Attribute("a", Kind.REAL, Interval(0, 1), resolution=1e-4))
    e = math.e
    b = (e - e + 1) / (2 * e * (e - 1 - 1))
    p, q = e / (2 * b * e + 1), 1 / (2 * b * e + 1)
    grid = Grid(
        edges=np.array([-np.inf, -b - 0.01, -b + 0.01, 0.25 - b + 0.01, 0.25, 1 + b - 0.01, 1 + b + 0.01, np.inf])
    )
    column = law.transition(Grid(atoms=np.array([0.25])), grid)[:, 0]
    by_hand = [0, 0.01 * q, 0.24 * q + 0.01 * p, (b - 0.01) * p, p * b + q * (1 - 0.25 - 0.01), 0.01 * q, 0]
    assert np.allclose(column, by_hand, atol=2e-4)


@pytest.mark.parametrize(
    "wish", [Intervals(count=10), Intervals(edges=(0.0, 0.3, 0.7, 1.0)), Substitution(gamma=5, bins=7)]
)
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.7, 1.0), (0.0, 1.1)])
def test_decimals_fall_into_the_bin_that_the_law_says(wish: Channel, low: float, high: float) -> None:
    """0.3 is not 0.1 + 0.1 + 0.1 in binary; law and sampler must agree on it all the same."""
    attribute = Attribute("tenths", Kind.REAL, Interval(low, high), resolution=0.1)
    if wish.to_dict().get("edges") and (low, high) != (0.0, 1.0):
        return
    law = wish.on(attribute)
    as_written = np.array([round(k / 10, 1) for k in range(round(low * 10), round(high * 10) + 1)])
    lattice = Grid.over(attribute, 40)
    assert lattice.atoms is not None
    bins = law.bins_of(as_written)
    table = law.transition(lattice, law.observed_grid(lattice))
    assert np.array_equal(bins, table.argmax(axis=0))
    if wish == Intervals(count=10) and (low, high) == (0.0, 1.0):
        assert list(bins) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]


def test_released_decimals_are_counted_where_the_law_puts_them() -> None:
    law = Gaussian(sigma=0.4).on(TENTHS)
    cells = Grid.cells(-2, 4, 60)
    released = law.perturb(KEY, Rows(0, DRAWS), np.full(DRAWS, 0.7))
    assert_drawn_from(released, cells, law.transition(Grid(atoms=np.array([0.7])), cells)[:, 0])


@pytest.mark.parametrize("attribute", [SMALL, LARGE, FIVES, DAY], ids=lambda a: a.name)
@pytest.mark.parametrize("wish", [Intervals(count=4), Intervals(privacy=0.13), Substitution(gamma=9, bins=7)], ids=str)
def test_whole_numbers_stay_whole_and_inside_their_bin(attribute: Attribute, wish: Channel) -> None:
    law = wish.on(attribute)
    values = law.representatives
    assert np.array_equal(values / attribute.step, np.round(values / attribute.step))
    assert np.array_equal(law.bins_of(values), np.arange(len(values)))


@pytest.mark.parametrize("law", CHANNELS)
@pytest.mark.parametrize("field", ["privacy", "confidence", "sigma", "alpha", "b", "gamma", "epsilon", "count", "bins"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 1e300, "much"])
def test_no_senseless_parameter_passes(law: str, field: str, value: object) -> None:
    if field not in CHANNELS[law].parameters():
        return
    wishes = {"law": law, field: value}
    if field in ("confidence", "bins"):
        wishes["gamma" if law == "substitution" and field == "bins" else "privacy"] = (
            0.3 if field == "confidence" else 19
        )
    absurd_but_sound = {("gaussian", "sigma"), ("uniform", "alpha"), ("laplace", "b"), ("substitution", "gamma")}
    if value == 1e300 and ((law, field) in absurd_but_sound or field == "privacy"):
        return
    with pytest.raises(UsageError):
        Channel.from_dict(wishes).on(REAL)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"law": "gausian"}, "gausian"),
        ({"law": "gaussian", "sd": 3}, "sd"),
        ({"law": "gaussian", "sigma": 1, "privacy": 0.5}, "exactly one"),
        ({"law": "gaussian"}, "exactly one"),
        ({"law": "gaussian", "sigma": True}, "sigma"),
        ({"law": "intervals", "edges": [-20, 130]}, "two intervals"),
        ({"law": "intervals", "edges": [0, 50, 130]}, "leave part"),
        ({"law": "intervals", "edges": [-math.inf, 50, math.inf]}, "finite"),
        ({"law": "intervals", "edges": [-20, math.nan, 130]}, "edges"),
        ({"law": "intervals", "privacy": 0.9}, "0.475"),
        ({"law": "substitution", "matrix": [[1, 0], [0, 1]], "bins": 3}, "3 × 3"),
        ({"law": "substitution", "matrix": [[0.9, 0.2], [0.2, 0.8]], "bins": 2}, "add up to 1"),
        ({"law": "substitution", "gamma": 1}, "exceed 1"),
        ({"law": "substitution", "rho1": 0.5, "rho2": 0.05}, "rho1"),
        ({"law": "substitution", "rho1": 0.5}, "rho"),
        ({"law": "substitution", "epsilon": 1000}, "epsilon"),
        ({"law": "substitution", "signal": 1}, "signal"),
        ({"law": "substitution", "gamma": 19, "bins": 2.5}, "whole number"),
        ({"law": "substitution", "privacy": 0.001}, "less than one value"),
        ({"law": "square-wave", "epsilon": 200}, "200"),
        ({"law": "square-wave", "privacy": 2}, "out of reach"),
    ],
)
def test_a_wrong_wish_is_refused_in_words(data: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Channel.from_dict(data).on(REAL)


def test_noise_that_the_released_type_cannot_hold_is_refused() -> None:
    for attribute in (SMALL, DAY):
        for wish in (Gaussian(sigma=1e18), Uniform(alpha=1e19), Laplace(b=1e18)):
            with pytest.raises(UsageError, match=attribute.name):
                wish.on(attribute)
    with pytest.raises(UsageError, match="birth"):
        Gaussian(sigma=365.25 * 5000).on(DAY)  # most releases would lie beyond the calendar


def test_a_domain_too_far_from_zero_for_its_noise_is_refused() -> None:
    """At 10¹⁵ neighbouring floats are 0.125 apart: noise of 0.01 would be rounded away, or rounded to a few values."""
    far = Attribute("far", Kind.REAL, Interval(1e15, 1e15 + 1))
    for wish in (Gaussian(privacy=0.05), Uniform(privacy=0.05), Laplace(privacy=0.05), SquareWave(epsilon=1)):
        with pytest.raises(UsageError, match="far"):
            wish.on(far)


def test_a_stated_grid_takes_the_place_of_the_attributes_own() -> None:
    from sfumato.channels import Gaussian
    from sfumato.errors import UsageError
    from sfumato.randomness import Rows, SecretKey
    from sfumato.schema import Attribute, Interval, Kind

    age = Attribute("age", Kind.INTEGER, Interval(0, 120))
    law = Gaussian(sigma=9.0, step=0.5).on(age)
    released = law.perturb(SecretKey(bytes(32)), Rows(0, 2000), np.full(2000, 40.0))
    assert np.array_equal(released * 2, np.floor(released * 2))
    assert (released != np.floor(released)).any()
    with pytest.raises(UsageError, match="step"):
        Gaussian(sigma=9.0, step=-1.0).on(age)

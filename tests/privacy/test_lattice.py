"""Noise that the grid rounds away: how many cells stay exactly true, by the law and by its samples."""

import math

import numpy as np
import pyarrow as pa
import pytest

from sfumato.attacks._belief import Belief, values_in_cells
from sfumato.attacks.base import Recovery
from sfumato.auditing.runner import audit
from sfumato.auditing.score import interval_left
from sfumato.channels import Channel, Gaussian, Intervals, Laplace, SquareWave, Substitution, Uniform
from sfumato.counts import Grid
from sfumato.description import describe_manifest
from sfumato.errors import UsageError
from sfumato.plans import Plan
from sfumato.privacy import figures
from sfumato.privacy.figures import exactly_true, hides_little
from sfumato.randomness import Rows, SecretKey
from sfumato.releasing import release
from sfumato.schema import Attribute, Interval, Kind, Schema
from sfumato.table import Column

RATING = Attribute("rating", Kind.INTEGER, Interval(1, 12))
QUARTERS = Attribute("quarters", Kind.REAL, Interval(0, 5), resolution=0.25)
LAWS = (
    Gaussian(privacy=0.2),
    Uniform(privacy=0.3),
    Laplace(privacy=0.4),
    SquareWave(epsilon=2.0),
    Intervals(privacy=0.08),
    Intervals(count=5),
    Intervals(count=30),
    Substitution(gamma=8.0),
    Substitution(gamma=8.0, bins=7),
    Gaussian(sigma=0.5, step=0.05),
    Gaussian(sigma=1.0, step=3.0),
)


@pytest.mark.parametrize("attribute", [RATING, QUARTERS], ids=lambda a: a.name)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_samples_hold_the_true_value_as_often_as_the_law_says(law: Channel, attribute: Attribute) -> None:
    bound = law.on(attribute)
    step, low = attribute.step, attribute.interval.low
    n = 100_000
    true = low + step * np.random.default_rng(5).integers(0, round(attribute.interval.range / step) + 1, n)
    released = bound.perturb(SecretKey(b"k" * 32), Rows(0, n), true)
    # A centre half-way between two values stands for the lower, noise half-way up for the upper one.
    down = 1e-6 if isinstance(law, Intervals | Substitution) else 0.0
    seen = float(np.mean(np.floor(released / step + 0.5 - down) * step == true))
    stated = exactly_true(bound, attribute)
    assert stated is not None
    assert abs(seen - stated) <= 5 * math.sqrt(stated * (1 - stated) / n) + 1e-9


def test_the_share_by_hand():
    # 11 intervals over 1 … 12: ten hold one number each, the last holds 11 and 12 and shows the lower.
    assert exactly_true(Intervals(privacy=0.08).on(RATING), RATING) == pytest.approx(11 / 12)
    # α = 1: half of U[−1, 1] rounds to nothing.
    assert exactly_true(Uniform(alpha=1.0).on(RATING), RATING) == pytest.approx(0.5)
    assert exactly_true(Gaussian(sigma=0.5).on(RATING), RATING) == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert exactly_true(Substitution(gamma=9.0).on(RATING), RATING) == pytest.approx(9 / 20)


def test_off_a_grid_there_is_no_share():
    real = Attribute("x", Kind.REAL, Interval(0, 10))
    about = figures(Gaussian(privacy=0.5).on(real), real)
    assert about["exactly_true"] is None
    assert not hides_little(Gaussian(privacy=0.5).on(real), real)


@pytest.mark.parametrize(
    ("law", "advice"),
    [(Uniform(privacy=0.05), "privacy of 0.17 or more"), (Intervals(count=30), "at most 6 intervals")],
)
def test_noise_that_changes_nothing_is_refused_with_the_next_step(law, advice, tmp_path):
    table = pa.table({"rating": [1, 5, 12] * 10})
    with pytest.raises(
        UsageError, match=rf"rating: {law.law} noise .* leaves 100 % of the cells exactly true.*{advice}"
    ):
        release(table, Plan(Schema((RATING,)), {"rating": law}), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_what_the_refusal_asks_for_changes_every_other_cell():
    assert exactly_true(Uniform(privacy=0.1728).on(RATING), RATING) == pytest.approx(0.5, abs=0.01)
    assert exactly_true(Intervals(count=6).on(RATING), RATING) == pytest.approx(0.5)


def test_mostly_true_cells_are_a_figure_and_a_caution(tmp_path):
    made = release(
        pa.table({"rating": [1, 5, 12] * 10}), Plan(Schema((RATING,)), {"rating": Gaussian(sigma=0.2)}), tmp_path / "r"
    )
    about = describe_manifest(made.manifest)
    privacy = about["attributes"]["rating"]["privacy"]
    assert privacy["exactly_true"] == pytest.approx(math.erf(2.5 / math.sqrt(2)))
    assert privacy["in_words"].endswith("; but 98.76 % of the cells are exactly true")
    assert any("exactly their true value: rating (98.76 %)" in line for line in about["cautions"])


def test_a_fine_grid_has_no_caution(tmp_path):
    age = Attribute("age", Kind.INTEGER, Interval(0, 100))
    made = release(pa.table({"age": [1, 50, 99]}), Plan(Schema((age,)), {"age": Gaussian(privacy=0.5)}), tmp_path / "r")
    about = describe_manifest(made.manifest)
    assert about["attributes"]["age"]["privacy"]["in_words"] == "50 (50 % of the range)"
    assert not any("exactly" in line for line in about["cautions"])


def test_intervals_end_where_the_domain_does():
    real = Attribute("x", Kind.REAL, Interval(0, 100))
    wide = Intervals(edges=(-1000.0, -500.0, 10.0, 1100.0, 2000.0)).on(real)
    assert wide.edges == (0.0, 10.0, 100.0)
    assert figures(wide, real)["interval_width_95"] == pytest.approx(9.5)
    age = Attribute("age", Kind.INTEGER, Interval(0, 99))
    assert Intervals(edges=(-0.5, 49.5, 99.5)).on(age).edges == (-0.5, 49.5, 99.5)
    with pytest.raises(UsageError, match="lies in one interval"):
        Intervals(edges=(-10.0, -5.0, 200.0)).on(real)


def test_a_known_number_leaves_no_interval():
    law = Intervals(privacy=0.08).on(RATING)
    true = np.tile(np.arange(1.0, 13.0), 50)
    released = law.sample(true, np.zeros((len(true), 2), dtype=np.uint64))
    belief = Belief.of(Column(RATING, law, released))
    widths = belief.of_rows(belief.set_widths)
    assert np.all(widths[true <= 10] == 0)
    assert widths[true >= 11] == pytest.approx(1.9, abs=0.01)


def test_cells_hold_the_values_of_their_lattice():
    assert values_in_cells(Grid(edges=np.linspace(1.0, 12.0, 12), step=1.0)).tolist() == [1] * 10 + [2]
    assert values_in_cells(Grid(edges=np.array([0.0, 0.5, 50.0, 100.0]), step=1.0)).tolist() == [1, 49, 51]
    assert values_in_cells(Grid(atoms=np.array([0.0, 3.0]))).tolist() == [1, 1]
    assert np.isinf(values_in_cells(Grid(edges=np.array([0.0, 1.0])))).all()


def test_errors_on_a_grid_count_cells_and_no_error_counts_nothing():
    truth = np.tile([4.0, 5.0, 6.0], 200)
    guess = Recovery("x", np.full(600, 5.0), np.full(600, 5.0))
    assert interval_left(guess, truth, None, True, 0, 1.0)[0] == 3.0
    assert interval_left(guess, truth, None, True, 0)[0] == 2.0
    right = Recovery("x", truth, truth)
    assert interval_left(right, truth, None, True, 0, 1.0) == (0.0, 0.0, 0.0)


def test_the_audit_breaks_a_promise_that_the_grid_does_not_keep(tmp_path):
    table = pa.table({"rating": np.random.default_rng(3).integers(1, 13, 1200)})
    made = release(table, Plan(Schema((RATING,)), {"rating": Intervals(privacy=0.08)}), tmp_path / "r")
    promise = audit(table, made).promises[0]
    assert promise.verdict == "broken"
    assert promise.left < 0.5
    assert "leaves 91.67 % of the cells exactly true" in promise.in_words
    assert "rounded away in most cells" in promise.remedy

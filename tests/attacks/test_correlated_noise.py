"""The defence: correlated gaussian noise as a joint law, keyed by the whole record."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.correlated import shaped_like

from sfumato.channels import Gaussian
from sfumato.channels.correlated import CorrelatedGaussian
from sfumato.errors import DataError, UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute, Interval, Kind

KEY = SecretKey(bytes(range(32)))
ATTRIBUTES = (
    Attribute("a", Kind.REAL, Interval(0, 100)),
    Attribute("b", Kind.REAL, Interval(-50, 50)),
    Attribute("n", Kind.INTEGER, Interval(0, 1000)),
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 3)) @ np.array([[1, 0, 0], [0.8, 0.6, 0], [0.5, -0.2, 0.8]]).T
    return np.column_stack([50 + 8 * z[:, 0], 5 * z[:, 1], np.round(500 + 60 * z[:, 2])])


def test_the_noise_has_the_shape_of_the_data_and_is_independent_of_them(table):
    law = shaped_like(table, ATTRIBUTES, 0.5)
    noise = law.perturb(KEY, Rows(0, len(table)), table) - table
    assert np.cov(noise, rowvar=False) == pytest.approx(np.array(law.covariance), rel=0.06, abs=1.0)
    cross = np.corrcoef(np.column_stack([noise, table]), rowvar=False)[:3, 3:]
    assert np.abs(cross).max() < 4.5 / np.sqrt(len(table))


def test_each_column_alone_has_the_gaussian_law_of_its_marginal(table):
    from scipy.special import ndtr

    law = shaped_like(table, ATTRIBUTES, 1.0)
    noise = law.perturb(KEY, Rows(0, len(table)), table)[:, 0] - table[:, 0]
    marginal = law.marginal(ATTRIBUTES[0])
    assert isinstance(marginal, Gaussian)
    assert marginal.interval_width(0.95) == pytest.approx(law.interval_width("a"))
    ranks = (np.arange(len(noise)) + 0.5) / len(noise)
    assert np.abs(ndtr(np.sort(noise) / marginal.sigma) - ranks).max() < 2.3 / np.sqrt(len(noise))


def test_the_covariance_of_the_data_comes_back_from_the_release(table):
    law = shaped_like(table, ATTRIBUTES, 1.0)
    released = law.perturb(KEY, Rows(0, len(table)), table)
    covariance = np.cov(released, rowvar=False) - np.array(law.covariance)  # Σx = Σy − Σr
    scale = table.std(axis=0)
    assert released.mean(axis=0) == pytest.approx(table.mean(axis=0), abs=0.05 * scale.max())
    gap = (covariance - np.cov(table, rowvar=False)) / np.outer(scale, scale)
    assert np.abs(gap).max() < 0.08


def test_a_record_has_the_same_noise_in_any_block_and_another_when_one_value_changes(table):
    law = shaped_like(table, ATTRIBUTES, 1.0)
    whole = law.perturb(KEY, Rows(0, 100), table[:100])
    part = law.perturb(KEY, Rows(40, 10), table[40:50])
    assert np.array_equal(whole[40:50], part)
    changed = table[:100].copy()
    changed[7, 1] += 1.0
    again = law.perturb(KEY, Rows(0, 100), changed)
    assert np.array_equal(np.delete(again, 7, axis=0), np.delete(whole, 7, axis=0))
    difference = (again[7] - changed[7]) - (whole[7] - table[7])
    assert (np.abs(difference) > 1e-6).all()


def test_two_scales_have_independent_noise(table):
    law = shaped_like(table, ATTRIBUTES, 1.0)
    louder = shaped_like(table, ATTRIBUTES, 4.0)
    first, second = (s.perturb(KEY, Rows(0, len(table)), table) - table for s in (law, louder))
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 4.5 / np.sqrt(len(table))


def test_released_whole_numbers_stay_whole_and_missing_values_missing(table):
    holes = table[:50].copy()
    holes[3, 0] = np.nan
    law = shaped_like(table, ATTRIBUTES, 1.0)
    out = law.perturb(KEY, Rows(0, 50), holes)
    assert np.array_equal(out[:, 2], np.round(out[:, 2]))
    assert np.isnan(out[3, 0])
    assert np.isfinite(np.delete(out.ravel(), 9)).all()


def test_the_law_survives_its_own_plain_data(table):
    law = shaped_like(table, ATTRIBUTES, 1.0)
    assert CorrelatedGaussian.from_dict(law.to_dict()) == law


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda t: shaped_like(t, ATTRIBUTES, 0.0), UsageError, "ratio = 0"),
        (lambda t: shaped_like(t[:1], ATTRIBUTES), DataError, "does not vary"),
        (lambda _: CorrelatedGaussian(("a", "b"), ((1.0, 2.0), (2.0, 1.0))), UsageError, "negative eigenvalue"),
        (lambda _: CorrelatedGaussian(("a", "b"), ((1.0, 2.0),)), UsageError, "symmetric"),
    ],
)
def test_what_cannot_be_is_refused_in_words(build, error, words, table):
    with pytest.raises(error, match=words):
        build(table)

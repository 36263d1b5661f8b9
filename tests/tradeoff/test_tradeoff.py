"""Privacy against accuracy before anything is released."""

import math

import pytest

from sfumato.errors import UsageError
from sfumato.tradeoff import Point, recommend, report, tradeoff


def point(gamma, bins, accuracy, spread=0.01):
    return Point({"gamma": gamma, "bins": bins}, accuracy, spread, 0.5, 0.1, 0.9, 1.0, 3.0)


def test_the_smallest_n_within_noise_of_the_best_is_recommended_for_each_gamma():
    points = [point(5.0, 5, 0.70), point(5.0, 10, 0.795), point(5.0, 20, 0.80), point(8.0, 5, 0.9), point(8.0, 10, 0.9)]
    assert [(r["gamma"], r["bins"]) for r in recommend(points)] == [(5.0, 10), (8.0, 5)]


def test_more_noise_costs_accuracy_and_reconstruction_helps():
    found = tradeoff("iris", levels=(0.1, 2.0), repeats=2)
    gentle, harsh = found.points
    assert gentle.accuracy > harsh.accuracy
    assert gentle.interval < harsh.interval
    assert gentle.error < harsh.error
    assert found.original > 0.85


def test_substitution_is_swept_over_gamma_and_n_and_drawn():
    found = tradeoff("breast_cancer_wisconsin", law="substitution", gammas=(5.0, 12.0), sizes=(5, 10), repeats=2)
    assert len(found.points) == 4
    assert [r["gamma"] for r in found.recommended] == [5.0, 12.0]
    assert all(p.entropy is not None for p in found.points)
    # Sixteen of its nuclei are missing and stay so in a release: present or missing is seen, whatever γ.
    assert all(p.epsilon is None for p in found.points)
    text = report(found)
    assert text.count("<svg") == 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_table_without_a_class_is_refused():
    import pyarrow as pa

    with pytest.raises(UsageError, match="--target"):
        tradeoff(pa.table({"x": list(range(50)), "y": [i % 7 for i in range(50)]}))


def test_a_table_without_gaps_has_the_epsilon_of_its_columns_together():
    found = tradeoff("iris", law="substitution", gammas=(5.0,), sizes=(5,), repeats=1)
    assert found.points[0].epsilon == pytest.approx(4 * math.log(5))

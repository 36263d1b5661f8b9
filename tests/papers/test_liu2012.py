from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.papers.liu2012 import PAPER, TABLES, Setting, numeric_table, sweep, table1

TINY = Setting("tiny", 2, 1, starts=3)


def test_the_tables_are_those_of_the_paper():
    assert {n: numeric_table(n).shape for n in TABLES} == {
        "iris": (150, 4),
        "glass": (214, 9),
        "yeast": (1484, 8),
    }


def test_printed_accuracies_are_single_runs_but_for_one_that_belongs_to_another_table():
    rows = {"iris": 150, "glass": 214, "yeast": 1484}

    def single(value: float, n: int) -> bool:
        return abs(value - round(value * n) / n) <= 0.00005 + 1e-9

    odd = [(d, k, m) for (d, k), cells in PAPER.items() for m, v in cells.items() if not single(v, rows[d])]
    assert odd == [("yeast", 2, "rdd")]
    assert single(PAPER["yeast", 2]["rdd"], rows["glass"])


def test_table_one_has_every_method_with_spread_and_privacy_beside_it():
    results = table1({"iris": numeric_table("iris")}, TINY)
    assert len(results["rows"]) == 2 * 7
    for row in results["rows"]:
        assert set(row["rerun"]) == {"mean", "sd", "min", "median", "runs"}
        assert {"link", "resid", "var", "ceiling", "single_start"} <= set(row)
        assert row["invertible"] is (row["method"] == "trap")
    assert {line["check"] for line in results["targets"] if not line["met"]} <= {"racc rerun mean"}
    assert len(results["targets"]) == 2 * 14
    json.dumps(results)


def test_the_experiment_repeats():
    tables = {"iris": numeric_table("iris")}
    assert table1(tables, TINY, clusters=(2,)) == table1(tables, TINY, clusters=(2,))


def test_accuracy_falls_with_sigma_where_there_is_noise_and_stays_where_there_is_none():
    rows = sweep({"iris": numeric_table("iris")}, (0.01, 0.5), clusters=(3,), draws=2)
    by = {(r["method"], r["sigma"]): r["rerun"]["mean"] for r in rows}
    assert by["geometric", 0.01] > 0.98 > 0.8 > by["geometric", 0.5]
    for law in ("racc", "racc-haar", "swap-v", "racc-v"):
        assert by[law, 0.01] == by[law, 0.5] > 0.95


def test_other_tables_run_too_without_a_paper_beside_them():
    x = np.random.default_rng(0).uniform(size=(90, 3))
    results = table1({"mine": x}, TINY, clusters=(2,))
    assert results["targets"] == []
    assert all(row["paper"] is None for row in results["rows"])


def test_missing_values_are_left_out_of_bundled_tables():
    assert len(numeric_table("breast_cancer_wisconsin")) == 683


@pytest.mark.parametrize(("rows", "draws"), [(214, 30), (1484, 10)])
def test_larger_tables_are_drawn_less_often(rows, draws):
    assert Setting("full", 30, 10).draws_of(rows) == draws

"""The short form of benchmarks/verdicts.py: verdict and headline risk follow how many people can be found."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sfumato.attacks import View
from sfumato.auditing import find_people
from sfumato.channels import Gaussian, Substitution
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.table import Column

ROOT = Path(__file__).resolve().parents[2]
STRENGTHS = (0.1, 0.5, 1.0, 4.0)


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("verdicts")


@pytest.fixture(scope="module")
def cells(bench):
    tables = ("breast_cancer_wisconsin", "yeast")
    keys = [SecretKey(bytes([i]) * 32) for i in range(len(STRENGTHS))]
    return [cell for table in tables for cell in bench.measure(table, table, STRENGTHS, keys)]


def test_more_noise_never_makes_the_verdict_worse(bench, cells):
    assert bench.inversions(cells) == []
    assert {str(c.decision) for c in cells} >= {"do-not-publish", "fit"}


def test_the_headline_risk_is_the_share_of_people_who_are_found(bench, cells):
    assert bench.correlation(cells) >= bench.MIN_CORRELATION
    for cell in cells:
        share = cell.found / 100
        assert abs(cell.risk - cell.found) < 100 * 4.5 * np.sqrt(share * (1 - share) / 500) + 1.5, cell


def test_a_worse_verdict_at_more_noise_is_an_inversion(bench, cells):
    fit = next(c for c in cells if str(c.decision) == "fit")
    swapped = [bench.Cell(**{**vars(fit), "privacy": 0.01}), *(c for c in cells if c.table == fit.table)]
    assert len(bench.inversions(swapped)) == 1


def test_the_search_for_people_agrees_with_that_of_the_audit_though_they_share_no_code(bench):
    rng = np.random.default_rng(11)
    n = 400
    attributes = {
        "x": Attribute("x", Kind.REAL, Interval(0, 100)),
        "y": Attribute("y", Kind.INTEGER, Interval(0, 60)),
        "c": Attribute("c", Kind.CATEGORICAL, Categories(tuple("abcdef"))),
        "k": Attribute("k", Kind.CATEGORICAL, Categories(("no", "yes"))),
    }
    truth = {
        "x": rng.normal(50, 15, n).clip(0, 100),
        "y": rng.integers(0, 61, n) * 1.0,
        "c": rng.integers(0, 6, n) * 1.0,
        "k": rng.integers(0, 2, n) * 1.0,
    }
    truth["y"][::13] = np.nan
    laws = {"x": Gaussian(sigma=8.0), "y": Gaussian(sigma=6.0), "c": Substitution(gamma=12.0), "k": None}
    columns = []
    for name, law in laws.items():
        true = Column(attributes[name], None, truth[name])
        columns.append(
            true if law is None else true.through(law.on(attributes[name]), SecretKey(bytes(32)).derive(name))
        )
    own = bench.share_found(columns, truth, np.arange(n))
    audit = find_people(View(tuple(columns)), truth, targets=n).share
    assert 0.1 < own < 0.9
    assert audit == pytest.approx(own, abs=0.04)

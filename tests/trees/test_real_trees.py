"""The short form of benchmarks/real_trees.py: no strategy falls below the commonest class of a real table."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sfumato.mining.scores import score_model
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases.reader import read_original
from sfumato.trees import STRATEGIES

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("real_trees")


@pytest.mark.parametrize(("name", "privacy"), [("german_credit", 0.5), ("credit_approval", 2.0)])
def test_no_strategy_is_below_the_commonest_class(bench, name, privacy):
    whole = read_original(name, Plan.propose(name, target="class", noise="gaussian", privacy=privacy))
    train, fresh = bench.split_rows(whole, 0, 10_000)
    released = bench.blur(train, "gaussian", privacy, SecretKey(hashlib.sha256(name.encode()).digest()))
    majority = float(np.mean(fresh.codes == np.bincount(train.codes).argmax()))
    for strategy in ("randomized", "global", "byclass", "joint", "auto"):
        body, _ = STRATEGIES[strategy].grow(released)
        accuracy = score_model(body, fresh, fresh.codes).accuracy
        # Two sets of predictions that differ in a fifth of the rows differ by chance by √(.2/n).
        assert accuracy > majority - 4 * math.sqrt(0.2 / fresh.rows), strategy

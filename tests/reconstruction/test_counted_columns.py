"""Masses from counts are those from rows, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engines import Local
from sfumato.mining.distributions import reconstruct
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    plan = Plan.propose("credit_approval", target="class", noise="gaussian", privacy=0.5)
    return release("credit_approval", plan, tmp_path_factory.mktemp("r") / "r", key=SecretKey(bytes(32)))


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "em", "bins": 12}, {"method": "bayes", "kernel": "midpoint"}],
    ids=["auto", "em", "bayes"],
)
def test_counts_of_blocks_give_the_same_masses_of_the_rows(made: Release, options: dict[str, object]) -> None:
    whole = reconstruct(made, by_class=True, **options)
    counted = reconstruct(made, by_class=True, engine=Local(2, gathers=False), **options)
    assert list(whole) == list(counted)
    assert any(c.missing for c in made.manifest.columns)  # gaps are counted too
    for name, view in whole.items():
        assert view.to_dict() == counted[name].to_dict()
        np.testing.assert_array_equal(view.released[1], counted[name].released[1])
        assert view.in_words() == counted[name].in_words()

"""The bin of a value by difference is the bin by search."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.channels import Substitution
from sfumato.schema import Attribute, Categories, Interval, Kind

LAW = Substitution(gamma=5.0)
DOMAINS = {
    "categories": Attribute("c", Kind.CATEGORICAL, Categories(("a", "b", "c", "d"))),
    "whole numbers from −3": Attribute("n", Kind.INTEGER, Interval(-3, 9)),
    "every second number": Attribute("n", Kind.INTEGER, Interval(0, 12), resolution=2.0),
    "bins of a real domain": Attribute("x", Kind.REAL, Interval(0.0, 1.0)),
}


@pytest.mark.parametrize("attribute", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("shift", [0.0, 0.25, 0.49999999999999994, 0.5, -100.0, 100.0])
def test_bins_are_those_of_the_grid(attribute: Attribute, shift: float) -> None:
    law = LAW.on(attribute) if attribute.kind is not Kind.REAL else Substitution(gamma=5.0, bins=7).on(attribute)
    grid = law.bin_grid
    values = np.concatenate([grid.centres, grid.centres[::-1]]) + shift
    assert np.array_equal(law.bins_of(values), grid.locate(values))


def test_no_values_have_no_bins() -> None:
    assert len(LAW.on(DOMAINS["categories"]).bins_of(np.empty(0))) == 0

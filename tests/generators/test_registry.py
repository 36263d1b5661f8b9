"""The registry of synthetic tables: every entry walked, and counted."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import generators
from sfumato.errors import UsageError
from sfumato.schema import Kind


def test_the_registry_holds_the_tables_of_the_papers():
    assert generators.names() == ("agrawal", "crd", "csd", "plateau", "triangles", "plateau200", "triangles200")
    assert all(name == generator.name for name, generator in generators.GENERATORS.items())


@pytest.mark.parametrize("name", generators.names())
def test_a_table_is_what_its_entry_says(name):
    generator = generators.get(name)
    block = next(generator.blocks(2_000, seed=1))
    assert "\n" not in generator.about
    assert list(block) == [column.name for column in generator.attributes]
    assert generator.target is None or generator.target == list(block)[-1]
    for column in generator.attributes:
        values = block[column.name]
        assert values.shape == (2_000,)
        if column.kind.numeric:
            assert values.dtype == (np.int64 if column.kind is Kind.INTEGER else np.float64)
            assert column.interval.low <= values.min() <= values.max() <= column.interval.high
        else:
            assert set(values.tolist()) == set(column.categories)


def test_options_reach_the_table():
    drawn = next(generators.get("agrawal").blocks(1_000, seed=1, function=10, balanced=True))
    assert (drawn["class"] == "A").sum() == 500


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("agrawl", "generator: 'agrawl' is not known; there are agrawal, .*; did you mean agrawal"),
        ("zzz", "generator: 'zzz' is not known; .*; choose one of them"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(name, message):
    with pytest.raises(UsageError, match=message):
        generators.get(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("agrawal", "agrawal: there is no option 'colour'; it takes function, balanced"),
        ("plateau", "plateau: there is no option 'colour'; it takes only rows and seed"),
    ],
)
def test_an_unknown_option_is_refused_before_the_first_block(name, message):
    with pytest.raises(UsageError, match=message):
        generators.get(name).blocks(10, colour="red")

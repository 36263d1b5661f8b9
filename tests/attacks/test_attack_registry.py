"""The contract of attacks: each in a file of its own, registered, frozen, with no place for the original."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from pathlib import Path

import pytest

import sfumato.attacks
from sfumato.attacks import ATTACKS, Pairs, Targets, View
from sfumato.counts import FloatArray, Grid


def test_twenty_two_attacks_are_registered():
    assert len(ATTACKS) == 22


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_is_frozen_and_says_what_it_is_and_what_it_assumes(name):
    attack = ATTACKS[name]
    assert dataclasses.is_dataclass(attack)
    assert attack.__dataclass_params__.frozen
    assert attack.title
    assert attack.assumes.endswith(".")


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_has_no_place_for_the_original(name):
    attack = ATTACKS[name]
    assert list(inspect.signature(attack.run).parameters) == ["self", "view"]
    hints = typing.get_type_hints(attack)
    for field in dataclasses.fields(attack):
        hint = hints[field.name]
        assert field.name not in ("original", "truth")
        population = typing.get_type_hints(ATTACKS["informed-posterior"])["population"]
        assert hint in (Targets, Pairs, tuple[View, ...], tuple[str, ...], str, int, population), (
            name,
            field.name,
            hint,
        )


def test_the_only_population_an_intruder_may_know_is_a_distribution():
    hint = typing.get_type_hints(ATTACKS["informed-posterior"])["population"]
    assert typing.get_args(hint) == (str, tuple[Grid, FloatArray])


def test_every_module_of_attacks_is_imported_by_the_package():
    folder = Path(sfumato.attacks.__file__).parent
    text = (folder / "__init__.py").read_text()
    defining = [
        ".".join(f.relative_to(folder).with_suffix("").parts)
        for f in folder.rglob("*.py")
        if "(Attack):" in f.read_text() and f.stem != "base"
    ]
    assert len(defining) >= 16
    assert all(f"sfumato.attacks.{stem} import" in text for stem in defining)

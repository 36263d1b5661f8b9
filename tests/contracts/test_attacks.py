"""The contract of attacks: registered, frozen, with words of their own, and with no knowledge that they do not name."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sfumato.attacks
from sfumato.attacks import (
    ATTACKS,
    Claim,
    Knowledge,
    LinkAttack,
    Pairs,
    RowGroups,
    SecretAttack,
    Targets,
    ValueAttack,
    View,
)
from sfumato.auditing.case import Case, read_case
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Local
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releasing import release

ROOT = Path(__file__).parents[2]
KEYS = SecretKey(bytes(range(32))), SecretKey(bytes(range(1, 33)))
POPULATION = typing.get_type_hints(ATTACKS["informed-posterior"])["population"]
GRANTED = (Targets, Pairs, tuple[View, ...], POPULATION, RowGroups, IntArray | None)
SETTINGS = (tuple[str, ...], str, int, float)


def test_every_attack_of_the_package_is_registered():
    own = [a for a in ATTACKS.values() if a.__module__.startswith("sfumato.")]
    assert len(own) == 30
    text = Path(sfumato.attacks.__file__).read_text()
    assert all(f"from {attack.__module__} import" in text for attack in own)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_is_frozen_and_says_what_it_is_and_what_it_assumes(name):
    attack = ATTACKS[name]
    assert dataclasses.is_dataclass(attack)
    assert attack.__dataclass_params__.frozen
    assert attack.title
    assert attack.assumes.endswith(".")
    assert issubclass(attack, ValueAttack) + issubclass(attack, SecretAttack) + issubclass(attack, LinkAttack) == 1


@pytest.mark.parametrize("name", sorted(n for n, a in ATTACKS.items() if issubclass(a, ValueAttack)))
def test_an_attack_that_may_break_a_promise_says_what_to_do_about_it(name):
    remedy = ATTACKS[name].remedy
    assert remedy.words.endswith(".")
    assert " --" not in remedy.words + remedy.instead


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_has_no_place_for_the_original(name):
    attack = ATTACKS[name]
    assert list(inspect.signature(attack.run).parameters) == ["self", "view"]
    hints = typing.get_type_hints(attack)
    for field in dataclasses.fields(attack):
        assert field.name not in ("original", "truth")
        assert hints[field.name] in GRANTED + SETTINGS, (name, field.name)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_names_the_knowledge_that_its_fields_hold(name):
    attack = ATTACKS[name]
    held = {
        Knowledge.KNOWN_ROWS: Pairs,
        Knowledge.KNOWN_PEOPLE: Targets,
        Knowledge.OTHER_RELEASES: tuple[View, ...],
        Knowledge.DISTRIBUTIONS: POPULATION,
        Knowledge.ROWS_OF_PEOPLE: RowGroups,
    }
    hints = {typing.get_type_hints(attack)[f.name] for f in dataclasses.fields(attack)}
    assert attack.knowledge == {kind for kind, hint in held.items() if hint in hints}


def test_the_only_population_an_attacker_may_know_is_a_distribution():
    assert typing.get_args(POPULATION) == (str, tuple[Grid, FloatArray])


def test_a_view_holds_what_was_released_and_nothing_else():
    assert [f.name for f in dataclasses.fields(View)] == ["columns", "target", "name", "noise", "guided"]


@cache
def case(kind: str) -> Case:
    """A release of iris beside its original, by a law or by a guided method, with another release of the same rows."""
    folder = CASES[kind]
    if kind == "law":
        plan = Plan.propose("iris", privacy=0.1)
        made = release("iris", plan, folder / "one", key=KEYS[0])
        others = [release("iris", dataclasses.replace(plan, name="two"), folder / "two", key=KEYS[1])]
    else:
        made = release("iris", None, folder / "one", method="racc", options={"k": 3}, key=KEYS[0])
        others = []
    found = read_case(made, "iris", others, engine=Local(), sample=0, encoding="utf-8")
    found = dataclasses.replace(found, groups=RowGroups(np.arange(found.view.rows) // 10))
    return found.choose_people(None, None, targets=40, seed=0)


CASES: dict[str, Path] = {}


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory):
    CASES.update({kind: tmp_path_factory.mktemp(kind) for kind in ("law", "guided")})


def poisoned(original: Case, spared: set[Knowledge]) -> Case:
    """The case with every true value replaced, save those of the knowledge that is spared."""
    rng = np.random.default_rng(9)
    truth = {}
    for name, values in original.truth.items():
        if Knowledge.DISTRIBUTIONS in spared:
            truth[name] = rng.permutation(values)  # the same distribution, but no value where it was
            continue
        truth[name] = np.full(len(values), np.nan)
        if Knowledge.KNOWN_ROWS in spared:
            truth[name][original.known] = values[original.known]
        if Knowledge.KNOWN_PEOPLE in spared:
            truth[name][original.people] = values[original.people]
    others = original.others if Knowledge.OTHER_RELEASES in spared else ()
    groups = original.groups if Knowledge.ROWS_OF_PEOPLE in spared else None
    return dataclasses.replace(original, truth=truth, others=others, groups=groups)


def guesses(name: str, of: Case):
    """Everything that an attack claims: its notes and its arrays, or the reason why it cannot be run."""
    attack = ATTACKS[name].prepare(of.grants(ATTACKS[name].knowledge))
    if isinstance(attack, str):
        return attack, []
    claim = attack.run(of.view)
    if isinstance(claim, Claim):
        return f"{claim.notes} {claim.skipped}", [a for r in claim.recoveries for a in (r.mean, r.pick)]
    return "", [attack.credit(claim, of.people[: attack.targets.size])]


def same(first, second) -> bool:
    words, arrays = zip(first, second, strict=True)
    return (
        words[0] == words[1]
        and len(arrays[0]) == len(arrays[1])
        and all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*arrays, strict=True))
    )


def runs(name: str) -> Case:
    """The case on which an attack has something to say: guided columns for those that learn laws."""
    return case("guided" if ATTACKS[name].guided_only else "law")


@pytest.mark.parametrize("name", sorted(n for n, a in ATTACKS.items() if a.in_audit))
def test_true_values_that_an_attack_does_not_name_change_nothing(name):
    original = runs(name)
    assert same(guesses(name, original), guesses(name, poisoned(original, set(ATTACKS[name].knowledge))))


@pytest.mark.parametrize("kind", ["law", "guided"])
@pytest.mark.parametrize("name", sorted(n for n, a in ATTACKS.items() if a.in_audit and not a.knowledge))
def test_an_attack_that_names_nothing_is_granted_nothing_on_any_release(name, kind):
    assert same(guesses(name, case(kind)), guesses(name, poisoned(case(kind), set())))


@pytest.mark.parametrize(
    ("name", "kind"), [(n, k) for n, a in sorted(ATTACKS.items()) if a.in_audit for k in sorted(a.knowledge)]
)
def test_what_an_attack_names_it_uses(name, kind):
    original = runs(name)
    if kind is Knowledge.DISTRIBUTIONS:
        changed = dataclasses.replace(original, truth={n: v[::-1] * 0 + v.max() for n, v in original.truth.items()})
    else:
        changed = poisoned(original, set(ATTACKS[name].knowledge) - {kind})
    assert not same(guesses(name, original), guesses(name, changed))


def undocumented(guide: str) -> dict[str, str]:
    """Attacks whose line in the guide is missing, or grants something else than they name."""
    lines = {}
    for names, granted in re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \|.*\| ([^|]+) \|$", guide, re.MULTILINE):
        lines |= dict.fromkeys(re.findall(r"`([\w-]+)`", names), granted.strip())
    wanted = {name: ", ".join(sorted(a.knowledge)) or "nothing" for name, a in ATTACKS.items()}
    return {name: words for name, words in wanted.items() if lines.get(name) != words}


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_the_guide_says_what_an_attack_is_granted(name):
    assert name not in undocumented((ROOT / "docs" / "guide" / "audit.md").read_text("utf-8"))

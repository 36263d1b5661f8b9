"""What is swept for which law, and what is refused."""

from typing import ClassVar

import pytest

from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.errors import UsageError
from sfumato.guided.base import METHODS
from sfumato.tradeoffs.setting import AXES, plan_words, sweep_for, sweepable


def test_every_law_that_a_plan_can_name_is_swept():
    assert len(CHANNELS) >= 7
    for law, about in {**CHANNELS, **JOINT_LAWS}.items():
        natural = next(iter(about.sweep))
        assert set(about.sweep) <= set(AXES)
        assert len(sweep_for(law, {}).settings) >= 6, law
        assert sweep_for(law, {}).axis.parameter == natural
        assert set(about.sweep) <= set(about.parameters())


@pytest.mark.parametrize("law", [*sorted(METHODS), "class-noise"])
def test_guided_methods_are_refused_by_name_with_what_to_do_instead(law):
    with pytest.raises(UsageError, match=f"^{law} bends .* sfumato compare"):
        sweep_for(law, {})


def test_a_new_law_is_swept_over_what_it_has_or_refused(monkeypatch):
    class New:
        sweep: ClassVar = {"epsilon": (1.0, 2.0)}
        sweep_beside: ClassVar = {}

    class Odd(New):
        sweep: ClassVar = {}

    monkeypatch.setitem(CHANNELS, "new", New)
    monkeypatch.setitem(CHANNELS, "odd", Odd)
    assert list(sweepable("new")) == ["epsilon"]
    with pytest.raises(UsageError, match="odd names no parameter to sweep; make a release"):
        sweepable("odd")


def test_values_are_swept_in_order_and_once():
    sweep = sweep_for("gaussian", {"privacy": (1, 0.5, 1.0)})
    assert sweep.settings == ({"privacy": 0.5}, {"privacy": 1.0})
    assert sweep.chosen
    assert not sweep_for("gaussian", {}).chosen


def test_substitution_is_swept_by_n_as_well_where_there_are_numbers():
    given = {"gamma": (5, 8), "bins": (10, 20)}
    assert sweep_for("substitution", given).settings == tuple(
        {"gamma": g, "bins": n} for g in (5.0, 8.0) for n in (10.0, 20.0)
    )
    assert sweep_for("substitution", {"epsilon": (1,), "bins": (4,)}).settings == ({"epsilon": 1.0, "bins": 4.0},)
    assert sweep_for("substitution", {"gamma": (5,)}, numbers=False).settings == ({"gamma": 5.0},)
    with pytest.raises(UsageError, match=r"sweep\['bins'\]: bins are cut from numbers"):
        sweep_for("substitution", given, numbers=False)


@pytest.mark.parametrize(
    ("law", "given", "message"),
    [
        (
            "gaussian",
            {"gamma": (5,)},
            "sweep['gamma']: gaussian has no parameter gamma to sweep; it takes sweep['privacy']",
        ),
        (
            "projective",
            {"bins": (5,)},
            "sweep['bins']: projective has no parameter bins to sweep; it takes sweep['gamma'], sweep['epsilon']",
        ),
        ("substitution", {"count": (5,)}, "it takes sweep['gamma'], sweep['epsilon'], sweep['privacy'], sweep['bins']"),
        ("square-wave", {"epsilon": (1,), "privacy": (0.5,)}, "sweep['epsilon'], sweep['privacy'] say the same thing"),
        ("uniform", {"privacy": ()}, "sweep['privacy']: no value to sweep"),
        ("uniform", {"privacy": (0.5, 0.0)}, "sweep['privacy']: 0 must be a positive number"),
        ("uniform", {"privacy": (float("nan"),)}, "sweep['privacy']: nan must be a positive number"),
        ("intervals", {"count": (2.5,)}, "sweep['count']: 2.5 must be a whole number"),
        ("intervals", {"count": (1,)}, "sweep['count']: 1 must lie between 2 and"),
        ("nosuch", {}, "there is no law 'nosuch' to sweep; the laws are gaussian"),
    ],
)
def test_what_a_law_cannot_be_swept_over_is_refused(law, given, message):
    with pytest.raises(UsageError) as raised:
        sweep_for(law, given)
    assert message in str(raised.value)


def test_intervals_of_no_numbers_are_refused():
    with pytest.raises(UsageError, match="intervals is for numbers"):
        sweep_for("intervals", {}, numbers=False)


@pytest.mark.parametrize(
    ("law", "setting", "words"),
    [
        ("gaussian", {"privacy": 0.5}, 'noise = { law = "gaussian", privacy = 0.5 }'),
        (
            "substitution",
            {"gamma": 8.0, "bins": 20.0},
            'noise = { law = "substitution", gamma = 8, bins = 20 }',
        ),
        ("correlated-gaussian", {"ratio": 1.0}, 'method = { law = "correlated-gaussian", ratio = 1 }'),
    ],
)
def test_a_setting_is_told_as_a_plan_takes_it(law, setting, words):
    assert plan_words(law, setting) == words

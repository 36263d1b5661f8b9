"""Each verb of a release does what the verb of the package does."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.releases import Release

CALLS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "describe": ((), ("RELEASE",)),
    "reconstruct": ((), ("RELEASE",)),
    "ask": (("SELECT 1",), ("RELEASE", "SELECT 1")),
    "fit": (("y ~ x",), ("y ~ x", "RELEASE")),
    "mine": ((), ("RELEASE",)),
    "model": ((), ("RELEASE",)),
    "draws": ((3,), ("RELEASE", 3)),
    "synthesise": ((10,), ("RELEASE", 10)),
}
"""What a method is given, and what its verb is then called with."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return sf.release("iris", None, tmp_path_factory.mktemp("iris") / "release", privacy=0.5)


@pytest.mark.parametrize("verb", sorted(CALLS))
def test_a_method_calls_its_verb_and_hands_everything_on(
    release: Release, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def listen(*args: Any, **asked: Any) -> str:
        heard.append((args, asked))
        return "the answer"

    monkeypatch.setattr(sf, verb, listen, raising=False)
    given, called = CALLS[verb]
    options = {} if verb == "describe" else {"engine": sf.engines.Local()}
    assert getattr(release, verb)(*given, **options) == "the answer"
    assert heard == [(tuple(release if part == "RELEASE" else part for part in called), options)]


def test_a_release_answers_a_question(release: Release) -> None:
    assert release.ask("SELECT COUNT(*) AS n FROM release").rows[0]["n"].value == 150
    assert release.draws(2)[1].num_rows == 150

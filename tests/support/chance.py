"""Fixed keys: in tests a new key comes from a stream that begins anew with every test and every file of tests.

A release without a key draws one. In a test that key must be the same in every run, or a statistical test fails by chance.
Processes that a test starts still draw their own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

import pytest

from sfumato import randomness
from sfumato.releases import MEMORY


class KeyStream:
    """Bytes for keys that depend on a name and on how many were drawn since it was given."""

    def __init__(self) -> None:
        self.restart("session")

    def restart(self, name: str) -> None:
        """Begin the stream of this name."""
        self.name, self.drawn = name, 0

    def urandom(self, size: int) -> bytes:
        """Return the next bytes."""
        self.drawn += 1
        return hashlib.shake_256(f"{self.name} {self.drawn}".encode()).digest(size)


@pytest.fixture(scope="session", autouse=True)
def keys() -> Iterator[KeyStream]:
    """Put fixed bytes in the place of the system's entropy, for keys alone."""
    stream = KeyStream()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomness, "os", stream)
        yield stream


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the copies of ledgers out of the home of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module", autouse=True)
def keys_of_file(keys: KeyStream, request: pytest.FixtureRequest) -> None:
    """Let what the tests of a file share be the same whichever of them runs first."""
    keys.restart(request.node.nodeid)


@pytest.fixture(autouse=True)
def keys_of_test(keys: KeyStream, request: pytest.FixtureRequest) -> None:
    """Let a test be the same whether it runs alone or after others."""
    MEMORY.clear()
    keys.restart(request.node.nodeid)

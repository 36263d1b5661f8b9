"""Whatever happens to key and ledger, in any order: no rows get fresh noise in silence, and no owner is locked out.

A sequence is drawn at random from what owners do to files: release, copy and link the key, back the ledger up and put the old
one back, delete it, cut it, stop a run in the middle. `SFUMATO_SEQUENCES=500` runs as many as the figure in SECURITY.md.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.channels import Gaussian
from sfumato.errors import LedgerError
from sfumato.releases.ledger import Ledger
from sfumato.schema import Attribute, Consent, Interval, Kind, Schema

SEQUENCES = int(os.environ.get("SFUMATO_SEQUENCES", "40"))
STEPS = 9
SCALES = (5.0, 7.0)


class Stopped(BaseException):
    """A run that is stopped where it stands."""


class House:
    """An owner's folder: a key with its ledger, two tables, and what was published of each."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.keys = [folder / "k"]
        self.tables = [self._table(seed) for seed in range(2)]
        self.published: dict[int, set[bytes]] = {0: set(), 1: set()}
        self.backups: list[bytes] = []
        self.made = 0

    @staticmethod
    def _table(seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        return pa.table({"x": rng.uniform(0, 100, 60).round(3), "y": rng.uniform(0, 100, 60).round(3)})

    def attempt(self, number: int, scale: float, stop: Callable[[], None] | None = None) -> str:
        """Release a table, and return what came of it."""
        columns = tuple(Attribute(n, Kind.REAL, Interval(0, 100), consent=Consent.MODIFIED) for n in "xy")
        plan = sf.Plan(Schema(columns), {n: Gaussian(sigma=scale) for n in "xy"})
        self.made += 1
        folder = self.folder / f"r{self.made}"
        try:
            made = sf.release(self.tables[number], plan, folder, key=self.chance.choice(self.keys))
        except LedgerError as error:
            return str(error)
        except Stopped:
            return "stopped"
        self.published[number].add(made.data_path.read_bytes())
        return "published"

    @property
    def ledger(self) -> Ledger | None:
        return Ledger.of_key(self.keys[0]) if self.keys[0].exists() else None

    # What may happen between releases.

    def copy_key(self) -> None:
        if self.keys[0].exists():
            self.keys.append(self.folder / f"copy{len(self.keys)}")
            shutil.copy(self.keys[0], self.keys[-1])

    def link_key(self) -> None:
        if self.keys[0].exists():
            self.keys.append(self.folder / f"link{len(self.keys)}")
            self.keys[-1].symlink_to(self.keys[0])

    def back_up(self) -> None:
        if self.ledger and self.ledger.path.exists():
            self.backups.append(self.ledger.path.read_bytes())

    def roll_back(self) -> None:
        if self.ledger and self.backups:
            self.ledger.path.write_bytes(self.chance.choice(self.backups))

    def delete(self) -> None:
        if self.ledger:
            self.ledger.path.unlink(missing_ok=True)

    def cut(self) -> None:
        if self.ledger and self.ledger.path.exists():
            content = self.ledger.path.read_bytes()
            self.ledger.path.write_bytes(content[: self.chance.randrange(len(content) + 1)])

    def stop_before_recording(self) -> None:
        with patch.object(Ledger, "record", side_effect=Stopped):
            self.attempt(self.chance.randrange(2), self.chance.choice(SCALES))

    def stop_after_recording(self) -> None:
        record = Ledger.record

        def record_and_stop(ledger: Ledger, entry: object) -> None:
            record(ledger, entry)  # type: ignore[arg-type]
            raise Stopped

        with patch.object(Ledger, "record", record_and_stop):
            self.attempt(self.chance.randrange(2), self.chance.choice(SCALES))


HAPPENINGS = [
    House.copy_key,
    House.link_key,
    House.back_up,
    House.back_up,
    House.roll_back,
    House.delete,
    House.cut,
    House.stop_before_recording,
    House.stop_after_recording,
]


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_no_sequence_gives_rows_fresh_noise_or_locks_the_owner_out(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    house = House(tmp_path, chance)
    for _ in range(STEPS):
        if chance.random() < 0.5:
            chance.choice(HAPPENINGS)(house)
        told = house.attempt(chance.randrange(2), chance.choice(SCALES))
        if command := re.search(r"cp (\S+) (\S+);", told):  # the way out that is told
            shutil.copy(*command.groups())
            told = house.attempt(chance.randrange(2), chance.choice(SCALES))
            assert not re.search(r"missing|older|damaged|differs", told), told
        elif "restore it from a backup" in told:
            # No copy yet: nothing was recorded with this key, so the owner may insist, and nothing is averaged.
            assert not any(house.published.values()), told
            house.keys[0].unlink()
            house.keys = house.keys[:1]
            house.delete()
            (tmp_path / "k.ledger").unlink(missing_ok=True)
        assert told in ("published", "stopped") or "released before" in told or "restore it" in told, told
    for releases in house.published.values():
        assert len(releases) <= 1

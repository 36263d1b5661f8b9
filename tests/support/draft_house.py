"""An owner who makes drafts, publishes and withdraws them, and may be stopped anywhere; and what the world outside has seen.

`python -m tests.support.draft_house FOLDER SEQUENCES` plays sequences in which every step is a process that is killed (SIGKILL)
after a random while.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.channels import Gaussian
from sfumato.errors import LedgerError, OutputError, SfumatoError, UsageError
from sfumato.releases.ledger import Ledger
from sfumato.schema import Attribute, Consent, Interval, Kind, Schema

SCALES = (5.0, 7.0, 9.0)
COLUMNS = tuple(Attribute(n, Kind.REAL, Interval(0, 100), consent=Consent.MODIFIED) for n in "xy")
PLANS = {scale: sf.Plan(Schema(COLUMNS), {n: Gaussian(sigma=scale) for n in "xy"}) for scale in SCALES}


class Stopped(BaseException):
    """A run that is stopped where it stands."""


@contextmanager
def stop_at(step: int) -> Iterator[None]:
    """Stop a run at its n-th change of the disk: before it where n is even, after it where n is odd."""
    left = step // 2

    def wrap(change: Callable[..., object]) -> Callable[..., object]:
        def changed(*args: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == -1 and step % 2 == 0:
                raise Stopped
            done = change(*args, **options)
            if left == -1:
                raise Stopped
            return done

        return changed

    with (
        patch.object(Path, "replace", wrap(Path.replace)),
        patch.object(Path, "rename", wrap(Path.rename)),
        patch.object(os, "fsync", wrap(os.fsync)),
    ):
        yield


class DraftHouse:
    """A key with its ledger, two tables, release folders, and every published byte that somebody outside may have copied."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance, self.key = folder, chance, folder / "k"
        self.tables = [self._table(seed) for seed in range(2)]
        self.outside: list[set[bytes]] = [set(), set()]
        self.backups: list[bytes] = []
        self.made = 0

    @staticmethod
    def _table(seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        return pa.table({"x": rng.uniform(0, 100, 60).round(3), "y": rng.uniform(0, 100, 60).round(3)})

    @property
    def folders(self) -> list[Path]:
        return sorted(p for p in self.folder.glob("t*-*") if p.is_dir())

    # What an owner does.

    def make(self, *, draft: bool) -> None:
        number = self.chance.choice((0, 0, 0, 1))
        self.made += 1
        self.release(number, self.chance.choice(SCALES), f"t{number}-{self.made}", draft=draft)

    def release(self, number: int, scale: float, name: str, *, draft: bool) -> sf.Release:
        return sf.release(self.tables[number], PLANS[scale], self.folder / name, key=self.key, draft=draft, force=True)

    def draft(self) -> None:
        self.make(draft=True)

    def release_at_once(self) -> None:
        self.make(draft=False)

    def publish(self) -> None:
        if self.folders:
            sf.publish(self.chance.choice(self.folders), self.key)

    def withdraw(self) -> None:
        if self.folders:
            sf.withdraw(self.chance.choice(self.folders), self.key)

    def audit(self) -> None:
        for folder in self.folders[:1]:
            release = sf.Release(folder, sf.Manifest.load(folder))
            sf.audit(release, self.tables[int(folder.name[1])], key=self.key, targets=10)

    def back_up(self) -> None:
        if self.key.exists():
            self.backups.append(Ledger.of_key(self.key).path.read_bytes())

    def roll_back(self) -> None:
        if self.backups:
            Ledger.of_key(self.key).path.write_bytes(self.chance.choice(self.backups))

    # What has to hold.

    def look(self) -> None:
        """Let the world copy all that says it is published, and check that the ledger knows it."""
        for folder in self.folders:
            manifest = sf.Manifest.load(folder)
            if not manifest.draft:
                self.outside[int(folder.name[1])].add((folder / manifest.data.file).read_bytes())
        assert all(len(seen) <= 1 for seen in self.outside), "two fresh noises of the same rows are out"
        known = [e for e in self.entries() if e.published] if self.key.exists() else []
        assert sum(map(bool, self.outside)) <= len({e.salt for e in known}), "the ledger lost a published release"

    def entries(self) -> list[object]:
        """Return what the ledger knows; follow the way out that it states."""
        try:
            return Ledger.of_key(self.key).entries()
        except LedgerError as error:
            expect(error, r"cp \S+ \S+;")
            shutil.copy(*re.findall(r"cp (\S+) (\S+);", str(error))[0])
            return Ledger.of_key(self.key).entries()

    def finish(self) -> None:
        """Check that the owner can still publish every table, by commands alone."""
        for number, seen in enumerate(self.outside):
            final = self.folder / f"final-{number}"
            for scale in SCALES:
                try:
                    made = self.release(number, scale, final.name, draft=True)
                    published = sf.publish(made, self.key)
                except LedgerError as error:
                    expect(error, "released before")
                    continue
                seen.add(published.data_path.read_bytes())
            assert final.exists(), "the owner is locked out"
            assert len(seen) == 1, "two fresh noises of the same rows are out"


STEPS = [
    *[DraftHouse.draft] * 8, *[DraftHouse.publish] * 6, *[DraftHouse.withdraw] * 4, *[DraftHouse.release_at_once] * 2,
    DraftHouse.audit, DraftHouse.back_up, DraftHouse.roll_back,
]  # fmt: skip


def expect(error: SfumatoError, words: str) -> None:
    """Raise an error again that is not the one which was meant."""
    if not re.search(words, str(error)):
        raise error


def attempt(house: DraftHouse, step: Callable[[DraftHouse], None]) -> None:
    """Do a step; a refusal must be one that was meant."""
    try:
        step(house)
    except Stopped:
        return
    except (LedgerError, UsageError, OutputError) as error:
        stated = r"released before|is not a draft|was withdrawn|is final|put the copy in its place|restore it|knows no"
        expect(error, stated)


def play_killed(folder: Path, seed: int) -> int:
    """Play one sequence of processes, most of which are killed; return how many were."""
    chance, killed = random.Random(seed), 0
    house = DraftHouse(folder, chance)
    for _ in range(8):
        step = chance.choice(STEPS)
        wait = chance.uniform(0.0, 0.06)
        child = os.fork()
        if child == 0:
            code = 3
            with suppress(Exception):
                attempt(house, step)
                code = 0
            os._exit(code)
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL), (seed, step.__name__, status)
        killed += status == signal.SIGKILL
        house.made += 1
        if step is DraftHouse.back_up:
            house.back_up()
        house.look()
    house.finish()
    return killed


if __name__ == "__main__":
    place, count = Path(sys.argv[1]), int(sys.argv[2])
    warm = place / "warm"
    warm.mkdir()
    os.environ["XDG_STATE_HOME"] = str(place / "state")
    try:
        DraftHouse(warm, random.Random(0)).draft()  # what is imported now need not be imported by every child
    except SfumatoError as error:
        sys.exit(str(error))
    total = 0
    for number in range(count):
        (own := place / str(number)).mkdir()
        total += play_killed(own, number)
    sys.stdout.write(f"{total}\n")

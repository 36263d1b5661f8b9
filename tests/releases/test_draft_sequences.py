"""Drafts, publications, withdrawals and killed runs in any order: no second fresh noise gets out, and no owner is locked out.

`SFUMATO_SEQUENCES=500` plays as many as the figure in SECURITY.md.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.draft_house import STEPS, DraftHouse, attempt, stop_at

SEQUENCES = int(os.environ.get("SFUMATO_SEQUENCES", "40"))
KILLED_SEQUENCES = max(20, SEQUENCES // 3)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_no_sequence_of_drafts_lets_fresh_noise_out_or_locks_the_owner_out(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    house = DraftHouse(tmp_path, chance)
    for _ in range(9):
        step = chance.choice(STEPS)
        if chance.random() < 0.5:
            with stop_at(chance.randrange(30)):
                attempt(house, step)
        else:
            attempt(house, step)
        house.look()
    house.finish()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_processes_neither_let_fresh_noise_out_nor_lock_the_owner_out(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.draft_house", str(tmp_path), str(KILLED_SEQUENCES)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= KILLED_SEQUENCES, "at least one process of a sequence was killed at work"

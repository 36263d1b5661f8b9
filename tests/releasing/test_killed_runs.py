"""A run may die at any moment: what it leaves is nothing, or a whole release."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.plans import Plan
from sfumato.releases import Release
from sfumato.releases.ledger import Ledger
from sfumato.releasing import release

RUNS = 100
ROWS = 60_000

PARENT = """
    # A warm process that forks a child for each run and kills it after a random while, measured on a run left alone.
    import os, random, shutil, signal, sys, time
    from pathlib import Path
    from sfumato.engines import Local
    from sfumato.plans import Plan
    from sfumato.releases import Release
    from sfumato.releasing import release

    folder, wanted = Path(sys.argv[1]), int(sys.argv[2])
    plan = Plan.load(folder / "plan.toml")

    def work(name, force=False):
        release(folder / "in.parquet", plan, folder / name, key=folder / "k", engine=Local(1), block_rows=4096, force=force)

    work("warm")
    whole = []
    for number in range(3):
        begin = time.perf_counter()
        work("measured", force=True)
        whole.append(time.perf_counter() - begin)
    whole = min(whole)
    chance, runs, appeared, killed, longest = random.Random(7), 0, 0, 0, 1.2 * whole
    while killed < wanted or not appeared:
        runs += 1
        assert runs < 5 * wanted, (killed, appeared)
        if (folder / "out").exists() and runs % 2 == 0:
            shutil.rmtree(folder / "out")
        child = os.fork()
        if child == 0:
            try:
                work("out", force=True)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(3)
            os._exit(0)
        if runs % 20 == 0 and not appeared:
            longest *= 1.5  # a child on a busy machine takes longer than the run that was measured
        time.sleep(chance.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL), status
        killed += status == signal.SIGKILL
        if (folder / "out").exists():
            appeared += 1
            made = Release.open(folder / "out")
            made.verify()
            assert sorted(p.name for p in (folder / "out").iterdir()) == ["README.md", "data.parquet", "manifest.json"]
            assert made.data_path.read_bytes() == (folder / "warm/data.parquet").read_bytes()
    print(killed, appeared)
"""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_hundred_killed_runs_leave_no_half_release_and_lose_no_input(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    table = pa.table(
        {"x": numbers.random(ROWS), "y": numbers.integers(0, 9, ROWS), "z": numbers.choice(["a", "b"], ROWS)}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    before = digest(tmp_path / "in.parquet")
    plan = Plan.propose(tmp_path / "in.parquet")
    (tmp_path / "plan.toml").write_text(plan.to_toml(), "utf-8")
    (tmp_path / "parent.py").write_text(textwrap.dedent(PARENT))
    ran = subprocess.run(
        [sys.executable, tmp_path / "parent.py", tmp_path, str(RUNS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert ran.returncode == 0, ran.stderr
    killed, appeared = map(int, ran.stdout.split())
    assert killed >= RUNS
    assert appeared, "some were so late that the release stood"
    assert digest(tmp_path / "in.parquet") == before
    assert len(Ledger.of_key(tmp_path / "k").entries()) == 1
    # The next run works, gives the same bytes, and sweeps up what the dead left.
    made = release(tmp_path / "in.parquet", plan, tmp_path / "out", key=tmp_path / "k", force=True)
    assert made.data_path.read_bytes() == (tmp_path / "warm/data.parquet").read_bytes()
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["in.parquet", "k", "k.ledger", "k.ledger.lock", "measured", "out", "parent.py", "plan.toml", "warm"]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_program_leaves_nothing_visible(tmp_path: Path, sign: signal.Signals) -> None:
    numbers = np.random.default_rng(0)
    pq.write_table(pa.table({f"x{i}": np.round(numbers.random(200_000), 3) for i in range(6)}), tmp_path / "in.parquet")
    program = str(Path(sys.executable).with_name("sfumato"))
    child = subprocess.Popen(
        [program, "release", "in.parquet", "-o", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs behind a shell's & ignores it
    )
    while child.poll() is None and not list(tmp_path.glob(".out.partial-*/data.parquet")):
        time.sleep(0.002)
    child.send_signal(sign)
    _, said = child.communicate(timeout=30)
    assert child.returncode != 0
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
    if sign == signal.SIGINT:
        assert child.returncode == 130
        assert not list(tmp_path.glob(".out*"))


def test_a_release_is_seen_whole_or_not_at_all_while_it_is_replaced(
    tmp_path: Path, table: pa.Table, plan: Plan
) -> None:
    """With --force the old folder gives way to the new one in one step: a reader never finds neither."""
    release(table, plan, tmp_path / "r", key=tmp_path / "k")
    done, gaps = threading.Event(), []

    def watch() -> None:
        while not done.is_set():
            try:
                (tmp_path / "r/manifest.json").stat()
            except OSError as error:
                gaps.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(15):
            release(table, plan, tmp_path / "r", key=tmp_path / "k", force=True)
    finally:
        done.set()
        watcher.join()
    assert not gaps
    Release.open(tmp_path / "r").verify()

"""A worker that dies, and a key that must not be left lying about."""

from __future__ import annotations

import base64
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.generators.base import generate
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.releasing.base import Scope
from sfumato.releasing.row_by_row import kernel_for

OWNER = SecretKey(bytes(range(100, 132)))
NAME = "spread"

pytestmark = pytest.mark.usefixtures("cluster")


def secrets_of(plan: Plan, owner: SecretKey) -> list[bytes]:
    """Every key a release has, the owner's first."""
    kernel = kernel_for(plan, owner, Scope.of_name(NAME, owner))
    keys = [owner, kernel.entity_key, kernel.sketch_key, *(c.key for c in kernel.columns)]
    return [k.secret for k in keys]


def spellings(secret: bytes) -> list[bytes]:
    shifted = [base64.b64encode(bytes(n) + secret)[4 * n : -8] for n in range(3)]  # base64 depends on where it begins
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), *shifted]


def held_in(secret: bytes, content: bytes) -> bool:
    return any(s in content for s in spellings(secret))


def test_the_search_for_keys_finds_them() -> None:
    secret = OWNER.secret
    for spelt in (secret, secret.hex().encode(), base64.b64encode(secret), base64.b64encode(b"abcde" + secret + b"x")):
        assert held_in(secret, b"before " + spelt + b" after")
    assert not held_in(secret, b"before " + bytes(32))


def test_no_key_stands_in_configuration_event_log_plans_or_logs(
    spark: Any, cluster: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    release(table, plan, tmp_path / "r", key=OWNER, name=NAME, engine=spark)
    context = spark.session.sparkContext
    conf = repr(context.getConf().getAll()) + repr(sorted(spark.session.conf.getAll.items()))
    assert "spark.eventLog.enabled" in conf
    listener = context._jsc.sc().listenerBus()
    listener.waitUntilEmpty(60_000)
    events = [p for p in (cluster.folder / "events").rglob("*") if p.is_file()]
    logs = [p for p in cluster.folder.rglob("*") if p.name in ("stderr", "stdout") or p.suffix == ".log"]
    assert len(logs) >= 5  # of the master, two workers and their executors
    texts = b"".join(p.read_bytes() for p in events)
    assert b"mapInArrow" in texts or b"MapInArrow" in texts  # the job is in the log
    assert b"sfumato_task" in texts  # and by name alone
    for secret in secrets_of(plan, OWNER):
        assert not held_in(secret, conf.encode())
        assert not held_in(secret, texts)
        for log in logs:
            assert not held_in(secret, log.read_bytes()), log


def test_no_key_lies_in_the_open_on_the_disks_of_the_cluster(
    spark: Any, cluster: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    """Files that Spark keeps are encrypted in the sessions that we open; the owner's key itself is nowhere at all."""
    seen: list[Path] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for path in [p for p in cluster.folder.rglob("*") if p.is_file() and p not in seen]:
                try:
                    content = path.read_bytes()
                except OSError:
                    continue
                seen.append(path)
                found.extend(path for secret in secrets_of(plan, OWNER) if held_in(secret, content))
            time.sleep(0.05)

    found: list[Path] = []
    watcher = threading.Thread(target=watch)
    watcher.start()
    release(table, plan, tmp_path / "r", key=OWNER, name=NAME, engine=spark)
    done.set()
    watcher.join()
    assert seen
    assert not found


def test_the_owners_own_key_does_not_travel(plan: Plan) -> None:
    import pickle

    assert OWNER.secret not in pickle.dumps(kernel_for(plan, OWNER, Scope.of_name(NAME, OWNER)))


def test_workers_that_have_the_key_file_are_sent_no_key_at_all(
    spark: Any, table: Path, plan: Plan, tmp_path: Path
) -> None:
    import pickle

    from sfumato.errors import UsageError
    from sfumato.releases import load_key
    from sfumato.releasing.row_by_row import KernelByKeyFile, key_fingerprint

    first = release(table, plan, tmp_path / "a", key=tmp_path / "key", name=NAME)
    made = release(
        table, plan, tmp_path / "b", key=tmp_path / "key", name=NAME, engine=replace(spark, keys_on_workers=True)
    )
    assert made.to_arrow().equals(first.to_arrow())
    owner = load_key(tmp_path / "key")
    sent = pickle.dumps(
        KernelByKeyFile(plan, Scope.of_name(NAME, owner), str(tmp_path / "key"), key_fingerprint(owner))
    )
    assert not any(held_in(secret, sent) for secret in secrets_of(plan, owner))
    with pytest.raises(UsageError, match="need a key file"):
        release(table, plan, tmp_path / "c", key=owner, engine=replace(spark, keys_on_workers=True))


def test_a_worker_killed_in_the_middle_of_a_release_changes_nothing(
    spark: Any, cluster: Any, plan: Plan, tmp_path: Path
) -> None:
    people = tmp_path / "people.parquet"
    generate("agrawal", 400_000, people, seed=8, options={"function": 2, "balanced": True})
    alone = release(people, plan, tmp_path / "alone", key=OWNER)
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            parts = len(list(tmp_path.glob(".spread.partial-*/data.parquet/part-*")))
            if parts >= 3:
                cluster.kill_worker("worker1")
                killed.append(parts)
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    spread = release(people, plan, tmp_path / "spread", key=OWNER, engine=replace(spark, piece_rows=10_000))
    killer.join()
    cluster.start_worker("worker1")
    assert killed
    assert killed[0] < spread.manifest.data.parts == 40
    assert Release.open(tmp_path / "spread").to_arrow().equals(alone.to_arrow())
    spread.verify()

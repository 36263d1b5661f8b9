"""One measurement, in a process of its own: wall and CPU seconds and peak memory, so that no run warms up another."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    wall: float
    cpu: float
    peak_mib: float
    result: Any = None


def timed(work: Callable[[], Any], repeats: int = 5) -> float:
    """The best CPU seconds of several runs in this process."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def apart(module: str, *arguments: object) -> Cost:
    """Run `python module arguments…` and read its cost from its last line (see `report`)."""
    line = subprocess.run(
        [sys.executable, module, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()[-1]
    return Cost(**json.loads(line))


def report(work: Callable[[], Any]) -> None:
    """Do the work and print its cost, for the parent that called `apart`."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    cost = Cost(
        wall=time.perf_counter() - wall,
        cpu=time.process_time() - cpu,
        peak_mib=peak_mib(),
        result=result,
    )
    print(json.dumps(cost.__dict__))


def peak_mib() -> float:
    """The most memory this process has held. Linux's own mark: `ru_maxrss` would count the parent's from before exec."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def versions(*names: str) -> str:
    """Machine and package versions, for the head of a table."""
    import os
    import platform
    from importlib.metadata import version

    packages = ", ".join(f"{n} {version(n)}" for n in names)
    return f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores, {platform.machine()}"

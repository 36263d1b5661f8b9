"""One measurement, in a process of its own: wall and CPU seconds and peak memory, so that no run warms up another."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
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


HEADER = "| what | ours | peer | ratio | goal | met |"
RULE = "|---|---:|---:|---:|---:|---|"


@dataclass(frozen=True)
class Ratio:
    """One line of the table of ratios. `goal` is "≥ 0.9", "≤ 1.5" or nothing."""

    what: str
    ours: str
    peer: str
    ratio: float | None
    goal: str = ""

    @property
    def met(self) -> str:
        """Whether the goal is reached."""
        if not self.goal or self.ratio is None:
            return ""
        sign, bound = self.goal.split()
        return "yes" if (self.ratio >= float(bound) if sign == "≥" else self.ratio <= float(bound)) else "**no**"

    def line(self) -> str:
        """As a line of Markdown."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}" if self.ratio < 100 else f"{self.ratio:,.0f}"
        return f"| {self.what} | {self.ours} | {self.peer} | {ratio} | {self.goal} | {self.met} |"


def ratios(rows: Iterable[Ratio]) -> None:
    """Print the table of ratios, which `run.py` collects from all benchmarks."""
    print("\n".join(["", HEADER, RULE, *(row.line() for row in rows)]), flush=True)


def speed(what: str, ours: float, peer: float, goal: str = "", about: str = "s") -> Ratio:
    """How many times as fast as a peer: its seconds over ours."""
    return Ratio(what, f"{_short(ours)} {about}", f"{_short(peer)} {about}", peer / ours, goal)


def _short(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def timed(work: Callable[[], Any], repeats: int = 5) -> float:
    """The best CPU seconds of several runs in this process."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def apart(module: str, *arguments: object, python: str | Path = sys.executable) -> Cost:
    """Run `python module arguments…` and read its cost from its last line (see `report`)."""
    line = subprocess.run(
        [str(python), module, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()[-1]
    return Cost(**json.loads(line))


def ask(python: str | Path, code: str, **about: object) -> Any:
    """What `code` prints last, as JSON, when a peer's own Python runs it with `about` as its first argument."""
    run = subprocess.run(
        [str(python), "-W", "ignore", "-c", code, json.dumps(about)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(run.stdout.splitlines()[-1])


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

"""What all reproductions share: cells with the paper's figure beside ours, units of work that can be resumed, and files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sfumato.randomness import canonical

REPRODUCED, BEATEN, NOT_REPRODUCED, REPORTED = "reproduced", "beaten", "not reproduced", "reported"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Cell:
    """One published figure or claim beside ours."""

    where: str
    what: str
    paper: str
    ours: str
    spread: str = ""
    verdict: str = REPORTED
    because: str = ""


@dataclass(frozen=True)
class Results:
    """A whole reproduction: its cells, its figures as SVG by file name, and all numbers behind them.

    Examples
    --------
    >>> cell = Cell("Table 1", "accuracy", paper="85", ours="86", verdict=REPRODUCED)
    >>> Results("as2000", "Privacy-preserving data mining", "SIGMOD 2000", "quick", (cell,)).headline
    'Privacy-preserving data mining: 1 reproduced'
    """

    paper: str
    title: str
    reference: str
    setting: str
    cells: tuple[Cell, ...]
    figures: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the figures by name only."""
        return {
            "paper": self.paper,
            "title": self.title,
            "reference": self.reference,
            "setting": self.setting,
            "verdicts": self.verdicts,
            "cells": [asdict(c) for c in self.cells],
            "figures": sorted(self.figures),
            "notes": list(self.notes),
            "numbers": dict(self.numbers),
        }

    @property
    def verdicts(self) -> dict[str, int]:
        """Return how many cells have each verdict."""
        found = [c.verdict for c in self.cells]
        return {v: found.count(v) for v in (REPRODUCED, BEATEN, NOT_REPRODUCED, REPORTED) if v in found}

    @property
    def headline(self) -> str:
        """The title, and how many cells of each verdict."""
        return f"{self.title}: {', '.join(f'{n} {v}' for v, n in self.verdicts.items())}"

    def to_markdown(self) -> str:
        """Return the results as a page: figures first, then every cell."""
        counted = ", ".join(f"{n} {v}" for v, n in self.verdicts.items())
        pictures = "\n\n".join(f"![{Path(name).stem}]({name})" for name in sorted(self.figures))
        by_place: dict[str, list[Cell]] = {}
        for cell in self.cells:
            by_place.setdefault(cell.where, []).append(cell)
        tables = "\n\n".join(
            f"## {where}\n\n| | paper | ours | spread | verdict |\n|---|---|---|---|---|\n"
            + "\n".join(
                f"| {c.what} | {c.paper} | {c.ours} | {c.spread} | {c.verdict}{': ' + c.because if c.because else ''} |"
                for c in cells
            )
            for where, cells in by_place.items()
        )
        notes = "\n".join(f"- {n}" for n in self.notes)
        return (
            f"# {self.title}\n\n{self.reference}\n\n{self.setting}. {counted}.\n\n{pictures}\n\n{tables}\n\n{notes}\n"
        )

    def write(self, folder: Path) -> None:
        """Write `results.json`, `results.md` and the figures."""
        (folder / "results.json").write_text(
            json.dumps(self.to_dict(), indent=1, ensure_ascii=False, default=_plain) + "\n", "utf-8"
        )
        (folder / "results.md").write_text(self.to_markdown(), "utf-8")
        for name, drawing in self.figures.items():
            (folder / name).write_text(drawing, "utf-8")


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no plain form")


class Work(Protocol):
    """A unit of work: a module-level function of plain arguments, so that another process can do it."""

    def __call__(self, *arguments: Any) -> Any:
        """Return plain data."""


@dataclass(frozen=True)
class Bench:
    """Do units of work on all cores and remember each on disk, so that a run that was stopped continues where it was."""

    cache: Path | None = None
    workers: int = 1
    progress: Progress | None = None

    def run(self, work: Work, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return results in the order of the arguments."""
        out: list[Any] = [None] * len(arguments)
        todo = []
        for i, given in enumerate(arguments):
            known = self._recall(work, given)
            if known is None:
                todo.append(i)
            else:
                out[i] = known
        done = len(arguments) - len(todo)
        for i, result in self._done(work, [(i, arguments[i]) for i in todo]):
            out[i] = result
            self._remember(work, arguments[i], result)
            done += 1
            if self.progress:
                self.progress(done, len(arguments))
        return out

    def _done(self, work: Work, todo: list[tuple[int, tuple[Any, ...]]]) -> Iterable[tuple[int, Any]]:
        if self.workers <= 1 or len(todo) <= 1:
            for i, given in todo:
                yield i, work(*given)
            return
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.workers, mp_context=context, initializer=_one_thread) as pool:
            waiting = {pool.submit(work, *given): i for i, given in todo}
            for future in as_completed(waiting):
                yield waiting[future], future.result()

    def _file(self, work: Work, given: tuple[Any, ...]) -> Path | None:
        if self.cache is None:
            return None
        name = f"{getattr(work, '__module__', '')}.{getattr(work, '__qualname__', '')}"
        return self.cache / (hashlib.sha256(canonical([name, given])).hexdigest()[:32] + ".json")

    def _recall(self, work: Work, given: tuple[Any, ...]) -> Any:
        file = self._file(work, given)
        if file is None or not file.exists():
            return None
        try:
            return json.loads(file.read_text("utf-8"))
        except ValueError:
            return None

    def _remember(self, work: Work, given: tuple[Any, ...], result: Any) -> None:
        file = self._file(work, given)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            hidden = file.with_suffix(f".{os.getpid()}")
            hidden.write_text(json.dumps(result, default=_plain), "utf-8")
            hidden.replace(file)


def _one_thread() -> None:
    """Limit this process to one thread: two processes with one thread each beat two that fight over the cores."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def mean_spread(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> tuple[str, str]:
    """Return mean and standard deviation as text."""
    numbers = scale * np.asarray(values, dtype=np.float64)
    sd = f"± {numbers.std(ddof=1):.{digits}f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.{digits}f}", sd

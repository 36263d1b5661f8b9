"""What all reproductions share: cells with the paper's figure beside ours, units of work that can be resumed, and files."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import UsageError
from sfumato.io import open_new_folder
from sfumato.randomness import canonical
from sfumato.report import svg
from sfumato.text import join_names

PAPERS = ("as2000", "ib2003", "detective2005", "dowd2006", "liu2012")
REPRODUCED, BEATEN, NOT_REPRODUCED, REPORTED = "reproduced", "beaten", "not reproduced", "reported"

Progress = Callable[[int, int], None]
Work = Callable[..., Any]
"""A unit of work: a module-level function of plain arguments that returns plain data, so that another process can do it."""


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


def judge(met: bool, good: str = REPRODUCED) -> str:
    """Return the verdict on a claim that is met or not."""
    return good if met else NOT_REPRODUCED


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
        """How many cells have each verdict."""
        verdicts = [c.verdict for c in self.cells]
        return {v: verdicts.count(v) for v in (REPRODUCED, BEATEN, NOT_REPRODUCED, REPORTED) if v in verdicts}

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


@dataclass(frozen=True)
class Bench:
    """Do units of work on all cores and remember each on disk, so that a run that was stopped continues where it was."""

    cache: Path | None = None
    workers: int = 1
    progress: Progress | None = None

    def run(self, work: Work, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return results in the order of the arguments."""
        out = [self._recall(work, given) for given in arguments]
        todo = [(i, given) for i, given in enumerate(arguments) if out[i] is None]
        done = len(arguments) - len(todo)
        for i, result in self._done(work, todo):
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


def percent_frame(x: tuple[float, float], title: str, x_title: str, **others: Any) -> svg.Frame:
    """Return the frame of a drawing of accuracies in percent, with room for a legend."""
    shape: dict[str, Any] = {"y": (40, 101), "width": 640, "height": 340, "margins": svg.WITH_LEGEND} | others
    return svg.Frame(x, title=title, x_title=x_title, **shape)


def reproduce(
    paper: str,
    folder: str | Path,
    *,
    full: bool = False,
    workers: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Run a published experiment and write its tables and figures beside ours.

    Parameters
    ----------
    paper : str
        as2000, ib2003, detective2005, dowd2006 or liu2012.
    folder : path
        The folder to make: results.json, results.md and drawings. A run that was stopped goes on where it was.
    full : bool
        Use the paper's own sizes and repeats (minutes to hours).
    workers : int
        Processes; 0 for one per core.
    force : bool
        Replace an existing folder.
    progress : callable, optional
        Called with the units of work done, and those there are in all.

    Returns
    -------
    Results
        Every figure or claim of the paper beside ours.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.reproduce("nosuch", "folder")
    Traceback (most recent call last):
    sfumato.errors.UsageError: there is no paper 'nosuch'; choose as2000, ib2003, detective2005, dowd2006, liu2012
    """
    if paper not in PAPERS:
        raise UsageError(f"there is no paper {paper!r}; choose {join_names(PAPERS)}")
    folder = Path(folder)
    experiment = importlib.import_module(f"sfumato.papers.{paper}")
    with open_new_folder(folder, force=force) as hidden:
        bench = Bench(folder.parent / f".{folder.name}.units", workers or os.cpu_count() or 1, progress)
        results: Results = experiment.run(bench, full=full)
        results.write(hidden)
    return results

"""The papers by name, and how one of them is reproduced."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from sfumato.errors import UsageError
from sfumato.io import open_new_folder
from sfumato.papers.base import Bench, Progress, Results
from sfumato.text import join_names

PAPERS = ("as2000", "ib2003", "detective2005", "dowd2006", "liu2012")


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

"""The verb `model`: from a release to the joint distribution of its true values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.engines import Engine, Local
from sfumato.modelling.table_model import FitSettings, Progress, TableModel
from sfumato.releases import Release, as_release


def model(
    release: Release | str | Path,
    engine: Engine = Local(),
    *,
    settings: FitSettings | None = None,
    progress: Progress | None = None,
) -> TableModel:
    """Fit one model of all columns of a release, the class among them, through their noise.

    Columns help each other: where one says what another holds, both are known better than from their own noise alone.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.
    engine : Engine
        Where the rows are. One that does not gather adds up sums over blocks, and gives the same model.
    settings : FitSettings, optional
        How the model is fitted.
    progress : callable, optional
        Is told what is being done.

    Returns
    -------
    TableModel
        P(true row), from which rows are drawn.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     model = sf.model(release)
    >>> model.chosen["components"] > 1
    True
    """
    opened = as_release(release)
    rows = opened.read_table() if engine.gathers else opened.count_table(engine)
    return replace(TableModel.fit(rows, settings, progress), release=opened.manifest.name)

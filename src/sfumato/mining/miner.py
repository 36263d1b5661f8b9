"""From a release to a model: choose a strategy, then grow it from the rows, or from counts that an engine adds up."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from sfumato.engines import Engine, Local
from sfumato.errors import UsageError
from sfumato.mining.model import Model
from sfumato.releases import Release, as_release
from sfumato.table import Table
from sfumato.trees import Strategy, Tree, grow_counted_tree, strategy_for_release


def mine(release: Release | Table | str | Path, strategy: str | None = None, engine: Engine = Local()) -> Model:
    """Grow a model from a release: a decision tree, or naive Bayes.

    Parameters
    ----------
    release : Release, path or Table
        A release, its folder, or released columns in memory.
    strategy : str, optional
        auto, byclass, local, global, randomized, joint, mixture or naive-bayes. By default auto; on an engine that does not
        gather rows byclass, since auto needs all of them.
    engine : Engine
        Where the work is done. An engine that gathers reads all rows; any other adds up counts, level by level (byclass,
        local, global and randomized), and gives the same tree.

    Returns
    -------
    Model
        The model, which predicts for true values.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     model = sf.mine(release, "byclass")
    >>> model.target, model.labels[0]
    ('class', 'Iris-setosa')
    """
    chosen = strategy_for_release(strategy or ("auto" if engine.gathers else "byclass"))
    if isinstance(release, Table):
        if not engine.gathers:
            raise UsageError("an engine that does not gather rows mines release folders; give one, or engine=Local()")
        return _grow(release, chosen)
    opened = as_release(release, verify=engine.gathers)
    _check_classes(opened)
    if engine.gathers:
        model = _grow(opened.read_table(), chosen)
    else:
        start = time.perf_counter()
        counted = opened.count_table(engine)
        tree = replace(grow_counted_tree(counted, chosen.name), target=counted.table.required_target.name)
        model = Model(tree, chosen.name, opened.manifest.data.rows, seconds=time.perf_counter() - start)
    absent = {c.attribute.name: c.absent for c in opened.manifest.columns if c.absent != ("",)}
    return replace(model, release=opened.manifest.name, absent=absent)


def _check_classes(release: Release) -> None:
    """Raise UsageError unless a release has a target with classes."""
    target = release.manifest.schema.target
    if target is None:
        raise UsageError(f"{release.folder} has no target to predict; release the table with target=COLUMN")
    if target.kind.numeric:
        raise UsageError(
            f"{target.name}: a target of numbers has no classes; cut it into categories before the release"
        )


def _grow(table: Table, strategy: Strategy) -> Model:
    """Grow the model of a table in memory."""
    if not table.columns:
        raise UsageError("the release holds no attribute beside the target, so there is nothing to predict from")
    start = time.perf_counter()
    body, notes = strategy.grow(table)
    if isinstance(body, Tree):
        body = replace(body, target=table.required_target.name, strategy=body.strategy or strategy.name)
    return Model(body, strategy.name, table.rows, seconds=time.perf_counter() - start, notes=notes)

"""What an ensemble looks at, and a small tree that says nearly the same: a thousand trees cannot be read, one can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.hashing import choose_rows
from sfumato.mining.ensembles.ensemble import Ensemble
from sfumato.table import Column, Table
from sfumato.trees import MDL, Limits, as_released, text


def add_surrogate(ensemble: Ensemble, drawn: Table) -> Ensemble:
    """Return the ensemble with a tree of at most eight leaves, grown on what it predicts for drawn rows.

    Parameters
    ----------
    ensemble
        What is to be told in short.
    drawn
        Plausible true rows.
    """
    max_rows, max_leaves = 20_000, 8
    sample = drawn.take(np.sort(choose_rows(np.arange(drawn.rows), max_rows)))
    columns = tuple(replace(column, channel=None) for column in sample.columns)
    guesses = np.argmax(ensemble.predict_proba(sample), axis=1)
    target = Column.of_codes(ensemble.target, ensemble.labels, guesses)
    tree = as_released(Table(columns, target), Limits(max_leaves=max_leaves), MDL())
    tree = replace(tree, strategy="surrogate", target=ensemble.target)
    return replace(ensemble, surrogate=tree, agreement=float(np.mean(tree.predict_codes(sample) == guesses)))


def ensemble_text(ensemble: Ensemble) -> str:
    """Return the attributes by what their tests gain, and the small tree, as text."""
    shown = 12
    order = np.argsort(ensemble.gains, kind="stable")[::-1][:shown]
    widest = max((len(ensemble.attributes[i].name) for i in order), default=0)
    lines = ["what the trees look at, by the share of all that their tests gain:"]
    lines += [
        f"  {ensemble.attributes[i].name:{widest}}  {ensemble.gains[i]:6.1%}" for i in order if ensemble.gains[i] > 0
    ]
    if not any(ensemble.gains):
        lines = ["no column helps to tell the classes apart"]
    if ensemble.surrogate is not None and len(ensemble.surrogate.nodes) > 1:
        agreed = f"{ensemble.agreement:.1%}"
        lines += ["", f"a small tree that predicts the same class for {agreed} of the rows:", text(ensemble.surrogate)]
    return "\n".join(lines)

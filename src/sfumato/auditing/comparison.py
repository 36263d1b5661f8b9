"""Did the patterns survive? Trees and clusters of a release beside those of the original, which only the owner can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.auditing.case import original_of, sample_rows
from sfumato.clusters import cluster_privacy, fixed_point_agreement, kmeans, rerun_agreement, single_start_agreement
from sfumato.engines import Engine, Local
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.mining import LABELS, complete_columns, scale_columns, score_model, unadjusted_table
from sfumato.randomness import SecretKey
from sfumato.releases import SAMPLE, Release, check_same_rows, open_pair
from sfumato.report import score_tables
from sfumato.table import Original, Table, require_original
from sfumato.trees import Tree, c45, compare_trees


@dataclass(frozen=True)
class Comparison:
    """Trees, one for each column that was asked for as a class, and clusters of the numeric columns.

    Attributes
    ----------
    trees : tuple of dict
        `target`, `rule_similarity`, `agreement`, `same_root` and `verdict` of each pair of trees, and the `scores` of both on
        the original's rows.
    clusters : dict, optional
        `agreement` of the clusters and the `verdict`; None where there is nothing to cluster.
    notes : tuple of str
        What could not be compared, and why.

    Examples
    --------
    >>> Comparison((), None, ("no class is declared",)).to_dict()
    {'trees': [], 'clusters': None, 'notes': ['no class is declared']}
    """

    trees: tuple[dict[str, Any], ...]
    clusters: dict[str, Any] | None
    notes: tuple[Note, ...] = ()

    def score_table(self) -> score_tables.Rows:
        """Return the scores of the first pair of trees, on the rows that the original's tree was grown from."""
        return score_tables.tabulate_scores(self.trees[0]["scores"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"trees": list(self.trees), "clusters": self.clusters, "notes": list(self.notes)}


def compare(
    original: Any,
    release: Release | str | Path,
    *,
    k: int | None = None,
    every: bool = False,
    key: SecretKey | str | Path | None = None,
    encoding: str | None = None,
    engine: Engine = Local(),
    sample: int = SAMPLE,
) -> Comparison:
    """Compare C4.5 trees and k-means clusters of the original with those of its release, mined as it is.

    Parameters
    ----------
    original : path, bundled name, dataframe or Arrow table
        The table that the release was made from, rows in the same order.
    release : Release or path
        A release, or its folder. The two are told apart, so they may be given in the other order too.
    k : int, optional
        How many clusters; by default the method's, or chosen by the silhouette.
    every : bool
        Also compare a tree for each categorical column, not only for the target.
    key : SecretKey or path, optional
        The owner's key, by which rows that were shuffled on release are put in order again.
    encoding : str, optional
        Encoding of a CSV file.
    engine : Engine
        Where the work is done. One that does not gather rows compares the same `sample` of rows of both tables.
    sample : int
        Rows that are compared then.

    Returns
    -------
    Comparison
        Likeness of trees and of clusters, and notes on what could not be compared.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", None, f"{folder}/release", method="leaf-swap")
    ...     result = sf.compare("iris", release, k=3)
    >>> result.trees[0]["same_root"]
    True
    """
    if k is not None and k < 1:
        raise UsageError(f"k: {k} is not a number of clusters; give a whole number from 1 on")
    if sample < 1:
        raise UsageError(f"sample: {sample} rows cannot be compared; give a whole number from 1 on")
    original, opened = open_pair(original, release)
    trees, notes = [], []
    if engine.gathers:
        truth, seen = original_of(opened, original, encoding, key)[0], opened.read_table()
    else:
        first, second = sample_rows(opened, original, engine, sample, encoding)
        truth, seen = require_original(first.table, "compare"), second.table
        if not first.whole:
            words = f"compared by {truth.rows:,} of {first.of:,} rows, chosen by a hash of their numbers"
            notes.append(Note("SF306", words))
    guided = {c.attribute.name for c in opened.manifest.columns if c.guided is not None}
    check_same_rows(seen.all_columns, {c.name: c.values for c in truth.all_columns}, guided)
    seen = unadjusted_table(seen)
    if truth.target is not None and truth.columns:
        trees.append(_tree(truth, seen))
    if every:
        max_labels = 50
        attributes = [c.attribute for c in truth.columns if not c.attribute.kind.numeric]
        names = [a.name for a in attributes if len(a.categories) <= max_labels]
        inputs, released = replace(truth, target=None), replace(seen, target=None)
        trees += [_tree(inputs.with_target(n), released.with_target(n)) for n in names]
    if not trees:
        notes.append(Note("SF307", "no class is declared, so no trees were compared; release with target=COLUMN"))
    clusters: dict[str, Any] | None
    try:
        clusters = _clusters(opened, truth, seen, k)
        without = {n: why for n, why in clusters["left_out"].items() if why != LABELS}
        notes += [Note("SF304", f"clusters were compared without {n}: {why}") for n, why in without.items()]
    except (UsageError, DataError) as error:
        clusters = None
        notes.append(Note("SF307", f"clusters were not compared: {error}"))
    return Comparison(tuple(trees), clusters, tuple(notes))


def _tree(original: Original, seen: Table) -> dict[str, Any]:
    first, second = c45(original), c45(seen)
    likeness = compare_trees(first, second, original, matched=True)
    scores = {"original": _scores(first, original), "release": _scores(second, original)}
    return {"target": first.target, "leaves": [first.leaves, second.leaves]} | likeness.to_dict() | {"scores": scores}


def _scores(tree: Tree, original: Original) -> dict[str, Any]:
    """Score a tree on the original's rows; a class that the tree does not know is left out."""
    places = {label: i for i, label in enumerate(tree.labels)}
    codes = np.array([places.get(label, -1) for label in original.labels] + [-1])  # the last is for no class, code −1
    return score_model(tree, original, codes[original.codes]).to_dict(tree.labels)


def _clusters(release: Release, original: Original, seen: Table, k: int | None) -> dict[str, Any]:
    columns, without = complete_columns(original)
    x, y = scale_columns(columns), scale_columns([seen[c.name] for c in columns])
    method = release.manifest.method or {}
    wanted = k or (int(method["k"]) if method.get("k") else None)
    fit = kmeans(x, wanted, small="merge")
    privacy = cluster_privacy(x, y, fit.labels)
    rerun = rerun_agreement(y, fit.labels, fit.k)
    return {
        "k": fit.k,
        "sizes": list(fit.sizes),
        "chosen_by": fit.chosen_by,
        "agreement": rerun,
        "protocols": {
            "rerun": rerun,
            "fixed_point": fixed_point_agreement(y, fit.labels, fit.centres),
            "single_start": single_start_agreement(x, y, fit.k),
        },
        "privacy": privacy.to_dict(),
        "verdict": privacy.verdict,
        "columns": [c.name for c in columns],
        "left_out": without,
    }

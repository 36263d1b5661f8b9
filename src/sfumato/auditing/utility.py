"""What the release is still good for: distributions, correlations, trees and clusters, compared with the original's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.attacks import View, linear_view
from sfumato.auditing.case import check_rows
from sfumato.counts import FloatArray, Grid, IntArray
from sfumato.engines import Engine
from sfumato.mining import reconstruct, score_model
from sfumato.reconstruction import CellCounts, paper_size
from sfumato.releases import Release, count_original
from sfumato.table import Column, Original

MIN_ROWS = 60
"""Rows below which neither trees nor clusters are compared."""


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """½ Σ |p − q|: the share of people who would have to move."""
    return float(np.abs(p - q).sum() / 2)


def kolmogorov_smirnov(p: FloatArray, q: FloatArray) -> float:
    """The largest difference of the two distribution functions, at the cell edges."""
    return float(np.abs(np.cumsum(p - q)).max())


def wasserstein(grid: Grid, p: FloatArray, q: FloatArray) -> float:
    """W₁ = ∫ |F − G|: how far people would have to move on average, in the attribute's unit."""
    centres = grid.centres
    return float(np.abs(np.cumsum(p - q))[:-1] @ np.diff(centres)) if len(centres) > 1 else 0.0


def measure_distances(view: View, truth: Mapping[str, FloatArray]) -> dict[str, dict[str, Any]]:
    """Return for every modified column the distance of reconstructed and of released shares from the true ones."""
    out = {}
    for column in view.columns:
        belief = view.beliefs[column.name]
        if view.is_clear(column.name):
            continue
        known = truth[column.name][~np.isnan(truth[column.name])]
        if not len(known):
            continue
        grid, prior = belief.grid, belief.prior
        if grid.edges is not None:  # beliefs are finer than what can be told apart
            grid = column.true_grid(paper_size(len(known)))
            prior = np.bincount(grid.locate(belief.grid.centres), prior, minlength=grid.size).astype(np.float64)
        true = _shares(grid, known)
        read = column.as_true().values
        naive = _shares(grid, read[~np.isnan(read)])
        about: dict[str, Any] = _distances(grid, prior, naive, true)
        if grid.labels is None:
            about["wasserstein_share_of_range"] = about["wasserstein"] / (column.attribute.interval.range or 1.0)
            about["kolmogorov_smirnov_released"] = kolmogorov_smirnov(naive, true)
        out[column.name] = about
    return out


def _distances(grid: Grid, reconstructed: FloatArray, released: FloatArray, true: FloatArray) -> dict[str, float]:
    """Return the distances of reconstructed and released shares from the true ones; of labels only the total variation."""
    about = {
        "total_variation": total_variation(reconstructed, true),
        "total_variation_released": total_variation(released, true),
    }
    if grid.labels is None:
        about |= {
            "kolmogorov_smirnov": kolmogorov_smirnov(reconstructed, true),
            "wasserstein": wasserstein(grid, reconstructed, true),
            "wasserstein_released": wasserstein(grid, released, true),
        }
    return about


def _shares(grid: Grid, values: FloatArray) -> FloatArray:
    counts = np.bincount(grid.locate(values), minlength=grid.size).astype(np.float64)
    return np.asarray(counts / max(counts.sum(), 1.0))


def compare_correlations(view: View, truth: Mapping[str, FloatArray]) -> dict[str, Any] | None:
    """Compare the correlations of the numeric columns: original, as released, and with the noise taken out of the covariance."""
    linear = linear_view(view)
    if linear is None:
        return None
    table = np.column_stack([truth[n] for n in linear.names])
    table = table[~np.isnan(table).any(axis=1)]
    if len(table) < 3 or not (table.std(axis=0) > 0).all():
        return None
    original = _correlation(np.cov(table, rowvar=False))
    off = np.eye(len(linear.names)) == 0
    return {
        "columns": list(linear.names),
        "mean_error_released": float(np.abs(_correlation(linear.covariance) - original)[off].mean()),
        "mean_error_corrected": float(np.abs(_correlation(linear.signal) - original)[off].mean()),
        "largest_error_corrected": float(np.abs(_correlation(linear.signal) - original)[off].max()),
    }


def _correlation(covariance: FloatArray) -> FloatArray:
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)


def compare_grown_trees(view: View, truth: Mapping[str, FloatArray], seed: int) -> dict[str, Any] | None:
    """Return the scores on true rows that no tree was grown from, and how alike the trees' rules are."""
    from sfumato.trees import as_released, compare_trees, draft_published, original

    table = view.classes()
    if table is None or table.rows < MIN_ROWS:
        return None
    *columns, target = (Column(c.attribute, None, truth[c.name]) for c in table.all_columns)
    true, codes = Original(tuple(columns), target), target.codes
    held = np.random.default_rng(seed).permutation(table.rows) < table.rows // 3  # kept to judge the trees by
    if len(np.unique(codes[~held & (codes >= 0)])) < 2 or not (codes[held] >= 0).any():
        return None
    judge = true.take(np.flatnonzero(held & (codes >= 0)))
    common_start, pruner = view.tree_growth
    grown = {
        "original": original(true.take(~held)),
        "reconstructed": draft_published(table.take(~held), "byclass", common_start=common_start).cut(pruner),
        "naive": as_released(table.take(~held)),
    }
    scores = {name: score_model(tree, judge, judge.codes) for name, tree in grown.items()}
    about: dict[str, Any] = {
        "target": view.target,
        "test_rows": int(held.sum()),
        "majority": scores["original"].majority,
        "accuracy": {name: s.accuracy for name, s in scores.items()},
        "labels": list(true.labels),
        "scores": {name: s.to_dict(true.labels) for name, s in scores.items()},
        "leaves": {name: int(t.leaves) for name, t in grown.items()},
    }
    about["similarity"] = {
        name: compare_trees(grown["original"], grown[name], judge).to_dict() for name in ("reconstructed", "naive")
    }
    return about


def compare_clusters(view: View, truth: Mapping[str, FloatArray], seed: int) -> dict[str, Any] | None:
    """Return the agreement of k-means on the release with k-means on the original, on the scale of the domains."""
    from sfumato.attacks import find_clusters
    from sfumato.clusters import agreement

    k, max_rows = 3, 5000
    columns = [c for c in view.numeric if c.attribute.interval.range > 0]
    if len(columns) < 2:
        return None
    low = np.array([c.attribute.interval.low for c in columns])
    span = np.array([c.attribute.interval.range for c in columns])
    x = (np.column_stack([truth[c.name] for c in columns]) - low) / span
    y = (np.column_stack([c.values for c in columns]) - low) / span
    rows = np.flatnonzero(~np.isnan(x).any(axis=1) & ~np.isnan(y).any(axis=1))
    if len(rows) < MIN_ROWS:
        return None
    gaps = len(x) - len(rows)
    rng = np.random.default_rng(seed)
    rows = rows if len(rows) <= max_rows else rng.choice(rows, max_rows, replace=False)
    labels = [find_clusters(t[rows], k, seed)[0] for t in (x, y)]
    again = find_clusters(x[rows], k, seed + 1)[0]
    return {
        "k": k,
        "rows": len(rows),
        "columns": [c.name for c in columns],
        "rows_with_gaps": gaps,
        "agreement": agreement(labels[0], labels[1]),
        "agreement_of_original_with_itself": agreement(labels[0], again),
    }


def measure_utility(view: View, truth: Mapping[str, FloatArray], seed: int) -> dict[str, Any]:
    """Return all of it; what does not apply is None."""
    return {
        "distributions": measure_distances(view, truth),
        "correlations": compare_correlations(view, truth),
        "trees": compare_grown_trees(view, truth, seed),
        "clusters": compare_clusters(view, truth, seed),
    }


def count_distances(
    release: Release, original: Any, engine: Engine, encoding: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return for every modified column the distance of reconstructed and of released shares from the true ones, over all rows."""
    truth = count_original(original, release.manifest, engine, encoding=encoding)
    counted = release.count_table(engine)
    columns = {c.name: c for c in counted.table.columns if c.channel is not None}
    names = tuple(name for name in columns if release.manifest[name].missing < release.manifest.data.rows)
    if not names:
        return {}
    views = reconstruct(release, list(names), engine=engine)
    grids = tuple(views[name].overall.grid for name in names)
    true = truth.fold(CellCounts(names, grids)).arrays.values()
    seen = counted.fold(CellCounts(names, grids)).arrays.values()
    check_rows(release, max(int(t.sum()) for t in true))
    out = {}
    for name, grid, before, after in zip(names, grids, true, seen, strict=True):
        if not before[:, 1:].any():
            continue
        mass, p, q = views[name].overall.mass, _count_shares(before), _count_shares(after)
        about: dict[str, Any] = {"rows": int(before.sum())} | _distances(grid, mass, q, p)
        channel = columns[name].channel
        if channel is not None and channel.reports is not None:  # reports are not values, and have no shares
            del about["total_variation_released"]
        out[name] = about
    return out


def _count_shares(counts: IntArray) -> FloatArray:
    cells = counts[:, 1:].sum(axis=0).astype(np.float64)
    return np.asarray(cells / max(cells.sum(), 1.0))

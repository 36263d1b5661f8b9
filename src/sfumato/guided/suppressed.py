"""Which rows of the original a release left out, as its owner can find again without the key.

Rare classes follow from the class alone; small cells that were suppressed follow from the tree, which the same table grows
again. Where it depends on a draw (labels dealt out first; a row alone in its leaf whom no other leaf has anything for), or a sample
chose the tree, it cannot be said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.guided.base import METHODS
from sfumato.guided.rare_classes import is_rare_row
from sfumato.guided.tree import LeafSwap, TreeMethod, cells_of
from sfumato.releases import Manifest
from sfumato.table import Original
from sfumato.trees import c45


def find_kept_rows(manifest: Manifest, original: Original) -> NDArray[np.bool_] | None:
    """Return which rows of the original the release holds; None where the method leaves none out, or it cannot be said."""
    kept = _rows_kept(manifest.method or {}, original, bool(manifest.extra.get("public", {}).get("by_counts")))
    return kept if kept is not None and int(kept.sum()) == manifest.data.rows else None


def _rows_kept(stated: Mapping[str, Any], original: Original, by_counts: bool) -> NDArray[np.bool_] | None:
    law = str(stated.get("law"))
    if law not in METHODS or original.target is None:
        return None
    method = METHODS[law].plan({k: v for k, v in stated.items() if k != "law"})
    if not isinstance(method, TreeMethod) or not method.leaves_rare_out:
        return None
    kept = ~is_rare_row(original.codes)
    if isinstance(method, LeafSwap) and not by_counts and kept.any():
        rest = original.take(kept)
        kept[kept] = ~_rows_in_small_cells(method, rest)
    return kept


def _rows_in_small_cells(method: LeafSwap, table: Original) -> NDArray[np.bool_]:
    """Return rows in small cells that are left out whatever is drawn."""
    if method.small == "climb" or (method.small == "suppress" and method.labels):
        return np.zeros(table.rows, bool)
    leaf = np.unique(c45(table).apply(table), return_inverse=True)[1]
    if method.small == "blind":
        return np.asarray(np.bincount(leaf)[leaf] < 2)
    cell = cells_of(leaf, table.codes, len(table.labels))
    return np.asarray(np.bincount(cell)[cell] < method.least)

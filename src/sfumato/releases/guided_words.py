"""What a guided release tells its reader: what was done to each column, what a row may be taken for, and what it is good for.

Noise by a law can be corrected for, and the reader is told how. Here there is no law value by value: a release is mined as it
is, and each method keeps something else of the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.schema import Role

CLUSTERED = ("rdd", "racc", "swap-v", "racc-v", "geometric")
MIRRORED = ("racc", "racc-v")
"""Methods that turn a record about a centre, which leaves a single number two places."""

LABELS_PERMUTED = "labels permuted inside each leaf of the owner's tree"
SAYINGS = {
    "class-random": LABELS_PERMUTED,
    "class-probabilistic": "labels drawn from the shares of their leaf in the owner's tree",
    "class-all-leaves": "labels changed at random, in all leaves at one rate",
    "innocent": "noise on the records of some or all leaves of the owner's tree",
    "detective": "labels dealt out again within the leaves and siblings of a tree grown for them",
    "framework": "noise that keeps the record in its leaf of the owner's tree",
    "leaf-swap": "values swapped among records of the same leaf and class of the owner's tree",
    "rdd": "moved at random, with the distance to the cluster's centre kept in its range",
    "racc": "rotated around the centre of its cluster",
    "geometric": "rotated, shifted and blurred together with all other numbers: it no longer holds what its name says",
    "swap-v": "values swapped inside each cluster; a cluster in which some record finds no place so is drawn towards its centre",
    "racc-v": "rotated around the cluster's centre, every record kept in its cluster's cell",
}
"""What is done to a column; of methods that treat numbers, labels and the class differently, what is done to numbers."""

READS = {
    "class": "Only the class was changed, and many labels are still the true ones: a row is a record of somebody, whose class alone "
    "may be another's",
    "innocent": "A modified column holds noise in some rows and may hold true values in others, and all other columns are true: a row "
    "is a record of somebody, blurred in part",
    "detective": "Labels were dealt out again among records that are alike, and many are still the true ones; all other columns are "
    "true: a row is a record of somebody, blurred in part",
    "framework": "Numbers were blurred or swapped, and labels dealt out again; single cells are still the true ones",
    "leaf-swap": "Every value in a modified column is a true one, but as a rule another person's: a row is put together from several "
    "people of one leaf and class. By chance a cell, or a whole row, is its own person's",
    "swap-v": "Numbers are true ones, but as a rule another person's of the same cluster, or have been drawn towards its centre; "
    "labels are swapped, too. By chance a cell, or a whole row, is its own person's",
    "moved": "Numbers were moved, and none should be read as a fact about anyone, but for one that a whole cluster shares; labels are "
    "true ones, but as a rule another person's",
}
"""What a row may be taken for; "class" stands for all class noise, "moved" for the methods around clusters."""

KEPT = "; where a leaf and class has too few records, rows are released as they are (see below)"
MIRROR = "; a single number can only be mirrored at its centre, so about half of them are true, or nearly so"

USES = {
    "class": "A decision tree grown from it comes near the owner's, and statistics of the other columns are exact. Those that involve "
    "the class are not, and cannot be corrected",
    "tree": "A decision tree grown from it comes near the owner's. Other statistics of the modified columns are off by an amount "
    "that no law states, and cannot be corrected",
    "leaf-swap": "A decision tree grown from it comes near the owner's, and each column, alone or by class, is distributed as in the "
    "original but for small cells. Relations between columns inside a leaf are gone, and cannot be recovered",
    "clusters": "Clusters of it come near the owner's. Other statistics of the modified columns are off by an amount that no law "
    "states, and cannot be corrected",
    "geometric": "Distances between rows are kept up to the noise, and so are clusters, unless columns are rescaled. No column means "
    "anything by itself, and it cannot be corrected",
}
"""What the release is good for as it is."""


def guided_saying(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """What a guided method did to a column, in one line; `method` is its public statement, where that is at hand."""
    law = str(column.guided)
    numeric = column.attribute.kind.numeric
    if law in CLUSTERED and not numeric:
        return "labels permuted over the whole table" if law == "geometric" else "labels swapped inside each cluster"
    if law == "leaf-swap" and column.attribute.role is Role.TARGET:
        return LABELS_PERMUTED
    if law == "framework":
        if column.attribute.role is Role.TARGET:
            return LABELS_PERMUTED
        if not numeric:
            return SAYINGS["detective"]
        if (method or {}).get("numbers") == "swap":
            return "values swapped among records of the same leaf and released class of the owner's tree"
    return SAYINGS.get(law, law)


def gaps_travel(column: ReleasedColumn, method: Mapping[str, Any]) -> bool:
    """Whether missing values were dealt out with the others, so that an empty cell is not its own row's."""
    law, numeric = column.guided, column.attribute.kind.numeric
    if column.attribute.role is Role.TARGET:
        return False
    if law == "framework":
        return numeric and method.get("numbers") == "swap"
    return law == "leaf-swap" or (law in CLUSTERED and not numeric)


def reading(manifest: Manifest) -> str:
    """What a row may be taken for."""
    method = manifest.method or {}
    law = str(method.get("law"))
    kind = "class" if law.startswith("class-") else "moved" if law in CLUSTERED and law != "swap-v" else law
    words = READS.get(kind, "Single cells may still be true ones")
    if method.get("small") == "keep":
        words += KEPT
    if law in MIRRORED and len(_numbers(manifest.columns)) == 1:
        words += MIRROR
    return words + "."


def _numbers(columns: Sequence[ReleasedColumn]) -> list[str]:
    return [c.attribute.name for c in columns if c.guided is not None and c.attribute.kind.numeric]


def using(manifest: Manifest) -> str:
    """What the release is good for, and by which command."""
    law = str((manifest.method or {}).get("law"))
    clusters = "clusters" if law in CLUSTERED else "tree"
    kind = "class" if law.startswith("class-") else law if law in USES else clusters
    return USES[kind] + "."

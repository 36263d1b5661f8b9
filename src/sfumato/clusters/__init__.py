"""Clusters: k-means and its scaling, agreement of clusterings, and the privacy of tables released around them."""

from sfumato.clusters.agreement import Spread, agreement, fixed_point, rerun, single_start
from sfumato.clusters.disclosure import (
    cluster_privacy,
    known_sample_attack,
    linear_residual,
    nearest_neighbour_linkage,
    random_known_rows,
)
from sfumato.clusters.kmeans import ROWS, KMeans, kmeans, lloyd, nearest_centre
from sfumato.clusters.partition import LabelArray, Partition, checked_labels, finite_table
from sfumato.clusters.scaling import Scaling

__all__ = [
    "ROWS",
    "KMeans",
    "LabelArray",
    "Partition",
    "Scaling",
    "Spread",
    "agreement",
    "checked_labels",
    "cluster_privacy",
    "finite_table",
    "fixed_point",
    "kmeans",
    "known_sample_attack",
    "linear_residual",
    "lloyd",
    "nearest_centre",
    "nearest_neighbour_linkage",
    "random_known_rows",
    "rerun",
    "single_start",
]

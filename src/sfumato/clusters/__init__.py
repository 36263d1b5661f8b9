"""Clusters: k-means and its scaling, agreement of clusterings, and the privacy of tables released around them.

scaling.py     the scale on which distances are measured
kmeans.py      k-means++ starts and Lloyd's iteration
partition.py   a table ordered by cluster
agreement.py   how alike two clusterings are
disclosure.py  what a release around clusters gives away

Start with kmeans.py. scikit-learn is imported when it is used. Methods that perturb around clusters are in `guided`.
"""

from sfumato.clusters.agreement import Spread, agreement, fixed_point_agreement, rerun_agreement, single_start_agreement
from sfumato.clusters.disclosure import (
    cluster_privacy,
    known_sample_attack,
    linear_residual,
    nearest_neighbour_linkage,
    random_known_rows,
)
from sfumato.clusters.kmeans import CACHED_ROWS, KMeans, kmeans, lloyd, nearest_centre
from sfumato.clusters.partition import LabelArray, Partition, check_finite, check_labels
from sfumato.clusters.scaling import Scaling

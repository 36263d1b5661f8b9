"""Clusters: k-means and its scaling, agreement of clusterings, and the privacy of tables released around them.

points.py      rows as points: checked, on the scale on which distances are measured, ordered by cluster
kmeans.py      k-means++ starts and Lloyd's iteration; how alike two clusterings are
disclosure.py  what a release around clusters gives away

Start with kmeans.py. scikit-learn is imported when it is used. Methods that perturb around clusters are in `guided`.
"""

from sfumato.clusters.disclosure import (
    cluster_privacy,
    known_sample_attack,
    linear_residual,
    nearest_neighbour_linkage,
    random_known_rows,
)
from sfumato.clusters.kmeans import (
    CACHED_ROWS,
    KMeans,
    Spread,
    agreement,
    fixed_point_agreement,
    kmeans,
    lloyd,
    nearest_centre,
    rerun_agreement,
    single_start_agreement,
)
from sfumato.clusters.points import Partition, Scaling, check_finite, check_labels

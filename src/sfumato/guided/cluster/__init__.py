"""Guided methods around the clusters of a table.

base         what they share: `ClusterMethod` perturbs a scaled table around given clusters
clustered    the same for a whole table: scaling, k-means, labels, dates
rdd          numbers moved, distances to the centre kept in their range
racc         rows turned around their centre; RACC-V keeps every row in its cell
swap_v       values swapped inside each cluster
geometric    the rival: all rows rotated, shifted and blurred together
_voronoi     cells of centres, and how a cluster is settled in its cell
"""

from sfumato.guided.cluster.base import ClusterMethod
from sfumato.guided.cluster.clustered import Clustered
from sfumato.guided.cluster.geometric import Geometric
from sfumato.guided.cluster.racc import RACC, RACCV
from sfumato.guided.cluster.rdd import RDD
from sfumato.guided.cluster.swap_v import SwapV

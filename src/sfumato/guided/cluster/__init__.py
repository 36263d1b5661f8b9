"""Guided methods around the clusters of a table.

base         what they share: `ClusterMethod` perturbs a scaled table around given clusters, `Clustered` a whole table
rdd          numbers moved, distances to the centre kept in their range
racc         rows turned around their centre
voronoi      rows kept in the cell of their centre: RACC-V, and SWAP-V, which swaps values inside each cluster
geometric    the rival: all rows rotated, shifted and blurred together
"""

from sfumato.guided.cluster.base import Clustered, ClusterMethod
from sfumato.guided.cluster.geometric import Geometric
from sfumato.guided.cluster.racc import RACC
from sfumato.guided.cluster.rdd import RDD
from sfumato.guided.cluster.voronoi import RACCV, SwapV

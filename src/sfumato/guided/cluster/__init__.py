"""Room."""

from sfumato.guided.cluster.base import CLUSTER_METHODS, ClusterMethod
from sfumato.guided.cluster.clustered import Clustered
from sfumato.guided.cluster.geometric import Geometric
from sfumato.guided.cluster.racc import RACC, RACCV
from sfumato.guided.cluster.rdd import RDD
from sfumato.guided.cluster.swap_v import SwapV

__all__ = ["CLUSTER_METHODS", "RACC", "RACCV", "RDD", "ClusterMethod", "Clustered", "Geometric", "SwapV"]

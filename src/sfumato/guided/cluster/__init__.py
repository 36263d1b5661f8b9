"""Room."""

from sfumato.guided.cluster.base import ClusterMethod
from sfumato.guided.cluster.clustered import Clustered
from sfumato.guided.cluster.geometric import Geometric
from sfumato.guided.cluster.racc import RACC, RACCV
from sfumato.guided.cluster.rdd import RDD
from sfumato.guided.cluster.swap_v import SwapV

__all__ = ["RACC", "RACCV", "RDD", "ClusterMethod", "Clustered", "Geometric", "SwapV"]

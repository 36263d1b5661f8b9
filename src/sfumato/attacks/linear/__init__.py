"""Room."""

from sfumato.attacks.linear._moments import linear_view
from sfumato.attacks.linear.be_dr import BayesEstimate
from sfumato.attacks.linear.cluster_linear import ClusterLinear, Reflection, clustered
from sfumato.attacks.linear.known_input import KnownInput
from sfumato.attacks.linear.pca import PCA
from sfumato.attacks.linear.spectral import Spectral

__all__ = ["PCA", "BayesEstimate", "ClusterLinear", "KnownInput", "Reflection", "Spectral", "clustered", "linear_view"]

"""Room."""

from sfumato.mining.distributions import View, distributions, plotted
from sfumato.mining.estimators import PerturbedTreeClassifier
from sfumato.mining.model import STRATEGIES, Model, mine

__all__ = ["STRATEGIES", "Model", "PerturbedTreeClassifier", "View", "distributions", "mine", "plotted"]

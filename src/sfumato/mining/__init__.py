"""Mine a release: distributions, models and clusters, from the released data and its manifest alone.

miner.py          mine: choose a strategy, grow a model
model.py          a model: its file, its predictions, its accuracy on true values
naive_bayes.py    the one model that is not a tree
distributions.py  reconstruct: the true distributions behind a release
clustering.py     cluster: k-means on the released numbers
estimators.py     the same trees in scikit-learn's manner

Start with miner.py. Nothing here sees an original value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.mining.clustering import LABELS, cluster, complete_columns, scale_columns, unadjusted_table
from sfumato.mining.distributions import Reconstruction, Reconstructions, reconstruct
from sfumato.mining.model import Model, evaluate, mine, predict

if TYPE_CHECKING:
    from sfumato.mining.estimators import PerturbedTreeClassifier

__all__ = [
    "LABELS",
    "Model",
    "PerturbedTreeClassifier",
    "Reconstruction",
    "Reconstructions",
    "cluster",
    "complete_columns",
    "evaluate",
    "mine",
    "predict",
    "reconstruct",
    "scale_columns",
    "unadjusted_table",
]


def __getattr__(name: str) -> Any:
    if name != "PerturbedTreeClassifier":  # loaded when it is used: scikit-learn is an extra
        raise AttributeError(f"sfumato.mining has no {name!r}")
    from sfumato.mining.estimators import PerturbedTreeClassifier

    return PerturbedTreeClassifier

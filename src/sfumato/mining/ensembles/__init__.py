"""Ensembles of trees: boosted trees and forests that learned from plausible true rows, as plain data.

ensemble.py       the trees as arrays, their predictions, the JSON form
scikit_trees.py   the same trees out of scikit-learn's fitted models; the one module that reads its node arrays
boosting.py       the strategies `boosting` and `forest`
surrogate.py      what an ensemble looks at, and a small tree that says nearly the same
as_onnx.py        the same predictions as an ONNX graph

Start with ensemble.py. Applying an ensemble needs numpy alone; scikit-learn is loaded to fit one.
"""

from sfumato.mining.ensembles.as_onnx import to_onnx
from sfumato.mining.ensembles.boosting import boost_tables, fit_boosting, fit_forest
from sfumato.mining.ensembles.ensemble import FORMAT, Ensemble
from sfumato.mining.ensembles.surrogate import ensemble_text

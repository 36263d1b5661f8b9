"""Mine a release: distributions, models and clusters, from the released data and its manifest alone.

model.py          mine: choose a strategy, grow a model; its file, its predictions, its accuracy on true values
scores.py         what predictions are worth: one function per score; evaluation.py: the same in words and tables
auto.py           the strategy auto: boosted trees, or the tree of a joint map
naive_bayes.py    the model without any tree
ensembles/        boosted trees and forests, from draws of plausible true rows
plausible_tables  those draws
distributions.py  reconstruct: the true distributions behind a release
clustering.py     cluster: k-means on the released numbers
estimators/       the same trees, and any other learner, in scikit-learn's manner

Start with model.py. Nothing here sees an original value.
"""

from sfumato.mining.auto import fit_auto
from sfumato.mining.clustering import LABELS, cluster, complete_columns, scale_columns, unadjusted_table
from sfumato.mining.distributions import Reconstruction, Reconstructions, reconstruct
from sfumato.mining.evaluation import Evaluation
from sfumato.mining.model import Model, evaluate, mine, predict
from sfumato.mining.scores import SCORES, Z95, Score, Scores, score_model

"""scikit-learn's manner: estimators that are fitted on released values and predict for true ones.

released_columns.py    the laws of columns, and arrays read as released columns; refuses what no law could have released
base.py                what the estimators share: where laws come from, how rows are read, fitting a release as it is
perturbed_tree.py      trees from reconstructed counts
perturbed_learners.py  any estimator, fitted on draws of plausible true rows and averaged
learner_inputs.py      rows as an estimator takes them: labels as codes, one column per label, or texts

Start with perturbed_learners.py. No domain is learned for a modified column: one that is taken from noisy values is wrong, and one
taken from private values is not the miner's to know.
"""

from sfumato.mining.estimators.perturbed_learners import PerturbedClassifier, PerturbedRegressor
from sfumato.mining.estimators.perturbed_tree import PerturbedTreeClassifier

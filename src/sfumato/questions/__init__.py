"""Ask a release anything that can be told through its noise, each figure with its error.

functions   what can be asked of one column's true value
weights     what a released value says, without bias, of such a function

Start with weights. Laws come from `channels`, fits from `reconstruction`; nothing here knows trees, attacks or owners.
"""

from sfumato.questions.associations import Correlations, Crosstab, Itemsets, associate
from sfumato.questions.functions import Function, NumberSet, OfLabels, OfNumbers, Piece, unit_of
from sfumato.questions.planning import Power, power
from sfumato.questions.regression import RegressionFit, fit
from sfumato.questions.weights import ColumnWeights, NoWeightError, Reading, Weight, joint_powers, noise_covariance

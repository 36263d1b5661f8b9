"""Ask a release anything that can be told through its noise, each figure with its error.

functions   what can be asked of one column's true value
weights     what a released value says, without bias, of such a function

Start with weights. Laws come from `channels`, fits from `reconstruction`; nothing here knows trees, attacks or owners.
"""

from sfumato.questions.answer import Answer
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.questions.functions import Function, NumberSet, OfLabels, OfNumbers, Piece, unit_of
from sfumato.questions.reply import ask, reply
from sfumato.questions.sql import parse_question
from sfumato.questions.weights import ColumnWeights, NoWeightError, Reading, Weight, joint_powers, noise_covariance
from sfumato.questions.regression import RegressionFit, fit
from sfumato.questions.associations import Correlations, Crosstab, Itemsets, associate
from sfumato.questions.planning import Power, power

"""Ask a release anything that can be told through its noise, each figure with its error.

functions, weights      what a released value says, without bias, of a function of the true one
sql/, query             from a SELECT to what it asks for
conditions              three-valued logic over cells of true values
axes, layout, sums      which columns are cut into classes, and the one fold that a figure needs
statistics, estimate    from sums to figures with errors
ranges/                 ranges of blurred numbers, of one column or several
value_counts            quantiles of true numbers
reply, answer, memory   the whole way, and what comes of it
regression/             formulas, least squares, logistic and Poisson regression
associations/           tables of two columns, correlations, itemsets
planning                rows and noise, without data

Start with reply.ask, then weights. Laws come from `channels`, fits from `reconstruction`; nothing here knows trees or attacks.
"""

from sfumato.questions.answer import Answer
from sfumato.questions.associations import Correlations, Crosstab, Itemsets, associate
from sfumato.questions.estimate import Certainty, Estimate
from sfumato.questions.functions import Function, NumberSet, OfLabels, OfNumbers, Piece, unit_of
from sfumato.questions.memory import Memory
from sfumato.questions.planning import Power, power
from sfumato.questions.regression import RegressionFit, fit
from sfumato.questions.reply import ask, reply
from sfumato.questions.sql import parse_question
from sfumato.questions.weights import ColumnWeights, NoWeightError, Reading, Weight, joint_powers, noise_covariance

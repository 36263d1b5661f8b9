"""Regression through the noise: the coefficients that the owner would fit on the true table.

regress          the door: a formula, a release, a family
formula          from a formula to the columns of a design
clusters         terms that are weighed together, and weights of their products
linear           least squares: corrected moments, Fieller's intervals
corrected_score  logistic and Poisson: Newton on a score without bias
families         means as sums of exponentials; exponentials gives these their weights
outcome          the result, and how it is printed

Start with linear. Weights of one column come from the room around; nothing here reads a file.
"""

from sfumato.questions.regression.clusters import Powers, States
from sfumato.questions.regression.formula import level_names
from sfumato.questions.regression.held_rows import Rows, Source, check_some_rows, parts
from sfumato.questions.regression.outcome import RegressionFit
from sfumato.questions.regression.regress import FAMILIES, fit

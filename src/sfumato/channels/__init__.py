"""The laws of perturbation, one to a file. These import lines are the registry: a new law is a new file and a line here."""

from sfumato.channels.additive import Additive
from sfumato.channels.base import CHANNELS, JOINT_LAWS, MAX_BINS, CellRule, Channel, Guarantee, JointLaw, channel_class
from sfumato.channels.correlated import CorrelatedGaussian, Marginal, Moments, blur_covariance, rejoin
from sfumato.channels.gaussian import Gaussian
from sfumato.channels.intervals import Intervals
from sfumato.channels.laplace import Laplace
from sfumato.channels.projective import Projective, best_space, report_variance, response_variance
from sfumato.channels.square_wave import SquareWave
from sfumato.channels.substitution import Discrete, Substitution, equal_signal, gamma_of_rho
from sfumato.channels.transition import (
    MAX_CELLS_AT_ONCE,
    DenseKernel,
    Kernel,
    Transition,
    TwoLevels,
    coarsen,
    label_operator,
    with_missing,
)
from sfumato.channels.uniform import Uniform

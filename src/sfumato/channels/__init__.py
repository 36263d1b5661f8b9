"""The laws of perturbation, one to a file. These import lines are the registry: a new law is a new file and a line here."""

from sfumato.channels.base import CHANNELS, Channel, Guarantee, Kernel, channel_class
from sfumato.channels.gaussian import Gaussian
from sfumato.channels.intervals import Intervals
from sfumato.channels.laplace import Laplace
from sfumato.channels.projective import Projective, suited
from sfumato.channels.square_wave import SquareWave
from sfumato.channels.substitution import Substitution
from sfumato.channels.uniform import Uniform

__all__ = [
    "CHANNELS",
    "Channel",
    "Gaussian",
    "Guarantee",
    "Intervals",
    "Kernel",
    "Laplace",
    "Projective",
    "SquareWave",
    "Substitution",
    "Uniform",
    "channel_class",
    "suited",
]

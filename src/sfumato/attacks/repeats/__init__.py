"""Room."""

from sfumato.attacks.repeats.averaging import Averaging
from sfumato.attacks.repeats.noise_reuse import NoiseReuse
from sfumato.attacks.repeats.repeated_perturbation import RepeatedPerturbation

__all__ = ["Averaging", "NoiseReuse", "RepeatedPerturbation"]

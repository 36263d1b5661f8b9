"""Privacy in every unit people ask for: one function a published formula, and `figures` to collect them for a law."""

from sfumato.channels import gamma_of_rho
from sfumato.privacy.entropy import (
    entropy_privacy,
    matrix_entropy,
    mutual_information,
    privacy_loss,
    substitution_entropy,
)
from sfumato.privacy.figures import HIDE_GAPS, VISIBLE_GAPS, condition_number, figures, keep_probability, record_figures
from sfumato.privacy.gamma import (
    epsilon_of_gamma,
    record_gamma,
    repeated_gamma,
    rho1_of_gamma,
    rho2_of_gamma,
)
from sfumato.privacy.gaussian_noise import gaussian_delta, gaussian_epsilon
from sfumato.privacy.rounding import exactly_true, hides_little, refuse_unchanged

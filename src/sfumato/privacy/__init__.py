"""Privacy in every unit people ask for: one function per published formula, and `figures` to collect them for a law."""

from sfumato.channels import gamma_of_rho
from sfumato.privacy.figures import (
    HIDE_GAPS,
    VISIBLE_GAPS,
    exactly_true,
    figures,
    hides_little,
    keeps_nearly_all,
    record_figures,
    refuse_unchanged,
)
from sfumato.privacy.formulas import (
    condition_number,
    entropy_privacy,
    gaussian_delta,
    gaussian_epsilon,
    keep_probability,
    matrix_entropy,
    mutual_information,
    privacy_loss,
    record_gamma,
    repeated_gamma,
    rho1_of_gamma,
    rho2_of_gamma,
    substitution_entropy,
)
from sfumato.privacy.information import Information, measure_information
from sfumato.privacy.person import averaged_width, person_figures

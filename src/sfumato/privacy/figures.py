"""Every privacy figure of a law at once, as plain data. A figure that does not exist is null, with the reason."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sfumato.channels import (
    Channel,
    Gaussian,
    Projective,
    Substitution,
    Transition,
    best_space,
    report_variance,
    response_variance,
)
from sfumato.counts import Grid
from sfumato.privacy.entropy import entropy_privacy, matrix_entropy, privacy_loss, substitution_entropy
from sfumato.privacy.gamma import record_gamma, rho1_of_gamma, rho2_of_gamma
from sfumato.privacy.gaussian_noise import gaussian_epsilon
from sfumato.privacy.rounding import exactly_true
from sfumato.schema import Attribute, Missing

CONFIDENCES = {"50": 0.5, "95": 0.95, "999": 0.999}
PRIOR = 0.05
"""ρ₁ of the usual example: a belief of one in twenty."""
DELTA = 1e-6
CELLS = 100
CELLS_A_WIDTH = 20
MOST_CELLS = 1000
"""Π is computed on at least `CELLS` cells, and on `CELLS_A_WIDTH` to the 95 % interval: cells wider than the noise hide what
a release tells, and Π would come out too large."""


def figures(channel: Channel, attribute: Attribute) -> dict[str, Any]:
    """Return interval widths, γ, ε, ρ, entropies and, for substitution, how likely a value is kept and how well M inverts."""
    promised = channel.guarantee()
    finite = math.isfinite(promised.gamma)
    span = attribute.interval.range if attribute.kind.numeric else float(_labels(attribute))
    out: dict[str, Any] = {}
    for name, confidence in CONFIDENCES.items():
        width = channel.interval_width(confidence)
        out[f"interval_width_{name}"] = width
        out[f"interval_width_{name}_share"] = width / span
    out["exactly_true"] = exactly_true(channel, attribute)
    out["gamma"] = promised.gamma if finite else None
    out["epsilon"] = promised.epsilon if finite else None
    out["reason"] = promised.reason
    out["rho"] = {
        "rho1": PRIOR,
        "rho2": rho2_of_gamma(promised.gamma, PRIOR),
        "weakest_belief_that_can_become_half": rho1_of_gamma(promised.gamma, 0.5),
    }
    out |= _report_information(channel) if isinstance(channel, Projective) else _information(channel, attribute)
    if isinstance(channel, Gaussian) and channel.sigma:
        out["epsilon_delta"] = {"delta": DELTA, "epsilon": _finite(gaussian_epsilon(DELTA, span, channel.sigma))}
    if isinstance(channel, Substitution):
        out |= _substitution(channel)
    if isinstance(channel, Projective):
        out |= _reports(channel)
    if finite and not attribute.kind.numeric:
        out["rare_value_variance"] = rare_value_variance(promised.gamma, _labels(attribute))
    return out


def _labels(attribute: Attribute) -> int:
    return len(attribute.categories) + (attribute.missing is Missing.CATEGORY)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _information(channel: Channel, attribute: Attribute) -> dict[str, Any]:
    """Return Π and the loss under a uniform prior: what the release tells someone who knew nothing but the domain."""
    grid = _grid(channel, attribute)
    if grid is None:
        return {"entropy_privacy": None, "privacy_loss": None}
    prior = np.full(grid.size, 1 / grid.size)
    kernel = Transition.of(channel, grid).matrix
    widths = np.diff(grid.finite_edges)
    return {
        "entropy_privacy": entropy_privacy(prior, kernel, widths),
        "privacy_loss": privacy_loss(prior, kernel),
    }


def _grid(channel: Channel, attribute: Attribute) -> Grid | None:
    """Return cells fine enough for the noise, or None where that would take too many."""
    if not attribute.kind.numeric:
        return Grid.categories(tuple(map(str, range(_labels(attribute)))))
    share = channel.interval_width(CONFIDENCES["95"]) / attribute.interval.range
    wanted = math.ceil(CELLS_A_WIDTH / share) if share > 0 else math.inf
    grid = Grid.over(attribute, int(min(max(wanted, CELLS), MOST_CELLS)))
    return grid if wanted <= 4 * MOST_CELLS or grid.atoms is not None else None


def _substitution(channel: Substitution) -> dict[str, Any]:
    if channel.matrix is not None:
        matrix = np.array(channel.matrix)
        return {
            "entropy_bits": matrix_entropy(matrix),
            "condition_number": _finite(float(np.linalg.cond(matrix))),
            "keep_probability": float(np.diag(matrix).mean()),
        }
    gamma, size = channel.guarantee().gamma, channel.bin_grid.size
    return {
        "entropy_bits": substitution_entropy(gamma, size),
        "condition_number": condition_number(gamma, size),
        "keep_probability": keep_probability(gamma, size),
    }


def _report_information(channel: Projective) -> dict[str, Any]:
    """Return Π and the loss under a uniform prior, from H(Y) − H(Y|X): P(y) = (γm + d − m)/(dT) for a code in m of the d sets."""
    size = channel.bin_grid.size
    chance = ((channel.guarantee().gamma - 1) * channel.degrees + size) / (size * channel.total)
    told = -float(np.sum(chance * np.log2(chance))) - report_entropy(channel)
    return {"entropy_privacy": size * 2.0**-told, "privacy_loss": 1 - 2.0**-told}


def report_entropy(channel: Projective) -> float:
    """Return H(Y | X) in bits: s codes of γ/T each, K − s of 1/T."""
    gamma, total, s = channel.guarantee().gamma, channel.total, channel.space.set_size
    return -gamma * s / total * math.log2(gamma / total) + (channel.reports - s) / total * math.log2(total)


def _reports(channel: Projective) -> dict[str, Any]:
    """Return what substitution states, for reports; to keep a value means here that the best guess from the report finds it.

    MᵀM = ((γ−1)²(s−l) I + (K + 2(γ−1)s + (γ−1)² l) J)/T², since two sets share l codes: its eigenvalues give the condition
    number. The best guess at y finds the true value, on a uniform prior, with Σ_y max_x P(y|x)/d.
    """
    gamma, space, size = channel.guarantee().gamma, channel.space, channel.bin_grid.size
    least = (gamma - 1) ** 2 * (space.set_size - space.shared)
    rest = space.size + 2 * (gamma - 1) * space.set_size + (gamma - 1) ** 2 * space.shared
    found = np.where(channel.degrees > 0, gamma, 1.0).sum() / channel.total / size
    return {
        "entropy_bits": report_entropy(channel),
        "condition_number": math.sqrt(1 + size * rest / least),
        "keep_probability": float(found),
        "reports": space.size,
        "inside_probability": channel.inside,
    }


def rare_value_variance(gamma: float, size: int) -> dict[str, float]:
    """Return N × the variance of the reconstructed share of a rare label at this γ, through each of the two laws for labels."""
    out = {"substitution": response_variance(gamma, size)}
    if size > 2 and gamma > 1:
        out["projective"] = report_variance(gamma, best_space(gamma, size))
    return out


def condition_number(gamma: float, size: int) -> float:
    """Return (γ+N−1)/(γ−1): eigenvalues of the gamma-diagonal matrix are 1 and a = (γ−1)/(γ+N−1)."""
    return (gamma + size - 1) / (gamma - 1)


def keep_probability(gamma: float, size: int) -> float:
    """Return γ/(γ+N−1): the probability that the released value is the true one, by keeping it or by chance."""
    return gamma / (gamma + size - 1)


VISIBLE_GAPS = "a missing cell stays missing, so that present or missing is seen for certain and no ratio bounds it"
HIDE_GAPS = (
    'let absence take part with missing = "category" in the plan (of a categorical or ordinal column; of a number, fill the '
    "gaps or declare it categorical), or withhold the column"
)


def record_figures(attributes: Mapping[str, Mapping[str, Any]], gaps: Collection[str] = ()) -> dict[str, Any]:
    """Return the record as a whole: γ multiplies and ε adds up over independently perturbed attributes.

    ``gaps`` names attributes whose missing cells are left missing: P(missing | a value) = 0, so the record has no finite γ.
    What holds between two records with the same cells missing is kept as ``same_gaps_only``.
    """
    if gaps:
        same = record_figures(attributes)
        infinite = [n for n in attributes if n in same["infinite"] or n in gaps]
        out = {
            "epsilon": None,
            "gamma": None,
            "infinite": infinite,
            "missing_public": [n for n in attributes if n in gaps],
        }
        return out | {"reason": VISIBLE_GAPS, "next_step": HIDE_GAPS, "same_gaps_only": same}
    infinite = [name for name, about in attributes.items() if about["epsilon"] is None]
    if infinite or not attributes:
        reason = "one attribute without a finite ε leaves the record without one" if infinite else "nothing is modified"
        return {"epsilon": None, "gamma": None, "infinite": infinite, "reason": reason}
    gamma = record_gamma(about["gamma"] for about in attributes.values())
    return {
        "epsilon": math.fsum(about["epsilon"] for about in attributes.values()),
        "gamma": _finite(gamma),
        "infinite": [],
        "rho": {"rho1": PRIOR, "rho2": rho2_of_gamma(gamma, PRIOR)},
    }

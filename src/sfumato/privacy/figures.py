"""Every privacy figure of a law at once, as plain data. A figure that does not exist is null, with the reason."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sfumato.channels import (
    Additive,
    Channel,
    Discrete,
    Gaussian,
    Intervals,
    Projective,
    Substitution,
    best_space,
    report_variance,
    response_variance,
)
from sfumato.counts import FloatArray, Grid, IntArray, snap
from sfumato.errors import UsageError
from sfumato.privacy.formulas import (
    condition_number,
    gaussian_epsilon,
    keep_probability,
    matrix_entropy,
    record_gamma,
    report_entropy,
    rho1_of_gamma,
    rho2_of_gamma,
    substitution_entropy,
)
from sfumato.privacy.information import measure_information
from sfumato.schema import Attribute

PRIOR = 0.05
"""ρ₁ of the usual example: a belief of one in twenty."""


def figures(channel: Channel, attribute: Attribute) -> dict[str, Any]:
    """Return interval widths, γ, ε, ρ, entropies and, for substitution, how likely a value is kept and how well M inverts."""
    delta = 1e-6
    promised = channel.guarantee()
    finite = math.isfinite(promised.gamma)
    span = attribute.interval.range if attribute.kind.numeric else float(len(attribute.labels))
    out: dict[str, Any] = {}
    for name, confidence in (("50", 0.5), ("95", 0.95), ("999", 0.999)):
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
    out |= _information(channel, attribute)
    if isinstance(channel, Gaussian) and channel.sigma:
        out["epsilon_delta"] = {"delta": delta, "epsilon": _finite(gaussian_epsilon(delta, span, channel.sigma))}
    if isinstance(channel, Substitution):
        out |= _substitution(channel)
    if isinstance(channel, Projective):
        out |= _reports(channel)
    if finite and not attribute.kind.numeric:
        out["rare_value_variance"] = rare_value_variance(promised.gamma, len(attribute.labels))
    return out


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _information(channel: Channel, attribute: Attribute) -> dict[str, Any]:
    """Return Π and the loss under a uniform prior: what the release tells someone who knew nothing but the domain."""
    grid = _whole_domain(attribute)
    told = measure_information(channel, grid, np.full(grid.size, 1 / grid.size))
    return {
        "entropy_privacy": told.entropy_privacy,
        "privacy_loss": told.privacy_loss,
        "entropy_exact": told.exact,
        "entropy_reason": told.reason,
    }


def _whole_domain(attribute: Attribute) -> Grid:
    """Return the labels, or the domain as one cell, which holds the values of its lattice if it has one."""
    if not attribute.kind.numeric:
        return Grid.categories(attribute.labels)
    low, high, step = attribute.interval.low, attribute.interval.high, attribute.step
    if step:
        low, high = (np.ceil(low / step - 1e-9) - 0.5) * step, (np.floor(high / step + 1e-9) + 0.5) * step
    return Grid(edges=np.array([low, high]), step=step)


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


def _reports(channel: Projective) -> dict[str, Any]:
    """Return what substitution states, for reports; to keep a value means here that the best guess from the report finds it.

    MᵀM = ((γ−1)²(s−l) I + (K + 2(γ−1)s + (γ−1)² l) J)/T², since two sets share l codes: its eigenvalues give the condition
    number. The best guess at y finds the true value, on a uniform prior, with Σ_y max_x P(y|x)/d.
    """
    gamma, space, size = channel.guarantee().gamma, channel.space, channel.bin_grid.size
    least = (gamma - 1) ** 2 * (space.set_size - space.shared)
    rest = space.size + 2 * (gamma - 1) * space.set_size + (gamma - 1) ** 2 * space.shared
    right = np.where(channel.degrees > 0, gamma, 1.0).sum() / channel.total / size
    return {
        "entropy_bits": report_entropy(channel),
        "condition_number": math.sqrt(1 + size * rest / least),
        "keep_probability": float(right),
        "reports": space.size,
        "inside_probability": channel.inside,
    }


def rare_value_variance(gamma: float, size: int) -> dict[str, float]:
    """Return N × the variance of the reconstructed share of a rare label at this γ, through each of the two laws for labels."""
    out = {"substitution": response_variance(gamma, size)}
    if size > 2 and gamma > 1:
        out["projective"] = report_variance(gamma, best_space(gamma, size))
    return out


VISIBLE_GAPS = "a missing cell stays missing, so that present or missing is seen for certain and no ratio bounds it"
HIDE_GAPS = (
    'let absence take part with missing = "category" in the plan (of a categorical or ordinal column; of a number, fill the '
    "gaps or declare it categorical), or withhold the column"
)


def record_figures(attributes: Mapping[str, Mapping[str, Any]], gaps: Collection[str] = ()) -> dict[str, Any]:
    """Return the figures of a whole row: γ multiplies and ε adds up over independently perturbed attributes.

    ``gaps`` names attributes whose missing cells are left missing: P(missing | a value) = 0, so the row has no finite γ.
    What holds between two rows with the same cells missing is kept as ``same_gaps_only``.
    """
    if gaps:
        same = record_figures(attributes)
        infinite = [n for n in attributes if n in same["infinite"] or n in gaps]
        public = [n for n in attributes if n in gaps]
        out = {"epsilon": None, "gamma": None, "infinite": infinite, "missing_public": public}
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


def exactly_true(channel: Channel, attribute: Attribute) -> float | None:
    """Return P(the value next to the released one is the true one), over the values of the grid alike; None off a grid.

    "Next to" matters where a release has other steps than the column: an attacker who knows the grid rounds to it.
    """
    step = attribute.step if attribute.kind.numeric else 0.0
    if not step or attribute.interval.range == 0:
        return None
    if isinstance(channel, Discrete):
        return _by_bins(channel, attribute)
    wide = max(step, channel.step or step)
    low, high = attribute.interval.low, attribute.interval.high
    middle = float(snap(np.array([(low + high) / 2]), wide)[0])
    if not low <= middle <= high:
        return 0.0
    near = Grid(atoms=middle + wide * np.arange(-1.0, 2.0))
    kept = float(channel.transition(Grid(atoms=np.array([middle])), near)[1, 0])
    return kept * _size(attribute, wide) / _size(attribute, step)


def _size(attribute: Attribute, step: float) -> float:
    """Return how many multiples of a step lie in the domain."""
    return float(np.floor(attribute.interval.high / step + 1e-9) - np.ceil(attribute.interval.low / step - 1e-9) + 1)


def _by_bins(channel: Discrete, attribute: Attribute) -> float:
    """Return Σ_h M[h, bin of v_h]/n, where v_h is the value of the grid next to what stands for bin h, of n values in all."""
    near = snap(channel.representatives - 1e-6 * attribute.step, attribute.step)
    inside = (near >= attribute.interval.low - 1e-9) & (near <= attribute.interval.high + 1e-9)
    places = np.flatnonzero(inside)
    return float(_chances(channel, places, channel.bins_of(near[places])).sum() / _size(attribute, attribute.step))


def _chances(channel: Discrete, released: IntArray, true: IntArray) -> FloatArray:
    """Return M[h, k] for pairs of bins."""
    same = (released == true).astype(np.float64)
    if not isinstance(channel, Substitution):
        return same
    if channel.matrix is not None:
        return np.array(channel.matrix)[released, true]
    return channel.keep * same + (1 - channel.keep) / channel.bin_grid.size


def hides_little(channel: Channel, attribute: Attribute) -> bool:
    """Return whether the grid rounds most of the noise away. The width of a substitution counts values, and so says it itself."""
    share = None if isinstance(channel, Substitution) else exactly_true(channel, attribute)
    return share is not None and share > 0.5


def best_guess(channel: Channel, attribute: Attribute) -> float | None:
    """Return how often the likeliest value behind a released one is the true one, if all are alike; None for other laws."""
    if isinstance(channel, Projective):
        return float(_reports(channel)["keep_probability"])
    if not isinstance(channel, Substitution) or channel.edges is not None:
        return None
    if channel.matrix is not None:
        return float(np.array(channel.matrix).max(axis=1).mean())
    return keep_probability(channel.guarantee().gamma, len(channel.values or attribute.labels))


def keeps_nearly_all(channel: Channel, attribute: Attribute) -> bool:
    """Return whether the released label tells the true one in all but one cell of a hundred."""
    return (best_guess(channel, attribute) or 0.0) > 0.99


def refuse_unchanged(channel: Channel, attribute: Attribute) -> None:
    """Refuse noise that leaves a column as it is, which would be true values under another name."""
    min_changed = 1e-6  # a law that changes fewer cells modifies nothing
    share = best_guess(channel, attribute)
    if share is not None and share > 1 - min_changed:
        raise UsageError(
            f"{attribute.name}: {channel.law} of this size tells {100 * share:.4g} % of the true values; ask for less gamma or "
            "epsilon, or release the column as true"
        )
    share = exactly_true(channel, attribute)
    if share is None or share <= 1 - min_changed:
        return
    raise UsageError(
        f"{attribute.name}: {channel.law} noise of this size leaves {100 * share:.4g} % of the cells exactly true, since values "
        f"lie on a grid of steps of {attribute.step:g}; {_enough(channel, attribute)}declare the column categorical and "
        "use substitution, or release it as true"
    )


def _enough(channel: Channel, attribute: Attribute) -> str:
    """Return what changes every other cell: half of the noise beyond half a step, or two values per interval."""
    if isinstance(channel, Additive):
        scale = attribute.step / channel.quantile_width(0.5)
        return f"ask for a privacy of {scale * channel.quantile_width(0.95) / attribute.interval.range:.2g} or more, "
    values = int(_size(attribute, attribute.step))
    if isinstance(channel, Intervals):
        return f"ask for at most {values // 2} intervals, " if values >= 4 else ""
    return "ask for less epsilon, "

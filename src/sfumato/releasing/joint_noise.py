"""Noise drawn for several columns together: the owner's wish, the law that it becomes on a table, and its place in a release.

The law needs Σ_x, so the table is read once for its moments before it is released. Columns that have noise of their own in
the plan keep it; all other numeric columns that are to be modified take part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import (
    JOINT_LAWS,
    Channel,
    CorrelatedGaussian,
    Moments,
    Substitution,
    blur_covariance,
    equal_signal,
)
from sfumato.counts import FloatArray
from sfumato.errors import DataError, UsageError
from sfumato.io import Encoder, Source, name_files_in_errors, read_blocks
from sfumato.plans import Plan
from sfumato.randomness import Addresses, SecretKey, Stream
from sfumato.schema import Attribute, Consent
from sfumato.text import join_names

RATIO = 1.0


def joint_method(plan: Plan) -> bool:
    """Return whether the plan asks for noise drawn for several columns together."""
    return plan.method is not None and plan.method["law"] in JOINT_LAWS


@dataclass(frozen=True)
class JointNoise:
    """How much correlated noise: c itself, or c so large that every column has the 95 % interval asked for.

    `covariance` declares Σ_r outright, by the names of its columns, so that nothing is learned from the table.
    """

    ratio: float | None = None
    privacy: float | None = None
    covariance: Mapping[str, Any] | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JointNoise:
        """Read the wish from a plan's method; numbers may be texts, as a command line gives them."""
        wishes = {k: v for k, v in data.items() if k != "law"}
        if unknown := set(wishes) - {"ratio", "privacy", "names", "covariance", "steps"}:
            raise UsageError(
                f"{CorrelatedGaussian.law} has no parameter {join_names(sorted(unknown))}; it has ratio (c, where the noise "
                "has c times the covariance of the data), privacy, and names with covariance"
            )
        if "covariance" in wishes:
            return cls(covariance=wishes)
        if len(wishes) > 1:
            raise UsageError(
                f"{CorrelatedGaussian.law}: give either ratio or privacy, not {join_names(sorted(wishes))}"
            )
        numbers = {k: _positive(k, v) for k, v in wishes.items()}
        return cls(numbers.get("ratio"), numbers.get("privacy"))

    @property
    def companion(self) -> Channel:
        """The substitution that leaves labels as correlated with the truth as this noise leaves numbers: 1/√(1 + c)."""
        if self.privacy is not None:
            return Substitution(signal=equal_signal(self.privacy))
        return Substitution(signal=round((1 + (self.ratio or RATIO)) ** -0.5, 6))

    def bind(self, covariance: FloatArray, attributes: list[Attribute], floor: float = 0.0) -> CorrelatedGaussian:
        """Return the law for a table of this covariance; `floor` is the least eigenvalue of its correlations."""
        return CorrelatedGaussian.like(covariance, attributes, self.ratio_for(covariance, attributes), floor)

    def ratio_for(self, covariance: FloatArray, attributes: list[Attribute]) -> float:
        """Return c on a table of this covariance."""
        if self.privacy is None:
            return self.ratio or RATIO
        normal_95 = 3.919928  # 2 z: the width of the 95 % interval, in standard deviations
        spans = np.array([a.interval.range for a in attributes])
        ratio = float(np.max((self.privacy * spans / normal_95) ** 2 / np.diag(covariance)))
        return float(f"{ratio:.6g}")


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"{CorrelatedGaussian.law}: {name} = {value!r} is not a number; give one such as 1.0"
        ) from None
    if not 0 < number < np.inf:
        raise UsageError(f"{CorrelatedGaussian.law}: {name} = {value} must be a positive number")
    return number


def members(plan: Plan) -> list[Attribute]:
    """Return the columns that take part: numeric, to be modified, and without noise of their own."""
    lacking = [a for a in plan.schema if a.consent is Consent.MODIFIED and a.name not in plan.channels]
    if labels := [a.name for a in lacking if not a.kind.numeric]:
        raise UsageError(
            f'{join_names(labels)}: {CorrelatedGaussian.law} noise is for numbers; give it noise = {{ law = "substitution" }}'
        )
    if len(lacking) < 2:
        raise UsageError(
            f"{CorrelatedGaussian.law} blurs two or more numeric columns together, those without noise of their own, and "
            f"the plan has {join_names([a.name for a in lacking]) or 'none'}; {_too_few(plan)}"
        )
    return lacking


def _too_few(plan: Plan) -> str:
    """Say what to do where a plan leaves fewer than two columns to be blurred together."""
    own = [n for n in plan.channels if plan.schema[n].kind.numeric]
    numeric = [a for a in plan.schema if a.consent is Consent.MODIFIED and a.kind.numeric]
    if len(numeric) < 2:
        return 'give each column noise of its own, such as noise = { law = "gaussian", privacy = 0.5 }, and take the method out'
    return f"take the noise line of {join_names(own)} out of the plan, or the method"


def with_joint_noise(plan: Plan, wishes: Mapping[str, Any]) -> Plan:
    """Return a proposed plan with correlated noise on its numeric columns, and matching substitution on the others."""
    wish = JointNoise.from_dict(wishes)
    labels = {n: wish.companion for n in plan.channels if not plan.schema[n].kind.numeric}
    return replace(plan, channels=labels, method={"law": CorrelatedGaussian.law} | dict(wishes))


def joint_law(plan: Plan, source: Source, secret: SecretKey, *, learn: bool = True) -> CorrelatedGaussian | None:
    """Return the joint law of a plan on a table, or None where the plan asks for none.

    What is learned from the table is blurred by noise under `secret` (`blur_covariance`). Without `learn` the covariance has
    to be declared: its last digits, and the noise with them, would depend on how the rows are split.
    """
    if not joint_method(plan):
        return None
    assert plan.method is not None
    wish = JointNoise.from_dict(plan.method)
    attributes = members(plan)
    if wish.covariance is None and not learn:
        raise UsageError(
            f"{CorrelatedGaussian.law}: on a cluster the covariance has to be declared; give names and covariance in the plan, "
            "as the manifest of a release made on one machine states them"
        )
    if wish.covariance is None:
        moments, size = _moments(plan, source, attributes), len(attributes)
        learned = moments.covariance()
        # Of another table the noise is another: were it the same, the difference of two statements would show the rows that differ.
        draws = Stream(secret.derive("covariance", [v.hex() for v in learned.ravel().tolist()])).normal(size, size)
        noisy, floor = blur_covariance(moments, wish.ratio_for(learned, attributes), draws)
        return wish.bind(noisy, attributes, floor)
    law = _read_declared(wish.covariance)
    if set(law.names) != {a.name for a in attributes}:
        raise UsageError(
            f"{law.law}: the covariance is that of {join_names(law.names, 12)}, and the columns to blur are "
            f"{join_names([a.name for a in attributes], 12)}"
        )
    return replace(law, steps=tuple(float(law.marginal(plan.schema[n]).step or 0.0) for n in law.names))


def _read_declared(data: Mapping[str, Any]) -> CorrelatedGaussian:
    try:
        law = CorrelatedGaussian.from_dict(data)
        np.linalg.cholesky(np.array(law.covariance))
    except np.linalg.LinAlgError:
        raise UsageError(
            f"{CorrelatedGaussian.law}: the covariance has a direction without noise; raise its least eigenvalue"
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{CorrelatedGaussian.law}: names and covariance are not complete ({error})") from None
    return law


def _moments(plan: Plan, source: Source, attributes: list[Attribute]) -> Moments:
    names = tuple(a.name for a in attributes)
    encoders = [Encoder(a, plan.absent.get(a.name, ("",))) for a in attributes]
    moments: Moments | None = None
    # Blocks of one fixed size: sums of floats depend on their order, and the law on every digit of them.
    with name_files_in_errors(source):
        for block in read_blocks(source, names):
            table = np.column_stack([e(block.batch.column(e.attribute.name), block.start) for e in encoders])
            moments = moments_of(table, attributes, moments)
    if moments is None:
        raise DataError(f"{source.name} has a header but no rows; a release needs at least one")
    return moments


def moments_of(table: FloatArray, attributes: list[Attribute], before: Moments | None = None) -> Moments:
    """Return the moments of some rows, shape (rows, attributes), added to those `before` where there are any."""
    names = tuple(a.name for a in attributes)
    unit = np.array([a.interval.range or 1.0 for a in attributes])
    if before is not None:
        return before + Moments.of(names, table, before.origin, unit)
    there = ~np.isnan(table)
    middle = np.where(there, table, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return Moments.of(names, table, middle, unit)


@dataclass(frozen=True)
class JointKernel:
    """Columns of a release that are blurred together."""

    law: CorrelatedGaussian
    key: SecretKey

    def perturb(self, values: Mapping[str, FloatArray], addresses: Addresses) -> dict[str, FloatArray]:
        """Return the columns of a block as they are released; missing values stay missing."""
        out = self.law.perturb(self.key, addresses, np.column_stack([values[n] for n in self.law.names]))
        return {n: out[:, i].copy() for i, n in enumerate(self.law.names)}

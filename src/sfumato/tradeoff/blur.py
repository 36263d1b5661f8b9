"""One setting on one table: the law of every column, as a release would have it, and what its recipient would see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.channels import Channel
from sfumato.channels.correlated import CorrelatedGaussian
from sfumato.channels.shapes import Moments
from sfumato.counts import FloatArray
from sfumato.errors import UsageError, listed
from sfumato.observed import ObservedTable
from sfumato.privacy import figures, record_figures
from sfumato.randomness import Rows, SecretKey
from sfumato.releases import Plan
from sfumato.releases.joint import JOINT_METHODS, JointWish, members, with_joint_noise
from sfumato.releases.kernel import bound_laws
from sfumato.releases.plan import channel_for, noise_for
from sfumato.schema import Attribute, Consent
from sfumato.tradeoff.axes import Setting


@dataclass(frozen=True, eq=False)
class Blur:
    """A setting with the settled law of each column; columns without one are released as they are."""

    setting: Setting
    channels: Mapping[str, Channel]
    joint: CorrelatedGaussian | None = None

    def seen(self, truth: ObservedTable, key: SecretKey) -> ObservedTable:
        """The table as it is released: missing values stay missing, rows are the addresses."""
        own = key.derive("rehearsal", self.setting)
        together = {} if self.joint is None else _drawn_together(self.joint, truth, own.derive("joint"))
        columns = []
        for column in truth.columns:
            channel = self.channels.get(column.name)
            if channel is None:
                columns.append(column)
            elif column.name in together:
                columns.append(replace(column, channel=channel, values=together[column.name]))
            else:
                columns.append(column.through(channel, own.derive(column.name)))
        return ObservedTable(tuple(columns), truth.classes, truth.labels)

    def promise(self, attributes: list[Attribute], gaps: Collection[str] = ()) -> Promise:
        """The privacy figures over all blurred columns; those in `gaps` show which cells are missing."""
        about = {a.name: figures(self.channels[a.name], a) for a in attributes}
        record = record_figures(about, gaps)
        reason = None
        if record.get("missing_public"):
            reason = f"{listed(record['missing_public'])}: {record['reason']}"
        elif record["epsilon"] is None:
            infinite = record["infinite"]
            reason = f"{listed(infinite)} {'have' if len(infinite) > 1 else 'has'} none: {about[infinite[0]]['reason']}"
        bits = [f["entropy_bits"] for n, f in about.items() if self.channels[n].law == "substitution"]
        return Promise(
            float(np.mean([f["interval_width_95_share"] for f in about.values()])),
            record["epsilon"],
            reason,
            float(np.mean(bits)) if bits else None,
        )


@dataclass(frozen=True)
class Promise:
    """What a setting promises: mean 95 % interval, ε over the blurred columns or why there is none, mean entropy of M."""

    interval: float
    epsilon: float | None
    reason: str | None
    entropy: float | None


def modified(plan: Plan) -> list[Attribute]:
    """The columns that are blurred."""
    return [a for a in plan.schema if a.consent is Consent.MODIFIED]


def law_of(plan: Plan) -> str | None:
    """The law that a plan names: its method, or the one noise of its numbers; None where it names several."""
    if plan.method is not None:
        return str(plan.method["law"])
    numbers = {c.law for n, c in plan.channels.items() if plan.schema[n].kind.numeric}
    laws = numbers or {c.law for c in plan.channels.values()}
    return laws.pop() if len(laws) == 1 else None


def blur_for(law: str, setting: Setting, plan: Plan, truth: ObservedTable) -> Blur:
    """The laws of a release of this table: the law itself, its companion where it cannot act, or one joint draw.

    A plan gives domains and consents; its noise is what is swept. Only noise beside a joint method is the plan's own.
    """
    if law not in JOINT_METHODS:
        noise, companion = noise_for(law, None, setting)
        channels = {a.name: channel_for(noise, companion, a)[0].on(a) for a in modified(plan)}
        return Blur(setting, channels)
    if plan.method is not None and plan.method["law"] == law:
        joined = replace(plan, method={"law": law} | setting)
    else:
        joined = with_joint_noise(laid_on(plan), setting)
    attributes = members(joined)
    joint = JointWish.from_dict(setting).settled(covariance(truth, attributes), attributes)
    return Blur(setting, bound_laws(joined, joint), joint)


def laid_on(plan: Plan) -> Plan:
    """The plan with some noise on every column to be modified, for a joint law to take the place of."""
    noise, companion = noise_for(None, None, {})
    return replace(plan, method=None, channels={a.name: channel_for(noise, companion, a)[0] for a in modified(plan)})


def covariance(truth: ObservedTable, attributes: list[Attribute]) -> FloatArray:
    """Σ_x of the columns, over all pairs of values that are there."""
    table = np.column_stack([truth[a.name].values for a in attributes])
    there = ~np.isnan(table)
    middle = np.where(there, table, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    unit = np.array([a.interval.range or 1.0 for a in attributes])
    return Moments.of(tuple(a.name for a in attributes), table, middle, unit).covariance()


def _drawn_together(joint: CorrelatedGaussian, truth: ObservedTable, key: SecretKey) -> dict[str, FloatArray]:
    table = np.column_stack([truth[n].values for n in joint.names])
    out = joint.perturb(key, Rows(0, len(table)), table)
    return {n: out[:, i].copy() for i, n in enumerate(joint.names)}


def refuse_nothing_to_blur(plan: Plan) -> None:
    """A trade-off is about columns that noise is laid on."""
    if not modified(plan):
        raise UsageError(
            "no column is to be modified, so there is no privacy to trade; "
            'give the table a column beside the class, or set consent = "modified" in the plan'
        )

"""What is swept: for each law its natural parameter with values to begin with, and the others that a person may ask for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import (
    CHANNELS,
    JOINT_LAWS,
    MAX_BINS,
    Channel,
    CorrelatedGaussian,
    JointLaw,
    Substitution,
)
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.plans import Plan, channel_for, noise_for
from sfumato.privacy import figures, record_figures
from sfumato.randomness import Entities, Rows, SecretKey
from sfumato.releasing import JointKernel, JointNoise, bind_laws, members, moments_of, with_joint_noise
from sfumato.schema import Attribute, Consent
from sfumato.table import Original, Table
from sfumato.text import join_names

Setting = dict[str, float]


def sweep_name(parameter: str) -> str:
    """Return how a message calls the values of a parameter."""
    return f"sweep['{parameter}']"


@dataclass(frozen=True)
class Axis:
    """A parameter of a law as something to sweep: its name on a chart, and which way privacy lies."""

    parameter: str
    title: str
    example: str
    more_is_stronger: bool = False
    whole: bool = False

    def values(self, given: Sequence[float]) -> tuple[float, ...]:
        """Return the values in order, each once, or raise UsageError for one that no law could take."""
        name = sweep_name(self.parameter)
        if not len(given):
            raise UsageError(f"{name}: no value to sweep; give some, such as {self.example}")
        for value in given:
            if not 0 < value < math.inf:
                raise UsageError(f"{name}: {value:g} must be a positive number, as in {self.example}")
            if self.whole and value != math.floor(value):
                raise UsageError(f"{name}: {value:g} must be a whole number, as in {self.example}")
            if self.whole and not 2 <= value <= MAX_BINS:
                raise UsageError(f"{name}: {value:g} must lie between 2 and {MAX_BINS:,}")
        return tuple(sorted({float(v) for v in given}))


AXES = {
    axis.parameter: axis
    for axis in (
        Axis("privacy", "privacy: 95 % interval / range", "0.1,0.5,1", more_is_stronger=True),
        Axis("epsilon", "ε of a column", "0.5,1,2"),
        Axis("gamma", "γ of a column", "5,8,12"),
        Axis("bins", "N, the bins of a number", "5,10,20", whole=True),
        Axis("count", "number of intervals", "2,5,10", whole=True),
        Axis("ratio", "c: covariance of the noise / of the data", "0.1,0.5,1", more_is_stronger=True),
    )
}


@dataclass(frozen=True)
class Sweep:
    """The settings of one law, and whether a person named their values."""

    law: str
    axis: Axis
    settings: tuple[Setting, ...]
    chosen: bool = False


def sweepable(law: str) -> Mapping[str, tuple[float, ...]]:
    """What a law can be swept over; a law that cannot is refused, with what to do instead."""
    known: Mapping[str, type[Channel | JointLaw]] = {**CHANNELS, **JOINT_LAWS}
    if law in known:
        if known[law].sweep:
            return known[law].sweep
        raise UsageError(
            f"{law} names no parameter to sweep; make a release of each setting, and judge it with sfumato compare "
            "and sfumato audit"
        )
    from sfumato.guided import is_guided

    if is_guided(law):
        raise UsageError(
            f"{law} bends the noise around a pattern of the owner's table, and has no single strength to sweep; make a release "
            f"with method={law}, and judge it with sfumato compare and sfumato audit"
        )
    raise UsageError(
        f"there is no law {law!r} to sweep; the laws are {join_names([*sorted(CHANNELS), *JOINT_LAWS], 20)}"
    )


def sweep_for(law: str, given: Mapping[str, Sequence[float]], *, numbers: bool = True) -> Sweep:
    """The settings of a law from values given by parameter; `numbers` says whether any column is numeric."""
    allowed = sweepable(law)
    if unknown := [name for name in given if name not in AXES]:
        raise UsageError(f"{sweep_name(unknown[0])}: there is no such parameter; sweep {join_names(AXES)}")
    wished = {name: AXES[name].values(values) for name, values in given.items()}
    beside = CHANNELS[law].sweep_beside if law in CHANNELS else {}
    if beyond := [n for n in wished if n not in allowed and n not in beside]:
        names = [sweep_name(n) for n in (*allowed, *beside)]
        raise UsageError(
            f"{sweep_name(beyond[0])}: {law} has no parameter {beyond[0]} to sweep; it takes {join_names(names)}"
        )
    ways = [n for n in wished if n not in beside]
    if len(ways) > 1:
        raise UsageError(f"{join_names(sweep_name(n) for n in ways)} say the same thing about {law}; give one of them")
    way = ways[0] if ways else next(iter(allowed))
    values = wished.get(way) or allowed[way]
    if not numbers and way == "count":
        raise UsageError(f"{law} is for numbers, and no column to be blurred is numeric; sweep substitution instead")
    if not numbers:
        if idle := [n for n in wished if n in beside]:
            raise UsageError(
                f"{sweep_name(idle[0])}: {idle[0]} are cut from numbers, and no column to be blurred is numeric; leave it out"
            )
        beside = {}
    grid = itertools.product(values, *(wished.get(n) or beside[n] for n in beside))
    settings = tuple(dict(zip((way, *beside), point, strict=True)) for point in grid)
    return Sweep(law, AXES[way], settings, bool(wished))


def in_words(setting: Mapping[str, float]) -> str:
    """``gamma = 8, bins = 20``."""
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def plan_words(law: str, setting: Mapping[str, float]) -> str:
    """What to write into a plan for this setting."""
    inside = ", ".join([f'law = "{law}"', in_words(setting)])
    return f"{'method' if law in JOINT_LAWS else 'noise'} = {{ {inside} }}"


@dataclass(frozen=True, eq=False)
class Blur:
    """A setting with the settled law of each column; columns without one are released as they are."""

    setting: Setting
    channels: Mapping[str, Channel]
    joint: CorrelatedGaussian | None = None

    def perturb(self, truth: Original, key: SecretKey, people: IntArray | None = None) -> Table:
        """Return the table as it is released: missing values stay missing, and noise belongs to rows or to `people`."""
        own = key.derive("rehearsal", self.setting)
        values = {column.name: column.values for column in truth.columns}
        owners = Rows(0, truth.rows) if people is None else Entities.of_numbers(people)
        together = {} if self.joint is None else JointKernel(self.joint, own.derive("joint")).perturb(values, owners)
        columns = []
        for column in truth.columns:
            channel = self.channels.get(column.name)
            if channel is None:
                columns.append(column)
            elif column.name in together:
                columns.append(replace(column, channel=channel, values=together[column.name]))
            else:
                columns.append(column.through(channel, own.derive(column.name), owners))
        return Table(tuple(columns), truth.target)

    def promise(self, attributes: list[Attribute], gaps: Collection[str] = ()) -> dict[str, Any]:
        """Return the figures of a `Point` that the laws alone give; columns in `gaps` show which cells are missing."""
        about = {a.name: figures(self.channels[a.name], a) for a in attributes}
        record = record_figures(about, gaps)
        reason = None
        if record.get("missing_public"):
            reason = f"{join_names(record['missing_public'])}: {record['reason']}"
        elif record["epsilon"] is None:
            infinite = record["infinite"]
            reason = (
                f"{join_names(infinite)} {'have' if len(infinite) > 1 else 'has'} none: {about[infinite[0]]['reason']}"
            )
        bits = [f["entropy_bits"] for n, f in about.items() if isinstance(self.channels[n], Substitution)]
        return {
            "interval": float(np.mean([f["interval_width_95_share"] for f in about.values()])),
            "epsilon": record["epsilon"],
            "epsilon_reason": reason,
            "entropy": float(np.mean(bits)) if bits else None,
        }


def modified_attributes(plan: Plan) -> list[Attribute]:
    """Return the columns that are blurred; raise UsageError where there are none."""
    modified = [a for a in plan.schema if a.consent is Consent.MODIFIED]
    if not modified:
        raise UsageError(
            "no column is to be modified, so there is no privacy to trade; "
            'give the table a column beside the class, or set consent = "modified" in the plan'
        )
    return modified


def law_of(plan: Plan) -> str | None:
    """The law that a plan names: its method, or the one noise of its numbers; None where it names several."""
    if plan.method is not None:
        return str(plan.method["law"])
    numbers = {c.law for n, c in plan.channels.items() if plan.schema[n].kind.numeric}
    laws = numbers or {c.law for c in plan.channels.values()}
    return laws.pop() if len(laws) == 1 else None


def plan_for(law: str, setting: Setting, plan: Plan) -> Plan:
    """Return the plan with the noise of a setting: the law itself, its companion where it cannot act, or one joint draw.

    A plan gives domains and consents; its noise is what is swept. Only noise beside a joint method is the plan's own.
    """
    if law not in JOINT_LAWS:
        noise, companion = noise_for(law, None, setting)
        channels = {a.name: channel_for(noise, companion, a)[0] for a in modified_attributes(plan)}
        return replace(plan, method=None, channels=channels)
    if plan.method is not None and plan.method["law"] == law:
        return replace(plan, method={"law": law} | setting)
    return with_joint_noise(with_default_noise(plan), setting)


def blur_for(law: str, setting: Setting, plan: Plan, truth: Original) -> Blur:
    """Return the laws of a release of this table at a setting."""
    planned = plan_for(law, setting, plan)
    if law not in JOINT_LAWS:
        return Blur(setting, {name: wish.on(plan.schema[name]) for name, wish in planned.channels.items()})
    attributes = members(planned)
    joint = JointNoise.from_dict(setting).bind(covariance(truth, attributes), attributes)
    return Blur(setting, bind_laws(planned, joint), joint)


def with_default_noise(plan: Plan) -> Plan:
    """The plan with some noise on every column to be modified, for a joint law to take the place of."""
    noise, companion = noise_for(None, None, {})
    return replace(
        plan, method=None, channels={a.name: channel_for(noise, companion, a)[0] for a in modified_attributes(plan)}
    )


def covariance(truth: Original, attributes: list[Attribute]) -> FloatArray:
    """Σ_x of the columns, over all pairs of values that are there."""
    return moments_of(np.column_stack([truth[a.name].values for a in attributes]), attributes).covariance()

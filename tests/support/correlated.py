"""Correlated noise for tables in memory: a release takes the covariance block by block instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.channels import CorrelatedGaussian, Moments
from sfumato.counts import FloatArray
from sfumato.schema import Attribute


def shaped_like(table: FloatArray, attributes: Sequence[Attribute], ratio: float = 1.0) -> CorrelatedGaussian:
    """Noise of covariance c Σ_x, Σ_x taken from the table (rows × attributes)."""
    origin = np.array([a.interval.low for a in attributes])
    unit = np.array([a.interval.range or 1.0 for a in attributes])
    moments = Moments.of(tuple(a.name for a in attributes), table, origin, unit)
    return CorrelatedGaussian.like(moments.covariance(), attributes, ratio)

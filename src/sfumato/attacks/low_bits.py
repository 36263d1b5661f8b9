"""The low bits of released numbers: where noise lives on a grid of its own, the digits below it are the true ones.

Two ways to lose: relative noise in whole percents, which leaves y/(1 + e) on the grid of the data for the true e alone (the
2003 paper's noise on fine columns); and additive noise on a coarser grid than the data, which leaves y mod g = x mod g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Claim, Recovery, Remedy, ValueAttack, View
from sfumato.counts import FloatArray
from sfumato.findings import Note
from sfumato.table import Column


@dataclass(frozen=True)
class LowBits(ValueAttack):
    """Try each noise of a coarse grid, and keep the true value that alone fits the resolution of the data."""

    name: ClassVar[str] = "low-bits"
    title: ClassVar[str] = "Low digits of released numbers"
    assumes: ClassVar[str] = "The resolution of the true values, as the manifest or common sense has it."
    remedy: ClassVar[Remedy] = Remedy(
        Note("SF420", "The digits below the noise are the true ones. Release on the attribute's own grid.")
    )
    min_pinned: float = 0.01  # share of values that must be found before any is claimed

    def run(self, view: View) -> Claim:
        """Return one recovery per numeric column whose released values are off the grid of their law."""
        out, notes = [], {}
        for column in view.numeric:
            if column.channel is None and column.name not in view.guided:
                continue
            off = share_off_grid(column)
            notes[column.name] = {"off_grid": off}
            if off > 0:
                undone = undo_percents(column)
                pinned = float(np.mean(~np.isnan(undone)))
                notes[column.name]["pinned"] = pinned
                if pinned > self.min_pinned:
                    guess = np.where(np.isnan(undone), column.values, undone)
                    out.append(Recovery(column.name, guess, guess))
        if not out:
            return Claim(notes={"columns": notes}, skipped="all released numbers lie on the grid of their law")
        return Claim(tuple(out), {"columns": notes})


def share_off_grid(column: Column) -> float:
    """Return the share of released values that are neither multiples of the law's step nor among its representatives."""
    values = column.values[~np.isnan(column.values)]
    if not len(values):
        return 0.0
    if column.channel is not None and column.channel.representatives is not None:
        return float(np.mean(~np.isin(values, column.channel.representatives)))
    step = column.attribute.step if column.channel is None else column.channel.step
    if not step:
        return 1.0
    quotient = values / step
    return float(np.mean(np.abs(quotient - np.round(quotient)) > 1e-6 * np.maximum(np.abs(quotient), 1.0)))


def undo_percents(column: Column) -> FloatArray:
    """Return the likeliest true value where few percentages lead back to the data's resolution inside the domain; else NaN."""
    # Figure 3 of Islam & Brankovic 2003: multiples of 5 % up to 60 %; the smaller, the likelier.
    percents = np.array(sorted(np.arange(-60, 61, 5), key=abs)) / 100.0
    max_fits, chunk = 3, 8192  # where more percentages fit, the low digits say nothing
    step = column.attribute.step or finest_step(column)
    out = np.full(len(column.values), np.nan)
    if not step:
        return out
    domain = column.attribute.interval
    for begin in range(0, len(out), chunk):
        values = column.values[begin : begin + chunk]
        candidates = values[:, None] / (1.0 + percents)
        quotient = candidates / step
        fits = np.abs(quotient - np.round(quotient)) <= 1e-9 * np.maximum(np.abs(quotient), 1.0)
        fits &= (candidates >= domain.low - step / 2) & (candidates <= domain.high + step / 2)
        few = (fits.sum(axis=1) >= 1) & (fits.sum(axis=1) <= max_fits)
        picked = np.round(quotient[np.arange(len(values)), fits.argmax(axis=1)]) * step
        out[begin : begin + len(values)] = np.where(few, picked, np.nan)
    return out


def finest_step(column: Column, decimals: int = 4) -> float:
    """Return the resolution that common sense gives a continuous column: four digits of its range."""
    span = column.attribute.interval.range
    return float(10.0 ** (np.floor(np.log10(span)) - decimals)) if span > 0 else 0.0

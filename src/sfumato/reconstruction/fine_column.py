"""A released column on the fine partition in which its shapes are fitted, and what to report of the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import Discrete, Transition
from sfumato.counts import Counts, FloatArray, Grid
from sfumato.errors import UsageError
from sfumato.reconstruction.bases import Basis, Lattice, cell_kernel, join_narrow, share_cells
from sfumato.reconstruction.distribution import Source
from sfumato.reconstruction.moments import Weights
from sfumato.reconstruction.penalised import AveragedFit, Expansion, find_atoms, fit_averaged
from sfumato.reconstruction.problem import Problem
from sfumato.table import Column
from sfumato.text import join_names


def has_shape(column: Column) -> bool:
    """Return whether the true values of a column lie on a scale with distances, and its law tells more than bins."""
    interval = column.attribute.interval if column.attribute.kind.numeric else None
    return interval is not None and interval.high > interval.low and not isinstance(column.channel, Discrete)


def even_cells(lattice: Lattice) -> FloatArray:
    """Return the even cells in which a column is solved for: its single values where these are few."""
    max_cells, max_values = 100, 112
    return lattice.even_edges(max_values if lattice.size <= max_values else max_cells)


def shape_grid(column: Column) -> Grid:
    """Return the cells in which the released values of a column with a shape are counted."""
    lattice = Lattice.of(column.attribute)
    return column.observed_grid(Grid(edges=even_cells(lattice), step=lattice.step))


def count_cells(column: Column, grid: Grid, weights: FloatArray | None = None) -> FloatArray:
    """Count the released values in each cell; blocks are counted apart and added up, so that they stay in the cache."""
    block = 2**16
    total = np.zeros(grid.size)
    for begin in range(0, len(column.values), block):
        part = slice(begin, begin + block)
        codes = replace(column, values=column.values[part]).locate(grid)
        total += Counts.of([grid], [codes], None if weights is None else weights[part]).table
    return total


@dataclass(frozen=True, eq=False)
class FineColumn:
    """A released column posed on the fine partition in which its bases are fitted (see `bases`)."""

    lattice: Lattice
    edges: FloatArray
    problem: Problem
    around: Expansion
    bases: tuple[Basis, ...]
    anchor: float
    atoms: FloatArray
    hidden: float
    """The width of detail that the noise hides."""

    @classmethod
    def of(cls, column: Column, weights: FloatArray | None, law_weights: Weights | None) -> FineColumn:
        """Pose a column: even cells first, whose pilot says where a stretched scale and atoms belong.

        A variance of n^(−1/2) that of the noise is as large as its own error, so detail within n^(−1/4) of its standard
        deviation stays hidden.
        """
        stretched_cells, atoms_price, atom_price = 48, 4.0, 1.0
        law = column.channel
        if law is None:
            raise UsageError(f"{column.name} is released as true; count it")
        lattice = Lattice.of(column.attribute)
        even = even_cells(lattice)
        observed = shape_grid(column)
        counts = count_cells(column, observed, weights)
        pilot = Problem.of(cell_kernel(law, even, lattice, observed), counts, np.diff(even))
        hidden = 1.5 * law_weights.noise * max(pilot.n, 1.0) ** -0.25 if law_weights is not None else 0.0
        if not pilot.n > 0 or pilot.size < 4:
            basis = Basis.of_cells(np.diff(even), pilot.size)
            around = Expansion(np.ones(pilot.size), np.ones(len(counts)), np.ones(len(counts)))
            around = Expansion.of(pilot) if pilot.n > 0 else around
            return cls(lattice, even, pilot, around, (basis,), lattice.low, np.empty(0), hidden)
        around = Expansion.of(pilot)
        centres = (even[1:] + even[:-1]) / 2
        near = [around.pilot @ np.exp(-np.abs(centres - a) / (0.08 * lattice.width)) for a in lattice.anchors]
        anchor = lattice.anchors[int(np.argmax(near))]
        stretched = lattice.stretched_edges(anchor, stretched_cells)
        sites = np.unique(np.concatenate([lattice.nearest(centres), lattice.anchors]))
        at_sites = Transition.of(law, Grid(atoms=sites), observed).matrix.dense()
        found_at = find_atoms(pilot.kernel.dense(), sites, at_sites, around, pilot)
        for (
            end
        ) in lattice.anchors:  # an atom that the noise cannot tell from an end of the domain, or from zero, is there
            found_at[np.abs(found_at - end) < hidden / 4] = end
        atoms = np.unique(lattice.nearest(found_at))
        alone = [lattice.cell_of(float(value)) for value in atoms]
        edges = np.unique(np.concatenate([even, stretched, *alone]))
        edges = edges[np.append(True, np.diff(edges) > 1e-9 * lattice.width)]
        bases = [
            Basis("even", share_cells(edges, even), np.diff(even)),
            Basis("stretched", share_cells(edges, stretched), np.diff(lattice.stretch(stretched, anchor))),
        ]
        if len(atoms):
            cells = np.hstack([share_cells(edges, cell) for cell in alone])
            bases += [basis.with_atoms(cells, atoms_price + atom_price * len(atoms)) for basis in bases]
        matrix = cell_kernel(law, edges, lattice, observed)
        return cls(
            lattice, edges, Problem.of(matrix, counts, np.diff(edges)), around, tuple(bases), anchor, atoms, hidden
        )

    def fit(self) -> Source:
        """Fit all bases."""
        min_weight = 0.1  # a shape with less may be passed over
        hidden = self.hidden
        fit = fit_averaged(self.problem, self.bases, self.around, free=True)
        spikes: list[float] = [self.anchor] if fit.weight_of("stretched") > min_weight else []
        if fit.weight_of("atoms") > min_weight:
            spikes += [float(v) + off for v in self.atoms for off in (-hidden, hidden)]
        return Source(self.problem, fit, edges=self.edges, resolution=hidden, spikes=tuple(spikes))

    def report(self, source: Source, cells: int) -> Grid:
        """Return at most `cells` cells to report: even ones, or stretched ones where these explain the data better.

        Values that a spike and the noise leave indistinguishable share a cell.
        """
        step, hidden = self.lattice.step, self.hidden
        if step and self.lattice.size <= cells and hidden <= step:
            return Grid(
                atoms=np.asarray(self.lattice.low + np.arange(round(self.lattice.size)) * step, dtype=np.float64)
            )
        stretched = isinstance(source.fit, AveragedFit) and source.fit.weight_of("stretched") > 0.5
        if stretched:
            edges = join_narrow(self.lattice.stretched_edges(self.anchor, min(cells, 48)), hidden)
            return Grid(edges=edges, step=step)
        return Grid(edges=self.lattice.even_edges(cells, hidden), step=step)

    def describe(self, fit: AveragedFit) -> dict[str, Any]:
        """Say which shape was chosen, and why."""
        if fit.weights is None:
            return {}
        stretched, spiked = fit.weight_of("stretched"), fit.weight_of("atoms")
        best = fit.candidates[int(np.argmax(fit.weights))]
        out: dict[str, Any] = {
            "scale": "stretched" if stretched > 0.5 else "even",
            "stretched_weight": stretched,
            "atoms_weight": spiked,
            "smoothness": best.name,
            "candidates": len(fit.candidates),
        }
        words = "values on an even scale"
        if stretched > 0.5:
            out["anchor"] = self.anchor
            words = f"a narrow body near {self.anchor:g} with a long tail"
        if spiked > 0.5:
            alone = [share_cells(self.lattice.cell_of(float(v)), self.edges)[0] @ fit.mass for v in self.atoms]
            atoms = [(float(v), float(s)) for v, s in zip(self.atoms, alone, strict=True) if s >= 0.01]
            out["atoms"] = [{"value": value, "share": share} for value, share in atoms]
            spikes = join_names([f"{100 * share:.0f} % at about {value:g}" for value, share in atoms], len(atoms))
            words += f", and values that many rows share: {spikes}"
        out["why"] = f"held-out values are best explained by {words}"
        return out

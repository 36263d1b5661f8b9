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
from sfumato.scales import Ruler
from sfumato.table import Column
from sfumato.text import join_names


def has_shape(column: Column) -> bool:
    """Return whether the true values of a column lie on a scale with distances, and its law tells more than bins."""
    interval = column.attribute.interval if column.attribute.kind.numeric else None
    return interval is not None and interval.high > interval.low and not isinstance(column.channel, Discrete)


def even_cells(lattice: Lattice, hidden: float = 0.0) -> FloatArray:
    """Return the even cells in which a column is solved for: its single values where these are few.

    None is much narrower than what the noise hides: more of them would only take longer.
    """
    max_cells, max_values, min_cells = 100, 112, 50
    width = min(hidden / 3, lattice.width / min_cells)
    return lattice.even_edges(max_values if lattice.size <= max_values else max_cells, width)


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
        stretched_cells, atoms_price, atom_price = 48, 5.0, 1.0
        law = column.channel
        if law is None:
            raise UsageError(f"{column.name} is released as true; count it")
        lattice = Lattice.of(column.attribute)
        observed = shape_grid(column)
        counts = count_cells(column, observed, weights)
        hidden = 1.5 * law_weights.noise * max(counts.sum(), 1.0) ** -0.25 if law_weights is not None else 0.0
        even = even_cells(lattice, hidden)
        pilot = Problem.of(cell_kernel(law, even, lattice, observed), counts, np.diff(even))
        if not pilot.n > 0 or pilot.size <= 4:
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
        ends = np.unique(lattice.nearest(np.array(lattice.anchors)))
        # An atom that the noise cannot tell from an end of the domain, or from zero, is there.
        far = np.abs(found_at[:, None] - ends).min(axis=1) >= hidden / 4
        inner = np.setdiff1d(lattice.nearest(found_at[far]), ends)
        atoms = np.concatenate([ends, inner])
        alone = [lattice.cell_of(float(value)) for value in atoms]
        edges = np.unique(np.concatenate([even, stretched, *alone]))
        edges = edges[np.append(True, np.diff(edges) > 1e-9 * lattice.width)]
        plain = [
            Basis("even", share_cells(edges, even), np.diff(even)),
            Basis("stretched", share_cells(edges, stretched), np.diff(lattice.stretch(stretched, anchor))),
        ]
        cells = np.hstack([share_cells(edges, cell) for cell in alone])
        bases = [*plain, *(basis.with_atoms(cells[:, : len(ends)], kind="ends") for basis in plain)]
        if len(inner):
            price = atoms_price + atom_price * len(inner)
            bases.append(plain[0].with_atoms(cells, kind="atoms", price=price))
        matrix = cell_kernel(law, edges, lattice, observed)
        return cls(
            lattice, edges, Problem.of(matrix, counts, np.diff(edges)), around, tuple(bases), anchor, atoms, hidden
        )

    def fit(self) -> Source:
        """Fit all bases."""
        min_weight, min_share = 0.1, 0.05  # a shape with less may be passed over
        hidden = self.hidden
        fit = fit_averaged(self.problem, self.bases, self.around, free=True)
        spikes: list[float] = [self.anchor] if fit.weight_of("stretched") > min_weight else []
        spikes += [
            v + off for v, share in self.atom_shares(fit).items() if share > min_share for off in (-hidden, hidden)
        ]
        return Source(self.problem, fit, edges=self.edges, resolution=hidden, spikes=tuple(spikes))

    def atom_shares(self, fit: AveragedFit) -> dict[float, float]:
        """Return the share of the rows at each atom beyond what the cells around it hold: the mean of the candidates."""
        shares = np.zeros(len(self.atoms))
        for weight, c in zip(fit.weights if fit.weights is not None else (), fit.candidates, strict=True):
            shares[: c.basis.atoms] += weight * c.coefficients[0, len(c.basis.widths) :]
        return dict(zip(self.atoms.tolist(), shares.tolist(), strict=True))

    def report(self, source: Source, cells: int) -> tuple[Grid, bool]:
        """Return at most `cells` cells to report, and whether some were joined because an edge would cut through a crowd.

        Cells are even, or stretched where that explains the data better. Where a quarter of the rows lie so near to an edge that
        noise hides on which side they are, no band could be stood by, and the cells on both sides are one.
        """
        max_crowd = 0.25
        step, hidden = self.lattice.step, self.hidden
        if step and self.lattice.size <= cells and hidden <= step:
            values = self.lattice.low + np.arange(round(self.lattice.size)) * step
            return Grid(atoms=np.asarray(values, dtype=np.float64)), False
        edges = self.lattice.even_edges(cells, hidden)
        if isinstance(source.fit, AveragedFit) and source.fit.weight_of("stretched") > 0.5:
            edges = join_narrow(self.lattice.stretched_edges(self.anchor, min(cells, 48)), hidden)
        upto = np.concatenate([[0.0], np.cumsum(source.fit.mass)])
        crowd = np.diff([np.interp(edges + side * hidden / 2, self.edges, upto) for side in (-1, 1)], axis=0)[0]
        crowd[[0, -1]] = 0.0
        return Grid(edges=edges[crowd <= max_crowd], step=step), bool((crowd > max_crowd).any())

    def describe(self, fit: AveragedFit, *, joined: bool, ruler: Ruler | None = None) -> dict[str, Any]:
        """Say which shape was chosen, and why, in the unit of a column that is on a scale."""
        if fit.weights is None:
            return {}
        min_share = 0.02
        stretched = fit.weight_of("stretched")
        best = fit.candidates[int(np.argmax(fit.weights))]
        out: dict[str, Any] = {
            "scale": "stretched" if stretched > 0.5 else "even",
            "stretched_weight": stretched,
            "atoms_weight": fit.weight_of("with"),
            "smoothness": best.name,
            "candidates": len(fit.candidates),
        }
        words = "values on an even scale"
        if stretched > 0.5:
            out["anchor"] = self.anchor if ruler is None else float(ruler.to_values(self.anchor))
            words = f"a narrow body near {out['anchor']:g} with a long tail"
        atoms = {value: share for value, share in sorted(self.atom_shares(fit).items()) if share >= min_share}
        if ruler is not None:
            atoms = {float(ruler.to_values(place)): share for place, share in atoms.items()}
        if atoms:
            out["atoms"] = [{"value": value, "share": share} for value, share in atoms.items()]
            spikes = join_names([f"{share:.0%} at about {value:g}" for value, share in atoms.items()], len(atoms))
            words += f", and values that many rows share: {spikes}"
        out["why"] = f"held-out values are best explained by {words}"
        if joined:
            out["joined"] = "cells are joined where noise hides on which side of an edge many rows lie"
        return out

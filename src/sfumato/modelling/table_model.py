"""The joint distribution of all columns of a released table, the class among them, behind their noise.

Rows that were chosen by a hash of their numbers (all, in most tables) say how columns are cut into cells, how many components
a mixture takes and where EM leads from several random starts. In larger tables a few more passes go over all rows, as folds of
sums that come out the same in any order. The model is the mean of the fits: averaging smooths out what chance put into each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.counts import FloatArray, IntArray, Sums
from sfumato.errors import DataError
from sfumato.hashing import choose_rows
from sfumato.modelling.chance import Chance
from sfumato.modelling.facets import TINY, Facet, Locator
from sfumato.modelling.many_labels import ManyLabels
from sfumato.modelling.product_mixture import Bins, Expectation, Mixture, maximise, pick_rows, start_mixture
from sfumato.modelling.whitening import Whitening
from sfumato.schema import Attribute
from sfumato.table import Column, Table
from sfumato.text import join_names

Progress = Callable[[str], None]
"""Is told what is being done."""


class Rows(Protocol):
    """Released rows, wherever they are: a table in memory, or one that is only counted."""

    @property
    def table(self) -> Table:
        """Columns and laws; the rows need not be there."""

    def fold(self, count: Any) -> Any:
        """Return the sum of what `count` makes of blocks of rows and their numbers."""

    def sample(self, size: int) -> Table:
        """Return at most `size` rows, chosen by a hash of their numbers, in the order of the table."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A table in memory."""

    table: Table

    def fold(self, count: Any) -> Any:
        """Count all rows at once."""
        return count(self.table, np.arange(self.table.rows))

    def sample(self, size: int) -> Table:
        """Return at most `size` rows."""
        return self.table.take(np.sort(choose_rows(np.arange(self.table.rows), size)))


@dataclass(frozen=True, eq=False)
class Locating:
    """A pass of EM over a block, for several mixtures at once: its values are located in the bins of the model first.

    With `names`, every mixture counts a row as often as a Poisson number of mean one says, which belongs to row and name.
    """

    whitening: Whitening
    locators: tuple[Locator, ...]
    expectations: tuple[Expectation, ...]
    names: tuple[str, ...] = ()

    def __call__(self, table: Table, rows: IntArray) -> Sums:
        """Return the sums over the rows of a block; their names say which mixture they are for."""
        turned = self.whitening.turn(table, Chance.of_rows(rows, "fit"))
        return self.count(Bins.of(self.locators, locate(self.locators, turned)), rows)

    def count(self, bins: Bins, rows: IntArray) -> Sums:
        """Return the sums over rows that were located already."""
        if self.names:
            times = [Chance.of_rows(rows, name).times("times") for name in self.names]
            sums = [count(bins, often) for count, often in zip(self.expectations, times, strict=True)]
        else:
            sums = [count(bins) for count in self.expectations]
        return Sums({(name, place): array for place, one in enumerate(sums) for name, array in one.arrays.items()})

    def part(self, sums: Sums, place: int) -> Sums:
        """Return the sums of one mixture."""
        return Sums({name: sums.arrays[name, place] for name in Expectation.names})


def make_facet(column: Column, max_cells: int) -> Facet:
    """Look at a released column, at its commonest labels only where it has thousands of them."""
    return ManyLabels.of(column) if ManyLabels.fits(column) else Facet.of(column, max_cells)


def locate(locators: Sequence[Facet | Locator], table: Table) -> list[IntArray]:
    """Return the bins of the rows, one array per column."""
    return [locator.codes(c) for locator, c in zip(locators, table.all_columns, strict=True)]


@dataclass(frozen=True)
class FitSettings:
    """How a model is fitted.

    Parameters
    ----------
    components : sequence of int
        Numbers of components to choose from by held-out rows. A table with many more rows than the choice sees takes more.
    starts : int
        Fits from random starts, whose mean is the model.
    sketch : int
        Rows that the first passes see.
    passes : tuple of int
        Passes over the sketch, and over all rows.
    rows : int
        Rows that are brought together to cut columns into cells and to choose by.
    cells : int
        Cells of a column of numbers.
    prior : float
        Rows that follow the columns' own distributions, added to each component.
    seed : int
        Where random starts come from.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.FitSettings(components=(1, 8)).starts
    4
    """

    components: tuple[int, ...] = (1, 4, 16, 64)
    starts: int = 4
    sketch: int = 15_000
    passes: tuple[int, int] = (60, 10)
    rows: int = 100_000
    cells: int = 32
    prior: float = 0.5
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TableModel:
    """A mixture of products over the true values of all columns, fitted through their noise.

    Attributes
    ----------
    facets : tuple of Facet
        The columns as they are modelled, the target last.
    mixture : Mixture
        P(true cells) = Σ_k π_k Π_c f_kc.
    whitening : Whitening
        What was done to columns whose noise was drawn together.
    rows : int
        Rows of the release.
    target : str, optional
        The column that others are to predict.
    chosen : mapping
        What was chosen on the way; ``chosen["why"]`` is a sentence.
    release : str
        The name of the release.
    settings : FitSettings
        How it was fitted.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = sf.model(sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release"))
    >>> model.names[-1], model.rows
    ('class', 150)
    """

    facets: tuple[Facet, ...]
    mixture: Mixture
    whitening: Whitening
    rows: int
    target: str | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)
    release: str = ""
    settings: FitSettings = FitSettings()

    @classmethod
    def fit(
        cls,
        rows: Rows | Table,
        settings: FitSettings | None = None,
        progress: Progress | None = None,
        *,
        facets: tuple[Facet, ...] | None = None,
    ) -> TableModel:
        """Fit the model of released rows.

        Parameters
        ----------
        rows
            A table of released columns with their laws, or one that is only counted.
        settings
            How it is fitted.
        progress
            Is told what is being done.
        facets
            The columns as the model sees them, where they were looked at already.
        """
        settings, tell = settings or FitSettings(), progress or (lambda _: None)
        source: Rows = HeldRows(rows) if isinstance(rows, Table) else rows
        if not source.table.all_columns:
            raise DataError("the release holds no column but identifiers, so there is nothing to model")
        sample = source.sample(settings.rows)
        if not sample.rows:
            raise DataError("the release holds no rows, so there is nothing to model")
        tell("looking at the columns")
        whitening = Whitening.of(sample) if facets is None else replace(Whitening.of(sample), blocks=())
        whole = sample.rows < settings.rows
        sample = whitening.turn(sample, Chance.of_rows(np.arange(sample.rows), "fit"))
        facets = facets or tuple(make_facet(column, settings.cells) for column in sample.all_columns)
        bins = Bins.of(facets, locate(facets, sample))
        sketch = bins.take(np.sort(choose_rows(np.arange(bins.rows), settings.sketch)))
        locators = tuple(facet.locator for facet in facets)
        tell("choosing the number of components")
        size, chosen = choose_size(facets, sketch, bins.rows, settings)
        fits = []
        for start in range(settings.starts if size > 1 else 1):
            tell(f"fitting, start {start + 1} of {settings.starts}")
            mixture = start_mixture(facets, size, np.random.default_rng([settings.seed, start]))
            fits.append(run_passes(mixture, facets, sketch, settings.passes[0], settings.prior))
        count = sample.rows
        passes = 0 if whole and bins.rows == sketch.rows else max(settings.passes[1], not whole)
        for turn in range(passes):
            tell(f"going over all rows, pass {turn + 1} of {passes}")
            counting = tuple(Expectation.of(mixture, facets) for mixture in fits)
            count_rows = Locating(whitening, locators, counting)
            sums = count_rows.count(bins, np.arange(bins.rows)) if whole else source.fold(count_rows)
            parts = [count_rows.part(sums, place) for place in range(len(fits))]
            fits = [maximise(m, part, facets, settings.prior) for m, part in zip(fits, parts, strict=True)]
            count = round(float(parts[0].arrays["weights"].sum()))
        mixture = Mixture.union(fits)
        target = source.table.target
        return cls(
            facets, mixture, whitening, count, None if target is None else target.name, chosen, settings=settings
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, the target last."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What the columns hold."""
        return tuple(column.attribute for column in self.whitening.columns)

    @cached_property
    def _expectation(self) -> Expectation:
        return Expectation.of(self.mixture, self.facets)

    def responsibilities(self, codes: Sequence[IntArray]) -> FloatArray:
        """Return P(component | released row), shape (rows, components)."""
        bins = Bins.of(self.facets, codes)
        shares, _ = bins.responsibilities(self._expectation.log_bins, self._expectation.log_weights)
        return np.asarray(shares, dtype=np.float64)

    def target_losses(self, table: Table) -> FloatArray:
        """Return −ln P(released target | the other released values) of each row: how well the model tells a target it has not seen.

        Parameters
        ----------
        table
            Released rows with their target, none of them missing.
        """
        least = 1e-9  # so that one surprising row cannot decide a comparison
        turned = self.whitening.turn(table, Chance.of_rows(np.arange(table.rows), "target"))
        codes = locate(self.facets, turned)
        shares = self.responsibilities([*codes[:-1], np.full(table.rows, -1)])
        released = self.mixture.released_shares(self.facets)[-1]
        return np.asarray(-np.log(np.maximum((shares * released[:, codes[-1]].T).sum(axis=1), least)))

    def draw(self, table: Table, rows: IntArray, name: str = "0") -> Table:
        """Draw a plausible true row for each released one.

        First a component from P(k | released row), then each column from P(x | k, released value) ∝ f_kc[x] K_c[y, x]: given
        the component, columns are independent.

        Parameters
        ----------
        table
            Released rows.
        rows
            Their numbers: the same row gets the same draw on any engine.
        name
            Another name gives another draw.
        """
        block = self._block_rows
        parts = []
        for begin in range(0, max(len(rows), 1), block):
            part = slice(begin, begin + block)
            held = table.take(np.arange(len(rows))[part])
            parts.append(self._draw_block(held, Chance.of_rows(rows[part], name)))
        values = [np.concatenate(same) for same in zip(*parts, strict=True)]
        return self._table(values, table.target is not None)

    @property
    def _block_rows(self) -> int:
        """Rows whose cells of the largest column are held at a time: as many as fit into tens of megabytes."""
        most, held = 2**13, 2**22
        return max(1, min(most, held // max(facet.size for facet in self.facets)))

    def _draw_block(self, table: Table, chance: Chance) -> list[FloatArray]:
        turned = self.whitening.turn(table, chance.derive("missing"))
        codes = locate(self.facets, turned)
        upto = np.cumsum(self.responsibilities(codes), axis=1)
        component = pick_rows(upto, chance.heights("component"))
        out = []
        for facet, own, code, column in zip(self.facets, self.mixture.tables, codes, turned.all_columns, strict=True):
            part = chance.derive(facet.name)
            weights = own[component]
            known = code >= 0
            weights[known] *= np.maximum(facet.kernel.rows(code[known]), TINY)
            cells = pick_rows(np.cumsum(weights, axis=1), part.heights("cell"))
            out.append(facet.values(cells, code, column, part))
        return self.whitening.turn_back(out, table)

    def sample(self, size: int, seed: int = 0) -> Table:
        """Draw new rows from the model alone. None of them is anybody's row.

        Parameters
        ----------
        size
            How many rows.
        seed
            Another seed gives other rows.
        """
        return self.sample_rows(np.arange(size), seed)

    def sample_rows(self, rows: IntArray, seed: int = 0) -> Table:
        """Draw the new rows of these numbers.

        Parameters
        ----------
        rows
            Their numbers: the same number gets the same row, whatever the block.
        seed
            Another seed gives other rows.
        """
        block = self._block_rows
        upto = [np.cumsum(own, axis=1) for own in self.mixture.tables]
        parts = []
        for begin in range(0, max(len(rows), 1), block):
            chance = Chance.of_rows(rows[begin : begin + block], f"new rows {seed}")
            size = len(chance.marks)
            component = self.mixture.choose_components(size, chance)
            values = []
            for facet, own in zip(self.facets, upto, strict=True):
                part = chance.derive(facet.name)
                cells = pick_rows(own[component], part.heights("cell"))
                values.append(facet.values(cells, np.full(size, -1), None, part))
            parts.append(self.whitening.turn_back(values, None))
        return self._table([np.concatenate(same) for same in zip(*parts, strict=True)], self.target is not None)

    def _table(self, values: Sequence[FloatArray], with_target: bool) -> Table:
        columns = [Column(a, None, v) for a, v in zip(self.attributes, values, strict=True)]
        return Table(tuple(columns[:-1]), columns[-1]) if with_target else Table(tuple(columns))


def run_passes(mixture: Mixture, facets: Sequence[Facet], bins: Bins, passes: int, prior: float) -> Mixture:
    """Run EM over rows in memory."""
    for _ in range(passes):
        mixture = maximise(mixture, Expectation.of(mixture, facets)(bins), facets, prior)
    return mixture


def grow_size(size: int, rows: int, learned: int) -> int:
    """Return the number of components for more rows than it was chosen by: doubled with the rows, up to 128.

    Parameters
    ----------
    size
        What was chosen.
    rows
        The rows to fit to.
    learned
        The rows that it was chosen by.

    Examples
    --------
    >>> grow_size(64, 30_000, 11_250), grow_size(16, 100_000, 11_250), grow_size(1, 100_000, 11_250)
    (128, 128, 1)
    """
    max_size = 128
    if size == 1 or rows < 2 * learned:
        return size
    return max(size, min(max_size, size * 2 ** int(math.log2(rows / learned))))


def choose_size(facets: Sequence[Facet], bins: Bins, rows: int, settings: FitSettings) -> tuple[int, dict[str, Any]]:
    """Choose the number of components by the log-likelihood of held-out rows; of equals, within one standard error, the fewest.

    Parameters
    ----------
    facets
        The columns.
    bins
        The rows to choose by; every fourth is held out.
    rows
        The rows that the model will be fitted to; where they are many more, so are the components.
    settings
        The numbers to choose from, and how fits are made.
    """
    passes, rows_per_component = 30, 20
    sizes = [k for k in settings.components if k == 1 or bins.rows >= k * rows_per_component]
    held = np.arange(bins.rows) % 4 == 3
    train, test = bins.take(np.flatnonzero(~held)), bins.take(np.flatnonzero(held))
    if len(sizes) == 1 or not train.rows or not test.rows:
        words = f"{bins.rows:,} rows are too few to tell how columns depend on each other" if len(sizes) == 1 else ""
        return sizes[0], {"components": sizes[0], "why": words or "one number of components was asked for"}
    logs = []
    for size in sizes:
        mixture = start_mixture(facets, size, np.random.default_rng([settings.seed, 99, size]))
        mixture = run_passes(mixture, facets, train, passes, settings.prior)
        expectation = Expectation.of(mixture, facets)
        logs.append(test.responsibilities(expectation.log_bins, expectation.log_weights)[1].astype(np.float64))
    best = int(np.argmax([log.mean() for log in logs]))
    for place in range(best + 1):
        behind = logs[best] - logs[place]
        if place == best or behind.mean() <= behind.std() / math.sqrt(len(behind)):
            break
    gains = {str(k): float((log - logs[0]).mean()) for k, log in zip(sizes, logs, strict=True)}
    tried = join_names([str(k) for k in sizes])
    chosen = sizes[place]
    why = f"{chosen} components explain held-out rows best, or as well as more would (tried: {tried})"
    if chosen == 1:
        why = "held-out rows do not show that columns depend on each other"
    size = grow_size(chosen, rows, train.rows)
    if size > chosen:
        why += f"; {size} are taken, since there are {rows / train.rows:.0f} times as many rows as they were chosen by"
    return size, {"components": size, "starts": settings.starts, "held_out_gain": gains, "why": why}

"""Plateau and triangles, the one-attribute tables of the reconstruction experiments, with their exact laws.

Agrawal & Srikant 2000 draw the two shapes in Figure 2 and give no formula. Here, with the single column ``x``:

- plateau is uniform on [1/4, 3/4], inside the domain [0, 1];
- triangles is an even mixture of two symmetric triangles, on [0, 1/2] and on [1/2, 1], with peaks at 1/4 and 3/4.

Dowd, Xu & Zhang 2006 (section 5.1) use tables "similar to those studied in" the 2000 paper over the integers 1 to 200,
again without a formula. Here they are the same shapes: the unit interval stretched over [0.5, 200.5] and rounded to the
nearest integer, so integer j stands for the cell from (j - 1)/200 to j/200, and all 200 have cells of equal width. The
plateau is then uniform on 51 to 150.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.generators.base import ROWS_PER_BLOCK, Block, Generator, draw_blocks, enter, stream
from sfumato.schema import Attribute, Interval, Kind


@dataclass(frozen=True)
class Shape:
    """A law on [0, 1], or on the integers 1 to `cells`: sampler and distribution function side by side."""

    name: str
    cdf: Callable[[FloatArray], FloatArray]
    quantile: Callable[[FloatArray], FloatArray]
    cells: int | None = None

    @property
    def domain(self) -> tuple[float, float]:
        """The two ends, both included."""
        return (0.0, 1.0) if self.cells is None else (1.0, float(self.cells))

    def blocks(self, rows: int, *, seed: int = 0) -> Iterator[Block]:
        """Yield `rows` values as blocks with the column ``x``; the first n rows do not depend on `rows`."""
        return draw_blocks(self._draw, rows, seed=seed)

    def _draw(self, seed: int, number: int, size: int) -> Block:
        x = self.quantile(stream(seed, number).random(ROWS_PER_BLOCK))[:size]
        return {"x": x if self.cells is None else 1 + np.floor(x * self.cells).astype(np.int64)}

    def true_mass(self, edges: Sequence[float] | FloatArray) -> FloatArray:
        """Return the probability of every interval between `edges`, from the law itself.

        An interval holds its left edge but not its right one, and the last holds both, as in `numpy.histogram`: that
        matters to the integer shapes, whose values may sit on an edge.
        """
        e = np.asarray(edges, dtype=np.float64)
        if e.ndim != 1 or e.size < 2 or not np.all(np.diff(e) > 0):
            raise UsageError(f"{self.name}: edges must be two or more increasing numbers; sort them and drop repeats")
        if self.cells is None:
            return np.diff(self.cdf(e))
        below = np.ceil(e) - 1
        below[-1] = np.floor(e[-1])
        return np.diff(self.cdf(below / self.cells))


def _plateau_cdf(x: FloatArray) -> FloatArray:
    return np.clip(2 * x - 0.5, 0.0, 1.0)


def _plateau_quantile(u: FloatArray) -> FloatArray:
    return 0.25 + 0.5 * u


def _triangle_cdf(t: FloatArray) -> FloatArray:
    """Return the distribution function of the symmetric triangle on [0, 1]."""
    t = np.clip(t, 0.0, 1.0)
    return np.where(t < 0.5, 2 * t**2, 1 - 2 * (1 - t) ** 2)


def _triangles_cdf(x: FloatArray) -> FloatArray:
    halves: FloatArray = 0.5 * (_triangle_cdf(2 * x) + _triangle_cdf(2 * x - 1))
    return halves


def _triangles_quantile(u: FloatArray) -> FloatArray:
    half = np.floor(2 * u)
    v = 2 * u - half
    # 2 t^2 = v on the rising side, 1 - 2 (1 - t)^2 = v on the falling one.
    t = np.where(v < 0.5, np.sqrt(v / 2), 1 - np.sqrt((1 - v) / 2))
    return 0.5 * (half + t)


def enter_shape(shape: Shape, about: str) -> Shape:
    """Make a shape known as a table of one column."""
    attribute = Attribute("x", Kind.REAL if shape.cells is None else Kind.INTEGER, Interval(*shape.domain))
    enter(Generator(shape.name, about, (attribute,), shape.blocks))
    return shape


plateau = enter_shape(
    Shape("plateau", _plateau_cdf, _plateau_quantile),
    "one column, uniform on the middle half of [0, 1] (Agrawal & Srikant 2000, Figure 2)",
)
triangles = enter_shape(
    Shape("triangles", _triangles_cdf, _triangles_quantile),
    "one column, two triangles side by side on [0, 1] (Agrawal & Srikant 2000, Figure 2)",
)
plateau200 = enter_shape(
    Shape("plateau200", _plateau_cdf, _plateau_quantile, cells=200),
    "the plateau over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)",
)
triangles200 = enter_shape(
    Shape("triangles200", _triangles_cdf, _triangles_quantile, cells=200),
    "the triangles over the integers 1 to 200 (Dowd, Xu & Zhang 2006, section 5.1)",
)

"""Is the default as good as our other methods on smooth columns, also with many rows?

    python benchmarks/smooth_columns.py [--keys 2] [--rows 2000 20000 200000 1000000]

Five shapes (a normal within ± 3 standard deviations, two normals and a uniform on the integers 0 … 63; plateau and triangles on
[0, 1]) × gaussian, uniform and laplace noise at 25, 50, 100 and 200 % × rows × keys. W1 and TV are those of `real_columns.py`,
against the true rows; each line is their mean over laws, strengths and keys. No method stands for the best of several: each is
one choice for all laws and rows, as the default is.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable

import numpy as np
from measure import Ratio, ratios
from real_columns import cumulate, distances

import sfumato as sf
from sfumato.channels import CHANNELS, Channel
from sfumato.counts import FloatArray
from sfumato.generators.shapes import plateau, triangles
from sfumato.randomness import SecretKey
from sfumato.schema import Attribute, Interval, Kind
from sfumato.table import Column

METHODS: dict[str, dict[str, object]] = {
    "default": {},
    "em": {"method": "em"},
    "bayes": {"method": "bayes"},
    "ems .02": {"method": "ems"},
    "ems .1": {"method": "ems", "smoothing": 0.1},
    "ems .5": {"method": "ems", "smoothing": 0.5},
}
REAL = Attribute("x", Kind.REAL, Interval(0.0, 1.0))
INTEGER = Attribute("x", Kind.INTEGER, Interval(0, 63))


def two_normals(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw from two humps of unequal weight."""
    return np.where(rng.random(n) < 0.4, rng.normal(0.3, 0.08, n), rng.normal(0.7, 0.1, n))


Shape = tuple[Attribute, Callable[[np.random.Generator, int], FloatArray]]
SHAPES: dict[str, Shape] = {
    "normal": (INTEGER, lambda rng, n: rng.normal(0.5, 1 / 6, n)),
    "two normals": (INTEGER, two_normals),
    "uniform": (INTEGER, lambda rng, n: rng.random(n)),
    "plateau": (REAL, lambda rng, n: plateau.quantile(rng.random(n))),
    "triangles": (REAL, lambda rng, n: triangles.quantile(rng.random(n))),
}


def release(shape: Shape, n: int, wish: Channel, label: str) -> tuple[FloatArray, Column]:
    """Return true rows of a shape and the released column; `label` stands for seed and key."""
    digest = hashlib.sha256(label.encode()).digest()
    attribute, draw = shape
    true = np.clip(draw(np.random.default_rng(int.from_bytes(digest[:4], "big")), n), 0.0, 1.0)
    if attribute is INTEGER:
        true = np.minimum(np.floor(64 * true), 63.0)
    return true, Column(attribute, None, true).through(wish.on(attribute), SecretKey(digest))


def measure_cell(shape: str, n: int, law: str, privacy: float, key: int) -> FloatArray:
    """Return W1 and TV of the released values and of each method, shape (1 + methods, 2)."""
    label = f"{shape} {n} {law} {privacy:g} key {key}"
    true, column = release(SHAPES[shape], n, CHANNELS[law](privacy=privacy), label)
    raw = distances(column.attribute, true, lambda points: cumulate(column.values, points))
    methods = (distances(column.attribute, true, sf.reconstruct(column, **m).cdf) for m in METHODS.values())
    return np.array([raw, *methods])


def main(arguments: list[str] | None = None) -> None:
    """Print a line per shape and number of rows, and the default over each other method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000, 200_000, 1_000_000])
    parser.add_argument("--keys", type=int, default=2)
    options = parser.parse_args(arguments)
    names = ["released", *METHODS]
    print("| shape | rows | of | " + " | ".join(names) + " |\n|---|---:|---|" + "---:|" * len(names))
    means = []
    for shape in SHAPES:
        for n in options.rows:
            cells = [
                measure_cell(shape, n, law, privacy, key)
                for law in ("gaussian", "uniform", "laplace")
                for privacy in (0.25, 0.5, 1.0, 2.0)
                for key in range(options.keys)
            ]
            means.append(np.mean(cells, axis=0))
            for i, what in enumerate(("W1", "TV")):
                figures = " | ".join(f"{v:.4f}" for v in means[-1][:, i])
                print(f"| {shape} | {n:,} | {what} | {figures} |", flush=True)
    table = np.array(means)
    rows = []
    for i, what in enumerate(("W1", "TV")):
        over = table[:, 1:2, i] / table[:, :, i]
        for j, name in enumerate(names):
            if name != "default":
                rows.append(
                    Ratio(f"{what} of the default over that of {name}, geometric mean of shapes and rows", "", "",
                          float(np.exp(np.log(over[:, j]).mean())), "≤ 1")
                )  # fmt: skip
    ratios(rows)


if __name__ == "__main__":
    main(sys.argv[1:])

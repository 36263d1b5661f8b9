"""What every synthetic table shares: fixed blocks, one random stream per block, a name, and a file and a plan on demand.

A block's rows come from the seed and the block's number alone, so memory stays flat however long the table is, and the
first n rows of a long table are the table of n rows. The randomness here is for experiments and protects no one: it
is public and repeatable on purpose, unlike the noise of a release.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import UsageError
from sfumato.io import check_outputs_free, open_new_file, open_row_writer, write_file
from sfumato.plans import DEFAULT_LAW, Plan, noise_for
from sfumato.schema import Attribute, Consent, Role, Schema
from sfumato.text import join_names

ROWS_PER_BLOCK = 65_536
"""Rows in a block. A constant of the tables: with another size the same seed would give other rows."""

Block = dict[str, NDArray[Any]]
"""Column name to values, all of one length, in the order of the table."""


@dataclass(frozen=True)
class Generator:
    """A synthetic table that can be asked for any number of rows.

    Attributes
    ----------
    name, about
        The name to ask for, and one line for a person.
    attributes
        The columns in table order, the class included.
    make
        ``make(rows, seed=..., **options)``, which yields the blocks.
    options
        The names that `make` takes beside `rows` and `seed`.
    target
        The class column, where there is one.
    """

    name: str
    about: str
    attributes: tuple[Attribute, ...]
    make: Callable[..., Iterator[Block]]
    options: tuple[str, ...] = ()
    target: str | None = None

    def blocks(self, rows: int, seed: int = 0, **options: Any) -> Iterator[Block]:
        """Yield `rows` rows in blocks of `ROWS_PER_BLOCK`; wrong options are refused here, before the first block."""
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            allowed = f"it takes {join_names(self.options)}" if self.options else "it takes only rows and seed"
            raise UsageError(f"{self.name}: there is no option {unknown[0]!r}; {allowed}, so leave {unknown[0]!r} out")
        return self.make(rows, seed=seed, **options)


GENERATORS: dict[str, Generator] = {}
"""Every synthetic table by its name, in the order in which their modules are imported."""


def enter(generator: Generator) -> Generator:
    """Make a synthetic table known by its name."""
    GENERATORS[generator.name] = generator
    return generator


def check_whole(name: str, value: int, lowest: int) -> int:
    """Return `value` as an int of at least `lowest`; raise UsageError with its name if it is not one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name}: {value!r} is not a whole number; give one from {lowest} up") from None
    if number < lowest:
        raise UsageError(f"{name}: {number} is too small; give a whole number from {lowest} up")
    return number


def draw_blocks(draw: Callable[[int, int, int], Block], rows: int, *, seed: int = 0) -> Iterator[Block]:
    """Yield ``draw(seed, number, size)`` of every block: all have `ROWS_PER_BLOCK` rows but the last."""
    rows, seed = check_whole("rows", rows, 1), check_whole("seed", seed, 0)
    starts = range(0, rows, ROWS_PER_BLOCK)
    return (draw(seed, start // ROWS_PER_BLOCK, min(ROWS_PER_BLOCK, rows - start)) for start in starts)


def stream(seed: int, block: int, use: int = 0) -> np.random.Generator:
    """Return the random stream of one block, a separate one for each `use` within it.

    PCG64 is named, not left to NumPy's default, and the tables draw only ``random()`` from it, a fixed map from its
    bits: the same seed then gives the same table under any version of NumPy.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(use, block))))


def names() -> tuple[str, ...]:
    """Return the names that `get` knows."""
    return tuple(GENERATORS)


def get(name: str) -> Generator:
    """Return the generator called `name`."""
    if name not in GENERATORS:
        near = difflib.get_close_matches(name, GENERATORS, n=1)
        hint = f"did you mean {near[0]}?" if near else "choose one of them"
        raise UsageError(f"generator: {name!r} is not known; there are {join_names(GENERATORS)}; {hint}")
    return GENERATORS[name]


def generate(
    name: str,
    rows: int,
    output: str | Path,
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    plan: str | Path | None = None,
    force: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> Path:
    """Write a synthetic table, block by block.

    Parameters
    ----------
    name : str
        The table: agrawal, crd, csd, plateau or triangles.
    rows : int
        How many rows.
    output : path
        A .csv, .csv.gz or .parquet file. It appears when it is complete.
    seed : int
        Equal seeds give equal tables.
    options : mapping
        What the table can be asked for, such as `function` and `balanced` of agrawal.
    plan : path, optional
        Also write a plan with the declared domains to this file.
    force : bool
        Replace existing files.
    progress : callable, optional
        Called with the rows done, and the rows in all.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = sf.generate("agrawal", 1000, f"{folder}/people.csv", options={"function": 2})
    ...     len(table.read_text().splitlines())
    1001
    """
    path = Path(output)
    check_outputs_free(path, Path(plan) if plan else None, force=force)
    generator = get(name)
    blocks = generator.blocks(rows, seed=seed, **(options or {}))
    with open_new_file(path, force=force) as hidden, ExitStack() as files:
        done, writer = 0, None
        for block in blocks:
            batch = pa.RecordBatch.from_pydict({k: pa.array(v) for k, v in block.items()})
            writer = writer or open_row_writer(path, hidden, batch.schema, files)
            writer.write_batch(batch)
            done += batch.num_rows
            if progress:
                progress(done, rows)
    if plan:
        write_file(Path(plan), plan_for(generator).to_toml(str(path)), force=force)
    return path


def plan_for(generator: Generator, noise: str = DEFAULT_LAW, privacy: float | None = None) -> Plan:
    """Return a plan for a synthetic table, with the domains that its definition declares."""
    law, companion = noise_for(noise, privacy, {})
    channels = {
        a.name: law if a.kind.numeric else companion for a in generator.attributes if a.name != generator.target
    }
    attributes = (
        a if a.name in channels else replace(a, role=Role.TARGET, consent=Consent.TRUE) for a in generator.attributes
    )
    return Plan(Schema(tuple(attributes)), channels)

"""What a distant worker does with its share of the rows. Frozen values that travel as they are; no cluster is known here.

An error meant for a person comes back as a result. Raised on a worker it would be tried again in vain, and its words, which
may hold a cell of the original, would stand in the cluster's logs.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import IntArray, WordArray
from sfumato.engines.local import Target
from sfumato.errors import CellError, DataError, SfumatoError
from sfumato.io import Block, Piece, Written, open_writer

PART = "__sfumato_part"
NUMBER = "__sfumato_number"
OURS = (PART, NUMBER)
"""Names that stand beside a table's own columns on their way to a worker, so no table may have them."""
RESULT = pa.schema([(PART, pa.int64()), ("result", pa.binary())])
WORDS = pa.schema([("word", pa.int64()), ("row", pa.int64())])


@dataclass(frozen=True)
class Failed:
    """An error for a person, on its way to the driver."""

    error: SfumatoError


@dataclass(frozen=True)
class Pieces:
    """Rows that the worker reads itself: the cluster hands it the numbers of pieces."""

    pieces: tuple[Piece, ...]
    columns: tuple[str, ...]
    block_rows: int

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Block]]]:
        """Yield the number of each part of the work, and its blocks."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, self.pieces[number].blocks(self.columns, self.block_rows)

    def with_file(self, part: int, error: SfumatoError) -> SfumatoError:
        """Return the error with the file of the cell that it speaks of, where the table has several."""
        if not isinstance(error, CellError) or len({p.path for p in self.pieces}) == 1:
            return error
        piece = self.pieces[part]
        return error.in_file(piece.name, error.row - piece.start + piece.begin)


@dataclass(frozen=True)
class Batches:
    """Rows that the cluster hands over.

    The columns stand at their places; then come the number of the row, where it has one, and the number of the part.
    """

    columns: tuple[str, ...]
    numbered: str | None
    """The name that the column of row numbers has in the table."""

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Block]]]:
        """Yield one part, since a worker is given one partition at a time; none where that is empty."""
        rest = iter(batches)
        first = next((b for b in rest if b.num_rows), None)
        if first is not None:
            yield first.column(PART)[0].as_py(), self._blocks(first, rest)

    def with_file(self, part: int, error: SfumatoError) -> SfumatoError:  # noqa: ARG002 - as `Pieces` has it
        """Return the error as it is: there are no files."""
        return error

    def _blocks(self, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        done = 0
        for batch in (b for bs in ((first,), rest) for b in bs):
            numbers = self._numbers(batch)
            start = int(numbers[0]) if numbers is not None and len(numbers) else done
            own = pa.RecordBatch.from_arrays(batch.columns[: len(self.columns)], names=list(self.columns))
            yield Block(start, own, numbers)
            done += batch.num_rows

    def _numbers(self, batch: pa.RecordBatch) -> IntArray | None:
        if self.numbered is None:
            return None
        column = batch.column(NUMBER)
        if column.null_count:
            raise DataError(explain_wrong_number(self.numbered, None))
        numbers: IntArray = column.to_numpy().astype(np.int64)
        if len(numbers) and numbers.min() < 0:
            raise DataError(explain_wrong_number(self.numbered, int(numbers.min())))
        return numbers


def explain_wrong_number(column: str, number: int | None) -> str:
    """Return why a row number is not valid, and the next step."""
    reason = "a row has no number" if number is None else f"the row number {number} is negative"
    return f"{column}: {reason}; give every row of the DataFrame a whole number of its own, from 0 on"


Rows = Pieces | Batches


@dataclass(frozen=True)
class Fold:
    """Add up a kernel's results over the rows of a worker's share."""

    rows: Rows
    kernel: Callable[[Block], Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one small table, or none where there were no rows."""
        total: Any = None
        first = 0
        for part, blocks in self.rows.parts(batches):
            try:
                for block in blocks:
                    counts = self.kernel(block)
                    first = part if total is None else first
                    total = counts if total is None else total + counts
            except SfumatoError as error:
                yield pack(part, Failed(self.rows.with_file(part, error)))
                return
        if total is not None:
            yield pack(first, total)


@dataclass(frozen=True)
class Write:
    """Map blocks and write them, one file per part; add up the tallies."""

    rows: Rows
    kernel: Callable[[Block], Any]
    target: Target

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield, for each part, what was written and the tally."""
        for part, blocks in self.rows.parts(batches):
            try:
                result = self._write_part(part, blocks)
            except SfumatoError as error:
                yield pack(part, Failed(self.rows.with_file(part, error)))
                return
            if result is not None:
                yield pack(part, result)

    def _write_part(self, part: int, blocks: Iterator[Block]) -> tuple[Written, Any] | None:
        """Write under a name of the attempt's own, then take the final name at once.

        The final name holds the checksum. So an attempt that was given up and still runs cannot spoil what another one wrote.
        """
        total: Any = None
        folder = self.target.folder
        with tempfile.TemporaryDirectory(prefix=f".attempt-{part:05d}-", dir=folder) as own:
            with open_writer(Path(own), self.target.form, self.target.schema) as (put, done):
                for block in blocks:
                    mapped = self.kernel(block)
                    put(mapped.batch)
                    total = mapped.tally if total is None else total + mapped.tally
            if total is None:
                return None
            name = f"part-{part:05d}-{done[0].sha256[:12]}.{self.target.form}"
            with (Path(own) / done[0].file).open("rb") as file:
                os.fsync(file.fileno())
            (Path(own) / done[0].file).replace(folder / name)
        return replace(done[0], file=name), total


@dataclass(frozen=True)
class NumberedWords:
    """Give one word per row, with the row's number, for the cluster to find words that occur twice."""

    words: Callable[[Block], WordArray]

    def __call__(self, block: Block) -> pa.RecordBatch:
        """Return the words of a block."""
        arrays = [pa.array(self.words(block).view(np.int64)), pa.array(block.row_numbers, pa.int64())]
        return pa.RecordBatch.from_arrays(arrays, schema=WORDS)


@dataclass(frozen=True, eq=False)
class Seen:
    """The tally of rows that are still to be sorted, and the labels of each column that has some, by its place."""

    tally: Any
    labels: Mapping[int, pa.Array]

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.tally + other.tally, self.labels)


@dataclass(frozen=True)
class Tallied:
    """What has to be known of a kernel's rows beside the rows."""

    kernel: Callable[[Block], Any]

    def __call__(self, block: Block) -> Seen:
        """Return the tally of a block; the labels are the same in every block."""
        mapped = self.kernel(block)
        columns = enumerate(mapped.batch.columns)
        return Seen(mapped.tally, {i: c.dictionary for i, c in columns if pa.types.is_dictionary(c.type)})


@dataclass(frozen=True)
class Worded:
    """The rows of a kernel with a word each, by which the cluster sorts them; columns go by their places, labels by theirs."""

    kernel: Callable[[Block], Any]
    order: Callable[[Block], WordArray]

    def __call__(self, block: Block) -> pa.RecordBatch:
        """Return the rows of a block."""
        columns = self.kernel(block).batch.columns
        arrays = [c.indices.cast(pa.int64()) if pa.types.is_dictionary(c.type) else c for c in columns]
        names = [f"c{place}" for place in range(len(arrays))]
        words = pa.array(self.order(block).view(np.int64))
        return pa.RecordBatch.from_arrays([*arrays, words], names=[*names, NUMBER])


@dataclass(frozen=True)
class Sorted:
    """Rows as they are to be written, and nothing more to count."""

    batch: pa.RecordBatch
    tally: int = 0


@dataclass(frozen=True, eq=False)
class Restored:
    """Sorted rows with the names, types and labels of the release."""

    schema: pa.Schema
    labels: Mapping[int, pa.Array]

    def __call__(self, block: Block) -> Sorted:
        """Return the rows of a block."""
        arrays = list(block.batch.columns)
        for place, labels in self.labels.items():
            arrays[place] = pa.DictionaryArray.from_arrays(arrays[place].cast(pa.int32()), labels)
        return Sorted(pa.RecordBatch.from_arrays(arrays, schema=self.schema))


@dataclass(frozen=True)
class Map:
    """Turn rows into others that the cluster sorts or brings together."""

    rows: Rows
    kernel: Callable[[Block], pa.RecordBatch]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows as the kernel gives them; errors were found when the same rows were written or counted."""
        for _, blocks in self.rows.parts(batches):
            for block in blocks:
                yield self.kernel(block)


@dataclass(frozen=True)
class Count:
    """Count the rows of each piece."""

    pieces: tuple[Piece, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one number per piece."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    yield pack(number, self.pieces[number].count())
                except SfumatoError as error:
                    yield pack(number, Failed(error))


def pack(part: int, result: Any) -> pa.RecordBatch:
    """Return a result as one row: counts are mostly zeros and small numbers, and compress well."""
    return pa.RecordBatch.from_pydict(
        {PART: [part], "result": [zlib.compress(pickle.dumps(result, pickle.HIGHEST_PROTOCOL), 1)]}, schema=RESULT
    )


def unpack(data: bytes) -> Any:
    """Return the result that `pack` packed; only for what our own workers sent."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301 - from workers that ran our own code under the driver's orders

"""Rows put in the order of a word each, in flat memory: dealt into files by the first bits of the word, then sorted file by file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.counts import WordArray

WORD = "__sfumato_word"


class Buckets:
    """Private files of rows; each holds the rows whose words begin with the same bits."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self.schema = folder, schema.append(pa.field(WORD, pa.uint64()))
        self._writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
        self._open = ExitStack()

    def put(self, batch: pa.RecordBatch, words: WordArray) -> None:
        """Deal the rows of a batch; rows with equal words keep the order in which they come."""
        word_bits, bucket_bits = (
            63,
            7,
        )  # 128 files, which any system lets be open: 100 million rows are 800,000 in a file
        order = np.argsort(words, kind="stable")
        rows = pa.RecordBatch.from_arrays([*batch.columns, pa.array(words)], schema=self.schema).take(pa.array(order))
        firsts = (words[order] >> np.uint64(word_bits - bucket_bits)).astype(np.int64)
        begins = np.flatnonzero(np.diff(firsts, prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(firsts)], strict=True):
            self._writer(int(firsts[begin])).write_batch(rows.slice(begin, end - begin))

    def _writer(self, bucket: int) -> pa.ipc.RecordBatchStreamWriter:
        if bucket not in self._writers:
            new = pa.ipc.new_stream(str(self.folder / str(bucket)), self.schema)
            self._writers[bucket] = self._open.enter_context(new)
        return self._writers[bucket]

    def close(self) -> None:
        """End all files."""
        self._open.close()

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order of their words, one file at a time."""
        self.close()
        for bucket in sorted(self._writers):
            with pa.ipc.open_stream(pa.OSFile(str(self.folder / str(bucket)))) as file:
                rows = file.read_all()
            order = np.argsort(rows[WORD].to_numpy(), kind="stable")
            yield from rows.drop_columns([WORD]).take(pa.array(order)).to_batches()
            (self.folder / str(bucket)).unlink()


@contextmanager
def open_buckets(folder: Path, schema: pa.Schema) -> Iterator[Buckets]:
    """Give buckets in a folder of their own that only the owner can read; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix=".order-", dir=folder) as own:
        buckets = Buckets(Path(own), schema)
        try:
            yield buckets
        finally:
            buckets.close()

"""JSON lines: an object per line, whose keys are columns. The first pass learns them, and what they hold."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.io.formats.dialects import with_mark
from sfumato.io.formats.streams import COMPRESSED, READ_ERRORS, open_bytes
from sfumato.io.formats.untyped import kind_of, to_column
from sfumato.io.reading import Reading
from sfumato.io.sources import BLOCK_ROWS, check_header, first_line

JSON_ENDINGS = tuple(ending + packed for ending in (".jsonl", ".ndjson") for packed in COMPRESSED)


class JsonLinesSource:
    """A file of JSON objects, one per line; a key that a line lacks is a missing value."""

    def __init__(self, path: Path, name: str, reading: Reading) -> None:
        self.name, self.path = name, path
        self.encoding = reading.encoding or "utf-8"
        self.rows = 0
        kinds: dict[str, set[str]] = {}
        for entry in self._entries():
            self.rows += 1
            for key, value in entry.items():
                held = kinds.setdefault(key, set())
                if value is not None:
                    held.add(kind_of(value))
        if not self.rows:
            raise DataError(f"{name} is empty; a table needs at least one line")
        self.columns = check_header(list(kinds), name)
        self._kinds = {key: frozenset(held) for key, held in kinds.items()}

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Yield the lines as rows."""
        for entries in _group_entries(self._entries()):
            arrays = [to_column([e.get(c) for e in entries], self._kinds[c]) for c in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _entries(self) -> Iterator[dict[str, Any]]:
        number = 0
        try:
            with open_bytes(self.path) as raw, io.TextIOWrapper(raw, with_mark(self.encoding)) as text:
                for number, line in enumerate(text, 1):
                    if line.strip():
                        yield self._entry(line, number)
        except UnicodeDecodeError:
            raise DataError(
                f"{self.name}, after line {number}: not {self.encoding} text; name its encoding (encoding=latin-1)"
            ) from None
        except READ_ERRORS as error:
            raise DataError(f"{self.name} cannot be read to its end: {first_line(error)}; is it complete?") from None

    def _entry(self, line: str, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            entry, why = None, first_line(error)
        else:
            why = "it is not an object in braces"
        if not isinstance(entry, dict):
            text = line.strip()
            text = text if len(text) <= 60 else text[:57] + "…"
            raise DataError(f"{self.name}, line {number}: {text!r} is not a JSON object ({why}); fix that line")
        return entry


def _group_entries(entries: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := [entry for _, entry in zip(range(BLOCK_ROWS), entries, strict=False)]:
        yield group

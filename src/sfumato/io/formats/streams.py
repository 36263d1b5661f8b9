"""Bytes in: compressed files, and standard input kept in a private file so that it can be read twice."""

from __future__ import annotations

import atexit
import bz2
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sfumato.errors import DataError

COMPRESSED = ("", ".gz", ".bz2", ".zst")
READ_ERRORS = (OSError, EOFError, zlib.error)
"""What reading a damaged or shortened file raises."""
MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"PK\3\4": ".xlsx", b"SQLite format 3": ".sqlite"}


def open_bytes(path: Path) -> Any:
    """Open a file for reading, decompressed as its name says."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return gzip.open(path, "rb")
    if ending == ".bz2":
        return bz2.open(path, "rb")
    if ending == ".zst":
        return io.BufferedReader(_Raw(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")))
    return path.open("rb")


class _Raw(io.RawIOBase):
    """An Arrow stream as a file of Python's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


@cache
def spool_standard_input() -> Path:
    """Copy standard input to a file that only its owner can read, deleted when the program ends; name it by its content."""
    return spool(sys.stdin.buffer)


def spool(stream: IO[bytes]) -> Path:
    """Copy a stream to a private file with the ending of its content, deleted when the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-"))  # for this user alone
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "input"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    packed = _compression(path)
    named = path.rename(path.with_suffix(packed or ".plain"))
    try:
        with open_bytes(named) as content:
            first = content.read(64)
    except READ_ERRORS as error:
        raise DataError(f"standard input cannot be read: {error}; is it complete?") from None
    kind = next((e for magic, e in MAGIC.items() if first.startswith(magic)), None)
    text = ".jsonl" if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv"
    return named.rename(folder / f"input{kind or text}{packed}")


def _compression(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(4)
    magic = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}
    return next((ending for sign, ending in magic.items() if first.startswith(sign)), "")

"""Outputs that appear whole or not at all, and the checksum of what was written.

Until it is complete an output has a hidden name, marked with the machine and the process that fill it. A folder on shared
storage is seen by many machines, each with process numbers of its own. So a left-over is judged by its process only on the
machine that began it. On other machines it counts as abandoned when nothing in it has changed for a week.
"""

from __future__ import annotations

import ctypes
import gzip
import hashlib
import io
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import GET_RELEASE_AGAIN, DataError, OutputError, UsageError
from sfumato.text import join_names

STALE = 7 * 24 * 3600.0
"""Seconds after which what another machine left unchanged counts as abandoned."""
_being_filled: set[Path] = set()
"""What this process is filling, in any of its threads."""


@cache
def machine_digest() -> str:
    """Return a digest of host name, installation and process-number space: what process numbers are valid in.

    Containers may share a host name, and each has its own process 1, so the host name alone does not tell them apart.
    """
    known = [platform.node()]
    with suppress(OSError):
        known.append(Path("/etc/machine-id").read_text("ascii", errors="replace").strip())
    with suppress(OSError):
        known.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]


def partial_path(path: Path) -> Path:
    """Return where this process prepares what will become `path`."""
    return path.parent / f".{path.name}.partial-{machine_digest()}-{os.getpid()}"


def find_abandoned(path: Path) -> Iterator[Path]:
    """Yield earlier attempts at `path` that no process is filling any more."""
    head = f".{path.name}.partial-"
    for left in path.parent.iterdir():
        if not left.name.startswith(head) or left.resolve() in _being_filled:
            continue
        if _is_abandoned(left, left.name.removeprefix(head)):
            yield left


def _is_abandoned(left: Path, mark: str) -> bool:
    place, _, process = mark.rpartition("-")
    if place == machine_digest() and process.isdigit():
        return int(process) == os.getpid() or not _alive(int(process))
    return time.time() - _last_change(left) > STALE


def _last_change(path: Path) -> float:
    """Return when anything in it last changed; now, if something vanishes meanwhile and so is in use."""
    try:
        return max(p.lstat().st_mtime for p in (path, *path.rglob("*")))
    except OSError:
        return time.time()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


@contextmanager
def open_new_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a hidden folder to fill: it takes its name at once when the block ends well, and is removed when it does not.

    An existing folder is refused without `force`; with it, the two change places in one step where the system can.
    """
    folder = Path(folder)
    check_outputs_free(folder, force=force)
    if folder.exists() and not (folder.is_dir() and _is_release_folder(folder)):
        raise OutputError(
            f"{folder} is not something this program wrote, so force=True does not replace it; name another output"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in find_abandoned(folder):
            shutil.rmtree(left, ignore_errors=True)
        if (hidden := partial_path(folder)).exists():
            raise OutputError(f"{folder} is being written already, in {hidden}; name another output, or wait")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}; name another output") from None
    try:
        hidden.mkdir()
        _being_filled.add(hidden.resolve())
        yield hidden
        _sync(hidden)
        if folder.exists():
            if not force:
                raise OutputError(f"{folder} appeared while this was running; name another output")
            _exchange(hidden, folder)
        else:
            hidden.rename(folder)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}; name another output") from None
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        _being_filled.discard(hidden.resolve())


def remove_folder(folder: Path) -> None:
    """Remove a folder: its name is free at once, and a killed run leaves nothing but a hidden left-over."""
    hidden = partial_path(folder)
    shutil.rmtree(hidden, ignore_errors=True)
    try:
        folder.rename(hidden)
    except OSError as error:
        raise OutputError(f"{folder} cannot be removed: {error.strerror}; make its parent folder writable") from None
    shutil.rmtree(hidden, ignore_errors=True)


def _is_release_folder(folder: Path) -> bool:
    with suppress(OSError, ValueError):
        if "sfumato_manifest" in (folder / "manifest.json").read_text("utf-8"):
            return True
    made = {"report.html", "owner.key"}, {"results.json", "results.md"}, {"draws.json", "draw-1.parquet"}
    inside = {path.name for path in folder.iterdir()}
    return not inside or any(names <= inside for names in made)


def _sync(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        if path.is_file() or os.name == "posix":
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders: in one step on Linux, else in two, with the old one set aside meanwhile."""
    at_fdcwd, rename_exchange = -100, 2
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if rename and rename(at_fdcwd, os.fsencode(new), at_fdcwd, os.fsencode(old), rename_exchange) == 0:
            return
    aside = old.parent / f".{old.name}.replaced-{machine_digest()}-{os.getpid()}"
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def check_outputs_free(*paths: Path | None, force: bool = False) -> None:
    """Raise OutputError, before any work is done, if an output exists already or cannot be written."""
    for path in paths:
        if path is None:
            continue
        if path.exists() and not force:
            raise OutputError(f"{path} exists already; name another output, or replace it with force=True")
        if file := next((p for p in path.parents if p.exists() and not p.is_dir()), None):
            raise OutputError(f"{path} cannot be written: {file} is a file, not a folder; name another output")


@contextmanager
def open_new_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a hidden file to write: it takes its name when the block ends well, and is removed when it does not."""
    check_outputs_free(path, force=force)
    hidden = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in find_abandoned(path):
            left.unlink(missing_ok=True)
        yield hidden
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}; name another output") from None
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            hidden.unlink()


def write_file(path: Path, content: str | bytes, *, force: bool = False) -> None:
    """Write one file so that it appears whole or not at all."""
    with open_new_file(Path(path), force=force) as hidden:
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)


def open_row_writer(path: Path, hidden: Path, schema: pa.Schema, files: ExitStack) -> Any:
    """Return a writer of batches to the hidden file of `path`, in the format that its ending names."""
    endings = "".join(path.suffixes).lower()
    if endings.endswith(".parquet"):
        import pyarrow.parquet as pq

        return files.enter_context(pq.ParquetWriter(hidden, schema))
    if endings.endswith((".csv", ".csv.gz")):
        from pyarrow import csv as pacsv

        sink = files.enter_context(
            gzip.GzipFile(hidden, "wb", mtime=0) if endings.endswith(".gz") else hidden.open("wb")
        )
        options = pacsv.WriteOptions(quoting_style="needed")
        return files.enter_context(pacsv.CSVWriter(sink, schema, write_options=options))
    raise UsageError(f"{path}: unsupported extension; use .csv, .csv.gz or .parquet")


ROW_GROUP = 131_072
"""Rows in a Parquet row group: fixed, so that files do not depend on the block size."""
FORMATS = ("parquet", "csv")


class _HashingFile(io.RawIOBase):
    """A file that keeps the SHA-256 of what is written to it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("wb")
        self.digest = hashlib.sha256()
        self.size = 0
        self._abandoned = False

    def writable(self) -> bool:
        return True

    def abandon(self) -> None:
        """Discard whatever is written from now on: a writer that is closed after an error still writes its last bytes."""
        self._abandoned = True

    def write(self, data: Any) -> int:
        if self._abandoned:
            return len(data)
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@dataclass(frozen=True)
class Written:
    """What a sink wrote: enough for a recipient to check that nothing was lost."""

    file: str
    format: str
    rows: int
    bytes: int
    sha256: str
    parts: int = 0
    """Files of a data folder; 0 where the data is one file."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `parts` stands only where there are several files."""
        return {k: v for k, v in asdict(self).items() if k != "parts" or v}

    @classmethod
    def folder(cls, name: str, parts: list[Written]) -> Written:
        """Return the entry of a folder: its checksum is that of the list `sha256sum` prints of its files, by name."""
        parts = sorted(parts, key=lambda p: p.file)
        lines = "".join(f"{p.sha256}  {p.file}\n" for p in parts)
        digest = hashlib.sha256(lines.encode()).hexdigest()
        rows, size = sum(p.rows for p in parts), sum(p.bytes for p in parts)
        return cls(name, Path(name).suffix.lstrip("."), rows, size, digest, len(parts))


def checksum(path: Path) -> str:
    """Return the SHA-256 of a data file, or of the `sha256sum` list of a data folder's files."""
    if path.is_dir():
        if odd := next(
            (p.name for p in path.iterdir() if not p.name.isprintable() or (p.is_symlink() and p.is_dir())), None
        ):
            raise DataError(f"{path} holds {odd!r}, which is not the name of a file of data; {GET_RELEASE_AGAIN}")
        return Written.folder(path.name, [Written(p.name, "", 0, 0, checksum(p)) for p in path.iterdir()]).sha256
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def open_writer(
    folder: Path, form: str, schema: pa.Schema, name: str = "data"
) -> Iterator[tuple[Callable[[pa.RecordBatch], None], list[Written]]]:
    """Give a function that takes batches, and a list that holds a `Written` once the block ends without an error."""
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}; choose {join_names(FORMATS)}")
    path = folder / f"{name}.{form}"
    rows = 0
    done: list[Written] = []
    sink = _HashingFile(path)
    pending: list[pa.RecordBatch] = []
    try:
        writer = _writer(sink, form, schema)
    except BaseException:
        sink.close()
        raise
    try:

        def put(batch: pa.RecordBatch) -> None:
            nonlocal rows
            rows += batch.num_rows
            pending.append(batch)
            if sum(b.num_rows for b in pending) >= ROW_GROUP:
                *full, rest = _row_groups(pending)
                for group in full:
                    writer.write_table(group)
                pending[:] = rest.to_batches()

        yield put, done
        if pending:
            for group in _row_groups(pending):
                if group.num_rows:
                    writer.write_table(group)
        writer.close()
    except BaseException:
        sink.abandon()
        with suppress(Exception):
            writer.close()
        raise
    finally:
        sink.close()
    done.append(Written(path.name, form, rows, sink.size, sink.digest.hexdigest()))


def _row_groups(batches: list[pa.RecordBatch]) -> list[pa.Table]:
    table = pa.Table.from_batches(batches)
    return [table.slice(begin, ROW_GROUP) for begin in range(0, table.num_rows, ROW_GROUP)] + (
        [table.slice(table.num_rows)] if table.num_rows % ROW_GROUP == 0 else []
    )


def _writer(sink: Any, form: str, schema: pa.Schema) -> Any:
    if form == "csv":
        from pyarrow import csv as pacsv

        if odd := next((n for n in schema.names if {*n} & {"\n", "\r", "\0"}), None):
            raise UsageError(
                f"{odd!r}: no CSV file can hold a column name with a line break; rename it, or write format=parquet"
            )
        return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(quoting_style="needed"))
    import pyarrow.parquet as pq

    text = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
    # Noisy numbers repeat too seldom for a dictionary; trying one costs more than the rest of the writing.
    return pq.ParquetWriter(sink, schema, compression="snappy", use_dictionary=text or False)


def write_table(table: pa.Table, path: str | Path, *, force: bool = False) -> None:
    """Write a small table to a .csv or .parquet file that appears when it is complete."""
    path = Path(path)
    form = path.suffix.lower().lstrip(".")
    with open_new_file(path, force=force) as hidden:
        if form not in FORMATS:
            raise UsageError(f"{path}: unsupported extension; use .csv or .parquet")
        with hidden.open("wb") as sink, _writer(sink, form, table.schema) as writer:
            writer.write_table(table)

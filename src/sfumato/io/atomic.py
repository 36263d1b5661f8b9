"""Outputs that appear whole or not at all.

Until it is complete an output has a hidden name, marked with the machine and the process that fill it. A folder on shared
storage is seen by many machines, each with process numbers of its own. So a left-over is judged by its process only on the
machine that began it. On other machines it counts as abandoned when nothing in it has changed for a week.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from sfumato.errors import OutputError

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
        hidden.mkdir()
        _being_filled.add(hidden.resolve())
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}; name another output") from None
    try:
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


def _is_release_folder(folder: Path) -> bool:
    with suppress(OSError, ValueError):
        if "sfumato_manifest" in (folder / "manifest.json").read_text("utf-8"):
            return True
    made = {"report.html", "owner.key"}, {"results.json", "results.md"}
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
        yield hidden
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}; name another output") from None
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            hidden.unlink()


def write_file(path: Path, content: str | bytes, *, force: bool = False) -> None:
    """Write one file so that it appears whole or not at all."""
    with open_new_file(Path(path), force=force) as hidden:
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)

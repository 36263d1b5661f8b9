"""Names of outputs that are not complete yet: hidden, and marked with the machine and the process that fill them.

A folder on shared storage is seen by many machines, each with process numbers of its own. So a left-over is judged by its
process only on the machine that began it. On other machines it counts as abandoned when nothing in it has changed for a week.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

STALE = 7 * 24 * 3600.0
"""Seconds after which what another machine left unchanged is nobody's any more."""
_being_filled: set[Path] = set()
"""What this very process is filling, in whatever thread."""


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


def begin(hidden: Path) -> None:
    """Make the folder that this process fills."""
    hidden.mkdir()
    _being_filled.add(hidden.resolve())


def end(hidden: Path) -> None:
    """Forget the folder: this process no longer fills it."""
    _being_filled.discard(hidden.resolve())


def discard(hidden: Path) -> None:
    """Remove a file that was not completed, if it was begun at all."""
    with suppress(FileNotFoundError, NotADirectoryError):
        hidden.unlink()


def find_abandoned(path: Path) -> Iterator[Path]:
    """Yield earlier attempts at `path` that nobody is filling any more."""
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
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

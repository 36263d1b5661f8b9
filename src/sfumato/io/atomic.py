"""A folder that appears whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import OutputError
from sfumato.io import partials

RENAME_EXCHANGE = 2
AT_FDCWD = -100


@contextmanager
def open_new_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a hidden folder to fill: it takes its name at once when the block ends well, and is removed when it does not.

    An existing folder is refused without `force`; with it, the two change places in one step where the system can.
    """
    folder = Path(folder)
    if folder.exists() and not force:
        raise OutputError(f"{folder} exists already; name another output, or replace it with force=True")
    if force and folder.exists() and not (folder.is_dir() and _is_release_folder(folder)):
        raise OutputError(
            f"{folder} is not something this program wrote, so force=True does not replace it; name another output"
        )
    _refuse_file_above(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in partials.find_abandoned(folder):
            shutil.rmtree(left, ignore_errors=True)
        if (hidden := partials.partial_path(folder)).exists():
            raise OutputError(f"{folder} is being written already, in {hidden}; name another output, or wait")
        partials.begin(hidden)
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
        partials.end(hidden)


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
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if rename and rename(AT_FDCWD, os.fsencode(new), AT_FDCWD, os.fsencode(old), RENAME_EXCHANGE) == 0:
            return
    aside = old.parent / f".{old.name}.replaced-{partials.machine_digest()}-{os.getpid()}"
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
        _refuse_file_above(path)


def _refuse_file_above(path: Path) -> None:
    if file := next((p for p in path.parents if p.exists() and not p.is_dir()), None):
        raise OutputError(f"{path} cannot be written: {file} is a file, not a folder; name another output")


def write_file(path: Path, content: str | bytes, *, force: bool = False) -> None:
    """Write one file so that it appears whole or not at all."""
    path = Path(path)
    check_outputs_free(path, force=force)
    hidden = partials.partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)
        hidden.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}; name another output") from None
    finally:
        partials.discard(hidden)

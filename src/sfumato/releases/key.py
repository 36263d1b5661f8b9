"""The owner's key: a small private file, never inside a release."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sfumato.errors import UsageError
from sfumato.randomness import SecretKey

FIRST_LINE = "sfumato owner key v1 - whoever holds it can remove the noise: keep it private, and keep it"


def create_key(path: str | Path) -> SecretKey:
    """Write a new key that only its owner can read; raise OutputError if the file exists."""
    path = Path(path)
    key = SecretKey.generate()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already; a key is never overwritten. Use it, or name another file") from None
    except OSError as error:
        raise UsageError(f"the key {path} cannot be written: {error.strerror}; name another place with key=") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{FIRST_LINE}\n{key.secret.hex()}\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def load_key(path: str | Path) -> SecretKey:
    """Read a key; raise an error if others can read it."""
    path = Path(path)
    try:
        if path.is_dir():
            raise UsageError(f"the key {path} is a folder; name the key file, or a new one to create")
        if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            raise UsageError(f"the key {path} is open to others (mode {mode:o}); run: chmod 600 {path}")
        lines = path.read_text("ascii").splitlines()
    except UnicodeDecodeError:
        lines = []
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {error.strerror}; name another with key=") from None
    try:
        return SecretKey(bytes.fromhex(lines[1]))
    except (IndexError, ValueError):
        raise UsageError(f"{path} is not a key of this program; name the right file, or a new one to create") from None


def load_or_create_key(path: str | Path) -> tuple[SecretKey, bool]:
    """Return the key in a file, created if there is none, and whether it was created."""
    path = Path(path)
    return (load_key(path), False) if path.exists() else (create_key(path), True)


def check_key_outside(key: Path, folder: Path) -> None:
    """Raise UsageError for a key inside the release folder: it would be published with it."""
    if folder.resolve() in key.resolve().parents:
        raise UsageError(f"the key {key} would lie inside the release {folder}; keep it elsewhere")

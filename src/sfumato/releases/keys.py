"""The owner's key: a small private file, never inside a release, that says where its ledger lies.

The place of the ledger is written into the key file when it is made. So a copy of the key, or a link to it, leads to the one
ledger of that key and not to a second, empty one.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import UsageError
from sfumato.io import find_abandoned, partial_path
from sfumato.randomness import SecretKey

FIRST_LINE = "sfumato owner key v2 - anyone who holds it can remove the noise: keep it private, and keep it"
LEDGER_LINE = "ledger "


@dataclass(frozen=True)
class KeyFile:
    """A key file, read."""

    path: Path
    secret: SecretKey = field(repr=False)
    stated: Path | None
    """Where the ledger lay when the key was made; keys of the first version do not say it."""

    @property
    def ledger(self) -> Path:
        """Where the ledger lies: where the file says, or, if key and ledger moved together, beside the file itself."""
        beside = ledger_beside(self.path)
        if self.stated is None:
            return beside
        there = os.path.exists(self.stated)  # noqa: PTH110 - Path.exists raises for a name that is too long
        return self.stated if there or not beside.exists() else beside


def ledger_beside(path: str | Path) -> Path:
    """Return the place of the ledger of a key file that was not moved; a link leads to the file that it names."""
    return Path(f"{Path(path).resolve()}.ledger")


def check_only_owner(path: Path) -> None:
    """Raise UsageError for a key that others can read."""
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        raise UsageError(f"the key {path} is open to others (mode {mode:o}); run: chmod 600 {path}")


def read_key_file(path: str | Path) -> KeyFile:
    """Read a key file; raise an error if others can read it."""
    path = Path(path)
    try:
        if path.is_dir():
            raise UsageError(f"the key {path} is a folder; name the key file, or a new one to create")
        check_only_owner(path)
        if not path.is_file():
            raise UsageError(f"the key {path} is not a file; name the key file, or a new one to create")
        with path.open("rb") as file:
            lines = file.read(2**16).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        lines = []
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {error.strerror}; name another with key=") from None
    try:
        secret = SecretKey(bytes.fromhex(lines[1]))
    except (IndexError, ValueError):
        raise UsageError(f"{path} is not a key of this program; name the right file, or a new one to create") from None
    stated = next((line.removeprefix(LEDGER_LINE) for line in lines[2:] if line.startswith(LEDGER_LINE)), None)
    max_path = 4096
    if stated is not None and (len(stated) > max_path or not stated or "\0" in stated):
        raise UsageError(f"the key {path} is damaged in the line of its ledger; restore it from a backup")
    return KeyFile(path, secret, None if stated is None else Path(stated))


def load_key(path: str | Path) -> SecretKey:
    """Read a key; raise an error if others can read it."""
    return read_key_file(path).secret


def write_key_file(path: Path, secret: SecretKey, ledger: Path) -> None:
    """Write a new key that only its owner can read, whole or not at all; raise FileExistsError if the file exists."""
    hidden = partial_path(path)
    for left in find_abandoned(path):
        left.unlink(missing_ok=True)
    try:
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{FIRST_LINE}\n{secret.secret.hex()}\n{LEDGER_LINE}{ledger}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(hidden, path)  # a rename would replace a key that another run has just made
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            hidden.rename(path)
    finally:
        hidden.unlink(missing_ok=True)


def check_key_outside(key: Path, folder: Path) -> None:
    """Raise UsageError for a key inside the release folder: it would be published with it."""
    if folder.resolve() in key.resolve().parents:
        raise UsageError(f"the key {key} would lie inside the release {folder}; keep it elsewhere")

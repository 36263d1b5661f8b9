"""What was released under a key, kept beside it, so that a second release cannot quietly weaken the first.

Two releases of one value with independent noise can be averaged: the variance halves, and keeps falling. The ledger
therefore refuses fresh noise for rows that were released before, unless the owner insists. The key is a small private file
of the owner's, never inside a release.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, UsageError
from sfumato.randomness import SecretKey
from sfumato.releases.fingerprint import Sketch
from sfumato.text import join_names

MIN_COMMON_ROWS = 0.3
"""Two tables with at least this share of common rows are taken for one."""


@dataclass(frozen=True)
class Entry:
    """One release: which noise each column had, and a sketch of the rows it was added to."""

    name: str
    noise: Mapping[str, str]
    sketch: Sketch
    when: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    laws: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The law of each column, for audits; older ledgers have none."""
    together: tuple[str, ...] = ()
    """Columns whose noise is drawn for the row as a whole."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        about = {"name": self.name, "when": self.when, "noise": dict(self.noise), "sketch": self.sketch.to_dict()}
        about |= {"laws": {n: dict(law) for n, law in self.laws.items()}} if self.laws else {}
        return about | ({"together": list(self.together)} if self.together else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """Return the entry that `to_dict` described."""
        sketch = Sketch.from_dict(data["sketch"])
        laws, together = dict(data.get("laws", {})), tuple(data.get("together", ()))
        return cls(str(data["name"]), dict(data["noise"]), sketch, str(data["when"]), laws, together)

    def columns_redrawn_by(self, later: Entry) -> list[str]:
        """Return the columns of which `later` would release the same rows with independent noise."""
        renamed = self.sketch.renamed_columns(later.sketch)
        former = {n: renamed.get(n, n) for n in later.noise}
        if self.is_moved_in(later):
            return [n for n in later.noise if former[n] in self.noise]  # even the same law draws anew
        alike = self.sketch.same_cells(later.sketch) | dict.fromkeys(renamed, 1.0)
        judged = [share >= MIN_COMMON_ROWS for share in alike.values() if share is not None]
        # Columns of which nothing can be told follow most of those of which something can.
        default = self.sketch.same_places(later.sketch) >= MIN_COMMON_ROWS and sum(judged) * 2 >= len(judged)
        return [
            n
            for n in later.noise
            if former[n] in self.noise
            and (self.noise[former[n]] != later.noise[n] or self._is_redrawn(later, n, alike))
            and (default if (share := alike.get(n)) is None else share >= MIN_COMMON_ROWS)
        ]

    @property
    def rows_distinct(self) -> bool:
        """Whether rows can be recognised by their content."""
        return self.sketch.distinct_share >= 0.5  # content alone identifies rows only where most of them differ

    def is_moved_in(self, later: Entry) -> bool:
        """Return whether `later` has the same rows at other addresses: one row more or less redraws all noise after it."""
        earlier, after = self.sketch, later.sketch
        if not (self.rows_distinct and later.rows_distinct):
            return False
        in_place = earlier.same_rows_at(after, set(earlier.cells) & set(after.cells))
        return earlier.moved_share(after) >= MIN_COMMON_ROWS or (earlier.same_rows(after) >= MIN_COMMON_ROWS > in_place)

    def _is_redrawn(self, later: Entry, name: str, alike: Mapping[str, float | None]) -> bool:
        """Return whether a column of joint noise stayed while its row changed: one draw serves a whole row."""
        if name not in self.together or name not in later.together:
            return False
        record = self.sketch.same_rows_at(later.sketch, set(self.together) & set(later.together))
        return (alike.get(name) or 0.0) - record >= MIN_COMMON_ROWS


class Ledger:
    """The file beside the key, one JSON line per release."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def beside(cls, key: str | Path) -> Ledger:
        """Return the ledger that belongs to a key file."""
        return cls(Path(f"{key}.ledger"))

    def entries(self) -> list[Entry]:
        """Return all releases recorded; a last line cut short by a crash is skipped, since its release never appeared."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        out = []
        for number, line in enumerate(lines, 1):
            try:
                out.append(Entry.from_dict(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError):
                if number < len(lines):
                    raise UsageError(
                        f"the ledger {self.path} is damaged in line {number}; restore it from a backup"
                    ) from None
        return out

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the ledger while a release is checked and recorded, so that two runs cannot pass each other."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                import fcntl
            except ImportError:  # not POSIX: single runs are still right
                pass
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def check(self, entry: Entry) -> list[Entry]:
        """Return the earlier releases whose rows the new one would give with fresh noise."""
        return [e for e in self.entries() if e.columns_redrawn_by(entry)]

    def record(self, entry: Entry) -> None:
        """Append an entry, before the release appears, so that no release goes unrecorded."""
        known = self.entries()
        if any(e.name == entry.name and e.noise == entry.noise and e.sketch.equals(entry.sketch) for e in known):
            return
        text = "".join(json.dumps(e.to_dict(), separators=(",", ":")) + "\n" for e in [*known, entry])
        temporary = Path(f"{self.path}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)


def explain_refusal(earlier: list[Entry], entry: Entry) -> LedgerError:
    """Return the error that says why a second release is not made."""
    first = earlier[0]
    columns = first.columns_redrawn_by(entry)
    return LedgerError(
        f"{join_names(columns)}: the same rows were released before as {first.name!r} ({first.when}), and this release would "
        f"draw fresh noise for them. Anyone who holds both can average: {len(earlier) + 1} releases cut the variance of the "
        f"noise to 1/{len(earlier) + 1}. Use the release you have, or insist with again=True; the new manifest will then say so"
    )


def create_key(path: str | Path) -> SecretKey:
    """Write a new key that only its owner can read; raise OutputError if the file exists."""
    path = Path(path)
    first_line = "sfumato owner key v1 - anyone who holds it can remove the noise: keep it private, and keep it"
    key = SecretKey.generate()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already; a key is never overwritten. Use it, or name another file") from None
    except OSError as error:
        raise UsageError(f"the key {path} cannot be written: {error.strerror}; name another place with key=") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{first_line}\n{key.secret.hex()}\n")
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

"""What was released under a key, kept beside it, so that a second release cannot quietly weaken the first.

Two releases of one value with independent noise can be averaged: the variance halves, and keeps falling. The ledger
therefore refuses fresh noise for rows that were released before, unless the owner insists.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, UsageError, listed
from sfumato.releases.sketch import Sketch

SAME_TABLE = 0.3
"""From this share of common rows on, two tables are taken for one."""
MOSTLY_DISTINCT = 0.5
"""Content alone identifies rows only where most rows differ from one another."""
NO_LAWS: Mapping[str, Mapping[str, Any]] = {}


@dataclass(frozen=True)
class Entry:
    """One release: which noise each column had, and a sketch of the rows it was laid on."""

    name: str
    noise: Mapping[str, str]
    sketch: Sketch
    when: str
    laws: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The law of each column, for audits; older ledgers have none."""

    @classmethod
    def now(
        cls,
        name: str,
        noise: Mapping[str, str],
        sketch: Sketch,
        laws: Mapping[str, Mapping[str, Any]] = NO_LAWS,
    ) -> Entry:
        """An entry for a release that is about to appear."""
        return cls(name, dict(noise), sketch, datetime.now(UTC).isoformat(timespec="seconds"), dict(laws))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        about = {"name": self.name, "when": self.when, "noise": dict(self.noise), "sketch": self.sketch.to_dict()}
        return about | ({"laws": {n: dict(law) for n, law in self.laws.items()}} if self.laws else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """The inverse of `to_dict`."""
        sketch = Sketch.from_dict(data["sketch"])
        return cls(str(data["name"]), dict(data["noise"]), sketch, str(data["when"]), dict(data.get("laws", {})))

    def freshened_by(self, later: Entry) -> list[str]:
        """Columns of which `later` would release the same rows with independent noise."""
        alike = self.sketch.same_cells(later.sketch)
        placed = self.sketch.same_places(later.sketch)
        content = self.sketch.same_rows(later.sketch)
        told_apart = min(self.sketch.distinct_share, later.sketch.distinct_share) >= MOSTLY_DISTINCT
        if placed < SAME_TABLE and not (content >= SAME_TABLE and told_apart):
            return []
        common = [n for n in later.noise if n in self.noise]
        if placed < SAME_TABLE:
            return common  # the same rows at other addresses: even the same law draws anew
        judged = [share >= SAME_TABLE for share in alike.values() if share is not None]
        # Columns of which nothing can be told follow most of those of which something can.
        rest = sum(judged) * 2 >= len(judged)
        return [
            n
            for n in common
            if self.noise[n] != later.noise[n] and (rest if (share := alike.get(n)) is None else share >= SAME_TABLE)
        ]


class Ledger:
    """The file beside the key, one JSON line a release."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def beside(cls, key: str | Path) -> Ledger:
        """The ledger that belongs to a key file."""
        return cls(Path(f"{key}.ledger"))

    def entries(self) -> list[Entry]:
        """All releases recorded; a last line cut short by a crash is passed over, since its release never appeared."""
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
    def locked(self) -> Iterator[None]:
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
        """Earlier releases whose rows the new one would give with fresh noise."""
        return [e for e in self.entries() if e.freshened_by(entry)]

    def record(self, entry: Entry) -> None:
        """Append an entry; done before the release appears, so that no release goes unrecorded."""
        known = self.entries()
        if any(e.name == entry.name and e.noise == entry.noise and e.sketch.repeats(entry.sketch) for e in known):
            return
        text = "".join(json.dumps(e.to_dict(), separators=(",", ":")) + "\n" for e in [*known, entry])
        temporary = Path(f"{self.path}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)


def refusal(earlier: list[Entry], entry: Entry) -> LedgerError:
    """The reason why a second release is not made."""
    first = earlier[0]
    columns = first.freshened_by(entry)
    return LedgerError(
        f"{listed(columns)}: the same rows were released before as {first.name!r} ({first.when}), and this release would "
        f"draw fresh noise for them. Whoever holds both can average: {len(earlier) + 1} releases cut the variance of the "
        f"noise to 1/{len(earlier) + 1}. Use the release you have, or insist with --again; the new manifest will then say so"
    )

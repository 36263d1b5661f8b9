"""One release in the ledger: which noise its columns had, a sketch of its rows, and whether it was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sfumato.findings import Note
from sfumato.randomness import SecretKey
from sfumato.releases.fingerprint import MIN_DISTINCT_ROWS, Sketch

MIN_COMMON_ROWS = 0.3
"""Two tables with at least this share of common rows are taken for one."""


def now() -> str:
    """Return the time of an entry."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Standing(StrEnum):
    """Whether anybody outside can have seen a release."""

    PUBLISHED = "published"
    DRAFT = "draft"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Entry:
    """One release: which noise each column had, and a sketch of the rows it was added to."""

    name: str
    noise: Mapping[str, str]
    sketch: Sketch
    when: str = field(default_factory=now)
    laws: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The law of each column, for audits."""
    together: tuple[str, ...] = ()
    """Columns whose noise is drawn for the row as a whole."""
    salt: str = ""
    """The public salt of the table's noise."""
    by_entity: bool = False
    """Whether noise belongs to entities, wherever they turn up, and so to no table."""
    draft: str = ""
    """The digest of a draft's manifest, by which its folder is known; empty where the release was published at once."""
    standing: Standing = Standing.PUBLISHED
    """Follows from the lines after the entry's own, so it is not written with it."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        about: dict[str, Any] = {
            "name": self.name,
            "when": self.when,
            "noise": dict(self.noise),
            "sketch": self.sketch.to_dict(),
        }
        about |= {"salt": self.salt, "by_entity": self.by_entity}
        about |= {"draft": self.draft} if self.draft else {}
        about |= {"laws": {n: dict(law) for n, law in self.laws.items()}} if self.laws else {}
        return about | ({"together": list(self.together)} if self.together else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """Return the entry that `to_dict` described."""
        sketch = Sketch.from_dict(data["sketch"])
        laws, together = dict(data.get("laws", {})), tuple(data.get("together", ()))
        salt, by_entity = str(data["salt"]), bool(data["by_entity"])
        about = sketch, str(data["when"]), laws, together, salt, by_entity, str(data.get("draft", ""))
        return cls(str(data["name"]), dict(data["noise"]), *about)

    @property
    def published(self) -> bool:
        """Whether others may have the release."""
        return self.standing is Standing.PUBLISHED

    def columns_redrawn_by(self, later: Entry) -> list[str]:
        """Return the columns of which `later` would release the same rows with independent noise."""
        renamed = self.sketch.renamed_columns(later.sketch)
        former = {n: renamed.get(n, n) for n in later.noise}
        moved = self.columns_moved_in(later)
        alike = self.sketch.same_cells(later.sketch) | dict.fromkeys(renamed, 1.0)
        default = self.has_rows_of(later.sketch)
        return [
            n
            for n in later.noise
            if former[n] in self.noise
            and (
                former[n] in moved  # even the same law draws anew
                or (
                    (self.noise[former[n]] != later.noise[n] or self._is_redrawn(later, n, alike))
                    and (default if (share := alike.get(n)) is None else share >= MIN_COMMON_ROWS)
                )
            )
        ]

    def has_rows_of(self, sketch: Sketch) -> bool:
        """Return whether the table of a sketch has these rows at these addresses, by most columns that can tell."""
        judged = [share >= MIN_COMMON_ROWS for share in self.sketch.same_cells(sketch).values() if share is not None]
        return self.sketch.same_places(sketch) >= MIN_COMMON_ROWS and sum(judged) * 2 >= len(judged)

    def is_same_table(self, later: Entry) -> bool:
        """Return whether `later` has rows of this table, at the same addresses (by most columns) or at others."""
        return self.has_rows_of(later.sketch) or bool(self.columns_moved_in(later))

    @property
    def rows_distinct(self) -> bool:
        """Whether rows can be recognised by their content."""
        return self.sketch.distinct_share() >= MIN_DISTINCT_ROWS

    def columns_moved_in(self, later: Entry) -> set[str]:
        """Return the columns whose rows `later` has at other addresses: one row more or less redraws all noise after it."""
        out: set[str] = set()
        earlier, after = self.sketch, later.sketch
        for columns, common, distinct in earlier.common_rows(after):
            in_place = earlier.same_rows_at(after, columns)
            # Content compares distinct rows only, and those are at least `distinct` of all.
            if common * distinct - in_place >= MIN_COMMON_ROWS or common >= MIN_COMMON_ROWS > in_place:
                out |= set(columns)
        return out

    def _is_redrawn(self, later: Entry, name: str, alike: Mapping[str, float | None]) -> bool:
        """Return whether a column of joint noise stayed while its row changed: one draw serves a whole row."""
        if name not in self.together or name not in later.together:
            return False
        record = self.sketch.same_rows_at(later.sketch, set(self.together) & set(later.together))
        return (alike.get(name) or 0.0) - record >= MIN_COMMON_ROWS


def find_namesake(known: Sequence[Entry], entry: Entry) -> Entry | None:
    """Return another table's release with the noise of this one; None where the noise is its own, or belongs to entities."""
    same_noise = [e for e in known if e.salt == entry.salt and not entry.by_entity]
    return same_noise[-1] if same_noise and not any(e.is_same_table(entry) for e in same_noise) else None


class Memory:
    """What this process released under keys that are not files, and so have no ledger.

    It refuses nothing. But a table that is released again in the same process gets the same noise, and another one other noise.
    """

    max_entries = 256

    def __init__(self) -> None:
        self._known: dict[str, list[Entry]] = {}

    def entries(self, key: SecretKey) -> list[Entry]:
        """Return the releases under a key, oldest first."""
        return self._known.get(key.fingerprint("memory"), [])

    def notes(self, key: SecretKey, entry: Entry) -> tuple[Note, ...]:
        """Return a warning where the name of a release is that of another table."""
        if find_namesake(self.entries(key), entry) is None:
            return ()
        words = (
            f"the name {entry.name!r} was given to another table under this key: equal values in equal rows get equal noise, and so "
            "are seen to be equal; choose another name"
        )
        return (Note("SF233", words),)

    def record(self, key: SecretKey, entry: Entry) -> None:
        """Remember a release, and forget the oldest of very many."""
        self._known[key.fingerprint("memory")] = [*self.entries(key), entry][-self.max_entries :]

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()


MEMORY = Memory()


def recall_salt(known: Sequence[Entry], sketch: Sketch) -> str | None:
    """Return the salt under which the rows of a sketch were released last; a draft is asked where nothing was published."""
    by_standing = sorted(known, key=lambda e: e.published)
    return next((e.salt for e in reversed(by_standing) if e.has_rows_of(sketch)), None)

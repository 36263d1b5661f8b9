"""What was released under a key, so that a second release cannot quietly weaken the first.

Two releases of one value with independent noise can be averaged: the variance halves, and keeps falling. The ledger
therefore refuses fresh noise for rows that were published before, unless the owner insists. A draft is a release that only
the owner has seen: it refuses nothing until it is published. That, and a withdrawal, is one more line.

The ledger is a file of JSON lines that only grows. Every line carries a code under the owner's key of itself and of the line
before (a hash chain), so that no line can be changed, left out or put in, and no ledger can stand in for that of another key.
A ledger that is whole but old (restored from a backup) is known by a copy in the owner's state folder, which is written with
every release. What does not fit is refused with the way out; nothing is put right in silence.

Sketches are sealed under the key (AES-GCM): hashes of cells, however keyed, show which cells are equal, and a public release
beside them tells the rest. Who has the ledger without the key sees names, dates and laws.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, UsageError
from sfumato.findings import Note
from sfumato.randomness import SecretKey, canonical, random_salt
from sfumato.releases.entry import Entry, Standing, find_namesake, now
from sfumato.releases.keys import KeyFile, ledger_beside, read_key_file, write_key_file
from sfumato.text import join_names

VERSION = 3
LOST = "releases of a lost ledger"
"""What a manifest says of earlier releases where the ledger that knew them is gone."""


Line = Mapping[str, Any]
STEPS = {"publish": Standing.PUBLISHED, "withdraw": Standing.WITHDRAWN}
"""Lines about an earlier draft, and what it is from then on."""


class Ledger:
    """The file that belongs to a key, one JSON line per release, and one when a draft is published or withdrawn.

    Without a key nothing can be read from it but names and dates. `expected` says that the file has existed before; `copy` is
    its copy in the owner's state folder.
    """

    def __init__(
        self, path: Path, key: SecretKey | None = None, *, copy: Path | None = None, expected: bool = False
    ) -> None:
        self.path, self.key, self.copy, self.expected = path, key, copy, expected

    @classmethod
    def of_key(cls, key: str | Path) -> Ledger:
        """Return the ledger that belongs to a key file, wherever a copy of it or a link to it lies."""
        file = read_key_file(key)
        if file.stated is None:  # a key of the first version: nothing says where its ledger was, or that it had one
            return cls(file.ledger, file.secret)
        return cls(file.ledger, file.secret, copy=_copy_of(file.secret), expected=True)

    def entries(self) -> list[Entry]:
        """Return all releases recorded; raise LedgerError if the ledger is missing, damaged, old, or that of another key."""
        return self._parse(self._lines())

    def _lines(self) -> list[Line]:
        own, copied = self._read(self.path), self._read_copy()
        if own is None:
            if self.expected or copied:
                raise LedgerError(
                    f"the ledger {self.path} is missing, though its key was in use; {self._remedy(copied)}"
                )
            return []
        if copied[: len(own)] != own[: len(copied)]:
            raise LedgerError(
                f"the ledger {self.path} differs from its copy {self.copy}: both were written to; {self._remedy(copied)}"
            )
        if len(copied) > len(own):
            gone = len(copied) - len(own)
            raise LedgerError(
                f"the ledger {self.path} is an older one: its last {gone} of {len(copied) - 1} lines are gone; "
                f"{self._remedy(copied)}"
            )
        return own

    def _remedy(self, copied: Sequence[Line]) -> str:
        insist = "or, if it is lost for good, insist with again=True; the new manifest will then say so"
        if len(copied) > 1:
            return f"put the copy in its place: cp {self.copy} {self.path}; {insist}"
        return f"restore it from a backup, {insist}"

    def _read(self, path: Path) -> list[Line] | None:
        """Return the lines of a file, or None where there is none; raise LedgerError at the first that does not fit."""
        lines, wrong = self._valid_lines(path)
        if lines is not None and wrong is not None:
            raise LedgerError(f"the ledger {path} {wrong}; {self._remedy(self._read_copy())}")
        return lines

    def _valid_lines(self, path: Path) -> tuple[list[Line] | None, str | None]:
        """Return the lines up to the first that does not fit, and what is wrong with that one."""
        max_bytes = 2**30
        try:
            if path.exists() and not path.is_file():
                return [], "is not a file"
            with path.open("rb") as file:
                texts = file.read(max_bytes).decode("utf-8").splitlines()
        except FileNotFoundError:
            return None, None
        except UnicodeDecodeError:
            return [], "is damaged: it is not a text"
        except OSError as error:
            raise LedgerError(f"the ledger {path} cannot be read: {error.strerror}; make it readable") from None
        lines: list[Line] = []
        for number, text in enumerate(texts, 1):
            try:
                line = dict(json.loads(text))
                if number == 1 and line["ledger"] != VERSION:
                    return lines, f"is of version {line['ledger']!r}, and this program reads version {VERSION}"
                if self.key is not None and not hmac.compare_digest(str(line["code"]), self._code(lines, line)):
                    other = number == 1 and line.get("key") not in (None, self._key_name)
                    return lines, "belongs to another key" if other else f"is damaged in line {number}"
                if number > 1 and self.key is not None:
                    self._parse([{}, line])
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                return lines, f"is damaged in line {number}"
            lines.append(line)
        return lines, None if lines else "is damaged: it is empty"

    def _read_copy(self) -> list[Line]:
        return [] if self.copy is None else self._valid_lines(self.copy)[0] or []

    @property
    def _key_name(self) -> str:
        assert self.key is not None
        return self.key.fingerprint("ledger")

    def _code(self, before: Sequence[Line], line: Line) -> str:
        """Return HMAC-SHA-256 of the line before's code and of the line itself."""
        assert self.key is not None
        last = before[-1]["code"] if before else ""
        content = canonical([last, {name: value for name, value in line.items() if name != "code"}])
        return hmac.digest(self.key.derive("ledger").secret, content, hashlib.sha256).hex()

    @property
    def _sealing(self) -> SecretKey:
        if self.key is None:
            raise LedgerError(f"the ledger {self.path} is sealed under its key: give the key file with key= instead")
        return self.key.derive("ledger", "sketch")

    def _seal(self, entry: Entry) -> Line:
        """Return the entry as plain data, with a sketch of its rows that only the owner can read."""
        about = entry.to_dict()
        return about | {"sketch": self._sealing.seal(canonical(about["sketch"]))}

    def _unseal(self, about: Line) -> Entry:
        """Return the entry that `_seal` wrote."""
        return Entry.from_dict({**about, "sketch": json.loads(self._sealing.unseal(about["sketch"]))})

    def _parse(self, lines: Sequence[Line]) -> list[Entry]:
        """Return the releases in the order in which they came to stand as they do; a published one is final."""
        known: dict[str, Entry] = {}
        for number, line in enumerate(lines[1:]):
            if "release" in line:
                known[str(number)] = self._unseal(line["release"])
                continue
            step = next((s for s in STEPS if s in line), "draft")
            digest, when = str(line[step]["draft"]), str(line[step]["when"])
            before = known.pop(digest, None)
            if before is not None and before.published:
                known[digest] = before
            elif step == "draft":
                known[digest] = replace(self._unseal(line["draft"]), standing=Standing.DRAFT)
            elif before is not None:
                known[digest] = replace(before, standing=STEPS[step], when=when)
        return list(known.values())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the ledger while a release is checked and recorded, so that two runs cannot pass each other."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = _lock_file(f"{self.path}.lock")
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} cannot be written: {error.strerror}; make room for it") from None
        try:
            yield
        finally:
            os.close(descriptor)

    def check(self, entry: Entry) -> list[Entry]:
        """Return the published releases whose rows the new one would give with fresh noise.

        Raise LedgerError where the name is that of another table: under one name two tables would share their noise.
        """
        known = self.entries()
        if other := find_namesake([e for e in known if e.standing is not Standing.WITHDRAWN], entry):
            raise LedgerError(
                f"the name {entry.name!r} belongs to another table, released on {other.when}: under one name equal "
                "values in equal rows would get equal noise, and so be seen to be equal; choose another name"
            )
        return [e for e in known if e.published and e.columns_redrawn_by(entry)]

    def begin(self) -> None:
        """Write the first line, which binds the ledger to its key; raise LedgerError over a ledger with releases.

        A ledger without releases was left by a run that was stopped before its key was written.
        """
        if self.path.exists() and self.path.read_bytes().count(b"\n") > 1:
            raise LedgerError(
                f"the ledger {self.path} stands where that of a new key would be, and has releases of another key; restore that "
                "key, or name another file for the new one"
            )
        self._write([self._first_line()])

    def _first_line(self) -> Line:
        return self._chain([], {"ledger": VERSION, "key": self._key_name})

    def _chain(self, before: Sequence[Line], line: Line) -> Line:
        return dict(line) | {"code": self._code(before, line)}

    def record(self, entry: Entry) -> None:
        """Append a release or a draft, before its folder appears, so that no release goes unrecorded."""
        known = self._parse(self._lines())
        if entry.draft:
            recorded = any(e.draft == entry.draft and e.standing is not Standing.WITHDRAWN for e in known)
        else:
            same = (e for e in known if e.published and e.name == entry.name and e.noise == entry.noise)
            recorded = any(e.sketch.equals(entry.sketch) for e in same)
        if not recorded:
            self._append({"draft" if entry.draft else "release": self._seal(entry)})

    def find_draft(self, digest: str) -> Entry | None:
        """Return the draft whose manifest has this digest, whatever became of it; None where it is of another key."""
        return next((e for e in self.entries() if e.draft == digest), None)

    def publish(self, draft: Entry) -> None:
        """Append that a draft is published, before its folder says so."""
        if not draft.published:
            self._append({"publish": {"draft": draft.draft, "when": now()}})

    def withdraw(self, draft: Entry) -> None:
        """Append that a draft is withdrawn, before its folder goes."""
        if draft.standing is Standing.DRAFT:
            self._append({"withdraw": {"draft": draft.draft, "when": now()}})

    def _append(self, line: Line) -> None:
        lines = self._lines() or [self._first_line()]
        self._write([*lines, self._chain(lines, line)])

    def remove_unused(self, key: Path) -> None:
        """Remove a new key and its ledger, if nothing was released with them."""
        with self.lock(), suppress(LedgerError):
            if not self.entries():
                for path in (key, self.path, self.copy):
                    if path is not None:
                        path.unlink(missing_ok=True)
        Path(f"{self.path}.lock").unlink(missing_ok=True)

    def restore(self) -> bool:
        """Begin the ledger anew, where it is not whole, with all releases that its file and its copy still show.

        Returns
        -------
        bool
            Whether anything may be lost; a ledger that is whole is left as it is.
        """
        try:
            self._lines()
        except LedgerError:
            own, wrong = self._valid_lines(self.path)
            if wrong == "belongs to another key":
                raise
        else:
            return False
        shown: dict[bytes, Line] = {}
        for line in [*(own or [])[1:], *self._read_copy()[1:]]:
            bare = {name: value for name, value in line.items() if name != "code"}
            shown.setdefault(canonical(bare), bare)
        if own is not None:
            self.path.replace(f"{self.path}.damaged")
        lines = [self._first_line()]
        for line in shown.values():
            lines.append(self._chain(lines, line))
        self._write(lines)
        return True

    def _write(self, lines: Sequence[Line]) -> None:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        _replace_text(self.path, text)
        if self.copy is not None:
            with suppress(OSError):  # `notes` says that there is no copy
                self.copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _replace_text(self.copy, text)

    @property
    def notes(self) -> tuple[Note, ...]:
        """A warning where no copy stands beside the ledger, so that an older ledger in its place would not be noticed."""
        if self.copy is None or not self.path.exists() or self.copy.exists():
            return ()
        words = f"the ledger {self.path} has no copy {self.copy}: an older ledger put in its place would not be noticed"
        return (Note("SF232", words),)


def _replace_text(path: Path, text: str) -> None:
    """Write a private file so that it is the old one or the new one, whenever the machine stops.

    The new one has a random name, so that no link can be planted under it.
    """
    temporary = Path(f"{path}.{random_salt()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _lock_file(path: str) -> int:
    """Open a file that no other run holds open like this; one that was removed while this run waited does not count."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            import fcntl
        except ImportError:  # not POSIX: single runs are still right
            return descriptor
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):  # noqa: PTH116 - beside fstat
                return descriptor
        os.close(descriptor)


def _state_folder() -> Path:
    """Return where programs of this user keep what they must remember (XDG_STATE_HOME)."""
    home = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(home or os.path.expanduser("~/.local/state")) / "sfumato"  # noqa: PTH111 - Path.home() may raise


def _copy_of(key: SecretKey) -> Path:
    """Return where the copy of a key's ledger lies."""
    return _state_folder() / key.fingerprint("ledger")


def explain_refusal(earlier: list[Entry], entry: Entry) -> LedgerError:
    """Return the error that says why a second release is not made."""
    first = earlier[0]
    columns = first.columns_redrawn_by(entry)
    return LedgerError(
        f"{join_names(columns)}: the same rows were released before as {first.name!r} ({first.when}), and this release would "
        f"draw fresh noise for them. Anyone who holds both can average: {len(earlier) + 1} releases cut the variance of the "
        f"noise to 1/{len(earlier) + 1}. Use the release you have, or insist with again=True; the new manifest will then say so. "
        "(With draft=True nothing is published until you say so, and plans can be tried first)"
    )


def create_key(path: str | Path) -> SecretKey:
    """Write a new key that only its owner can read, and its empty ledger; raise UsageError if the file exists."""
    path = Path(path)
    key = SecretKey.generate()
    ledger = Ledger(ledger_beside(path), key, copy=_copy_of(key))
    try:
        if path.is_symlink() or path.exists():
            raise FileExistsError
        path.parent.mkdir(parents=True, exist_ok=True)
        # The ledger first: a key without one counts as a key whose ledger was lost.
        ledger.begin()
        write_key_file(path, key, ledger.path)
    except FileExistsError:
        raise UsageError(f"{path} exists already; a key is never overwritten. Use it, or name another file") from None
    except OSError as error:
        raise UsageError(f"the key {path} cannot be written: {error.strerror}; name another place with key=") from None
    return key


def load_or_create_key(path: str | Path) -> KeyFile:
    """Return the key in a file, created if there is none."""
    path = Path(path)
    with Ledger(ledger_beside(path)).lock() if not path.exists() else nullcontext():
        if not path.exists():  # another run may have made it while this one waited
            create_key(path)
        return read_key_file(path)

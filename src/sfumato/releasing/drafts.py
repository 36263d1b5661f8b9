"""Drafts: what becomes of a release that its owner has not published yet.

The ledger is written first, then the folder. A run that is killed in between leaves a draft that the ledger knows to be
published or withdrawn; the same command again finishes the work.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from sfumato.description import readme
from sfumato.errors import LedgerError, UsageError
from sfumato.io import remove_folder, write_file
from sfumato.releases import LOST, Entry, Ledger, Manifest, Release, Standing, explain_refusal


def publish(release: Release | str | Path, key: str | Path, *, again: bool = False) -> Release:
    """Publish a draft: from now on it is a release that may be passed on, and final.

    Parameters
    ----------
    release : Release or path
        The draft, as `sfumato.release` made it with `draft=True`.
    key : path
        The owner's key file, beside which the ledger lies.
    again : bool
        Publish rows with fresh noise although they were published before; the manifest then says so.

    Returns
    -------
    Release
        The release. Its data is that of the draft, byte for byte.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = f"{folder}/key"
    ...     draft = sf.release("iris", sf.plan("iris", privacy=0.5), f"{folder}/draft", key=key, draft=True)
    ...     sf.publish(draft, key).manifest.draft
    False
    """
    ledger = Ledger.of_key(key)
    with ledger.lock():
        lost = again and ledger.restore()
        draft, entry = _open_draft(release, ledger)
        if entry.standing is Standing.WITHDRAWN:
            raise LedgerError(
                f"{draft.folder} was withdrawn on {entry.when}, and cannot be published; make it again with draft=True"
            )
        draft.verify()
        earlier = name_earlier(ledger, entry, again=again or entry.published, lost=lost)
        ledger.publish(entry)
        published = replace(draft, manifest=replace(draft.manifest, draft=False, again=earlier))
        write_statement(published.folder, published.manifest)
    return published


def withdraw(release: Release | str | Path, key: str | Path) -> Path:
    """Withdraw a draft: its folder is removed, and the ledger remembers that it was not passed on.

    Parameters
    ----------
    release : Release or path
        The draft. A published release is final and is refused.
    key : path
        The owner's key file, beside which the ledger lies.

    Returns
    -------
    Path
        The folder that is gone.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = f"{folder}/key"
    ...     weak = sf.release("iris", sf.plan("iris", privacy=0.1), f"{folder}/weak", key=key, draft=True)
    ...     sf.withdraw(weak, key).exists()
    False
    """
    ledger = Ledger.of_key(key)
    with ledger.lock():
        draft, entry = _open_draft(release, ledger)
        if entry.published:
            raise LedgerError(
                f"{draft.folder} was published on {entry.when}, and what is published is final; finish it with sfumato.publish"
            )
        ledger.withdraw(entry)
        remove_folder(draft.folder.resolve())  # not a link to it, which would leave the draft where it is
    return draft.folder


def _open_draft(release: Release | str | Path, ledger: Ledger) -> tuple[Release, Entry]:
    """Return a draft as its folder holds it now, and what the ledger knows of it."""
    folder = release.folder if isinstance(release, Release) else Path(release)
    draft = Release(folder, Manifest.load(folder))
    if not draft.manifest.draft:
        raise UsageError(f"{folder} is not a draft: it was published, and that is final")
    entry = ledger.find_draft(digest_of(folder))
    if entry is None:
        raise UsageError(
            f"the ledger {ledger.path} knows no draft with the manifest of {folder}; give the key that it was made with, or make the "
            "draft again"
        )
    return draft, entry


def digest_of(folder: Path) -> str:
    """Return the digest by which the ledger knows a draft: of its manifest, which holds the checksum of the data."""
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


def name_earlier(ledger: Ledger | None, entry: Entry, *, again: bool, lost: bool) -> tuple[str, ...]:
    """Return the published releases of the same rows with other noise; raise LedgerError where the owner does not insist."""
    earlier = ledger.check(entry) if ledger else []
    if earlier and not again:
        raise explain_refusal(earlier, entry)
    return (*dict.fromkeys(e.name for e in earlier), *((LOST,) if lost else ()))


def write_statement(folder: Path, manifest: Manifest) -> None:
    """Write README and manifest beside the data; the manifest last, since it says what the folder is."""
    write_file(folder / "README.md", readme(manifest), force=True)
    write_file(folder / "manifest.json", manifest.to_json(), force=True)

"""A signature over a release folder: who made it, and that nothing in it was changed since.

`signature.json` is a DSSE envelope around an in-toto statement: the SHA-256 of every file of the folder, and what the release
states (laws, noise scheme, version, the digest of an audit report). It is signed with Ed25519, by a key that has nothing to do
with the key of the noise. Everything works offline.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.errors import GET_RELEASE_AGAIN, DataError, UsageError
from sfumato.io import checksum, parse_json, read_document, write_file
from sfumato.releases.keys import check_key_outside, check_only_owner
from sfumato.releases.manifest import Manifest
from sfumato.text import join_names

FILE = "signature.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREDICATE_TYPE = "tag:sfumato,2026:release/1"


class HasFolder(Protocol):
    """A release, opened."""

    @property
    def folder(self) -> Path:
        """Its folder."""


@dataclass(frozen=True)
class Signature:
    """What a signature says, once it holds.

    Attributes
    ----------
    key_id : str
        The name of the key that signed: the first 16 hex digits of the SHA-256 of its 32 public bytes.
    statement : dict
        The in-toto statement: `subject` (every file with its SHA-256) and `predicate`.
    public_key : bytes
        The 32 public bytes of that key.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", None, f"{folder}/release", privacy=0.5)
    ...     made = sf.sign(release, f"{folder}/signing.key")
    ...     sf.verify(release, f"{folder}/signing.key.pub").key_id == made.key_id
    True
    """

    key_id: str
    statement: Mapping[str, Any]
    public_key: bytes


def sign(
    release: HasFolder | str | Path, key: str | Path, *, audit: str | Path | None = None, force: bool = False
) -> Signature:
    """Sign a release folder, so that recipients can tell who made it and that it is whole.

    Parameters
    ----------
    release : Release or path
        The release.
    key : path
        A file with an Ed25519 private key (PEM); created if there is none, with the public key beside it (`.pub`).
    audit : path, optional
        An audit report whose digest is signed with the release.
    force : bool
        Replace an earlier signature.

    Returns
    -------
    Signature
        What was signed; it is written to `signature.json` in the folder.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", None, f"{folder}/release", privacy=0.5)
    ...     len(sf.sign(release, f"{folder}/signing.key").statement["subject"])
    3
    """
    folder = _folder(release)
    check_key_outside(Path(key), folder)
    manifest = Manifest.load(folder)
    if manifest.draft:
        raise UsageError(f"{folder} is a draft, and a signature is for others; publish it first with sfumato.publish")
    if checksum(folder / manifest.data.file) != manifest.data.sha256:
        raise DataError(f"{folder}: the data is not what the manifest speaks of (checksum); release the table again")
    statement = _state(folder, manifest, audit)
    secret = _load_or_create(Path(key))
    payload = json.dumps(statement, sort_keys=True, ensure_ascii=False).encode()
    public = secret.public_key()
    signed = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [
            {
                "keyid": _key_id(public),
                "sig": base64.b64encode(secret.sign(_encode(payload))).decode(),
                "public_key": base64.b64encode(public.public_bytes_raw()).decode(),
            }
        ],
    }
    write_file(folder / FILE, json.dumps(signed, indent=2) + "\n", force=force)
    return Signature(_key_id(public), statement, public.public_bytes_raw())


def verify(release: HasFolder | str | Path, key: str | Path | None = None) -> Signature:
    """Check a release folder against its signature: every file is the one that was signed, and by this key.

    Parameters
    ----------
    release : Release or path
        The release.
    key : path, optional
        The public key (PEM) that must have signed. Without it the folder is checked to be whole, but anyone may have
        signed it: compare `key_id` with the one that the owner told you.

    Returns
    -------
    Signature
        What the signature says. DataError is raised where it does not hold.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", None, f"{folder}/release", privacy=0.5)
    ...     signed = sf.sign(release, f"{folder}/signing.key")
    ...     (release.folder / "README.md").write_text("other")
    ...     try:
    ...         sf.verify(release)
    ...     except sf.SfumatoError as error:
    ...         print(str(error).partition(": ")[2])
    5
    README.md is not what was signed; get the release again from the data owner
    """
    folder = _folder(release)
    signature = read_signature(folder)
    if signature is None:
        raise DataError(f"{folder} is not signed: it has no {FILE}; ask the data owner for a signed release")
    if key is not None and _load_public(Path(key)).public_bytes_raw() != signature.public_key:
        raise DataError(f"{folder} was signed by the key {signature.key_id}, not by {key}; {GET_RELEASE_AGAIN}")
    signed = {entry["name"]: entry["digest"]["sha256"] for entry in signature.statement["subject"]}
    there = {path.name for path in folder.iterdir()} - {FILE}
    if changed := sorted(n for n in signed if n not in there or checksum(folder / n) != signed[n]):
        raise DataError(f"{folder}: {join_names(changed)} is not what was signed; {GET_RELEASE_AGAIN}")
    if beside := sorted(there - set(signed)):
        raise DataError(f"{folder}: {join_names(beside)} was put there after it was signed; {GET_RELEASE_AGAIN}")
    return signature


def read_signature(folder: Path) -> Signature | None:
    """Return the signature of a folder, checked to be one by the key that it names; None where there is none."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        envelope = parse_json(read_document(path))
        (entry,) = envelope["signatures"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(entry["public_key"], validate=True))
        public.verify(base64.b64decode(entry["sig"], validate=True), _encode(payload))
        statement = parse_json(payload.decode())
        subjects = [(str(s["name"]), str(s["digest"]["sha256"])) for s in statement["subject"]]
        if envelope["payloadType"] != PAYLOAD_TYPE or statement["predicateType"] != PREDICATE_TYPE or not subjects:
            raise ValueError("it signs something else")
    except InvalidSignature:
        raise DataError(f"{path}: the signature does not hold; {GET_RELEASE_AGAIN}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not a signature of this program ({error}); {GET_RELEASE_AGAIN}") from None
    return Signature(_key_id(public), statement, public.public_bytes_raw())


def _folder(release: HasFolder | str | Path) -> Path:
    return Path(release) if isinstance(release, str | Path) else release.folder


def _state(folder: Path, manifest: Manifest, audit: str | Path | None) -> dict[str, Any]:
    files = sorted(p for p in folder.iterdir() if p.name != FILE)
    laws = {c.attribute.name: c.to_dict()["mechanism"] for c in manifest.columns}
    predicate: dict[str, Any] = {
        "name": manifest.name,
        "rows": manifest.data.rows,
        "noise_scheme": manifest.scheme,
        "laws": laws,
        "program": f"sfumato {version('sfumato')}",
    }
    if audit is not None:
        report = Path(audit)
        if not report.is_file():
            raise UsageError(f"there is no audit report {report}; write one with sfumato.audit first")
        predicate["audit"] = {"name": report.name, "sha256": checksum(report)}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": p.name, "digest": {"sha256": checksum(p)}} for p in files],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def _encode(payload: bytes) -> bytes:
    """Return the bytes that DSSE signs: "DSSEv1", then type and payload, each with its length."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _key_id(public: Ed25519PublicKey) -> str:
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def _load_or_create(path: Path) -> Ed25519PrivateKey:
    if not path.exists():
        secret = Ed25519PrivateKey.generate()
        plain = serialization.NoEncryption()
        pem = secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        public = secret.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(pem)
        except OSError as error:
            raise UsageError(f"the signing key {path} cannot be written: {error.strerror}; name another file") from None
        write_file(Path(f"{path}.pub"), public, force=True)
        return secret
    try:
        key = serialization.load_pem_private_key(read_document(path).encode(), None)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is not a signing key ({error}); name a PEM file, or a new one to create") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path} is not an Ed25519 key; name another, or a new one to create")
    check_only_owner(path)
    return key


def _load_public(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(read_document(path).encode())
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is not a public key ({error}); name the .pub file that the owner gave you") from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"{path} is not an Ed25519 key; name the .pub file that the owner gave you")
    return key

"""A signed release says who made it, and any change of the folder is seen."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import DataError, OutputError, UsageError
from sfumato.releases.signature import FILE


@pytest.fixture
def made(tmp_path: Path) -> sf.Release:
    return sf.release("iris", None, tmp_path / "r", privacy=0.5)


def test_a_signed_folder_verifies_by_its_public_key_and_by_no_other(tmp_path: Path, made: sf.Release) -> None:
    signature = sf.sign(made, tmp_path / "a.key")
    assert sf.verify(made, tmp_path / "a.key.pub") == sf.verify(made) == signature
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    other = sf.release("iris", None, tmp_path / "o", privacy=0.5)
    sf.sign(other, tmp_path / "b.key")
    with pytest.raises(DataError, match="was signed by the key"):
        sf.verify(made, tmp_path / "b.key.pub")


def test_the_envelope_is_dsse_around_an_in_toto_statement_that_others_can_check(
    tmp_path: Path, made: sf.Release
) -> None:
    """By the published formats alone: pre-authentication encoding, Ed25519, SHA-256 of the files."""
    sf.sign(made, tmp_path / "k")
    envelope = json.loads((made.folder / FILE).read_text())
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    public = serialization.load_pem_public_key((tmp_path / "k.pub").read_bytes())
    public.verify(  # type: ignore[union-attr, call-arg]
        base64.b64decode(envelope["signatures"][0]["sig"]),
        b"DSSEv1 " + b" ".join([str(len(kind)).encode(), kind, str(len(payload)).encode(), payload]),
    )
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    for subject in statement["subject"]:
        digest = hashlib.sha256((made.folder / subject["name"]).read_bytes()).hexdigest()
        assert subject["digest"]["sha256"] == digest
    assert set(statement["predicate"]["laws"]) == set(made.manifest.schema.names)


@pytest.mark.parametrize("name", ["data.parquet", "manifest.json", "README.md", FILE])
def test_any_changed_byte_is_seen_by_verify_describe_and_mine(tmp_path: Path, made: sf.Release, name: str) -> None:
    sf.sign(made, tmp_path / "k")
    content = bytearray((made.folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (made.folder / name).write_bytes(content)
    for use in (sf.verify, sf.describe, sf.mine, lambda folder: sf.verify(folder, tmp_path / "k.pub")):
        with pytest.raises(DataError):
            use(made.folder)


def test_files_put_in_or_taken_away_are_seen(tmp_path: Path, made: sf.Release) -> None:
    sf.sign(made, tmp_path / "k")
    (made.folder / "extra.txt").write_text("x")
    with pytest.raises(DataError, match=r"extra\.txt was put there"):
        sf.verify(made)
    (made.folder / "extra.txt").unlink()
    (made.folder / "README.md").unlink()
    with pytest.raises(DataError, match=r"README\.md is not what was signed"):
        sf.verify(made)


def test_an_audit_report_is_signed_by_its_digest(tmp_path: Path, made: sf.Release) -> None:
    (tmp_path / "audit.html").write_text("<p>all is well</p>")
    statement = sf.sign(made, tmp_path / "k", audit=tmp_path / "audit.html").statement
    assert statement["predicate"]["audit"]["sha256"] == hashlib.sha256(b"<p>all is well</p>").hexdigest()
    with pytest.raises(UsageError, match="no audit report"):
        sf.sign(made, tmp_path / "k", audit=tmp_path / "none.html", force=True)


def test_what_is_not_a_key_or_signed_already_is_refused(tmp_path: Path, made: sf.Release) -> None:
    with pytest.raises(DataError, match="is not signed"):
        sf.verify(made)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="is not a signing key"):
        sf.sign(made, tmp_path / "text")
    sf.sign(made, tmp_path / "k")
    with pytest.raises(OutputError, match="exists already"):
        sf.sign(made, tmp_path / "k")
    with pytest.raises(UsageError, match="is not a public key"):
        sf.verify(made, tmp_path / "k")


def test_the_verbs_sign_and_verify_say_it_in_words_and_json(
    tmp_path: Path, made: sf.Release, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["sign", str(made.folder), "--key", str(tmp_path / "k")],
        ["verify", str(made.folder), "--key", str(tmp_path / "k.pub")],
    ):
        with pytest.raises(SystemExit) as end:
            main([*command, "--json"])
        assert end.value.code == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["key_id"] in shown.err

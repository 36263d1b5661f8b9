"""Drafts: a release that is audited, improved, and then published or withdrawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import cli
from sfumato.errors import DataError, DraftWarning, LedgerError, UsageError
from sfumato.releases import Standing
from sfumato.releases.ledger import Ledger

WEAK, STRONG = (sf.plan("iris", privacy=p) for p in (0.1, 0.9))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "k"


def draft(plan: sf.Plan, folder: Path, key: Path, **asked) -> sf.Release:
    return sf.release("iris", plan, folder, key=key, draft=True, **asked)


def standings(key: Path) -> list[Standing]:
    return [entry.standing for entry in Ledger.of_key(key).entries()]


def test_an_owner_tries_two_plans_and_publishes_one(tmp_path, key):
    weak, strong = draft(WEAK, tmp_path / "weak", key), draft(STRONG, tmp_path / "strong", key)
    sf.withdraw(weak, key)
    before = strong.data_path.read_bytes()
    published = sf.publish(strong, key)
    assert published.data_path.read_bytes() == before
    assert not weak.folder.exists()
    assert standings(key) == [Standing.WITHDRAWN, Standing.PUBLISHED]
    assert sf.Release.open(tmp_path / "strong") == published  # and no warning any more
    assert "draft" not in json.loads((tmp_path / "strong/manifest.json").read_text())
    assert "raft" not in (tmp_path / "strong/README.md").read_text()


def test_a_published_draft_is_the_release_that_would_have_been_made_at_once(tmp_path, key):
    sf.publish(draft(STRONG, tmp_path / "a", key), key)
    at_once = sf.release("iris", STRONG, tmp_path / "b", key=key)
    for name in ("data.parquet", "manifest.json", "README.md"):
        assert (tmp_path / "a" / name).read_bytes() == (at_once.folder / name).read_bytes()
    assert standings(key) == [Standing.PUBLISHED]


def test_the_noise_of_a_column_is_the_same_in_every_draft_that_gives_it_the_same_law(tmp_path, key):
    """So an owner cannot draw until an audit is lucky, and a draft that leaked cannot be averaged with the release."""
    first = draft(WEAK, tmp_path / "a", key)
    values = first.to_arrow()
    sf.withdraw(first, key)
    assert draft(WEAK, tmp_path / "b", key).to_arrow().equals(values)


def test_of_two_drafts_of_the_same_rows_one_can_be_published(tmp_path, key):
    weak, strong = draft(WEAK, tmp_path / "weak", key), draft(STRONG, tmp_path / "strong", key)
    sf.publish(weak, key)
    with pytest.raises(LedgerError, match="released before"):
        sf.publish(strong, key)
    assert sf.Manifest.load(strong.folder).draft
    assert sf.publish(strong, key, again=True).manifest.again == (weak.manifest.name,)


def test_published_rows_are_refused_fresh_noise_in_a_draft_too_and_drafts_are_named_as_the_way(tmp_path, key):
    sf.release("iris", WEAK, tmp_path / "a", key=key)
    with pytest.raises(LedgerError, match=r"released before.*draft=True"):
        draft(STRONG, tmp_path / "b", key)


def test_a_published_release_is_final(tmp_path, key):
    made = sf.publish(draft(WEAK, tmp_path / "a", key), key)
    with pytest.raises(UsageError, match="is not a draft"):
        sf.withdraw(made, key)
    with pytest.raises(UsageError, match="is not a draft"):
        sf.publish(made, key)


def test_a_publication_that_was_stopped_is_finished_by_the_same_command_and_never_withdrawn(tmp_path, key):
    made = draft(WEAK, tmp_path / "a", key)
    ledger = Ledger.of_key(key)
    ledger.publish(ledger.entries()[0])  # stopped before the folder said so
    with pytest.raises(LedgerError, match="final"):
        sf.withdraw(made, key)
    assert not sf.publish(made, key).manifest.draft
    assert standings(key) == [Standing.PUBLISHED]


def test_a_withdrawal_that_was_stopped_cannot_become_a_publication(tmp_path, key):
    made = draft(WEAK, tmp_path / "a", key)
    ledger = Ledger.of_key(key)
    ledger.withdraw(ledger.entries()[0])
    with pytest.raises(LedgerError, match=r"was withdrawn on .* make it again with draft=True"):
        sf.publish(made, key)
    sf.withdraw(made, key)
    again = draft(WEAK, tmp_path / "a", key)  # the way that is stated
    assert not sf.publish(again, key).manifest.draft


def test_a_draft_that_was_changed_is_not_published(tmp_path, key):
    made = draft(WEAK, tmp_path / "a", key, format="csv")
    statement = made.folder / "manifest.json"
    text = statement.read_text()
    statement.write_text(text + "\n")
    with pytest.raises(UsageError, match="knows no draft with the manifest"):
        sf.publish(made, key)
    statement.write_text(text)
    made.data_path.write_text(made.data_path.read_text() + "1,1,1,1,setosa\n")
    with pytest.raises(DataError, match="checksum"):
        sf.publish(made, key)
    assert standings(key) == [Standing.DRAFT]


def test_a_draft_of_another_key_is_refused(tmp_path, key):
    made = draft(WEAK, tmp_path / "a", key)
    draft(WEAK, tmp_path / "b", tmp_path / "other")
    with pytest.raises(UsageError, match="give the key that it was made with"):
        sf.publish(made, tmp_path / "other")


@pytest.mark.parametrize("key", [None, sf.SecretKey(bytes(32))])
def test_a_draft_needs_a_ledger(tmp_path, key):
    with pytest.raises(UsageError, match="key file"):
        sf.release("iris", WEAK, tmp_path / "a", key=key, draft=True)


def test_everybody_who_opens_a_draft_is_told(tmp_path, key):
    made = draft(WEAK, tmp_path / "a", key)
    assert "do not pass on" in (made.folder / "README.md").read_text()
    assert sf.describe(made)["draft"] is True
    assert "SF311" in [finding["code"] for finding in sf.describe(made)["findings"]]
    for read in (sf.describe, sf.reconstruct, sf.certify, sf.Release.open, lambda f: sf.mine(f, "byclass")):
        with pytest.warns(DraftWarning, match="do not pass on"):
            read(made.folder)
    with pytest.raises(UsageError, match="is a draft"):
        sf.sign(made, tmp_path / "signing.key")


def test_an_audit_counts_published_releases_and_no_other_draft(tmp_path, key):
    weak, strong = draft(WEAK, tmp_path / "weak", key), draft(STRONG, tmp_path / "strong", key)
    assert sf.audit(weak, "iris", key=key, targets=10).repeats["releases_known_to_the_ledger"] == 1
    sf.publish(weak, key)
    published = sf.Release.open(weak.folder)
    assert sf.audit(published, "iris", key=key, targets=10).repeats["releases_known_to_the_ledger"] == 1
    sf.publish(strong, key, again=True)
    assert sf.audit(published, "iris", key=key, targets=10).repeats["releases_known_to_the_ledger"] == 2


def test_a_name_is_free_again_when_its_draft_was_withdrawn(tmp_path, key):
    sf.withdraw(draft(WEAK, tmp_path / "a", key, name="spring"), key)
    values = np.random.default_rng(3).uniform(4, 8, (150, 4)).round(1)
    rows = sf.Release.open(sf.release("iris", None, tmp_path / "c", privacy=0.5).folder).to_arrow()
    names = rows.column_names
    table = pa.table({n: values[:, i] for i, n in enumerate(names[:4])} | {names[4]: rows[names[4]]})
    plan = sf.plan(table, privacy=0.5)
    assert sf.release(table, plan, tmp_path / "b", key=key, name="spring").manifest.name == "spring"


def test_the_noise_of_entities_is_fixed_in_drafts_too(tmp_path, key):
    table = pa.table({"who": [f"p{i}" for i in range(200)], "x": np.random.default_rng(1).uniform(0, 9, 200).round(2)})
    plans = [sf.plan(table, identifier="who", privacy=p) for p in (0.3, 0.6)]
    first = sf.release(table, plans[0], tmp_path / "a", key=key, draft=True)
    second = sf.release(table, plans[1], tmp_path / "b", key=key, draft=True)
    sf.publish(first, key)
    with pytest.raises(LedgerError, match="released before"):
        sf.publish(second, key)
    assert sf.release(table, plans[0], tmp_path / "c", key=key).to_arrow().equals(first.to_arrow())


def test_an_old_ledger_still_reads_and_takes_drafts(tmp_path, key):
    sf.release("iris", WEAK, tmp_path / "a", key=key)
    lines = Ledger.of_key(key).path.read_text().splitlines()
    assert [sorted(json.loads(line)) for line in lines] == [["code", "key", "ledger"], ["code", "release"]]
    made = draft(STRONG, tmp_path / "b", key, again=True)
    assert standings(key) == [Standing.PUBLISHED, Standing.DRAFT]
    sf.publish(made, key, again=True)
    lines = Ledger.of_key(key).path.read_text().splitlines()
    assert [sorted(json.loads(line))[1] for line in lines[1:]] == ["release", "draft", "publish"]


def test_a_ledger_that_is_restored_keeps_what_became_of_its_drafts(tmp_path, key):
    first, second = draft(WEAK, tmp_path / "a", key), draft(STRONG, tmp_path / "b", key)
    sf.withdraw(first, key)
    sf.publish(second, key)
    path = Ledger.of_key(key).path
    path.write_text(path.read_text()[:-20])
    with pytest.raises(LedgerError, match="damaged"):
        draft(WEAK, tmp_path / "c", key)
    assert Ledger.of_key(key).restore()
    assert standings(key) == [Standing.WITHDRAWN, Standing.PUBLISHED]


def test_the_command_line_drafts_audits_withdraws_and_publishes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    for name, privacy in (("weak", "0.1"), ("strong", "0.9")):
        made = run(cli, ["release", "iris", "-o", name, "--privacy", privacy, "--draft"])
        assert made.exit_code == 0, made.stderr
        assert f"next:  sfumato audit iris {name}, then sfumato publish {name}" in made.stderr
    told = run(cli, ["describe", "weak", "--json"])
    assert "note: weak is a draft, do not pass on" in told.stderr
    assert json.loads(told.stdout)["draft"] is True
    assert run(cli, ["withdraw", "weak"]).exit_code == 0
    assert not Path("weak").exists()
    published = run(cli, ["publish", "strong", "--json"])
    assert published.exit_code == 0, published.stderr
    assert "draft" not in json.loads(published.stdout)
    refused = run(cli, ["release", "iris", "-o", "other", "--privacy", "0.1"])
    assert refused.exit_code == 1
    assert re.search(r"released before.*--draft", refused.stderr)

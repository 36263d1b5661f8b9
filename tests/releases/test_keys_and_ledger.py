"""What must stay secret stays secret, and a second release cannot quietly weaken the first."""

from __future__ import annotations

import logging
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.channels import Gaussian, Substitution, Uniform
from sfumato.errors import LedgerError, UsageError
from sfumato.io.sources import Block
from sfumato.plans import Plan
from sfumato.plans.document import with_consent
from sfumato.randomness import SecretKey
from sfumato.releases import Release, create_key, load_key
from sfumato.releases.ledger import Ledger
from sfumato.releasing import release
from sfumato.releasing.base import Scope
from sfumato.releasing.row_by_row import KernelByKeyFile, kernel_for, key_fingerprint
from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Schema


def secret_of(path: Path) -> str:
    return path.read_text().splitlines()[1]


def test_a_key_file_is_its_owners_alone_and_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "deep/down/my.key"
    key = create_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key(path) == key
    with pytest.raises(UsageError, match="never overwritten"):
        create_key(path)
    assert load_key(path) == key


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_key_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A run that ends while it writes the key leaves no file that is not a key, and the next run makes one."""
    path, before = tmp_path / "k", getattr(os, step)

    def end(*given: object) -> object:
        if not [p for p in tmp_path.iterdir() if p.name == "k" or "k.partial" in p.name]:
            return before(*given)  # the ledger is written first
        assert not path.exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.releases.keys.os." + step, end)
        with pytest.raises(KeyboardInterrupt):
            create_key(path)
    assert not [p for p in tmp_path.iterdir() if p.name == "k" or "k.partial" in p.name]
    assert create_key(path) == load_key(path)


def test_a_key_is_written_where_a_file_system_knows_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object) -> None:
        raise PermissionError

    monkeypatch.setattr("sfumato.releases.keys.os.link", refuse)
    assert create_key(tmp_path / "k") == load_key(tmp_path / "k")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o777])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    create_key(tmp_path / "k")
    (tmp_path / "k").chmod(mode)
    with pytest.raises(UsageError, match="chmod 600"):
        load_key(tmp_path / "k")


@pytest.mark.parametrize(
    "content", [b"", b"x", b"a\nb\n", b"\xff\xfe\n00", b"sfumato owner key v1\n" + b"00" * 31 + b"\n"]
)
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "k").write_bytes(content)
    (tmp_path / "k").chmod(0o600)
    with pytest.raises(UsageError, match="is not a key") as caught:
        load_key(tmp_path / "k")
    assert "00" * 31 not in str(caught.value)
    with pytest.raises(UsageError):
        load_key(tmp_path)


def test_a_key_inside_the_release_is_refused_before_anything_is_written(
    tmp_path: Path, table: pa.Table, plan: Plan
) -> None:
    for key in (tmp_path / "r/my.key", tmp_path / "r/deep/my.key", tmp_path / "x/../r/my.key"):
        with pytest.raises(UsageError, match="inside"):
            release(table, plan, tmp_path / "r", key=key)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UsageError, match="inside"):
        release(table, plan, tmp_path / "link", key=tmp_path / "real/my.key", force=True)
    assert not (tmp_path / "r").exists()
    assert list((tmp_path / "real").iterdir()) == []


def test_the_secret_is_in_no_file_log_message_or_repr(
    tmp_path: Path,
    table: pa.Table,
    plan: Plan,
    plan_by_id: Plan,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    key = tmp_path / "k"
    made = release(table, plan, tmp_path / "r", key=key)
    release(table, plan_by_id, tmp_path / "e", key=key, again=True)
    with pytest.raises(LedgerError) as refused:
        release(table, replace(plan, name="other"), tmp_path / "x", key=key)
    owner = load_key(key)
    kernel = kernel_for(plan_by_id, owner, Scope("e", "00"))
    derived = [c.key for c in kernel.columns] + [kernel.entity_key, kernel.sketch_key, owner]
    captured = capfd.readouterr()
    texts = [
        repr(kernel), str(kernel), repr(made), repr(made.manifest), repr(owner), str(refused.value), repr(refused.value),
        caplog.text, captured.out, captured.err, repr(Ledger.of_key(key).entries()),
    ]  # fmt: skip
    public = [pickle.dumps(o) for o in (made, made.manifest, plan, made.read_table(), refused.value)]
    files = [p.read_bytes() for folder in ("r", "e") for p in (tmp_path / folder).iterdir()]
    ledger = Ledger.of_key(key)
    files += [ledger.path.read_bytes(), ledger.copy.read_bytes()]
    for secret in derived:
        for form in (secret.secret.hex(), repr(secret.secret), str(list(secret.secret))):
            assert not [t for t in texts if form in t]
            assert not [f for f in (*files, *public) if form.encode() in f]
        assert not [f for f in (*files, *public) if secret.secret in f]
    assert [stat.S_IMODE(p.stat().st_mode) for p in (ledger.path, ledger.copy)] == [0o600, 0o600]


def test_the_same_release_again_is_no_second_release(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    first = release(table, plan, tmp_path / "1", key=tmp_path / "k")
    again = release(table, plan, tmp_path / "2", key=tmp_path / "k", block_rows=100)
    assert first.data_path.read_bytes() == again.data_path.read_bytes()
    assert first.manifest == again.manifest
    assert len(Ledger.of_key(tmp_path / "k").entries()) == 1


def _other_law(plan: Plan) -> Plan:
    return replace(plan, name="n", channels={**plan.channels, "age": Uniform(privacy=0.5)})


def _other_scale(plan: Plan) -> Plan:
    return replace(plan, name="n", channels={**plan.channels, "age": Gaussian(privacy=0.6)})


def _other_name(plan: Plan) -> Plan:
    return replace(plan, name="another")


def _fewer_columns(plan: Plan) -> Plan:
    """Other noise for the age, and a column less: still the same people's ages."""
    return with_consent(_other_scale(plan), "height", Consent.WITHHOLD)


def _one_column(plan: Plan) -> Plan:
    smaller = _other_scale(plan)
    for name in ("height", "born", "job", "smokes", "insured", "town", "class"):
        smaller = with_consent(smaller, name, Consent.WITHHOLD)
    return smaller


@pytest.mark.parametrize("change", [_other_law, _other_scale, _other_name, _fewer_columns, _one_column])
def test_fresh_noise_for_the_same_rows_is_refused_unless_insisted_upon(
    tmp_path: Path, table: pa.Table, plan: Plan, change: object
) -> None:
    plan = replace(plan, name="n")
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    other = change(plan)  # type: ignore[operator]
    with pytest.raises(LedgerError, match=r"(?s)age.*released before as 'n'.*average.*again=True"):
        release(table, other, tmp_path / "2", key=tmp_path / "k")
    assert not (tmp_path / "2").exists()
    made = release(table, other, tmp_path / "2", key=tmp_path / "k", again=True)
    assert made.manifest.again == ("n",)
    assert Release.open(tmp_path / "2").manifest.again == ("n",)
    assert "averaging" in (tmp_path / "2/README.md").read_text("utf-8")
    assert len(Ledger.of_key(tmp_path / "k").entries()) == 2


def test_only_the_columns_that_would_be_weakened_are_named(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, replace(plan, name="n"), tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError) as caught:
        release(table, _other_law(plan), tmp_path / "2", key=tmp_path / "k")
    assert str(caught.value).startswith("age: ")


def test_shuffled_rows_are_known_again(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    with pytest.raises(LedgerError, match="again=True"):
        release(shuffled, plan, tmp_path / "2", key=tmp_path / "k")


def test_a_row_put_in_front_moves_all_others_and_is_noticed(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    moved = pa.concat_tables([table.slice(17, 1), table])
    with pytest.raises(LedgerError, match="again=True"):
        release(moved, plan, tmp_path / "2", key=tmp_path / "k")


def test_appended_and_corrected_rows_are_no_second_release(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table.slice(0, 4000), plan, tmp_path / "1", key=tmp_path / "k")
    ages = table["age"].to_pylist()
    ages[:400] = [20] * 400
    release(table.set_column(1, "age", pa.array(ages)), plan, tmp_path / "2", key=tmp_path / "k")
    assert Release.open(tmp_path / "2").manifest.again == ()
    assert [e.sketch.rows for e in Ledger.of_key(tmp_path / "k").entries()] == [4000, 5000]


def test_another_table_is_another_matter(tmp_path: Path, plan: Plan) -> None:
    from_year = {}
    for seed in (1, 2):
        numbers = np.random.default_rng(seed)
        from_year[seed] = pa.table({"x": numbers.normal(50, 10, 3000).clip(0, 100), "y": numbers.integers(0, 2, 3000)})
    schema = Schema((Attribute("x", Kind.REAL, Interval(0, 100)), Attribute("y", Kind.INTEGER, Interval(0, 1))))
    wish = {"x": Gaussian(privacy=0.5), "y": Gaussian(privacy=0.5)}
    release(from_year[1], Plan(schema, wish, name="first"), tmp_path / "1", key=tmp_path / "k")
    release(from_year[2], Plan(schema, wish, name="second"), tmp_path / "2", key=tmp_path / "k")
    # Even where a column has two values only, and so agrees by chance in half of the rows.
    flags = [Plan(Schema(schema.attributes[1:]), {"y": wish["y"]}, name=n) for n in ("third", "fourth")]
    for seed, flag in zip((3, 4), flags, strict=True):
        table = pa.table({"y": np.random.default_rng(seed).integers(0, 2, 3000)})
        release(table, flag, tmp_path / str(seed), key=tmp_path / "k")


def test_a_table_of_flags_is_known_again_too(tmp_path: Path) -> None:
    schema = Schema((Attribute("y", Kind.INTEGER, Interval(0, 1)),))
    table = pa.table({"y": np.random.default_rng(3).integers(0, 2, 3000)})
    release(table, Plan(schema, {"y": Gaussian(privacy=0.5)}), tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError):
        release(table, Plan(schema, {"y": Gaussian(privacy=0.7)}), tmp_path / "2", key=tmp_path / "k")


def test_a_tiny_table_is_known_again(tmp_path: Path) -> None:
    schema = Schema((Attribute("x", Kind.REAL, Interval(0, 100)),))
    for number, rows in enumerate(([5.5], [1.0, 2.0, 3.0])):
        key = tmp_path / f"k{number}"
        release(pa.table({"x": rows}), Plan(schema, {"x": Gaussian(privacy=0.5)}), tmp_path / f"1-{number}", key=key)
        with pytest.raises(LedgerError):
            release(
                pa.table({"x": rows}), Plan(schema, {"x": Gaussian(privacy=0.7)}), tmp_path / f"2-{number}", key=key
            )


def test_entities_may_be_released_under_any_name_and_in_any_order(
    tmp_path: Path, table: pa.Table, plan_by_id: Plan
) -> None:
    release(table, plan_by_id, tmp_path / "1", key=tmp_path / "k")
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    release(shuffled, replace(plan_by_id, name="other"), tmp_path / "2", key=tmp_path / "k")
    with pytest.raises(LedgerError):
        release(shuffled, _other_scale(plan_by_id), tmp_path / "3", key=tmp_path / "k")
    with pytest.raises(LedgerError):
        release(table.slice(0, 2500), _fewer_columns(plan_by_id), tmp_path / "3", key=tmp_path / "k")


def test_without_a_key_file_there_is_no_ledger_and_no_repeating(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    one = release(table, plan, tmp_path / "1")
    two = release(table, plan, tmp_path / "2")
    assert one.data_path.read_bytes() != two.data_path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1", "2"]


def test_a_damaged_ledger_is_refused_at_the_line_that_is_wrong(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    ledger = tmp_path / "k.ledger"
    whole = ledger.read_text()
    ledger.write_text(whole + whole[:100])
    with pytest.raises(LedgerError, match="damaged in line 3"):
        release(table, plan, tmp_path / "2", key=tmp_path / "k")
    for line in (
        "{}",
        "null",
        "3",
        '"x"',
        '{"name": 1, "noise": 2, "sketch": 3, "when": 4}',
        '{"sketch": {"cells": []}, "name": 1, "noise": {}, "when": 1}',
    ):
        ledger.write_text(line + "\n" + whole)
        with pytest.raises(LedgerError, match="line 1"):
            release(table, plan, tmp_path / "3", key=tmp_path / "k")


def test_a_failed_release_is_not_recorded(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    release(table, plan, tmp_path / "1", key=tmp_path / "k")
    with pytest.raises(LedgerError):
        release(table, _other_law(plan), tmp_path / "2", key=tmp_path / "k")
    assert len(Ledger.of_key(tmp_path / "k").entries()) == 1


def test_keys_of_different_owners_share_nothing(tmp_path: Path, table: pa.Table, plan: Plan) -> None:
    a = release(table, plan, tmp_path / "1", key=tmp_path / "a")
    b = release(table, plan, tmp_path / "2", key=tmp_path / "b")
    assert a.data_path.read_bytes() != b.data_path.read_bytes()
    assert a.manifest.name != b.manifest.name
    assert isinstance(load_key(tmp_path / "a"), SecretKey)


def test_a_column_declared_otherwise_hides_nothing_of_the_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    table = pa.table({"age": rng.integers(18, 90, 600), "smoker": rng.choice(["no", "yes"], 600)})

    def plan(labels: tuple[str, ...], sigma: float) -> Plan:
        age = Attribute("age", Kind.INTEGER, Interval(0, 120))
        smoker = Attribute("smoker", Kind.CATEGORICAL, Categories(labels))
        return Plan(Schema((age, smoker)), {"age": Gaussian(sigma=sigma), "smoker": Substitution(gamma=9.0)}, name="r")

    key = tmp_path / "owner.key"
    release(table, plan(("no", "yes"), 5.0), tmp_path / "a", key=key)
    with pytest.raises(LedgerError, match="age, smoker: the same rows were released before"):
        release(table, plan(("maybe", "no", "yes"), 4.0), tmp_path / "b", key=key)


def test_another_table_with_a_column_that_hardly_varies_in_common_is_another_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    schema = Schema((Attribute("x", Kind.REAL, Interval(0, 1)), Attribute("year", Kind.INTEGER, Interval(2000, 2030))))
    wishes = {"x": Gaussian(sigma=0.2), "year": Gaussian(sigma=3.0)}
    key = tmp_path / "owner.key"
    for name in ("one", "two"):
        table = pa.table({"x": rng.random(600), "year": np.full(600, 2020)})
        release(table, Plan(schema, wishes, name=name), tmp_path / name, key=key)


def test_a_worker_with_another_key_file_than_the_drivers_is_refused(tmp_path: Path) -> None:
    schema = Schema((Attribute("x", Kind.REAL, Interval(0, 10)),))
    plan = Plan(schema, {"x": Gaussian(sigma=1.0)}, name="p")
    own = create_key(tmp_path / "key")
    block = Block(0, pa.record_batch({"x": [1.0, 2.0]}))
    scope = Scope("p", "00")
    same = KernelByKeyFile(plan, scope, str(tmp_path / "key"), key_fingerprint(own))
    assert same(block).batch.equals(kernel_for(plan, own, scope)(block).batch)
    other = KernelByKeyFile(plan, scope, str(tmp_path / "key"), key_fingerprint(SecretKey(bytes(32))))
    with pytest.raises(UsageError, match="holds another key than the driver's"):
        other(block)

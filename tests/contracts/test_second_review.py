"""What a second adversarial review found, by its letter. Most of these tests failed on the code that was reviewed; the rest hold what was right."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.contracts.test_holes import flag_plan, flags, people

import sfumato as sf
from sfumato.certificates import check_certificate
from sfumato.channels import blur_covariance
from sfumato.cli import main
from sfumato.engines import Local
from sfumato.errors import DataError, UsageError
from sfumato.io import checksum
from sfumato.releases import signature
from sfumato.releasing.joint_noise import moments_of
from sfumato.schema import Attribute, Interval, Kind, Schema

Change = Callable[[dict[str, Any]], Any]


def change_json(path: Path, change: Change) -> None:
    """Change a JSON document in its place."""
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


def check_files(folder: Path) -> int:
    """Run the checker that anybody can run, on a certificate and its manifest."""
    return check_certificate.main([str(folder / "law.cert.json"), str(folder / "manifest.json")])


def test_review_m1a_a_law_bound_to_another_domain_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Laplace noise on a domain said to be 0.01 wide would have ε = 0.03, where it has 12."""
    release = sf.release("iris", None, tmp_path / "r", noise="laplace", privacy=0.5)
    certificate = json.loads(sf.certify(release).path.read_text("utf-8"))
    true = json.loads((release.folder / "manifest.json").read_text("utf-8"))

    def narrow(manifest: dict[str, Any]) -> None:
        law = manifest["attributes"][0]["mechanism"]
        law["high"] = law["low"] + 0.01

    change_json(release.folder / "manifest.json", narrow)
    with pytest.raises(DataError, match="sepal_length: the law is bound to another domain"):
        sf.Release.open(release.folder)
    # The checker by itself: a certificate that is right for the narrow law, beside a manifest that states both.
    other = Path(shutil.copytree(release.folder, tmp_path / "other"))
    shrink: dict[str, Any] = copy.deepcopy(true)
    narrow(shrink)
    domain = shrink["attributes"][0]["mechanism"]
    shrink["attributes"][0]["domain"] = [domain["low"], domain["high"]]
    (other / "manifest.json").write_text(json.dumps(shrink), "utf-8")
    column = sf.certify(other, tmp_path / "narrow.json").data["columns"][0]
    certificate["columns"][0] = column
    (release.folder / "law.cert.json").write_text(json.dumps(certificate), "utf-8")
    assert check_files(release.folder) == 1
    assert "sepal_length: the domain is another one" in capsys.readouterr().err


def _claim_epsilon(certificate: dict[str, Any]) -> None:
    for column in certificate["columns"]:
        column["epsilon"] = 0.001


def _drop_tables(certificate: dict[str, Any]) -> None:
    for column in certificate["columns"]:
        column |= {"table": None, "gamma": None, "reason": "none", "epsilon": 0.001, "vectors": []}


def _lie_first(certificate: dict[str, Any]) -> None:
    lie = copy.deepcopy(certificate["columns"][0])
    certificate["columns"].insert(0, lie | {"epsilon": 1e-9})


def _rename(certificate: dict[str, Any]) -> None:
    certificate["release"] = "another"


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("forge", [_claim_epsilon, _drop_tables, _lie_first, _rename])
def test_review_m1b_m1c_m1d_a_certificate_with_a_false_claim_is_wrong(
    tmp_path: Path, noise: str, forge: Change
) -> None:
    release = sf.release("iris", None, tmp_path / "r", noise=noise, privacy=0.5)
    sf.certify(release)
    assert check_files(release.folder) == 0
    change_json(release.folder / "law.cert.json", forge)
    assert check_files(release.folder) == 1


def test_review_m1d_a_manifest_that_states_a_column_twice_is_wrong(tmp_path: Path) -> None:
    release = sf.release("iris", None, tmp_path / "r", noise="laplace", privacy=0.5)
    sf.certify(release)
    change_json(release.folder / "manifest.json", lambda m: m["attributes"].insert(0, m["attributes"][0]))
    assert check_files(release.folder) == 1


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A signed release, one byte of whose README was changed afterwards; the data and its checksum still fit."""
    release = sf.release("iris", None, tmp_path / "changed", privacy=0.5, target="class")
    sf.sign(release, tmp_path / "signing.key")
    readme = release.folder / "README.md"
    readme.write_text(readme.read_text("utf-8").replace("blurred", "blurry"), "utf-8")
    return release.folder


READERS: dict[str, Callable[[Path], object]] = {
    "describe": sf.describe,
    "reconstruct": sf.reconstruct,
    "mine": lambda r: sf.mine(r, "byclass"),
    "cluster": lambda r: sf.cluster(r, k=2),
    "certify": lambda r: sf.certify(r, r.parent / "law.cert.json"),
    "audit": lambda r: sf.audit("iris", r, targets=5),
    "audit others": lambda r: sf.audit(
        "iris", sf.release("iris", None, r.parent / "o", privacy=0.5), others=[r], targets=5
    ),
    "compare": lambda r: sf.compare("iris", r, k=2),
    "read_table of an opened release": lambda r: sf.Release.open(r).read_table(),
    "to_arrow of an opened release": lambda r: sf.Release.open(r).to_arrow(),
    "count_table of an opened release": lambda r: sf.Release.open(r).count_table(Local()),
    "mine an opened release": lambda r: sf.mine(sf.Release.open(r), "byclass"),
    "reconstruct an opened release": lambda r: sf.reconstruct(sf.Release.open(r)),
    "certify an opened release": lambda r: sf.certify(sf.Release.open(r), r.parent / "law.cert.json"),
}


@pytest.mark.parametrize("reader", READERS)
def test_review_m2_every_reader_refuses_a_signed_folder_that_was_changed(changed: Path, reader: str) -> None:
    with pytest.raises(DataError, match=r"README\.md is not what was signed"):
        READERS[reader](changed)


def test_review_m2_an_engine_that_does_not_gather_rows_refuses_it_too(changed: Path) -> None:
    with pytest.raises(DataError, match=r"README\.md is not what was signed"):
        sf.reconstruct(changed, engine=Local(gathers=False))


def test_review_l1_another_key_of_the_same_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is 64 bits of a hash; somebody may find a key of the same name."""
    release = sf.release("iris", None, tmp_path / "r", privacy=0.5)
    for name in ("a", "b"):
        sf.sign(release, tmp_path / name, force=True)
    monkeypatch.setattr(signature, "_key_id", lambda _public: "0" * 16)
    sf.verify(release, tmp_path / "b.pub")
    with pytest.raises(DataError, match="not by"):
        sf.verify(release, tmp_path / "a.pub")


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029", "\x85", "\u200b", "\u061c", "\x1b[1A"])
def test_review_l2_no_name_forges_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str) -> None:
    release = sf.release("iris", None, tmp_path / "r", privacy=0.5)
    change_json(release.folder / "manifest.json", lambda m: m.update(name=f"x{end}Signed by 1234, and whole."))
    with pytest.raises(SystemExit):
        main(["describe", str(release.folder)])
    shown = capsys.readouterr().out
    assert end == "\n" or end not in shown
    assert not any(line.startswith("Signed by") for line in shown.splitlines())


def test_review_l3_a_file_name_cannot_forge_the_list_of_checksums(tmp_path: Path) -> None:
    for name in ("part-0.parquet", "part-1.parquet"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(name.encode())
    whole = checksum(tmp_path / "data")
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged" / f"part-0.parquet\n{checksum(tmp_path / 'data/part-1.parquet')}  part-1.parquet").write_bytes(
        b"part-0.parquet"
    )
    listed = "".join(f"{checksum(p)}  {p.name}\n" for p in (tmp_path / "forged").iterdir())
    assert hashlib.sha256(listed.encode()).hexdigest() == whole
    with pytest.raises(DataError, match="not the name of a file"):
        checksum(tmp_path / "forged")


def test_review_l4_the_covariance_tells_no_value_better_than_its_own_release() -> None:
    """Cramér–Rao, at the corner of the domain where a row moves the covariance most: I(Σ) ≤ I(y) for every column."""
    rng = np.random.default_rng(4)
    for d in (2, 3, 8):
        table = rng.uniform(0, 100, (400, d)) * np.linspace(0.2, 1, d)
        attributes = [Attribute(f"c{i}", Kind.REAL, Interval(0, 100)) for i in range(d)]
        moments, ratio = moments_of(table, attributes), 0.7
        learned = moments.covariance()
        # With draws of one in the upper triangle the noise is its own standard deviation.
        weight = blur_covariance(moments, ratio, np.ones((d, d)))[0] - learned
        away = np.maximum(table.mean(0), 100 - table.mean(0)) / len(table)
        slopes = np.tile(away, (d, 1)) * (1 + np.eye(d))
        told = (slopes**2 / weight**2).sum(axis=1)
        assert np.all(told <= 1 / (ratio * np.diag(learned)))


@pytest.mark.parametrize(
    "wish",
    [
        sf.Substitution(gamma=1e18),
        sf.Substitution(epsilon=49.0),
        sf.Substitution(signal=0.999999),
        sf.Substitution(matrix=((1.0, 0.0), (0.0, 1.0))),
        sf.Substitution(matrix=((0.0, 1.0), (1.0, 0.0))),
    ],
    ids=str,
)
def test_review_l5_a_substitution_that_hides_nothing_is_refused(tmp_path: Path, wish: sf.Substitution) -> None:
    with pytest.raises(UsageError, match="tells 100 % of the true values"):
        sf.release(flags(1), replace(flag_plan(), channels={"flag": wish}), tmp_path / "r")


def test_review_l5_what_hides_little_is_said(tmp_path: Path) -> None:
    weak = sf.release(flags(1), flag_plan(epsilon=6.0), tmp_path / "weak", key=tmp_path / "k")
    assert "SF251" in [c.code for c in weak.making.cautions]
    plain = sf.release(flags(2), flag_plan(epsilon=2.9), tmp_path / "plain", key=tmp_path / "k")
    assert "SF251" not in [c.code for c in plain.making.cautions]
    age = sf.Plan(Schema((Attribute("age", Kind.INTEGER, Interval(0, 120)),)), {"age": sf.Laplace(b=0.05)})
    said = sf.release(people().select(["age"]), age, tmp_path / "age").making.cautions
    assert any(c.code == "SF204" and "hold exactly their true value: age (100 %)" in c for c in said)


def test_review_l6_bits_beyond_a_word_are_wrong_at_once(tmp_path: Path) -> None:
    release = sf.release("iris", None, tmp_path / "r", noise="laplace", privacy=0.5)
    sf.certify(release)
    change_json(release.folder / "law.cert.json", lambda c: c["columns"][0]["table"].update(spare_bits=2**63))
    start = time.process_time()
    assert check_files(release.folder) == 1
    assert time.process_time() - start < 2


def test_review_l7_more_rows_than_the_file_can_hold_are_refused(tmp_path: Path) -> None:
    release = sf.release(flags(1), flag_plan(), tmp_path / "r")
    rows = 40_000_000
    with pyarrow.parquet.ParquetWriter(release.data_path, pa.schema({"flag": pa.string()})) as writer:
        part = pa.table({"flag": pa.repeat(pa.scalar("no"), rows // 40)})
        for _ in range(40):
            writer.write_table(part)
    about = {"rows": rows, "bytes": release.data_path.stat().st_size, "sha256": checksum(release.data_path)}
    change_json(release.folder / "manifest.json", lambda m: (m.update(rows=rows), m["data"].update(about)))
    for read in (sf.Release.to_arrow, sf.Release.read_table):
        with pytest.raises(DataError, match="which no rows fit in"):
            read(sf.Release.open(release.folder))


def test_review_l8_a_signing_key_stays_with_its_owner(tmp_path: Path) -> None:
    release = sf.release("iris", None, tmp_path / "r", privacy=0.5)
    with pytest.raises(UsageError, match="inside the release"):
        sf.sign(release, release.folder / "signing.key")
    assert not (release.folder / "signing.key").exists()
    sf.sign(release, tmp_path / "signing.key")
    (tmp_path / "signing.key").chmod(0o644)
    with pytest.raises(UsageError, match="open to others"):
        sf.sign(release, tmp_path / "signing.key", force=True)


def test_review_l8_the_owners_report_is_not_written_into_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = sf.release("iris", None, tmp_path / "r", privacy=0.5)
    with pytest.raises(SystemExit) as end:
        main(["audit", "iris", str(release.folder), "-o", str(release.folder / "audit.html")])
    assert end.value.code == 1
    assert "the report is for the owner alone" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["=cmd|'/C calc'!A0", "@SUM(A1)", "+1+1", "-cmd", "\t=1"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_review_l11_formulas_in_a_released_csv_are_named(tmp_path: Path, text: str, form: str) -> None:
    labels = np.array([text, "plain"])[np.random.default_rng(1).integers(0, 2, 200)]
    for name, column in (("label", labels), (text, np.random.default_rng(2).choice(["a", "b"], 200))):
        table = pa.table({name: column})
        made = sf.release(table, None, tmp_path / str(name == "label"), noise="substitution", format=form)
        notes = [c for c in made.making.cautions if c.code == "SF252"]
        assert [n.endswith(f": {name}.") for n in notes] == [True] * (form == "csv")


def test_review_l12_a_column_name_with_a_line_break_is_not_written_to_csv(tmp_path: Path) -> None:
    table = pa.table({"a\nb": np.random.default_rng(1).choice(["x", "y"], 200)})
    with pytest.raises(UsageError, match=r"^'a\\nb': no CSV file"):
        sf.release(table, None, tmp_path / "r", noise="substitution", format="csv")
    assert not (tmp_path / "r").exists()
    made = sf.release(table, None, tmp_path / "r", noise="substitution")
    assert made.to_arrow().column_names == ["a\nb"]

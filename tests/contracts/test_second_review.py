"""What a second adversarial review found, one test per hole, by its letter. Each failed on the code that was reviewed."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.certificates import check_certificate
from sfumato.engines import Local
from sfumato.errors import DataError

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
    "audit others": lambda r: sf.audit("iris", sf.release("iris", None, r.parent / "o"), others=[r], targets=5),
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

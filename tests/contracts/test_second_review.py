"""What a second adversarial review found, one test per hole, by its letter. Each failed on the code that was reviewed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.certificates import check_certificate
from sfumato.cli import main
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
    with pytest.raises(DataError, match="sepal_length: .* another domain"):
        sf.Release.open(release.folder)
    # The checker by itself: a certificate that is right for the narrow law, beside a manifest that states both.
    other = sf.release("iris", None, tmp_path / "o", noise="laplace", privacy=0.5)
    shrink: dict[str, Any] = copy.deepcopy(true)
    narrow(shrink)
    domain = shrink["attributes"][0]["mechanism"]
    shrink["attributes"][0]["domain"] = [domain["low"], domain["high"]]
    (other.folder / "manifest.json").write_text(json.dumps(shrink), "utf-8")
    column = sf.certify(other.folder, tmp_path / "narrow.json").data["columns"][0]
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

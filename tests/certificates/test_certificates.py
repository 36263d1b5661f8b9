"""Certificates of every law, checked by a program that knows nothing of ours; and wrong ones, which it finds."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.certificates import Wrong, certificate, check, check_certificate
from sfumato.certificates.certificate import certify_column
from sfumato.channels import CHANNELS, Channel, Gaussian, Laplace, Projective, SquareWave, Substitution, Uniform
from sfumato.cli.app import cli
from sfumato.errors import OutputError
from sfumato.releases import ReleasedColumn
from sfumato.scales import Log
from sfumato.schema import Attribute, Categories, Interval, Kind
from sfumato.tables import CELLS_PER_SIGMA, half_normal

AGE = Attribute("age", Kind.INTEGER, Interval(17, 90))
FEW = Attribute("children", Kind.INTEGER, Interval(0, 9))
PRICE = Attribute("price", Kind.INTEGER, Interval(0, 2_000_000))
BIRTH = Attribute("birth", Kind.DATE, Interval(-3653, 18262))
SHARE = Attribute("share", Kind.REAL, Interval(-0.2, 1.0))
TENTHS = Attribute("acidity", Kind.REAL, Interval(0.0, 2.5), resolution=0.1)
COLOUR = Attribute("colour", Kind.CATEGORICAL, Categories(("red", "green", "blue", "black", "white")))
CODES = Attribute("code", Kind.CATEGORICAL, Categories(tuple(f"{i:03}" for i in range(200))))
COST = Attribute("cost", Kind.REAL, Interval(0, 290_000), scale=Log(1000.0))
NUMBERS = (AGE, FEW, PRICE, BIRTH, SHARE, TENTHS, COST)
LABELS = (COLOUR, CODES)
SKEWED = ((0.7, 0.1, 0.01), (0.2, 0.8, 0.29), (0.1, 0.1, 0.7))
SHARED = {"cells_per_sigma": CELLS_PER_SIGMA, "normal": [hex(s) for s in half_normal().table.starts.tolist()]}


def strengths(law: type[Channel]) -> list[Channel]:
    """At least six of each law."""
    name, values = next(iter(law.sweep.items()))
    return [Channel.from_dict({"law": law.law, name: value}) for value in values]


def attributes(law: type[Channel]) -> list[Attribute]:
    return [*(NUMBERS if law.numeric else ()), *(LABELS if law.categorical else ())]


CASES = [
    *((wish, attribute) for law in CHANNELS.values() for wish in strengths(law) for attribute in attributes(law)),
    *((Substitution(matrix=SKEWED, bins=3), a) for a in (AGE, SHARE)),
    *((Substitution(epsilon=e), a) for e in (0.01, 1.0, 20.0, 37.0, 50.0) for a in (COLOUR, AGE)),
    *((SquareWave(epsilon=e), a) for e in (0.01, 20.0, 37.0, 50.0) for a in (AGE, SHARE)),
    *((Projective(epsilon=e), CODES) for e in (0.01, 20.0, 37.0, 50.0)),
    *((Laplace(b=b), AGE) for b in (0.2, 1.5, 2.0, 5000.0, 1e7)),
    (Laplace(b=4e9), PRICE),
    (Gaussian(sigma=1e10), PRICE),
    (Uniform(alpha=1e10), PRICE),
    (Gaussian(sigma=3.0, step=5.0), AGE),
]


def column_of(wish: Channel, attribute: Attribute) -> dict[str, Any]:
    law = wish.on(attribute)
    stated = json.loads(json.dumps(law.to_dict()))
    column = certify_column(ReleasedColumn(attribute, law), stated)
    return json.loads(json.dumps(column, allow_nan=False))


def test_every_law_has_six_strengths_or_more() -> None:
    for law in CHANNELS.values():
        assert len(strengths(law)) >= 6
        assert sum(type(wish) is law for wish, _ in CASES) >= 6 * len(attributes(law))


@pytest.mark.parametrize(
    ("wish", "attribute"), CASES, ids=lambda c: c.name if isinstance(c, Attribute) else str(c.to_dict())
)
def test_a_certificate_of_every_law_and_strength_is_right(wish: Channel, attribute: Attribute) -> None:
    column = column_of(wish, attribute)
    assert column["table"] is not None
    check_certificate.check_column(column, SHARED)
    assert (column["gamma"] is None) == (wish.on(attribute).guarantee().reason is not None)


@pytest.mark.parametrize(
    "wish",
    [Laplace(b=2.5), SquareWave(epsilon=1.5), Substitution(gamma=7.0), Substitution(matrix=SKEWED, bins=3)],
    ids=str,
)
def test_gamma_is_what_all_pairs_of_a_small_domain_show(wish: Channel) -> None:
    """Every P(y | x) of ten true values, added up and compared, in fractions."""
    column = column_of(wish, FEW)
    law = check_certificate.FORMS[column["table"]["form"]](column["table"], column["mechanism"], SHARED)
    bound = wish.on(FEW)
    true = [float(v) for v in range(10)]
    if isinstance(wish, Substitution):
        released = bound.representatives.tolist()
    elif isinstance(wish, Laplace):
        released = [float(v) for v in range(column["table"]["bottom"], column["table"]["top"] + 1)]
    else:
        released = [float(v) for v in range(-bound.window, 10 + bound.window)]
    chances = [[law.chance(x, y) for y in released] for x in true]
    assert all(sum(row) == 1 for row in chances)
    worst = max(max(row) / min(row) for row in zip(*chances, strict=True))
    assert worst <= bound.guarantee().exact <= worst * (1 + Fraction(1, 10**3))
    table = bound.transition(sf_atoms(true), sf_atoms(released))
    assert np.abs(table.T - np.array(chances, dtype=float)).max() < 1e-9


def sf_atoms(values: list[float]) -> Any:
    from sfumato.counts import Grid

    return Grid(atoms=np.array(values))


@dataclass(frozen=True)
class Lie:
    wish: Channel
    attribute: Attribute
    change: Callable[[dict[str, Any]], object]
    words: str


def move(table: Any, key: Any, place: int, by: int) -> None:
    table[key][place] = hex(int(table[key][place], 16) + by)


def understate(column: dict[str, Any]) -> None:
    gamma = column["gamma"]
    column["gamma"] = {
        "numerator": str(10**30 * int(gamma["numerator"]) - 1),
        "denominator": str(10**30 * int(gamma["denominator"])),
    }


LIES = {
    "a threshold one word too high": Lie(
        Substitution(gamma=7.0),
        COLOUR,
        lambda c: c["table"].update(threshold=hex(int(c["table"]["threshold"], 16) + 1)),
        "exceeds",
    ),
    "a threshold one word too low": Lie(
        SquareWave(epsilon=1.0),
        AGE,
        lambda c: c["table"].update(threshold=hex(int(c["table"]["threshold"], 16) - 1)),
        "lower",
    ),
    "a threshold that keeps every value": Lie(
        Substitution(epsilon=50.0), COLOUR, lambda c: c["table"].update(threshold=hex(2**64)), "no other value"
    ),
    "gamma understated by almost nothing": Lie(SquareWave(epsilon=2.0), SHARE, understate, "understated"),
    "gamma of Laplace noise understated": Lie(Laplace(privacy=1.0), SHARE, understate, "understated"),
    "gamma overstated": Lie(
        Projective(gamma=5.0), CODES, lambda c: c["gamma"].update(numerator=c["gamma"]["numerator"] + "0"), "overstated"
    ),
    "epsilon understated": Lie(
        Laplace(b=30.0), AGE, lambda c: c.update(epsilon=float(np.nextafter(c["epsilon"], 0))), "below ln gamma"
    ),
    "gamma claimed finite": Lie(
        Gaussian(privacy=0.5),
        AGE,
        lambda c: c.update(gamma={"numerator": "5", "denominator": "1"}, epsilon=1.7, reason=None),
        "one side only",
    ),
    "a block of Laplace noise moved": Lie(
        Laplace(b=30.0), AGE, lambda c: move(c["table"], "blocks", 2, 2**44), "not geometric"
    ),
    "a block with one word more on one side": Lie(
        Laplace(b=30.0), AGE, lambda c: move(c["table"], "blocks", 2, 1), "sides differ"
    ),
    "a cell of Laplace noise moved": Lie(
        Laplace(b=30.0), AGE, lambda c: move(c["table"], "cells", 5, 2**50), "not geometric"
    ),
    "a tail of Laplace noise cut": Lie(
        Laplace(b=30.0), AGE, lambda c: c["table"].update(blocks=c["table"]["blocks"][:-4]), "AGE|age|beyond|geometric"
    ),
    "another width of the noise": Lie(
        Gaussian(privacy=0.5), AGE, lambda c: c["table"].update(width="0x40000000"), "sigma"
    ),
    "another width of uniform noise": Lie(
        Uniform(privacy=0.5), AGE, lambda c: c["table"].update(shift=c["table"]["shift"] + 1), "alpha"
    ),
    "a draw that the table does not make": Lie(
        Uniform(privacy=0.5), AGE, lambda c: c["vectors"][5].__setitem__(3, -40.0), "take"
    ),
    "a draw of another law": Lie(
        Gaussian(privacy=0.5),
        SHARE,
        lambda c: c.update(vectors=column_of(Gaussian(privacy=0.51), SHARE)["vectors"]),
        "take",
    ),
    "no draws": Lie(Uniform(privacy=0.5), AGE, lambda c: c.update(vectors=[]), "too few"),
    "a pair that is not the worst": Lie(
        Laplace(b=30.0), AGE, lambda c: c["table"]["worst"].__setitem__(1, 17.0), "worst pair"
    ),
    "an entry of a matrix moved": Lie(
        Substitution(matrix=SKEWED, bins=3),
        AGE,
        lambda c: [move(c["table"]["columns"], 0, place, by) for place, by in ((0, 2**40), (1, -(2**40)))],
        "stated matrix",
    ),
    "a matrix that does not add up": Lie(
        Substitution(matrix=SKEWED, bins=3), AGE, lambda c: move(c["table"]["columns"], 0, 0, 1), "add up"
    ),
    "a smaller window": Lie(SquareWave(epsilon=1.0), AGE, lambda c: c["table"].update(window=3), "numbers of outcomes"),
    "fewer words for a place": Lie(
        SquareWave(epsilon=1.0), AGE, lambda c: c["table"].update(every_bits=7), "add up|exceeds"
    ),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_wrong_certificate_is_found(lie: Lie) -> None:
    column = column_of(lie.wish, lie.attribute)
    check_certificate.check_column(column, SHARED)
    lie.change(column)
    with pytest.raises(Wrong, match=lie.words):
        check(
            {"sfumato_certificate": 1, "release": "r", "shared": SHARED, "columns": [column]},
            {"name": "r", "attributes": [lie.attribute.to_dict() | {"mechanism": column["mechanism"]}]},
        )


def test_a_moved_threshold_of_the_normal_table_is_found() -> None:
    shared = copy.deepcopy(SHARED)
    move(shared, "normal", 700, 2**16)
    with pytest.raises(Wrong, match="threshold 700"):
        check_certificate.check_column(column_of(Gaussian(privacy=0.5), AGE), shared)


@pytest.mark.parametrize(
    ("wish", "attribute"),
    [(Gaussian(privacy=0.5), AGE), (Uniform(privacy=0.5), SHARE), (Laplace(privacy=0.5), AGE)],
    ids=lambda c: c.name if isinstance(c, Attribute) else c.law,
)
def test_a_sampler_that_differs_from_its_table_is_found(
    wish: Channel, attribute: Attribute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law whose noise is one step off in one draw of a hundred."""
    honest = type(wish).noise

    def dishonest(self: Channel, words: np.ndarray) -> np.ndarray:
        out = honest(self, words)
        out[3::7] += 1
        return out

    monkeypatch.setattr(type(wish), "noise", dishonest)
    with pytest.raises(Wrong, match="take"):
        check_certificate.check_column(column_of(wish, attribute), SHARED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("certified")
    sf.release("adult", None, out / "release", privacy=0.5, key=out / "key", target="class")
    return out / "release"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


CHECKER = Path(check_certificate.__file__)


def run_checker(*arguments: Path) -> subprocess.CompletedProcess[str]:
    """In a Python without any package: neither ours nor one from elsewhere can be imported."""
    return subprocess.run(
        [sys.executable, "-I", "-S", CHECKER, *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_writes_a_certificate_that_stands_without_us(folder: Path) -> None:
    said = run("certify", str(folder), "--json")
    assert said.exit_code == 0
    document = json.loads(said.stdout)
    assert {c["name"] for c in document["columns"]} == {
        a.attribute.name for a in sf.Release.open(folder).manifest.columns
    }
    path = folder / "law.cert.json"
    checked = run_checker(path, folder / "manifest.json")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == "right: 14 laws of 15 columns are as certified\n"
    again = run("certify", str(folder))
    assert again.exit_code == 1
    assert "law.cert.json" in again.stderr
    shown = run("certify", str(folder), "--force")
    assert shown.exit_code == 0
    assert "rounded-normal" in shown.stdout
    sf.Release.open(folder).verify()


def test_the_checker_says_in_one_line_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.json"
    sf.certify(folder, path)
    data = json.loads(path.read_text("utf-8"))
    race = next(c for c in data["columns"] if c["name"] == "race")
    race["table"]["threshold"] = hex(int(race["table"]["threshold"], 16) + 1)
    path.write_text(json.dumps(data), "utf-8")
    checked = run_checker(path, folder / "manifest.json")
    assert (checked.returncode, checked.stdout) == (1, "")
    assert checked.stderr == "wrong: race: gamma exceeds what was asked\n"
    for text in ("", "[]", '{"columns": 5}', "[" * 100_000):
        path.write_text(text, "utf-8")
        checked = run_checker(path, folder / "manifest.json")
        assert checked.returncode == 1
        assert checked.stderr.startswith("wrong: ")
        assert checked.stderr.count("\n") == 1
    assert run_checker(path).returncode == 2


def test_a_law_that_is_not_the_manifests_is_found(folder: Path, tmp_path: Path) -> None:
    made = sf.certify(folder, tmp_path / "law.cert.json")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    age = next(a for a in manifest["attributes"] if a["name"] == "age")
    age["mechanism"]["sigma"] *= 2
    with pytest.raises(Wrong, match="age: the law is not that of the manifest"):
        check(dict(made.data), manifest)
    manifest["attributes"].pop()
    with pytest.raises(Wrong, match="different columns"):
        check(dict(made.data), manifest)


def test_a_certificate_is_not_written_over_another_nor_where_it_is_wrong(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "law.cert.json"
    path.write_text("mine", "utf-8")
    with pytest.raises(OutputError):
        sf.certify(folder, path)
    assert path.read_text("utf-8") == "mine"
    monkeypatch.setattr(certificate, "draw_vectors", lambda *_: [])
    with pytest.raises(Wrong):
        sf.certify(folder, path, force=True)
    assert path.read_text("utf-8") == "mine"


def test_noise_of_several_columns_together_is_named_and_not_certified(tmp_path: Path) -> None:
    made = sf.release(
        "iris", None, tmp_path / "release", method="correlated-gaussian", key=tmp_path / "key", options={"ratio": 0.5}
    )
    columns = sf.certify(made).data["columns"]
    assert [c["table"] for c in columns] == [None] * 5
    assert "not drawn cell by cell" in columns[0]["reason"]
    assert columns[-1]["reason"] == "released as it is"


def test_the_checker_imports_nothing_of_ours() -> None:
    text = CHECKER.read_text("utf-8")
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert len(imports) >= 8
    assert not [line for line in imports if "sfumato" in line or "numpy" in line]
    assert len(text.splitlines()) < 445

"""Files that somebody broke, by chance or on purpose: every reader ends in an answer or in one line, never in a traceback.

Valid files are cut, repeated, spliced, and filled with what parsers stumble over, from a fixed seed. `make fuzz` takes 20,000
of them with a fresh seed, and prints the seed of a failure.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.contracts.test_neighbours import plan_of, table
from tests.support.owner_files import clinic_database, swiss_bank
from tests.support.spreadsheet import write_workbook

import sfumato as sf
from sfumato.certificates import check_certificate
from sfumato.errors import SfumatoError
from sfumato.io import checksum
from sfumato.mining.ensembles import fit_boosting

INPUTS = int(os.environ.get("SFUMATO_FUZZ", "400"))
SEED = int(os.environ.get("SFUMATO_FUZZ_SEED", "1"))
MAX_SECONDS = 5.0
TOKENS = [
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"1e999", b"-0.0", b"NaN", b"null", b"[]", b"{}", b'"', b"'", b",", b";", b"\n", b"\r",
    b"9" * 400, b"[" * 2000, b'{"a":' * 2000, b"true", b"1e-320", b"\\u0000", b"2024-13-45", b"\x1b[2J", b"../../x", b"=1+1", b"\xe2\x80\xae",
    b"0x10", b"1_000", b"--", b"]]", b"a = [", b'"sigma": 0', b'"rows": -1', b"inf", b"-inf", b"1" * 30, b"\t" * 50,
]  # fmt: skip


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Return a file with one to four things done to it."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(content) + 1) for _ in range(2))
        what = chance.randrange(7)
        if what == 0:
            content = content[:at]
        elif what == 1:
            content = content[:at] + content[to:]
        elif what == 2:
            content = content[:at] + chance.choice(TOKENS) + content[at:]
        elif what == 3:
            content = content[:at] + chance.choice(TOKENS) + content[min(to, at + 20) :]
        elif what == 4 and content:
            place = min(at, len(content) - 1)
            content = content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        elif what == 5:
            content = content[:to] + content[at:to] * chance.randint(1, 3) + content[to:]
        else:
            lines = content.split(b"\n")
            chance.shuffle(lines)
            content = b"\n".join(lines)
    return content


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One valid file of each kind."""
    folder = tmp_path_factory.mktemp("valid")
    plan = plan_of(sf.Substitution(gamma=6.0, bins=8))
    release = sf.release(table(), plan, folder / "release", key=folder / "k", format="csv")
    sf.release(table(), plan, folder / "parquet", key=folder / "k")
    sf.mine(release, "byclass").save(folder / "model.json")
    sf.mine(release, "naive-bayes").save(folder / "bayes.json")
    few = fit_boosting(sf.Release.open(folder / "release").read_table(), draws=1, trees=3)
    sf.Model(few.tree, "boosting", 60).save(folder / "boosting.json")
    (folder / "plan.toml").write_text(plan.to_toml(), "utf-8")
    pa.csv.write_csv(table(), folder / "t.csv")
    pa.parquet.write_table(table(), folder / "t.parquet")
    pa.feather.write_feather(table(), folder / "t.arrow", compression="uncompressed")
    rows = table().slice(0, 60).to_pylist()
    (folder / "t.jsonl").write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), "utf-8")
    write_workbook(folder / "t.xlsx", {"t": [list(rows[0]), *(list(row.values()) for row in rows)]})
    swiss_bank(folder)
    clinic_database(folder)
    return folder


def use_release(folder: Path) -> None:
    release = sf.Release.open(folder)
    release.verify()
    sf.describe(release)
    release.read_table()
    sf.reconstruct(release, method="em")


def use_data(folder: Path) -> None:
    """Read data that its hostile author gave the right checksum."""
    about = json.loads((folder / "manifest.json").read_text("utf-8"))
    about["data"]["sha256"] = checksum(folder / about["data"]["file"])
    (folder / "manifest.json").write_text(json.dumps(about), "utf-8")
    release = sf.Release.open(folder)
    release.read_table()
    release.to_arrow()


def propose(table: object) -> sf.Plan:
    """Read a table and look at its columns, without a rehearsal, which takes longer and reads no more."""
    return sf.plan(table, privacy=0.5)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "csv": ("t.csv", sf.plan),
    "csv with a plan": (
        "t.csv",
        lambda p: sf.release(p, plan_of(sf.Substitution(gamma=6.0)), p.parent / "out", force=True),
    ),
    "parquet": ("t.parquet", propose),
    "another dialect": ("konten.csv", sf.open_table),
    "arrow": ("t.arrow", propose),
    "json lines": ("t.jsonl", propose),
    "workbook": ("t.xlsx", propose),
    "database": ("clinic.db", lambda p: propose(f"sqlite:///{p}?query=SELECT * FROM visit")),
    "plan": ("plan.toml", sf.Plan.load),
    "model": ("model.json", lambda p: sf.Model.load(p).predict(table())),
    "naive bayes": ("bayes.json", lambda p: sf.Model.load(p).predict(table())),
    "boosting": ("boosting.json", lambda p: sf.Model.load(p).predict(table())),
    "manifest": ("release/manifest.json", lambda p: use_release(p.parent)),
    "released csv": ("release/data.csv", lambda p: use_data(p.parent)),
    "released parquet": ("parquet/data.parquet", lambda p: use_data(p.parent)),
    "key": ("k", lambda p: sf.release("iris", None, p.parent / "out", privacy=0.5, key=p, force=True)),
    "ledger": (
        "k.ledger",
        lambda p: sf.release("iris", None, p.parent / "out", privacy=0.5, key=p.with_suffix(""), force=True),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_broken_file_is_read_or_refused_in_one_line(files: Path, tmp_path: Path, reader: str) -> None:
    name, use = READERS[reader]
    for part in ("release", "parquet"):
        (tmp_path / part).mkdir()
        for file in (files / part).iterdir():
            (tmp_path / part / file.name).write_bytes(file.read_bytes())
    key = (files / "k").read_text().replace(str(files), str(tmp_path))
    for other, content in (("k", key.encode()), ("k.ledger", (files / "k.ledger").read_bytes())):
        (tmp_path / other).write_bytes(content)
        (tmp_path / other).chmod(0o600)
    valid = (tmp_path if name == "k" else files).joinpath(name).read_bytes()
    for number in range(max(1, INPUTS // len(READERS))):
        chance = random.Random(f"{SEED} {reader} {number}")
        (tmp_path / name).write_bytes(mutate(valid, chance))
        (tmp_path / name).chmod(0o600)
        start = time.process_time()
        told = ""
        try:
            use(tmp_path / name)
        except SfumatoError as error:
            told = str(error)
        except Exception as error:
            kept = Path(os.environ.get("SFUMATO_FUZZ_KEEP", str(tmp_path))) / f"{reader}-{SEED}-{number}"
            kept.write_bytes((tmp_path / name).read_bytes())
            raise AssertionError(f"seed {SEED}, {reader} {number}, kept as {kept}: {error!r}") from error
        assert time.process_time() - start < MAX_SECONDS, (SEED, reader, number)
        assert "\n" not in told.strip(), (SEED, reader, number, told)


def test_reading_broken_files_takes_little_memory() -> None:
    import resource

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20  # kilobytes: one gigabyte


def places(data: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every place of a document; of a long list, to its first and last ones."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    few = [(key, value) for key, value in inner if not isinstance(key, int) or key in (0, 1, len(data) - 1)]  # type: ignore[arg-type]
    return [path] * bool(path) + [place for key, value in few for place in places(value, (*path, key))]


def put(data: Any, path: tuple[Any, ...], value: object) -> Any:
    """Return a document with one place changed."""
    out = json.loads(json.dumps(data))
    *way, last = path
    at = out
    for key in way:
        at = at[key]
    at[last] = value
    return out


WRONG = (None, 0, -1, 1e300, 1e308, -1e308, 5e-324, 2**63, "", "x", [], {}, [[]], True, "\0", 10**40)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "gaussian": ("iris", {"noise": "gaussian"}),
    "laplace": ("iris", {"noise": "laplace"}),
    "square-wave": ("iris", {"noise": "square-wave"}),
    "intervals": ("iris", {"noise": "intervals", "privacy": 0.3}),
    "correlated": ("iris", {"method": "correlated-gaussian"}),
    "leaf-swap": ("iris", {"method": "leaf-swap"}),
    "projective": ("car_evaluation", {"noise": "projective"}),
    "substitution": ("car_evaluation", {"noise": "substitution"}),
}
VERBS: tuple[Callable[[Path], object], ...] = (
    sf.reconstruct,
    lambda r: sf.mine(r, "byclass"),
    lambda r: sf.cluster(r, k=3),
    lambda r: sf.certify(r, r.parent / "law.cert.json", force=True),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_with_any_one_field_changed_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    """Every place of the statement in turn, filled with what does not belong there, and read by every verb in turn."""
    table_name, asked = KINDS[kind]
    release = sf.release(table_name, None, tmp_path / "r", target="class", **asked)
    file = release.folder / "manifest.json"
    about = json.loads(file.read_text("utf-8"))
    cases = [(path, wrong) for path in places(about) for wrong in WRONG]
    chance = random.Random(f"{SEED} {kind}")
    for path, wrong in chance.sample(cases, min(INPUTS // 4, len(cases))):
        file.write_text(json.dumps(put(about, path, wrong)), "utf-8")
        start = time.process_time()
        for use in (sf.describe, chance.choice(VERBS)):
            told = ""
            try:
                use(release.folder)
            except SfumatoError as error:
                told = str(error)
            except Exception as error:
                raise AssertionError(f"seed {SEED}: {path} = {wrong!r}: {error!r}") from error
            assert "\n" not in told.strip(), (path, wrong, told)
        assert time.process_time() - start < MAX_SECONDS, (SEED, path, wrong)


@pytest.mark.parametrize("kind", ["laplace", "square-wave", "projective", "substitution"])
def test_a_certificate_with_any_one_field_changed_is_right_or_wrong_at_once(tmp_path: Path, kind: str) -> None:
    table_name, asked = KINDS[kind]
    release = sf.release(table_name, None, tmp_path / "r", **asked)
    about = json.loads(sf.certify(release).path.read_text("utf-8"))
    manifest = json.loads((release.folder / "manifest.json").read_text("utf-8"))
    cases = [(path, wrong) for path in places(about | {"columns": about["columns"][:1]}) for wrong in WRONG]
    for path, wrong in random.Random(f"{SEED} {kind}").sample(cases, min(INPUTS // 4, len(cases))):
        (tmp_path / "cert.json").write_text(json.dumps(put(about, path, wrong)), "utf-8")
        (tmp_path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        start = time.process_time()
        assert check_certificate.main([str(tmp_path / "cert.json"), str(tmp_path / "manifest.json")]) in (0, 1)
        assert time.process_time() - start < MAX_SECONDS, (SEED, path, wrong)

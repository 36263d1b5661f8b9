"""Outputs of the command line, frozen as digests: released data, manifests, plans, models and the figures of every verb.

The cases are commands, so nothing here depends on where a module lives. Released data is exact to the last bit. In JSON only
what is not prose counts: numbers, truth values, keys, and texts without a space. Processors add up products in different
orders, so a computed number is only the same to a few units in the last place, and after many steps to fewer digits. Numbers
are therefore kept apart from the digest, as two sums that must agree to a millionth (see `Frozen`). When an output is meant to
change, write the digests anew and look at which of them moved:

    python tests/frozen/test_frozen_outputs.py --write
    FROZEN_WRITE=1 python -m pytest tests/spark/test_spark_frozen.py
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import math
import os
import random
import shlex
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sfumato.cli import main

FILE = Path(__file__).with_name("digests.json")
KEY = "sfumato owner key v1 - whoever holds it can remove the noise: keep it private, and keep it\n" + "5f" * 32 + "\n"
VOLATILE = {"seconds", "sha256", "bytes"}
"""Times differ from run to run, and checksums of Parquet files with the version of the library that wrote them."""
PRECISION = 1e-7
"""How far a sum over figures may move, as a share of the sum of their sizes."""

TABLES = {
    "people": "generate agrawal --rows 2000 --function 2 --balanced --seed 1 -o {out}.csv --plan {out}.toml --json",
    "crowd": "generate agrawal --rows 6000 --function 3 --seed 5 -o {out}.parquet --plan {out}.toml --json",
    "plateau": "generate plateau --rows 1500 --seed 2 -o {out}.csv --json",
    "triangles": "generate triangles --rows 1500 --seed 3 -o {out}.csv --json",
}
PLANS = {
    "plan-iris": "plan iris -o {out}.toml --json",
    "plan-credit": "plan credit_approval --noise laplace --privacy 0.7 -o {out}.toml --json",
    "plan-patients": "plan {patients} --target outcome --id patient --noise square-wave --set epsilon=2 -o {out}.toml --json",
    "plan-glass-intervals": "plan glass --noise intervals --set count=8 -o {out}.toml --json",
}
LAWS = {
    "gaussian": "release @people/out.csv --plan @people/out.toml",
    "gaussian-csv": "release german_credit --noise gaussian --privacy 0.5 --format csv",
    "gaussian-entity": "release {patients} --target outcome --id patient --noise gaussian --privacy 0.4",
    "uniform": "release iris --noise uniform --privacy 0.5",
    "uniform-entity": "release {patients} --target outcome --id patient --noise uniform --privacy 1 --format csv",
    "laplace": "release glass --noise laplace --privacy 0.5",
    "laplace-named": "release iris --noise laplace --set b=0.4 --name spring",
    "intervals": "release credit_approval --noise intervals --set count=6",
    "substitution": "release car_evaluation --noise substitution --set gamma=8",
    "substitution-entity": "release {patients} --target outcome --id patient --noise substitution --set rho1=0.05 --set rho2=0.5",
    "square-wave": "release @people/out.csv --target class --noise square-wave --set epsilon=2",
    "square-wave-entity": "release {patients} --plan @plan-patients/out.toml --format csv",
    "projective": "release {patients} --target outcome --noise projective --set gamma=12",
    "projective-csv": "release car_evaluation --noise projective --set epsilon=2 --format csv",
    "correlated": "release iris --method correlated-gaussian --set ratio=1",
    "correlated-privacy": "release @people/out.csv --target class --method correlated-gaussian --set privacy=0.4",
    "correlated-declared": "release @crowd/out.parquet --plan @declared/out.toml",
    "correlated-entity": "release {patients} --target outcome --id patient --method correlated-gaussian --set ratio=0.5",
}
METHODS = {
    "class-random": "release credit_approval --method class-random",
    "class-probabilistic": "release credit_approval --method class-probabilistic",
    "class-all-leaves": "release credit_approval --method class-all-leaves",
    "class-noise-best": "release iris --method class-noise --set kind=random --set best_of=3",
    "innocent": "release breast_cancer_wisconsin --method innocent",
    "innocent-influential": "release iris --method innocent --set which=influential",
    "detective": "release car_evaluation --method detective",
    "detective-chained": "release credit_approval --method detective --set chained=true",
    "framework": "release credit_approval --method framework",
    "leaf-swap": "release iris --method leaf-swap",
    "leaf-swap-mixed": "release credit_approval --method leaf-swap --set small=suppress --format csv",
    "leaf-swap-keep": "release glass --method leaf-swap --set small=keep --set redraws=2",
    "rdd": "release iris --method rdd --set k=3",
    "racc": "release iris --method racc --set k=3",
    "geometric": "release iris --method geometric",
    "swap-v": "release iris --method swap-v --set k=3",
    "racc-v": "release iris --method racc-v --set k=3",
}
MODELS = {
    f"mine-{strategy}": f"mine @gaussian/out --strategy {strategy} -o {{out}}.json --json"
    for strategy in ("auto", "byclass", "local", "global", "randomized", "joint", "mixture", "naive-bayes")
} | {
    "mine-substitution": "mine @substitution/out --strategy byclass -o {out}.json --export {out}.sql --json",
    "mine-missing": "mine @gaussian-entity/out --strategy local -o {out}.json --export {out}.js --json",
    "mine-intervals": "mine @intervals/out --strategy byclass -o {out}.json --json",
    "mine-projective": "mine @projective-csv/out --strategy naive-bayes -o {out}.json --json",
    "mine-square-wave": "mine @square-wave/out --strategy byclass -o {out}.json --json",
    "mine-correlated": "mine @correlated/out -o {out}.json --json",
    "mine-guided": "mine @leaf-swap/out -o {out}.json --json",
}
FIGURES = {
    "describe-gaussian": "describe @gaussian/out --json",
    "describe-entity": "describe @substitution-entity/out --json",
    "describe-projective": "describe @projective/out --json",
    "describe-correlated": "describe @correlated/out --json",
    "describe-guided": "describe @leaf-swap/out --json",
    "reconstruct": "reconstruct @gaussian/out --json",
    "reconstruct-by-class": "reconstruct @gaussian/out --by-class --bins 12 --json",
    "reconstruct-midpoint": "reconstruct @gaussian/out --attribute age --kernel midpoint --method bayes --json",
    "reconstruct-labels": "reconstruct @substitution/out --by-class --json",
    "reconstruct-projective": "reconstruct @projective/out --by-class --json",
    "reconstruct-square-wave": "reconstruct @square-wave/out --json",
    "reconstruct-entity": "reconstruct @uniform-entity/out --by-class --json",
    "reconstruct-intervals": "reconstruct @intervals/out --json",
    "reconstruct-correlated": "reconstruct @correlated/out --by-class --json",
    "reconstruct-guided": "reconstruct @leaf-swap/out --json",
    "predict": "predict @mine-byclass/out.json @people/out.csv -o {out}.csv --json",
    "predict-missing": "predict @mine-missing/out.json {patients} -o {out}.csv --json",
    "predict-naive-bayes": "predict @mine-naive-bayes/out.json @people/out.csv -o {out}.csv --json",
    "evaluate": "evaluate @mine-byclass/out.json @people/out.csv --json",
    "evaluate-missing": "evaluate @mine-missing/out.json {patients} --json",
    "evaluate-guided": "evaluate @mine-guided/out.json iris --json",
    "cluster": "cluster @rdd/out --json",
    "cluster-noisy": "cluster @correlated/out -k 3 --json",
    "compare-tree": "compare credit_approval @framework/out --json",
    "compare-clusters": "compare iris @swap-v/out --every --json",
    "compare-suppressed": "compare credit_approval @leaf-swap-mixed/out --json",
    "tradeoff": "tradeoff iris --levels 0.3,0.8 --repeats 2 --json",
    "tradeoff-substitution": "tradeoff iris --noise substitution --gammas 5,9 --sizes 5,10 --repeats 1 --json",
    "tradeoff-correlated": "tradeoff iris --method correlated-gaussian --ratios 0.2,1 --repeats 1 --json",
    "reproduce": "reproduce detective2005 -o {out} --workers 1 --json",
} | {
    f"reconstruct-{method}": f"reconstruct @gaussian/out --attribute salary --attribute elevel --method {method} --json"
    for method in ("em", "ems", "bayes")
} | {
    f"reconstruct-{method}": f"reconstruct @substitution/out --method {method} --json"
    for method in ("inverse", "projection", "exact")
}  # fmt: skip
AUDITS = {
    "audit-gaussian": "audit german_credit @gaussian-csv/out --targets 100 --json",
    "audit-entity": "audit {patients} @gaussian-entity/out --also @uniform-entity/out --targets 100 --json",
    "audit-ledger": "audit iris @again/out --key @uniform/key --targets 50 --seed 3 --json",
    "audit-correlated": "audit iris @correlated/out --targets 100 --json",
    "audit-leaf-swap": "audit iris @leaf-swap/out --targets 100 --json",
    "audit-framework": "audit credit_approval @framework/out --targets 100 --json",
    "audit-racc": "audit iris @racc/out --targets 100 --json",
}
AGAIN = {"again": "release iris --noise laplace --privacy 0.5 --again --key @uniform/key -o {out} --json"}
RELEASE = " -o {out} --key {key} --json"
STEPS: dict[str, str] = (
    TABLES | PLANS | {name: command + RELEASE for name, command in (LAWS | METHODS).items()} | AGAIN | MODELS | FIGURES | AUDITS
)  # fmt: skip
SPARK = " --engine spark --master {master} --json"
SPARK_STEPS: dict[str, str] = {
    name: command + " -o {out} --key {key}" + SPARK
    for name, command in {
        "spark-gaussian": "release @crowd/out.parquet --plan @crowd/out.toml",
        "spark-entity": "release {patients} --target outcome --id patient --noise uniform --privacy 1 --format csv",
        "spark-correlated": "release @crowd/out.parquet --plan @declared/out.toml",
        "spark-class-random": "release @crowd/out.parquet --target class --method class-random",
        "spark-class-all-leaves": "release @crowd/out.parquet --target class --method class-all-leaves",
        "spark-class-probabilistic": "release @crowd/out.parquet --target class --method class-probabilistic",
        "spark-detective": "release @cars/out.parquet --target class --method detective",
        "spark-leaf-swap": "release @crowd/out.parquet --target class --method leaf-swap --set small=suppress",
    }.items()
} | {
    "spark-reconstruct": "reconstruct @spark-gaussian/out --by-class" + SPARK,
    "spark-mine-byclass": "mine @spark-gaussian/out --strategy byclass -o {out}.json" + SPARK,
    "spark-mine-local": "mine @spark-gaussian/out --strategy local -o {out}.json" + SPARK,
    "spark-audit": "audit @crowd/out.parquet @spark-gaussian/out --targets 50 --sample 800" + SPARK,
    "spark-compare": "compare @crowd/out.parquet @spark-class-random/out" + SPARK,
}


def patients(shop: Workshop, out: Path) -> None:
    """A table with what real ones have: ids, days, missing cells, several spellings of them, and many codes."""
    chance = random.Random(7)
    with out.with_suffix(".csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "born", "weight", "visits", "region", "code", "smoker", "outcome"])
        for number in range(700):
            born = f"19{chance.randrange(40, 99)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
            heavy = chance.gauss(75, 12)
            outcome = "ill" if heavy + 8 * chance.random() > 82 else "well"
            weight = "NA" if chance.random() < 0.06 else f"{heavy:.1f}"
            region = chance.choice(["north", "south", "east", "west", "?"])
            code = f"D{min(chance.randrange(60), chance.randrange(60)):03}"
            smoker = chance.choice(["yes", "no", "no", ""])
            table.writerow(
                [f"p{number * 37 % 700:04}", born, weight, chance.randrange(30), region, code, smoker, outcome]
            )


def cars(shop: Workshop, out: Path) -> None:
    """Labels only, and a class that follows from them."""
    chance = random.Random(11)
    rows = []
    for _ in range(2500):
        price, doors, boot = chance.choice("abcd"), chance.choice("2345"), chance.choice(["small", "big"])
        good = price in "ab" and boot == "big" if chance.random() < 0.9 else chance.random() < 0.5
        rows.append({"price": price, "doors": f"d{doors}", "boot": boot, "class": "good" if good else "bad"})
    pq.write_table(pa.Table.from_pylist(rows), out.with_suffix(".parquet"))


def declared(shop: Workshop, out: Path) -> None:
    """The plan of the crowd with the noise of two columns drawn together, by a covariance that is declared."""
    head, *columns = (shop.made("crowd") / "out.toml").read_text().split("[[column]]")
    law = 'law = "correlated-gaussian", names = ["salary", "age"], covariance = [[4e8, 6e4], [6e4, 100.0]]'
    head = head.replace("\n[release]", f"\n[release]\nmethod = {{{law}}}")
    together = ('name = "salary"', 'name = "age"')
    alone = [code(c, "noise").decode() if any(t in c for t in together) else c for c in columns]
    out.with_suffix(".toml").write_text("\n[[column]]".join([head, *alone]))


BY_HAND: dict[str, Callable[[Workshop, Path], None]] = {"patients": patients, "cars": cars, "declared": declared}


class Workshop:
    """A folder in which every command is run once, by whichever process needs its output first."""

    def __init__(self, root: Path, master: str = "") -> None:
        self.root, self.master = root.resolve(), master
        self.digests: dict[str, dict[str, Frozen]] = {}
        self.root.mkdir(parents=True, exist_ok=True)

    def made(self, name: str) -> Path:
        """The folder of a step, with its output."""
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        with (self.root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                self._make(name, folder)
                (folder / "done").touch()
        return folder

    def _make(self, name: str, folder: Path) -> None:
        if name in BY_HAND:
            BY_HAND[name](self, folder / "out")
            return
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_text(KEY)
        command = (STEPS | SPARK_STEPS)[name]
        if command.startswith("release ") and " --name " not in command:
            command += f" --name {name}"  # else the salt would be random
        (folder / "stdout").write_text(run([self._word(word, folder) for word in shlex.split(command)]))

    def _word(self, word: str, folder: Path) -> str:
        if word.startswith("@"):
            step, _, file = word[1:].partition("/")
            return str(self.made(step) / file)
        if word == "{patients}":
            return str(self.made("patients") / "out.csv")
        return word.format(out=folder / "out", key=folder / "key", master=self.master)

    def found(self, name: str) -> dict[str, Frozen]:
        """All digests of a step, by their names."""
        if name not in self.digests:
            folder = self.made(name)
            verb = (STEPS | SPARK_STEPS)[name].split()[0]
            about = json.loads((folder / "stdout").read_text().replace(str(self.root), "ROOT"))
            about.pop("findings", None)  # the notes again, with their codes; tests/docs/test_findings.py holds them
            told = {} if verb == "audit" else {"json": without_prose(about)}
            told |= {
                kind: value for kind, value in OUTPUTS.get(verb, nothing)(folder, about).items() if value is not None
            }
            self.digests[name] = {f"{verb}:{name}:{kind}": Frozen.of(value) for kind, value in told.items()}
        return self.digests[name]


def run(arguments: list[str]) -> str:
    """What a command prints on stdout; it must succeed."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main(arguments)
    except SystemExit as end:
        if end.code:
            raise AssertionError(f"sfumato {shlex.join(arguments)}\n{err.getvalue()}") from None
    return out.getvalue()


def without_prose(data: Any) -> Any:
    """The data without sentences and times."""
    if isinstance(data, Mapping):
        return {key: without_prose(value) for key, value in data.items() if key not in VOLATILE}
    if isinstance(data, list):
        return [without_prose(value) for value in data if not (isinstance(value, str) and " " in value)]
    return "…" if isinstance(data, str) and " " in data else data


class Frozen(NamedTuple):
    """An output: the digest of everything in it but its figures, and two sums that tell whether one of those moved."""

    digest: str
    size: float = 0.0
    """The sum of asinh(10⁶ |x|) over all figures x: near a logarithm, so that a small figure weighs as much as a large one."""
    mixed: float = 0.0
    """The sum of asinh(10⁶ x), each times a weight of its own between −1 and 1."""

    @classmethod
    def of(cls, value: Any) -> Frozen:
        """Freeze bytes as they are, and anything else as JSON whose figures are set apart."""
        if isinstance(value, bytes):
            return cls(hashlib.sha256(value).hexdigest())
        figures: list[float] = []
        text = json.dumps(set_apart(value, figures), sort_keys=True, ensure_ascii=False)
        finite = [math.asinh(1e6 * x) for x in figures if math.isfinite(x)]
        mixed = math.fsum(x * math.cos(i) for i, x in enumerate(finite, 1))
        return cls(hashlib.sha256(text.encode()).hexdigest(), math.fsum(map(abs, finite)), mixed)

    def agrees(self, other: Frozen) -> bool:
        """Whether both are the same output, on this or another processor."""
        room = PRECISION * max(self.size, other.size)
        near = abs(self.size - other.size) <= room and abs(self.mixed - other.mixed) <= room
        return self.digest == other.digest and near


def set_apart(data: Any, figures: list[float]) -> Any:
    """The data with a mark in the place of every float, which goes to `figures`."""
    if isinstance(data, Mapping):
        return {key: set_apart(data[key], figures) for key in sorted(data)}
    if isinstance(data, list):
        return [set_apart(value, figures) for value in data]
    if isinstance(data, float):
        figures.append(data)
        return "#" if math.isfinite(data) else repr(data)
    return data


def nothing(folder: Path, about: Any) -> dict[str, Any]:
    """A verb that writes no file."""
    return {}


def table_bytes(path: Path) -> bytes:
    """A CSV file as it is; of a Parquet file names, types and values, exactly; of a folder both, file by file."""
    if path.is_dir():
        files = sorted(path.iterdir())
        if path.suffix == ".parquet":
            return arrow_bytes(pa.concat_tables([pq.read_table(file) for file in files]))
        return b"".join(file.read_bytes() for file in files)
    return arrow_bytes(pq.read_table(path)) if path.suffix == ".parquet" else path.read_bytes()


def arrow_bytes(table: pa.Table) -> bytes:
    """Names, types and values; the shortest numeral that gives a number back stands for the number."""
    columns = [[f.name, str(f.type), repr(table[f.name].to_pylist())] for f in table.schema]
    return json.dumps(columns).encode()


def files_of_release(folder: Path, about: Any) -> dict[str, Any]:
    made = folder / "out"
    manifest = json.loads((made / "manifest.json").read_text())
    checksum = {"checksum": manifest["data"]["sha256"]} if manifest["data"]["format"] == "csv" else {}
    return {
        "data": table_bytes(made / manifest["data"]["file"]),
        "manifest": without_prose(manifest) | checksum,
    }


def files_of_plan(folder: Path, about: Any) -> dict[str, Any]:
    """The plan's content in its order, and its lines without comments."""
    file = folder / "out.toml"
    if not file.exists():
        return {}
    text = file.read_text()
    assert tomllib.loads(text)["column"]
    return {"plan": code(text, "#")}


def files_of_table(folder: Path, about: Any) -> dict[str, Any]:
    (file,) = (p for p in folder.glob("out.*") if p.suffix in (".csv", ".parquet"))
    return {"table": table_bytes(file)} | files_of_plan(folder, about)


def files_of_predictions(folder: Path, about: Any) -> dict[str, Any]:
    """The predictions by column, probabilities as figures."""
    (file,) = (p for p in folder.glob("out.*") if p.suffix in (".csv", ".parquet"))
    table = pq.read_table(file) if file.suffix == ".parquet" else pacsv.read_csv(file)
    return {"table": table.to_pydict()}


def files_of_model(folder: Path, about: Any) -> dict[str, Any]:
    exported = {
        p.suffix[1:]: code(p.read_text(), "--", "//") for p in folder.glob("out.*") if p.suffix in (".sql", ".js")
    }
    return {"model": without_prose(json.loads((folder / "out.json").read_text()))} | exported


def code(text: str, *left_out: str) -> bytes:
    """A text without the lines that begin so."""
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith(left_out)).encode()


def parts_of_audit(folder: Path, about: Any) -> dict[str, Any]:
    """Every attack by itself, and the rest of the report section by section."""
    attacks = defaultdict(list)
    for finding in about.pop("attacks"):
        attacks[f"attack:{finding['name']}"].append(without_prose(finding))
    about["not_run"] = sorted(about["not_run"])
    sections = {f"section:{name}": without_prose(about[name]) for name in SECTIONS}
    other = {
        "verdict",
        "decision",
        "findings",
        "filing",
        "release",
        "edition",
        "rows",
        "seed",
        "seconds",
    }  # words, and what stands elsewhere
    assert set(about) - other == set(SECTIONS)
    return attacks | sections


SECTIONS = (
    "people_found",
    "headline",
    "risk",
    "alarms",
    "promised",
    "domains",
    "promises",
    "not_run",
    "records",
    "utility",
    "privacy",
    "repeats",
    "granted",
)
OUTPUTS: dict[str, Callable[[Path, Any], dict[str, Any]]] = {
    "release": files_of_release,
    "plan": files_of_plan,
    "generate": files_of_table,
    "predict": files_of_predictions,
    "mine": files_of_model,
    "audit": parts_of_audit,
}


def frozen(spark: bool = False) -> dict[str, Frozen]:
    """The outputs on file, of one machine or of the cluster."""
    on_file: dict[str, list[Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return {name: Frozen(*value) for name, value in on_file.items() if (step_of(name) in SPARK_STEPS) == spark}


def step_of(name: str) -> str:
    """The step whose output a digest is of."""
    return name.split(":")[1]


def write(outputs: Mapping[str, Frozen], spark: bool = False) -> None:
    """Put the outputs of one machine or of the cluster on file, one per line, and keep the others."""
    every = sorted((frozen(not spark) | dict(outputs)).items())
    lines = (f"{json.dumps(name)}: {json.dumps([v.digest, *(float(f'{x:.9g}') for x in v[1:])])}" for name, v in every)
    FILE.write_text("{\n " + ",\n ".join(lines) + "\n}\n")


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    base = tmp_path_factory.getbasetemp()
    return Workshop(
        (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "frozen"
    )  # workers share what they make


@pytest.mark.parametrize("name", frozen())
def test_an_output_is_what_it_was(name: str, workshop: Workshop) -> None:
    now, then = workshop.found(step_of(name))[name], frozen()[name]
    assert now.agrees(then), f"{now} was {then}"


def test_every_command_has_frozen_outputs() -> None:
    assert {step_of(name) for name in frozen()} == set(STEPS)
    assert {step_of(name) for name in frozen(spark=True)} == set(SPARK_STEPS)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("to write the digests anew: python tests/frozen/test_frozen_outputs.py --write")
    with tempfile.TemporaryDirectory() as scratch:
        shop = Workshop(Path(scratch))
        write({name: value for step in STEPS for name, value in shop.found(step).items()})

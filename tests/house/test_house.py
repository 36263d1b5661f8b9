"""Rules of the house that no single room can keep alone."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.source import MODULES, ROOT, SOURCE, TREES, place

HEAVY = {
    "pandas", "pyspark", "sklearn", "matplotlib", "scipy.stats", "flask", "fastapi", "starlette", "uvicorn", "tornado",
    "aiohttp", "django", "jinja2", "plotly", "bokeh", "hypothesis", "pytest", "IPython", "sqlglot", "formulaic",
}  # fmt: skip
EXPERIMENTS = (
    "generators", "papers", "reconstruction", "trees", "clusters", "attacks", "auditing", "advice", "tradeoffs",
    "modelling",
)  # fmt: skip
"""Rooms whose chance is public and repeatable on purpose: it makes tables, starts searches and resamples, and hides nobody."""


def loaded_after(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import sfumato",
        "from sfumato.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass",
        "from sfumato.cli import main\ntry:\n    main(['release', '--help'])\nexcept SystemExit:\n    pass",
    ],
    ids=["import sfumato", "sfumato --help", "sfumato release --help"],
)
def test_what_is_optional_is_not_imported(code: str) -> None:
    assert not loaded_after(code) & HEAVY


EXTRAS = {"pyspark", "py4j", "duckdb", "adbc_driver_postgresql", "adbc_driver_manager", "onnx"}
"""Libraries of an extra, whose users are told what to install."""


def test_one_set_up_command_brings_what_every_verb_imports() -> None:
    locked = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines()
        if "==" in line
    }
    imported = {
        name.partition(".")[0]
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    outside = imported - set(sys.stdlib_module_names) - {"sfumato"} - EXTRAS
    homes = importlib.metadata.packages_distributions()
    assert {"sklearn", "numpy", "pyarrow"} <= outside
    assert not [name for name in sorted(outside) if not {h.lower().replace("_", "-") for h in homes[name]} & locked]


def test_help_is_quick() -> None:
    """0.5 s on a warm disk; three times that before the test complains, since machines that test are busy."""
    program = str(Path(sys.executable).with_name("sfumato"))

    def seconds() -> float:
        begin = time.perf_counter()
        subprocess.run([program, "--help"], check=True, capture_output=True)
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(4)) < 1.5


def test_every_module_says_what_it_is_for() -> None:
    assert not [module for module, tree in TREES.items() if not ast.get_docstring(tree)]


def imported(tree: ast.AST) -> set[str]:
    """Every dotted name that a module imports or reaches through `np`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy"):
            names.add(f"numpy.{node.attr}")
    return names


def drawing_on_weak_chance(tree: ast.AST) -> set[str]:
    found = imported(tree)
    return {
        n
        for n in found
        if n in ("random", "secrets") or n == "numpy.random" or n.startswith(("numpy.random.", "random."))
    }


def test_privacy_noise_has_one_birthplace() -> None:
    """No NumPy generator and no `random` where noise hides people: only `sfumato.randomness`, keyed and secure."""
    offenders = {}
    for module, tree in TREES.items():
        room = MODULES[module].relative_to(SOURCE).parts[0]
        if room not in EXPERIMENTS and (weak := drawing_on_weak_chance(tree)):
            offenders[module] = weak
    assert not offenders


def test_chance_that_hides_nobody_is_repeatable() -> None:
    """A generator has a seed, and the global one is never used."""
    harmless = ("Generator", "default_rng", "SeedSequence", "PCG64", "BitGenerator")
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args or node.keywords, f"{place(module, node.lineno)}: a generator without a seed"
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
                assert node.attr in harmless, place(module, node.lineno)


def test_the_rooms_that_hide_people_are_searched() -> None:
    for room in ("channels", "plans", "releases", "releasing", "guided", "randomness.py", "io", "engines", "cli"):
        assert (SOURCE / room).exists()
        assert room not in EXPERIMENTS


def test_the_search_for_weak_chance_finds_it() -> None:
    for source in (
        "import random",
        "from random import gauss",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
        "import numpy.random",
        "from numpy import random",
        "def f():\n    import secrets",
    ):
        assert drawing_on_weak_chance(ast.parse(source)), source
    sound = "from sfumato.randomness import uniform\nimport numpy as np\nnp.linspace(0, 1)"
    assert not drawing_on_weak_chance(ast.parse(sound))


def test_only_randomness_asks_the_system_for_entropy_and_touches_the_cipher() -> None:
    for module, path in MODULES.items():
        if path.name != "randomness.py":
            assert "os.urandom" not in path.read_text("utf-8"), path
            used = {n for n in imported(TREES[module]) if n.startswith("cryptography")}
            assert not any("ciphers" in n for n in used), path
            assert not used or path.name == "signature.py", path  # signs what is public, and has no part in noise


def tracked() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [p for name in listed.stdout.decode().split("\0") if name and (p := ROOT / name).is_file()]


REGISTRIES = re.compile(
    r"index-url|find-links|trusted-host|files\.pythonhosted\.org|//(?:test\.)?pypi\.|artifactory|nexus/repository",
    re.IGNORECASE,
)
HOMES = re.compile(r"(?<![\w.])/(?:home|Users|root|work|mnt|var/folders)/[\w.-]+")
ADDRESSES = re.compile(r"(?<![\d.])(?:10|127|172|192|169)\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])|localhost:\d")


@pytest.mark.parametrize("pattern", [REGISTRIES, HOMES, ADDRESSES], ids=["registry", "home", "address"])
def test_no_file_names_a_registry_a_home_or_a_machine(pattern: re.Pattern[str]) -> None:
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix in (".gz", ".png", ".parquet", ".svg", ".ico", ".woff2"):
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()}")
    assert not found

"""The runner of benchmarks: what it collects, what it survives. Speed itself is never tested."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

GOOD = """
from measure import Ratio, ratios
print("| own table | seconds |\\n|---|---|\\n| a | 1 |")
ratios([Ratio("work", "2 s", "1 s", 2.0, "≤ 1.5"), Ratio("other work", "1 s", "3 s", 3.0)])
"""
BAD = "print('| half a table |')\nraise ValueError('no such peer')"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_a_benchmark_that_fails_is_reported_and_the_others_still_run(bench, tmp_path, capfd) -> None:
    run: ModuleType = bench("run")
    (tmp_path / "measure.py").write_text((BENCHMARKS / "measure.py").read_text("utf-8"), "utf-8")
    (tmp_path / "bad.py").write_text(BAD, "utf-8")
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    output = tmp_path / "results.md"
    output.write_text("what was there before", "utf-8")
    jobs = [run.Job("bad", "The bad one"), run.Job("absent", "Not written yet"), run.Job("good", "The good one")]
    assert run.run(jobs, output, folder=tmp_path) == 1
    text = output.read_text("utf-8")
    assert "| work | 2 s | 1 s | 2.00 | ≤ 1.5 | **no** |" in text
    assert "| other work | 1 s | 3 s | 3.00 |  |  |" in text
    assert "ValueError: no such peer" in text
    assert "| The bad one (`bad.py`) | failed |" in text
    assert "Not written yet" not in text
    assert "| a | 1 |" in text
    assert text.count("| work |") == 1
    assert [p.name for p in tmp_path.glob(".results*")] == []
    shown = capfd.readouterr()
    assert shown.out.rindex("## Ratios") < shown.out.rindex("| other work |")
    assert run.run(jobs[2:], output, folder=tmp_path) == 0


def test_a_goal_is_met_on_its_own_side(bench) -> None:
    Ratio = bench("measure").Ratio
    assert [
        Ratio("w", "", "", r, g).met for r, g in ((0.9, "≥ 0.9"), (0.89, "≥ 0.9"), (1.5, "≤ 1.5"), (1.51, "≤ 1.5"))
    ] == [
        "yes",
        "**no**",
        "yes",
        "**no**",
    ]
    assert Ratio("w", "", "not installed", None, "≥ 1").met == ""
    assert bench("measure").speed("w", 2.0, 1.0).ratio == 0.5


def test_the_exponent_of_a_power_law_is_its_power(bench) -> None:
    sizes = [10**4, 10**5, 10**6, 10**7]
    assert bench("growth").exponent(sizes, [3e-6 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_a_peer_s_environment_is_built_once_for_the_same_requirements(bench, tmp_path, monkeypatch) -> None:
    peers = bench("peers")
    commands = []

    def build(*command: object) -> None:
        commands.append([str(c) for c in command])
        folder = tmp_path / "it"
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch()

    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "_run", build)
    assert peers.python_of("it", "a==1") == tmp_path / "it" / "bin" / "python"
    built = len(commands)
    assert built == 2
    assert commands[1][-1] == "a==1"
    peers.python_of("it", "a==1")
    assert len(commands) == built
    peers.python_of("it", "a==2")
    assert commands[-1][-1] == "a==2"

    def fail(*command: object) -> None:
        raise subprocess.CalledProcessError(1, "uv")

    monkeypatch.setattr(peers, "_run", fail)
    with pytest.raises(subprocess.CalledProcessError):
        peers.python_of("it", "a==3")
    monkeypatch.setattr(peers, "_run", build)
    before = len(commands)
    peers.python_of("it", "a==3")
    assert len(commands) > before  # a broken installation is not taken for a whole one


def test_every_peer_is_pinned_exactly(bench) -> None:
    for pins in bench("pins").PINS.values():
        assert all("==" in pin for pin in pins)


@pytest.mark.slow
def test_a_smoke_test_of_the_benchmarks_ends_with_ratios(tmp_path) -> None:
    output = tmp_path / "results.md"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--only", "noise", "clusters", "-o", str(output)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "gaussian on 2,000 × 9: speed against NumPy" in output.read_text("utf-8")


def test_a_line_of_code_is_neither_comment_nor_docstring_nor_blank(bench) -> None:
    text = '"""Module.\n\nMore."""\n\nX = 5  # five\n"""What X is."""\n\n\ndef f():\n    # a comment\n    return """a\nb"""\n'
    assert bench("size").count_lines(text) == 4

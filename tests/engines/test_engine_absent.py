"""Without pyspark or Java the message says what to install, and nothing else breaks."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.cli.app import cli
from sfumato.engines import spark
from sfumato.errors import UsageError


def test_the_message_without_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'sfumato\[spark\]'"):
        spark.check_installed()


def test_the_message_without_java_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for home in (None, str(tmp_path)):
        monkeypatch.delenv("JAVA_HOME", raising=False)
        if home:
            monkeypatch.setenv("JAVA_HOME", home)
        with pytest.raises(UsageError, match=r"needs Java 17 or newer.*default-jre-headless"):
            spark.check_installed()


def test_the_command_line_says_so_and_exits_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["release", "iris", "-o", str(tmp_path / "r"), "--engine", "spark"])
    assert done.exit_code == 2
    assert "pip install" in done.output
    done = CliRunner().invoke(cli, ["mine", str(tmp_path), "--master", "spark://host:7077"])
    assert done.exit_code == 2
    assert "give --engine spark beside it" in done.output


def test_only_one_module_imports_pyspark() -> None:
    source = Path(spark.__file__).parent.parent
    found = [p.relative_to(source).as_posix() for p in source.rglob("*.py") if "pyspark" in p.read_text("utf-8")]
    assert [p for p in found if p != "engines/spark.py"] == []

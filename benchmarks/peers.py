"""Peers live in environments of their own, so that their pins do not bind ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / ".peers"


def python_of(name: str, *requirements: str) -> Path:
    """The Python of the environment `name` with these requirements; built when it is not there, or asks for others."""
    folder = FOLDER / name
    python, wanted = folder / "bin" / "python", folder / "requirements.txt"
    text = "\n".join(requirements) + "\n"
    if python.exists() and wanted.exists() and wanted.read_text("utf-8") == text:
        return python
    uv = Path(sys.executable).parent / "uv"
    if uv.exists():
        _run(uv, "venv", "-q", "--clear", "--python", sys.executable, folder)
        _run(uv, "pip", "install", "-q", "--python", python, *requirements)
    else:
        _run(sys.executable, "-m", "venv", "--clear", folder)
        _run(python, "-m", "pip", "install", "-q", *requirements)
    wanted.write_text(text, "utf-8")  # last, so that a broken installation is not taken for a whole one
    return python


def _run(*command: object) -> None:
    subprocess.run([str(c) for c in command], check=True)

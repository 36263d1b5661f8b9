"""Peers to measure against, each in an environment of its own that the first run creates under `.peers`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
UV = HERE.parent / ".venv" / "bin" / "uv"


def python_of(name: str, *requirements: str) -> Path:
    """The Python of the environment `.peers/<name>` that holds these requirements; made again when they have changed."""
    folder = HERE / ".peers" / name
    python, stamp = folder / "bin" / "python", folder / "requirements.json"
    wanted = json.dumps(requirements)
    if python.exists() and stamp.exists() and stamp.read_text("utf-8") == wanted:
        return python
    print(f"installing {', '.join(requirements)} into {folder}", file=sys.stderr)
    folder.parent.mkdir(exist_ok=True)
    if UV.exists():
        _run(UV, "venv", "-q", "--clear", "--python", sys.executable, folder)
        _run(UV, "pip", "install", "-q", "--python", python, *requirements)
    else:
        _run(sys.executable, "-m", "venv", "--clear", folder)
        _run(python, "-m", "pip", "install", "-q", *requirements)
    stamp.write_text(wanted, "utf-8")
    return python


def _run(*command: str | Path) -> None:
    subprocess.run([str(c) for c in command], check=True)

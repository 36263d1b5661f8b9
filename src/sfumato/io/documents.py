"""Small files that state something: manifests, models, plans. Whatever they hold, reading one ends, and ends in bounded memory."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any


def read_document(path: Path) -> str:
    """Return the text of a file; raise OSError where it is not a file, ValueError where it is too large or not UTF-8."""
    max_bytes = 2**28  # the statement of 10,000 columns has 10 MB
    if path.exists() and not path.is_file():
        raise OSError(0, "it is not a file but a folder, a pipe or a device", str(path))
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes:,} bytes")
    return content.decode("utf-8")


def parse_json(text: str) -> Any:
    """Return the data of a JSON text; raise ValueError for what is not JSON, is nested without end, or has NaN for a number."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML text; raise ValueError for what is not TOML, or is nested without end."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")

"""Real tables that travel with the package, each free to share (CC BY 4.0) and credited in ``NOTICE.md``.

All have one layout: gzipped ASCII CSV with a header, the class last and called ``class``, a missing value as an empty
field. Take the kind of a column from `describe`: categories may be digits, and no text stands for a missing value, so a
reader that turns ``NA`` into one goes too far.

>>> from sfumato import datasets
>>> datasets.describe("iris")["rows"], datasets.path("iris").name
(150, 'iris.csv.gz')
"""

from __future__ import annotations

import copy
import difflib
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sfumato.errors import UsageError
from sfumato.text import join_names


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = json.loads((resources.files(__name__) / "catalogue.json").read_text("utf-8"))
    return tables


def _entry(name: str) -> dict[str, Any]:
    tables = _catalogue()
    if name not in tables:
        near = difflib.get_close_matches(name, tables, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "choose one of them"
        raise UsageError(f"dataset: {name!r} is not bundled; there are {join_names(tables, limit=len(tables))}; {hint}")
    return tables[name]


def names() -> tuple[str, ...]:
    """Return the names of the bundled tables."""
    return tuple(_catalogue())


def path(name: str) -> Path:
    """Return the file of the table called `name`, a ``.csv.gz``; the package must be installed as files, not zipped."""
    return Path(str(resources.files(__name__) / _entry(name)["file"]))


def describe(name: str) -> dict[str, Any]:
    """Return what is known of the table called `name`.

    The fields are `title`, `file`, `rows`, `target`, `doi`, `licence`, `creators`, `year`, `source`, `changes`,
    `sha256` (of the uncompressed CSV) and `columns`. A column has `name`, `kind` (``real``, ``integer``,
    ``categorical``, or ``ordinal`` where the order of the categories is beyond doubt), `min` and `max` or `categories`,
    and `missing` (the count of empty fields) unless it is complete. Ends and categories are those found in the table;
    the two parts of Adult share theirs.
    """
    return copy.deepcopy(_entry(name))

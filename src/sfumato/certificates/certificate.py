"""The certificate of a release: for every column the law in whole numbers, its exact amplification, and draws to repeat."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.certificates.check_certificate import check
from sfumato.channels import Channel
from sfumato.counts import FloatArray, WordArray
from sfumato.hashing import splitmix64
from sfumato.io import write_file
from sfumato.releases import Release, ReleasedColumn, as_release
from sfumato.schema import Attribute
from sfumato.tables import CELLS_PER_SIGMA, exponential, half_normal

CERTIFICATE = "law.cert.json"


@dataclass(frozen=True, eq=False)
class Certificate:
    """The laws of a release in whole numbers, and what is counted from them.

    Attributes
    ----------
    data
        The document: `columns`, each with its `table`, exact `gamma`, `epsilon` and sample `vectors`.
    path
        Where it was written.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("iris", None, f"{folder}/release", noise="square-wave", privacy=0.5)
    ...     certificate = sf.certify(made)
    >>> certificate.path.name, len(certificate.data["columns"])
    ('law.cert.json', 5)
    """

    data: Mapping[str, Any]
    path: Path

    def rows(self) -> list[list[str]]:
        """Return one row per column, in words: name, law, form of the table, exact γ, ε."""
        out = []
        for column in self.data["columns"]:
            law, table, gamma = column["mechanism"], column["table"], column["gamma"]
            ratio = f"{int(gamma['numerator']) / int(gamma['denominator']):.15g}" if gamma else "infinite"
            exponent = f"{column['epsilon']:.12g}" if gamma else "infinite"
            certain = [table["form"], ratio, exponent] if table else [f"no table: {column['reason']}", "", ""]
            out.append([column["name"], law["law"] if law else "", *certain])
        return out


def certify(release: Release | str | Path, output: str | Path | None = None, *, force: bool = False) -> Certificate:
    """Write the laws of a release as tables of whole numbers that anyone can check.

    Parameters
    ----------
    release : Release, str or Path
        The release, or its folder.
    output : str or Path, optional
        The file to write; law.cert.json in the release's folder by default.
    force : bool
        Replace an existing file.

    Returns
    -------
    Certificate
        What was written; it was checked before.

    Notes
    -----
    It holds nothing that the manifest does not imply: no data, no key. The exact amplification is counted from all 2¹²⁸ pairs
    of words that a cell can have. `check_certificate.py` checks it without sfumato.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = sf.release("car_evaluation", None, f"{folder}/release", noise="substitution", options={"epsilon": 1.0})
    ...     column = sf.certify(made).data["columns"][0]
    >>> column["table"]["form"], column["epsilon"]
    ('own-or-any', 1.0)
    """
    opened = as_release(release)
    path = opened.folder / CERTIFICATE if output is None else Path(output)
    manifest = opened.manifest.to_dict()
    stated = {a["name"]: a.get("mechanism") for a in manifest["attributes"]}
    columns = [certify_column(c, stated[c.attribute.name]) for c in opened.manifest.columns]
    uses_normal = any(c["table"] and c["table"]["form"] == "rounded-normal" for c in columns)
    starts = half_normal().table.starts.tolist() if uses_normal else []
    data = {
        "sfumato_certificate": 1,
        "release": opened.manifest.name,
        "shared": {"cells_per_sigma": CELLS_PER_SIGMA, "normal": [hex(start) for start in starts]},
        "columns": columns,
    }
    data = json.loads(json.dumps(data, allow_nan=False))
    check(data, manifest)
    write_file(path, json.dumps(data, ensure_ascii=False) + "\n", force=force)
    return Certificate(data, path)


def certify_column(column: ReleasedColumn, stated: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is certain of one column; without a table, why there is none."""
    channel = column.channel
    out: dict[str, Any] = {"name": column.attribute.name, "mechanism": stated, "table": None, "gamma": None}
    if channel is None:
        chance = "released as it is" if column.guided is None else "changed by a method that saw the whole table"
        return out | {"epsilon": None, "reason": chance, "vectors": []}
    table, guarantee = channel.exact_table(), channel.guarantee()
    if table is None:
        return out | {"epsilon": None, "reason": "its noise is not drawn cell by cell from a table", "vectors": []}
    exact = guarantee.exact
    gamma = exact and {"numerator": str(exact.numerator), "denominator": str(exact.denominator)}
    return out | {
        "table": table,
        "gamma": gamma,
        "epsilon": exact and logarithm_above(exact),
        "reason": guarantee.reason,
        "vectors": draw_vectors(channel, column.attribute),
    }


def logarithm_above(gamma: Fraction) -> float:
    """Return the least float64 ε with e^ε ≥ γ."""
    out = math.nextafter(math.log(gamma), 0.0)
    while exponential(Fraction(out))[0] < gamma:
        out = math.nextafter(out, math.inf)
    return out


def draw_vectors(channel: Channel, attribute: Attribute) -> list[list[Any]]:
    """Return pairs of words, true values and what the sampler releases for them: extreme words and ordinary ones."""
    values = probe_values(attribute)
    last = np.uint64(2**64 - 1)
    extreme = np.array([[0, 0], [1, last], [last, 0], [last, last]], np.uint64)
    ordinary = splitmix64(np.arange(1, 4 * 2 * len(values) + 1, dtype=np.uint64)).reshape(-1, 2)
    words: WordArray = np.concatenate([np.repeat(extreme, len(values), axis=0), ordinary])
    true = np.tile(values, len(words) // len(values))
    released = channel.sample(true, words)
    return [
        [hex(first), hex(second), x, y]
        for (first, second), x, y in zip(words.tolist(), true.tolist(), released.tolist(), strict=True)
    ]


def probe_values(attribute: Attribute) -> FloatArray:
    """Return true values to draw for: the ends of the domain and some inside."""
    if not attribute.kind.numeric:
        size = len(attribute.labels)
        return np.unique([0, size // 3, size - 1]).astype(np.float64)
    low, high = attribute.interval.low, attribute.interval.high
    inner = low + np.array([0.31, 0.5]) * (high - low)
    if attribute.step:
        inner = attribute.step * np.round(inner / attribute.step)
    return np.unique([low, *inner, high])

"""What a release says about itself, in every unit people ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import listed
from sfumato.numerals import written
from sfumato.privacy import figures, record_figures
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.releases.readme import cautions, what
from sfumato.schema import Kind, Missing, Role


def described(manifest: Manifest) -> dict[str, Any]:
    """Laws, privacy per attribute and per record, and cautions, as plain data."""
    attributes = {c.attribute.name: _attribute(c, manifest.method) for c in manifest.columns}
    blurred = {c.attribute.name: figures(c.channel, c.attribute) for c in manifest.columns if c.channel is not None}
    modified = record_figures(blurred)
    clear = [c.attribute.name for c in manifest.columns if c.clear and c.attribute.role is not Role.IDENTIFIER]
    record = modified
    if clear and blurred:
        # A true column beside the others ends every bound on the record; that over the others is kept by its own name.
        record = record_figures(blurred | {name: {"epsilon": None} for name in clear}) | {"modified_only": modified}
    return {
        "name": manifest.name,
        "rows": manifest.data.rows,
        "noise_belongs_to": manifest.addressing,
        "attributes": attributes,
        "record": record | {"in_words": _record_words(modified, clear)},
        "withheld": list(manifest.withheld),
        "method": manifest.method,
        "joint": manifest.joint.to_dict() if manifest.joint else None,
        "cautions": cautions(manifest),
    }


def describe(folder: str | Path) -> dict[str, Any]:
    """What the release in a folder says about itself."""
    return described(Manifest.load(folder))


def _attribute(column: ReleasedColumn, method: Mapping[str, Any] | None) -> dict[str, Any]:
    attribute, channel = column.attribute, column.channel
    about = attribute.to_dict() | {
        "mechanism": column.guided or ("none" if channel is None else channel.law),
        "parameters": {} if channel is None else {k: v for k, v in channel.to_dict().items() if k != "law"},
        "what": what(column, method),
        "missing_cells": column.missing,
    }
    if channel is None:
        guided = column.guided is not None
        reason = "no law value by value: the noise follows a pattern of the table" if guided else "released as it is"
        privacy: dict[str, Any] = {"interval_width_95": None if guided else 0.0, "epsilon": None, "reason": reason}
        return about | {
            "privacy": privacy | {"in_words": "see the audit" if guided else "0", "epsilon_in_words": f"∞ ({reason})"}
        }
    privacy = figures(channel, attribute)
    return about | {
        "privacy": privacy
        | {"in_words": _width_words(column, privacy), "epsilon_in_words": _epsilon_words(column, privacy)}
    }


def _width_words(column: ReleasedColumn, privacy: dict[str, Any]) -> str:
    width, share = privacy["interval_width_95"], privacy.get("interval_width_95_share")
    if not column.attribute.kind.numeric:
        return f"{written(width, 3)} of {len(column.attribute.categories):,} labels"
    unit = " days" if column.attribute.kind is Kind.DATE else ""
    return f"{written(width, 5)}{unit}" + (f" ({100 * share:.3g} % of the range)" if share is not None else "")


def _epsilon_words(column: ReleasedColumn, privacy: dict[str, Any]) -> str:
    epsilon = privacy["epsilon"]
    if epsilon is None:
        return f"∞ ({privacy['reason']})"
    seen = column.missing > 0 and column.attribute.missing is Missing.KEEP
    return f"{epsilon:.3f}" + (" among values that are there; who has none is seen" if seen else "")


def _record_words(record: dict[str, Any], clear: list[str]) -> str:
    if clear and record.get("epsilon") is None:
        return f"Per record: no bound, since {listed(clear, 12)} {_are(clear)} released as {_they_are(clear)}."
    if record.get("epsilon") is None and not record.get("infinite"):
        return "Per record: no ε; the noise follows patterns of the whole table."
    if record.get("epsilon") is None:
        return "Per record: no finite ε, because of " + ", ".join(record.get("infinite", [])) + "."
    multiplied = f"; γ multiplies to {written(record['gamma'], 3)}" if record.get("gamma") is not None else ""
    if clear:
        return (
            f"Per record: no bound, since {listed(clear, 12)} {_are(clear)} released as {_they_are(clear)}. Over the modified "
            f"attributes alone: ε = {record['epsilon']:.2f} (they add up{multiplied})."
        )
    return (
        f"Per record over all attributes: ε = {record['epsilon']:.2f} (they add up{multiplied}): "
        "whoever links all columns of a row learns up to that much."
    )


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _they_are(names: list[str]) -> str:
    return "they are" if len(names) > 1 else "it is"

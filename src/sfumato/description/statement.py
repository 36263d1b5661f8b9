"""What a release says about itself, in every unit people ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.description.readme import cautions, what
from sfumato.findings import code_notes
from sfumato.privacy import HIDE_GAPS, VISIBLE_GAPS, figures, hides_little, record_figures
from sfumato.releases import Manifest, Release, ReleasedColumn, as_release
from sfumato.schema import Kind, Missing, Role
from sfumato.text import format_number, join_names


def describe_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return laws, privacy per attribute and per row, and cautions, as plain data."""
    attributes = {c.attribute.name: _attribute(c, manifest.method) for c in manifest.columns}
    blurred = {c.attribute.name: figures(c.channel, c.attribute) for c in manifest.columns if c.channel is not None}
    gaps = [c.attribute.name for c in manifest.columns if c.channel is not None and c.missing_public]
    modified = record_figures(blurred, gaps)
    clear = [c.attribute.name for c in manifest.columns if c.clear and c.attribute.role is not Role.IDENTIFIER]
    record = modified
    if clear and blurred:
        # A true column beside the others ends every bound on the record; that over the others is kept by its own name.
        every = blurred | {name: {"epsilon": None} for name in (*gaps, *clear)}
        record = record_figures(every) | ({"missing_public": gaps} if gaps else {}) | {"modified_only": modified}
    return {
        "name": manifest.name,
        "rows": manifest.data.rows,
        "noise_belongs_to": manifest.addressing,
        "attributes": attributes,
        "record": record | {"in_words": _record_words(modified, clear, gaps)},
        "withheld": list(manifest.withheld),
        "method": manifest.method,
        "joint": manifest.joint.to_dict() if manifest.joint else None,
        "cautions": cautions(manifest),
        "findings": code_notes(cautions(manifest)),
    }


def describe(release: Release | str | Path) -> dict[str, Any]:
    """Describe a release by what its manifest says: laws, privacy in every unit, cautions.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.

    Returns
    -------
    dict
        `attributes` with what was done to each and its `privacy`, the `record` as a whole, and `cautions`.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = sf.describe(sf.release("iris", None, f"{folder}/release", noise="laplace", privacy=0.5))
    >>> about["attributes"]["petal_width"]["mechanism"]
    'laplace'
    """
    return describe_manifest(as_release(release).manifest)


def _attribute(column: ReleasedColumn, method: Mapping[str, Any] | None) -> dict[str, Any]:
    attribute, channel = column.attribute, column.channel
    about = attribute.to_dict() | {
        "mechanism": column.guided or ("none" if channel is None else channel.law),
        "parameters": {} if channel is None else {k: v for k, v in channel.to_dict().items() if k != "law"},
        "what": what(column, method),
        "missing_cells": column.missing,
        "missing_public": column.missing_public,
    }
    if channel is None:
        guided = column.guided is not None
        reason = "no law value by value: the noise follows a pattern of the table" if guided else "released as it is"
        privacy: dict[str, Any] = {"interval_width_95": None if guided else 0.0, "epsilon": None, "reason": reason}
        return about | {
            "privacy": privacy | {"in_words": "see the audit" if guided else "0", "epsilon_in_words": f"∞ ({reason})"}
        }
    privacy = figures(channel, attribute)
    if column.missing_public:
        privacy |= {"missing_public": True, "missing_reason": VISIBLE_GAPS, "next_step": HIDE_GAPS}
    return about | {
        "privacy": privacy
        | {"in_words": _width_words(column, privacy), "epsilon_in_words": _epsilon_words(column, privacy)}
    }


def _width_words(column: ReleasedColumn, privacy: dict[str, Any]) -> str:
    width, share = privacy["interval_width_95"], privacy.get("interval_width_95_share")
    if not column.attribute.kind.numeric:
        labels = len(column.attribute.categories)
        if column.attribute.missing is Missing.CATEGORY:
            return f"{format_number(width, 3)} of {labels + 1:,} labels, missing among them"
        return f"{format_number(width, 3)} of {labels:,} labels"
    unit = " days" if column.attribute.kind is Kind.DATE else ""
    words = f"{format_number(width, 5)}{unit}" + (f" ({100 * share:.3g} % of the range)" if share is not None else "")
    if column.channel is not None and hides_little(column.channel, column.attribute):
        words += f"; but {100 * privacy['exactly_true']:.4g} % of the cells are exactly true"
    return words


def _epsilon_words(column: ReleasedColumn, privacy: dict[str, Any]) -> str:
    epsilon = privacy["epsilon"]
    if epsilon is None:
        return f"∞ ({privacy['reason']})"
    return f"{epsilon:.3f}" + (" among values that are there; who has none is seen" if column.missing_public else "")


def _record_words(modified: dict[str, Any], clear: list[str], gaps: list[str]) -> str:
    record = modified.get("same_gaps_only", modified)
    causes = [f"{join_names(clear, 12)} {_are(clear)} released as {_they_are(clear)}"] if clear else []
    if gaps:
        causes.append(
            f"missing cells of {join_names(gaps, 12)} are left missing, so that who has none is seen for certain"
        )
    remedy = f" To bound it, {HIDE_GAPS}." if gaps and not clear else ""
    unbound = f"Per record: no bound, since {', and '.join(causes)}."
    if record.get("epsilon") is None:
        if clear:
            return unbound
        if not record.get("infinite"):
            return "Per record: no ε; the noise follows patterns of the whole table."
        return f"Per record: no finite ε, because of {', '.join(modified['infinite'])}."
    multiplied = f"; γ multiplies to {format_number(record['gamma'], 3)}" if record.get("gamma") is not None else ""
    bound = f"ε = {record['epsilon']:.2f} (they add up{multiplied})"
    if not causes:
        return f"Per record over all attributes: {bound}: whoever links all columns of a row learns up to that much."
    parts = ["over the modified attributes alone"] if clear else []
    parts += ["between records with the same cells missing"] if gaps else []
    return f"{unbound} {', '.join(parts).capitalize()}: {bound}.{remedy}"


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _they_are(names: list[str]) -> str:
    return "they are" if len(names) > 1 else "it is"

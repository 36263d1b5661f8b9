"""What a release says about itself: to a program, in every unit people ask for, and in the README of the person who gets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.findings import Note, code_notes
from sfumato.guided import METHODS, Method, Pattern, TreeMethod
from sfumato.privacy import (
    HIDE_GAPS,
    VISIBLE_GAPS,
    exactly_true,
    figures,
    hides_little,
    keeps_nearly_all,
    person_figures,
    record_figures,
)
from sfumato.releases import DRAFT, Manifest, Release, ReleasedColumn, as_release, read_signature, verify
from sfumato.schema import Categories, Kind, Missing, Role
from sfumato.text import format_number, is_formula, join_names, markdown, visible


def what(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """Say in one line what happened to a column; `method` is the statement of the guided method, if there is one."""
    if column.guided is not None:
        guided = METHODS.get(column.guided)
        return column.guided if guided is None else guided.in_words(column.attribute, method or {})
    if column.channel is None:
        return "released as it is"
    words = column.channel.in_words()
    scale = column.attribute.scale
    return words if scale is None else f"on a {scale.in_words()}, of which the domain is from 0 to 1: {words}"


def domain_text(column: ReleasedColumn) -> str:
    """Return the domain as people write it."""
    attribute = column.attribute
    if isinstance(attribute.domain, Categories):
        labels = attribute.domain.values
        text = ", ".join(labels[:6]) + (f", … ({len(labels)} in all)" if len(labels) > 6 else "")
    elif attribute.domain is not None:
        text = f"{attribute.format_value(attribute.domain.low)} to {attribute.format_value(attribute.domain.high)}"
    else:
        text = "any"
    return text


def _mark_learned(column: ReleasedColumn) -> str:
    return " *(learned from the data)*" if column.attribute.learned else ""


def readme(manifest: Manifest) -> str:
    """Say what the folder holds, how it was made, and how to mine it."""
    rows = "\n".join(
        f"| {markdown(c.attribute.name)} | {c.attribute.kind} | {markdown(domain_text(c))}{_mark_learned(c)} | "
        f"{what(c, manifest.method)} |"
        for c in manifest.columns
    )
    target = next((c.attribute.name for c in manifest.columns if c.attribute.role is Role.TARGET), None)
    notes: list[str] = [*cautions(manifest)] or ["Nothing beyond what the table above says."]
    known = "\n".join(f"- {markdown(line)}" for line in notes)
    draft = f"**{DRAFT[0].upper()}{DRAFT[1:]}.**\n\n" if manifest.draft else ""
    return f"""# Release {markdown(manifest.name)}

{draft}{manifest.data.rows:,} rows. {_opening(manifest)}

| column | kind | domain | what was done |
|---|---|---|---|
{rows}

{f"Withheld columns: {markdown(', '.join(manifest.withheld))}." if manifest.withheld else "No column was withheld."}

## How to use it

{_use(manifest, target)}

## What to know

{known}

{_checksum_words(manifest)}: `{manifest.data.sha256}`
"""


def _opening(manifest: Manifest) -> str:
    if manifest.method is not None:
        return f"The owner mined the table first and bent the perturbation around what was found. {_row(manifest)}"
    order = "a random order" if manifest.shuffled else "the\norder of the table that was released"
    return f"""Individual values are blurred: **no cell in a modified column should be read as a fact about
anyone**. The law of the blur is public, so distributions, and models built on them, can be recovered. Rows stand in {order}."""


def _use(manifest: Manifest, target: str | None) -> str:
    mining = (
        f"sfumato mine {{this folder}} -o model.json      # a decision tree for {visible(target)}\n" if target else ""
    )
    if manifest.method is not None:
        grouping = "sfumato cluster {this folder}                     # its clusters\n"
        method = _method(manifest)
        verb = grouping if method is not None and method.pattern is Pattern.CLUSTERS else mining
        return f"""`{manifest.data.file}` is the data, `manifest.json` the exact statement of the method. Mine the data as it is, with
any tool. {TreeMethod.uses if method is None else method.uses}.

```
sfumato describe {{this folder}}                    # what was done to each column
{verb}```"""
    return f"""`{manifest.data.file}` is the data, `manifest.json` the exact statement of every law. Statistics computed directly on the
modified columns are wrong by the noise; correct for it:

```
sfumato describe {{this folder}}                    # privacy in every unit
sfumato reconstruct {{this folder}}                 # the true distributions, with their uncertainty
{mining}```"""


def _checksum_words(manifest: Manifest) -> str:
    data = manifest.data
    if not data.parts:
        return f"SHA-256 of `{data.file}`"
    return f"`{data.file}` is a folder of {data.parts} files; SHA-256 of their list, as `sha256sum * | sha256sum` in it gives it"


def cautions(manifest: Manifest) -> list[Note]:
    """Return what a careful person would want said about this release."""
    columns = manifest.columns
    out: list[Note] = [Note("SF311", f"This release is a {DRAFT}.")] if manifest.draft else []

    def caution(code: str, words: str, names: Sequence[str]) -> None:
        if names:
            out.append(Note(code, f"{words}: {', '.join(names)}."))

    clear = [c.attribute.name for c in columns if c.clear and c.attribute.role is not Role.TARGET]
    caution("SF201", "Released as they are, and so able to single people out", clear)
    learned = [c.attribute.name for c in columns if c.attribute.learned]
    caution("SF101", "The domain was learned from the data, so its ends or labels are real ones", learned)
    gaps = [c for c in columns if c.missing_public]
    moved = [c.attribute.name for c in gaps if _moves_gaps(c, manifest)]
    swapped = "Missing values were swapped like any other: an empty cell is as a rule another person's"
    caution("SF203", swapped, moved)
    kept = [c.attribute.name for c in gaps if c.attribute.name not in moved]
    caution("SF202", "Missing values are left missing, which reveals who has none", kept)
    true = [
        f"{c.attribute.name} ({100 * (exactly_true(c.channel, c.attribute) or 0.0):.4g} %)"
        for c in columns
        if c.channel is not None and hides_little(c.channel, c.attribute)
    ]
    coarse = (
        "The steps of its grid are wide against the noise, so that most cells, by the law's own probability, hold exactly "
        "their true value"
    )
    caution("SF204", coarse, true)
    scaled = [c.attribute.name for c in columns if c.attribute.scale is not None]
    words = "Noise acts on a scale and grows with the value, so a plain mean of released values is far off; reconstruct corrects it"
    caution("SF292", words, scaled)
    kept = [c.attribute.name for c in columns if c.channel and keeps_nearly_all(c.channel, c.attribute)]
    caution("SF251", "So little is substituted that more than 99 of 100 cells tell their true value", kept)
    if manifest.data.format == "csv":
        formulas = [c.attribute.name for c in columns if any(map(is_formula, (c.attribute.name, *_texts(c))))]
        caution("SF252", "Texts that a spreadsheet may run as a formula stand in the data or its header", formulas)
    infinite = [c.attribute.name for c in columns if c.channel and c.channel.guarantee().reason]
    caution("SF205", "No finite ε of differential privacy holds for", infinite)
    if manifest.method is not None:
        bent = (
            "The noise was bent around patterns of the whole table, so no figure holds value by value: mine the release as it is, "
            "and let the owner's audit say what an intruder can still find out."
        )
        out.append(Note("SF206", bent))
        out.extend(Note("SF207", str(limit)) for limit in manifest.extra.get("public", {}).get("limits", ()))
    if manifest.joint is not None:
        out.append(Note("SF208", manifest.joint.in_words()))
    if manifest.again:
        before = (
            f"The same rows were released before ({', '.join(manifest.again)}) with independent noise; averaging the "
            "releases weakens the privacy stated here."
        )
        out.append(Note("SF209", before))
    if manifest.addressing == "entity":
        fixed = (
            "Noise belongs to the entity: one that turns up in other releases with the same value has the same noise."
        )
        together = (
            f" Noise drawn together is the same where all of {join_names(manifest.joint.names, 30)} are."
            if manifest.joint
            else ""
        )
        out.append(Note("SF210", fixed + together))
    if manifest.entities is not None:
        out.append(Note("SF275", _person_words(manifest)))
        alike = f"values of {join_names(manifest.joint.names, 30)}" if manifest.joint else "value"
        seen = (
            f"Rows of one person with the same {alike} have the same released value, so rows of a person can be put together, and it "
            "is seen where a value changes. They are not independent: errors computed from the number of rows are too small."
        )
        out.append(Note("SF276", seen))
    return out


def _person(manifest: Manifest) -> dict[str, Any]:
    """Return the figures of all rows of one person; nothing where each has one row."""
    if (entities := manifest.entities) is None:
        return {}
    blurred = {c.attribute.name: (c.channel, c.attribute) for c in manifest.columns if c.channel is not None}
    about = {
        "people": entities.number,
        "most_rows": entities.most_rows,
        "mean_rows": manifest.data.rows / entities.number,
    }
    return {"person": about | person_figures(blurred, entities.most_rows) | {"in_words": _person_words(manifest)}}


def _person_words(manifest: Manifest) -> str:
    """Say how many rows a person has, and what they tell together."""
    entities = manifest.entities
    if entities is None:
        return ""
    blurred = {c.attribute.name: (c.channel, c.attribute) for c in manifest.columns if c.channel is not None}
    told = person_figures(blurred, entities.most_rows)
    means = [
        f"{name} {format_number(about['mean_interval_width_95'], 3)} ({format_number(blurred[name][0].interval_width(0.95), 3)})"
        for name, about in told["attributes"].items()
        if about["mean_interval_width_95"] is not None
    ]
    sums = [f"{n} {about['epsilon']:.2f}" for n, about in told["attributes"].items() if about["epsilon"] is not None]
    words = (
        f"Per person: {entities.number:,} people have {manifest.data.rows / entities.number:.1f} rows on average and up to "
        f"{entities.most_rows:,}. Equal values of a person share their noise, different ones do not."
    )
    if manifest.joint is not None:
        words += (
            f" Noise drawn together is fresh in every row where one of {join_names(manifest.joint.names, 30)} changes, even for "
            "the values that stay: each row may be another draw."
        )
    if means:
        words += f" The mean of that many different values is left within (one value): {join_names(means, 12)}."
    if sums:
        words += f" ε of that many different values adds up to {join_names(sums, 12)}."
    return words


def _texts(column: ReleasedColumn) -> tuple[str, ...]:
    """Return the labels of a column."""
    domain = column.attribute.domain
    return domain.values if isinstance(domain, Categories) else ()


def _method(manifest: Manifest) -> type[Method] | None:
    """Return the guided method that made the release, where this version knows it."""
    return METHODS.get(str((manifest.method or {}).get("law")))


def _moves_gaps(column: ReleasedColumn, manifest: Manifest) -> bool:
    method = METHODS.get(column.guided) if column.guided is not None else None
    return method is not None and method.moves_gaps(column.attribute, manifest.method or {})


def _row(manifest: Manifest) -> str:
    """Say what a row may be taken for."""
    method = _method(manifest)
    if method is None:
        return f"{Method.reads}."
    numbers = [c for c in manifest.columns if c.guided is not None and c.attribute.kind.numeric]
    return method.row_in_words(manifest.method or {}, len(numbers))


def describe_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return laws, privacy per attribute and per row, and cautions, as plain data."""
    attributes = {c.attribute.name: _attribute(c, manifest.method) for c in manifest.columns}
    blurred = {c.attribute.name: figures(c.channel, c.attribute) for c in manifest.columns if c.channel is not None}
    gaps = [c.attribute.name for c in manifest.columns if c.channel is not None and c.missing_public]
    modified = record_figures(blurred, gaps)
    clear = [c.attribute.name for c in manifest.columns if c.clear and c.attribute.role is not Role.IDENTIFIER]
    record = modified
    if clear and blurred:
        # A true column beside the others ends every bound on the row; that over the others is kept by its own name.
        every = blurred | {name: {"epsilon": None} for name in (*gaps, *clear)}
        record = record_figures(every) | ({"missing_public": gaps} if gaps else {}) | {"modified_only": modified}
    return {
        "name": manifest.name,
        "rows": manifest.data.rows,
        "draft": manifest.draft,
        "shuffled": manifest.shuffled,
        "noise_belongs_to": manifest.addressing,
        "attributes": attributes,
        "record": record | {"in_words": _record_words(modified, clear, gaps)},
        "withheld": list(manifest.withheld),
        "method": manifest.method,
        "joint": manifest.joint.to_dict() if manifest.joint else None,
        "cautions": cautions(manifest),
        "findings": code_notes(cautions(manifest)),
    } | _person(manifest)


def describe(release: Release | str | Path) -> dict[str, Any]:
    """Describe a release by what its manifest says: laws, privacy in every unit, cautions.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.

    Returns
    -------
    dict
        `attributes` with what was done to each and its `privacy`, the `record` as a whole, `cautions`, and by whom the folder
        is `signed`; DataError is raised for a signed folder that was changed.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = sf.describe(sf.release("iris", None, f"{folder}/release", noise="laplace", privacy=0.5))
    >>> about["attributes"]["petal_width"]["mechanism"]
    'laplace'
    """
    opened = as_release(release)
    signature = read_signature(opened.folder)
    signed = {"by": signature.key_id, "whole": bool(verify(opened))} if signature else None
    return describe_manifest(opened.manifest) | {"signed": signed}


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
        words = {"in_words": "see the audit" if guided else "0", "epsilon_in_words": f"∞ ({reason})"}
    else:
        privacy = figures(channel, attribute)
        if column.promise is not None:
            privacy |= {"promise": column.promise}
        if column.missing_public:
            privacy |= {"missing_public": True, "missing_reason": VISIBLE_GAPS, "next_step": HIDE_GAPS}
        privacy |= _example(column, privacy)
        words = {
            "in_words": _width_words(column, privacy) + _promise_words(column),
            "epsilon_in_words": _epsilon_words(column, privacy),
        }
    return about | {"privacy": privacy | words}


def _example(column: ReleasedColumn, privacy: Mapping[str, Any]) -> dict[str, Any]:
    """Return, for a column on a scale, what the 95 % interval is around a value in the middle of it, in the column's unit."""
    ruler = column.attribute.ruler
    if ruler is None:
        return {}
    half = privacy["interval_width_95"] / 2
    low, value, high = ruler.to_values(np.array([0.5 - half, 0.5, 0.5 + half])).tolist()
    return {"interval_95_example": {"released": value, "low": max(low, ruler.low), "high": min(high, ruler.high)}}


def _promise_words(column: ReleasedColumn) -> str:
    if column.promise is None:
        return ""
    return f"; {format_number(column.promise, 3)} promised, since other columns tell more"


def _width_words(column: ReleasedColumn, privacy: dict[str, Any]) -> str:
    width, share = privacy["interval_width_95"], privacy.get("interval_width_95_share")
    if not column.attribute.kind.numeric:
        labels = len(column.attribute.categories)
        if column.attribute.missing is Missing.CATEGORY:
            return f"{format_number(width, 3)} of {labels + 1:,} labels, missing among them"
        return f"{format_number(width, 3)} of {labels:,} labels"
    if example := privacy.get("interval_95_example"):
        value, low, high = (format_number(example[name], 3) for name in ("released", "low", "high"))
        return f"{100 * width:.3g} % of its scale: behind a released {value} is a value from {low} to {high}"
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
    as_true = "are released as they are" if len(clear) > 1 else "is released as it is"
    causes = [f"{join_names(clear, 12)} {as_true}"] if clear else []
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
        return f"Per record over all attributes: {bound}: anyone who links all columns of a row learns up to that much."
    parts = ["over the modified attributes alone"] if clear else []
    parts += ["between records with the same cells missing"] if gaps else []
    return f"{unbound} {', '.join(parts).capitalize()}: {bound}.{remedy}"

"""The README of a release, for the person who receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.findings import Note
from sfumato.guided import METHODS, Method, Pattern, TreeMethod
from sfumato.privacy import exactly_true, hides_little
from sfumato.releases import Manifest, ReleasedColumn
from sfumato.schema import Categories, Role


def what(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """Say in one line what happened to a column; `method` is the statement of the guided method, if there is one."""
    if column.guided is not None:
        guided = METHODS.get(column.guided)
        return column.guided if guided is None else guided.in_words(column.attribute, method or {})
    return "released as it is" if column.channel is None else column.channel.in_words()


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
    return text + (" *(learned from the data)*" if attribute.learned else "")


def readme(manifest: Manifest) -> str:
    """Say what the folder holds, how it was made, and how to mine it."""
    rows = "\n".join(
        f"| {_cell(c.attribute.name)} | {c.attribute.kind} | {_cell(domain_text(c))} | {what(c, manifest.method)} |"
        for c in manifest.columns
    )
    target = next((c.attribute.name for c in manifest.columns if c.attribute.role is Role.TARGET), None)
    cautions = _cautions(manifest)
    return f"""# Release {manifest.name}

{manifest.data.rows:,} rows. {_opening(manifest)}

| column | kind | domain | what was done |
|---|---|---|---|
{rows}

{f"Withheld columns: {', '.join(manifest.withheld)}." if manifest.withheld else "No column was withheld."}

## How to use it

{_use(manifest, target)}

## What to know

{cautions}

{_checked(manifest)}: `{manifest.data.sha256}`
"""


def _opening(manifest: Manifest) -> str:
    if manifest.method is not None:
        return f"The owner mined the table first and bent the perturbation around what was found. {_row(manifest)}"
    return """Individual values are blurred: **no cell in a modified column should be read as a fact about
anyone**. The law of the blur is public, so distributions, and models built on them, can be recovered. Rows stand in the
order of the table that was released."""


def _use(manifest: Manifest, target: str | None) -> str:
    mining = f"sfumato mine {{this folder}} -o model.json      # a decision tree for {target}\n" if target else ""
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


def _checked(manifest: Manifest) -> str:
    data = manifest.data
    if not data.parts:
        return f"SHA-256 of `{data.file}`"
    return f"`{data.file}` is a folder of {data.parts} files; SHA-256 of their list, as `sha256sum * | sha256sum` in it gives it"


def cautions(manifest: Manifest) -> list[Note]:
    """Return what a careful person would want said about this release."""
    columns = manifest.columns
    out: list[Note] = []

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
        out.append(Note("SF210", fixed))
    return out


def _cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return text.replace("|", r"\|").replace("\n", " ")


def _cautions(manifest: Manifest) -> str:
    found = cautions(manifest)
    return "\n".join(f"- {line}" for line in found) if found else "- Nothing beyond what the table above says."


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

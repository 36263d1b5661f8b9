"""The README of a release, for the person who receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.findings import Note
from sfumato.privacy import exactly_true, hides_little
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.schema import Categories, Role


def what(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """What happened to a column, in one line; `method` is the statement of the guided method, if there is one."""
    if column.guided is not None:
        return guided_saying(column, method)
    return "released as it is" if column.channel is None else column.channel.in_words()


def domain_text(column: ReleasedColumn) -> str:
    """The domain as people write it."""
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
    """What the folder holds, how it was made, and how to mine it."""
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
        return f"The owner mined the table first and bent the perturbation around what was found. {reading(manifest)}"
    return """Individual values are blurred: **no cell in a modified column should be read as a fact about
anyone**. The law of the blur is public, so distributions, and models built on them, can be recovered. Rows stand in the
order of the table that was released."""


def _use(manifest: Manifest, target: str | None) -> str:
    mining = f"sfumato mine {{this folder}} -o model.json      # a decision tree for {target}\n" if target else ""
    if manifest.method is not None:
        grouping = "sfumato cluster {this folder}                     # its clusters\n"
        verb = grouping if manifest.method.get("law") in CLUSTERED else mining
        return f"""`{manifest.data.file}` is the data, `manifest.json` the exact statement of the method. Mine the data as it is, with
any tool. {using(manifest)}

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
    """What a careful person would want said about this release."""
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
    moved = [c.attribute.name for c in gaps if c.guided is not None and gaps_travel(c, manifest.method or {})]
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
    """Text inside a Markdown table."""
    return text.replace("|", r"\|").replace("\n", " ")


def _cautions(manifest: Manifest) -> str:
    found = cautions(manifest)
    return "\n".join(f"- {line}" for line in found) if found else "- Nothing beyond what the table above says."


CLUSTERED = ("rdd", "racc", "swap-v", "racc-v", "geometric")
MIRRORED = ("racc", "racc-v")
"""Methods that turn a record about a centre, which leaves a single number two places."""

LABELS_PERMUTED = "labels permuted inside each leaf of the owner's tree"
METHOD_SAYINGS = {
    "class-random": LABELS_PERMUTED,
    "class-probabilistic": "labels drawn from the shares of their leaf in the owner's tree",
    "class-all-leaves": "labels changed at random, in all leaves at one rate",
    "innocent": "noise on the records of some or all leaves of the owner's tree",
    "detective": "labels dealt out again within the leaves and siblings of a tree grown for them",
    "framework": "noise that keeps the record in its leaf of the owner's tree",
    "leaf-swap": "values swapped among records of the same leaf and class of the owner's tree",
    "rdd": "moved at random, with the distance to the cluster's centre kept in its range",
    "racc": "rotated around the centre of its cluster",
    "geometric": "rotated, shifted and blurred together with all other numbers: it no longer holds what its name says",
    "swap-v": "values swapped inside each cluster; a cluster in which some record finds no place so is drawn towards its centre",
    "racc-v": "rotated around the cluster's centre, every record kept in its cluster's cell",
}
"""What is done to a column; of methods that treat numbers, labels and the class differently, what is done to numbers."""

READS = {
    "class": "Only the class was changed, and many labels are still the true ones: a row is a record of somebody, whose class alone "
    "may be another's",
    "innocent": "A modified column holds noise in some rows and may hold true values in others, and all other columns are true: a row "
    "is a record of somebody, blurred in part",
    "detective": "Labels were dealt out again among records that are alike, and many are still the true ones; all other columns are "
    "true: a row is a record of somebody, blurred in part",
    "framework": "Numbers were blurred or swapped, and labels dealt out again; single cells are still the true ones",
    "leaf-swap": "Every value in a modified column is a true one, but as a rule another person's: a row is put together from several "
    "people of one leaf and class. By chance a cell, or a whole row, is its own person's",
    "swap-v": "Numbers are true ones, but as a rule another person's of the same cluster, or have been drawn towards its centre; "
    "labels are swapped, too. By chance a cell, or a whole row, is its own person's",
    "moved": "Numbers were moved, and none should be read as a fact about anyone, but for one that a whole cluster shares; labels are "
    "true ones, but as a rule another person's",
}
"""What a row may be taken for; "class" stands for all class noise, "moved" for the methods around clusters."""

KEPT = "; where a leaf and class has too few records, rows are released as they are (see below)"
MIRROR = "; a single number can only be mirrored at its centre, so about half of them are true, or nearly so"

USES = {
    "class": "A decision tree grown from it comes near the owner's, and statistics of the other columns are exact. Those that involve "
    "the class are not, and cannot be corrected",
    "tree": "A decision tree grown from it comes near the owner's. Other statistics of the modified columns are off by an amount "
    "that no law states, and cannot be corrected",
    "leaf-swap": "A decision tree grown from it comes near the owner's, and each column, alone or by class, is distributed as in the "
    "original but for small cells. Relations between columns inside a leaf are gone, and cannot be recovered",
    "clusters": "Clusters of it come near the owner's. Other statistics of the modified columns are off by an amount that no law "
    "states, and cannot be corrected",
    "geometric": "Distances between rows are kept up to the noise, and so are clusters, unless columns are rescaled. No column means "
    "anything by itself, and it cannot be corrected",
}
"""What the release is good for as it is."""


def guided_saying(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """What a guided method did to a column, in one line; `method` is its public statement, where that is at hand."""
    law = str(column.guided)
    numeric = column.attribute.kind.numeric
    if law in CLUSTERED and not numeric:
        return "labels permuted over the whole table" if law == "geometric" else "labels swapped inside each cluster"
    if law == "leaf-swap" and column.attribute.role is Role.TARGET:
        return LABELS_PERMUTED
    if law == "framework":
        if column.attribute.role is Role.TARGET:
            return LABELS_PERMUTED
        if not numeric:
            return METHOD_SAYINGS["detective"]
        if (method or {}).get("numbers") == "swap":
            return "values swapped among records of the same leaf and released class of the owner's tree"
    return METHOD_SAYINGS.get(law, law)


def gaps_travel(column: ReleasedColumn, method: Mapping[str, Any]) -> bool:
    """Whether missing values were dealt out with the others, so that an empty cell is not its own row's."""
    law, numeric = column.guided, column.attribute.kind.numeric
    if column.attribute.role is Role.TARGET:
        return False
    if law == "framework":
        return numeric and method.get("numbers") == "swap"
    return law == "leaf-swap" or (law in CLUSTERED and not numeric)


def reading(manifest: Manifest) -> str:
    """What a row may be taken for."""
    method = manifest.method or {}
    law = str(method.get("law"))
    kind = "class" if law.startswith("class-") else "moved" if law in CLUSTERED and law != "swap-v" else law
    words = READS.get(kind, "Single cells may still be true ones")
    if method.get("small") == "keep":
        words += KEPT
    if law in MIRRORED and len(_numbers(manifest.columns)) == 1:
        words += MIRROR
    return words + "."


def _numbers(columns: Sequence[ReleasedColumn]) -> list[str]:
    return [c.attribute.name for c in columns if c.guided is not None and c.attribute.kind.numeric]


def using(manifest: Manifest) -> str:
    """What the release is good for, and by which command."""
    law = str((manifest.method or {}).get("law"))
    clusters = "clusters" if law in CLUSTERED else "tree"
    kind = "class" if law.startswith("class-") else law if law in USES else clusters
    return USES[kind] + "."

"""The README of a release, for the person who receives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.channels import Channel
from sfumato.channels.correlated import CorrelatedGaussian
from sfumato.errors import listed
from sfumato.privacy.lattice import exactly_true, hides_little
from sfumato.releases.guided_words import CLUSTERED, gaps_travel, guided_saying, reading, using
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.schema import Categories, Role

SAYINGS = {
    "gaussian": "true value plus normal noise of standard deviation {sigma:.6g}",
    "uniform": "true value plus uniform noise between −{alpha:.6g} and {alpha:.6g}",
    "laplace": "true value plus Laplace noise of scale {b:.6g}",
    "intervals": "centre of the interval that holds the true value ({intervals} intervals)",
    "substitution": "kept, or replaced by any of {size} values at random (γ = {gamma:.4g})",
    "projective": "a code from 0 to {last}, γ = {gamma:.4g} times likelier if it lies in the true value's set of codes",
    "square-wave": "square-wave report, ε = {epsilon:.4g}",
}


def saying(channel: Channel | None) -> str:
    """A law in one line of plain words."""
    if channel is None:
        return "released as it is"
    fields = {k: v for k, v in channel.to_dict().items() if v is not None}
    if channel.law == "substitution" and "gamma" not in fields:
        return f"replaced by a given {fields['size']} × {fields['size']} matrix of probabilities"
    fields["intervals"] = len(fields.get("edges", ())) - 1
    fields["last"] = (channel.reports or 1) - 1
    grid = getattr(channel, "step", None) if channel.law != "intervals" else None
    step = f", rounded to multiples of {grid:g}" if grid else ""
    return SAYINGS[channel.law].format(**fields) + step if channel.law in SAYINGS else channel.law


def what(column: ReleasedColumn, method: Mapping[str, Any] | None = None) -> str:
    """What happened to a column, in one line; `method` is the statement of the guided method, if there is one."""
    if column.guided is not None:
        return guided_saying(column, method)
    together = ", drawn together with other columns" if getattr(column.channel, "joint", None) else ""
    return saying(column.channel) + together


def domain_text(column: ReleasedColumn) -> str:
    """The domain as people write it."""
    attribute = column.attribute
    if isinstance(attribute.domain, Categories):
        labels = attribute.domain.values
        text = ", ".join(labels[:6]) + (f", … ({len(labels)} in all)" if len(labels) > 6 else "")
    elif attribute.domain is not None:
        text = f"{attribute.shown(attribute.domain.low)} to {attribute.shown(attribute.domain.high)}"
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
sfumato reconstruct {{this folder}} --plot out.svg  # the true distributions, with their uncertainty
{mining}```"""


def _checked(manifest: Manifest) -> str:
    data = manifest.data
    if not data.parts:
        return f"SHA-256 of `{data.file}`"
    return f"`{data.file}` is a folder of {data.parts} files; SHA-256 of their list, as `sha256sum * | sha256sum` in it gives it"


def cautions(manifest: Manifest) -> list[str]:
    """What a careful person would want said about this release."""
    out = []
    if clear := [c.attribute.name for c in manifest.columns if c.clear and c.attribute.role is not Role.TARGET]:
        out.append(f"Released as they are, and so able to single people out: {', '.join(clear)}.")
    if learned := [c.attribute.name for c in manifest.columns if c.attribute.learned]:
        out.append(f"The domain was learned from the data, so its ends or labels are real ones: {', '.join(learned)}.")
    gaps = [c for c in manifest.columns if c.missing_public]
    moved = [c.attribute.name for c in gaps if c.guided is not None and gaps_travel(c, manifest.method or {})]
    if moved:
        out.append(
            f"Missing values were swapped like any other: an empty cell is as a rule another person's: {', '.join(moved)}."
        )
    if kept := [c.attribute.name for c in gaps if c.attribute.name not in moved]:
        out.append(f"Missing values are left missing, which reveals who has none: {', '.join(kept)}.")
    if true := [
        f"{c.attribute.name} ({100 * (exactly_true(c.channel, c.attribute) or 0.0):.4g} %)"
        for c in manifest.columns
        if c.channel is not None and hides_little(c.channel, c.attribute)
    ]:
        out.append(
            "The steps of its grid are wide against the noise, so that most cells, by the law's own probability, hold exactly "
            f"their true value: {', '.join(true)}."
        )
    if infinite := [c.attribute.name for c in manifest.columns if c.channel and c.channel.guarantee().reason]:
        out.append(f"No finite ε of differential privacy holds for: {', '.join(infinite)}.")
    if manifest.method is not None:
        out.append(
            "The noise was bent around patterns of the whole table, so no figure holds value by value: mine the release as it is, "
            "and let the owner's audit say what an intruder can still find out."
        )
        out.extend(str(limit) for limit in manifest.extra.get("public", {}).get("limits", ()))
    if manifest.joint is not None:
        out.append(joint_words(manifest.joint))
    if manifest.again:
        out.append(
            f"The same rows were released before ({', '.join(manifest.again)}) with independent noise; averaging the "
            "releases weakens the privacy stated here."
        )
    if manifest.addressing == "entity":
        out.append(
            "Noise belongs to the entity: one that turns up in other releases with the same value has the same noise."
        )
    return out


def joint_words(law: CorrelatedGaussian) -> str:
    """What a recipient must know of noise that was drawn together."""
    c = f" = {law.ratio:.4g} Σx" if law.ratio is not None else ""
    shrunk = f", and Σx = Σy/{1 + law.ratio:.4g} without it" if law.ratio is not None else ""
    return (
        f"The noise of {listed(law.names, 30)} is correlated (covariance Σr{c}, in the manifest): each column alone may be treated as "
        f"gaussian, but not two of them as independent. Covariances of the true values are Σx = Σy − Σr{shrunk}. Σr tells them "
        "as well: figures of the whole table, not of a row."
    )


def _cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", r"\|").replace("\n", " ")


def _cautions(manifest: Manifest) -> str:
    found = cautions(manifest)
    return "\n".join(f"- {line}" for line in found) if found else "- Nothing beyond what the table above says."

"""The owner's intent: for each column what it is, what its people agreed to, and which law blurs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato import datasets
from sfumato.channels import CHANNELS, JOINT_LAWS, Channel, channel_class
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.io import Reading, ReadTable, Source, open_table, parse_toml, read_blocks, read_document
from sfumato.plans.profile import profile
from sfumato.plans.proposal import (
    CLASS_NAMES,
    Proposal,
    note,
    propose_column,
    propose_published,
    remarks,
    tie_to_people,
)
from sfumato.schema import Attribute, Consent, Role, Schema, check_promise
from sfumato.text import join_names

DEFAULT_LAW = "gaussian"
ORDERED = "; neighbouring rows are alike, so their order gives values away: shuffle the rows (see [release])"

HEADER = """\
A plan for {table}, proposed by looking at it. Read it, change it, then release the table with it.

kind      real, integer, date (noise on numbers); categorical, ordinal (substitution of labels)
consent   withhold (the column is dropped), true (released as it is), modified (blurred by its noise)
role      attribute, target (the class that miners predict), identifier (ties noise to a person; never mixed in)
domain    all values that are possible, not only those that occur: it is published with the release.
          domain_from = "data" says that it was learned from the table, so the ends or the labels tell something
          about real rows. Put in what is publicly known, and remove that line.
noise     a law with its parameters (privacy = width of the 95 % interval as a fraction of the range):
{laws}
method    in [release], for the numeric columns without noise of their own:
{joint}
scale     for real numbers that a few large values stretch: the noise is a share of the scale, figures stay in the unit.
          "sqrt", "cbrt", {{ name = "log", unit = 100 }} (or "asinh", with negative values; even below the unit), or
          {{ name = "quantile", values = [...] }} with quantiles of a public table
clip      true moves values beyond the ends of the domain to them
promise   the smaller 95 % interval that the owner promises, in the column's unit (or labels), where attacks through other
          columns leave less than the noise says; it is published, and an audit judges by it
missing_values   texts that mean "no value"; missing = "category" lets absence take part in substitution
"""


@dataclass(frozen=True)
class Plan:
    """A schema, the wish for each modified column, and the texts that mean a missing value.

    Attributes
    ----------
    schema : Schema
        The columns: kind, domain, role and consent.
    channels : mapping of str to Channel
        The law of each column that is to be modified.
    absent : mapping of str to tuple of str
        Texts that mean a missing value, by column.
    name : str, optional
        The release's name; noise is fixed for a name.
    notes : mapping of str to str
        A word on each column of a proposed plan.
    method : mapping, optional
        A guided method with its parameters, which takes the place of noise column by column, or a joint law for the columns
        that have no noise of their own.
    shuffle : bool
        Put the rows in a random order that only the owner's key can undo.
    ordered : tuple of str
        Columns to be modified whose neighbouring rows were alike in the table that the plan was proposed from.
    remarks : tuple of str
        What a person should know of a proposed plan: columns withheld, texts taken as missing, doubts.
    reading : Reading, optional
        How the table is read, where it is not a plain one.
    promises : mapping of str to float
        By column, the smaller 95 % interval that the owner promises in the place of the law's own.

    Examples
    --------
    >>> import sfumato as sf
    >>> plan = sf.Plan.propose("iris", noise="gaussian", privacy=0.5)
    >>> plan.channels["petal_width"].privacy
    0.5
    >>> sf.Plan.from_dict(plan.to_dict()) == plan
    True
    """

    schema: Schema
    channels: Mapping[str, Channel]
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str | None = None
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    method: Mapping[str, Any] | None = None
    shuffle: bool = False
    ordered: tuple[str, ...] = field(default=(), compare=False)
    remarks: tuple[Note, ...] = field(default=(), compare=False)
    reading: Reading | None = field(default=None, compare=False)
    promises: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        modified = [a.name for a in self.schema if a.consent is Consent.MODIFIED]
        if self.method is not None and not isinstance(self.method.get("law"), str):
            raise UsageError('a method must be written as { law = "leaf-swap" }, with its parameters beside the law')
        if self.method is None and (lacking := [n for n in modified if n not in self.channels]):
            raise UsageError(
                f"{join_names(lacking)}: to be modified, but by no noise; give it noise, or another consent"
            )
        if self.method is not None and self.method["law"] not in JOINT_LAWS and (scaled := self.scaled):
            raise UsageError(
                f"{join_names(scaled)}: a scale is for noise, and {self.method['law']} is not; leave the scale out"
            )
        if beyond := [n for n in self.channels if n not in modified]:
            raise UsageError(f'{join_names(beyond)}: has noise but is not to be modified; set consent = "modified"')
        if beyond := [n for n in self.promises if n not in self.channels]:
            raise UsageError(f"{join_names(beyond)}: promise is for a column with noise of its own; leave it out")
        if not [a for a in self.schema if a.released]:
            raise UsageError("the plan releases no column; let at least one be true or modified")

    def bind(self) -> dict[str, Channel]:
        """Bind the law of each modified column; raise UsageError for one that would change nothing, or hides less than promised."""
        from sfumato.privacy import refuse_unchanged

        laws = {name: self.channels[name].on(self.schema[name]) for name in self.channels}
        for name, law in laws.items():
            refuse_unchanged(law, self.schema[name])
            if (promise := self.promises.get(name, 0.0)) > (width := law.interval_width(0.95)):
                raise UsageError(
                    f"{name}: promise = {promise:g} is more than its noise hides, an interval of {width:.4g}; promise less, or ask "
                    "for more privacy"
                )
        return laws

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        columns = []
        for attribute in self.schema:
            entry = attribute.to_dict()
            if attribute.name in self.channels:
                entry["noise"] = self.channels[attribute.name].to_dict()
            if attribute.name in self.promises:
                entry["promise"] = self.promises[attribute.name]
            if (absent := self.absent.get(attribute.name, ("",))) != ("",):
                entry["missing_values"] = list(absent)
            columns.append(entry)
        method = None if self.method is None else dict(self.method)
        about = {"name": self.name, "method": method, "shuffle": self.shuffle}
        reading = {} if self.reading is None else {"reading": self.reading.to_dict()}
        return {"release": {k: v for k, v in about.items() if v}} | reading | {"column": columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the inverse of `to_dict`."""
        if unknown := set(data) - {"release", "reading", "column"}:
            raise UsageError(
                f"a plan has no section {join_names(sorted(unknown))}; it has [release], [reading] and [[column]]"
            )
        attributes, channels, absent, promises = [], {}, {}, {}
        entries = data.get("column", [])
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
            raise UsageError("a plan's columns must be written as [[column]] sections")
        for column in entries:
            entry = dict(column)
            noise, words, promise = (entry.pop(field, None) for field in ("noise", "missing_values", "promise"))
            attribute = Attribute.from_dict(entry)
            attributes.append(attribute)
            if noise is not None:
                if not isinstance(noise, Mapping):
                    raise UsageError(
                        f'{attribute.name}: noise must be written as {{ law = "gaussian", privacy = 0.5 }}'
                    )
                try:
                    channels[attribute.name] = Channel.from_dict(noise)
                except UsageError as error:
                    raise UsageError(f"{attribute.name}: {error}") from None
            if promise is not None:
                promises[attribute.name] = check_promise(attribute.name, promise)
            if words is not None:
                if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
                    raise UsageError(f'{attribute.name}: missing_values must be a list of texts, such as ["", "?"]')
                absent[attribute.name] = tuple(words)
        about = data.get("release", {})
        if not isinstance(about, Mapping) or set(about) - {"name", "method", "shuffle"}:
            raise UsageError("the [release] section of a plan holds a name, a method and shuffle, and nothing else")
        method = about.get("method")
        if not isinstance(method, Mapping | None):
            raise UsageError(f'the method {method!r} must be written as {{ law = "leaf-swap" }}')
        name = about.get("name")
        if not isinstance(name, str | None):
            raise UsageError(f"the release's name must be text, not {name!r}")
        if not isinstance(shuffle := about.get("shuffle", False), bool):
            raise UsageError(f"shuffle = {shuffle!r} in [release] must be true or false")
        reading = Reading.from_dict(data["reading"]) if "reading" in data else None
        schema = Schema(tuple(attributes))
        return cls(
            schema, channels, absent, name or None, method=method, shuffle=shuffle, reading=reading, promises=promises
        )

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from its TOML file."""
        try:
            return cls.from_dict(parse_toml(read_document(Path(path))))
        except OSError as error:
            raise UsageError(
                f"the plan {path} cannot be read: {error.strerror}; let one be proposed with: sfumato plan INPUT -o {path}"
            ) from None
        except UnicodeDecodeError as error:
            raise UsageError(f"the plan {path} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
        except ValueError as error:
            raise UsageError(f"the plan {path} is not TOML: {error}; fix that place") from None
        except UsageError as error:
            raise UsageError(f"the plan {path}: {error}") from None

    def to_toml(self, table: str = "TABLE") -> str:
        """Return the plan as a text that a person can read and edit."""
        import tomlkit

        document = tomlkit.document()
        laws, joint = _list_laws(CHANNELS), _list_laws(JOINT_LAWS)
        for line in HEADER.format(table=table, laws=laws, joint=joint).splitlines():
            document.add(tomlkit.comment(line) if line else tomlkit.nl())
        about = tomlkit.table()
        if self.name:
            about.add("name", self.name)
        if self.method is not None:
            about.add("method", _inline(self.method))
        if self.shuffle:
            about.add("shuffle", True)
            about.add(
                tomlkit.comment("shuffle: rows are released in a random order, which only the owner's key can undo")
            )
        about.add(
            tomlkit.comment('method = { law = "leaf-swap" } bends the noise around a pattern instead; see the guide')
        )
        about.add(tomlkit.comment("name: noise is fixed for a name; without one, for the table"))
        document.add("release", about)
        if self.reading is not None:
            section = tomlkit.table()
            section.add(tomlkit.comment("how the table is read; remove a line to have it found out again"))
            for key, value in self.reading.to_dict().items():
                section.add(key, _inline(value) if isinstance(value, dict) else value)
            document.add("reading", section)
        entries = tomlkit.aot()
        for entry in self.to_dict()["column"]:
            section = tomlkit.table()
            if note := self.notes.get(entry["name"]):
                section.add(tomlkit.comment(note))
            for key, value in entry.items():
                section.add(key, _inline(value) if isinstance(value, dict) else value)
            section.add(tomlkit.nl())
            entries.append(section)
        document.add("column", entries)
        return tomlkit.dumps(document)

    @classmethod
    def propose(
        cls,
        table: Any,
        *,
        target: str | None = None,
        identifier: str | None = None,
        noise: str | None = None,
        privacy: float | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> Plan:
        """Look at a table and propose a plan: one law for all columns, substitution where they have no distances."""
        source = open_table(table, encoding)
        for wanted in (target, identifier):
            if wanted is not None and wanted not in source.columns:
                raise UsageError(
                    f"{source.name} has no column {wanted!r}; its columns are {join_names(source.columns)}"
                )
        if target is not None and target == identifier:
            raise UsageError(
                f"{target}: a column is either the class or the id; name another for target= or identifier="
            )
        proposals = _proposals(source, target, identifier)
        if not any(p.attribute.released for p in proposals.values()):
            reasons = join_names([f"{n} ({p.why})" for n, p in proposals.items()], 3)
            raise DataError(
                f"{source.name}: no column can be proposed for release: {reasons}; give a table of more rows, or write a "
                "plan that declares the domains"
            )
        law, companion = noise_for(noise, privacy, options or {})
        channels: dict[str, Channel] = {}
        notes = {n: note(p) for n, p in proposals.items()}
        outdone: list[str] = []
        for proposal in proposals.values():
            attribute = proposal.attribute
            if attribute.consent is Consent.MODIFIED:
                channels[attribute.name], why = channel_for(law, companion, attribute)
                notes[attribute.name] += why + (ORDERED if proposal.ordered else "")
                outdone += [attribute.name] if why and channels[attribute.name] is law else []
        return cls(
            Schema(tuple(p.attribute for p in proposals.values())),
            channels,
            {n: p.absent for n, p in proposals.items() if p.absent != ("",)},
            name,
            notes,
            shuffle=any(proposals[n].ordered for n in channels),
            ordered=tuple(n for n in channels if proposals[n].ordered),
            remarks=(*reading_notes(source), *remarks(proposals), *_suggest_reports(law, outdone)),
            reading=source.remembered if isinstance(source, ReadTable) else None,
        )

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What to know before a release follows the plan: remarks, and domains or an order of rows that give something away."""
        out = list(self.remarks)
        if names := self.learned:
            words = (
                f"the domain of {join_names(names)} was learned from the data, and its ends or labels will be published. "
                "Declare domains in a plan to avoid it"
            )
            out.append(Note("SF101", words))
        if self.ordered:
            alike = f"neighbouring rows are alike in {join_names(self.ordered)}, as in a sorted table"
            kept = (
                ": a release keeps the order of rows, and the noise of neighbours averages out. Shuffle the rows of the table "
                "first; their order is not needed"
            )
            moved = ", and the noise of neighbours averages out. So the plan has shuffle = true: rows are released in a random order"
            out.append(Note("SF102", alike + (moved if self.shuffle else kept)))
        return tuple(out)

    @property
    def scaled(self) -> list[str]:
        """Columns whose noise acts on a scale."""
        return [a.name for a in self.schema if a.scale is not None and a.released]

    @property
    def learned(self) -> list[str]:
        """Released columns whose domain came from the data."""
        return [a.name for a in self.schema if a.learned and a.released]


def _suggest_reports(law: Channel, names: list[str]) -> tuple[Note, ...]:
    """Return a note on columns of many labels, where another law than the one asked for is estimated better."""
    words = f'{join_names(names)}: {law.law}, as asked; at this γ this many labels are estimated better by law = "projective"'
    return (Note("SF274", words),) if names else ()


def reading_notes(source: Source) -> tuple[Note, ...]:
    """Return what to know of how a table is read."""
    return source.notes if isinstance(source, ReadTable) else ()


def _list_laws(laws: Mapping[str, Any]) -> str:
    """Return a line per law: its name, what it does, its parameters."""
    return "\n".join(
        f"  {name:<20}{law.summary()} ({', '.join(law.parameters())})" for name, law in sorted(laws.items())
    )


def _inline(value: Mapping[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.inline_table()
    table.update(value)
    return table


def _proposals(source: Source, target: str | None, identifier: str | None) -> dict[str, Proposal]:
    if source.name in datasets.names():
        about = datasets.describe(source.name)
        known = propose_published(source.name, about["columns"], target or about["target"])
        if identifier is None:
            return known
    seen = profile(read_blocks(source))
    if not seen:
        raise DataError(f"{source.name} has a header but no rows; a release needs at least one")
    if target is None and identifier not in CLASS_NAMES:
        target = next((n for n in CLASS_NAMES if n in seen and len(seen[n].counts or "x" * 99) <= 50), None)
    proposals = {name: propose_column(column, target, identifier) for name, column in seen.items()}
    return proposals if identifier else tie_to_people(proposals, seen)


def noise_for(noise: str | None, privacy: float | None, options: Mapping[str, Any]) -> tuple[Channel, Channel]:
    """Return the law asked for, and the substitution that stands in for it on columns without distances."""
    noise = DEFAULT_LAW if noise is None else noise
    cls = channel_class(noise)
    wishes = dict(options) | ({} if privacy is None else {"privacy": privacy}) or dict(cls.default)
    if unknown := set(wishes) - set(cls.parameters()):
        raise UsageError(
            f"{noise} has no parameter {join_names(sorted(unknown))}; it has {join_names(sorted(cls.parameters()), 12)}"
        )
    law = Channel.from_dict({"law": noise} | wishes)
    return law, law.companion()


def channel_for(law: Channel, companion: Channel, attribute: Attribute) -> tuple[Channel, str]:
    """Return the law of one column, and a word on the choice where there was one: labels or reports, by the lower variance.

    The law that was asked for is kept wherever it can act, and the better one is only named. A companion stands in for it, and
    may be replaced.
    """
    acts = law.numeric if attribute.kind.numeric else law.categorical
    asked = law if acts else companion
    better = asked.suit(attribute)
    if better is asked:
        return asked, ""
    reports = "; this many labels at this γ are estimated better from reports than from substituted labels"
    if acts:
        return law, f'{reports}: law = "{better.law}"'
    return better, f'{reports} (law = "{asked.law}" in place of "{better.law}" keeps labels)'


def without_identifier(plan: Plan) -> Plan:
    """Return the plan with its identifier as a withheld column like any other, to which no noise is tied."""
    if (named := plan.schema.identifier) is None:
        return plan
    attributes = tuple(
        replace(a, role=Role.ATTRIBUTE, consent=Consent.WITHHOLD) if a is named else a for a in plan.schema
    )
    notes = dict(plan.notes) | {named.name: "an id of people that repeats, withheld"}
    told = tuple(line for line in plan.remarks if line.code != "SF273")
    return replace(plan, schema=Schema(attributes), notes=notes, remarks=told)


def with_consent(plan: Plan, name: str, consent: Consent) -> Plan:
    """Return the plan with another answer for one column."""
    attributes = tuple(replace(a, consent=consent) if a.name == name else a for a in plan.schema)
    channels = {n: c for n, c in plan.channels.items() if n != name or consent is Consent.MODIFIED}
    promises = {n: p for n, p in plan.promises.items() if n in channels}
    return replace(plan, schema=Schema(attributes), channels=channels, promises=promises)

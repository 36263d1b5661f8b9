"""The public statement that goes with a release: all a miner needs, and nothing an intruder could use beyond it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.channels import CHANNELS, Channel, CorrelatedGaussian, rejoin
from sfumato.errors import GET_RELEASE_AGAIN, DataError, SfumatoError
from sfumato.io import Written, parse_json, read_document
from sfumato.schema import Attribute, Missing, Schema, check_promise
from sfumato.text import join_names

VERSION = 1
NOISE_SCHEME = 2
"""How noise follows from key, table and value: 1 went by the release's name, 2 by a salt of the table."""
NONE = "none"
DRAFT = "draft, do not pass on: its owner publishes it, or withdraws it"
"""What everybody who opens a draft is told."""


@dataclass(frozen=True)
class ReleasedColumn:
    """One column of a release: what it is, the law it went through, how many cells are empty.

    Without `channel` and `guided`, values were released as true. `guided` names a method that bent the noise around a
    pattern of the whole table: such a column has no law value by value, and is mined as it is.
    """

    attribute: Attribute
    channel: Channel | None
    missing: int = 0
    guided: str | None = None
    absent: tuple[str, ...] = ("",)
    """Texts that stood for a missing value in the original."""
    promise: float | None = None
    """The smaller 95 % interval that the owner promises in the place of the law's own."""

    @property
    def clear(self) -> bool:
        """Whether the true values are in the release."""
        return self.channel is None and self.guided is None

    @property
    def missing_public(self) -> bool:
        """Whether the release shows which cells are missing in the input: some are, and no law turns them into values."""
        return self.missing > 0 and (self.channel is None or self.attribute.missing is Missing.KEEP)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        mechanism = {"law": self.guided or NONE} if self.channel is None else self.channel.to_dict()
        words = {} if self.absent == ("",) else {"missing_values": list(self.absent)}
        promise = {} if self.promise is None else {"promise": self.promise}
        return self.attribute.to_dict() | words | {"mechanism": mechanism, "missing_cells": self.missing} | promise

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReleasedColumn:
        """Return the column that `to_dict` described."""
        entry = dict(data)
        mechanism, missing = entry.pop("mechanism"), int(entry.pop("missing_cells"))
        absent = tuple(str(w) for w in entry.pop("missing_values", [""]))
        promise = entry.pop("promise", None)
        law = str(mechanism["law"])
        channel = Channel.from_dict(mechanism) if law in CHANNELS else None
        guided = law if channel is None and law != NONE else None
        attribute = Attribute.from_dict(entry)
        if channel is not None:
            # Refuses what no release can hold: a law without its scale, for another kind of column, or for another domain.
            bound = channel.on(attribute)
            same_step = math.isclose(bound.step or 0.0, channel.step or 0.0, rel_tol=1e-9)
            if not channel.is_bound or bound.ends != channel.ends or not same_step:
                raise ValueError(f"{attribute.name}: the law is bound to another domain than that of the column")
            _check_size(attribute, channel)
        if promise is not None:
            promise = check_promise(attribute.name, promise)
            if channel is None or promise > channel.interval_width(0.95) * (1 + 1e-9):
                raise ValueError(f"{attribute.name}: it promises an interval of {promise:g}, more than its law hides")
        return cls(attribute, channel, missing, guided, absent, promise)


@dataclass(frozen=True)
class RowsOfEntities:
    """How many entities a release is about, where some have several rows.

    Parameters
    ----------
    column : str
        The column of the original that names the entity.
    number : int
        How many entities there are.
    most_rows : int
        No entity has more rows than this; rounded up, so that it is not one person's own count.
    """

    column: str
    number: int
    most_rows: int

    def __post_init__(self) -> None:
        if self.number < 1 or self.most_rows < 2:
            raise DataError(f"entities: {self.number} of up to {self.most_rows} rows; some must have two")


def round_rows_up(rows: int) -> int:
    """Return the next of 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, …

    Examples
    --------
    >>> [round_rows_up(rows) for rows in (1, 2, 4, 17, 31, 101)]
    [1, 2, 5, 20, 50, 150]
    """
    small = (1, 2, 3, 5, 7, 10)
    if rows <= small[-1]:
        return next(s for s in small if s >= rows)
    decade = 10 ** (len(str(rows - 1)) - 1)
    return next(int(s * decade) for s in (1, 1.5, 2, 3, 5, 7, 10) if s * decade >= rows)


@dataclass(frozen=True)
class Manifest:
    """The public statement of a release: laws with their parameters, domains, counts and a checksum.

    `addressing` says whether noise belongs to a row of this release or to an entity wherever it turns up. `again` names
    earlier releases of the same rows whose noise is independent of this one's. `joint` is the law of columns whose noise
    was drawn together; each of them is stated by itself as well. `entities` says how many rows an entity may have, where some have
    several. A `draft` is not to be passed on. Rows that were `shuffled` stand in a random order, which the owner's key
    can undo.

    Examples
    --------
    >>> import tempfile, sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris", privacy=0.5), f"{folder}/out", key=f"{folder}/key")
    ...     manifest = sf.Manifest.load(release.folder)
    >>> manifest.data.rows, manifest["petal_width"].channel.law
    (150, 'gaussian')
    """

    name: str
    columns: tuple[ReleasedColumn, ...]
    data: Written
    salt: str = ""
    addressing: str = "row"
    withheld: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    version: int = VERSION
    scheme: int = NOISE_SCHEME
    extra: Mapping[str, Any] = field(default_factory=dict)
    joint: CorrelatedGaussian | None = None
    entities: RowsOfEntities | None = None
    draft: bool = False
    shuffled: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The schema of the released columns."""
        return Schema(tuple(c.attribute for c in self.columns))

    @cached_property
    def _by_name(self) -> dict[str, ReleasedColumn]:
        return {c.attribute.name: c for c in self.columns}

    def __getitem__(self, name: str) -> ReleasedColumn:
        return self._by_name[self.schema[name].name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "sfumato_manifest": self.version,
            "name": self.name,
            "noise_scheme": self.scheme,
            "salt": self.salt,
            "rows": self.data.rows,
            "data": self.data.to_dict(),
            "noise_belongs_to": self.addressing,
            "withheld": list(self.withheld),
            "independent_of_earlier_releases": list(self.again),
            "attributes": [c.to_dict() for c in self.columns],
        } | {
            name: value
            for name, value in (
                ("joint", self.joint and self.joint.to_dict()),
                ("entities", self.entities and asdict(self.entities)),
                ("extra", dict(self.extra)),
                ("draft", self.draft),
                ("shuffled", self.shuffled),
            )
            if value
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Manifest:
        """Return the manifest that `to_dict` described; raise DataError for whatever is not understood."""
        version = data.get("sfumato_manifest")
        if version is None:
            raise DataError(f"the manifest states no version, so it is none of this program; {GET_RELEASE_AGAIN}")
        if version != VERSION:
            raise DataError(
                f"the manifest has version {version!r}, and this program reads version {VERSION}; update the program: "
                "pip install -U sfumato"
            )
        known = {
            "sfumato_manifest", "name", "noise_scheme", "salt", "rows", "data", "noise_belongs_to", "withheld",
            "independent_of_earlier_releases", "attributes", "extra", "joint", "entities", "draft", "shuffled",
        }  # fmt: skip
        if unknown := set(data) - known:
            raise DataError(
                f"the manifest holds {join_names(sorted(unknown))}, which this version does not know; update the program: "
                "pip install -U sfumato"
            )
        try:
            file = data["data"]["file"]
            if not isinstance(file, str) or Path(file).name != file or file in ("", ".."):
                raise DataError(f"the manifest speaks of the file {file!r}, which is not the name of a file beside it")
            columns = tuple(ReleasedColumn.from_dict(c) for c in data["attributes"])
            _check_extra(data.get("extra", {}))
            _check_agreement(data, columns)
            joint = CorrelatedGaussian.from_dict(data["joint"]) if data.get("joint") else None
            return cls(
                name=str(data["name"]),
                salt=str(data.get("salt", "")),
                scheme=_check_scheme(data.get("noise_scheme", 1)),
                columns=columns if joint is None else _attach_joint(columns, joint),
                data=_read_written(data["data"]),
                addressing=str(data["noise_belongs_to"]),
                withheld=tuple(data["withheld"]),
                again=tuple(data["independent_of_earlier_releases"]),
                extra=dict(data.get("extra", {})),
                joint=joint,
                entities=RowsOfEntities(**data["entities"]) if data.get("entities") else None,
                draft=_read_mark(data, "draft"),
                shuffled=_read_mark(data, "shuffled"),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            lacking = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"the manifest is not complete: {lacking}; {GET_RELEASE_AGAIN}") from None
        except SfumatoError as error:
            raise DataError(f"the manifest contradicts itself: {error}; {GET_RELEASE_AGAIN}") from None

    @property
    def method(self) -> Mapping[str, Any] | None:
        """The guided method with its parameters, where the release was made by one."""
        return self.extra.get("method")

    def to_json(self) -> str:
        """Return the manifest as it is written to the release folder."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, folder: str | Path) -> Manifest:
        """Read the manifest of a release folder."""
        path = Path(folder) / "manifest.json"
        try:
            data = parse_json(read_document(path))
        except FileNotFoundError:
            raise DataError(
                f"{folder} is not a release: it has no manifest.json; name a folder that `sfumato release` made"
            ) from None
        except NotADirectoryError:
            raise DataError(
                f"{folder} is a file, not a release folder; make a release with: sfumato release {folder} -o DIR"
            ) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise DataError(f"{path} cannot be read: {reason}; {GET_RELEASE_AGAIN}") from None
        if not isinstance(data, dict):
            raise DataError(f"{path} is not a manifest; {GET_RELEASE_AGAIN}")
        try:
            return cls.from_dict(data)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def _check_agreement(data: Mapping[str, Any], columns: tuple[ReleasedColumn, ...]) -> None:
    """Raise DataError where two places of a manifest say different things."""
    rows, names = data["rows"], [c.attribute.name for c in columns]
    if rows != data["data"]["rows"]:
        raise DataError(f"it states {rows} rows, and {data['data']['rows']} of its data")
    if not columns:
        raise DataError("it has no column")
    Schema(tuple(c.attribute for c in columns))  # raises where a column is described twice
    if wrong := [c.attribute.name for c in columns if not 0 <= c.missing <= rows]:
        raise DataError(f"{join_names(wrong)}: missing_cells is not a number between 0 and {rows}")
    if both := sorted(set(names) & set(map(str, data["withheld"]))):
        raise DataError(f"{join_names(both)}: withheld, and released all the same")
    if data["noise_belongs_to"] not in ("row", "entity", "table"):
        raise DataError(f"noise_belongs_to is {data['noise_belongs_to']!r}, and not row, entity or table")
    texts = [data["name"], data.get("salt", ""), *data["withheld"], *data["independent_of_earlier_releases"]]
    if not all(isinstance(text, str) for text in texts):
        raise DataError("its name, its salt, and the names of columns and releases must be texts")


def _check_extra(extra: Any) -> None:
    """Raise DataError unless what a method states is of the form that readers expect."""
    method, public = extra.get("method", {}), extra.get("public", {})
    limits = public.get("limits", []) if isinstance(public, dict) else None
    if not isinstance(method, dict) or not isinstance(limits, list) or not isinstance(method.get("law", ""), str):
        raise DataError("what it states of its method, under extra, cannot be read")


def _check_size(attribute: Attribute, channel: Channel) -> None:
    """Raise ValueError where a law of bins states another number of them than it has."""
    size = getattr(channel, "size", None)
    if size is None:
        return
    edges, values = getattr(channel, "edges", None), getattr(channel, "values", None)
    bins = len(values) if values else len(edges or ()) - 1
    fitting = bins if attribute.kind.numeric else len(attribute.labels)
    if size < 2 or size != fitting:
        raise ValueError(f"{attribute.name}: size = {size} does not fit its domain")


def _check_scheme(scheme: Any) -> int:
    if isinstance(scheme, bool) or not isinstance(scheme, int) or not 1 <= scheme <= NOISE_SCHEME:
        raise DataError(f"its noise scheme is {scheme!r}, and this program knows 1 to {NOISE_SCHEME}")
    return scheme


def _read_mark(data: Mapping[str, Any], name: str) -> bool:
    if not isinstance(mark := data.get(name, False), bool):
        raise DataError(f"{name} is {mark!r}, and not true or false")
    return mark


def _read_written(data: Mapping[str, Any]) -> Written:
    about = Written(**data)
    for name in ("rows", "bytes", "parts"):
        number = getattr(about, name)
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"data: {name} = {number!r} is not a count")
    return about


def _attach_joint(columns: tuple[ReleasedColumn, ...], joint: CorrelatedGaussian) -> tuple[ReleasedColumn, ...]:
    if unknown := set(joint.names) - {c.attribute.name for c in columns}:
        raise DataError(f"the joint law speaks of {join_names(sorted(unknown))}, which the release does not hold")
    return tuple(
        replace(c, channel=rejoin(joint, c.attribute.name, c.channel)) if c.attribute.name in joint.names else c
        for c in columns
    )

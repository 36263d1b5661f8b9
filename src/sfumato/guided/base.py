"""A guided method: noise bent around a pattern of the whole table, by its name, with its parameters and its needs.

Importing the module of a method enters it in `METHODS`. Nothing else in the house lists methods by name.
"""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.counts import IntArray
from sfumato.engines import Needs
from sfumato.errors import UsageError
from sfumato.findings import Note
from sfumato.randomness import Stream
from sfumato.schema import Attribute
from sfumato.table import Original, Table
from sfumato.text import join_names
from sfumato.trees import Similarity

METHODS: dict[str, type[Method]] = {}
"""Every guided method by its law."""


class Pattern(StrEnum):
    """What noise is bent around."""

    TREE = "tree"
    CLUSTERS = "clusters"


@dataclass(frozen=True, eq=False)
class Perturbed:
    """A perturbed table and what is to be said of it.

    Attributes
    ----------
    table
        The release: the same rows in the same order, except those that were left out.
    changed
        For every column, and the class, the share of its cells that differ from the original.
    public
        What the manifest says beside the parameters.
    owner
        Figures of the original table, for the owner alone.
    warnings
        Sentences for the owner, above all the columns that stayed in clear.
    similarity
        Likeness of the release's tree to the owner's, where draws were compared (`best_of` above 1).
    left_out
        The rows of the original that have none in the release.
    """

    table: Table
    changed: Mapping[str, float]
    public: Mapping[str, Any] = field(default_factory=dict)
    owner: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Note, ...] = ()
    similarity: Similarity | None = None
    left_out: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, original: Original, table: Table, **more: Any) -> Perturbed:
        """Measure what changed, and name the columns that stayed in clear."""
        min_share = 0.01  # a column of which a smaller share of values changed is named in a warning
        changed = changed_shares(original, table)
        changes = [(c.name, changed[c.name]) for c in original.columns]
        clear = [name for name, share in changes if share == 0]
        warnings = list(more.pop("warnings", ()))
        if clear:
            words = (
                f"{join_names(clear, 30)}: released as in the original; anyone who knows these values finds the record by them. "
                "Withhold the columns, or perturb them by another method"
            )
            warnings.append(Note("SF221", words))
        hardly = [name for name, share in changes if 0 < share < min_share]
        if hardly:
            words = (
                f"{join_names(hardly, 30)}: fewer than {min_share:.0%} of the values changed, which protects hardly anybody; raise "
                "the noise, or perturb them by another method"
            )
            warnings.append(Note("SF222", words))
        return cls(table, changed, warnings=tuple(warnings), **more)


def parameter(default: Any, about: str) -> Any:
    """Return a dataclass field that a person may set; `about` says what it does."""
    return dataclasses.field(default=default, metadata={"about": about})


class GuidedMethod(Protocol):
    """A guided method with its parameters, ready for a whole table."""

    needs: ClassVar[Needs]

    @property
    def law(self) -> str:
        """The name of the method."""

    def to_dict(self) -> dict[str, Any]:
        """Return the public statement of the method."""

    def perturb(self, table: Original, stream: Stream) -> Perturbed:
        """Perturb the whole table."""


class Method(ABC):
    """One guided method. Subclasses are frozen dataclasses of their parameters, which all have defaults.

    Those with a `law`, the name of the method in plans, manifests and JSON, are registered.
    """

    law: ClassVar[str]
    needs: ClassVar[Needs] = Needs.ROWS
    family: ClassVar[str | None] = None
    """One name for several methods, which their `kind` tells apart."""
    kind: ClassVar[str] = ""
    pattern: ClassVar[Pattern]
    """What the owner mines first, and what a recipient finds again."""
    words: ClassVar[str]
    """What is done to a column; of methods that treat numbers and labels differently, what is done to numbers."""
    reads: ClassVar[str] = "Single cells may still be true ones"
    """What a row of the release may be taken for."""
    uses: ClassVar[str]
    """What the release is good for as it is."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "law" in cls.__dict__:
            METHODS[cls.law] = cls

    def to_dict(self) -> dict[str, Any]:
        """Return the method and its parameters as plain data; `from_dict` reads it back."""
        return {"law": self.law} | {name: getattr(self, name) for name in self.parameters()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the method with the given parameters; values may be texts, as a command line gives them."""
        fields = _fields(cls)
        if unknown := set(data) - set(fields) - {"law"}:
            raise UsageError(
                f"{cls.law} has no parameter {join_names(sorted(unknown))}; it has {join_names(sorted(fields), 12)}"
            )
        return cls(
            **{name: _read(cls.law, name, value, fields[name].default) for name, value in data.items() if name != "law"}
        )

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """Return what a person may set, each with its description."""
        return {name: str(field.metadata.get("about", "")) for name, field in _fields(cls).items()}

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the method's documentation."""
        return (cls.__doc__ or cls.law).strip().partition("\n")[0]

    @classmethod
    def in_words(cls, attribute: Attribute, stated: Mapping[str, Any]) -> str:  # noqa: ARG003 - what a method may ask for
        """Say in one line what was done to a column; `stated` is the public statement of the method."""
        return cls.words

    @classmethod
    def row_in_words(cls, stated: Mapping[str, Any], numbers: int) -> str:  # noqa: ARG003 - what a method may ask for
        """Say what a row may be taken for; `numbers` is how many numeric columns were changed."""
        return f"{cls.reads}."

    @classmethod
    def moves_gaps(cls, attribute: Attribute, stated: Mapping[str, Any]) -> bool:  # noqa: ARG003 - what a method may ask for
        """Return whether missing values of a column move with the others, so that an empty cell is not its own row's."""
        return False

    @classmethod
    def plan(cls, parameters: Mapping[str, Any]) -> GuidedMethod:
        """Return the method as it is laid on a whole table; parameters may be texts."""
        raise NotImplementedError


def make_method(law: str, parameters: Mapping[str, Any]) -> GuidedMethod:
    """Return a guided method by its name.

    Parameters
    ----------
    law
        The name of a method, or of a family of methods; a family takes the method's `kind` among the parameters.
    parameters
        The method's parameters, as numbers or as texts.
    """
    if family := {m.kind: m for m in METHODS.values() if m.family == law}:
        *others, last = family
        rest = {"kind": next(iter(family))} | dict(parameters)
        kind = str(rest.pop("kind"))
        if kind not in family:
            raise UsageError(f"{law}: kind = {kind!r} is unknown; choose {', '.join(others)} or {last}")
        return family[kind].plan(rest)
    if law in METHODS:
        return METHODS[law].plan(parameters)
    if law in CHANNELS:
        raise UsageError(
            f"{law} is noise for each column, not a method: give it as noise={law}, or write it as noise in the plan"
        )
    raise UsageError(f"there is no method {law!r}; the methods are {join_names([*JOINT_LAWS, *sorted(METHODS)], 20)}")


def is_guided(law: str) -> bool:
    """Return whether a name is that of a guided method or of a family of them."""
    return law in METHODS or any(m.family == law for m in METHODS.values())


def changed_shares(original: Original, released: Table) -> dict[str, float]:
    """Return the share of cells of each column, the target included, that differ; missing in both is the same."""
    out = {}
    for before, after in zip(original.all_columns, released.all_columns, strict=True):
        same = (before.values == after.values) | (np.isnan(before.values) & np.isnan(after.values))
        out[before.name] = float(np.mean(~same)) if len(same) else 0.0
    return out


def _fields(of: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(of)}


def _read(law: str, name: str, value: Any, default: Any) -> Any:
    """Convert the value to the type of its default; raise UsageError where it does not fit."""
    kind: Any = type(default)
    if kind is bool and isinstance(value, str):
        if value.lower() in ("true", "yes", "1"):
            return True
        if value.lower() in ("false", "no", "0"):
            return False
    elif kind is int and isinstance(value, float) and not value.is_integer():
        pass
    else:
        try:
            return kind(value)
        except (TypeError, ValueError):
            pass
    raise UsageError(
        f"{law}: {name} = {value!r} is not of type {kind.__name__}; see what it means in the method's parameters"
    )

"""A guided method: noise bent around a pattern of the whole table, by its name, with its parameters and its needs.

Importing the module of a method enters it in `METHODS`. Nothing else in the house lists methods by name.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.engines import Needs
from sfumato.errors import UsageError
from sfumato.parameters import Parameters
from sfumato.randomness import Stream
from sfumato.schema import Attribute
from sfumato.table import Original
from sfumato.text import join_names

if TYPE_CHECKING:
    from sfumato.guided.tree.base import Perturbed

METHODS: dict[str, type[Method]] = {}
"""Every guided method by its law."""


class Pattern(StrEnum):
    """What noise is bent around."""

    TREE = "tree"
    CLUSTERS = "clusters"


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


class Method(Parameters, ABC):
    """One guided method. Subclasses are frozen dataclasses of their parameters; those with a `law` are registered."""

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

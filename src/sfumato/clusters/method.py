"""What every perturbation around clusters has in common: parameters in fields, and one call for a scaled table."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters.partition import LabelArray, checked_labels, finite_table
from sfumato.counts import FloatArray
from sfumato.errors import UsageError, listed
from sfumato.randomness import Stream

CLUSTER_METHODS: dict[str, type[ClusterMethod]] = {}
"""Every method by its name; importing its module enters it here."""


@dataclass(frozen=True)
class ClusterMethod(ABC):
    """One way to perturb a table around its clusters. Subclasses are frozen dataclasses of their parameters."""

    law: ClassVar[str]
    needs_clusters: ClassVar[bool] = True
    keeps_labels: ClassVar[bool] = False
    """Whether the original labels and centres are an exact k-means fixed point of every release."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "law" in cls.__dict__:
            CLUSTER_METHODS[cls.law] = cls

    def perturb(
        self, scaled: ArrayLike, labels: ArrayLike | None, centres: ArrayLike | None, stream: Stream
    ) -> FloatArray:
        """The perturbed table, on the same scale.

        Attributes that are constant in the whole table are released as they are: they hold no secret, and a rotation
        that spread others into them would hide nothing more.
        """
        table = finite_table(scaled)
        rows, columns = table.shape
        if not self.needs_clusters:
            labels_, centres_ = np.zeros(rows, np.int64), np.zeros((1, columns))
        elif labels is None or centres is None:
            raise UsageError(f"{self.law} perturbs around clusters; give labels and centres")
        else:
            centres_ = finite_table(centres, "the centres")
            if centres_.shape[1] != columns:
                raise UsageError(f"the centres have {centres_.shape[1]} attributes and the table {columns}")
            labels_ = checked_labels(labels, rows, len(centres_))
        if not rows:
            return table.copy()
        varying = np.flatnonzero(table.min(axis=0) < table.max(axis=0))
        if len(varying) == columns:
            return self._release(table, labels_, centres_, stream)
        out = table.copy()
        if len(varying):
            out[:, varying] = self._release(table[:, varying], labels_, centres_[:, varying], stream)
        return out

    @abstractmethod
    def _release(self, table: FloatArray, labels: LabelArray, centres: FloatArray, stream: Stream) -> FloatArray:
        """The perturbed table, given one with rows and without constant columns; the argument stays as it is."""

    def to_dict(self) -> dict[str, Any]:
        """The method and its parameters as plain data; `from_dict` gives it back."""
        return {"law": self.law} | dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The method with the given parameters; numbers may be texts, as a command line gives them."""
        fields = {f.name: f for f in dataclasses.fields(cls)}
        if unknown := set(data) - set(fields) - {"law"}:
            raise UsageError(
                f"{cls.law} has no parameter {listed(sorted(unknown))}; it has {listed(sorted(fields), 12)}"
            )
        given = {}
        for name, value in data.items():
            if name == "law":
                continue
            kind: Any = type(fields[name].default)
            try:
                given[name] = kind(value)
            except (TypeError, ValueError) as error:
                raise UsageError(f"{cls.law}: {name} = {value!r} is no {kind.__name__}; see what it means") from error
        return cls(**given)

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """What a person may set, with a word on each."""
        return {f.name: str(f.metadata.get("about", "")) for f in dataclasses.fields(cls)}


def method_class(law: str) -> type[ClusterMethod]:
    """The class of a method by its name."""
    if law not in CLUSTER_METHODS:
        raise UsageError(f"there is no cluster method {law!r}; there are {listed(sorted(CLUSTER_METHODS))}")
    return CLUSTER_METHODS[law]


def parameter(default: Any, about: str) -> Any:
    """A field that a person may set."""
    return dataclasses.field(default=default, metadata={"about": about})

"""What every perturbation around clusters has in common: parameters in fields, and one call for a scaled table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato.clusters import LabelArray, check_finite, check_labels
from sfumato.counts import FloatArray
from sfumato.errors import UsageError
from sfumato.guided.base import Method, Pattern
from sfumato.randomness import Stream
from sfumato.schema import Attribute, Role

if TYPE_CHECKING:
    from sfumato.guided.cluster.clustered import Clustered


@dataclass(frozen=True)
class ClusterMethod(Method):
    """One way to perturb a table around its clusters. Subclasses are frozen dataclasses of their parameters."""

    pattern: ClassVar[Pattern] = Pattern.CLUSTERS
    reads: ClassVar[str] = (
        "Numbers were moved, and none should be read as a fact about anyone, except one that a whole cluster shares; labels are "
        "true ones, but as a rule another person's"
    )
    uses: ClassVar[str] = (
        "Clusters of it come near the owner's. Other statistics of the modified columns are off by an amount that no law "
        "states, and cannot be corrected"
    )
    words_for_labels: ClassVar[str] = "labels swapped inside each cluster"
    needs_clusters: ClassVar[bool] = True
    swaps: ClassVar[bool] = False
    """Whether released numbers are those of other rows, wherever they find a place."""
    keeps_labels: ClassVar[bool] = False
    """Whether the original labels and centres are an exact k-means fixed point of every release."""

    @classmethod
    def in_words(cls, attribute: Attribute, stated: Mapping[str, Any]) -> str:  # noqa: ARG003 - whatever the clusters
        """Say what was done to a number or to a label."""
        return cls.words if attribute.kind.numeric else cls.words_for_labels

    @classmethod
    def moves_gaps(cls, attribute: Attribute, stated: Mapping[str, Any]) -> bool:  # noqa: ARG003 - whatever the clusters
        """Return whether the column holds labels, and is not the class."""
        return not attribute.kind.numeric and attribute.role is not Role.TARGET

    @classmethod
    def plan(cls, parameters: Mapping[str, Any]) -> Clustered:
        """Return the method around the clusters of a table; what does not say how to find clusters is the method's."""
        from sfumato.guided.cluster.clustered import Clustered

        return Clustered.from_dict(cls, parameters)

    def perturb(
        self, scaled: ArrayLike, labels: ArrayLike | None, centres: ArrayLike | None, stream: Stream
    ) -> FloatArray:
        """Perturb the table, on the same scale.

        Attributes that are constant in the whole table are released as they are: they hold no secret, and a rotation
        that spread others into them would hide nothing more.
        """
        table = check_finite(scaled)
        rows, columns = table.shape
        if not self.needs_clusters:
            labels_, centres_ = np.zeros(rows, np.int64), np.zeros((1, columns))
        elif labels is None or centres is None:
            raise UsageError(f"{self.law} perturbs around clusters; give labels and centres")
        else:
            centres_ = check_finite(centres, "the centres")
            if centres_.shape[1] != columns:
                raise UsageError(f"the centres have {centres_.shape[1]} attributes and the table {columns}")
            labels_ = check_labels(labels, rows, len(centres_))
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
        """Return the perturbed table, given one with rows and without constant columns; the argument stays as it is."""

"""Records whose association is made anew at every node: the source of counts behind the strategy Local."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.trees.assign import Association
from sfumato.trees.records import CodedRecords
from sfumato.trees.splits import Splits

FEWEST_RECORDS = 1000
"""A node with fewer records keeps the association it inherits: "to avoid over-fitting, reconstruction is stopped"."""


class LocalRecords(CodedRecords):
    """Coded records that reconstruct again, by class, at every open node of at least `FEWEST_RECORDS` records.

    An attribute already tested on the way to a node keeps its association: its records were chosen by it.
    """

    associations: Sequence[Association] = ()
    _tested: NDArray[np.bool_] | None = None

    def descend(self, splits: Splits, is_open: NDArray[np.bool_]) -> None:
        """Route, and reconstruct; histograms of the parents are void, as they were counted under another association."""
        self._parents = None
        made = splits.attribute >= 0
        family = np.repeat(np.flatnonzero(made), splits.children[made])
        tested = np.zeros((len(made), len(self.sizes)), bool) if self._tested is None else self._tested.copy()
        tested[made, splits.attribute[made]] = True
        self._tested = tested[family][is_open]
        super().descend(splits, is_open)
        large = np.bincount(self._slot, minlength=self._open) >= FEWEST_RECORDS
        if not large.any():
            return
        place = np.full(self._cells.shape[1], self._open * self.n_classes)
        place[self._rows] = self._slot * self.n_classes + self._classes[self._rows]
        for a, association in enumerate(self.associations):
            fresh = large & ~self._tested[:, a]
            if association.exact or not fresh.any():
                continue
            number = np.cumsum(fresh) - 1
            table = np.where(fresh[:, None], number[:, None] * self.n_classes + np.arange(self.n_classes), -1)
            group = np.append(table, -1)[place]
            codes = self._cells[a] - 1
            self._cells[a] = association.codes(group, int(fresh.sum()) * self.n_classes, codes) + 1

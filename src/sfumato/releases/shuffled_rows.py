"""A random order of rows that only the owner's key can undo.

Every row number has a keyed word, and rows stand in the order of their words. So no row has to know how many others there are,
and the order is the same for any block size and any number of workers. The words depend on the table's salt: releases of one table
have one order, and two tables have two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.counts import IntArray, WordArray
from sfumato.io import Block
from sfumato.randomness import Entities, Rows, SecretKey, random_words
from sfumato.releases.keys import load_key


@dataclass(frozen=True)
class RowOrder:
    """The order of a table's rows under a key.

    Examples
    --------
    >>> order = RowOrder.of(SecretKey(bytes(32)), "salt of the table")
    >>> sorted(order.rows(5).tolist()) == [0, 1, 2, 3, 4]
    True
    """

    key: SecretKey

    @classmethod
    def of(cls, owner: SecretKey | str | Path, salt: str) -> RowOrder:
        """Return the order of the table with this public salt; the owner's key may be given by its file."""
        secret = owner if isinstance(owner, SecretKey) else load_key(owner)
        return cls(secret.derive("order of rows", salt))

    def __call__(self, block: Block) -> WordArray:
        """Return the word of each row of a block: 63 bits, which every engine sorts alike."""
        numbers = block.row_numbers.astype(np.uint64)
        return self._words(Entities(numbers, np.zeros(len(numbers), np.uint64)))

    def rows(self, size: int) -> IntArray:
        """Return the number of the original row at each place of a release."""
        return np.argsort(self._words(Rows(0, size)), kind="stable")

    def _words(self, addresses: Rows | Entities) -> WordArray:
        words = random_words(self.key, addresses, np.zeros(addresses.size))[:, 0]
        return np.asarray(words >> np.uint64(1))

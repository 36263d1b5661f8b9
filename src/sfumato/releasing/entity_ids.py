"""Whose rows these are: ids as keyed words, and those that differ in how they are written alone, such as 007 and 7.

Noise belongs to an id as it is written. A person who stands in a table as "A1" and as "A1 " has fresh noise in each, and the mean of
the two has less. Which ids are meant as one only the owner knows, so they are counted and told, and none is changed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import WordArray
from sfumato.errors import CellError, DataError
from sfumato.findings import Note
from sfumato.io import Block, decode_dictionary, format_labels
from sfumato.randomness import Entities, SecretKey, entity_addresses


@dataclass(frozen=True)
class EntityWords:
    """Whose rows these are, as keyed digests of their ids."""

    identifier: str
    key: SecretKey

    def __call__(self, block: Block) -> WordArray:
        """Return one word per row; equal ids have equal words."""
        addresses = self.addresses(block)
        return np.asarray(addresses.high ^ addresses.low)

    def addresses(self, block: Block) -> Entities:
        """Return addresses of noise that belong to the entities."""
        ids = decode_dictionary(block.batch.column(self.identifier))
        absent = ids.is_null().to_numpy(zero_copy_only=False).astype(bool)
        if pa.types.is_string(ids.type):
            absent |= np.asarray(format_labels(ids, self.identifier).fill_null("").to_pylist(), dtype=object) == ""
        if pa.types.is_floating(ids.type):
            ids = format_labels(ids, self.identifier)
        if absent.any():
            row = block.start + int(np.argmax(absent))
            raise CellError(
                self.identifier, row, "the id is missing; give every row one, or release without identifier="
            )
        try:
            return entity_addresses(self.key, ids)
        except pa.ArrowException:
            raise DataError(
                f"{self.identifier}: ids of type {ids.type} have no plain text form; convert the column first"
            ) from None


def plain_id(text: str) -> str:
    """Return an id without blanks at its ends, in the composed form of Unicode, and without zeros before a number.

    >>> plain_id(" 007"), plain_id("A1 "), plain_id("000"), plain_id("0x7")
    ('7', 'A1', '0', '0x7')
    """
    text = unicodedata.normalize("NFC", text).strip()
    digits = text.removeprefix("+").removesuffix(".0")
    return (digits.lstrip("0") or "0") if digits.isascii() and digits.isdigit() else text


def pair_words(key: SecretKey, ids: pa.Array) -> WordArray:
    """Return the words of the plain form and of the id itself, shape (ids, 2), of each id that is not written plainly."""
    if not pa.types.is_string(ids.type):
        return np.empty((0, 2), np.uint64)
    odd = pc.match_substring_regex(ids, r"^[\s+]|^0.|\s$|[^\x00-\x7f]|\.0$")
    texts = [text for text in pc.unique(ids.filter(odd)).to_pylist() if text and plain_id(text) != text]
    both = entity_addresses(key, pa.array([form for text in texts for form in (plain_id(text), text)], pa.string()))
    return np.asarray(both.high ^ both.low).reshape(-1, 2)


def note_alike(column: str, words: WordArray, pairs: WordArray) -> Note | None:
    """Return a warning where an id stands in a table in more than one form; None where none does."""
    pairs = np.unique(pairs, axis=0)
    plain, counts = np.unique(pairs[:, 0], return_counts=True)
    people = int((np.isin(plain, words) | (counts > 1)).sum())
    if not people:
        return None
    noun = "id stands" if people == 1 else "ids stand"
    return Note(
        "SF278",
        f"{column}: {people:,} {noun} in the table in several forms that differ in blanks, leading zeros or Unicode alone. Noise is "
        "fresh for each form, so where they are one person, their mean tells more; write each id in one way",
    )

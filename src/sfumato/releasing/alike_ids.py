"""Ids that differ in how they are written alone, such as 007 and 7: perhaps one person, to whom noise gives two draws.

Noise belongs to an id as it is written. A person who stands in a table as "A1" and as "A1 " has fresh noise in each, and the mean of
the two has less. Which ids are meant as one only the owner knows, so they are counted and told, and none is changed.
"""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import WordArray
from sfumato.findings import Note
from sfumato.randomness import SecretKey, entity_addresses


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

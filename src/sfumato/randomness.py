"""The only birthplace of randomness: keyed, secure, addressed.

Noise is a pseudo-random function, not a stream. The 128 random bits of one cell are AES-256 under a key derived from
(owner's key, scope, attribute, law), applied to one block that holds *whose* value it is and *which* value it is::

    bits = AES_k( address ‖ 0  ⊕  0 ‖ value )

- Any order, any block size, any number of processes gives the same bits: there is no state to share.
- The same release run again is the same release; another name, law or scale has another key, so its noise is independent.
  Were it the same, x = 2y₁ − y₂ would undo two releases at scales 1 and 2.
- A corrected value is another block, so its noise is fresh; were it not, the difference of two releases would be exactly
  the correction.
- Row addresses are (row, 0). Entity addresses are 128-bit keyed digests of the id: distinct cells collide with
  probability about n² 2⁻¹²⁹.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.counts import BoolArray, FloatArray, IntArray, WordArray
from sfumato.tables import half_normal

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = FloatArray

CELLS_PER_CHUNK = 8192
"""Their 128 KiB of bits stay in the cache from the cipher to the released value."""

KEY_BYTES = 32
MAX_ID_DIGITS = 18
"""Longer ids are treated as texts, whatever type a file gave them: not all integers of 19 digits fit 64 bits."""


@dataclass(frozen=True)
class SecretKey:
    """Thirty-two secret bytes; printing one shows nothing.

    Examples
    --------
    >>> key = SecretKey(bytes(range(32)))
    >>> key, key.derive("noise", "age") == key.derive("noise", "age")
    (SecretKey(), True)
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes")

    @classmethod
    def generate(cls) -> SecretKey:
        """Return a new key from the operating system's entropy."""
        return cls(os.urandom(KEY_BYTES))

    def derive(self, *labels: Any) -> SecretKey:
        """Return HMAC-SHA-256 of the labels: an independent key for each distinct list of labels."""
        return SecretKey(hmac.digest(self.secret, canonical(labels), hashlib.sha256))

    def fingerprint(self, *labels: Any) -> str:
        """Return a short public name for a derived key, from which the key cannot be found."""
        return self.derive("fingerprint", *labels).secret[:12].hex()

    def seal(self, text: bytes) -> str:
        """Return the text under AES-256-GCM, which this key alone opens: the same text looks different each time."""
        nonce = os.urandom(12)
        return (nonce + AESGCM(self.secret).encrypt(nonce, text, None)).hex()

    def unseal(self, sealed: str) -> bytes:
        """Return the text that `seal` was given; raise ValueError where it was changed or is another key's."""
        words = bytes.fromhex(sealed)
        try:
            return AESGCM(self.secret).decrypt(words[:12], words[12:], None)
        except InvalidTag:
            raise ValueError("sealed by another key, or changed") from None


def random_salt() -> str:
    """Return 96 public random bits: they keep the noise of one table apart from that of another under the same key."""
    return os.urandom(12).hex()


def canonical(value: Any) -> bytes:
    """Return one byte string per value: JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


@dataclass(frozen=True, eq=False)
class Rows:
    """Addresses of consecutive rows, from `start` on."""

    start: int
    size: int

    @cached_property
    def high(self) -> WordArray:
        """The row numbers."""
        return np.arange(self.start, self.start + self.size, dtype=np.uint64)

    @cached_property
    def low(self) -> WordArray:
        """Zero: a row number fits one word."""
        return np.zeros(1, np.uint64)

    def part(self, begin: int, end: int) -> Rows:
        """Return the addresses `begin` to `end` of these."""
        return Rows(self.start + begin, end - begin)

    def take(self, present: BoolArray) -> Entities:
        """Return the addresses of the rows that are `present`."""
        high = self.high[present]
        return Entities(high, np.zeros(len(high), np.uint64))


@dataclass(frozen=True, eq=False)
class Entities:
    """Addresses that belong to people or things rather than to places in a table."""

    high: WordArray
    low: WordArray

    @classmethod
    def of_numbers(cls, numbers: IntArray) -> Entities:
        """Return addresses for numbers that say whose row it is: a person's rows have the same one."""
        return cls(numbers.astype(np.uint64), np.zeros(len(numbers), np.uint64))

    @property
    def size(self) -> int:
        """The number of addresses."""
        return len(self.high)

    def part(self, begin: int, end: int) -> Entities:
        """Return the addresses `begin` to `end` of these."""
        return Entities(self.high[begin:end], self.low[begin:end])

    def take(self, present: BoolArray) -> Entities:
        """Return the addresses of the rows that are `present`."""
        return Entities(self.high[present], self.low[present])


Addresses = Rows | Entities


class CellWords:
    """The pseudo-random function of one key: two secure 64-bit words for each address and value."""

    def __init__(self, key: SecretKey) -> None:
        self._cipher = Cipher(algorithms.AES(key.secret), modes.ECB()).encryptor()  # noqa: S305 - single blocks, as a PRF
        self._blocks = np.empty((0, 2), np.uint64)
        self._numbers = np.empty(0, np.uint64)

    def __call__(self, addresses: Addresses, values: FloatArray) -> WordArray:
        """Return words of shape (cells, 2): the same for the same address and value, whatever else is asked with them."""
        size = addresses.size
        if len(self._blocks) < size:
            self._blocks, self._numbers = np.empty((size, 2), np.uint64), np.arange(size, dtype=np.uint64)
        blocks = self._blocks[:size]  # used again: nothing but the cipher reads them
        np.add(values, 0.0, out=blocks.view(np.float64)[:, 1])  # −0.0 and 0.0 are one value
        if isinstance(addresses, Rows):
            np.add(self._numbers[:size], np.uint64(addresses.start), out=blocks[:, 0])
        else:
            blocks[:, 0] = addresses.high
            blocks[:, 1] ^= addresses.low
        out = np.empty((size + 1, 2), np.uint64)  # the cipher asks for one block of slack
        if size:
            self._cipher.update_into(blocks.data.cast("B"), out.data.cast("B"))
        return out[:size]


def random_words(key: SecretKey, addresses: Addresses, values: FloatArray) -> WordArray:
    """Return two secure 64-bit words per cell, a function of key, address and value alone."""
    return CellWords(key)(addresses, values)


def entity_addresses(key: SecretKey, ids: pa.Array) -> Entities:
    """Return keyed digests of the ids: 42 and "42" are the same entity, whatever type a file gave it.

    Integers go through AES in one vectorised call, other texts through BLAKE2b, once for each distinct id.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    integer_key, text_key = key.derive("entity", "integer"), key.derive("entity", "text")
    if pa.types.is_integer(ids.type) and _fit_digits(pc.min_max(ids).as_py()):
        return _integer_entities(integer_key, ids.cast(pa.int64()).to_numpy(zero_copy_only=False))
    texts = ids.cast(pa.string())
    integral = pc.match_substring_regex(texts, rf"^(0|-?[1-9][0-9]{{0,{MAX_ID_DIGITS - 1}}})$").to_numpy(
        zero_copy_only=False
    )
    high, low = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    if integral.any():
        integers = texts.filter(pa.array(integral)).cast(pa.int64()).to_numpy(zero_copy_only=False)
        numbers = _integer_entities(integer_key, integers)
        high[integral], low[integral] = numbers.high, numbers.low
    if not integral.all():
        coded = texts.filter(pa.array(~integral)).dictionary_encode()
        digests = b"".join(
            hashlib.blake2b(str(text).encode(), key=text_key.secret, digest_size=16).digest()
            for text in coded.dictionary.to_pylist()
        )
        words = np.frombuffer(digests, np.uint64).reshape(-1, 2)[coded.indices.to_numpy(zero_copy_only=False)]
        high[~integral], low[~integral] = words[:, 0], words[:, 1]
    return Entities(high, low)


def _fit_digits(ends: dict[str, int | None]) -> bool:
    """Return whether all integers have few enough digits to get the same address as their text."""
    return all(end is None or abs(end) < 10**MAX_ID_DIGITS for end in ends.values())


def _integer_entities(key: SecretKey, ids: IntArray) -> Entities:
    place = Entities(ids.view(np.uint64), np.zeros(len(ids), np.uint64))
    words = random_words(key, place, np.zeros(len(ids)))
    return Entities(words[:, 0].copy(), words[:, 1].copy())


def uniform(words: WordArray) -> FloatArray:
    """Return U[0, 1) on the multiples of 2⁻⁵³."""
    # Processors convert signed integers to floats several times faster than unsigned ones.
    out = (words >> np.uint64(11)).view(np.int64).astype(np.float64)
    out *= 2.0**-53
    return out


def normal(words: WordArray) -> FloatArray:
    """Return standard normal values from two words each, by the table of `half_normal`."""
    return half_normal().draw(words)


class Stream:
    """Secure draws in sequence, for methods that see the whole table and draw for it as one.

    The n-th word is AES_k(n): the same key gives the same sequence, and nothing else does.
    """

    def __init__(self, key: SecretKey) -> None:
        self._key = key
        self._used = 0

    def words(self, size: int) -> WordArray:
        """Return the next `size` random words."""
        blocks = (size + 1) // 2
        out = random_words(self._key, Rows(self._used, blocks), np.zeros(blocks)).ravel()[:size]
        self._used += blocks
        return out

    def uniform(self, *shape: int) -> FloatArray:
        """Return the next values of U[0, 1)."""
        return uniform(self.words(int(np.prod(shape)))).reshape(shape)

    def normal(self, *shape: int) -> FloatArray:
        """Return the next values of N(0, 1)."""
        return normal(self.words(2 * int(np.prod(shape))).reshape(-1, 2)).reshape(shape)

    def integers(self, size: int, bound: int) -> IntArray:
        """Return integers, uniform on 0 … bound − 1 (the bias is at most bound/2⁵³, which is negligible)."""
        return np.floor(self.uniform(size) * bound).astype(np.int64)

    def permutation(self, size: int) -> IntArray:
        """Return a random order, by sorting random words."""
        return np.argsort(self.words(size), kind="stable")

    def permutation_within(self, groups: IntArray) -> IntArray:
        """Return, for each place, a place of the same group: a random order inside every group at once."""
        home = np.lexsort((np.arange(len(groups)), groups))
        shuffled = np.lexsort((self.words(len(groups)), groups))
        out = np.empty(len(groups), np.int64)
        out[home] = shuffled
        return out

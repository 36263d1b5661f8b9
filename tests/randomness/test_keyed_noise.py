"""Noise is a function of key, address and value, and of nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from sfumato.randomness import Entities, Rows, SecretKey, canonical, entity_addresses, random_words, uniform

KEY = SecretKey(bytes(range(32)))
OTHER = SecretKey(bytes(range(1, 33)))


def test_words_are_aes_of_address_and_value() -> None:
    """A twin written from the docstring alone."""
    cipher = Cipher(algorithms.AES(KEY.secret), modes.ECB()).encryptor()
    block = (7).to_bytes(8, "little") + np.float64(2.5).tobytes()
    assert random_words(KEY, Rows(7, 1), np.array([2.5])).tobytes() == cipher.update(block)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 2**40))
def test_any_partition_gives_the_same_words(sizes: list[int], start: int) -> None:
    total = sum(sizes)
    values = np.arange(total) * 0.5
    whole = random_words(KEY, Rows(start, total), values)
    begin, parts = 0, []
    for size in sizes:
        parts.append(random_words(KEY, Rows(start, total).part(begin, begin + size), values[begin : begin + size]))
        begin += size
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_any_order_gives_the_same_words() -> None:
    values = np.linspace(-3, 3, 500)
    whole = random_words(KEY, Rows(10, 500), values)
    order = np.random.default_rng(0).permutation(500)
    scattered = Entities(np.arange(10, 510, dtype=np.uint64)[order], np.zeros(500, np.uint64))
    assert np.array_equal(random_words(KEY, scattered, values[order]), whole[order])
    kept = values > 0
    assert np.array_equal(random_words(KEY, Rows(10, 500).take(kept), values[kept]), whole[kept])


def test_no_rows_give_no_words() -> None:
    assert random_words(KEY, Rows(0, 0), np.empty(0)).shape == (0, 2)


def test_minus_zero_is_zero() -> None:
    assert np.array_equal(
        random_words(KEY, Rows(0, 1), np.array([-0.0])), random_words(KEY, Rows(0, 1), np.array([0.0]))
    )


def test_values_of_another_layout_in_memory_are_the_same_values() -> None:
    values = np.arange(100, dtype=np.float64)
    spread = np.zeros(200)
    spread[::2] = values
    assert np.array_equal(random_words(KEY, Rows(0, 100), spread[::2]), random_words(KEY, Rows(0, 100), values))


@pytest.mark.parametrize(
    ("key", "start", "shift"),
    [(OTHER, 0, 0.0), (KEY.derive("a"), 0, 0.0), (KEY, 1, 0.0), (KEY, 0, 2.0**-40)],
    ids=["another key", "a derived key", "another row", "another value"],
)
def test_whatever_differs_draws_independent_words(key: SecretKey, start: int, shift: float) -> None:
    size = 100_000
    a = random_words(KEY, Rows(0, size), np.full(size, 3.0))
    b = random_words(key, Rows(start, size), np.full(size, 3.0 + shift))
    assert not np.any(a[:, 0] == b[:, 0])
    for first, second in ((a[:, 0], b[:, 0]), (a[:, 1], b[:, 1]), (a[:, 0], b[:, 1])):
        assert abs(np.corrcoef(uniform(first), uniform(second))[0, 1]) < 5 / np.sqrt(size)
    differing = np.bitwise_count(a ^ b)
    assert abs(differing.mean() - 32) < 5 * 4 / np.sqrt(2 * size)  # 64 fair bits differ in 32 ± 4


def test_the_two_words_of_a_cell_are_independent() -> None:
    words = random_words(KEY, Rows(0, 200_000), np.zeros(200_000))
    assert abs(np.corrcoef(uniform(words[:, 0]), uniform(words[:, 1]))[0, 1]) < 5 / np.sqrt(200_000)


def test_derived_keys_depend_on_every_label_and_on_their_bounds() -> None:
    lists = [
        ("a", "bc"), ("ab", "c"), ("abc",), (["a"], "bc"), ("a", "b", "c"), ("a", None), ("a",), ("a", "None"), ("a", ""),
        ({"law": "g", "sigma": 1.0},), ({"law": "g", "sigma": 2.0},), (1,), ("1",), (1.5,), (True,),
    ]  # fmt: skip
    assert len({KEY.derive(*labels).secret for labels in lists}) == len(lists)
    assert KEY.derive({"b": 1, "a": 2}) == KEY.derive({"a": 2, "b": 1})
    assert KEY.derive("a") != OTHER.derive("a")
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))


def test_a_key_is_silent_and_has_32_bytes() -> None:
    secret = KEY.secret.hex()
    for text in (repr(KEY), str(KEY), f"{KEY}", repr([KEY]), repr({"k": KEY}), KEY.fingerprint("x")):
        assert secret not in text
        assert repr(KEY.secret) not in text
        assert secret[:16] not in text
    with pytest.raises(ValueError, match="32 bytes") as caught:
        SecretKey(b"short-secret")
    assert "short-secret" not in str(caught.value)
    assert len({SecretKey.generate().secret for _ in range(100)}) == 100
    assert pickle.loads(pickle.dumps(KEY)) == KEY


def test_an_entity_is_the_same_whatever_type_a_file_gave_its_id() -> None:
    whole = [0, 42, -7, 10**17, 2**31 - 1, 123456789012345678, 1234567890123456789, 2**63 - 1, -(2**63)]
    texts = entity_addresses(KEY, pa.array([str(i) for i in whole]))
    small = [0, 42, -7]
    alike = [
        pa.array(whole, pa.int64()),
        pa.array([str(i) for i in whole]).dictionary_encode(),
        pa.array(whole).dictionary_encode(),
        pa.array([str(i) for i in whole], pa.large_string()),
        pa.array([str(i) for i in whole], pa.string_view()),
    ]
    for ids in alike:
        found = entity_addresses(KEY, ids)
        assert np.array_equal(found.high, texts.high), ids.type
        assert np.array_equal(found.low, texts.low), ids.type
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        assert np.array_equal(entity_addresses(KEY, pa.array(small, kind)).high, texts.high[:3])
    for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        assert np.array_equal(entity_addresses(KEY, pa.array([0, 42], kind)).high, texts.high[:2])
    beyond = 2**64 - 1
    assert np.array_equal(
        entity_addresses(KEY, pa.array([beyond], pa.uint64())).high, entity_addresses(KEY, pa.array([str(beyond)])).high
    )


def test_different_ids_are_different_entities() -> None:
    texts = ["42", "042", "42 ", "+42", "42.0", "4.2e1", "-0", "0", "x", "X", "é", "e\u0301", "a\0b", "a", " ", "٤٢"]
    found = entity_addresses(KEY, pa.array(texts))
    assert len(set(zip(found.high.tolist(), found.low.tolist(), strict=True))) == len(texts)
    other = entity_addresses(OTHER, pa.array(texts))
    assert not np.any(found.high == other.high)


def test_entities_of_a_slice_are_the_slice_of_the_entities() -> None:
    ids = pa.array([str(i) if i % 3 else f"p{i}" for i in range(1000)])
    whole = entity_addresses(KEY, ids)
    part = entity_addresses(KEY, ids.slice(400, 300))
    assert np.array_equal(part.high, whole.high[400:700])
    assert np.array_equal(part.low, whole.low[400:700])

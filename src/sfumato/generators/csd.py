"""The Customer Status Dataset of the 2005 paper: five categorical attributes and a status, 399 customers a unit.

The paper gives the domains and the 247 customers of its leaf 1 (132 Ford, 62 Toyota, 48 Nissan, 5 Holden, all Good); the
rest is ours, such that the tree of the car's make is the paper's Figure 4.1 in form: Status, then Profession, leaf 1 and
three sibling leaves. Inside a segment the columns are paired at random; parents' country and favourite city are uniform
and related to nothing. Every 399 rows hold these counts exactly, in random order; a table may end within a unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.generators.base import Block, Column, Generator, block_sizes, check_whole, stream

UNIT = 399
COUNTRIES = ("USA", "England", "Australia")
CARS = ("Toyota", "Ford", "Holden", "Nissan")
PROFESSIONS = ("Scientist", "Engineering", "Academic")
STATUS = ("Good", "Bad")
PLACES = 30
PARENTS = tuple(f"country {i:02d}" for i in range(1, PLACES + 1))
TOWNS = tuple(f"city {i:02d}" for i in range(1, PLACES + 1))


@dataclass(frozen=True)
class Segment:
    """Customers of one status whose columns are independent of each other; numbers are exact counts."""

    status: str
    country: Mapping[str, int]
    car: Mapping[str, int]
    profession: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of customers."""
        return sum(self.car.values())


SEGMENTS = (
    # .62, .33 and .05 of 247; .90 and twice .05 of the others, all rounded to whole customers.
    Segment(
        "Good",
        {"USA": 153, "England": 82, "Australia": 12},
        {"Toyota": 62, "Ford": 132, "Holden": 5, "Nissan": 48},
        {"Scientist": 212, "Engineering": 18, "Academic": 17},
    ),
    Segment("Bad", {"USA": 3, "England": 3, "Australia": 50}, {"Nissan": 56}, {"Engineering": 56}),
    Segment("Bad", {"USA": 3, "England": 54, "Australia": 3}, {"Toyota": 46, "Holden": 14}, {"Academic": 60}),
    Segment("Bad", {"USA": 32, "England": 2, "Australia": 2}, {"Toyota": 36}, {"Scientist": 36}),
)


def make_blocks(rows: int, *, seed: int = 0) -> Iterator[Block]:
    """Yield a table of `rows` customers in blocks; the first n rows do not depend on `rows`."""
    rows, seed = check_whole("rows", rows, 1), check_whole("seed", seed, 0)
    return (_draw_block(seed, number, size) for number, size in block_sizes(rows))


def _draw_block(seed: int, number: int, size: int) -> Block:
    rng = stream(seed, number)
    units = [_draw_unit(rng) for _ in range(-(-size // UNIT))]
    return {name: np.concatenate([unit[name] for unit in units])[:size] for name in units[0]}


def _draw_unit(rng: np.random.Generator) -> Block:
    order = np.argsort(rng.random(UNIT))
    joined = {
        name: np.concatenate([_shuffle_labels(getattr(segment, name), rng) for segment in SEGMENTS])[order]
        for name in ("country", "car", "profession")
    }
    status = np.concatenate([np.full(segment.size, segment.status) for segment in SEGMENTS])[order]
    return {
        "country": joined["country"],
        "car": joined["car"],
        "profession": joined["profession"],
        "parents_country": np.array(PARENTS)[np.floor(PLACES * rng.random(UNIT)).astype(np.int64)],
        "favourite_city": np.array(TOWNS)[np.floor(PLACES * rng.random(UNIT)).astype(np.int64)],
        "status": status,
    }


def _shuffle_labels(counts: Mapping[str, int], rng: np.random.Generator) -> NDArray[np.str_]:
    """Return exactly `counts` of each label, in random order."""
    labels = np.repeat(list(counts), list(counts.values()))
    return labels[np.argsort(rng.random(len(labels)))]


csd = Generator(
    name="csd",
    about="customers with five categorical attributes and a status, 399 a unit (Islam & Brankovic 2005, section IV)",
    attributes=(
        Column("country", "categorical", COUNTRIES),
        Column("car", "categorical", CARS),
        Column("profession", "categorical", PROFESSIONS),
        Column("parents_country", "categorical", PARENTS),
        Column("favourite_city", "categorical", TOWNS),
        Column("status", "categorical", STATUS),
    ),
    make=make_blocks,
    target="status",
)

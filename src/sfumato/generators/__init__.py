"""Synthetic tables by name: the papers' own data, at any length, in blocks that do not fill the memory.

>>> from sfumato import generators
>>> first = next(generators.get("agrawal").blocks(1000, seed=7, function=2, balanced=True))
>>> list(first)[:3], len(first["class"])
(['salary', 'commission', 'age'], 1000)
"""

from sfumato.generators import shapes
from sfumato.generators.base import BLOCK, Block, Column, Generator
from sfumato.generators.files import generate_table, plan_for
from sfumato.generators.registry import GENERATORS, get, names

__all__ = [
    "BLOCK",
    "GENERATORS",
    "Block",
    "Column",
    "Generator",
    "generate_table",
    "get",
    "names",
    "plan_for",
    "shapes",
]

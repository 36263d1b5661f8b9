"""Synthetic tables by name: the papers' own data, at any length, in blocks that do not fill the memory.

base.py               fixed blocks, one random stream per block, the description of columns
agrawal.py            loan applicants (Agrawal & Srikant 2000); crd.py and csd.py: the tables of the 2005 paper
shapes.py             plateau and triangles, with their exact distributions
registry.py           the generators by name
files.py              a generator written to a file, and the plan that declares its domains

Start with base.py. The randomness here is public and repeatable; it protects nobody.

>>> from sfumato import generators
>>> first = next(generators.get("agrawal").blocks(1000, seed=7, function=2, balanced=True))
>>> list(first)[:3], len(first["class"])
(['salary', 'commission', 'age'], 1000)
"""

from sfumato.generators import shapes
from sfumato.generators.base import ROWS_PER_BLOCK, Block, Column, Generator
from sfumato.generators.files import generate, plan_for
from sfumato.generators.registry import GENERATORS, get, names

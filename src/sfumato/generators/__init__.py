"""Synthetic tables by name: the papers' own data, at any length, in blocks that do not fill the memory.

base.py       what a generator is: fixed blocks, one random stream per block; a table written to a file, and the plan for it
agrawal.py    loan applicants (Agrawal & Srikant 2000)
customers.py  the two tables of Islam & Brankovic 2005
shapes.py     plateau and triangles, with their exact distributions

Start with base.py. The randomness here is public and repeatable; it protects no one.

>>> from sfumato import generators
>>> first = next(generators.get("agrawal").blocks(1000, seed=7, function=2, balanced=True))
>>> list(first)[:3], len(first["class"])
(['salary', 'commission', 'age'], 1000)
"""

from sfumato.generators import agrawal, customers, shapes
from sfumato.generators.base import GENERATORS, ROWS_PER_BLOCK, Block, Generator, generate, get, names, plan_for

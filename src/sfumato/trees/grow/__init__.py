"""How a tree grows: level by level, from counts alone.

splits.py       where to cut: the best binary test of every node of a level, by gini
growth.py       the loop: find tests, open children, count again, prune
pruning.py      how much of a tree to keep: MDL, or C4.5's pessimistic bound
coded_rows.py   a source of counts: rows with one small integer per attribute
sorted_rows.py  a source of exact cuts: rows in the order of every number
c45.py          all of it together, as C4.5 has it

Start with growth.py (`grow_from`). Nothing here knows a law: strategies decide which counts a tree grows from.
"""

from sfumato.trees.grow.c45 import c45
from sfumato.trees.grow.coded_rows import COUNTED_ROWS, CellArray, CodedRows
from sfumato.trees.grow.growth import Growth, Limits, grow, grow_from
from sfumato.trees.grow.pruning import MDL, KeepAll, KeepHopeful, Pruner
from sfumato.trees.grow.splits import BinarySplitter, Splits, child_counts

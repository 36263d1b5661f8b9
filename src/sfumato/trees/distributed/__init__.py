"""The same trees from folds over blocks: Spark, and files larger than memory.

counted_growth.py    the paper's strategies as a source of counts that folds over the rows for every level
replay.py            what a worker knows: the tree so far, from which it finds a row's node and codes
order_statistics.py  which value stands at a rank, among rows that no one machine holds

Start with counted_growth.py. The trees are the same, bit for bit, as those of `strategies`; no state is kept of a row.
"""

from sfumato.trees.distributed.counted_growth import grow_counted_tree
from sfumato.trees.distributed.order_statistics import MAX_WORD, Gathered, SlotsByColumn, WantedRanks, select
from sfumato.trees.distributed.replay import ALWAYS, NEVER, CodeThresholds

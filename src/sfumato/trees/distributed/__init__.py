"""Room."""

from sfumato.trees.distributed.counted_growth import counted_tree
from sfumato.trees.distributed.order_statistics import LARGEST_WORD, Asked, Gathered, Wanted, select
from sfumato.trees.distributed.replay import ALWAYS, NEVER, Cuts

__all__ = [
    "ALWAYS",
    "LARGEST_WORD",
    "NEVER",
    "Asked",
    "Cuts",
    "Gathered",
    "Wanted",
    "counted_tree",
    "select",
]

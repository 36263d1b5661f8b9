"""Where blocks are worked: on this machine, or on a Spark cluster.

local.py   the contract: what every engine can do, and that its answers do not depend on how rows are split; this machine
spark.py   a Spark cluster; the only module that loads the Spark library, when it is used
worker.py  what a distant worker does with its share of the rows

Start with local.py. An engine does no arithmetic: it hands blocks to functions from the rooms above and adds up what they return.
It imports tables in and out (`io`), never a law, a plan or a release.

>>> from sfumato import engines
>>> engines.Local(workers=2).gathers
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.engines.local import Engine, Local, Mapped, Needs, Progress, Target, count_groups

if TYPE_CHECKING:
    from sfumato.engines.spark import Spark

__all__ = ["Engine", "Local", "Mapped", "Needs", "Progress", "Spark", "Target", "count_groups"]


def __getattr__(name: str) -> Any:
    if name != "Spark":  # loaded when it is used: it is an extra
        raise AttributeError(f"sfumato.engines has no {name!r}")
    from sfumato.engines.spark import Spark

    return Spark

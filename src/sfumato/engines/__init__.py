"""Where blocks are worked: on this machine, or on a Spark cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.engines.base import Engine, Mapped, Progress, Target, first_repeat
from sfumato.engines.local import Local

if TYPE_CHECKING:
    from sfumato.engines.spark import Spark

__all__ = ["Engine", "Local", "Mapped", "Progress", "Spark", "Target", "first_repeat"]


def __getattr__(name: str) -> Any:
    if name != "Spark":  # loaded when it is used: it is an extra
        raise AttributeError(f"sfumato.engines has no {name!r}")
    from sfumato.engines.spark import Spark

    return Spark

"""Where blocks are worked: on this machine, or on a cluster."""

from sfumato.engines.base import Engine, fold
from sfumato.engines.local import Local

__all__ = ["Engine", "Local", "fold"]

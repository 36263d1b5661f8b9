"""One module per paper: its experiment, data in, table and figure out."""

from sfumato.papers.base import Bench

__all__ = ["Bench"]

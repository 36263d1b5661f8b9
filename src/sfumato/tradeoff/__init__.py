"""Privacy against accuracy on the owner's own table, to choose from before anything is released."""

from sfumato.tradeoff.choice import recommend
from sfumato.tradeoff.page import report
from sfumato.tradeoff.point import Point, Tradeoff
from sfumato.tradeoff.sweep import tradeoff

__all__ = ["Point", "Tradeoff", "recommend", "report", "tradeoff"]

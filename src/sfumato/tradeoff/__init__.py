"""Privacy against accuracy on the owner's own table, to choose from before anything is released."""

from sfumato.tradeoff.point import Point, Tradeoff
from sfumato.tradeoff.recommendation import recommend
from sfumato.tradeoff.sweep import tradeoff
from sfumato.tradeoff.tradeoff_page import report

__all__ = ["Point", "Tradeoff", "recommend", "report", "tradeoff"]

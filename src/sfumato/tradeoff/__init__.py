"""Privacy against accuracy on the owner's own table, to choose from before anything is released."""

from sfumato.tradeoff.point import Point, Tradeoff
from sfumato.tradeoff.recommendation import recommend
from sfumato.tradeoff.setting import plan_words
from sfumato.tradeoff.sweep import tradeoff
from sfumato.tradeoff.tradeoff_page import HEAD, cells, infinite, release_command, report

__all__ = [
    "HEAD",
    "Point",
    "Tradeoff",
    "cells",
    "infinite",
    "plan_words",
    "recommend",
    "release_command",
    "report",
    "tradeoff",
]

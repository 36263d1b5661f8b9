"""Privacy against accuracy on the owner's own table, to choose from before anything is released.

sweep.py           tradeoff: blur, mine and judge at every setting
setting.py         what a law can be swept over, and the laws of one setting
point.py           the result: one point per setting, and which to begin with
tradeoff_page.py   the result as a page

Start with sweep.py. Nothing here writes a release.
"""

from sfumato.tradeoffs.point import Point, Tradeoff, recommend
from sfumato.tradeoffs.sweep import tradeoff

"""Privacy against accuracy on the owner's own table, to choose from before anything is released.

sweep.py           tradeoff: blur, mine and judge at every setting
setting.py         what a law can be swept over, and the laws of one setting
point.py           the result: one point per setting, and which to begin with
tradeoff_page.py   the result as a page
side_by_side.py    compare_plans: two plans or drafts, judged by the same audit

Start with sweep.py. Nothing here leaves a release behind.
"""

from sfumato.tradeoffs.point import Point, Tradeoff, recommend
from sfumato.tradeoffs.side_by_side import PlanComparison, compare_plans
from sfumato.tradeoffs.sweep import tradeoff

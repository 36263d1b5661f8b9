"""Privacy left after attacks against usefulness, on the owner's own table, to choose from before anything is released.

sweep.py           tradeoff: blur, attack, mine and judge at every setting
setting.py         what a law can be swept over, and the laws of one setting
measures.py        what attacks leave of a release and how far off it is, in memory or from an audit
reader_question.pyfigures that readers will want, and how far off their answers are
point.py           the result: one point per setting
choice.py          which setting to begin with, by accuracy and by attacks
tradeoff_page.py   the result as a page
side_by_side.py    compare_plans: two plans or drafts, judged by the same audit

Start with sweep.py. Nothing here leaves a release behind.
"""

from sfumato.tradeoffs.choice import recommend
from sfumato.tradeoffs.measures import Measures
from sfumato.tradeoffs.point import Point, Tradeoff
from sfumato.tradeoffs.reader_question import Answer, Question
from sfumato.tradeoffs.side_by_side import PlanComparison, compare_plans
from sfumato.tradeoffs.sweep import tradeoff

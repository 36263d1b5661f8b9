"""Choose noise that survives its own audit.

goal.py         what the owner asks for: how many people may be found again, and when an audit will agree
rehearsal.py    a plan tried in memory on rows of the table: who is found, what is left of promises, what a tree loses
costs.py        which columns cost least to do without, and what a plan costs, in words
search.py       the weakest noise that reaches the goal, on all columns and on each
advisor.py      the plan that was found, its promises, and the reasons in words

Start with advisor.py. The room sees originals, and so belongs to the owner: nothing that it returns but the plan leaves the house.
"""

from sfumato.advice.advisor import advise, judge_strictly
from sfumato.advice.goal import Goal, Share

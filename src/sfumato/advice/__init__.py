"""Choose noise that survives its own audit.

goal.py         what the owner asks for: how many people may be found again
rehearsal.py    a plan tried in memory on rows of the table: who is found, what a tree loses
advisor.py      the weakest noise that reaches the goal, the columns that it costs, and the reasons in words

Start with advisor.py. The room sees originals, and so belongs to the owner: nothing that it returns but the plan leaves the house.
"""

from sfumato.advice.advisor import advise
from sfumato.advice.goal import Goal

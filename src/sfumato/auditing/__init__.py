"""Attack a release with its original at hand, and compare what is left with what was promised.

runner.py         audit(), the driver: read, attack, judge, report
case.py           a release beside its original and beside others of the same rows, and what attackers are granted
trial.py          how an attack of each kind is run, and its control
score.py          compares claims with the truth; rates.py says how sure that is
people.py         how many people are found in the release
promises.py       what each column was promised, and what the strongest attack left
decision.py       whether to publish, by people found and what is given away
exposure.py       who stands out; utility.py: what the release is still good for
result.py         Audit, its alarms and its public edition
comparison.py     trees and clusters of release and original
epsilon.py        whether samples of a law keep the ε that it states

Start with runner.py. Nothing here is imported by an attack: only this room sees true values.
"""

from sfumato.auditing.case import distribution
from sfumato.auditing.comparison import Comparison, compare
from sfumato.auditing.decision import LIMITS, Decision, Limits, Verdict, decide
from sfumato.auditing.epsilon import audit_epsilon
from sfumato.auditing.people import PeopleFound, find_people
from sfumato.auditing.per_person import read_groups
from sfumato.auditing.promises import BROKEN, Promise, judge_columns
from sfumato.auditing.result import Audit
from sfumato.auditing.runner import audit
from sfumato.auditing.utility import measure_distances

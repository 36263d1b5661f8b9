"""Questions in SQL. sqlglot parses; what is inside the subset becomes a `Question`, anything else is refused in one line.

select            the clauses of one SELECT
condition_reader  columns, constants, and conditions
group_reader      keys of GROUP BY
figure_reader     figures, and the rows they are of

Start with select.parse_question. Nothing here sees a row or a law.
"""

from sfumato.questions.sql.group_reader import MAX_GROUPS
from sfumato.questions.sql.select import parse_question

"""A question that a release cannot answer gets one line, which names the clause or the column and says what to write instead."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import UsageError
from sfumato.questions import parse_question
from sfumato.table import Column

AGE = sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100))
PAY = sf.Attribute("pay", sf.Kind.REAL, sf.Interval(0, 9000))
SINCE = sf.Attribute("since", sf.Kind.DATE, sf.Interval(10_000, 20_000))
REGION = sf.Attribute("region", sf.Kind.CATEGORICAL, sf.Categories(("north", "south")))
COLUMNS = {
    "age": Column(AGE, sf.Gaussian(privacy=0.5).on(AGE), np.empty(0)),
    "pay": Column(PAY, None, np.empty(0)),
    "since": Column(SINCE, None, np.empty(0)),
    "region": Column(REGION, None, np.empty(0)),
}

WRONG = [
    # what is asked, what the line names, and what it says to write instead
    ("", "is empty", "ask one SELECT"),
    ("SELEC age", "SELEC", "ask one SELECT"),
    ("SELECT COUNT(*) FROM release WHERE", "line 1", "ask one SELECT"),
    ("SELECT COUNT(* FROM release", "line 1", "ask one SELECT"),
    ("SELECT COUNT(*) FROM release; SELECT COUNT(*) FROM release", "2 statements", "ask one SELECT"),
    ("DROP TABLE release", "DROP", "ask one SELECT"),
    ("DELETE FROM release WHERE age > 3", "DELETE", "ask one SELECT"),
    ("INSERT INTO release VALUES (1)", "INSERT", "ask one SELECT"),
    ("SELECT COUNT(*)", "names no table", "FROM release"),
    ("SELECT COUNT(*) FROM a JOIN b ON a.x = b.x", "JOIN", "FROM release"),
    ("SELECT COUNT(*) FROM a, b", "JOIN", "FROM release"),
    ("SELECT COUNT(*) FROM (SELECT * FROM release)", "FROM", "FROM release"),
    ("WITH t AS (SELECT 1) SELECT COUNT(*) FROM t", "WITH", "one SELECT of the release"),
    ("SELECT COUNT(*) FROM release UNION SELECT COUNT(*) FROM release", "SELECT only", "ask one SELECT"),
    ("SELECT * FROM release", "SELECT *", "COUNT(*)"),
    ("SELECT age FROM release", "SELECT age", "GROUP BY age"),
    ("SELECT region, age, COUNT(*) FROM release GROUP BY region", "SELECT age", "GROUP BY"),
    ("SELECT region FROM release GROUP BY region", "SELECT", "COUNT(*)"),
    ("SELECT DISTINCT region FROM release", "DISTINCT", "GROUP BY"),
    ("SELECT COUNT(DISTINCT age) FROM release", "DISTINCT", "GROUP BY"),
    ("SELECT region, COUNT(*) FROM release GROUP BY region HAVING COUNT(*) > 5", "HAVING", "ask for all groups"),
    ("SELECT COUNT(*) OVER () FROM release", "OVER", "GROUP BY"),
    ("SELECT MIN(age) FROM release", "MIN(age)", "QUANTILE"),
    ("SELECT MAX(pay) FROM release", "MAX(pay)", "QUANTILE"),
    ("SELECT 100 * AVG(age) FROM release", "arithmetic", "each figure by itself"),
    ("SELECT AVG(age * 2) FROM release", "AVG age * 2", "name one column"),
    ("SELECT AVG(region) FROM release", "AVG(region)", "SHARE(region = 'label')"),
    ("SELECT SUM(region) FROM release", "SUM(region)", "SHARE(region = 'label')"),
    ("SELECT MEDIAN(region) FROM release", "region", "SHARE"),
    ("SELECT CORR(age, region) FROM release", "CORR(region)", "SHARE"),
    ("SELECT SHARE(age) FROM release", "SHARE(age)", "SHARE(age >="),
    ("SELECT QUANTILE(age, 3) FROM release", "3 is not a share", "QUANTILE(age, 0.9)"),
    ("SELECT QUANTILE(age, pay) FROM release", "pay is not a share", "QUANTILE(age, 0.9)"),
    ("SELECT AVG(wage) FROM release", "wage", "age, pay, since, region"),
    ("SELECT COUNT(*) FROM release WHERE wage > 3", "WHERE", "age, pay, since, region"),
    ("SELECT COUNT(*) FROM release GROUP BY wage", "GROUP BY", "age, pay, since, region"),
    ("SELECT COUNT(*) FROM release WHERE age > pay", "age > pay", "with a constant"),
    ("SELECT COUNT(*) FROM release WHERE age + 1 > 40", "age + 1 > 40", "such as age >= 40"),
    ("SELECT COUNT(*) FROM release WHERE age > 'old'", "age", "write a number"),
    ("SELECT COUNT(*) FROM release WHERE region = 3", "region", "'north'"),
    ("SELECT COUNT(*) FROM release WHERE region = 'nrth'", "'nrth'", "north, south"),
    ("SELECT COUNT(*) FROM release WHERE region > 'a'", "region >", "region IN"),
    ("SELECT COUNT(*) FROM release WHERE region BETWEEN 'a' AND 'b'", "region", "region IN"),
    ("SELECT COUNT(*) FROM release WHERE region LIKE 'n%'", "LIKE", "conditions are made of"),
    ("SELECT COUNT(*) FROM release WHERE age = NULL", "age", "age IS NULL"),
    ("SELECT COUNT(*) FROM release WHERE age", "age", "compare it"),
    ("SELECT COUNT(*) FROM release WHERE age IN (SELECT age FROM release)", "IN", "list of constants"),
    ("SELECT COUNT(*) FROM release WHERE COUNT(*) > 3", "WHERE", "SELECT"),
    ("SELECT COUNT(*) FROM release WHERE since > 40", "since", "DATE '2024-12-31'"),
    ("SELECT COUNT(*) FROM release WHERE since > DATE '2024-13-01'", "2024-13-01", "DATE '2024-12-31'"),
    ("SELECT COUNT(*) FROM release WHERE since > 'yesterday'", "since", "DATE '2024-12-31'"),
    ("SELECT age, COUNT(*) FROM release GROUP BY age", "GROUP BY age", "FLOOR(age/10)*10"),
    ("SELECT COUNT(*) FROM release GROUP BY age + 1", "GROUP BY age + 1", "FLOOR(age/10)*10"),
    ("SELECT COUNT(*) FROM release GROUP BY FLOOR(age/10)*5", "FLOOR(age/10)*5", "FLOOR(age/10)*10"),
    ("SELECT COUNT(*) FROM release GROUP BY FLOOR(age/0)*0", "age", "FLOOR(age/10)*10"),
    ("SELECT COUNT(*) FROM release GROUP BY FLOOR(pay/0.0001)*0.0001", "buckets", "wider"),
    ("SELECT COUNT(*) FROM release GROUP BY FLOOR(region/2)*2", "region", "group by it"),
    ("SELECT COUNT(*) FROM release GROUP BY FLOOR(since/30)*30", "since", "CASE WHEN"),
    ("SELECT COUNT(*) FROM release GROUP BY region, pay, since, age > 3", "4 columns", "one to three"),
    ("SELECT COUNT(*) FROM release GROUP BY 3", "GROUP BY 3", "from 1 to 1"),
    ("SELECT COUNT(*) FROM release GROUP BY ROLLUP (region)", "ROLLUP", "group by a column"),
    ("SELECT CASE WHEN age > 3 THEN pay END, COUNT(*) FROM release GROUP BY 1", "THEN pay", "a text or a number"),
    ("SELECT region, COUNT(*) FROM release GROUP BY region ORDER BY pay", "ORDER BY pay", "order by region"),
    ("SELECT region, COUNT(*) FROM release GROUP BY region LIMIT 'x'", "LIMIT", "LIMIT 10"),
    ("SELECT COUNT(*) FROM release LIMIT -1", "LIMIT", "LIMIT 10"),
    ("SELECT SUM(CASE WHEN age > 3 THEN 5 ELSE 0 END) FROM release", "SUM", "THEN 1 ELSE 0"),
    ("SELECT SUM(CASE WHEN age > 3 THEN 1 WHEN age > 2 THEN 1 END) FROM release", "SUM", "one WHEN"),
    ("SELECT SUM(2) FROM release", "SUM(2)", "COUNT(*)"),
    ("SELECT AVG(CASE WHEN age > 3 THEN pay ELSE 0 END) FROM release", "zeros", "leave ELSE 0 out"),
    ("SELECT ARRAY_AGG(region) FROM release", "ARRAY_AGG", "figures are COUNT"),
    ("SELECT MODE(region) FROM release", "MODE", "figures are COUNT"),
    ("SELECT COUNT(*) FROM release USING SAMPLE 10", "SAMPLE", "all rows"),
    (f"SELECT COUNT(*) FROM release WHERE {'(' * 400}age > 3{')' * 400}", "nests", "fewer"),
    (f"SELECT COUNT(*) FROM release WHERE age IN ({', '.join(['1'] * 9000)})", "characters", "at most"),
]  # fmt: skip


def test_there_are_at_least_fifty_wrong_questions():
    assert len({question for question, *_ in WRONG}) >= 50


@pytest.mark.parametrize(("question", "named", "instead"), WRONG, ids=lambda text: str(text)[:60])
def test_a_wrong_question_gets_one_line_that_says_what_to_write(question, named, instead):
    with pytest.raises(UsageError) as error:
        parse_question(question, COLUMNS)
    line = str(error.value)
    assert "\n" not in line
    assert named in line
    assert instead in line
    assert len(line) < 700

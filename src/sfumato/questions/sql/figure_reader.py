"""Figures of a question: what is computed of which rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import UsageError
from sfumato.questions.conditions import Always, Both, Condition, Either, IsMissing, Not, Truly
from sfumato.questions.query import Asked, Statistic
from sfumato.questions.sql.condition_reader import ConditionReader, comparisons

FIGURES = "COUNT, SHARE, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, PERCENTILE_CONT, COVAR_SAMP and CORR"


@dataclass(frozen=True)
class _Argument:
    """What a figure is computed of: a column or every row, where a condition is true; and among which rows."""

    column: str | None
    rows: Condition
    among: Condition | None


class FigureReader(ConditionReader):
    """Reads the figures of SELECT."""

    def figure(self, name: str, node: Any, *, grouped: bool) -> Asked:
        """Return the figure that a part of SELECT asks for."""
        exp = self.exp
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Filter):
            asked = self.figure(name, node.this, grouped=grouped)
            extra = self.condition(node.expression.this, "FILTER")
            among = Both(asked.among, extra) if asked.among is not None else None
            return replace(asked, rows=Both(asked.rows, extra), among=among)
        word = self._word(node)
        if isinstance(node, exp.Column):
            self.column(node, "SELECT")
            how = "add it to GROUP BY" if grouped else f"write GROUP BY {node.name}"
            raise UsageError(
                f"SELECT {node.name}: a release answers figures, not values of rows; {how}, or ask for one such as AVG({node.name})"
            )
        if isinstance(node, exp.Count):
            return self._count(name, node)
        if isinstance(node, exp.CountIf):
            condition = self.condition(node.this, word)
            return Asked(name, Statistic.COUNT, rows=condition, among=Either(condition, Not(condition)))
        if isinstance(node, exp.Sum | exp.Avg) or word in ("SHARE", "MEAN"):
            return self._sum_or_mean(name, node, word)
        if (spread := self._spread(name, node, word)) is not None:
            return spread
        if (quantile := self._quantile(name, node, word)) is not None:
            return quantile
        if isinstance(node, exp.Window):
            raise UsageError(
                f"SELECT {self.text(node)}: OVER is outside what a release answers; GROUP BY the column instead"
            )
        if isinstance(node, exp.Min | exp.Max):
            raise UsageError(
                f"{self.text(node)}: the least and the largest value are single people's; ask for QUANTILE(column, 0.01) or 0.99"
            )
        if isinstance(node, exp.Binary) and node.find(exp.AggFunc):
            raise UsageError(
                f"SELECT {self.text(node)}: arithmetic on figures is outside what a release answers; ask for each figure by itself"
            )
        raise UsageError(
            f"SELECT {self.text(node)} is outside what a release answers; figures are {FIGURES}, and groups stand in GROUP BY"
        )

    def _word(self, node: Any) -> str:
        if isinstance(node, self.exp.Anonymous):
            return str(node.this).upper()
        return self.text(node).partition("(")[0].strip().upper()

    def _one_argument(self, node: Any, word: str) -> Any:
        arguments = node.expressions if isinstance(node, self.exp.Anonymous) else [node.this]
        if len(arguments) != 1 or arguments[0] is None:
            raise UsageError(f"{word} takes one argument; write {word}(column) or {word}(condition)")
        if isinstance(arguments[0], self.exp.Distinct):
            raise UsageError(
                f"{self.text(node)}: DISTINCT values cannot be told through noise; GROUP BY the column, and count its groups"
            )
        return arguments[0]

    def _count(self, name: str, node: Any) -> Asked:
        argument = self._one_argument(node, "COUNT")
        if node.expressions:
            raise UsageError(f"{self.text(node)}: COUNT takes one argument; write COUNT(*) or COUNT(column)")
        if isinstance(argument, self.exp.Star):
            return Asked(name, Statistic.COUNT)
        if isinstance(argument, self.exp.Column):
            return Asked(name, Statistic.COUNT, rows=Not(IsMissing(self.column(argument, "COUNT").name)))
        part = self._argument(argument, "COUNT")
        if part.column is not None:
            return Asked(name, Statistic.COUNT, rows=Both(part.rows, Not(IsMissing(part.column))))
        known = part.among if self.is_condition(argument) else None
        rows = part.rows if known is None else known
        if isinstance(argument, self.exp.Case) and part.among is not None:
            rows = Always()
        return Asked(name, Statistic.COUNT, rows=rows)

    def is_condition(self, node: Any) -> bool:
        """Whether a part of the question is a condition."""
        exp = self.exp
        while isinstance(node, exp.Paren):
            node = node.this
        kinds = (*comparisons(exp), exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Boolean)
        return isinstance(node, kinds)

    def _argument(self, node: Any, word: str) -> _Argument:
        exp = self.exp
        while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and self.is_condition(node.this)):
            node = node.this
        if self.is_condition(node):
            condition = self.condition(node, word)
            return _Argument(None, condition, Either(condition, Not(condition)))
        if isinstance(node, exp.Case):
            return self._case_argument(node, word)
        if isinstance(node, exp.Literal) and not node.is_string:
            if float(node.this) != 1:
                raise UsageError(
                    f"{word}({self.text(node)}): a constant other than 1 says nothing of the rows; write {word}(1) or COUNT(*)"
                )
            return _Argument(None, Always(), Always())
        if isinstance(node, exp.Column) and not self.column(node, word).attribute.kind.numeric:
            raise UsageError(
                f"{word}({node.name}): the column holds labels, not numbers; ask for SHARE({node.name} = 'label') or group by it"
            )
        return _Argument(self.number_column(node, word).name, Always(), None)

    def _case_argument(self, node: Any, word: str) -> _Argument:
        exp = self.exp
        shape = f"{word}({self.text(node)}): write CASE WHEN condition THEN column END, or THEN 1 ELSE 0 END"
        if node.this is not None or len(node.args["ifs"]) != 1:
            raise UsageError(f"{shape}, with one WHEN")
        branch, default = node.args["ifs"][0], node.args.get("default")
        condition = Truly(self.condition(branch.this, "CASE WHEN"))
        try:
            rest = None if default is None else self.constant(default)
        except KeyError:
            raise UsageError(shape) from None
        if rest not in (None, 0.0):
            raise UsageError(shape)
        then = branch.args["true"]
        if isinstance(then, exp.Column):
            column = self.number_column(then, word)
            if rest is None:
                return _Argument(column.name, condition, None)
            return _Argument(column.name, condition, Either(Not(condition), Not(IsMissing(column.name))))
        try:
            value = self.constant(then)
        except KeyError:
            raise UsageError(shape) from None
        if value != 1.0:
            raise UsageError(shape)
        return _Argument(None, condition, Always() if rest is not None else None)

    def _sum_or_mean(self, name: str, node: Any, word: str) -> Asked:
        part = self._argument(self._one_argument(node, word), word)
        if word == "SHARE":
            if part.column is not None:
                raise UsageError(f"SHARE({part.column}): a share is of a condition; write SHARE({part.column} >= …)")
            return Asked(name, Statistic.SHARE, rows=part.rows, among=part.among or part.rows)
        if word == "SUM":
            if part.column is None:
                return Asked(name, Statistic.COUNT, rows=part.rows, among=part.among or part.rows)
            return Asked(name, Statistic.SUM, (part.column,), part.rows, part.among)
        if part.column is None:
            return Asked(name, Statistic.SHARE, rows=part.rows, among=part.among or part.rows)
        if part.among is not None:
            raise UsageError(
                f"{word}({self.text(self._one_argument(node, word))}): zeros beside a column's values are no mean of it; "
                "leave ELSE 0 out"
            )
        return Asked(name, Statistic.MEAN, (part.column,), part.rows)

    def _spread(self, name: str, node: Any, word: str) -> Asked | None:
        exp = self.exp
        one = {
            exp.Variance: (Statistic.VARIANCE, False),
            exp.VariancePop: (Statistic.VARIANCE, True),
            exp.Stddev: (Statistic.DEVIATION, False),
            exp.StddevSamp: (Statistic.DEVIATION, False),
            exp.StddevPop: (Statistic.DEVIATION, True),
        }
        two = {
            exp.CovarSamp: (Statistic.COVARIANCE, False),
            exp.CovarPop: (Statistic.COVARIANCE, True),
            exp.Corr: (Statistic.CORRELATION, False),
        }
        if type(node) in one:
            part = self._argument(self._one_argument(node, word), word)
            if part.column is None or part.among is not None:
                raise UsageError(f"{self.text(node)}: {word} is of a column of numbers; write {word}(column)")
            statistic, population = one[type(node)]
            return Asked(name, statistic, (part.column,), part.rows, population=population)
        if type(node) in two:
            columns = tuple(self.number_column(n, word).name for n in (node.this, node.expression))
            statistic, population = two[type(node)]
            return Asked(name, statistic, columns, population=population)
        return None

    def _quantile(self, name: str, node: Any, word: str) -> Asked | None:
        exp = self.exp
        interpolated = True
        if isinstance(node, exp.Median):
            column, level = self._one_argument(node, word), None
        elif isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
            ordered = node.expression.expressions[0]
            column, level, interpolated = ordered.this, node.this.this, isinstance(node.this, exp.PercentileCont)
            if ordered.args.get("desc"):
                raise UsageError(
                    f"{self.text(node)}: quantiles count from the least value; leave DESC out, and ask for 1 − q"
                )
        elif isinstance(node, exp.PercentileCont | exp.PercentileDisc | exp.Quantile):
            column, level = node.this, node.args.get("quantile") or node.expression
            interpolated = isinstance(node, exp.PercentileCont)
            if not isinstance(column, exp.Column):
                raise UsageError(
                    f"{self.text(node)}: write QUANTILE(column, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
                )
        else:
            return None
        part = self._argument(column, word)
        if part.column is None or part.among is not None:
            raise UsageError(f"{self.text(node)}: {word} is of a column of numbers; write {word}(column, 0.5)")
        share = 0.5
        if level is not None:
            try:
                share = self.constant(level)
            except KeyError:
                share = math.nan
            if not isinstance(share, float) or not 0 <= share <= 1:
                raise UsageError(
                    f"{self.text(node)}: {self.text(level)} is not a share between 0 and 1; write QUANTILE({part.column}, 0.9)"
                )
        return Asked(name, Statistic.QUANTILE, (part.column,), part.rows, level=share, interpolated=interpolated)

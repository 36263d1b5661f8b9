"""Conditions of a question: the columns, the constants, and what compares them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from sfumato.errors import UsageError
from sfumato.questions.conditions import FALSE, TRUE, Always, Both, Condition, Either, HasLabel, InSet, IsMissing, Not
from sfumato.questions.functions import NumberSet, Piece
from sfumato.schema import Attribute, Kind, day_number
from sfumato.table import Column
from sfumato.text import join_names

CONDITIONS = "=, <>, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, OR and NOT"


class ConditionReader:
    """Reads conditions off the syntax tree; `where` is the clause that a message names."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        from sqlglot import expressions

        self.exp = expressions
        self.columns = columns

    def text(self, node: Any) -> str:
        """Return a part of the question as SQL writes it."""
        text: str = node.sql(dialect="duckdb")
        return text

    def lookup(self, name: str) -> Column | None:
        """Return a column by its name, in any case where that names one; None where there is none."""
        if name in self.columns:
            return self.columns[name]
        alike = [n for n in self.columns if n.lower() == name.lower()]
        return self.columns[alike[0]] if len(alike) == 1 else None

    def column(self, node: Any, where: str) -> Column:
        """Return the column that a part of the question names."""
        column = self.lookup(node.name)
        if column is None:
            raise UsageError(
                f"{where}: there is no column {node.name}; the release holds {join_names(list(self.columns), 12)}"
            )
        return column

    def number_column(self, node: Any, where: str) -> Column:
        """Return the column of numbers that a part of the question names."""
        if not isinstance(node, self.exp.Column):
            raise UsageError(
                f"{where} {self.text(node)}: arithmetic on columns is outside what a release answers; name one column"
            )
        column = self.column(node, where)
        if not column.attribute.kind.numeric:
            raise UsageError(
                f"{where}({column.name}): the column holds labels, not numbers; ask for SHARE({column.name} = 'label') or group by it"
            )
        return column

    def constant(self, node: Any) -> Any:
        """Return a number, a text, a date or None; raise KeyError for anything else."""
        exp = self.exp
        if isinstance(node, exp.Paren):
            return self.constant(node.this)
        if isinstance(node, exp.Null):
            return None
        if isinstance(node, exp.Neg):
            value = self.constant(node.this)
            if isinstance(value, float):
                return -value
        if isinstance(node, exp.Literal):
            return str(node.this) if node.is_string else float(node.this)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE and isinstance(node.this, exp.Literal):
            try:
                return date.fromisoformat(str(node.this.this))
            except ValueError:
                raise UsageError(f"DATE {str(node.this.this)!r} is not a day; write DATE '2024-12-31'") from None
        raise KeyError(node)

    def _number_for(self, node: Any, attribute: Attribute, where: str) -> float:
        """Return a constant as a number of a column."""
        value = self.known_constant(node, attribute, where)
        name = attribute.name
        if attribute.kind is Kind.DATE:
            if isinstance(value, str):
                try:
                    value = date.fromisoformat(value)
                except ValueError:
                    raise UsageError(f"{where} {name}: {value!r} is not a day; write DATE '2024-12-31'") from None
            if not isinstance(value, date):
                raise UsageError(f"{where} {name}: the column holds days; write DATE '2024-12-31'")
            return float(day_number(value))
        if isinstance(value, bool) or not isinstance(value, float):
            raise UsageError(f"{where} {name}: the column holds numbers, and {self.text(node)} is none; write a number")
        if not math.isfinite(value):
            raise UsageError(f"{where} {name}: {self.text(node)} is not finite; write a finite number")
        return value

    def known_constant(self, node: Any, attribute: Attribute, where: str) -> Any:
        """Return a constant that a column can be compared with."""
        try:
            value = self.constant(node)
        except KeyError:
            raise UsageError(
                f"{where} {attribute.name}: {self.text(node)} is not a constant; compare the column with a number, a text or a day"
            ) from None
        if value is None:
            raise UsageError(f"{where} {attribute.name}: nothing equals NULL; write {attribute.name} IS NULL")
        return value

    def _code_for(self, node: Any, attribute: Attribute, where: str) -> int:
        """Return a constant as the code of a label."""
        value = self.known_constant(node, attribute, where)
        if not isinstance(value, str):
            raise UsageError(
                f"{where} {attribute.name}: the column holds labels; write one in quotes, such as '{attribute.categories[0]}'"
            )
        if value not in attribute.categories:
            raise UsageError(
                f"{where} {attribute.name}: {value!r} is not among the labels, which are {join_names(list(attribute.categories))}"
            )
        return attribute.categories.index(value)

    def condition(self, node: Any, where: str) -> Condition:
        """Return the condition that a part of the question states."""
        exp = self.exp
        if isinstance(node, exp.Paren):
            return self.condition(node.this, where)
        if isinstance(node, exp.And):
            return Both(self.condition(node.this, where), self.condition(node.expression, where))
        if isinstance(node, exp.Or):
            return Either(self.condition(node.this, where), self.condition(node.expression, where))
        if isinstance(node, exp.Not):
            return Not(self.condition(node.this, where))
        if isinstance(node, exp.Boolean):
            return Always(TRUE if node.this else FALSE)
        if isinstance(node, exp.Is):
            if not isinstance(node.expression, exp.Null) or not isinstance(node.this, exp.Column):
                raise UsageError(
                    f"{where} {self.text(node)}: IS asks for NULL of a column only; write column IS NULL or IS NOT NULL"
                )
            return IsMissing(self.column(node.this, where).name)
        if isinstance(node, exp.Between):
            return self._range(node, where)
        if isinstance(node, exp.In):
            return self._membership(node, where)
        if isinstance(node, tuple(comparisons(exp))):
            return self._comparison(node, where)
        if node.find(exp.AggFunc):
            raise UsageError(f"{where} {self.text(node)}: a figure is no property of a row; ask for it in SELECT")
        if isinstance(node, exp.Column):
            column = self.column(node, where)
            raise UsageError(
                f"{where} {column.name}: a column is no condition by itself; compare it, such as {column.name} = …"
            )
        raise UsageError(
            f"{where} {self.text(node)} is outside what a release answers; conditions are made of {CONDITIONS}"
        )

    def _comparison(self, node: Any, where: str) -> Condition:
        exp = self.exp
        sign, left, right = comparisons(exp)[type(node)], node.this, node.expression
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right, sign = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            raise UsageError(f"{where} {self.text(node)}: two columns cannot be compared; compare each with a constant")
        if node.find(exp.AggFunc):
            raise UsageError(f"{where} {self.text(node)}: a figure is no property of a row; ask for it in SELECT")
        if not isinstance(left, exp.Column):
            raise UsageError(f"{where} {self.text(node)}: compare a column with a constant, such as age >= 40")
        attribute = self.column(left, where).attribute
        if not attribute.kind.numeric:
            return self._compare_label(attribute, sign, right, where)
        value = self._number_for(right, attribute, where)
        inside = InSet(attribute.name, NumberSet((pieces(value)[sign],)))
        return Not(inside) if sign == "<>" else inside

    def _compare_label(self, attribute: Attribute, sign: str, node: Any, where: str) -> Condition:
        if sign in ("=", "<>"):
            same = HasLabel(attribute.name, frozenset((self._code_for(node, attribute, where),)))
            return same if sign == "=" else Not(same)
        value = self.known_constant(node, attribute, where)
        if not isinstance(value, str):
            raise UsageError(
                f"{where} {attribute.name}: the column holds labels; write one in quotes, such as '{attribute.categories[0]}'"
            )
        raise UsageError(
            f"{where} {attribute.name} {sign} {value!r}: labels are not compared by size; list them, "
            f"{attribute.name} IN ('{attribute.categories[0]}', …)"
        )

    def _range(self, node: Any, where: str) -> Condition:
        if not isinstance(node.this, self.exp.Column):
            raise UsageError(f"{where} {self.text(node)}: BETWEEN is for a column, such as age BETWEEN 40 AND 60")
        attribute = self.column(node.this, where).attribute
        if not attribute.kind.numeric:
            raise UsageError(
                f"{where} {attribute.name}: BETWEEN is for numbers and days; list the labels, "
                f"{attribute.name} IN ('{attribute.categories[0]}', …)"
            )
        low, high = (self._number_for(node.args[end], attribute, where) for end in ("low", "high"))
        return InSet(attribute.name, NumberSet((Piece(low, high),) if low <= high else ()))

    def _membership(self, node: Any, where: str) -> Condition:
        if not isinstance(node.this, self.exp.Column) or node.args.get("query") or not node.expressions:
            raise UsageError(
                f"{where} {self.text(node)}: IN takes a column and a list of constants, such as region IN ('north', 'south')"
            )
        attribute = self.column(node.this, where).attribute
        if attribute.kind.numeric:
            points = sorted({self._number_for(n, attribute, where) for n in node.expressions})
            return InSet(attribute.name, NumberSet(tuple(Piece(p, p) for p in points)))
        return HasLabel(attribute.name, frozenset(self._code_for(n, attribute, where) for n in node.expressions))


def comparisons(exp: Any) -> dict[type, str]:
    """Return the sign of every kind of comparison."""
    return {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def pieces(value: float) -> dict[str, Piece]:
    """Return the numbers that stand in each relation to a constant; for <> those that do not."""
    return {
        "=": Piece(value, value),
        "<>": Piece(value, value),
        "<": Piece(high=value, high_in=False),
        "<=": Piece(high=value),
        ">": Piece(low=value, low_in=False),
        ">=": Piece(low=value),
    }

"""Groups of a question: columns, CASE expressions, and buckets of equal width."""

from __future__ import annotations

import math
from typing import Any

from sfumato.channels import Discrete
from sfumato.errors import UsageError
from sfumato.questions.conditions import BucketKey, CaseKey, Key, LabelKey, Not, NumberKey
from sfumato.questions.sql.condition_reader import ConditionReader, comparisons
from sfumato.schema import Attribute, Kind
from sfumato.table import Column

MAX_GROUPS = 100_000
"""Each group that has rows is estimated by itself."""


class GroupReader(ConditionReader):
    """Reads the keys of GROUP BY."""

    def key(self, node: Any) -> Key:
        """Return the key that a part of GROUP BY names."""
        exp, where = self.exp, "GROUP BY"
        if isinstance(node, exp.Paren):
            return self.key(node.this)
        if isinstance(node, exp.Column):
            column = self.column(node, where)
            if not column.attribute.kind.numeric:
                return LabelKey(column.name, column.attribute.categories)
            return self._number_key(column)
        if isinstance(node, exp.Case):
            return self._case_key(node)
        if (bucket := self.bucket(node)) is not None:
            return bucket
        if isinstance(node, exp.Literal | exp.AggFunc) or node.find(exp.AggFunc):
            raise UsageError(
                f"{where} {self.text(node)}: group by a column, a CASE or a bucket such as FLOOR(age/10)*10"
            )
        if isinstance(node, (*comparisons(exp), exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is)):
            condition = self.condition(node, where)
            return CaseKey(((condition, True), (Not(condition), False)))
        raise UsageError(
            f"{where} {self.text(node)} is outside what a release answers; group by a column, a CASE or a bucket such as "
            "FLOOR(age/10)*10"
        )

    def _number_key(self, column: Column) -> Key:
        channel = column.channel
        if channel is None:
            return NumberKey(column.name, ())
        if isinstance(channel, Discrete) and channel.bin_grid.atoms is not None:
            return NumberKey(column.name, tuple(float(a) for a in channel.bin_grid.points))
        raise UsageError(
            f"GROUP BY {column.name}: single numbers cannot be told through {channel.law} noise; group by buckets, such as "
            f"FLOOR({column.name}/{_width(column.attribute):g})*{_width(column.attribute):g}"
        )

    def _case_key(self, node: Any) -> Key:
        branches = []
        for branch in node.args["ifs"]:
            condition = branch.this
            if node.this is not None:
                condition = self.exp.EQ(this=node.this.copy(), expression=condition.copy())
            branches.append((self.condition(condition, "CASE WHEN"), self._group_value(branch.args["true"])))
        default = node.args.get("default")
        return CaseKey(tuple(branches), None if default is None else self._group_value(default))

    def _group_value(self, node: Any) -> Any:
        try:
            return self.constant(node)
        except KeyError:
            raise UsageError(
                f"CASE … THEN {self.text(node)}: a group's value is a constant; write a text or a number"
            ) from None

    def bucket(self, node: Any) -> BucketKey | None:
        """Return the key of FLOOR(x/w)*w or FLOOR(x/w); None for anything else."""
        exp = self.exp
        width = None
        if isinstance(node, exp.Mul):
            one, other = node.this, node.expression
            floor, factor = (one, other) if isinstance(one, exp.Floor) else (other, one)
            if not isinstance(floor, exp.Floor) or not isinstance(factor, exp.Literal):
                return None
            width, node = factor, floor
        if not isinstance(node, exp.Floor) or not isinstance(node.this, exp.Div):
            return None
        column, divisor = node.this.this, node.this.expression
        if not isinstance(column, exp.Column) or not isinstance(divisor, exp.Literal):
            return None
        attribute = self.number_column(column, "FLOOR").attribute
        if attribute.kind is Kind.DATE:
            raise UsageError(
                f"GROUP BY {attribute.name}: days are grouped by CASE; write CASE WHEN {attribute.name} < DATE '2024-01-01' THEN … END"
            )
        if divisor.is_string or not float(divisor.this) > 0:
            raise UsageError(
                f"FLOOR({attribute.name}/{self.text(divisor)}): the width of a bucket is a positive number; "
                f"write FLOOR({attribute.name}/10)*10"
            )
        size = float(divisor.this)
        if width is not None and float(width.this) != size:
            raise UsageError(
                f"FLOOR({attribute.name}/{divisor.this})*{width.this}: both widths must be the same; "
                f"write FLOOR({attribute.name}/{divisor.this})*{divisor.this}"
            )
        low, high = attribute.interval.low, attribute.interval.high
        if attribute.ruler is not None:
            low, high = attribute.ruler.low, attribute.ruler.high
        first, last = math.floor(low / size), math.floor(high / size)
        if last - first + 1 > MAX_GROUPS:
            raise UsageError(
                f"FLOOR({attribute.name}/{divisor.this}) makes {last - first + 1:,} buckets, and at most {MAX_GROUPS:,} are answered; "
                "use wider ones"
            )
        return BucketKey(attribute.name, size, width is not None, first, last)


def _width(attribute: Attribute) -> float:
    """Return a round width of about a tenth of a domain, for advice."""
    size = attribute.interval.range if attribute.ruler is None else attribute.ruler.high - attribute.ruler.low
    return 10.0 ** math.floor(math.log10(size / 5)) if size > 0 else 1.0

"""A question in SQL. sqlglot parses it; what is inside the subset becomes a `Question`, anything else is refused in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sfumato.channels import Discrete
from sfumato.errors import UsageError
from sfumato.questions.conditions import (
    FALSE,
    TRUE,
    Always,
    Both,
    BucketKey,
    CaseKey,
    Condition,
    Either,
    HasLabel,
    InSet,
    IsMissing,
    Key,
    LabelKey,
    Not,
    NumberKey,
    Truly,
)
from sfumato.questions.functions import NumberSet, Piece
from sfumato.questions.question import Asked, Order, Question, Statistic
from sfumato.schema import Attribute, Kind, day_number
from sfumato.table import Column
from sfumato.text import join_names

FIGURES = "COUNT, SHARE, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, PERCENTILE_CONT, COVAR_SAMP and CORR"
CONDITIONS = "=, <>, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, OR and NOT"


def parse_question(text: str, columns: Mapping[str, Column]) -> Question:
    """Return the question that a SELECT asks of a release with these columns; raise UsageError for what is outside the subset.

    Parameters
    ----------
    text
        One SELECT.
    columns
        The columns of the release by name; their values are not used.

    Examples
    --------
    >>> import numpy as np, sfumato as sf
    >>> from sfumato.table import Column
    >>> age = Column(sf.Attribute("age", sf.Kind.INTEGER, sf.Interval(0, 100)), None, np.empty(0))
    >>> parse_question("SELECT COUNT(*) FROM release WHERE age >= 40", {"age": age}).figures[0].statistic
    <Statistic.COUNT: 'count'>
    """
    return _Translator(_parse_select(text), columns).question()


def _parse_select(text: str) -> Any:
    """Return the syntax tree of the one SELECT in a text."""
    import sqlglot
    from sqlglot import expressions as exp

    max_length, max_depth = 20_000, 120
    ask = "ask one SELECT, such as SELECT COUNT(*) FROM release"
    if len(text) > max_length:
        raise UsageError(f"the question has {len(text):,} characters; ask one of at most {max_length:,}")
    if max(_depths(text)) > max_depth:
        raise UsageError(f"the question nests more than {max_depth} brackets; write it with fewer")
    try:
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise UsageError(f"the question cannot be read as SQL: {_first_error(error)}; {ask}") from None
    if len(statements) != 1:
        many = f"holds {len(statements)} statements" if statements else "is empty"
        raise UsageError(f"the question {many}; {ask}")
    if not isinstance(statements[0], exp.Select):
        word = text.split()[0]
        raise UsageError(f"{word}: a release answers SELECT only; {ask}")
    return statements[0]


def _depths(text: str) -> list[int]:
    depth, out = 0, [0]
    for character in text:
        depth += (character == "(") - (character == ")")
        out.append(depth)
    return out


def _first_error(error: Exception) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        near = " ".join(f"{first.get('start_context') or ''}{first.get('highlight') or ''}".split())[-40:]
        return f"line {first.get('line')}, near {near!r}" if near else f"line {first.get('line')}"
    return " ".join(str(error).split())[:100] or "it is too deeply nested"


@dataclass(frozen=True)
class _Argument:
    """What a figure is computed of: a column or every row, where a condition is true; and among which rows."""

    column: str | None
    rows: Condition
    among: Condition | None


class _Translator:
    """Turns the tree of one SELECT into a question."""

    def __init__(self, tree: Any, columns: Mapping[str, Column]) -> None:
        from sqlglot import expressions

        self.exp = expressions
        self.tree = tree
        self.columns = columns

    def question(self) -> Question:
        """Return the question."""
        self._refuse_clauses()
        where = self.tree.args.get("where")
        items = [self._split_alias(node) for node in self.tree.expressions]
        grouped = self._group_nodes(items)
        keys = {self._text(node): self._key(node) for node in grouped}
        out: list[tuple[str, Key | Asked]] = []
        for name, node in items:
            key = keys.get(self._text(node))
            unique = _unique(name, [used for used, _ in out])
            out.append((unique, self._asked(unique, node, grouped=bool(keys)) if key is None else key))
        if not any(isinstance(part, Asked) for _, part in out):
            raise UsageError(f"SELECT asks for no figure; add one, such as COUNT(*), among {FIGURES}")
        self._check_keys(list(keys.values()))
        question = Question(
            columns=tuple(out),
            groups=tuple(keys.values()),
            where=Always() if where is None else self._condition(where.this, "WHERE"),
            limit=self._whole("limit", "LIMIT"),
            offset=self._whole("offset", "OFFSET") or 0,
        )
        return replace(question, order=self._order(items, out))

    def _refuse_clauses(self) -> None:
        advice = {
            "having": ("HAVING", "ask for all groups, and choose among them afterwards"),
            "distinct": ("DISTINCT", "GROUP BY the column, and ask for COUNT(*)"),
            "joins": ("JOIN", "ask of the one table, FROM release"),
            "laterals": ("LATERAL", "ask of the one table, FROM release"),
            "with_": ("WITH", "ask one SELECT of the release itself"),
            "with": ("WITH", "ask one SELECT of the release itself"),
            "windows": ("WINDOW", "GROUP BY the column instead"),
            "qualify": ("QUALIFY", "ask for all groups, and choose among them afterwards"),
            "sample": ("USING SAMPLE", "ask of all rows"),
            "pivots": ("PIVOT", "GROUP BY both columns instead"),
            "into": ("INTO", "leave it out, and write the answer with output=FILE"),
        }
        for name, (word, instead) in advice.items():
            if self.tree.args.get(name):
                raise UsageError(f"{word} is outside what a release answers; {instead}")
        known = {
            "expressions",
            "from_",
            "from",
            "where",
            "group",
            "order",
            "limit",
            "offset",
            "kind",
            "hint",
            "operation_modifiers",
        }
        for name, value in self.tree.args.items():
            if value and name not in known:
                word = name.strip("_").upper()
                raise UsageError(f"{word} is outside what a release answers; leave it out")
        source = self.tree.args.get("from_") or self.tree.args.get("from")
        if source is None:
            raise UsageError("the question names no table; write FROM release")
        table = source.this
        if not isinstance(table, self.exp.Table) or any(
            table.args.get(a) for a in ("joins", "laterals", "pivots", "sample")
        ):
            raise UsageError(f"FROM {self._text(table)}: a release is one table; write FROM release")
        group = self.tree.args.get("group")
        if group is not None and (special := [n for n, v in group.args.items() if v and n != "expressions"]):
            raise UsageError(
                f"GROUP BY {special[0].upper()} is outside what a release answers; name one to three columns"
            )

    def _text(self, node: Any) -> str:
        text: str = node.sql(dialect="duckdb")
        return text

    def _split_alias(self, node: Any) -> tuple[str, Any]:
        if isinstance(node, self.exp.Star) or (
            isinstance(node, self.exp.Column) and isinstance(node.this, self.exp.Star)
        ):
            raise UsageError(
                "SELECT *: a release answers figures of groups, not rows; ask for COUNT(*), or for AVG of a column"
            )
        if isinstance(node, self.exp.Alias):
            return node.alias, node.this
        if isinstance(node, self.exp.Column):
            return node.name, node
        return self._text(node), node

    def _group_nodes(self, items: Sequence[tuple[str, Any]]) -> list[Any]:
        group = self.tree.args.get("group")
        most = 3
        out = []
        for node in group.expressions if group is not None else ():
            if isinstance(node, self.exp.Literal) and not node.is_string:
                place = self._ordinal(node, "GROUP BY", len(items))
                node = items[place][1]
            elif isinstance(node, self.exp.Column) and self._lookup(node.name) is None:
                node = next((item for name, item in items if name.lower() == node.name.lower()), node)
            out.append(node)
        if len(out) > most:
            raise UsageError(f"GROUP BY has {len(out)} columns; group by one to three")
        return out

    def _ordinal(self, node: Any, clause: str, size: int) -> int:
        place = int(node.this) if node.this.isdigit() else 0
        if not 1 <= place <= size:
            raise UsageError(
                f"{clause} {node.this}: there are {size} columns in SELECT; give a number from 1 to {size}"
            )
        return place - 1

    def _check_keys(self, keys: Sequence[Key]) -> None:
        sizes = [len(k.groups()) for k in keys if not isinstance(k, NumberKey)]
        if math.prod(sizes) > MAX_GROUPS:
            raise UsageError(
                f"GROUP BY makes {math.prod(sizes):,} groups, and at most {MAX_GROUPS:,} are answered; use wider buckets, or fewer columns"
            )

    def _whole(self, name: str, word: str) -> int | None:
        clause = self.tree.args.get(name)
        if clause is None:
            return None
        value = clause.expression
        if not isinstance(value, self.exp.Literal) or value.is_string or not value.this.isdigit():
            raise UsageError(f"{word} {self._text(value)} is not a whole number; write {word} 10")
        return int(value.this)

    def _order(self, items: Sequence[tuple[str, Any]], out: Sequence[tuple[str, Key | Asked]]) -> tuple[Order, ...]:
        clause = self.tree.args.get("order")
        orders = []
        for node in clause.expressions if clause is not None else ():
            what = node.this
            names = [name.lower() for name, _ in out]
            texts = [self._text(item) for _, item in items]
            if isinstance(what, self.exp.Literal) and not what.is_string:
                place = self._ordinal(what, "ORDER BY", len(items))
            elif isinstance(what, self.exp.Column) and what.name.lower() in names:
                place = names.index(what.name.lower())
            elif self._text(what) in texts:
                place = texts.index(self._text(what))
            else:
                raise UsageError(
                    f"ORDER BY {self._text(what)}: it is not in SELECT; order by {join_names([name for name, _ in out])}"
                )
            orders.append(Order(place, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
        return tuple(orders)

    # Columns and constants

    def _lookup(self, name: str) -> Column | None:
        if name in self.columns:
            return self.columns[name]
        alike = [n for n in self.columns if n.lower() == name.lower()]
        return self.columns[alike[0]] if len(alike) == 1 else None

    def _column(self, node: Any, where: str) -> Column:
        column = self._lookup(node.name)
        if column is None:
            raise UsageError(
                f"{where}: there is no column {node.name}; the release holds {join_names(list(self.columns), 12)}"
            )
        return column

    def _number_column(self, node: Any, where: str) -> Column:
        if not isinstance(node, self.exp.Column):
            raise UsageError(
                f"{where} {self._text(node)}: arithmetic on columns is outside what a release answers; name one column"
            )
        column = self._column(node, where)
        if not column.attribute.kind.numeric:
            raise UsageError(
                f"{where}({column.name}): the column holds labels, not numbers; ask for SHARE({column.name} = 'label') or group by it"
            )
        return column

    def _constant(self, node: Any) -> Any:
        """Return a number, a text, a date or None; raise KeyError for anything else."""
        exp = self.exp
        if isinstance(node, exp.Paren):
            return self._constant(node.this)
        if isinstance(node, exp.Null):
            return None
        if isinstance(node, exp.Neg):
            value = self._constant(node.this)
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
        value = self._known_constant(node, attribute, where)
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
            raise UsageError(
                f"{where} {name}: the column holds numbers, and {self._text(node)} is none; write a number"
            )
        if not math.isfinite(value):
            raise UsageError(f"{where} {name}: {self._text(node)} is not finite; write a finite number")
        return value

    def _known_constant(self, node: Any, attribute: Attribute, where: str) -> Any:
        try:
            value = self._constant(node)
        except KeyError:
            raise UsageError(
                f"{where} {attribute.name}: {self._text(node)} is not a constant; compare the column with a number, a text or a day"
            ) from None
        if value is None:
            raise UsageError(f"{where} {attribute.name}: nothing equals NULL; write {attribute.name} IS NULL")
        return value

    def _code_for(self, node: Any, attribute: Attribute, where: str) -> int:
        """Return a constant as the code of a label."""
        value = self._known_constant(node, attribute, where)
        if not isinstance(value, str):
            raise UsageError(
                f"{where} {attribute.name}: the column holds labels; write one in quotes, such as '{attribute.categories[0]}'"
            )
        if value not in attribute.categories:
            raise UsageError(
                f"{where} {attribute.name}: there is no label {value!r}; the labels are {join_names(list(attribute.categories))}"
            )
        return attribute.categories.index(value)

    # Conditions

    def _condition(self, node: Any, where: str) -> Condition:
        exp = self.exp
        if isinstance(node, exp.Paren):
            return self._condition(node.this, where)
        if isinstance(node, exp.And):
            return Both(self._condition(node.this, where), self._condition(node.expression, where))
        if isinstance(node, exp.Or):
            return Either(self._condition(node.this, where), self._condition(node.expression, where))
        if isinstance(node, exp.Not):
            return Not(self._condition(node.this, where))
        if isinstance(node, exp.Boolean):
            return Always(TRUE if node.this else FALSE)
        if isinstance(node, exp.Is):
            if not isinstance(node.expression, exp.Null) or not isinstance(node.this, exp.Column):
                raise UsageError(
                    f"{where} {self._text(node)}: IS asks for NULL of a column only; write column IS NULL or IS NOT NULL"
                )
            return IsMissing(self._column(node.this, where).name)
        if isinstance(node, exp.Between):
            return self._between(node, where)
        if isinstance(node, exp.In):
            return self._membership(node, where)
        if isinstance(node, tuple(_comparisons(exp))):
            return self._comparison(node, where)
        if node.find(exp.AggFunc):
            raise UsageError(f"{where} {self._text(node)}: a figure is no property of a row; ask for it in SELECT")
        if isinstance(node, exp.Column):
            column = self._column(node, where)
            raise UsageError(
                f"{where} {column.name}: a column is no condition by itself; compare it, such as {column.name} = …"
            )
        raise UsageError(
            f"{where} {self._text(node)} is outside what a release answers; conditions are made of {CONDITIONS}"
        )

    def _comparison(self, node: Any, where: str) -> Condition:
        exp = self.exp
        sign, left, right = _comparisons(exp)[type(node)], node.this, node.expression
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right, sign = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            raise UsageError(
                f"{where} {self._text(node)}: two columns cannot be compared; compare each with a constant"
            )
        if node.find(exp.AggFunc):
            raise UsageError(f"{where} {self._text(node)}: a figure is no property of a row; ask for it in SELECT")
        if not isinstance(left, exp.Column):
            raise UsageError(f"{where} {self._text(node)}: compare a column with a constant, such as age >= 40")
        attribute = self._column(left, where).attribute
        if not attribute.kind.numeric:
            return self._compare_label(attribute, sign, right, where)
        value = self._number_for(right, attribute, where)
        inside = InSet(attribute.name, NumberSet((_pieces(value)[sign],)))
        return Not(inside) if sign == "<>" else inside

    def _compare_label(self, attribute: Attribute, sign: str, node: Any, where: str) -> Condition:
        if sign in ("=", "<>"):
            same = HasLabel(attribute.name, frozenset((self._code_for(node, attribute, where),)))
            return same if sign == "=" else Not(same)
        value = self._known_constant(node, attribute, where)
        if not isinstance(value, str):
            raise UsageError(
                f"{where} {attribute.name}: the column holds labels; write one in quotes, such as '{attribute.categories[0]}'"
            )
        raise UsageError(
            f"{where} {attribute.name} {sign} {value!r}: labels are not compared by size; list them, {attribute.name} IN ('{attribute.categories[0]}', …)"
        )

    def _between(self, node: Any, where: str) -> Condition:
        if not isinstance(node.this, self.exp.Column):
            raise UsageError(f"{where} {self._text(node)}: BETWEEN is for a column, such as age BETWEEN 40 AND 60")
        attribute = self._column(node.this, where).attribute
        if not attribute.kind.numeric:
            raise UsageError(
                f"{where} {attribute.name}: BETWEEN is for numbers and days; list the labels, {attribute.name} IN ('{attribute.categories[0]}', …)"
            )
        low, high = (self._number_for(node.args[end], attribute, where) for end in ("low", "high"))
        return InSet(attribute.name, NumberSet((Piece(low, high),) if low <= high else ()))

    def _membership(self, node: Any, where: str) -> Condition:
        if not isinstance(node.this, self.exp.Column) or node.args.get("query") or not node.expressions:
            raise UsageError(
                f"{where} {self._text(node)}: IN takes a column and a list of constants, such as region IN ('north', 'south')"
            )
        attribute = self._column(node.this, where).attribute
        if attribute.kind.numeric:
            points = sorted({self._number_for(n, attribute, where) for n in node.expressions})
            return InSet(attribute.name, NumberSet(tuple(Piece(p, p) for p in points)))
        return HasLabel(attribute.name, frozenset(self._code_for(n, attribute, where) for n in node.expressions))

    # Groups

    def _key(self, node: Any) -> Key:
        exp, where = self.exp, "GROUP BY"
        if isinstance(node, exp.Paren):
            return self._key(node.this)
        if isinstance(node, exp.Column):
            column = self._column(node, where)
            if not column.attribute.kind.numeric:
                return LabelKey(column.name, column.attribute.categories)
            return self._number_key(column)
        if isinstance(node, exp.Case):
            return self._case_key(node)
        if (bucket := self._bucket(node)) is not None:
            return bucket
        if isinstance(node, exp.Literal | exp.AggFunc) or node.find(exp.AggFunc):
            raise UsageError(
                f"{where} {self._text(node)}: group by a column, a CASE or a bucket such as FLOOR(age/10)*10"
            )
        if isinstance(node, (*_comparisons(exp), exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is)):
            condition = self._condition(node, where)
            return CaseKey(((condition, True), (Not(condition), False)))
        raise UsageError(
            f"{where} {self._text(node)} is outside what a release answers; group by a column, a CASE or a bucket such as FLOOR(age/10)*10"
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
            branches.append((self._condition(condition, "CASE WHEN"), self._group_value(branch.args["true"])))
        default = node.args.get("default")
        return CaseKey(tuple(branches), None if default is None else self._group_value(default))

    def _group_value(self, node: Any) -> Any:
        try:
            return self._constant(node)
        except KeyError:
            raise UsageError(
                f"CASE … THEN {self._text(node)}: a group's value is a constant; write a text or a number"
            ) from None

    def _bucket(self, node: Any) -> BucketKey | None:
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
        attribute = self._number_column(column, "FLOOR").attribute
        if attribute.kind is Kind.DATE:
            raise UsageError(
                f"GROUP BY {attribute.name}: days are grouped by CASE; write CASE WHEN {attribute.name} < DATE '2024-01-01' THEN … END"
            )
        if divisor.is_string or not float(divisor.this) > 0:
            raise UsageError(
                f"FLOOR({attribute.name}/{self._text(divisor)}): the width of a bucket is a positive number; write FLOOR({attribute.name}/10)*10"
            )
        size = float(divisor.this)
        if width is not None and float(width.this) != size:
            raise UsageError(
                f"FLOOR({attribute.name}/{divisor.this})*{width.this}: both widths must be the same; write FLOOR({attribute.name}/{divisor.this})*{divisor.this}"
            )
        low, high = attribute.interval.low, attribute.interval.high
        if attribute.ruler is not None:
            low, high = attribute.ruler.low, attribute.ruler.high
        first, last = math.floor(low / size), math.floor(high / size)
        if last - first + 1 > MAX_GROUPS:
            raise UsageError(
                f"FLOOR({attribute.name}/{divisor.this}) makes {last - first + 1:,} buckets, and at most {MAX_GROUPS:,} are answered; use wider ones"
            )
        return BucketKey(attribute.name, size, width is not None, first, last)

    # Figures

    def _asked(self, name: str, node: Any, *, grouped: bool) -> Asked:
        exp = self.exp
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Filter):
            asked = self._asked(name, node.this, grouped=grouped)
            extra = self._condition(node.expression.this, "FILTER")
            among = Both(asked.among, extra) if asked.among is not None else None
            return replace(asked, rows=Both(asked.rows, extra), among=among)
        word = self._word(node)
        if isinstance(node, exp.Column):
            self._column(node, "SELECT")
            how = "add it to GROUP BY" if grouped else f"write GROUP BY {node.name}"
            raise UsageError(
                f"SELECT {node.name}: a row's value is nobody's to give; {how}, or ask for a figure such as AVG({node.name})"
            )
        if isinstance(node, exp.Count):
            return self._count(name, node)
        if isinstance(node, exp.CountIf):
            condition = self._condition(node.this, word)
            return Asked(name, Statistic.COUNT, rows=condition, among=Either(condition, Not(condition)))
        if isinstance(node, exp.Sum | exp.Avg) or word in ("SHARE", "MEAN"):
            return self._sum_or_mean(name, node, word)
        if (spread := self._spread(name, node, word)) is not None:
            return spread
        if (quantile := self._quantile(name, node, word)) is not None:
            return quantile
        if isinstance(node, exp.Window):
            raise UsageError(
                f"SELECT {self._text(node)}: OVER is outside what a release answers; GROUP BY the column instead"
            )
        if isinstance(node, exp.Min | exp.Max):
            raise UsageError(
                f"{self._text(node)}: the least and the largest value are single people's; ask for QUANTILE(column, 0.01) or 0.99"
            )
        if isinstance(node, exp.Binary) and node.find(exp.AggFunc):
            raise UsageError(
                f"SELECT {self._text(node)}: arithmetic on figures is outside what a release answers; ask for each figure by itself"
            )
        raise UsageError(
            f"SELECT {self._text(node)} is outside what a release answers; figures are {FIGURES}, and groups stand in GROUP BY"
        )

    def _word(self, node: Any) -> str:
        if isinstance(node, self.exp.Anonymous):
            return str(node.this).upper()
        return self._text(node).partition("(")[0].strip().upper()

    def _one_argument(self, node: Any, word: str) -> Any:
        arguments = node.expressions if isinstance(node, self.exp.Anonymous) else [node.this]
        if len(arguments) != 1 or arguments[0] is None:
            raise UsageError(f"{word} takes one argument; write {word}(column) or {word}(condition)")
        if isinstance(arguments[0], self.exp.Distinct):
            raise UsageError(
                f"{self._text(node)}: DISTINCT values cannot be told through noise; GROUP BY the column, and count its groups"
            )
        return arguments[0]

    def _count(self, name: str, node: Any) -> Asked:
        argument = self._one_argument(node, "COUNT")
        if node.expressions:
            raise UsageError(f"{self._text(node)}: COUNT takes one argument; write COUNT(*) or COUNT(column)")
        if isinstance(argument, self.exp.Star):
            return Asked(name, Statistic.COUNT)
        if isinstance(argument, self.exp.Column):
            return Asked(name, Statistic.COUNT, rows=Not(IsMissing(self._column(argument, "COUNT").name)))
        part = self._argument(argument, "COUNT")
        if part.column is not None:
            return Asked(name, Statistic.COUNT, rows=Both(part.rows, Not(IsMissing(part.column))))
        known = part.among if self._is_condition(argument) else None
        rows = part.rows if known is None else known
        if isinstance(argument, self.exp.Case) and part.among is not None:
            rows = Always()
        return Asked(name, Statistic.COUNT, rows=rows)

    def _is_condition(self, node: Any) -> bool:
        exp = self.exp
        while isinstance(node, exp.Paren):
            node = node.this
        kinds = (*_comparisons(exp), exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Boolean)
        return isinstance(node, kinds)

    def _argument(self, node: Any, word: str) -> _Argument:
        exp = self.exp
        while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and self._is_condition(node.this)):
            node = node.this
        if self._is_condition(node):
            condition = self._condition(node, word)
            return _Argument(None, condition, Either(condition, Not(condition)))
        if isinstance(node, exp.Case):
            return self._case_argument(node, word)
        if isinstance(node, exp.Literal) and not node.is_string:
            if float(node.this) != 1:
                raise UsageError(
                    f"{word}({self._text(node)}): a constant other than 1 says nothing of the rows; write {word}(1) or COUNT(*)"
                )
            return _Argument(None, Always(), Always())
        if isinstance(node, exp.Column) and not self._column(node, word).attribute.kind.numeric:
            raise UsageError(
                f"{word}({node.name}): the column holds labels, not numbers; ask for SHARE({node.name} = 'label') or group by it"
            )
        return _Argument(self._number_column(node, word).name, Always(), None)

    def _case_argument(self, node: Any, word: str) -> _Argument:
        exp = self.exp
        shape = f"{word}({self._text(node)}): write CASE WHEN condition THEN column END, or THEN 1 ELSE 0 END"
        if node.this is not None or len(node.args["ifs"]) != 1:
            raise UsageError(f"{shape}, with one WHEN")
        branch, default = node.args["ifs"][0], node.args.get("default")
        condition = Truly(self._condition(branch.this, "CASE WHEN"))
        try:
            rest = None if default is None else self._constant(default)
        except KeyError:
            raise UsageError(shape) from None
        if rest not in (None, 0.0):
            raise UsageError(shape)
        then = branch.args["true"]
        if isinstance(then, exp.Column):
            column = self._number_column(then, word)
            if rest is None:
                return _Argument(column.name, condition, None)
            return _Argument(column.name, condition, Either(Not(condition), Not(IsMissing(column.name))))
        try:
            value = self._constant(then)
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
                f"{word}({self._text(self._one_argument(node, word))}): zeros beside a column's values are no mean of it; leave ELSE 0 out"
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
                raise UsageError(f"{self._text(node)}: {word} is of a column of numbers; write {word}(column)")
            statistic, population = one[type(node)]
            return Asked(name, statistic, (part.column,), part.rows, population=population)
        if type(node) in two:
            columns = tuple(self._number_column(n, word).name for n in (node.this, node.expression))
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
                    f"{self._text(node)}: quantiles count from the least value; leave DESC out, and ask for 1 − q"
                )
        elif isinstance(node, exp.PercentileCont | exp.PercentileDisc | exp.Quantile):
            column, level = node.this, node.args.get("quantile") or node.expression
            interpolated = isinstance(node, exp.PercentileCont)
            if not isinstance(column, exp.Column):
                raise UsageError(
                    f"{self._text(node)}: write QUANTILE(column, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)"
                )
        else:
            return None
        part = self._argument(column, word)
        if part.column is None or part.among is not None:
            raise UsageError(f"{self._text(node)}: {word} is of a column of numbers; write {word}(column, 0.5)")
        share = 0.5
        if level is not None:
            try:
                share = self._constant(level)
            except KeyError:
                share = math.nan
            if not isinstance(share, float) or not 0 <= share <= 1:
                raise UsageError(
                    f"{self._text(node)}: {self._text(level)} is not a share between 0 and 1; write QUANTILE({part.column}, 0.9)"
                )
        return Asked(name, Statistic.QUANTILE, (part.column,), part.rows, level=share, interpolated=interpolated)


MAX_GROUPS = 100_000
"""Each group that has rows is estimated by itself."""


def _comparisons(exp: Any) -> dict[type, str]:
    return {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def _pieces(value: float) -> dict[str, Piece]:
    """Return the numbers that stand in each relation to a constant; for <> those that do not."""
    return {
        "=": Piece(value, value),
        "<>": Piece(value, value),
        "<": Piece(high=value, high_in=False),
        "<=": Piece(high=value),
        ">": Piece(low=value, low_in=False),
        ">=": Piece(low=value),
    }


def _width(attribute: Attribute) -> float:
    """Return a round width of about a tenth of a domain, for advice."""
    size = attribute.interval.range if attribute.ruler is None else attribute.ruler.high - attribute.ruler.low
    return 10.0 ** math.floor(math.log10(size / 5)) if size > 0 else 1.0


def _unique(name: str, used: Sequence[str]) -> str:
    """Return the name, with a number behind it where an earlier column of the answer has it."""
    number, out = 2, name
    while out in used:
        out, number = f"{name}_{number}", number + 1
    return out

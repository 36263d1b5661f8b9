"""One SELECT: its clauses, in the order in which they are checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.errors import UsageError
from sfumato.questions.conditions import Always, Key, LabelKey, NumberKey
from sfumato.questions.query import Asked, Order, Question
from sfumato.questions.sql.figure_reader import FIGURES, FigureReader
from sfumato.questions.sql.group_reader import MAX_GROUPS, GroupReader
from sfumato.table import Column
from sfumato.text import join_names


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
    return _Select(_parse_select(text), columns).question()


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


class _Select(GroupReader, FigureReader):
    """Turns the tree of one SELECT into a question."""

    def __init__(self, tree: Any, columns: Mapping[str, Column]) -> None:
        super().__init__(columns)
        self.tree = tree

    def question(self) -> Question:
        """Return the question."""
        self._refuse_clauses()
        where = self.tree.args.get("where")
        items = [self._split_alias(node) for node in self.tree.expressions]
        grouped = self._group_nodes(items)
        keys = {self.text(node): self.key(node) for node in grouped}
        out: list[tuple[str, Key | Asked]] = []
        for name, node in items:
            key = keys.get(self.text(node))
            unique = _unique(name, [used for used, _ in out])
            out.append((unique, self.figure(unique, node, grouped=bool(keys)) if key is None else key))
        if not any(isinstance(part, Asked) for _, part in out):
            raise UsageError(f"SELECT asks for no figure; add one, such as COUNT(*), among {FIGURES}")
        self._check_keys(list(keys.values()))
        question = Question(
            columns=tuple(out),
            groups=tuple(keys.values()),
            where=Always() if where is None else self.condition(where.this, "WHERE"),
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
            raise UsageError(f"FROM {self.text(table)}: a release is one table; write FROM release")
        group = self.tree.args.get("group")
        if group is not None and (special := [n for n, v in group.args.items() if v and n != "expressions"]):
            raise UsageError(
                f"GROUP BY {special[0].upper()} is outside what a release answers; name one to three columns"
            )

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
        return self.text(node), node

    def _group_nodes(self, items: Sequence[tuple[str, Any]]) -> list[Any]:
        group = self.tree.args.get("group")
        most = 3
        out = []
        for node in group.expressions if group is not None else ():
            if isinstance(node, self.exp.Literal) and not node.is_string:
                place = self._ordinal(node, "GROUP BY", len(items))
                node = items[place][1]
            elif isinstance(node, self.exp.Column) and self.lookup(node.name) is None:
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
        max_noisy = 3000  # a label through noise has a weight for each label that may be released
        for key in keys:
            noisy = isinstance(key, LabelKey) and self.columns[key.column].channel is not None
            if noisy and len(key.groups()) > max_noisy:
                raise UsageError(
                    f"GROUP BY makes {len(key.groups()):,} groups of labels that were blurred, and at most {max_noisy:,} of these are "
                    "answered; group by CASE WHEN, with some of them"
                )
        sizes = [len(k.groups()) for k in keys if not isinstance(k, NumberKey)]
        if math.prod(sizes) > MAX_GROUPS:
            raise UsageError(
                f"GROUP BY makes {math.prod(sizes):,} groups, and at most {MAX_GROUPS:,} are answered; use wider buckets, or fewer "
                "columns"
            )

    def _whole(self, name: str, word: str) -> int | None:
        clause = self.tree.args.get(name)
        if clause is None:
            return None
        value = clause.expression
        if not isinstance(value, self.exp.Literal) or value.is_string or not value.this.isdigit():
            raise UsageError(f"{word} {self.text(value)} is not a whole number; write {word} 10")
        return int(value.this)

    def _order(self, items: Sequence[tuple[str, Any]], out: Sequence[tuple[str, Key | Asked]]) -> tuple[Order, ...]:
        clause = self.tree.args.get("order")
        orders = []
        for node in clause.expressions if clause is not None else ():
            what = node.this
            names = [name.lower() for name, _ in out]
            texts = [self.text(item) for _, item in items]
            if isinstance(what, self.exp.Literal) and not what.is_string:
                place = self._ordinal(what, "ORDER BY", len(items))
            elif isinstance(what, self.exp.Column) and what.name.lower() in names:
                place = names.index(what.name.lower())
            elif self.text(what) in texts:
                place = texts.index(self.text(what))
            else:
                raise UsageError(
                    f"ORDER BY {self.text(what)}: it is not in SELECT; order by {join_names([name for name, _ in out])}"
                )
            orders.append(Order(place, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
        return tuple(orders)


def _unique(name: str, used: Sequence[str]) -> str:
    """Return the name, with a number behind it where an earlier column of the answer has it."""
    number, out = 2, name
    while out in used:
        out, number = f"{name}_{number}", number + 1
    return out

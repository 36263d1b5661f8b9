"""A tree as source code that runs without this library: a Python function, a JavaScript function, an SQL expression.

All three follow one rule for absent values, by the way comparisons fail: NaN in Python and JavaScript, and NULL in SQL,
compare as false, so the branch for missing values is always the one that is left when no comparison holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sfumato.errors import UsageError
from sfumato.schema import MISSING_LABEL, Attribute, Kind, Missing
from sfumato.trees.tree import Test, Tree


def to_python(tree: Tree, name: str = "predict") -> str:
    """Return the source of a function from a mapping (column name to true value) to the class label.

    Numbers may be numbers or texts of numbers, dates ISO texts or `datetime.date`; None, NaN and "" are missing.
    """
    if not name.isidentifier():
        raise UsageError(f"{name!r} is not a name for a Python function; use letters, digits and underscores")
    max_depth = 90  # Python reads at most a hundred levels of indentation
    if tree.depth > max_depth:
        raise UsageError(f"a tree {tree.depth} tests deep is too deep for Python source; limit it to {max_depth}")
    lines = [
        _PYTHON_HEAD,
        f"def {name}(row):",
        f'    """{tree.leaves} leaves; missing values take the heavier branch."""',
    ]
    for i, a in enumerate(_used_attributes(tree)):
        lines.append(f"    a{i} = _{_reader(a)}(row.get({a.name!r}){_default(a, repr)})")
    language = _Language(
        quote=repr,
        among=lambda a, labels: f"{a} in ({', '.join(map(repr, labels))},)",
        begin=lambda place, condition: f"{'el' if place else ''}if {condition}:",
        step="    ",
    )
    return "\n".join([*lines, *language.block(tree, 0, "    "), ""])


def to_javascript(tree: Tree, name: str = "predict") -> str:
    """Return the source of a function from an object (column name to true value) to the class label.

    Dates are ISO texts; null, undefined, NaN and "" are missing.
    """
    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name!r} is not a name for a JavaScript function; use letters, digits and underscores")
    lines = [f"function {name}(row) {{", _JAVASCRIPT_HEAD]
    for i, a in enumerate(_used_attributes(tree)):
        lines.append(f"  const a{i} = {_reader(a)}(row[{_script(a.name)}]{_default(a, _script)});")
    language = _Language(
        quote=_script,
        among=lambda a, labels: f"[{', '.join(map(_script, labels))}].includes({a})",
        begin=lambda _, condition: f"if ({condition}) {{",
        step="  ",
        end=";",
        close=("}",),
    )
    return "\n".join([*lines, *language.block(tree, 0, "  "), "}", ""])


def to_sql(tree: Tree) -> str:
    """Return a CASE expression in standard SQL over the columns; NULL is missing.

    Dates are compared as ISO texts, which suits DATE columns and texts alike. Where a database knows NaN, turn it into NULL
    first.
    """

    def column(attribute: Attribute) -> str:
        _sql_text(attribute.name)  # raises where a name cannot be written for every database
        quoted = '"' + attribute.name.replace('"', '""') + '"'
        return f"COALESCE({quoted}, {_sql_text(MISSING_LABEL)})" if attribute.missing is Missing.CATEGORY else quoted

    def value(attribute: Attribute, threshold: float) -> str:
        return _sql_text(str(attribute.format_value(threshold))) if attribute.kind is Kind.DATE else repr(threshold)

    def among(column: str, labels: tuple[str, ...]) -> str:
        return f"{column} IN ({', '.join(map(_sql_text, labels))})"

    def case(number: int, indent: str) -> str:
        node = tree.nodes[number]
        if node.test is None:
            return _sql_text(tree.labels[int(tree.node_classes[number])])
        attribute = tree.attribute(node.test.attribute)
        conditions = _conditions(node.test, column(attribute), among, partial(value, attribute))
        if not conditions:
            return case(node.children[node.test.missing], indent)
        deeper = indent + "  "
        lines = ["CASE"]
        lines += [f"{deeper}WHEN {c} THEN {case(node.children[branch], deeper)}" for branch, c in conditions.items()]
        lines += [f"{deeper}ELSE {case(node.children[node.test.missing], deeper)}", f"{indent}END"]
        return "\n".join(lines)

    return case(0, "")


Among = Callable[[str, tuple[str, ...]], str]
"""Writes the condition that a variable is one of some labels."""


@dataclass(frozen=True)
class _Language:
    """How a language of statements writes a label, a condition on labels, and the two ends of a block."""

    quote: Callable[[str], str]
    among: Among
    begin: Callable[[int, str], str]
    step: str
    end: str = ""
    close: tuple[str, ...] = ()

    def block(self, tree: Tree, number: int, indent: str) -> list[str]:
        """Return the lines of a node and of all below it."""
        node = tree.nodes[number]
        if node.test is None:
            return [f"{indent}return {self.quote(tree.labels[int(tree.node_classes[number])])}{self.end}"]
        out = []
        conditions = _conditions(node.test, f"a{tree.used.index(node.test.attribute)}", self.among)
        for place, (branch, condition) in enumerate(conditions.items()):
            out.append(f"{indent}{self.begin(place, condition)}")
            out += self.block(tree, node.children[branch], indent + self.step)
            out += [indent + line for line in self.close]
        # Every branch returns, so what is left needs no `else` and no deeper level.
        return out + self.block(tree, node.children[node.test.missing], indent)


def _conditions(test: Test, variable: str, among: Among, value: Callable[[float], str] = repr) -> dict[int, str]:
    """Return the condition of every branch that can be entered, without that of missing values, which is what is left.

    The second branch is asked for by its own comparison, since the negation of the first would admit NaN.
    """
    if test.threshold is None:
        groups = {branch: labels for branch, labels in enumerate(test.groups) if labels and branch != test.missing}
        return {branch: among(variable, labels) for branch, labels in groups.items()}
    signs = ("<=", ">") if test.closed else ("<", ">=")
    return {b: f"{variable} {sign} {value(test.threshold)}" for b, sign in enumerate(signs) if b != test.missing}


def _used_attributes(tree: Tree) -> list[Attribute]:
    return [tree.attribute(name) for name in tree.used]


def _reader(attribute: Attribute) -> str:
    if not attribute.kind.numeric:
        return "label"
    return "day" if attribute.kind is Kind.DATE else "number"


def _default(attribute: Attribute, quoted: Callable[[str], str]) -> str:
    return f", {quoted(MISSING_LABEL)}" if attribute.missing is Missing.CATEGORY else ""


def _script(value: str) -> str:
    """Return a JavaScript string that may also stand inside an HTML page."""
    return json.dumps(value).replace("<", "\\u003c")  # "</script" and "<!--" alike


def _sql_text(value: str) -> str:
    """Return an SQL string; raise UsageError for a backslash, which some databases take for themselves and some escape by.

    In MySQL, BigQuery and Spark it would join the quote behind it to the text, and what follows would be read as SQL.
    """
    if "\\" in value or "\0" in value:
        raise UsageError(
            f"the label {value!r} holds a backslash, which databases read in different ways; rename it, or export the tree as "
            ".py or .js"
        )
    return "'" + value.replace("'", "''") + "'"


_PYTHON_HEAD = """\
import datetime


def _absent(value):
    return value is None or value == "" or value != value


def _number(value):
    return float("nan") if _absent(value) else float(value)


def _day(value):
    if _absent(value):
        return float("nan")
    if isinstance(value, (int, float)):
        return value
    return (datetime.date.fromisoformat(str(value)[:10]) - datetime.date(1970, 1, 1)).days


def _label(value, default=None):
    return default if _absent(value) else str(value)

"""

_JAVASCRIPT_HEAD = """\
  const absent = (v) => v === null || v === undefined || v === "" || v !== v;
  const number = (v) => (absent(v) ? NaN : Number(v));
  const day = (v) => (absent(v) ? NaN : typeof v === "number" ? v : Math.floor(Date.parse(v) / 864e5));
  const label = (v, otherwise = null) => (absent(v) ? otherwise : String(v));"""

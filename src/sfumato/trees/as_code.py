"""A tree as source code that runs without this library: a Python function, a JavaScript function, an SQL expression.

All three follow one rule for absent values, by the way comparisons fail: NaN in Python and JavaScript, and NULL in SQL,
compare as false, so the branch for missing values is always the one that is left when no comparison holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

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
    readers = {"number": "_number", "day": "_day", "label": "_label"}
    lines = [
        _PYTHON_HEAD,
        f"def {name}(row):",
        f'    """{tree.leaves} leaves; missing values take the heavier branch."""',
    ]
    for i, attribute in enumerate(_used_attributes(tree)):
        lines.append(
            f"    a{i} = {readers[_reader(attribute)]}(row.get({attribute.name!r}){_default(attribute, repr)})"
        )
    language = _Language(
        less=lambda a, t: f"{a} < {t!r}",
        at_most=lambda a, t: f"{a} <= {t!r}",
        among=lambda a, labels: f"{a} in ({', '.join(map(repr, labels))},)",
    )

    def block(number: int, indent: str) -> list[str]:
        node = tree.nodes[number]
        if node.test is None:
            return [f"{indent}return {tree.labels[int(tree.node_classes[number])]!r}"]
        out = []
        *asked, otherwise = _branches(tree, node.test, language)
        for place, (condition, branch) in enumerate(asked):
            out.append(f"{indent}{'el' if place else ''}if {condition}:")
            out += block(node.children[branch], indent + "    ")
        # Every branch returns, so what is left needs no `else` and no deeper level.
        return out + block(node.children[otherwise[1]], indent)

    return "\n".join([*lines, *block(0, "    "), ""])


def to_javascript(tree: Tree, name: str = "predict") -> str:
    """Return the source of a function from an object (column name to true value) to the class label.

    Dates are ISO texts; null, undefined, NaN and "" are missing.
    """
    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name!r} is not a name for a JavaScript function; use letters, digits and underscores")
    readers = {"number": "number", "day": "day", "label": "label"}
    lines = [f"function {name}(row) {{", _JAVASCRIPT_HEAD]
    for i, attribute in enumerate(_used_attributes(tree)):
        default = _default(attribute, _script)
        lines.append(f"  const a{i} = {readers[_reader(attribute)]}(row[{_script(attribute.name)}]{default});")
    language = _Language(
        less=lambda a, t: f"{a} < {t!r}",
        at_most=lambda a, t: f"{a} <= {t!r}",
        among=lambda a, labels: f"[{', '.join(map(_script, labels))}].includes({a})",
    )

    def block(number: int, indent: str) -> list[str]:
        node = tree.nodes[number]
        if node.test is None:
            return [f"{indent}return {_script(tree.labels[int(tree.node_classes[number])])};"]
        out = []
        *asked, otherwise = _branches(tree, node.test, language)
        for condition, branch in asked:
            out += [f"{indent}if ({condition}) {{", *block(node.children[branch], indent + "  "), f"{indent}}}"]
        return out + block(node.children[otherwise[1]], indent)

    return "\n".join([*lines, *block(0, "  "), "}", ""])


def to_sql(tree: Tree) -> str:
    """Return a CASE expression in standard SQL over the columns; NULL is missing.

    Dates are compared as ISO texts, which suits DATE columns and texts alike. Where a database knows NaN, turn it into NULL
    first.
    """
    names = {a.name: _identifier(a.name) for a in tree.attributes}

    def column(attribute: Attribute) -> str:
        quoted = names[attribute.name]
        return f"COALESCE({quoted}, {_sql_text(MISSING_LABEL)})" if attribute.missing is Missing.CATEGORY else quoted

    def value(attribute: Attribute, threshold: float) -> str:
        return _sql_text(str(attribute.format_value(threshold))) if attribute.kind is Kind.DATE else repr(threshold)

    def condition(attribute: Attribute, test: Test, branch: int) -> str:
        if test.threshold is None:
            return f"{column(attribute)} IN ({', '.join(map(_sql_text, test.groups[branch]))})"
        sign = ("<=" if test.closed else "<") if branch == 0 else (">" if test.closed else ">=")
        return f"{column(attribute)} {sign} {value(attribute, test.threshold)}"

    def case(number: int, indent: str) -> str:
        node = tree.nodes[number]
        if node.test is None:
            return _sql_text(tree.labels[int(tree.node_classes[number])])
        attribute = tree.attribute(node.test.attribute)
        deeper = indent + "  "
        lines = ["CASE"]
        for branch, child in enumerate(node.children):
            if branch != node.test.missing and _can_be_entered(node.test, branch):
                lines.append(f"{deeper}WHEN {condition(attribute, node.test, branch)} THEN {case(child, deeper)}")
        if len(lines) == 1:
            return case(node.children[node.test.missing], indent)
        lines += [f"{deeper}ELSE {case(node.children[node.test.missing], deeper)}", f"{indent}END"]
        return "\n".join(lines)

    return case(0, "")


@dataclass(frozen=True)
class _Language:
    less: Callable[[str, float], str]
    at_most: Callable[[str, float], str]
    among: Callable[[str, tuple[str, ...]], str]


def _branches(tree: Tree, test: Test, language: _Language) -> list[tuple[str, int]]:
    """Return the conditions of all branches; the one for missing values comes last and has none."""
    variable = f"a{tree.used.index(test.attribute)}"
    out = []
    for branch in range(len(test.groups) or 2):
        if branch == test.missing or not _can_be_entered(test, branch):
            continue
        if test.threshold is None:
            out.append((language.among(variable, test.groups[branch]), branch))
            continue
        # The second branch is asked for by its own comparison, since the negation of the first would admit NaN.
        below = language.at_most if test.closed else language.less
        out.append((below(variable, test.threshold) if branch == 0 else _above(variable, test), branch))
    return [*out, ("", test.missing)]


def _above(variable: str, test: Test) -> str:
    return f"{variable} {'>' if test.closed else '>='} {test.threshold!r}"


def _can_be_entered(test: Test, branch: int) -> bool:
    """Return whether a branch can be entered: an empty group of labels never is."""
    return test.threshold is not None or bool(test.groups[branch])


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
    return json.dumps(value).replace("</", "<\\/")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_text(value: str) -> str:
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

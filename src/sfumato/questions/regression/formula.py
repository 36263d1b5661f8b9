"""A formula as a design: which functions of which columns stand in each term.

Formulas are parsed and coded by formulaic, so names, contrasts and full rank are those that analysts know. formulaic is handed a
table of a few made-up rows, never data: what it says of the columns of the design is all that is used.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.channels import Discrete
from sfumato.errors import UsageError
from sfumato.schema import Attribute
from sfumato.table import Column
from sfumato.text import join_names

SUBSET = (
    "a formula holds columns by name, C(label), C(label, Treatment('base')), I(number**2), place(number), interactions a:b and "
    "a*b, and 0 or -1 for no intercept"
)


@dataclass(frozen=True)
class Factor:
    """One function of one column: a power of a number, its place between the ends of the domain, or whether a label is there.

    Parameters
    ----------
    column : str
        The column.
    power : int
        Of the number, or of its place.
    level : int, optional
        The place of the label, where the factor asks for one.
    place : bool
        Whether the number is read as its place from 0 to 1, on its scale where it has one.
    """

    column: str
    power: int = 1
    level: int | None = None
    place: bool = False


@dataclass(frozen=True)
class Term:
    """One column of the design: a product of factors of different columns; the intercept has none."""

    name: str
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True)
class Design:
    """The response and the columns of the design.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato as sf
    >>> age = Column(sf.Attribute("age", sf.Kind.REAL, sf.Interval(0, 100)), None, np.empty(0))
    >>> region = Column(sf.Attribute("region", sf.Kind.CATEGORICAL, sf.Categories(("n", "s"))), None, np.empty(0))
    >>> design = Design.of("age ~ C(region)", [age, region])
    >>> design.response, [term.name for term in design.terms]
    (Factor(column='age', power=1, level=None, place=False), ['Intercept', 'C(region)[T.s]'])
    """

    formula: str
    response: Factor
    terms: tuple[Term, ...]
    by_level: frozenset[str]
    """Columns that are read by their labels or bins, not as numbers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the formula names, the response last."""
        names = [f.column for t in self.terms for f in t.factors]
        return tuple(dict.fromkeys([*names, self.response.column]))

    @classmethod
    def of(cls, formula: str, columns: Sequence[Column], success: str | None = None) -> Design:
        """Parse a formula for the columns of a release; `success` names the label of the response that counts as 1."""
        by_name = {c.name: c for c in columns}
        left, right = _parse(formula)
        response = _one_response(formula, left, by_name)
        factors = {f.expr: _read_factor(f, by_name) for term in right for f in term.factors if f.expr not in ("0", "1")}
        used = {read.column for read in factors.values()}
        if response in used:
            raise UsageError(f"{response}: the response stands on the right of the formula, too; leave it out there")
        by_level = {read.column for read in factors.values() if read.labels}
        if mixed := by_level & {read.column for read in factors.values() if not read.labels}:
            raise UsageError(
                f"{join_names(sorted(mixed))}: read as a number and by its levels in one formula; choose one of the two"
            )
        for term in right:
            _check_term(term, factors)
        _check_size(right, factors)
        terms = _code(right, factors)
        if not terms:
            raise UsageError(f"{formula!r} has nothing to fit; {SUBSET}")
        return cls(formula, _response(by_name[response], success), terms, frozenset(by_level))


@dataclass(frozen=True)
class _Read:
    """A factor of the formula as it was written."""

    column: str
    power: int = 1
    place: bool = False
    labels: tuple[str, ...] = ()
    base: str | None = None


def _parse(formula: str) -> tuple[Any, Any]:
    """Return the terms on both sides, as formulaic reads them."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    if formula.count("~") != 1:
        raise UsageError(
            f"{formula!r} is not a formula; write RESPONSE ~ TERM + TERM, such as 'salary ~ age + C(region)'"
        )
    _check_length(formula)
    # A name such as class is a word of Python, which formulaic cannot read inside of C( ). Labels are coded without it, too.
    words = "|".join(keyword.kwlist)
    try:
        parsed = Formula(re.sub(rf"\bC\(\s*({words})\s*\)", r"\1", formula))
        left, right = list(parsed.lhs), list(parsed.rhs)
    except (FormulaicError, AttributeError, TypeError, SyntaxError):
        raise UsageError(f"{formula!r} cannot be read; {SUBSET}") from None
    if not all(hasattr(term, "factors") for term in (*left, *right)):
        raise UsageError(f"{formula!r} has several parts; {SUBSET}")
    return left, right


def _check_length(formula: str) -> None:
    """Raise UsageError for a formula of more terms than anybody reads, before a parser writes them all down."""
    max_signs, max_terms = 20_000, 10_000
    if len(formula) > max_signs:
        raise UsageError(f"the formula has {len(formula):,} characters; write one of at most {max_signs:,}")
    plain = re.sub(r"`[^`]*`", "x", formula.partition("~")[2]).replace(":", "@")
    try:
        terms = _count_terms(ast.parse(plain.strip(), mode="eval").body)
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # what is not Python's has no powers and few products
        terms = math.inf if re.search(r"\*\*|\^", plain) else 2.0 ** min(plain.count("*"), 1000)
    if terms > max_terms:
        raise UsageError(f"the formula has more than {max_terms:,} terms; write fewer interactions")


def _count_terms(node: ast.AST) -> float:
    """Return at most how many terms a parser writes down: a + b has those of both, a*b their products too, a**n n-fold ones."""
    if not isinstance(node, ast.BinOp):
        return 1.0
    left, right = _count_terms(node.left), _count_terms(node.right)
    if isinstance(node.op, ast.Pow | ast.BitXor):
        try:
            return left ** float(ast.literal_eval(node.right)) if left > 1 else float(ast.literal_eval(node.right))
        except (ValueError, TypeError, OverflowError, SyntaxError):
            return math.inf
    if isinstance(node.op, ast.Add | ast.Sub):
        return left + right
    return left + right + left * right


def _one_response(formula: str, left: Sequence[Any], columns: Mapping[str, Column]) -> str:
    names = [factor.expr for term in left for factor in term.factors]
    if len(names) != 1:
        raise UsageError(f"{formula!r} has {len(names)} responses; write one column to the left of ~")
    name = str(names[0])
    if name not in columns:
        if (inner := re.fullmatch(r"\w[\w.]*\((.*)\)", name)) and inner[1] in columns:
            raise UsageError(f"{name}: the response is read as it was released; write {inner[1]}")
        raise _unknown(name, columns)
    return name


def _unknown(name: str, columns: Mapping[str, Column]) -> UsageError:
    return UsageError(f"there is no column {name!r}; the columns are {join_names(columns)}")


def _read_factor(factor: Any, columns: Mapping[str, Column]) -> _Read:
    """Return what a factor asks of its column; raise UsageError, naming the factor and what to write, for anything else."""
    text = str(factor.expr)
    if text in columns:
        return _bare(columns[text])
    name = r"(?:Q\(['\"](?P<quoted>.+)['\"]\)|(?P<name>[^()'\"*]+?))"
    if match := re.fullmatch(
        rf"C\({name}(?:,\s*(?:contr\.t|T)reatment\((?:base\s*=\s*|reference\s*=\s*)?['\"](?P<base>.*)['\"]\))?\)", text
    ):
        column = _column(match, columns)
        labels = level_names(column)
        base = match["base"]
        if base is not None and base not in labels:
            raise UsageError(f"{text}: {column.name} has no label {base!r}; it has {join_names(labels)}")
        return _Read(column.name, labels=labels, base=base)
    if match := re.fullmatch(rf"(?:I\(|\{{)?{name}\s*\*\*\s*(?P<power>\d+)(?:\)|\}})?", text):
        column, power = _column(match, columns), int(match["power"])
        _check_number(column, text)
        if not 1 <= power <= 4:
            raise UsageError(f"{text}: a power from 2 to 4 can be fitted; write I({column.name}**2)")
        return _Read(column.name, power)
    if match := re.fullmatch(rf"place\({name}\)", text):
        column = _column(match, columns)
        _check_number(column, text)
        return _Read(column.name, place=True)
    if inner := next((c for c in columns if re.search(rf"(?<!\w){re.escape(c)}(?!\w)", text)), None):
        other = (
            f"C({inner})" if not columns[inner].attribute.kind.numeric else f"{inner}, I({inner}**2) or place({inner})"
        )
        raise UsageError(f"{text}: no law can be undone behind this function; write {other}")
    if re.fullmatch(r"[\w .-]+", text):
        raise _unknown(text, columns)
    raise UsageError(f"{text} is outside what can be fitted; {SUBSET}")


def _column(match: re.Match[str], columns: Mapping[str, Column]) -> Column:
    name = (match["quoted"] or match["name"]).strip().strip("`")
    if name not in columns:
        raise _unknown(name, columns)
    return columns[name]


def _bare(column: Column) -> _Read:
    return _Read(column.name, labels=() if column.attribute.kind.numeric else level_names(column))


def _check_number(column: Column, text: str) -> None:
    if not column.attribute.kind.numeric:
        raise UsageError(f"{text}: {column.name} is {column.attribute.kind}; write C({column.name})")


def level_names(column: Column) -> tuple[str, ...]:
    """Return the levels of a column: its labels, the bins of its law, or its few whole numbers."""
    attribute, channel = column.attribute, column.channel
    if not attribute.kind.numeric:
        return attribute.categories
    if isinstance(channel, Discrete):
        grid = channel.bin_grid
        if grid.atoms is not None:
            return tuple(_spell(attribute, v) for v in grid.atoms)
        return tuple(
            f"{_spell(attribute, a)}–{_spell(attribute, b)}"
            for a, b in zip(grid.points[:-1], grid.points[1:], strict=True)
        )
    raise UsageError(
        f"C({column.name}): {column.name} is a number under {'no law' if channel is None else channel.law}, and has no levels; "
        f"write {column.name}"
    )


def _spell(attribute: Attribute, value: float) -> str:
    number = attribute.format_value(float(attribute.to_values(np.array([value]))[0]))
    return f"{number:g}" if isinstance(number, int | float) else number


def _check_term(term: Any, factors: Mapping[str, _Read]) -> None:
    reads = [factors[f.expr] for f in term.factors if f.expr in factors]
    names = [r.column for r in reads]
    if twice := {n for n in names if names.count(n) > 1}:
        name = min(twice)
        raise UsageError(f"{term}: {name} stands twice in one term; write I({name}**2) for a power of it")


def _check_size(right: Sequence[Any], factors: Mapping[str, _Read]) -> None:
    """Raise UsageError for a design of more columns than can be fitted; a label has one for each of its levels."""
    max_columns = 1000
    levels = {expr: max(len(read.labels), 1) for expr, read in factors.items()}
    columns = sum(math.prod(levels.get(f.expr, 1) for f in term.factors) for term in right)
    if columns > max_columns:
        raise UsageError(
            f"the formula asks for {columns:,} coefficients, and at most {max_columns:,} are fitted; leave out an interaction, or a "
            "column of many labels"
        )


def _code(right: Sequence[Any], factors: Mapping[str, _Read]) -> tuple[Term, ...]:
    """Return the columns of the design as formulaic codes them, on made-up rows."""
    import pandas as pd
    from formulaic import Formula, ModelSpec

    by_column = {read.column: read for read in factors.values()}
    rows = max([4, *(len(r.labels) for r in factors.values())])
    data = {}
    for name, read in by_column.items():
        if read.labels:
            data[name] = pd.Categorical(
                [read.labels[i % len(read.labels)] for i in range(rows)], categories=list(read.labels)
            )
        else:
            data[name] = np.arange(rows, dtype=np.float64) + 1
    frame = pd.DataFrame(data, index=range(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = ModelSpec(Formula(right), ensure_full_rank=True)
        matrix = spec.get_model_matrix(frame, context={"place": lambda x: x, "Q": lambda n: frame[n]})
    terms: list[Term] = []
    for encoded in matrix.model_spec.structure:
        made = []
        for scoped in encoded.scoped_terms:
            made += _expand(scoped, factors)
        if len(made) != len(encoded.columns):
            raise UsageError(f"{encoded.term} is outside what can be fitted; {SUBSET}")
        terms += [Term(name, made_factors) for name, made_factors in zip(encoded.columns, made, strict=True)]
    return tuple(terms)


def _expand(scoped: Any, factors: Mapping[str, _Read]) -> list[tuple[Factor, ...]]:
    """Return the products of one scoped term; the first factor runs fastest, as in formulaic."""
    out: list[tuple[Factor, ...]] = [()]
    for part in scoped.factors:
        read = factors[str(part.factor.expr)]
        if read.labels:
            base = read.labels.index(read.base) if read.base is not None else 0
            levels = [i for i in range(len(read.labels)) if not (part.reduced and i == base)]
            ours = [Factor(read.column, level=i) for i in levels]
        else:
            ours = [Factor(read.column, read.power, place=read.place)]
        out = [(*before, one) for one in ours for before in out]
    return out


def _response(column: Column, success: str | None) -> Factor:
    """Return the response: a number, or whether a label is there."""
    name, attribute = column.name, column.attribute
    if attribute.kind.numeric:
        if success is not None:
            raise UsageError(f"{name} is {attribute.kind}, and has no label {success!r}; leave success out")
        return Factor(name)
    labels = attribute.categories
    if success is None:
        if len(labels) != 2:
            raise UsageError(f"{name} has {len(labels)} labels; say which of them counts as 1: success={labels[-1]!r}")
        return Factor(name, level=1)
    if success not in labels:
        raise UsageError(f"{name} has no label {success!r}; it has {join_names(labels)}")
    return Factor(name, level=labels.index(success))

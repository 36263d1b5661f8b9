"""The finished tree: prediction, JSON, rules, drawing, and code that runs elsewhere and agrees."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ET
from datetime import date, timedelta

import numpy as np
import pytest

from sfumato.errors import DataError, UsageError
from sfumato.schema import MISSING_LABEL, Attribute, Categories, Interval, Kind, Missing
from sfumato.table import Column, Table
from sfumato.trees import Limits, Node, Test, Tree, rules, rules_text, svg, text, to_javascript, to_python, to_sql
from sfumato.trees.grow.pruning import KeepAll
from sfumato.trees.inputs import encode
from sfumato.trees.strategies.published import byclass

ODD = 'it\'s "odd" </b> & ü'
COLUMNS = (
    Attribute("pay (k€)", Kind.REAL, Interval(0.0, 100.0)),
    Attribute("level", Kind.INTEGER, Interval(0, 9)),
    Attribute(ODD, Kind.CATEGORICAL, Categories(("x", "y'z", 'say "w"', "né", "1"))),
    Attribute("size", Kind.ORDINAL, Categories(("S", "M", "L"))),
    Attribute("since", Kind.DATE, Interval(0, 20_000)),
    Attribute("asked", Kind.CATEGORICAL, Categories(("yes", "no")), missing=Missing.CATEGORY),
)
LABELS = ("good", "it's bad", 'the "rest"')


def rows(n, seed, holes=0.15):
    """True values as people hold them: numbers, texts, dates, None."""
    rng = np.random.default_rng(seed)
    columns = {
        COLUMNS[0].name: np.round(rng.random(n) * 100, 1).tolist(),
        "level": rng.integers(0, 10, n).tolist(),
        ODD: rng.choice(COLUMNS[2].categories, n).tolist(),
        "size": rng.choice(COLUMNS[3].categories, n).tolist(),
        "since": [(date(1970, 1, 1) + timedelta(days=int(d))).isoformat() for d in rng.integers(0, 20_001, n)],
        "asked": rng.choice(["yes", "no"], n).tolist(),
    }
    return {k: [None if rng.random() < holes else v for v in values] for k, values in columns.items()}


def codes_of(attribute, values):
    """The naive reading of a column."""
    lost = float(len(attribute.categories)) if attribute.missing is Missing.CATEGORY else np.nan
    if not attribute.kind.numeric:
        return np.array([lost if v is None else float(attribute.categories.index(v)) for v in values])
    if attribute.kind is Kind.DATE:
        return np.array([np.nan if v is None else (date.fromisoformat(v) - date(1970, 1, 1)).days for v in values])
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def table_of(columns, classes=None):
    made = tuple(Column(a, None, codes_of(a, columns[a.name])) for a in COLUMNS)
    return Table(made, None if classes is None else Column.of_codes("class", LABELS, np.asarray(classes)))


@pytest.fixture(scope="module")
def tree():
    columns = rows(4000, 1)
    numbers = {a.name: codes_of(a, columns[a.name]) for a in COLUMNS}
    rng = np.random.default_rng(2)
    classes = (
        (np.nan_to_num(numbers[COLUMNS[0].name]) > 50).astype(int)
        + (np.nan_to_num(numbers["since"]) > 9000)
        + np.isin(numbers[ODD], [1, 4])
        + (numbers["asked"] == 2)
        + (np.nan_to_num(numbers["size"]) > 1)
        + (np.nan_to_num(numbers["level"]) > 3)
    ) % 3
    classes = np.where(rng.random(4000) < 0.1, rng.integers(0, 3, 4000), classes)
    grown = byclass(table_of(columns, classes), Limits(min_leaf=20), KeepAll())
    assert set(grown.used) == {a.name for a in COLUMNS}
    return grown


def naive(tree, row):
    """One record's way through the tree, in plain words."""
    number = 0
    while (test := tree.nodes[number].test) is not None:
        value = row[test.attribute]
        attribute = tree.attribute(test.attribute)
        if value is None and attribute.missing is Missing.CATEGORY:
            value = MISSING_LABEL
        branch = test.missing
        if value is not None and test.threshold is not None:
            if attribute.kind is Kind.DATE:
                value = (date.fromisoformat(value) - date(1970, 1, 1)).days
            branch = 0 if (value <= test.threshold if test.closed else value < test.threshold) else 1
        elif value is not None:
            branch = next((i for i, group in enumerate(test.groups) if value in group), test.missing)
        number = tree.nodes[number].children[branch]
    return number


def records(columns):
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_apply_agrees_with_walking_down_row_by_row(tree):
    columns = rows(700, 3)
    columns[ODD][:40] = ["never seen"] * 40
    found = tree.apply(columns)
    assert found.tolist() == [naive(tree, row) for row in records(columns)]


def test_a_release_and_plain_columns_are_read_alike(tree):
    columns = rows(500, 4)
    np.testing.assert_array_equal(tree.apply(columns), tree.apply(table_of(columns)))
    shuffled = Attribute(ODD, Kind.CATEGORICAL, Categories(("new", *reversed(COLUMNS[2].categories))))
    other = [
        c if c.name != ODD else Column(shuffled, None, codes_of(shuffled, columns[ODD]))
        for c in table_of(columns).columns
    ]
    np.testing.assert_array_equal(tree.apply(columns), tree.apply(Table(tuple(other))))


def test_numpy_dates_and_dataframes_are_read_too(tree):
    import pandas as pd

    columns = rows(300, 5)
    frame = pd.DataFrame(columns)
    frame["since"] = pd.to_datetime(frame["since"])
    np.testing.assert_array_equal(tree.apply(columns), tree.apply(frame))


def test_training_counts_are_those_of_the_rows_that_reach_each_leaf(tree):
    columns = rows(4000, 1)
    leaves, counts = np.unique(tree.apply(columns), return_counts=True)
    assert [tree.nodes[leaf].total for leaf in leaves] == counts.tolist()


def test_probabilities_are_class_shares(tree):
    columns = rows(200, 6)
    shares, leaves = tree.predict_proba(columns), tree.apply(columns)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0], np.array(tree.nodes[leaves[0]].counts) / tree.nodes[leaves[0]].total)
    assert (tree.predict_proba(columns, smoothing=1.0) > 0).all()
    assert tree.predict(columns).tolist() == [LABELS[c] for c in tree.predict_codes(columns)]


def test_the_json_form_gives_the_same_tree_back(tree):
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again == tree
    with pytest.raises(DataError, match="not a sfumato-tree"):
        Tree.from_dict({"format": "cake"})
    with pytest.raises(DataError, match="damaged"):
        Tree.from_dict({**tree.to_dict(), "nodes": [{"counts": "abc"}]})
    broken = tree.to_dict()
    broken["nodes"][0]["children"] = [0, 1]
    with pytest.raises(UsageError, match="one parent"):
        Tree.from_dict(broken)


def test_every_row_satisfies_exactly_the_rule_of_its_leaf(tree):
    columns = rows(600, 7)
    columns[ODD][:30] = ["never seen"] * 30
    leaves = tree.apply(columns)
    hits = np.zeros(600, int)
    for rule in rules(tree):
        values, size = encode(tree.attributes, [c.attribute for c in rule.conditions], columns)
        covered = np.ones(size, bool)
        for condition in rule.conditions:
            covered &= condition.holds(tree.attribute(condition.attribute), values[condition.attribute])
        np.testing.assert_array_equal(covered, leaves == rule.leaf)
        hits += covered
        assert len({c.attribute for c in rule.conditions}) == len(rule.conditions)
    assert (hits == 1).all()


def test_python_source_agrees_with_predict(tree):
    columns = rows(500, 8)
    columns[ODD][:20] = ["never seen"] * 20
    scope = {}
    exec(to_python(tree, "decide"), scope)
    assert [scope["decide"](row) for row in records(columns)] == tree.predict(columns).tolist()
    nan = {**records(columns)[0], "level": float("nan"), "size": ""}
    none = {**nan, "level": None, "size": None}
    assert scope["decide"](nan) == scope["decide"](none)
    with pytest.raises(UsageError, match="not a name for a Python function"):
        to_python(tree, "not a name")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, so JavaScript cannot be run")
def test_javascript_source_agrees_with_predict(tree):
    columns = rows(500, 9)
    columns[ODD][:20] = ["never seen"] * 20
    script = to_javascript(tree) + f"\nconsole.log(JSON.stringify({json.dumps(records(columns))}.map(predict)));"
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == tree.predict(columns).tolist()
    assert "</" not in to_javascript(tree)


def test_sql_agrees_with_predict(tree):
    columns = rows(500, 10)
    columns[ODD][:20] = ["never seen"] * 20
    quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t (i INTEGER, {', '.join(quoted)})")
    base.executemany(
        f"INSERT INTO t VALUES (?{', ?' * len(columns)})",
        [(i, *row.values()) for i, row in enumerate(records(columns))],
    )
    found = [label for (label,) in base.execute(f"SELECT {to_sql(tree)} FROM t ORDER BY i")]
    assert found == tree.predict(columns).tolist()


def leaf_only():
    return Tree(COLUMNS[:1], ("a", "b"), (Node((3.0, 5.0)),))


def test_a_single_leaf_can_be_shown_drawn_and_exported():
    tree = leaf_only()
    scope = {}
    exec(to_python(tree), scope)
    assert scope["predict"]({}) == "b"
    assert to_sql(tree) == "'b'"
    assert "always class = b (8 records, 62.5 % right)" in rules_text(tree)
    assert text(tree) == "b (8 / 3)"
    ET.fromstring(svg(tree))
    assert tree.predict({"anything": [1, 2]}).tolist() == ["b", "b"]


def small():
    nodes = (
        Node((50.0, 30.0), Test("pay (k€)", threshold=37.5, missing=1), (1, 2)),
        Node((2.0, 28.0)),
        Node((48.0, 2.0), Test("level", threshold=3.0, closed=True, missing=0), (3, 4)),
        Node((48.0, 0.0)),
        Node((0.0, 2.0)),
    )
    return Tree(COLUMNS[:2], ("a", "b"), nodes)


def test_the_text_reads_as_a_tree():
    expected = """\
pay (k€) < 37.5: b (30 / 2)
pay (k€) ≥ 37.5 *:
│   level ≤ 3 *: a (48 / 0)
│   level > 3: b (2 / 0)

(records / of these another class; * missing values go here)"""
    assert text(small()) == expected
    assert rules_text(small(), most=1).splitlines() == [
        "if pay (k€) ≥ 37.5 and level ≤ 3 then class = a (48 records, 100.0 % right)",
        "… and 2 more",
    ]


def test_tests_on_one_attribute_join_to_an_interval(tree):
    nodes = (
        Node((5.0, 5.0), Test("level", threshold=6.0, closed=True, missing=0), (1, 2)),
        Node((5.0, 1.0), Test("level", threshold=2.0, closed=True, missing=1), (3, 4)),
        Node((0.0, 4.0)),
        Node((0.0, 1.0)),
        Node((5.0, 0.0)),
    )
    joined = Tree(COLUMNS[1:2], ("a", "b"), nodes)
    middle = next(r for r in rules(joined) if r.leaf == 4)
    assert "if 2 < level ≤ 6 then" in rules_text(joined)
    assert (middle.conditions[0].low, middle.conditions[0].high, middle.conditions[0].missing) == (2, 6, True)


def test_the_drawing_is_well_formed_and_shows_every_node(tree):
    drawing = svg(tree, title="a <title> & more")
    root = ET.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{space}rect[@class='card']")) == len(tree.nodes)
    assert "prefers-color-scheme:dark" in drawing
    assert not re.search(r"(https?:)?//(?!www\.w3\.org/2000/svg)", drawing)  # nothing is fetched
    width, height = (float(root.attrib[k]) for k in ("width", "height"))
    for rect in root.findall(f".//{space}rect[@class='card']"):
        assert 0 <= float(rect.attrib["x"]) <= width - float(rect.attrib["width"])
        assert 0 <= float(rect.attrib["y"]) <= height


def test_what_is_missing_or_misshapen_is_named(tree):
    columns = rows(5, 11)
    with pytest.raises(DataError, match="size is missing"):
        tree.predict({k: v for k, v in columns.items() if k != "size"})
    with pytest.raises(DataError, match="rows do not make a table"):
        tree.predict({**columns, "level": [1]})
    with pytest.raises(DataError, match="level, row 1: 'many' is not a number"):
        tree.predict({**columns, "level": ["many"] * 5})
    with pytest.raises(UsageError, match="not among its inputs"):
        Tree((), ("a",), (Node((1.0,), Test("z", threshold=1.0), (1, 2)), Node((1.0,)), Node((0.0,))))


def test_an_empty_leaf_predicts_its_parents_class():
    nodes = (Node((1.0, 9.0), Test("level", threshold=2.0, closed=True), (1, 2)), Node((0.0, 0.0)), Node((1.0, 9.0)))
    assert Tree(COLUMNS[1:2], ("a", "b"), nodes).predict({"level": [0]}).tolist() == ["b"]

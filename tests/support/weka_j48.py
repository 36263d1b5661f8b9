"""Weka's J48 as an independent C4.5, where it is installed; trees as lines that can be compared with ours."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

JARS = (Path("/usr/share/java/weka.jar"),)
LINE = re.compile(r"^((?:\|   )*)(?:a(\d+) (<=|>|=) (\S+?))?(?:: ?)?(?:c(\d+) \(([\d.]+)(?:/([\d.]+))?\))?$")


def jar():
    found = [path for path in JARS if path.exists()]
    return found[0] if found and shutil.which("java") else None


def write_arff(table, path):
    lines = ["@relation table"]
    for i, column in enumerate(table.columns):
        values = "numeric" if column.attribute.kind.numeric else None
        values = values or "{" + ",".join(f"v{j}" for j in range(len(column.attribute.categories))) + "}"
        lines.append(f"@attribute a{i} {values}")
    lines += ["@attribute y {" + ",".join(f"c{j}" for j in range(len(table.labels))) + "}", "@data"]
    for row in range(table.rows):
        cells = []
        for column in table.columns:
            value = column.values[row]
            text = repr(float(value)) if column.attribute.kind.numeric else f"v{value:.0f}"
            cells.append("?" if np.isnan(value) else text)
        lines.append(",".join([*cells, f"c{table.codes[row]}"]))
    path.write_text("\n".join(lines) + "\n")


def j48(path):
    """Lines of the tree without subtree raising."""
    command = ["java", "-cp", str(jar()), "weka.classifiers.trees.J48", "-t", str(path), "-no-cv", "-S"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    body = out.split("------------------", 1)[1].split("Number of Leaves")[0]
    return [parsed(line) for line in body.strip().splitlines() if line.strip()]


def parsed(line):
    """(depth, attribute, sign, value, class, records, errors)."""
    m = LINE.match(line.rstrip())
    assert m, line
    leaf = m[6] is not None
    return (
        len(m[1]) // 4,
        m[2] and int(m[2]),
        m[3],
        m[4] if m[3] in ("=", None) else float(m[4]),
        m[5] and int(m[5]),
        float(m[6]) if leaf else None,
        float(m[7] or 0) if leaf else None,
    )


def lines(tree):
    """Our tree in the same form."""
    names = {attribute.name: i for i, attribute in enumerate(tree.attributes)}
    out = []

    def walk(number, depth, condition):
        node = tree.nodes[number]
        if node.test is None:
            k = int(tree.node_classes[number])
            out.append((depth, *condition, k, node.total, node.total - node.counts[k]))
            return
        if condition[0] is not None:
            out.append((depth, *condition, None, None, None))
            depth += 1
        test = node.test
        labels = None if test.threshold is not None else tree.attribute(test.attribute).categories
        for branch, child in enumerate(node.children):
            if labels is None:
                walk(child, depth, (names[test.attribute], "<=" if branch == 0 else ">", test.threshold))
            else:
                walk(child, depth, (names[test.attribute], "=", f"v{labels.index(test.groups[branch][0])}"))

    walk(0, 0, (None, None, None))
    return out


def same(ours, theirs):
    """None, or the first pair of lines that differ. J48 names the first class in an empty leaf, C4.5 the parent's."""
    for a, b in zip(ours, theirs, strict=False):
        alike = a[:3] == b[:3] and (a[5] is None) == (b[5] is None)
        if alike and a[2] in ("<=", ">"):
            alike = abs(a[3] - b[3]) <= 2e-6 * max(1.0, abs(b[3]))
        elif alike:
            alike = a[3] == b[3]
        if alike and a[5] is not None:
            alike = abs(a[5] - b[5]) < 0.011 and abs(a[6] - b[6]) < 0.011 and (a[4] == b[4] or a[5] < 1e-9)
        if not alike:
            return a, b
    return None if len(ours) == len(theirs) else (len(ours), len(theirs))

"""C4.5 written as it is told: one record at a time, recursion, entropies from their definition. Slow, and that is all."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

SMALL = 1e-6


def entropy(weights):
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w > 0) if total > 0 else 0.0


def by_class(rows, classes):
    out = [0.0] * classes
    for _, y, w in rows:
        out[y] += w
    return out


def weight(rows):
    return math.fsum(w for _, _, w in rows)


class Naive:
    """`columns[a]` holds numbers or codes with None for missing; `sizes[a]` is None for a number."""

    def __init__(self, columns, sizes, classes, n_classes, min_leaf=2, confidence=0.25):
        self.columns, self.sizes, self.k = columns, sizes, n_classes
        self.min_leaf, self.confidence = min_leaf, confidence
        self.all = [(i, y, 1.0) for i, y in enumerate(classes)]
        self.tree = self.grow(self.all)
        self.collapse(self.tree)
        self.prune(self.tree)

    def branches(self, rows, a):
        known = [r for r in rows if self.columns[a][r[0]] is not None]
        if self.sizes[a] is not None:
            parts = [[r for r in known if self.columns[a][r[0]] == v] for v in range(self.sizes[a])]
            if sum(weight(p) >= self.min_leaf - SMALL for p in parts) < 2:
                return None
            return None, parts, 0
        least = min(25.0, max(self.min_leaf, 0.1 * weight(known) / self.k))
        values = sorted({self.columns[a][r[0]] for r in known})
        best, cuts = None, 0
        for low, high in pairwise(values):
            parts = [
                [r for r in known if self.columns[a][r[0]] <= low],
                [r for r in known if self.columns[a][r[0]] > low],
            ]
            if min(weight(p) for p in parts) < least - SMALL:
                continue
            cuts += 1
            gain = self.gain(rows, known, parts)
            if best is None or gain > best[0] + SMALL:
                best = (gain, low, high, parts)
        if best is None:
            return None
        everything = sorted({v for v in self.columns[a] if v is not None})
        middle = (best[1] + best[2]) / 2
        threshold = max(v for v in everything if v <= middle + 1e-9 * (best[2] - best[1]))
        return threshold, best[3], cuts

    def gain(self, rows, known, parts):
        n, whole = weight(known), weight(rows)
        after = sum(weight(p) / n * entropy(by_class(p, self.k)) for p in parts if p)
        return n / whole * (entropy(by_class(known, self.k)) - after)

    def grow(self, rows):
        counts = by_class(rows, self.k)
        node = {"counts": counts, "test": None, "children": []}
        total = sum(counts)
        if total < 2 * self.min_leaf or total - max(counts) < 1e-9 * total:
            return node
        found = {}
        for a in range(len(self.columns)):
            test = self.branches(rows, a)
            if test is None:
                continue
            threshold, parts, cuts = test
            known = [r for p in parts for r in p]
            gain = self.gain(rows, known, parts)
            if threshold is not None:
                gain -= math.log2(cuts) / total
                if gain <= SMALL:
                    continue
            unknown = total - weight(known)
            information = entropy([weight(p) for p in parts] + [unknown])
            found[a] = (gain, gain / information if information > SMALL else 0.0, threshold, parts)
        many = {a for a, s in enumerate(self.sizes) if s is not None and s >= 0.3 * len(self.all)}
        counted = [g for a, (g, *_) in found.items() if a not in many or len(many) == len(self.sizes)]
        if not counted:
            return node
        mean = sum(counted) / len(counted)
        best, choice = 0.0, None
        for a, (gain, ratio, _, _) in found.items():
            if gain >= mean - 1e-3 and ratio > best + SMALL:
                best, choice = ratio, a
        if choice is None:
            return node
        _, _, threshold, parts = found[choice]
        lost = [r for r in rows if self.columns[choice][r[0]] is None]
        known = sum(weight(p) for p in parts)
        node["test"] = (choice, threshold)
        for part in parts:
            share = weight(part) / known
            extra = [(i, y, w * share) for i, y, w in lost] if share > SMALL else []
            node["children"].append(self.grow(part + extra))
        return node

    def errors(self, node):
        return sum(node["counts"]) - max(node["counts"])

    def subtree_errors(self, node):
        return sum(map(self.subtree_errors, node["children"])) if node["test"] else self.errors(node)

    def leaf(self, node):
        node["test"], node["children"] = None, []

    def collapse(self, node):
        if node["test"] is None:
            return
        if self.subtree_errors(node) >= self.errors(node) - 1e-3:
            self.leaf(node)
        for child in node["children"]:
            self.collapse(child)

    def estimated(self, node):
        if node["test"]:
            return sum(map(self.estimated, node["children"]))
        n, e = sum(node["counts"]), self.errors(node)
        return e + added(n, e, self.confidence) if n > 0 else 0.0

    def prune(self, node):
        if node["test"] is None:
            return
        for child in node["children"]:
            self.prune(child)
        n, e = sum(node["counts"]), self.errors(node)
        if e + added(n, e, self.confidence) <= self.estimated(node) + 0.1 + SMALL:
            self.leaf(node)


def added(n, e, cf):
    from statistics import NormalDist

    if e < 1:
        base = n * (1 - cf ** (1 / n))
        return base if e == 0 else base + e * (added(n, 1.0, cf) - base)
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    z = NormalDist().inv_cdf(1 - cf)
    f = (e + 0.5) / n
    r = (f + z * z / (2 * n) + z * math.sqrt(f / n - f * f / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return r * n - e


def of_table(table, **options):
    columns = [[None if np.isnan(v) else float(v) for v in c.values] for c in table.columns]
    sizes = [None if c.attribute.kind.numeric else len(c.attribute.categories) for c in table.columns]
    return Naive(columns, sizes, table.codes.tolist(), len(table.labels), **options).tree

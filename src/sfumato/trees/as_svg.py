"""A tree drawn as SVG: self-contained, from left to right, a row for each leaf, light or dark as the reader's screen is."""

from __future__ import annotations

import math

from sfumato.text import escape
from sfumato.trees.rules import branch_text, condition_text, conditions, format_amount, relation
from sfumato.trees.tree import Tree

ROW, COLUMN, LEAF, BAR, MARGIN, HEAD = 30, 190, 236, 72, 20, 54
LABEL_LETTERS, NAME_LETTERS = 24, 14

COLOURS = ("#3b78c2", "#d9822b", "#3f9b6d", "#b8527e", "#8a6fc0", "#9a8a2e", "#3a9fb0", "#b55a3c")
"""Class colours, told apart on white and on black; classes beyond the eighth begin again, lighter."""

STYLE = """
.sft{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif;font-size:13px}
.sft .paper{fill:#f7f9fb}.sft text{fill:#1d2733}.sft .soft{fill:#5d6b7a}.sft .name{font-weight:600}
.sft .way{fill:none;stroke:#c3ccd5;stroke-linecap:round}.sft .card{fill:#ffffff;stroke:#d5dce3}
.sft .on{font-size:12px;fill:#5d6b7a;paint-order:stroke;stroke:#f7f9fb;stroke-width:4px;stroke-linejoin:round}
.sft .title{font-size:15px;font-weight:600}.sft .note{font-size:11px}
@media (prefers-color-scheme:dark){.sft .paper{fill:#141a21}.sft text{fill:#e6ebf0}.sft .soft{fill:#9aa7b4}
.sft .way{stroke:#46525e}.sft .card{fill:#1e262f;stroke:#36424e}.sft .on{fill:#9aa7b4;stroke:#141a21}}
"""
"""Plain colours first and the dark ones as exceptions: programs that know no media queries still draw it right."""


def svg(tree: Tree, title: str = "") -> str:
    """Return the drawing as one SVG document.

    A branch's width grows with the share of rows that take it; a leaf shows its class, its rows, and the shares of the
    classes in it. Hovering over anything shows the rest.
    """
    places = _places(tree)
    bottom = HEAD + tree.leaves * ROW
    right = MARGIN + tree.depth * COLUMN + LEAF
    width = max(right + MARGIN, 2 * MARGIN + sum(34 + 8 * len(label) for label in tree.labels), 420)
    height = bottom + MARGIN + 18
    heading = title or f"{tree.target}: {tree.leaves} leaves, {format_amount(tree.nodes[0].total)} records"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sft" width="{width}" height="{height}"',
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(heading)}">',
        f"<title>{escape(heading)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
        f'<text class="title" x="{MARGIN}" y="24">{escape(heading)}</text>',
        _legend(tree),
    ]
    order = [number for number, _ in sorted(places.items())]
    parts += [_ways(tree, number, places) for number in order]
    parts += [_leaf(tree, n, places) if tree.nodes[n].test is None else _inner(tree, n, places) for n in order]
    note = "missing values take the branch with a dot"
    if tree.leaves > 1:
        parts.append(f'<text class="soft note" x="{MARGIN}" y="{height - 12}">{note}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def colour(index: int) -> str:
    """Return a class's colour."""
    return COLOURS[index % len(COLOURS)]


def _places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Return the place of every node: leaves stand in rows; an inner node half-way between its first and its last child."""
    y: dict[int, float] = {leaf: HEAD + ROW * (row + 0.5) for row, (leaf, _) in enumerate(tree.paths())}
    for number in reversed(range(len(tree.nodes))):
        children = tree.nodes[number].children
        if children:
            y[number] = (y[children[0]] + y[children[-1]]) / 2
    return {number: (MARGIN + COLUMN * tree.depths[number], y[number]) for number in y}


def _legend(tree: Tree) -> str:
    parts, x = [], MARGIN
    for index, label in enumerate(tree.labels):
        parts.append(f'<rect x="{x}" y="34" width="11" height="11" rx="3" fill="{colour(index)}"/>')
        parts.append(f'<text x="{x + 16}" y="44">{escape(label)}</text>')
        x += 34 + 8 * len(label)
    return "".join(parts)


def _ways(tree: Tree, number: int, places: dict[int, tuple[float, float]]) -> str:
    node = tree.nodes[number]
    if node.test is None:
        return ""
    attribute = tree.attribute(node.test.attribute)
    x, y = places[number]
    parts = []
    for branch, child in enumerate(node.children):
        to_x, to_y = places[child]
        start = x + _card_width(node.test.attribute)
        bend = start + 16
        thick = 1 + 9 * math.sqrt(tree.nodes[child].total / (tree.nodes[0].total or 1.0))
        words = relation(attribute, node.test, branch)
        parts.append(
            f"<g><title>{escape(branch_text(attribute, node.test, branch))}: {format_amount(tree.nodes[child].total)} records"
            f'</title><path class="way" stroke-width="{thick:.1f}" d="M{start:.0f} {y:.1f}'
            f'C{bend:.0f} {y:.1f} {bend - 8:.0f} {to_y:.1f} {bend + 14:.0f} {to_y:.1f}H{to_x:.0f}"/>'
        )
        if branch == node.test.missing:
            parts.append(f'<circle cx="{to_x - 7:.0f}" cy="{to_y:.1f}" r="2.5" class="soft"/>')
        parts.append(
            f'<text class="on" text-anchor="end" x="{to_x - 12:.0f}" y="{to_y - 3 - thick / 2:.1f}">'
            f"{escape(_short(words, LABEL_LETTERS - min(len(node.test.attribute), NAME_LETTERS)))}</text></g>"
        )
    return "".join(parts)


def _inner(tree: Tree, number: int, places: dict[int, tuple[float, float]]) -> str:
    node, (x, y) = tree.nodes[number], places[number]
    assert node.test is not None
    width = _card_width(node.test.attribute)
    return (
        f"<g><title>{escape(node.test.attribute)}: {_counts(tree, number)}</title>"
        f'<rect class="card" x="{x}" y="{y - 11:.1f}" width="{width}" height="22" rx="6"/>'
        f"{_shares(tree, number, x + 6, y + 6.5, width - 12, 2)}"
        f'<text class="name" x="{x + 8}" y="{y + 3:.1f}">{escape(_short(node.test.attribute, NAME_LETTERS))}</text></g>'
    )


def _leaf(tree: Tree, number: int, places: dict[int, tuple[float, float]]) -> str:
    x, y = places[number]
    label = tree.labels[int(tree.node_classes[number])]
    total = tree.nodes[number].total
    share = 100 * max(tree.nodes[number].counts) / total if total else 0.0
    path = next(path for leaf, path in tree.paths() if leaf == number) if len(tree.nodes) <= 600 else ()
    rule = " and ".join(condition_text(tree.attribute(c.attribute), c) for c in conditions(tree, path))
    return (
        f"<g><title>{escape(rule)}{': ' if rule else ''}{escape(label)}\n{_counts(tree, number)}</title>"
        f'<rect class="card" x="{x}" y="{y - 12:.1f}" width="{LEAF - 6}" height="24" rx="12"/>'
        f"{_shares(tree, number, x + 12, y - 4, BAR, 8)}"
        f'<text x="{x + BAR + 20}" y="{y + 4.5:.1f}"><tspan class="name">{escape(_short(label, 9))}</tspan>'
        f'<tspan class="soft" dx="6">{format_amount(total)} · {share:.0f} %</tspan></text></g>'
    )


def _shares(tree: Tree, number: int, x: float, y: float, width: float, height: float) -> str:
    counts, total = tree.nodes[number].counts, tree.nodes[number].total
    parts, at = [], x
    for index, count in enumerate(counts):
        length = width * count / total if total else 0.0
        if length > 0.05:
            parts.append(
                f'<rect x="{at:.1f}" y="{y:.1f}" width="{length:.1f}" height="{height}" fill="{colour(index)}"/>'
            )
        at += length
    return "".join(parts)


def _counts(tree: Tree, number: int) -> str:
    pairs = zip(tree.labels, tree.nodes[number].counts, strict=True)
    return escape(", ".join(f"{label} {format_amount(count)}" for label, count in pairs))


def _card_width(name: str) -> int:
    return 18 + round(8.2 * min(len(name), NAME_LETTERS))


def _short(words: str, letters: int) -> str:
    return words if len(words) <= letters else words[: letters - 1] + "…"

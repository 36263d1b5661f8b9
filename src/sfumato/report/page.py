"""One self-contained HTML page: no network, light and dark, charts first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.report.svg import STYLE
from sfumato.text import escape

LIGHT = {
    "page": "#f6f7f9",
    "sheet": "#ffffff",
    "text": "#1c2430",
    "soft": "#4f5968",
    "rule": "#d9dee6",
    "head": "#f3f5f8",
    "link": "#1d5fa8",
    "bad": "#b91c1c",
    "badsheet": "#fef2f2",
    "care": "#854a08",
    "caresheet": "#fff7ed",
    "fit": "#216a3c",
    "fitsheet": "#eefaf1",
    "calm": "#55606f",
    "calmsheet": "#f1f3f6",
    "onbadge": "#ffffff",
}
DARK = {
    "page": "#0d1117",
    "sheet": "#12161c",
    "text": "#e6e9ee",
    "soft": "#a9b3c0",
    "rule": "#2a323d",
    "head": "#171d25",
    "link": "#7ab7ff",
    "bad": "#f87171",
    "badsheet": "#2d1212",
    "care": "#fbbf24",
    "caresheet": "#2a1d0c",
    "fit": "#6fcf84",
    "fitsheet": "#10251a",
    "calm": "#a9b3c0",
    "calmsheet": "#1a2029",
    "onbadge": "#0d1117",
}
TEXT_ON = (
    *(("text", sheet) for sheet in ("page", "sheet", "head", "badsheet", "caresheet", "fitsheet", "calmsheet")),
    *(("soft", sheet) for sheet in ("page", "sheet", "badsheet", "caresheet", "fitsheet", "calmsheet")),
    *(("link", sheet) for sheet in ("page", "sheet", "badsheet", "caresheet", "fitsheet", "calmsheet")),
    *((kind, sheet) for kind in ("bad", "care", "fit", "calm") for sheet in ("sheet", f"{kind}sheet")),
    *(("onbadge", badge) for badge in ("bad", "care", "fit", "calm")),
)
"""Which colour is written on which; each pair has a contrast of 4.5 at least (WCAG 2.1, level AA)."""


def _declare(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


PAGE_STYLE = (
    f"""
:root{{color-scheme:light dark;{_declare(LIGHT)}}}
@media screen and (prefers-color-scheme:dark){{:root{{{_declare(DARK)}}}}}
"""
    """
body{margin:0;font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;background:var(--page);color:var(--text)}
main{max-width:1120px;margin:0 auto;padding:32px 24px 64px;overflow-wrap:break-word}a{color:var(--link)}
h1{font-size:30px;line-height:1.25;margin:0 0 4px;letter-spacing:-.01em}h2{font-size:20px;margin:40px 0 8px}h3{font-size:16px;margin:24px 0 4px}
p{max-width:76ch;margin:8px 0}.lead{font-size:18px;color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:16px;margin:16px 0}
.card,.figure,pre,.wide{background:var(--sheet);border:1px solid var(--rule);border-radius:12px}
.card{padding:12px;overflow-x:auto}.wide{padding:16px 18px;margin:16px 0;overflow-x:auto}.card svg,.wide svg{max-width:100%;height:auto;display:block}
.figures{display:flex;flex-wrap:wrap;gap:16px;margin:16px 0}.figure{padding:14px 20px}
.figure b{display:block;font-size:26px;font-weight:650}.figure span{color:var(--soft);font-size:14px}
.scroll{overflow-x:auto;margin:8px 0;border:1px solid var(--rule);border-radius:12px;background:var(--sheet)}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:7px 12px;border-bottom:1px solid var(--rule);vertical-align:top;font-weight:400}
tr:last-child>*{border-bottom:0}thead th{background:var(--head);font-weight:600}tbody th{position:sticky;left:0;background:var(--sheet)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.warn{border-left:4px solid var(--care);background:var(--caresheet);padding:8px 14px;border-radius:6px;margin:8px 0;max-width:90ch}
.warn.bad{border-left-color:var(--bad);background:var(--badsheet)}code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{padding:14px;overflow-x:auto}summary{cursor:pointer;font-weight:600;padding:4px 0}details{margin:12px 0}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}.narrow{display:none}
@media(max-width:640px){main{padding:20px 14px 48px}h1{font-size:24px}.lead{font-size:17px}.broad{display:none}.narrow{display:block}
.wide{padding:12px}.card:not(:has(.narrow)) svg{min-width:480px}th,td{padding:6px 9px}tbody th{max-width:42vw}}
@media print{@page{margin:15mm}body{font-size:10.5pt;background:none}main{max-width:none;padding:0}.lead{font-size:12pt}
h1,h2,h3,summary{break-after:avoid}.card,.wide,.figure,.warn,tr,svg{break-inside:avoid}.scroll,.card,.wide,pre{overflow:visible}
.broad{display:block}.narrow{display:none}table{font-size:8pt}th,td{padding:3px 5px}td.n,th.n{white-space:normal}
thead{display:table-header-group}tbody th{position:static}pre{white-space:pre-wrap}nav{display:none}
details::details-content{content-visibility:visible;display:block;height:auto}}
"""
)


def page(title: str, lead: str, *sections: str) -> str:
    """Return a whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}{STYLE}</style></head>"
        f'<body><main><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>{"".join(sections)}</main></body></html>\n'
    )


def section(title: str, *parts: str) -> str:
    """Return a heading and what stands under it."""
    return f'<section id="{anchor(title)}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def anchor(title: str) -> str:
    """Return the name by which a section is linked to."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def contents(titles: Sequence[str]) -> str:
    """Return links to the sections of these titles."""
    links = "".join(f'<li><a href="#{anchor(title)}">{escape(title)}</a></li>' for title in titles)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def cards(drawings: Sequence[str]) -> str:
    """Return charts side by side; a chart that is too wide for the page can be moved by keyboard."""
    return '<div class="cards">' + "".join(f'<div class="card" tabindex="0">{d}</div>' for d in drawings) + "</div>"


def responsive(broad: str, narrow: str) -> str:
    """Return a chart that is drawn in two ways, of which the page shows the one that fits."""
    return f'<div class="broad">{broad}</div><div class="narrow">{narrow}</div>'


def key_figures(pairs: Sequence[tuple[str, str]]) -> str:
    """Return a few large numbers, each with a caption."""
    return (
        '<div class="figures">'
        + "".join(
            f'<div class="figure"><b>{escape(number)}</b><span>{escape(words)}</span></div>' for number, words in pairs
        )
        + "</div>"
    )


class Markup(str):
    """HTML that goes into a table as it is."""

    __slots__ = ()


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table of plain text or `Markup`, the first cell of a row its header; the columns at `numbers` stand flush right."""

    def cell(kind: str, place: int, content: str) -> str:
        mark = ' class="n"' if place in numbers else ""
        text = content if isinstance(content, Markup) else escape(content)
        return f"<{kind}{mark}>{text}</{kind.partition(' ')[0]}>"

    head = "".join(cell('th scope="col"', i, name) for i, name in enumerate(headers))
    body = "".join(
        "<tr>" + "".join(cell("td" if i else 'th scope="row"', i, c) for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    drawn = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Table: {escape(headers[0])}">{drawn}</div>'


def warning(text: str, *, bad: bool = False) -> str:
    """Return a line that should not be overlooked."""
    return f'<div class="warn{" bad" if bad else ""}">{escape(text)}</div>'


def code(text: str) -> str:
    """Return commands, or a tree as text."""
    return f'<pre tabindex="0">{chr(10).join(map(escape, text.split(chr(10))))}</pre>'

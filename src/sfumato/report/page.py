"""One self-contained HTML page: no network, light and dark, charts first."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.report.svg import STYLE
from sfumato.text import escape

PAGE_STYLE = """
:root{color-scheme:light dark}
body{margin:0;font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;background:#f6f7f9;color:#1c2430}
main{max-width:1120px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:30px;margin:0 0 4px;letter-spacing:-.01em}h2{font-size:20px;margin:40px 0 8px}p{max-width:76ch;margin:8px 0}
.lead{font-size:18px;color:#4a5563}.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:16px;margin:16px 0}
.card{background:#fff;border:1px solid #e4e8ee;border-radius:12px;padding:12px;overflow-x:auto}.card svg{max-width:100%;height:auto}
.figures{display:flex;flex-wrap:wrap;gap:16px;margin:16px 0}.figure{background:#fff;border:1px solid #e4e8ee;border-radius:12px;padding:14px 20px}
.figure b{display:block;font-size:26px;font-weight:650}.figure span{color:#6b7684;font-size:14px}
table{border-collapse:collapse;width:100%;font-size:14px;background:#fff;border:1px solid #e4e8ee;border-radius:12px;overflow:hidden}
th,td{text-align:left;padding:7px 12px;border-bottom:1px solid #eef1f5;vertical-align:top}th{background:#fafbfc;font-weight:600}
.warn{border-left:4px solid #d97706;background:#fff7ed;padding:8px 14px;border-radius:6px;margin:8px 0;max-width:90ch}
.bad{border-left-color:#dc2626;background:#fef2f2}code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:#fff;border:1px solid #e4e8ee;border-radius:12px;padding:14px;overflow-x:auto}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6e9ee}.lead{color:#a9b3c0}
.card,.figure,table,pre{background:#12161c;border-color:#2a323d}th{background:#171d25}th,td{border-color:#232b35}
.figure span{color:#8d97a5}.warn{background:#2a1d0c}.bad{background:#2d1212}}
"""


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
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def cards(drawings: Sequence[str]) -> str:
    """Return charts side by side."""
    return '<div class="cards">' + "".join(f'<div class="card">{d}</div>' for d in drawings) + "</div>"


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
    """Return a table of plain text or `Markup`; the columns at `numbers` stand flush right."""

    def cells(kind: str, row: Sequence[str]) -> str:
        marks = [' class="n"' if i in numbers else "" for i in range(len(row))]
        texts = [c if isinstance(c, Markup) else escape(c) for c in row]
        return "".join(f"<{kind}{mark}>{text}</{kind}>" for mark, text in zip(marks, texts, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', headers)}</tr></thead><tbody>{body}</tbody></table>"


def warning(text: str, *, bad: bool = False) -> str:
    """Return a line that should not be overlooked."""
    return f'<div class="warn{" bad" if bad else ""}">{escape(text)}</div>'


def code(text: str) -> str:
    """Return commands, or a tree as text."""
    return f"<pre>{chr(10).join(map(escape, text.split(chr(10))))}</pre>"

"""Numbers and lists as people write them, and texts from a table made safe to show.

A label or a column's name may hold anything: a sequence that a terminal obeys, a link, a tag. What is shown is the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

OWNER_KEY = "sfumato.key"
"""The file in which the command line keeps an owner's key, and looks for it."""


def format_number(value: float, digits: int = 4) -> str:
    """Round to `digits` significant digits, with commas between thousands and a power of ten only where it is needed.

    >>> format_number(50_000), format_number(0.123456), format_number(1e15)
    ('50,000', '0.1235', '1e+15')
    """
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def join_names(values: Iterable[object], limit: int = 8) -> str:
    """Join the names with commas; after `limit` of them, say how many there are in all.

    >>> join_names(["a", "b", "c"])
    'a, b, c'
    >>> join_names("abc", limit=2)
    'a, b, … (3 in all)'
    """
    names = [str(value) for value in values]
    return ", ".join(names) if len(names) <= limit else f"{', '.join(names[:limit])}, … ({len(names)} in all)"


_CONTROLS = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""What a terminal may obey, a reader cannot see, and XML may not hold: control characters and line ends other than the tab, marks of
direction, letters without width, surrogates."""


def visible(text: str) -> str:
    r"""Write control characters and line ends as escapes: no terminal obeys them, no page breaks on them, no name forges a line.

    >>> visible("red\x1b[31m"), visible("a\nb")
    ('red\\x1b[31m', 'a\\nb')
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may run the text of a CSV cell: it begins with a sign of a formula, and is not a number.

    >>> is_formula("=1+1"), is_formula("-cmd"), is_formula("-1.5")
    (True, True, False)
    """
    return bool(re.match(r"[=+\-@\t\r]", text)) and not re.fullmatch(r"[+-]?[0-9]+([.,][0-9]+)?", text)


def escape(text: str) -> str:
    r"""Write a text for HTML and SVG: no tag, no entity, no character that XML may not hold.

    >>> escape("a<b\x00")
    'a&lt;b\\x00'
    """
    return html.escape(visible(text))


def markdown(text: str) -> str:
    r"""Write a text so that Markdown shows it as it is: no tag, link, picture, code or emphasis, on one line.

    >>> markdown("<b>[x](https://a.b)</b> | y")
    '&lt;b&gt;\\[x\\](https&#58;//a.b)&lt;/b&gt; \\| y'
    """
    shown = visible(" ".join(text.split("\n"))).replace("\r", " ")
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = re.sub(r"([\\`*\[\]|!~])", r"\\\1", shown)
    return shown.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")

"""The dialect of a CSV file, judged by its first lines: encoding, lines before the header, comments, and the sign between fields."""

from __future__ import annotations

import codecs
import csv
from contextlib import suppress
from dataclasses import replace

from sfumato.io.reading import SEPARATORS, Reading

HEAD_BYTES = 4 << 20
"""How much of a file is looked at to find out its encoding."""


def detect_dialect(head: bytes, given: Reading, usual: str = ",") -> Reading:
    """Return the reading with the dialect filled in where it is not given; `usual` is the separator that the file's name tells."""
    encoding = given.encoding or detect_encoding(head)
    shown = 40
    lines = head[: 1 << 20].decode(with_mark(encoding), "replace").splitlines(keepends=True)[:shown]
    comment, skip, separator = given.comment, given.skip_rows, given.delimiter
    if comment is None:
        comment = "#" if _begins_with_comments(lines, separator or usual) else ""
    if skip is None and separator is None and lines and (sign := _stated_separator(lines[0])):
        skip, separator = 1, sign
    body = [line for line in lines[skip or 0 :] if not (comment and line.startswith(comment))]
    if skip is None:
        title = _count_title_lines(body, separator)
        skip = _physical(lines, body, title)
        body = body[title:]
    return replace(
        given,
        encoding=encoding,
        comment=comment,
        skip_rows=skip,
        delimiter=separator or detect_separator(body[:20], usual),
    )


def with_mark(encoding: str) -> str:
    """Return the encoding that takes a byte-order mark for what it is; some programs begin a UTF-8 file with one."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def detect_encoding(head: bytes) -> str:
    """Return the encoding of a text: by its byte-order mark, as UTF-8 if it can be, or else as western Windows programs write."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) > 1 and 0 in head[:2]:
        return "utf-16-le" if head[1] == 0 else "utf-16-be"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a letter may be cut at the end
        return "utf-8"
    if any(c > "\x7f" for c in head.decode("utf-8", "ignore")):
        return "utf-8"  # in part, and some bytes are not: that is an error to be named, with its row
    with suppress(UnicodeDecodeError):
        head.decode("cp1252")
        return "cp1252"
    return "latin-1"


def _begins_with_comments(lines: list[str], separator: str) -> bool:
    """Return whether the first line is a comment, and not a header such as #chrom,position."""
    written = [line for line in lines if line.strip()]
    if not written or not written[0].startswith("#"):
        return False
    last = max(i for i, line in enumerate(written) if all(w.startswith("#") for w in written[: i + 1]))
    signs = [s for s in (separator, *SEPARATORS) if s in written[last]]
    following = written[last + 1 : last + 2]
    return not any(_widths(written[last : last + 1], s) == _widths(following, s) for s in signs)


def _stated_separator(line: str) -> str | None:
    """Return the sign of a first line such as sep=; which Excel writes for itself."""
    text = line.strip("\ufeff\r\n ")
    return text[4] if len(text) == 5 and text.startswith("sep=") else None


def _count_title_lines(lines: list[str], separator: str | None) -> int:
    """Return how many lines stand before the header: titles and dates of a report, without the sign that separates all others."""
    best, title = (1, False), 0
    for sign in (separator,) if separator else SEPARATORS:
        widths = [max(_widths([line], sign), default=0) for line in lines]
        wide = [w for w in widths if w > 1]
        first = widths.index(wide[0]) if wide else 0
        if len(wide) < 2 or (max(wide), first == 0) <= best:
            continue
        names = next(csv.reader([lines[first]], delimiter=sign), [])
        apart = len(set(wide)) == 1 and not any(sign in line for line in lines[:first])
        best = max(wide), first == 0
        title = first if apart and _is_header(names, lines[first + 1 :], sign) else 0
    return title


def _is_header(names: list[str], lines: list[str], sign: str) -> bool:
    """Return whether names are all there, differ, are no numbers, and do not stand among the values of their columns."""
    if not all(names) or len(set(names)) < len(names) or any(map(_is_number, names)):
        return False
    return not any(a == b for row in csv.reader(lines, delimiter=sign) for a, b in zip(names, row, strict=False))


def _physical(lines: list[str], body: list[str], title: int) -> int:
    """Return how many lines of the file the title takes, comments between its lines included."""
    return lines.index(body[title]) if title else 0


def _is_number(text: str) -> bool:
    return "".join(c for c in text if c not in " .,'\u00a0\u202f").isdigit()


def detect_separator(lines: list[str], usual: str = ",") -> str:
    """Return the separator of a file, judged by its first lines.

    It must separate the header, and the rows where there are any. The usual one gives way to another in two cases: the header
    fits the rows by the other and not by the usual one, or the other occurs in the header at least twice as often. Quoted
    signs do not count.
    """
    best, best_fits, best_signs = usual, False, 0
    for sign in (usual, *(s for s in SEPARATORS if s != usual)):
        widths = _widths(lines, sign)
        if not widths or widths[0] < 2 or (len(widths) > 1 and max(widths[1:]) < 2):
            continue
        fitting = widths.count(widths[0]) - 1
        fits, signs = 2 * fitting >= len(widths) - 1, widths[0] - 1
        if fits and sign == usual == "\t":  # the ending says so, and no one writes tabs by chance
            return sign
        if fits > best_fits or (fits == best_fits and signs >= 2 * best_signs):
            best, best_fits, best_signs = sign, fits, signs
    return best


def _widths(lines: list[str], sign: str) -> list[int]:
    """Return how many values each row has; a row that continues beyond these lines is left out."""
    out: list[int] = []
    with suppress(csv.Error):
        out.extend(len(record) for record in csv.reader(lines, delimiter=sign, strict=True) if record)
    return out

"""Write an Excel workbook by hand, cell by cell as Excel does: numbers, shared texts, days as serial numbers with a date format."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
DAY_STYLE, TIME_STYLE = 1, 2


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Path:
    """Write sheets of rows; None is an empty cell."""
    numbered = list(enumerate(sheets.items(), 1))
    parts = {
        "[Content_Types].xml": _types(len(numbered)),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        + "".join(f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}"/>' for i, (name, _) in numbered)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            [*(("worksheet", f"worksheets/sheet{i}.xml") for i, _ in numbered), ("styles", "styles.xml")]
        ),
        "xl/styles.xml": f'{HEAD}<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3">'
        '<xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>'
        "</cellXfs></styleSheet>",
    }
    for i, (_, rows) in numbered:
        body = "".join(_row(number, row) for number, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{i}.xml"] = (
            f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return path


def _types(sheets: int) -> str:
    parts = [("/xl/workbook.xml", "sheet.main"), ("/xl/styles.xml", "styles")]
    parts += [(f"/xl/worksheets/sheet{i}.xml", "worksheet") for i in range(1, sheets + 1)]
    overrides = "".join(f'<Override PartName="{p}" ContentType="{KIND}.{k}+xml"/>' for p, k in parts)
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'{HEAD}<Types xmlns="{PACKAGE}/content-types">{rels}{overrides}</Types>'


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    entries = "".join(
        f'<Relationship Id="rId{i}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets, 1)
    )
    return f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{entries}</Relationships>'


def _row(number: int, cells: Sequence[Any]) -> str:
    filled = "".join(
        _cell(f"{_letters(place)}{number}", value) for place, value in enumerate(cells) if value is not None
    )
    return f'<row r="{number}">{filled}</row>'


def _cell(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime):
        return f'<c r="{place}" s="{TIME_STYLE}"><v>{_serial(value)!r}</v></c>'
    if isinstance(value, date):
        return f'<c r="{place}" s="{DAY_STYLE}"><v>{_serial(datetime(value.year, value.month, value.day)):.0f}</v></c>'  # noqa: DTZ001
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def _serial(instant: datetime) -> float:
    return (instant - datetime(1899, 12, 30)).total_seconds() / 86_400  # noqa: DTZ001


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)

"""Pages that everybody can read: landmarks, headings, tables, pictures with text, contrast, narrow screens, paper. No browser needed."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser

import pytest

import sfumato as sf
from sfumato.randomness import SecretKey
from sfumato.report import audit_page, page, svg
from sfumato.report.audit_charts import NARROW, STYLE, WIDE

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Outline(HTMLParser):
    """The elements of a page in order, and what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """An audit of blurred columns, and one of a guided release."""
    folder = tmp_path_factory.mktemp("audits")
    plans = {
        "german_credit": sf.plan("german_credit", noise="gaussian", privacy=1.0),
        "iris": sf.plan("iris", method="leaf-swap", options={"least": 3}),
    }
    out = {}
    for table, plan in plans.items():
        made = sf.release(table, plan, folder / table, key=SecretKey(bytes(32)))
        out[table] = sf.audit(table, made, key=SecretKey(bytes(32)), targets=40)
    return out


@pytest.fixture(scope="module", params=["german_credit-owner", "german_credit-public", "iris-owner", "iris-public"])
def text(request, audits):
    table, edition = request.param.split("-")
    return audits[table].html(edition)


def test_a_page_says_its_language_its_title_and_how_wide_it_is(text):
    outline = Outline(text)
    assert outline.open == []
    assert outline.all("html") == [{"lang": "en"}]
    assert any(a.get("name") == "viewport" for a in outline.all("meta"))
    assert outline.words["title"][0].startswith("Audit of ")


def test_everything_stands_in_one_main_part_with_links_to_its_sections(text):
    outline = Outline(text)
    assert len(outline.all("main")) == len(outline.all("h1")) == 1
    (contents,) = outline.all("nav")
    assert contents["aria-label"] == "Contents"
    named = [a["id"] for _, a, _ in outline.elements if "id" in a]
    assert len(named) == len(set(named))
    targets = [a["href"].removeprefix("#") for a in outline.all("a")]
    assert set(targets) <= set(named)
    assert {a["id"] for a in outline.all("section")} <= set(targets)


def test_headings_go_down_one_level_at_a_time(text):
    levels = [int(tag[1]) for tag, _, _ in Outline(text).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_table_has_headers_that_say_what_they_are_of(text):
    outline = Outline(text)
    assert outline.all("table")
    headers = [(a.get("scope"), inside) for tag, a, inside in outline.elements if tag == "th"]
    assert all(scope == ("col" if "thead" in inside else "row") for scope, inside in headers)
    rows = re.findall(r"<tr>(.*?)</tr>", text)
    assert all(row.count("<th") >= 1 for row in rows)


def test_what_can_be_wider_than_the_page_is_reached_by_keyboard(text):
    for tag, attributes, _ in Outline(text).elements:
        if attributes.get("class") in ("scroll", "card") or tag == "pre":
            assert attributes["tabindex"] == "0"
    assert not re.search(r'tabindex="[1-9]', text)


def test_every_picture_has_a_text_and_is_drawn_for_a_wide_page_and_for_a_narrow_one(text):
    outline = Outline(text)
    pictures = outline.all("svg")
    assert pictures
    assert all(a["role"] == "img" and a["aria-label"] for a in pictures)
    kinds = [a.get("class") for a in outline.all("div")]
    assert kinds.count("broad") == kinds.count("narrow") == len(pictures) / 2
    for drawn in re.findall(r'<div class="narrow">(<svg.*?</svg>)</div>', text):
        assert int(re.search(r'width="(\d+)"', drawn)[1]) == NARROW
    assert WIDE > 2 * NARROW


def test_no_words_of_a_chart_leave_it(text):
    """A letter is about half as wide as it is high; anchors say on which side of the place the words stand."""
    for drawn in re.findall(r"<svg.*?</svg>", text):
        width = float(re.search(r'viewBox="0 0 (\d+)', drawn)[1])
        for attributes, words in re.findall(r"<text ([^>]*)>([^<]*)", drawn):
            at = float(re.search(r'x="([-\d.]+)"', attributes)[1])
            size = 13 if "title" in attributes else 11
            long = 0.52 * size * len(words)
            anchor = re.search(r'text-anchor="(\w+)"', attributes)
            begin = at - {"middle": 0.5, "end": 1.0}.get(anchor[1] if anchor else "", 0.0) * long
            assert begin > -0.1 * width, (words, begin)
            assert begin + long < 1.1 * width, (words, begin + long)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    full = colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])
    parts = [int(full[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    """(L₁ + 0.05)/(L₂ + 0.05), the lighter one above."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [page.LIGHT, page.DARK], ids=["light", "dark"])
def test_every_text_of_a_page_has_the_contrast_of_level_aa(colours):
    assert page.LIGHT.keys() == page.DARK.keys()
    for ink, sheet in page.TEXT_ON:
        assert contrast(colours[ink], colours[sheet]) >= 4.5, (ink, sheet)


def inks(style: str, dark: bool) -> dict[str, str]:
    light, _, night = style.partition("@media(prefers-color-scheme:dark){")
    return dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", night.partition("}}")[0] if dark else light))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_and_marks_of_a_chart_stand_out_from_its_paper(dark):
    chart, audit = inks(svg.STYLE, dark), inks(STYLE, dark)
    paper = chart["paper"]
    for ink in ("ink", "muted", "accent", "second", "third"):
        assert contrast(chart[ink], paper) >= 4.5, ink
    for ink in ("bad", "amber", "good"):
        assert contrast(audit[ink], paper) >= 4.5, ink
    assert contrast(audit["promise"], paper) >= 3  # a bar, not a text


def test_a_page_prints_on_white_with_everything_open(text):
    printed = text[text.index("@media print{") : text.index("</style>")]
    assert "details::details-content" in printed
    assert "overflow:visible" in printed
    assert "break-inside:avoid" in printed
    assert "@media screen and (prefers-color-scheme:dark)" in text


def test_the_verdict_is_the_first_thing_on_the_page(audits):
    for audit in audits.values():
        text = audit.html()
        body = text[text.index("</h1>") :]
        assert body.index(audit.headline.decision.in_words) < min(body.index("<svg"), body.index("<table"))


def test_the_page_of_older_reports_has_no_record(audits):
    about = json.loads(json.dumps(audits["iris"].to_dict()))
    assert "Record to file" in audit_page(about)
    assert "Record to file" not in audit_page(about | {"filing": []})

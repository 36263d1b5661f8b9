"""Charts and pages: well-formed, self-contained, the same every time."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from sfumato.counts import Grid
from sfumato.report import charts, page, svg


def test_ticks_are_round_and_inside():
    assert svg.ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert svg.ticks(0.13, 0.91) == [0.2, 0.4, 0.6, 0.8]
    assert svg.ticks(3, 3) == [3]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ("1990-03-05", "2024-02-01", ["1995", "2000", "2005", "2010", "2015", "2020"]),
        ("2020-03-05", "2024-02-01", ["2021", "2022", "2023", "2024"]),
        ("2023-03-05", "2023-09-10", ["2023-04", "2023-05", "2023-06", "2023-07", "2023-08", "2023-09"]),
        ("2023-03-05", "2023-03-09", ["2023-03-05", "2023-03-06", "2023-03-07", "2023-03-08", "2023-03-09"]),
        ("1890-03-05", "2090-03-05", ["1900", "1950", "2000", "2050"]),
    ],
)
def test_ticks_of_dates_are_years_months_or_days(low, high, words):
    ends = [np.datetime64(d).astype(int).item() for d in (low, high)]
    found = svg.date_ticks(*ends)
    assert [text for _, text in found] == words
    assert all(ends[0] <= x <= ends[1] for x, _ in found)
    assert [str(np.datetime64(int(x), "D"))[: len(text)] for x, text in found] == words


def test_a_long_title_has_the_legend_below_it():
    names = ["released", "reconstructed", "original"]
    assert svg.margins_for("age", names) == svg.ONE_LINE
    assert svg.margins_for("glucose two hours after a meal [mg/dL]", names) == svg.WITH_LEGEND


@pytest.mark.parametrize(("value", "text"), [(20_000, "20K"), (1_350_000, "1.35M"), (0.25, "0.25"), (1234, "1234")])
def test_labels_are_short(value, text):
    assert svg.label(value) == text


def test_a_distribution_chart_is_well_formed_and_repeatable():
    grid = Grid.cells(0, 1, 5)
    mass = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    wide = Grid.cells(-1, 2, 15)
    args = ("age <of> people & dogs", grid, mass)
    options = {"lower": mass * 0.8, "upper": mass * 1.2, "released": (wide, np.ones(15)), "original": mass}
    drawn = charts.distribution(*args, **options)
    assert drawn == charts.distribution(*args, **options)
    ET.fromstring(drawn)
    assert "reconstructed" in drawn
    assert "released" in drawn


def test_labels_with_odd_characters_do_not_break_the_drawing():
    labels = ('<b>"x"</b>', "a & b", "ü" * 60)
    drawn = charts.distribution(
        "t", Grid.categories(labels), np.array([0.2, 0.3, 0.5]), lower=np.zeros(3), upper=np.ones(3)
    )
    ET.fromstring(drawn)


def test_a_page_escapes_text_and_needs_no_network():
    text = page.page(
        "<script>", "a & b", page.section("s", page.paragraph("<i>"), page.table(["<h>"], [["<c>"]]), page.code("<p>"))
    )
    assert "<script>" not in text
    assert "<i>" not in text
    assert "https://" not in text
    assert "src=" not in text

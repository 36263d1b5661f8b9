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


def test_a_long_title_has_the_legend_below_it():
    names = ["released", "reconstructed", "original"]
    assert svg.margins_for("age", names) == svg.ONE_LINE
    assert svg.margins_for("glucose two hours after a meal [mg/dL]", names) == svg.WITH_LEGEND


@pytest.mark.parametrize(("value", "text"), [(20_000, "20K"), (1_350_000, "1.35M"), (0.25, "0.25"), (1234, "1234")])
def test_labels_are_short(value, text):
    assert svg.format_tick(value) == text


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


def test_only_markup_goes_into_a_table_as_it_is():
    rows = [["<span>", page.Markup("<span>kept</span>")]]
    assert '<th scope="row">&lt;span&gt;</th><td class="n"><span>kept</span></td>' in page.table(["a", "b"], rows, [1])


@pytest.mark.parametrize(
    ("low", "high", "days"),
    [
        (18262, 18269, ["2020-01-01", "2020-01-03", "2020-01-05", "2020-01-07"]),
        (18262, 18400, ["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01", "2020-05-01"]),
        (18300, 19800, ["2021-01-01", "2022-01-01", "2023-01-01", "2024-01-01"]),
        (-719162, 2932896, ["2000-01-01", "4000-01-01", "6000-01-01", "8000-01-01"]),
    ],
)
def test_an_axis_of_days_is_marked_at_firsts_of_months_and_years(low, high, days):
    marks = svg.day_ticks(low, high)
    assert [text for _, text in marks] == days
    assert all(low <= at <= high for at, _ in marks)


def test_a_calibration_chart_zooms_in_on_a_rare_class():
    rare = {"predicted": 0.06, "observed": 0.05, "rows": 200, "interval": [0.03, 0.09]}
    common = {"predicted": 0.83, "observed": 0.9, "rows": 20, "interval": [0.7, 0.97]}
    title = "Calibration of class <sick> & tired"
    near, far = (charts.calibration(title, bins) for bins in ([rare], [rare, common]))
    for drawn in (near, far):
        ET.fromstring(drawn)
        assert "predicted probability" in drawn
    assert ">0.1</text>" in near
    assert ">1</text>" not in near
    assert ">1</text>" in far
    assert "6.0% predicted, 5.0% came true, 200 rows" in near

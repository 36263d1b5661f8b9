"""Numbers for people."""

import pytest

from sfumato.text import format_number


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (17000.4, 3, "17,000"),
        (0.012345, 3, "0.0123"),
        (1799.6, 3, "1,800"),
        (2, 4, "2"),
        (36553.2, 4, "36,550"),
        (0.0, 4, "0"),
    ],
)
def test_thousands_have_commas_and_no_power_of_ten(value, digits, text):
    assert format_number(value, digits) == text

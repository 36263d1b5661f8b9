"""The 2003 and 2005 papers, a pinch of each: every row is there, and what is exact comes out exact."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import DataError, UsageError
from sfumato.papers import detective2005, ib2003
from sfumato.papers.base import Bench
from sfumato.papers.parties import boston_table, bundled_table, count_decimals, synthetic_table


def test_every_row_of_2005_has_a_verdict(monkeypatch):
    monkeypatch.setattr(detective2005, "QUICK", detective2005.Setting("pinch", 1, 1, 20))
    found = detective2005.run(Bench()).to_dict()
    rows = {c["where"] for c in found["cells"]}
    assert rows == {"row 7", "row 8", "row 9", "row 10"}
    exact = [c for c in found["cells"] if c["where"] == "row 7"]
    assert len(exact) == 4
    assert all(c["verdict"] == "reproduced" for c in exact)


def test_every_row_of_2003_has_a_verdict_and_boston_is_named_where_absent(monkeypatch):
    monkeypatch.setattr(ib2003, "QUICK", ib2003.Setting("pinch", 400, 2, 1, 1, 1))
    found = ib2003.run(Bench()).to_dict()
    assert {c["where"] for c in found["cells"]} == {f"row {i}" for i in range(1, 7)}
    assert any("Boston Housing is not shipped" in note for note in found["notes"])
    assert not any("boston" in c["what"] for c in found["cells"])
    refused = next(c for c in found["cells"] if c["what"] == "percentages on a continuous column")
    assert refused["ours"] == "refused"
    assert all(c["verdict"] == "reproduced" for c in found["cells"] if c["where"] == "row 1")


def test_changes_of_glass_and_yeast_are_those_measured_before():
    assert ib2003.change_counts("glass", None, 50, 0)["expected"] == pytest.approx(20.91, abs=0.005)
    assert ib2003.change_counts("yeast", None, 50, 0)["expected"] == pytest.approx(389.57, abs=0.005)


def test_tables_are_read_with_their_domains_and_resolutions():
    wbc = bundled_table("breast_cancer_wisconsin")
    assert (wbc.rows, len(wbc.columns), wbc.labels) == (683, 9, ("benign", "malignant"))
    assert bundled_table("breast_cancer_wisconsin", complete=False).rows == 699
    assert bundled_table("glass")["RI"].attribute.resolution == pytest.approx(1e-5)
    assert count_decimals(np.array([1.0, 2.5, 3.25])) == 2
    assert synthetic_table("csd", 1).rows == 399
    with pytest.raises(DataError, match="no such file"):
        boston_table("nowhere.csv")
    with pytest.raises(UsageError, match="not shipped"):
        ib2003.table_of("boston")

"""Clusters of a release: days are shown as days, and a column that takes no part is named with the reason."""

import json

import numpy as np
import pytest

from sfumato.auditing.comparison import compare
from sfumato.cli import main
from sfumato.errors import UsageError
from sfumato.mining.clustering import cluster
from sfumato.mining.distributions import reconstruct
from sfumato.plans import Plan
from sfumato.releases import create_key
from sfumato.releasing import release

HEAD = "seen,age,bmi,kind\n"


def visits(rows=120):
    """Two clouds: the young of spring 2020 and the old of autumn 2023."""
    out = []
    for i in range(rows):
        late = i % 2
        day = f"2023-10-{1 + i % 28:02d}" if late else f"2020-03-{1 + i % 28:02d}"
        gap = "" if i % 10 == 0 else f"{20 + (i % 17) / 2:.1f}"
        out.append(f"{day},{(70 if late else 20) + i % 9},{gap},{'AB'[i % 2]}x")
    return HEAD + "\n".join(out) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "visits.csv").write_text(visits())
    plan = Plan.propose(tmp_path / "visits.csv", noise="gaussian", privacy=0.05)
    release(tmp_path / "visits.csv", plan, tmp_path / "r", key=create_key(tmp_path / "k.key"))
    return tmp_path


def test_centres_of_dates_are_calendar_days(folder):
    found = cluster(folder / "r", 2)
    days = sorted(c["seen"] for c in found["centres"])
    # The clouds have their means on about the 14th of March 2020 and of October 2023; noise of 1/20 of the range moves
    # a mean of 60 by days.
    assert days[0].startswith(("2020-02", "2020-03"))
    assert days[1].startswith(("2023-09", "2023-10"))
    assert all(isinstance(c["age"], float) for c in found["centres"])


def test_columns_with_gaps_and_labels_are_named_with_the_reason(folder, capsys):
    left = cluster(folder / "r", 2)["left_out"]
    assert set(left) == {"bmi", "kind"}
    assert "12 of 120 rows" in left["bmi"]
    assert "no distance" in left["kind"]
    with pytest.raises(SystemExit) as ended:
        main(["cluster", str(folder / "r"), "-k", "2"])
    seen = capsys.readouterr()
    assert ended.value.code == 0
    assert "2020-0" in seen.out
    assert "left out: bmi: 12 of 120" in seen.err
    assert "left out: kind" in seen.err


def test_a_comparison_says_which_numbers_took_no_part(folder):
    found = compare(folder / "visits.csv", folder / "r", k=2, key=folder / "k.key")
    assert found.clusters["columns"] == ["seen", "age"]
    assert any("without bmi" in note and "12 of 120" in note for note in found.notes)
    assert not any("kind" in note for note in found.notes)


def test_a_table_without_complete_numbers_says_so_of_each(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{'' if i == 3 else i},{'xy'[i % 2]}\n" for i in range(40)))
    release(
        tmp_path / "t.csv",
        Plan.propose(tmp_path / "t.csv", noise="gaussian", privacy=0.5),
        tmp_path / "r",
        key=create_key(tmp_path / "k"),
    )
    with pytest.raises(UsageError, match=r"a: 1 of 40 rows hold no value.*b: it holds labels.*fill the gaps"):
        cluster(tmp_path / "r", 2)


def test_reconstructions_of_dates_have_days_beside_edges_and_on_the_axis(folder):
    from sfumato.releases import Release

    views = reconstruct(Release.open(folder / "r"), ["seen"])
    about = json.loads(json.dumps(views["seen"].to_dict()))
    assert len(about["days"]) == len(about["mass"])
    assert about["days"] == sorted(about["days"])
    assert about["days"][0] == "2020-03-01"
    drawn = views.to_svg()
    assert "2021-01-01" in drawn
    assert "18K" not in drawn
    numbers = np.array(about["edges"])
    assert np.all(np.diff(numbers) > 0)

"""Each published experiment runs by one command and says of every cell what became of it."""

import json

import pytest

from sfumato.cli.app import main
from sfumato.papers import PAPERS
from sfumato.papers.base import NOT_REPRODUCED, Bench, Cell, Results, mean_spread


def square(x):
    return {"square": x * x}


def test_a_bench_remembers_what_was_done(tmp_path):
    done = []
    bench = Bench(tmp_path, progress=lambda n, of: done.append((n, of)))
    assert bench.run(square, [(2,), (3,)]) == [{"square": 4}, {"square": 9}]
    assert bench.run(square, [(2,), (3,), (4,)])[2] == {"square": 16}
    assert done == [(1, 2), (2, 2), (3, 3)]


def test_two_processes_give_the_same_as_one(tmp_path):
    units = [(i,) for i in range(6)]
    from sfumato.papers.dowd2006 import repeated_shares

    given = [(8, 5, 3, 1000, i) for i in range(len(units))]
    assert Bench(workers=2).run(repeated_shares, given) == Bench().run(repeated_shares, given)


def test_results_are_written_with_every_cell(tmp_path):
    cells = (Cell("Table 1", "a", "1", "2", "± 1", NOT_REPRODUCED, "why"), Cell("Table 2", "b", "3", "3"))
    Results("p", "A paper", "Somebody", "seed 1", cells, {"f.svg": "<svg/>"}, ("a note",)).write(tmp_path)
    data = json.loads((tmp_path / "results.json").read_text())
    assert data["verdicts"] == {"not reproduced": 1, "reported": 1}
    text = (tmp_path / "results.md").read_text()
    assert "not reproduced: why" in text
    assert "![f](f.svg)" in text


def test_mean_and_spread_in_percent():
    assert mean_spread([0.5, 0.7]) == ("60.0", "± 14.1")
    assert mean_spread([0.5]) == ("50.0", "")


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_is_reproduced_quickly_by_one_command(paper, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sfumato.papers.dowd2006.SIZES", (5, 20, 60))  # of twelve N, each a hundred fits: all are alike
    monkeypatch.setattr("sfumato.papers.dowd2006.FUNCTIONS", (2, 5))  # of five, each a dozen trees
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", paper, "-o", str(tmp_path / paper), "--workers", "1", "--json"])
    assert stop.value.code == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cells"]
    assert all(c["verdict"] for c in data["cells"])
    assert (tmp_path / paper / "results.md").exists()
    assert data["verdicts"]["reproduced"] >= 5
    assert all(
        c["because"] for c in data["cells"] if c["verdict"] == NOT_REPRODUCED and c["where"].startswith("Figure 2")
    )

"""Which texts mean a missing value, where they may be answers, and what the owner is told of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.plans import Plan

ROWS = 40


def table(path: Path, **columns: list[str]) -> Path:
    """A CSV file whose columns repeat the given cells."""
    rows = [",".join(cells[i % len(cells)] for cells in columns.values()) for i in range(ROWS)]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n")
    return path


@pytest.mark.parametrize("word", ["None", "none", "NA", "n/a", "unknown", "missing", "-", ".", "*"])
def test_a_word_that_can_be_an_answer_is_a_label_among_labels(tmp_path: Path, word: str) -> None:
    plan = Plan.propose(table(tmp_path / "t.csv", alcohol=[word, "Moderate", "Heavy"]))
    assert set(plan.schema["alcohol"].categories) == {word, "Moderate", "Heavy"}
    assert plan.absent.get("alcohol", ("",)) == ("",)
    assert f"{word!r} taken as labels" in plan.notes["alcohol"]
    assert any(word in line and "alcohol" in line for line in plan.remarks)


@pytest.mark.parametrize("mark", ["?", "NaN", "#N/A", "NULL", "<NA>", "\\N"])
def test_a_mark_that_nobody_answers_is_missing_among_labels_too(tmp_path: Path, mark: str) -> None:
    plan = Plan.propose(table(tmp_path / "t.csv", sex=["F", "M", mark]))
    assert plan.schema["sex"].categories == ("F", "M")
    assert plan.absent["sex"] == ("", mark)
    assert f"taken as missing: {mark!r} in sex" in plan.remarks


@pytest.mark.parametrize("word", ["NA", "none", "unknown", "#N/A", "?", "-", "."])
@pytest.mark.parametrize(
    ("cells", "kind"), [(["3", "41", "5"], "integer"), (["2020-05-17", "2021-01-31", "2021-02-01"], "date")]
)
def test_no_word_is_a_number_or_a_day(tmp_path: Path, word: str, cells: list[str], kind: str) -> None:
    plan = Plan.propose(table(tmp_path / "t.csv", x=[*cells, word], y=["a", "b"]))
    assert str(plan.schema["x"].kind) == kind
    assert plan.absent["x"] == ("", word)
    assert f"{word!r} taken as missing" in plan.notes["x"]


def test_a_word_beside_two_flags_is_a_third_answer(tmp_path: Path) -> None:
    plan = Plan.propose(table(tmp_path / "t.csv", smokes=["0", "1", "unknown"]))
    assert plan.schema["smokes"].categories == ("0", "1", "unknown")


@pytest.mark.parametrize("label", ["none", "?", "NaN", "-", "NULL"])
def test_no_class_disappears_whatever_it_is_called(tmp_path: Path, label: str) -> None:
    path = table(tmp_path / "t.csv", age=["30", "40", "50"], dx=["a", label])
    plan = Plan.propose(path, target="dx")
    assert set(plan.schema["dx"].categories) == {"a", label}
    made = sf.release(path, plan, tmp_path / "r", key=tmp_path / "k")
    assert made.to_arrow()["dx"].null_count == 0
    assert sf.mine(made).evaluate(path)["rows"] == ROWS


def test_a_numeric_class_keeps_the_word_beside_it(tmp_path: Path) -> None:
    plan = Plan.propose(table(tmp_path / "t.csv", x=["a", "b"], stage=["1", "2", "3", "none"]), target="stage")
    assert plan.schema["stage"].categories == ("1", "2", "3", "none")


def test_not_a_number_among_typed_classes_is_no_class() -> None:
    typed = pa.table({"x": ["a", "b"] * 20, "y": [0.0, 1.0, float("nan"), 0.0] * 10})
    plan = Plan.propose(typed, target="y")
    assert plan.schema["y"].categories == ("0", "1")
    assert plan.absent["y"] == ("", "nan")


@pytest.mark.parametrize("command", [["plan"], ["release", "-o", "r", "--privacy", "0.5"]])
def test_the_owner_is_told_what_is_withheld_and_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"First{i} Last" for i in range(ROWS)]
    table(Path("t.csv"), name=names, same=["x"], empty=[""], sex=["F", "M", "?"], age=["30", "40", "50", "NA"])
    with pytest.raises(SystemExit):
        main([command[0], "t.csv", *command[1:]])
    told = capfd.readouterr().err
    assert "withheld: name (no value repeats" in told
    assert "withheld: same (every value is 'x'" in told
    assert "withheld: empty (holds no value at all)" in told
    assert "taken as missing: '?' in sex, 'NA' in age" in told
    if command[0] == "release":
        with pytest.raises(SystemExit):
            main(["describe", "r"])
        said = capfd.readouterr().out
        assert "Withheld by the owner's plan, and not in the data: name, same, empty." in said


def test_many_withheld_columns_are_told_in_a_short_list(tmp_path: Path) -> None:
    columns = {f"c{i}": [f"{i}"] for i in range(30)}
    plan = Plan.propose(table(tmp_path / "t.csv", **columns, x=["a", "b"], **{f"e{i}": [""] for i in range(30)}))
    told = next(line for line in plan.remarks if "no value at all" in line)
    assert "(30 in all)" in told

"""What `compare` says of the trees of an original and of its release."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import main


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> sf.Release:
    return sf.release("credit_approval", None, tmp_path_factory.mktemp("compare") / "r", method="class-random")


def test_both_trees_are_scored_on_the_rows_of_the_original(release: sf.Release) -> None:
    scores = sf.compare("credit_approval", release, k=2).trees[0]["scores"]
    assert set(scores) == {"original", "release"}
    assert scores["original"]["accuracy"] >= scores["release"]["accuracy"] > scores["original"]["majority"]
    for about in scores.values():
        confusion = np.array(about["confusion"])
        assert confusion.sum() == 690
        assert about["accuracy"] == pytest.approx(np.trace(confusion) / 690)
        assert about["auc"] > about["without_model"]["auc"]


def test_the_command_shows_the_scores_beside_those_without_a_model(
    release: sf.Release, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "credit_approval", str(release.folder), "-k", "2"])
    out = capsys.readouterr().out
    for words in (
        "balanced accuracy",
        "AUC",
        "Brier score",
        "without a model",
        "Scores for class on the original's rows",
    ):
        assert words in out

"""What a model is worth on true rows, for a person: a sentence, small tables, and a picture of its calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.mining.scores import Scores
from sfumato.report import score_tables


class Evaluation(dict[str, Any]):
    """The scores of a model as plain data, with words, tables and a drawing of them.

    Attributes
    ----------
    accuracy, majority, balanced_accuracy, auc, log_loss, brier
        The scores; `majority` is the accuracy of always predicting the commonest class.
    interval, without_model
        The 95 % interval of each score, and its value for one who knows only the class shares.
    classes, confusion
        Rows and recall of each class, and rows by true class and predicted class.
    calibration
        Bins of predicted probability beside what came true, and the expected error over them.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     result = sf.evaluate(sf.mine(release, "byclass"), "iris")
    >>> result["rows"], result.to_svg()[:4]
    (150, '<svg')
    """

    @classmethod
    def of(cls, scores: Scores, labels: Sequence[str], target: str, strategy: str, unknown: int) -> Evaluation:
        """Describe the scores of a model; `unknown` rows had no class that it knows."""
        confusion = scores.confusion
        classes = {
            label: {"rows": int(confusion[i].sum()), "recall": float(confusion[i, i] / max(confusion[i].sum(), 1))}
            for i, label in enumerate(labels)
        }
        about = {"target": target, "strategy": strategy, "rows": scores.rows, "rows_without_known_class": unknown}
        about |= scores.to_dict(labels)
        return cls(about | {"classes": classes, "in_words": compare_with_majority(about)})

    @property
    def headline(self) -> str:
        """The accuracy beside that of the commonest class."""
        return f"accuracy {self['accuracy']:.2%} on {self['rows']:,} rows (always the commonest class: {self['majority']:.2%})"

    @property
    def caution(self) -> str | None:
        """What to know where accuracy is not surely above that of the commonest class."""
        surely = self["interval"]["accuracy"][0] > self["majority"]
        return None if surely else str(self["in_words"])

    def score_table(self) -> score_tables.Rows:
        """Return every score with its interval, and what it is without a model."""
        return score_tables.tabulate_scores({"value": self}, intervals=True)

    def class_table(self) -> score_tables.Rows:
        """Return rows and recall of each class and, where there are few, how many of them went to which."""
        max_shown = 8
        labels = list(self["classes"])
        shown = labels if len(labels) <= max_shown else []
        rows = [
            [name, f"{about['rows']:,}", f"{about['recall']:.1%}", *(f"{n:,}" for n in counts[: len(shown)])]
            for (name, about), counts in zip(self["classes"].items(), self["confusion"], strict=True)
        ]
        return ["class", "rows", "recognised", *(f"taken for {label}" for label in shown)], rows

    def calibration_table(self) -> score_tables.Rows:
        """Return bins of predicted probability beside what came true."""
        return score_tables.tabulate_calibration(self["calibration"])

    @property
    def calibration_line(self) -> str:
        """What the calibration is about, and how far it is off."""
        about = self["calibration"]
        return f"{score_tables.calibration_title(about)}: {score_tables.calibration_error(about)}"

    def to_svg(self) -> str:
        """Draw predicted probabilities beside what came true."""
        return score_tables.draw_calibration(self["calibration"])


def compare_with_majority(about: Mapping[str, Any]) -> str:
    """Return in words whether accuracy is above that of the commonest class, and what to look at where it is not."""
    right, majority, surely = about["accuracy"], about["majority"], about["interval"]["accuracy"][0]
    if surely > majority:
        return f"Accuracy is above that of always guessing the commonest class ({right:.1%} against {majority:.1%})."
    how = "not surely above" if right > majority else "not above"
    return (
        f"Accuracy is {how} that of always guessing the commonest class ({right:.1%} against {majority:.1%}): judge the model by "
        "balanced accuracy and AUC."
    )

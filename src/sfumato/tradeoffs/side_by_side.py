"""Two plans, or two drafts, side by side: the laws, what attacks leave of them, who is found, and what the release is good for.

Both are judged by the same audit of the same rows. A plan is tried on a sample of the table in a folder that is thrown away, under
a key that is no secret: nothing is released.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.auditing import audit
from sfumato.description import describe_manifest
from sfumato.engines import Progress
from sfumato.errors import UsageError
from sfumato.io import open_table, read_blocks
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import Release, as_release, read_original
from sfumato.releasing import release
from sfumato.text import format_number
from sfumato.tradeoffs.measures import Measures
from sfumato.tradeoffs.reader_question import Answer, answer_questions, parse_questions

MIN_ROWS = 60
FIGURES = {
    "people_found": "people found beyond chance",
    "promises_broken": "promises broken",
    "risk": "largest gain of an attack",
    "tree_accuracy": "accuracy of a tree",
    "distribution_error": "mean error of distributions",
    "privacy_left": "mean interval left, of the domain",
    "relative_error": "mean W₁ of the range, or total variation",
}
"""What is compared beside the columns and the questions; of accuracy and of what is left more is better."""
SHARES = ("people_found", "risk", "tree_accuracy", "privacy_left")


@dataclass(frozen=True)
class Side:
    """One plan or draft: the law of each column with what is left of it, and the figures of its audit."""

    name: str
    columns: Mapping[str, Mapping[str, Any]]
    figures: Mapping[str, float | None]
    answers: tuple[Answer, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        about = {"name": self.name, "columns": {n: dict(c) for n, c in self.columns.items()}, **self.figures}
        return about | {"questions": [answer.to_dict() for answer in self.answers]}


@dataclass(frozen=True)
class PlanComparison:
    """Two plans or drafts, judged by the same audit of the same rows.

    Attributes
    ----------
    first, second : Side
        The law, the strength and what is `left` of each column, and the figures: `people_found` (the share of people found, beyond
        chance), `promises_broken`, `risk`, `tree_accuracy` (from the release, on true rows; None without a class) and
        `distribution_error` (mean total variation of reconstructed and true shares), `privacy_left` (mean interval that attacks leave,
        as a share of the domain) and `relative_error` (mean W₁ as a share of the range; of labels the total variation). `answers` are
        those to the questions.
    rows : int
        How many rows were judged.

    Examples
    --------
    >>> import sfumato as sf
    >>> weak, strong = sf.plan("iris", privacy=0.1), sf.plan("iris", privacy=1.0)
    >>> result = sf.compare_plans(weak, strong, "iris", targets=50)
    >>> result.first.figures["people_found"] > result.second.figures["people_found"]
    True
    """

    first: Side
    second: Side
    rows: int

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both."""
        return self.first, self.second

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rows": self.rows, "plans": [side.to_dict() for side in self.sides]}

    def column_table(self) -> tuple[list[str], list[list[str]]]:
        """Return a line per column: of each side the law, its 95 % interval and what attacks leave of that."""
        head = ["column"] + [f"{side.name}: {word}" for side in self.sides for word in ("law", "interval", "left")]
        names = dict.fromkeys(name for side in self.sides for name in side.columns)
        return head, [
            [name, *(cell for side in self.sides for cell in _cells(side.columns.get(name)))] for name in names
        ]

    def figure_table(self) -> tuple[list[str], list[list[str]]]:
        """Return a line per figure."""
        rows = [
            [words, *(_figure(figure, side.figures[figure]) for side in self.sides)]
            for figure, words in FIGURES.items()
        ]
        for asked in zip(*(side.answers for side in self.sides), strict=True):
            errors = [f"{format_number(a.error, 2)} ± {format_number(a.error_se, 2)}" for a in asked]
            rows.append([f"error of {asked[0].question.text}", *errors])
        return ["figure", *(side.name for side in self.sides)], rows


def compare_plans(
    first: Plan | Release | str | Path,
    second: Plan | Release | str | Path,
    table: Any,
    *,
    key: SecretKey | str | Path | None = None,
    sample: int = 5000,
    targets: int = 300,
    questions: Sequence[str] = (),
    seed: int = 0,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> PlanComparison:
    """Compare two plans, or two drafts, by the same audit: privacy left, people found, utility.

    Parameters
    ----------
    first, second : Plan, Release or path
        Two plans (`.toml` files or `Plan`), which are tried on a sample of the table; or two drafts of it (folders or `Release`).
    table : path, bundled name, dataframe or Arrow table
        The original.
    key : SecretKey or path, optional
        The owner's key, where rows of a draft were shuffled.
    sample : int
        Rows on which plans are tried, the same for both. Drafts are judged on all their rows.
    targets : int
        How many people are looked for.
    questions : sequence of str
        Figures that readers will want, as in `sfumato.tradeoff`.
    seed : int
        Under the same seed the comparison repeats itself.
    encoding : str, optional
        Encoding of a CSV file.
    progress : callable, optional
        Called with the number of steps done and of all steps.

    Returns
    -------
    PlanComparison
        Both sides, column by column and by their figures.

    Examples
    --------
    >>> import sfumato as sf
    >>> weak, strong = sf.plan("iris", privacy=0.1), sf.plan("iris", privacy=1.0)
    >>> head, rows = sf.compare_plans(weak, strong, "iris", targets=20).figure_table()
    >>> head
    ['figure', 'first', 'second']
    """
    given = [_open(side) for side in (first, second)]
    planned = [isinstance(side, Plan) for side in given]
    if any(planned) and not all(planned):
        raise UsageError("a plan and a draft cannot be compared; give two plans, or two folders of drafts")
    if sample < MIN_ROWS:
        raise UsageError(f"sample={sample}: that is too few rows to judge a plan by; give at least {MIN_ROWS}")
    names = [
        str(side) if isinstance(side, str | Path) else word for side, word in ((first, "first"), (second, "second"))
    ]
    rows = _draw_rows(table, sample, seed, encoding) if all(planned) else table
    # No secret: chance for an experiment, repeated under its seed.
    chance = SecretKey(np.random.default_rng(seed).bytes(32))
    sides, seen = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, side in enumerate(given):
            made = side if isinstance(side, Release) else _rehearse(side, rows, Path(folder) / str(number), chance)
            judged = audit(
                made,
                rows,
                targets=targets,
                key=key if isinstance(side, Release) else chance,
                seed=seed,
                encoding=encoding,
                progress=None if progress is None else _in_half(progress, number),
            )
            measures = Measures.of_audit(judged, _answer(made, rows, questions, encoding))
            sides.append(_describe_side(names[number], made, judged.to_dict(), measures))
            seen = judged.rows
    return PlanComparison(sides[0], sides[1], seen)


def _open(side: Plan | Release | str | Path) -> Plan | Release:
    if isinstance(side, Plan | Release):
        return side
    return as_release(side) if Path(side).is_dir() else Plan.load(side)


def _draw_rows(table: Any, sample: int, seed: int, encoding: str | None) -> pa.Table:
    """Return the table, or a random sample of its rows in their order."""
    rows = pa.Table.from_batches([block.batch for block in read_blocks(open_table(table, encoding))])
    if rows.num_rows <= sample:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).choice(rows.num_rows, sample, replace=False)))


def _rehearse(plan: Plan, rows: pa.Table, folder: Path, chance: SecretKey) -> Release:
    """Release a sample into a folder that is thrown away."""
    return release(rows, plan, folder, name="rehearsal", key=chance)


def _in_half(progress: Progress, half: int) -> Progress:
    """Return a progress of one of two halves of the work."""
    return lambda done, of: progress(half * (of or 0) + done, None if of is None else 2 * of)


def _answer(made: Release, rows: Any, questions: Sequence[str], encoding: str | None) -> tuple[Answer, ...]:
    """Return the answers of a release to the questions; the order of rows does not matter."""
    asked = parse_questions(questions, made.manifest.schema)
    if not asked:
        return ()
    columns = {c.name: c for c in made.read_table().all_columns}
    original = read_original(rows, made.manifest, encoding=encoding)
    return answer_questions(asked, [columns], {c.name: c.values for c in original.all_columns})


def _describe_side(name: str, made: Release, about: Mapping[str, Any], measures: Measures) -> Side:
    """Take what is compared from a release, its audit and what was measured."""
    described = describe_manifest(made.manifest)["attributes"]
    columns = {}
    for column, promise in about["promised"].items():
        figures = described[column]["privacy"]
        columns[column] = {
            "law": described[column]["mechanism"],
            "strength": figures["in_words"],
            "interval_width_95": figures["interval_width_95"],
            "left": promise["left"],
            "verdict": promise["verdict"],
        }
    trees = about["utility"].get("trees")
    return Side(
        name,
        columns,
        {
            "people_found": measures.people.beyond_chance,
            "promises_broken": len(measures.broken),
            "risk": about["risk"],
            "tree_accuracy": trees["accuracy"]["reconstructed"] if trees else None,
            "distribution_error": measures.total_variation,
            "privacy_left": measures.mean_left,
            "relative_error": measures.mean_error,
        },
        measures.answers,
    )


def _cells(column: Mapping[str, Any] | None) -> list[str]:
    if column is None:
        return ["withheld", "–", "–"]
    left = "–" if column["left"] is None else f"{format_number(column['left'], 3)} ({column['verdict']})"
    return [column["law"], column["strength"], left]


def _figure(figure: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1%}" if figure in SHARES else format_number(value, 3)

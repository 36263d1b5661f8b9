"""The main job end to end on bundled data: a release, what its miner sees, and how close that comes to the truth."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.description import describe_manifest
from sfumato.io import open_new_folder
from sfumato.mining import Evaluation, Model, Reconstruction, mine, reconstruct
from sfumato.releases import Release, create_key, load_key, read_original
from sfumato.releasing import plan, release
from sfumato.report import charts, page, score_tables
from sfumato.table import Column
from sfumato.trees import original
from sfumato.trees import svg as tree_svg
from sfumato.trees import text as tree_text

TABLE, TEST = "adult", "adult_test"
SHOWN = ("age", "education_num", "marital_status", "relationship")
"""Columns whose distributions are drawn first; others stand in for those that the plan withholds."""

NEXT_STEPS = """\
import sfumato as sf

plan = sf.plan("table.csv", target="COLUMN")    # print(plan.to_toml()): read it, edit it
sf.release("table.csv", plan, "release", key="owner.key")
sf.describe("release")
sf.reconstruct("release").to_svg()
sf.mine("release").save("model.json")
sf.evaluate("model.json", "true_table.csv")"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class DemoResult:
    """What the demo did, in figures.

    Attributes
    ----------
    folder : Path
        Where the report is.
    rows : int
        Rows that were released.
    accuracy : dict
        Of a tree from the true values, from the release, and from the release without correction.
    distance : dict
        Total variation to the true distribution, by column: of the released values, of the reconstruction.
    scores : dict
        Every score of the same trees, as `sfumato.evaluate` gives them.

    Examples
    --------
    >>> from pathlib import Path
    >>> accuracy = {"true values": 0.85, "release, reconstructed": 0.84, "release, naive": 0.7}
    >>> DemoResult(Path("demo"), 100, accuracy, {}).headline.startswith("Blurred 100 people's rows")
    True
    """

    folder: Path
    rows: int
    accuracy: dict[str, float]
    distance: dict[str, tuple[float, float]]
    scores: dict[str, Evaluation] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """What the demo shows, in one sentence."""
        mined, true, naive = (self.accuracy[n] for n in ("release, reconstructed", "true values", "release, naive"))
        return (
            f"Blurred {self.rows:,} people's rows, then mined the release alone: a decision tree from it is right on "
            f"{mined:.1%} of true test rows; one from the true values on {true:.1%}, one that takes the noisy values for true "
            f"ones on {naive:.1%}{self._majority}."
        )

    @property
    def _majority(self) -> str:
        if not self.scores:
            return ""
        return f"; always the commonest class would be right on {next(iter(self.scores.values()))['majority']:.1%}"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"rows": self.rows, "accuracy": self.accuracy, "distance": self.distance, "scores": self.scores}


def demo(
    folder: str | Path = "demo",
    *,
    key: str | Path | None = None,
    force: bool = False,
    say: Say = lambda _: None,
    next_steps: str = NEXT_STEPS,
) -> DemoResult:
    """Do the main job end to end on bundled data: release, reconstruct, mine, evaluate, and a report to open.

    Parameters
    ----------
    folder : path
        The folder to make.
    key : path, optional
        A key file to draw the noise by, for the same figures again; the folder gets a copy. By default a fresh key.
    force : bool
        Replace an existing folder.
    say : callable
        Called with a line before each step.
    next_steps : str
        What the report tells its reader to run on a table of their own.

    Returns
    -------
    DemoResult
        Accuracy of three trees, and how far released and reconstructed distributions are from the true ones.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.demo("demo", key="nosuch.key")
    Traceback (most recent call last):
    sfumato.errors.UsageError: the key nosuch.key cannot be read: No such file or directory; name another with key=
    """
    folder = Path(folder)
    if key is not None:
        load_key(key)  # so that a wrong one is told before any work is done
    with open_new_folder(folder, force=force) as hidden:
        say(f"1/4  releasing {TABLE}, with the weakest noise under which at most 5 % of people are found again")
        followed = plan(TABLE, name="demo")
        if key is None:
            create_key(hidden / "owner.key")
        else:
            shutil.copy(key, hidden / "owner.key")
        made = release(TABLE, followed, hidden / "release", key=load_key(hidden / "owner.key"))
        say("2/4  reconstructing distributions from the release alone")
        truth = read_original(TABLE, followed)
        blurred = [n for n in (*SHOWN, *followed.channels) if n in followed.channels]
        views = reconstruct(made, tuple(dict.fromkeys(blurred))[: len(SHOWN)])
        masses = {name: original_mass(truth[name], v.overall.grid) for name, v in views.items()}
        say("3/4  growing trees from the release, and one from the true values to compare")
        models = {
            "true values": Model(original(truth), "original", truth.rows),
            "release, reconstructed": mine(made, "tree"),
            "release, naive": mine(made, "randomized"),
        }
        scores = {name: model.evaluate(TEST) for name, model in models.items()}
        accuracy = {name: float(about["accuracy"]) for name, about in scores.items()}
        best = models["release, reconstructed"]
        best.save(hidden / "model.json")
        drawn = [v.draw(alone=False, original=masses[n]) for n, v in views.items()]
        (hidden / "distributions.svg").write_text(charts.stack(drawn), "utf-8")
        (hidden / "tree.svg").write_text(tree_svg(best.body), "utf-8")  # type: ignore[arg-type]
        say("4/4  writing the report")
        distance = {n: _distances(v, masses[n]) for n, v in views.items()}
        result = DemoResult(folder, made.manifest.data.rows, accuracy, distance, scores)
        (hidden / "report.html").write_text(_report(result, made, drawn, best, next_steps), "utf-8")
    return result


def original_mass(column: Column, grid: Grid) -> FloatArray:
    """The true interval masses, which only the owner can know."""
    codes = column.locate(grid)
    counts = np.bincount(codes[codes >= 0], minlength=grid.size).astype(np.float64)
    return counts / max(counts.sum(), 1.0)


def _distances(view: Reconstruction, truth: FloatArray) -> tuple[float, float]:
    """Total variation of released and reconstructed shares to the true ones, on the true grid."""
    grid, counts = view.released
    on_true = np.bincount(view.overall.grid.locate(grid.centres), counts, minlength=view.overall.grid.size)
    naive = on_true / max(counts.sum(), 1.0)
    return float(np.abs(naive - truth).sum() / 2), float(np.abs(view.overall.mass - truth).sum() / 2)


def _report(result: DemoResult, made: Release, drawings: list[str], model: Model, next_steps: str) -> str:
    about = describe_manifest(made.manifest)
    before, after = (sum(d[i] for d in result.distance.values()) for i in (0, 1))
    accuracy, mined = result.accuracy, result.scores["release, reconstructed"]
    distances = [[n, f"{a:.3f}", f"{b:.3f}"] for n, (a, b) in result.distance.items()]
    laws = [
        [n, a["what"], a["privacy"]["in_words"], a["privacy"]["epsilon_in_words"]]
        for n, a in about["attributes"].items()
    ]
    return page.page(
        "Blurred values, sharp patterns",
        f"{result.rows:,} people of the {TABLE} table, every attribute but the class modified. The miner saw only the release: "
        "noisy values and the public law of the noise.",
        page.key_figures(
            [
                (f"{accuracy['release, reconstructed']:.1%}", "accuracy of a tree grown from the release"),
                (f"{accuracy['true values']:.1%}", "of one grown from the true values"),
                (f"{accuracy['release, naive']:.1%}", "of one that takes the released values for true ones"),
                (f"{mined['majority']:.1%}", "of always guessing the commonest class"),
                (f"{before / max(after, 1e-9):.1f} ×", "closer to the true distributions after reconstruction"),
            ]
        ),
        page.section(
            "What was released, what was reconstructed, what was true",
            page.paragraph(
                "Grey is what the release holds, orange what the miner reconstructs from it with a 95 % band, blue the truth, which "
                "only the owner has."
            ),
            page.cards(drawings),
            page.table(
                ["column", "distance of the released values from the truth", "of the reconstruction"], distances
            ),
            page.paragraph("Distances are total variation: the share of people who would have to move."),
        ),
        page.section(
            "What the release says about itself",
            page.table(["column", "what was done", "95 % interval", "ε"], laws),
            page.paragraph(about["record"]["in_words"]),
            page.paragraph(_choice(made)),
            *[page.warning(c) for c in about["cautions"]],
        ),
        page.section(
            "The tree, grown from the release alone",
            page.cards(_score_charts(result.scores)),
            page.table(*score_tables.tabulate_scores(result.scores)),
            page.table(*score_tables.tabulate_confusion(mined["confusion"], model.labels)),
            page.paragraph("Rows by true class, and by what the tree from the release takes them for."),
            page.paragraph(str(model.notes.get("why", ""))),
            page.code(tree_text(model.body)),  # type: ignore[arg-type]
        ),
        page.section("Now with your own table", page.code(next_steps)),
    )


def _choice(made: Release) -> str:
    """Return why the noise is as strong as it is: notes for the owner, who reads this report."""
    remarks = made.making.plan.remarks if made.making and made.making.plan else ()
    return ". ".join(f"{note[0].upper()}{note[1:]}" for note in remarks if note.code in ("SF111", "SF112"))


def _score_charts(scores: dict[str, Evaluation]) -> list[str]:
    """Draw accuracy and AUC of the trees beside those of guessing, and the calibration of the tree from the release."""
    mined = scores["release, reconstructed"]
    accuracy = {name: about["accuracy"] for name, about in scores.items()} | {"commonest class": mined["majority"]}
    area = {name: round(about["auc"], 3) for name, about in scores.items()} | {"guessing": 0.5}
    rows = f"on {mined['rows']:,} true rows"
    return [
        charts.comparison(f"Accuracy {rows}", accuracy, inks=charts.TRUE_FIRST, alone=False),
        charts.comparison(f"AUC {rows}", area, inks=charts.TRUE_FIRST, alone=False, percent=False),
        score_tables.draw_calibration(mined["calibration"], alone=False),
    ]

"""The main job end to end on bundled data: a release, what its miner sees, and how close that comes to the truth."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.counts import FloatArray, Grid
from sfumato.io import open_new_folder
from sfumato.mining import Model, View, distributions, mine
from sfumato.plans import Plan
from sfumato.releases import Release, create_key, describe_manifest, load_key, true_table
from sfumato.releasing import release
from sfumato.report import charts, page
from sfumato.table import Column
from sfumato.trees import original
from sfumato.trees import svg as tree_svg
from sfumato.trees import text as tree_text

TABLE, TEST, PRIVACY = "adult", "adult_test", 0.5
SHOWN = ("age", "education_num", "marital_status", "relationship")

Say = Callable[[str], None]


@dataclass(frozen=True)
class DemoResult:
    """What the demo did, in figures."""

    folder: Path
    rows: int
    accuracy: dict[str, float]
    distance: dict[str, tuple[float, float]]
    """Total variation to the original distribution: of the released values, of the reconstruction."""


def run_demo(
    folder: str | Path, *, key_file: str | Path | None = None, force: bool = False, say: Say = lambda _: None
) -> DemoResult:
    """Release `adult`, reconstruct, mine, evaluate on true values, and write a report into the folder.

    The noise is that of the key in `key_file`, a copy of which the folder gets; without one, of a fresh key.
    """
    folder = Path(folder)
    if key_file is not None:
        load_key(key_file)  # so that a wrong one is told before any work is done
    with open_new_folder(folder, force=force) as hidden:
        say(f"1/4  releasing {TABLE}: gaussian noise at {PRIVACY:.0%} privacy, labels substituted")
        plan = Plan.propose(TABLE, law="gaussian", privacy=PRIVACY, name="demo")
        if key_file is None:
            create_key(hidden / "owner.key")
        else:
            shutil.copy(key_file, hidden / "owner.key")
        key = load_key(hidden / "owner.key")
        made = release(TABLE, plan, hidden / "release", key=key)
        say("2/4  reconstructing distributions from the release alone")
        truth = true_table(plan, TABLE)
        views = distributions(made, list(SHOWN))
        masses = {name: original_mass(truth[name], v.overall.grid) for name, v in views.items()}
        say("3/4  growing trees from the release, and one from the true values to compare")
        models = {
            "true values": Model(original(truth), "original", truth.rows),
            "release, reconstructed": mine(made),
            "release, naive": mine(made, "randomized"),
        }
        accuracy = {name: model.evaluate(TEST)["accuracy"] for name, model in models.items()}
        best = models["release, reconstructed"]
        best.save(hidden / "model.json")
        drawn = [v.drawn(alone=False, original=masses[n]) for n, v in views.items()]
        (hidden / "distributions.svg").write_text(charts.stack(drawn), "utf-8")
        (hidden / "tree.svg").write_text(tree_svg(best.body), "utf-8")  # type: ignore[arg-type]
        say("4/4  writing the report")
        distance = {n: _distances(v, masses[n]) for n, v in views.items()}
        result = DemoResult(folder, made.manifest.data.rows, accuracy, distance)
        (hidden / "report.html").write_text(_report(result, made, views, masses, best), "utf-8")
    return result


def original_mass(column: Column, grid: Grid) -> FloatArray:
    """The true interval masses, which only the owner can know."""
    codes = column.located(grid)
    counts = np.bincount(codes[codes >= 0], minlength=grid.size).astype(np.float64)
    return counts / max(counts.sum(), 1.0)


def _distances(view: View, truth: FloatArray) -> tuple[float, float]:
    """Total variation of released and reconstructed shares to the true ones, on the true grid."""
    grid, counts = view.released
    on_true = np.bincount(view.overall.grid.locate(grid.centres), counts, minlength=view.overall.grid.size)
    naive = on_true / max(counts.sum(), 1.0)
    return float(np.abs(naive - truth).sum() / 2), float(np.abs(view.overall.mass - truth).sum() / 2)


def _report(
    result: DemoResult, made: Release, views: dict[str, View], masses: dict[str, FloatArray], model: Model
) -> str:
    about = describe_manifest(made.manifest)
    before, after = (sum(d[i] for d in result.distance.values()) for i in (0, 1))
    accuracy = result.accuracy
    drawings = [v.drawn(alone=False, original=masses[n]) for n, v in views.items()]
    distances = [[n, f"{a:.3f}", f"{b:.3f}"] for n, (a, b) in result.distance.items()]
    laws = [
        [n, a["what"], a["privacy"]["in_words"], a["privacy"]["epsilon_in_words"]]
        for n, a in about["attributes"].items()
    ]
    return page.page(
        "Blurred values, sharp patterns",
        f"{result.rows:,} people of the {TABLE} table, every attribute modified. The miner saw only the release: noisy values and "
        "the public law of the noise.",
        page.key_figures(
            [
                (f"{accuracy['release, reconstructed']:.1%}", "accuracy of a tree grown from the release"),
                (f"{accuracy['true values']:.1%}", "of one grown from the true values"),
                (f"{accuracy['release, naive']:.1%}", "of one that takes the release at its word"),
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
            *[page.warning(c) for c in about["cautions"]],
        ),
        page.section(
            "The tree, grown from the release alone",
            page.cards(
                [charts.comparison("Accuracy on 16,281 true records", accuracy, inks=charts.TRUE_FIRST, alone=False)]
            ),
            page.paragraph(str(model.notes.get("why", ""))),
            page.code(tree_text(model.body)),  # type: ignore[arg-type]
        ),
        page.section(
            "Now with your own table",
            page.code(
                "sfumato plan table.csv --target COLUMN -o plan.toml    # read it, edit it\n"
                "sfumato release table.csv --plan plan.toml -o release\n"
                "sfumato describe release\n"
                "sfumato reconstruct release --plot distributions.svg\n"
                "sfumato mine release -o model.json\n"
                "sfumato evaluate model.json true_table.csv"
            ),
        ),
    )

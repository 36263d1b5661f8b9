"""A synthetic twin: new rows from the model of a release alone, and a report of how close they are to it.

No row of a twin is a person's, and none depends on one released row more than the model does. The report needs nothing but the
release: shares and pairs are compared with what the release says of the true rows, learners are scored on draws that they were not
trained on, and an attack looks for traces of the rows that a model was fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import FloatArray, IntArray
from sfumato.engines import Engine, Local
from sfumato.errors import SfumatoError, UsageError
from sfumato.findings import Note
from sfumato.io import BLOCK_ROWS, open_new_file, open_row_writer
from sfumato.modelling import FitSettings, TableModel, Writing
from sfumato.modelling import model as fit_model
from sfumato.questions import associate
from sfumato.releases import Release, as_release
from sfumato.table import Table

CAUTION = Note(
    "SF611",
    "a twin is made up: its rows are not those of any person, and it holds what the model found, no more; questions about the true "
    "rows are for the release (sf.ask) or its draws",
)


@dataclass(frozen=True, eq=False, repr=False)
class Twin:
    """New rows from the model of a release.

    Attributes
    ----------
    rows : int
        How many rows.
    report : dict
        How close the twin is to the release, as plain data: `marginals`, `pairs`, `learner` and `attack`.
    seed : int
        Another seed gives other rows.
    path : Path, optional
        The file that the rows were written to.
    release : str
        The name of the release.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     twin = sf.synthesise(release, 1000)
    ...     twin.to_arrow().num_rows, sorted(twin.report)
    (1000, ['attack', 'cautions', 'learner', 'marginals', 'pairs', 'release', 'rows', 'seed'])
    """

    rows: int
    seed: int
    release: str
    model: TableModel
    writing: Writing
    measure: Callable[[], dict[str, Any]]
    path: Path | None = None

    def __repr__(self) -> str:
        return f"Twin({self.rows:,} rows like those behind {self.release})"

    @cached_property
    def report(self) -> dict[str, Any]:
        """How close the twin is: measured when first asked for."""
        head = {"release": self.release, "rows": self.rows, "seed": self.seed}
        caution = {"code": CAUTION.code, "words": str(CAUTION)}
        return head | self.measure() | {"cautions": [caution]}

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the rows from `begin` to `end`."""
        return self.writing(self.model.sample_rows(np.arange(begin, end), self.seed), {})

    def to_arrow(self) -> pa.Table:
        """Return all rows, in the columns' own values."""
        parts = [self.batch(b, min(b + BLOCK_ROWS, self.rows)) for b in range(0, self.rows, BLOCK_ROWS)]
        return pa.Table.from_batches(parts, self.writing.schema)

    def in_words(self) -> list[str]:
        """Return the report in sentences."""
        report = self.report
        out = [_tell_marginals(report["marginals"])]
        out += [_tell_pairs(report["pairs"])] if report["pairs"] else []
        for part in ("learner", "attack"):
            out.append(
                report[part]["in_words"] if "in_words" in report[part] else f"No {part}: {report[part]['skipped']}."
            )
        return out


def synthesise(
    release: Release | str | Path,
    rows: int | None = None,
    path: str | Path | None = None,
    engine: Engine = Local(),
    *,
    seed: int = 0,
    model: TableModel | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Twin:
    """Make new rows from the model of a release alone, with a report of how close they are.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.
    rows : int, optional
        How many rows; by default as many as the release has.
    path : path, optional
        Write them to this .csv, .csv.gz or .parquet file, block by block. It appears when it is complete.
    engine : Engine
        Where the model is fitted.
    seed : int
        Another seed gives other rows.
    model : TableModel, optional
        The model of the release, where it was fitted already.
    force : bool
        Replace an existing file.
    progress : callable, optional
        Is told what is being done.

    Returns
    -------
    Twin
        The rows, and the report.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     twin = sf.synthesise(release, 200, f"{folder}/twin.csv")
    ...     len(twin.path.read_text().splitlines())
    201
    """
    opened, tell = as_release(release), progress or (lambda _: None)
    size = opened.manifest.data.rows if rows is None else rows
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"rows={size!r} cannot be a number of rows; give a whole number from 1 on")
    fitted = model or fit_model(opened, engine, progress=progress)
    writing = Writing.of(opened.manifest).without_identifiers()
    place = None if path is None else Path(path)

    def measure() -> dict[str, Any]:
        return measure_twin(opened, fitted, engine, size, seed, tell)

    twin = Twin(size, seed, opened.manifest.name, fitted, writing, measure, place)
    if place is not None:
        with open_new_file(place, force=force) as hidden, ExitStack() as files:
            writer = open_row_writer(place, hidden, writing.schema, files)
            for begin in range(0, size, BLOCK_ROWS):
                tell(f"writing row {begin + 1:,} of {size:,}")
                writer.write_batch(twin.batch(begin, min(begin + BLOCK_ROWS, size)))
    return twin


def measure_twin(
    release: Release, model: TableModel, engine: Engine, rows: int, seed: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure how close a twin is to its release.

    Parameters
    ----------
    release
        The release.
    model
        The model that both twin and draws come from.
    engine
        Where the release is read.
    rows
        Rows of the twin; of more than 50,000 the first are looked at.
    seed
        The seed of the twin.
    tell
        Is told what is being done.
    """
    max_rows, max_sample = 50_000, 20_000
    twin = model.sample_rows(np.arange(min(rows, max_rows)), seed)
    sample = release.count_table(engine).sample(max_sample)
    tell("comparing shares and pairs")
    missing = {c.attribute.name: c.missing / release.manifest.data.rows for c in release.manifest.columns}
    marginals = compare_shares(model, twin, missing)
    source: Any = release.read_table() if engine.gathers else release
    pairs = compare_pairs(source, twin, model, engine)
    tell("training learners")
    drawn = model.draw(sample, np.arange(sample.rows), f"held out {seed}")
    learner = compare_learners(twin, drawn)
    tell("attacking the twin")
    return {
        "marginals": marginals,
        "pairs": pairs,
        "learner": learner,
        "attack": attack_twin(model, sample, drawn, seed),
    }


def compare_shares(model: TableModel, twin: Table, missing: Mapping[str, float]) -> dict[str, float]:
    """Return for every column the total variation between the twin and the distribution reconstructed from the release.

    Parameters
    ----------
    model
        The model, whose columns were reconstructed one by one.
    twin
        Its rows.
    missing
        The share of missing values of each column.
    """
    out = {}
    for facet, column in zip(model.facets, twin.all_columns, strict=True):
        known = ~np.isnan(column.values)
        counts = np.bincount(facet.fine.locate(column.values[known]), minlength=facet.fine.size) / max(len(known), 1)
        mass = facet.mass * (1 - missing[facet.name])
        groups = [np.add.reduceat(shares, facet.first) for shares in (counts, mass)]
        gaps = abs((1 - known.mean()) - missing[facet.name])
        out[facet.name] = float((np.abs(groups[0] - groups[1]).sum() + gaps) / 2)
    return out


def compare_pairs(source: Any, twin: Table, model: TableModel, engine: Engine) -> list[dict[str, Any]]:
    """Return correlations of numbers and Cramér's V of labels: in the twin, and as estimated from the release with an interval.

    Parameters
    ----------
    source
        The release, or its rows.
    twin
        The rows of the twin.
    model
        The model.
    engine
        Where the release is read.
    """
    max_labels, max_pairs = 20, 10
    out: list[dict[str, Any]] = []
    columns = {c.name: c for c in twin.all_columns}
    numeric = [a.name for a in model.attributes if a.kind.numeric]
    if len(numeric) > 1:
        told: Any = associate(source, engine=engine)
        for (one, other), figure in told.pairs.items():
            if figure is None or one not in columns or other not in columns:
                continue
            own = _correlation(columns[one].values, columns[other].values)
            out.append(_pair("correlation", one, other, own, figure))
    labels = [a.name for a in model.attributes if not a.kind.numeric and 1 < len(a.labels) <= max_labels]
    labelled = [(one, other) for place, other in enumerate(labels) for one in labels[:place]][-max_pairs:]
    for one, other in labelled:
        try:
            crossed: Any = associate(source, one, other, engine=engine)
        except SfumatoError:  # noise that leaves no table of this pair
            continue
        sizes = tuple(len(columns[n].attribute.labels) for n in (one, other))
        own = _cramers_v(columns[one].codes, columns[other].codes, (sizes[0], sizes[1]))
        out.append(_pair("Cramér's V", one, other, own, crossed.v))
    return out


def _pair(measure: str, one: str, other: str, own: float, figure: Any) -> dict[str, Any]:
    told = {"estimate": float(figure), "low": float(figure.low), "high": float(figure.high)}
    return {"measure": measure, "one": one, "other": other, "twin": own, "release": told}


def _correlation(one: FloatArray, other: FloatArray) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < 2 or not (np.ptp(one[both]) and np.ptp(other[both])):
        return 0.0
    return float(np.corrcoef(one[both], other[both])[0, 1])


def _cramers_v(one: IntArray, other: IntArray, size: tuple[int, int]) -> float:
    both = (one >= 0) & (other >= 0)
    table = np.bincount(one[both] * size[1] + other[both], minlength=size[0] * size[1]).reshape(size).astype(float)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return math.sqrt(float(((table - expected) ** 2 / expected).sum()) / n / (min(table.shape) - 1))


def compare_learners(twin: Table, drawn: Table) -> dict[str, Any]:
    """Train a boosted learner on the twin, and one on draws; score both on draws that neither has seen.

    Parameters
    ----------
    twin
        The rows of the twin.
    drawn
        Plausible true rows; every fourth is held out.
    """
    min_rows = 200
    if twin.target is None or drawn.target is None:
        return {"skipped": "the release has no class of labels"}
    held = np.arange(drawn.rows) % 4 == 3
    train, test = drawn.take(~held & (drawn.codes >= 0)), drawn.take(held & (drawn.codes >= 0))
    own = twin.take(np.flatnonzero(twin.codes >= 0)[: train.rows])
    if test.rows < min_rows // 4 or min(len(np.unique(t.codes)) for t in (own, train)) < 2:
        return {"skipped": "there are too few rows, or classes, to train a learner"}
    scores = {}
    for name, rows in (("twin", own), ("draws", train)):
        right = _train(rows).predict(_matrix(test)) == test.codes
        scores[name] = {"accuracy": float(right.mean()), "se": float(right.std() / math.sqrt(len(right)))}
    commonest = float(np.bincount(test.codes).max() / test.rows)
    words = (
        f"A boosted learner that is trained on the twin is right in {scores['twin']['accuracy']:.1%} of {test.rows:,} held-out draws, "
        f"one that is trained on draws in {scores['draws']['accuracy']:.1%}, and saying the commonest class in {commonest:.1%}."
    )
    return scores | {"commonest": commonest, "scored_on": "held-out draws", "rows": test.rows, "in_words": words}


def _matrix(table: Table) -> FloatArray:
    return np.column_stack([c.values for c in table.columns])


def _train(table: Table) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    max_labels = 255
    few = [
        i for i, c in enumerate(table.columns) if not c.attribute.kind.numeric and len(c.attribute.labels) < max_labels
    ]
    return HistGradientBoostingClassifier(categorical_features=few or None, random_state=0).fit(
        _matrix(table), table.codes
    )


def attack_twin(model: TableModel, sample: Table, drawn: Table, seed: int) -> dict[str, Any]:
    """Guess who was among the rows that a twin was made from: people who are nearer to one of its rows than most.

    A model of every second row is fitted, and a twin is made of it. People of these rows and of the others are looked for in it by
    their plausible true values; nothing but the model can tell them apart.

    Parameters
    ----------
    model
        The model of the release.
    sample
        Released rows.
    drawn
        Plausible true rows of the same people.
    seed
        The seed of the twin.
    """
    max_fitted, max_people, min_rows = 8000, 1000, 100
    half = np.arange(sample.rows) % 2 == 0
    inside = np.flatnonzero(half)[:max_fitted]
    people = min(max_people, int(half.sum()), int((~half).sum()))
    if people < min_rows:
        return {"skipped": "there are too few rows to look for"}
    settings: FitSettings = replace(model.settings, components=(int(model.chosen["components"]),), starts=1)
    other = TableModel.fit(sample.take(inside), settings).sample_rows(np.arange(len(inside)), seed)
    near = [nearest_distances(drawn.take(rows), other) for rows in (inside[:people], np.flatnonzero(~half)[:people])]
    cut = float(np.median(np.concatenate(near)))
    right = np.concatenate([near[0] <= cut, near[1] > cut])
    success, se = float(right.mean()), 0.5 / math.sqrt(len(right))
    low, high = max(0.0, success - 1.96 * se), min(1.0, success + 1.96 * se)
    words = (
        f"Somebody who guesses from the nearest row of a twin whether a person was among the rows behind it is right in {success:.1%} "
        f"({low:.1%} to {high:.1%}) of {len(right):,} tries; chance is 50 %."
    )
    return {
        "name": "membership",
        "success": success,
        "interval": [low, high],
        "chance": 0.5,
        "tries": len(right),
        "in_words": words,
    }


def nearest_distances(people: Table, rows: Table) -> FloatArray:
    """Return Gower's distance of each person to the nearest of some rows.

    Parameters
    ----------
    people
        True values.
    rows
        The rows to look through.
    """
    step = max(1, 2_000_000 // max(rows.rows, 1))
    out = np.empty(people.rows)
    for begin in range(0, people.rows, step):
        part = slice(begin, min(begin + step, people.rows))
        total = np.zeros((part.stop - part.start, rows.rows), np.float32)
        for one, other in zip(people.all_columns, rows.all_columns, strict=True):
            x, y = (np.nan_to_num(c.values, nan=-1e9) for c in (one, other))
            if one.attribute.kind.numeric:
                span = one.attribute.interval.range or 1.0
                total += np.minimum(
                    np.abs((x[part] / span).astype(np.float32)[:, None] - (y / span).astype(np.float32)[None]), 1.0
                )
            else:
                total += x[part][:, None] != y[None]
        out[part] = total.min(axis=1)
    return out


def _tell_marginals(marginals: Mapping[str, float]) -> str:
    worst = max(marginals, key=lambda name: marginals[name])
    middle = float(np.median(list(marginals.values())))
    return (
        f"Shares: {middle:.1%} of the rows of a column would have to move to agree with its reconstructed distribution (the median; "
        f"{worst} {marginals[worst]:.1%})."
    )


def _tell_pairs(pairs: list[dict[str, Any]]) -> str:
    inside = sum(p["release"]["low"] <= p["twin"] <= p["release"]["high"] for p in pairs)
    worst = max(pairs, key=lambda p: abs(p["twin"] - p["release"]["estimate"]))
    return (
        f"Pairs: {inside} of {len(pairs)} lie in the interval that the release gives; furthest off is the {worst['measure']} of "
        f"{worst['one']} and {worst['other']}: {worst['twin']:.2f} in the twin, {worst['release']['estimate']:.2f} "
        f"({worst['release']['low']:.2f} … {worst['release']['high']:.2f}) by the release."
    )

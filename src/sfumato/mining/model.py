"""From a release to a model that can be shipped to where the true values are, and back to its accuracy there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.counts import IntArray
from sfumato.engines import Engine, Local
from sfumato.errors import CellError, DataError, SfumatoError, UsageError
from sfumato.io import (
    BLOCK_ROWS,
    check_columns,
    decode_dictionary,
    format_labels,
    match_absent_numbers,
    name_files_in_errors,
    open_known,
    parse_json,
    read_blocks,
    read_document,
    write_file,
)
from sfumato.mining.ensembles import FORMAT as ENSEMBLE_FORMAT
from sfumato.mining.ensembles import Ensemble, ensemble_text, to_onnx
from sfumato.mining.evaluation import Evaluation
from sfumato.mining.naive_bayes import FORMAT as BAYES_FORMAT
from sfumato.mining.naive_bayes import NaiveBayes
from sfumato.mining.scores import Scores, predict_probabilities
from sfumato.releases import Release, as_release
from sfumato.table import Table
from sfumato.text import join_names
from sfumato.trees import (
    Columns,
    Strategy,
    Tree,
    grow_counted_tree,
    rules_text,
    strategy_for_release,
    svg,
    text,
    to_javascript,
    to_python,
    to_sql,
)

FORMAT = "sfumato-model"
VERSION = 1

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Model:
    """A tree, an ensemble of trees or a naive Bayes model, with where it came from.

    Attributes
    ----------
    body : Tree, Ensemble or NaiveBayes
        What predicts.
    strategy : str
        How it was grown.
    rows : int
        Rows of the release it was grown from.
    release : str
        The name of that release.
    seconds : float
        How long it took.
    notes : mapping
        What was chosen on the way; ``notes["why"]`` is a sentence.
    absent : mapping
        Texts that stand for a missing value in the owner's table, by column, as the manifest states them.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     model = sf.mine(release, "byclass")
    ...     model.save(f"{folder}/model.json")
    ...     sf.Model.load(f"{folder}/model.json").rows
    150
    """

    body: Tree | Ensemble | NaiveBayes
    strategy: str
    rows: int
    release: str = ""
    seconds: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The column it predicts."""
        return self.body.target

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return self.body.labels

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns it needs."""
        if isinstance(self.body, Tree | Ensemble):
            return self.body.used
        return tuple(a.name for a in self.body.attributes)

    def summary(self) -> dict[str, Any]:
        """What `mine` reports."""
        about: dict[str, Any] = {"strategy": self.strategy, "rows": self.rows, "seconds": round(self.seconds, 3)}
        if isinstance(self.body, Tree | Ensemble):
            about |= {"leaves": self.body.leaves, "depth": self.body.depth, "attributes": list(self.body.used)}
        if isinstance(self.body, Ensemble):
            about |= {"trees": len(self.body.trees)}
        return about | {"notes": dict(self.notes)}

    @property
    def headline(self) -> str:
        """One line: the strategy, the rows, the time, and the size of the tree."""
        size = f", {self.body.leaves} leaves, depth {self.body.depth}" if isinstance(self.body, Tree) else ""
        if isinstance(self.body, Ensemble):
            size = f", {len(self.body.trees):,} trees, {self.body.leaves:,} leaves, depth {self.body.depth}"
        return f"{self.strategy}: {self.rows:,} rows in {self.seconds:.1f} s{size}"

    @property
    def tree(self) -> Tree:
        """The decision tree; a model without one raises UsageError."""
        if isinstance(self.body, Ensemble):
            raise UsageError(
                f"a {self.strategy} model is {len(self.body.trees):,} trees, too many to write as code; "
                "write it as ONNX, or mine with strategy='tree'"
            )
        if not isinstance(self.body, Tree):
            raise UsageError(
                f"a {self.strategy} model has no tree to draw or to write as code; mine with another strategy"
            )
        return self.body

    def to_text(self) -> str:
        """Return the tree and its first rules as text, what an ensemble looks at, and nothing for naive Bayes."""
        if isinstance(self.body, Ensemble):
            return ensemble_text(self.body)
        if not isinstance(self.body, Tree):
            return ""
        return f"{text(self.body)}\n\n{rules_text(self.body, most=12)}"

    def to_svg(self) -> str:
        """Return a drawing of the tree; of an ensemble, that of the small tree which says nearly the same."""
        if isinstance(self.body, Ensemble) and self.body.surrogate is not None:
            return svg(self.body.surrogate)
        return svg(self.tree)

    def to_code(self, language: str) -> str:
        """Return the tree as code in a language: py, js or sql."""
        languages = {"py": to_python, "js": to_javascript, "sql": to_sql}
        if language not in languages:
            raise UsageError(f"a tree cannot be written as {language!r}; choose {join_names(languages)}")
        return languages[language](self.tree)

    def to_onnx(self) -> bytes:
        """Return a tree or an ensemble as an ONNX graph (needs the extra `onnx`).

        Each column is an input of its own, shape (rows, 1): numbers as doubles (days since 1970-01-01 for dates), labels as
        texts; NaN and "" are missing. The outputs are `label`, texts, and `probabilities`, in the order of `labels`.
        """
        if isinstance(self.body, NaiveBayes):
            raise UsageError(f"a {self.strategy} model cannot be written as ONNX; mine with another strategy")
        return to_onnx(self.body, self.absent)

    def to_json(self) -> str:
        """The model as a file: documented JSON that needs nothing of ours to be applied."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "strategy": self.strategy,
            "rows": self.rows,
            "release": self.release,
            "seconds": self.seconds,
            "notes": dict(self.notes),
            "missing_values": {name: list(texts) for name, texts in self.absent.items()},
            "model": self.body.to_dict(),
        }
        # A number a line would make the file of an ensemble twice as large.
        layout: dict[str, Any] = {"separators": (",", ":")} if isinstance(self.body, Ensemble) else {"indent": 1}
        return json.dumps(data, ensure_ascii=False, **layout) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file."""
        write_file(Path(path), self.to_json(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model from its file."""
        try:
            data = parse_json(read_document(Path(path)))
            form, version = data["format"], data["version"]
        except OSError as error:
            raise DataError(
                f"the model {path} cannot be read: {error.strerror}; make one with: sfumato mine DIR -o model.json"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not a model of this program ({error}); make one with: sfumato mine") from None
        if form != FORMAT or version != VERSION:
            raise DataError(
                f"{path} is a {form} of version {version}, which this program does not read; "
                "update it (pip install -U sfumato), or make the model anew with: sfumato mine DIR -o model.json"
            )
        try:
            model = _read_body(data["model"])
            absent = {str(name): tuple(texts) for name, texts in data.get("missing_values", {}).items()}
            return cls(model, data["strategy"], data["rows"], data["release"], data["seconds"], data["notes"], absent)
        except SfumatoError as error:
            words = str(error).removesuffix("; mine it again")
            raise DataError(f"the model {path} cannot be read: {words}; mine it again") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError, RecursionError) as error:
            raise DataError(f"{path} is not a model of this program ({error}); make one with: sfumato mine") from None

    def predict(self, table: Any, encoding: str | None = None) -> pa.Table:
        """The predicted label and its probability for each row of a table of true values."""
        labels, certain = [], []
        for shares, _ in self._apply(self.body.predict_proba, table, encoding, with_target=False):
            best = np.argmax(shares, axis=1)
            labels.append(np.array(self.labels, dtype=object)[best])
            certain.append(shares[np.arange(len(best)), best])
        return pa.table(
            {
                self.target: pa.array(np.concatenate(labels) if labels else [], pa.string()),
                "probability": pa.array(np.concatenate(certain) if certain else [], pa.float64()),
            }
        )

    def evaluate(self, table: Any, encoding: str | None = None) -> Evaluation:
        """Score the model on true values: accuracy beside the majority's, balanced accuracy, AUC, log loss, Brier score."""
        scores, unknown = Scores.empty(len(self.labels)), 0
        predict = partial(predict_probabilities, self.body)
        for (probabilities, guesses), truth in self._apply(predict, table, encoding, with_target=True):
            known = truth >= 0
            unknown += int((~known).sum())
            scores += Scores.of(probabilities[known], truth[known], guesses[known])
        if scores.rows + unknown == 0:
            raise DataError("the table has a header but no rows; give one with at least one row of true values")
        if scores.rows == 0:
            raise DataError(
                f"no row has a known {self.target}; the model knows {join_names(self.labels)}, so give a table with these classes"
            )
        return Evaluation.of(scores, self.labels, self.target, self.strategy, unknown)

    def _apply(
        self, predict: Callable[[Columns], T], table: Any, encoding: str | None, *, with_target: bool
    ) -> Iterator[tuple[T, IntArray]]:
        """Yield what `predict` makes of the rows, and the codes of the true classes, block by block."""
        source = open_known(table, encoding, None, {a.name for a in self.body.attributes if a.kind.numeric})
        wanted = [*self.inputs, *([self.target] if with_target else [])] or [source.columns[0]]
        labels = {a.name: () if a.kind.numeric else a.categories for a in self.body.attributes}
        marks = {name: set(self.absent.get(name, ())).difference(known) for name, known in labels.items()}
        remedy = "the model needs it, so give a table that has it, or mine a release without it"
        check_columns(source, wanted, remedy)
        with name_files_in_errors(source):
            for block in read_blocks(source, dict.fromkeys(wanted), BLOCK_ROWS):
                columns = {n: _cells(block.batch.column(n), n, marks[n]) for n in self.inputs}
                if not columns:
                    columns = {source.columns[0]: np.zeros(block.rows)}
                try:
                    predicted = predict(columns)
                except CellError as error:
                    raise CellError(error.column, block.start + error.row, error.why) from None
                truth = self._codes(block.batch.column(self.target)) if with_target else np.empty(0, np.int64)
                yield predicted, truth

    def _codes(self, array: pa.Array) -> IntArray:
        places = {label: i for i, label in enumerate(self.labels)}
        return np.array([places.get(t, -1) for t in format_labels(array, self.target).to_pylist()], dtype=np.int64)


def _read_body(data: Mapping[str, Any]) -> Tree | Ensemble | NaiveBayes:
    if data["format"] == BAYES_FORMAT:
        return NaiveBayes.from_dict(data)
    return Ensemble.from_dict(data) if data["format"] == ENSEMBLE_FORMAT else Tree.from_dict(data)


def _cells(array: pa.Array, name: str, absent: Collection[str] = ()) -> Any:
    """Cells for a model: numbers as they are, texts as texts, an empty one and those in `absent` as missing."""
    array = decode_dictionary(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        numbers = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.where(match_absent_numbers(numbers, absent), np.nan, numbers)
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        return array.to_numpy(zero_copy_only=False)
    texts = format_labels(array, name).to_pylist()
    return np.array([None if t in absent else t for t in texts], dtype=object)


def predict(model: Model | str | Path, table: Any, encoding: str | None = None) -> pa.Table:
    """Apply a model to a table of true values.

    Parameters
    ----------
    model : Model or path
        A model, or the file it was saved to.
    table : path, bundled name, dataframe or Arrow table
        The rows to predict for, with the columns that the model uses.
    encoding : str, optional
        Encoding of a CSV file.

    Returns
    -------
    pyarrow.Table
        The predicted label of each row, in a column named after the target, and its `probability`.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     model = sf.mine(release, "byclass")
    >>> sf.predict(model, "iris").column_names
    ['class', 'probability']
    """
    return as_model(model).predict(table, encoding)


def evaluate(model: Model | str | Path, table: Any, encoding: str | None = None) -> Evaluation:
    """Compare what a model predicts with the true classes of a table.

    Parameters
    ----------
    model : Model or path
        A model, or the file it was saved to.
    table : path, bundled name, dataframe or Arrow table
        Rows of true values with their classes.
    encoding : str, optional
        Encoding of a CSV file.

    Returns
    -------
    Evaluation
        A dict: `accuracy` beside the `majority` share, `balanced_accuracy`, `auc`, `log_loss` and `brier` with their 95 %
        `interval`, the `confusion` counts, the recall of each of the `classes`, and the `calibration`.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     model = sf.mine(release, "byclass")
    >>> sf.evaluate(model, "iris")["rows"]
    150
    """
    return as_model(model).evaluate(table, encoding)


def as_model(model: Model | str | Path) -> Model:
    """Return a model as it is, or read from its file."""
    return model if isinstance(model, Model) else Model.load(model)


def mine(
    release: Release | Table | str | Path,
    strategy: str | None = None,
    engine: Engine = Local(),
    *,
    score: str | None = None,
) -> Model:
    """Grow a model from a release: a decision tree, boosted trees or a forest, or naive Bayes.

    Parameters
    ----------
    release : Release, path or Table
        A release, its folder, or released columns in memory.
    strategy : str, optional
        auto, tree, byclass, local, global, randomized, joint, mixture, naive-bayes, boosting or forest. By default auto: boosted
        trees, or the tree of a joint map where released rows surely prefer it; on an engine that does not gather rows byclass,
        since auto needs all of them. tree is the best single tree.
    engine : Engine
        Where the work is done. An engine that gathers reads all rows; any other adds up counts, level by level (byclass,
        local, global and randomized), and gives the same tree.
    score : str, optional
        What tree chooses by: accuracy (the default), balanced_accuracy, auc, log_loss or brier. With a score, auto means tree.

    Returns
    -------
    Model
        The model, which predicts for true values. ``notes["expected"]`` of auto and tree holds what each score is expected to be on
        true values, from the rows of the release alone, with a 95 % interval.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.Plan.propose("iris"), f"{folder}/release")
    ...     model = sf.mine(release, "byclass")
    >>> model.target, model.labels[0]
    ('class', 'Iris-setosa')
    """
    chosen = strategy_for_release(strategy or ("auto" if engine.gathers else "byclass"))
    options = {} if score is None else {"score": score}
    if options and chosen.name == "auto":
        chosen = strategy_for_release("tree")
    if options and chosen.name != "tree":
        raise UsageError(
            f"score: {chosen.name} does not choose by a score; leave it out, or mine with the strategy tree"
        )
    if isinstance(release, Table):
        if not engine.gathers:
            raise UsageError("an engine that does not gather rows mines release folders; give one, or engine=Local()")
        return _grow(release, chosen, options)
    opened = as_release(release)
    _check_classes(opened)
    if engine.gathers:
        model = _grow(opened.read_table(), chosen, options)
    else:
        start = time.perf_counter()
        counted = opened.count_table(engine)
        tree = replace(grow_counted_tree(counted, chosen.name), target=counted.table.required_target.name)
        model = Model(tree, chosen.name, opened.manifest.data.rows, seconds=time.perf_counter() - start)
    absent = {c.attribute.name: c.absent for c in opened.manifest.columns if c.absent != ("",)}
    return replace(model, release=opened.manifest.name, absent=absent)


def _check_classes(release: Release) -> None:
    """Raise UsageError unless a release has a target with classes."""
    target = release.manifest.schema.target
    if target is None:
        raise UsageError(f"{release.folder} has no target to predict; release the table with target=COLUMN")
    if target.kind.numeric:
        raise UsageError(
            f"{target.name}: a target of numbers has no classes; cut it into categories before the release"
        )


def _grow(table: Table, strategy: Strategy, options: Mapping[str, str]) -> Model:
    """Grow the model of a table in memory."""
    if not table.columns:
        raise UsageError("the release holds no attribute beside the target, so there is nothing to predict from")
    start = time.perf_counter()
    body, notes = strategy.grow(table, **options)
    if isinstance(body, Tree):
        body = replace(body, target=table.required_target.name, strategy=body.strategy or strategy.name)
    return Model(body, strategy.name, table.rows, seconds=time.perf_counter() - start, notes=notes)

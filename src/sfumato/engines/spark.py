"""A Spark cluster. The only place that imports pyspark, and it imports it when it is used.

Spark is handed numbers of pieces (files and rows in them), and its workers read those pieces themselves; or it is handed a
DataFrame, and its workers are given the rows. Either way rows go through Arrow batches and the same kernels that the local
engine runs; counts come back as small tables. The driver never sees a row.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from sfumato.engines import worker
from sfumato.engines.local import Assign, Mapped, Progress, Target, Within, Words
from sfumato.errors import DataError, EngineError, OutputError, UsageError
from sfumato.io import (
    BLOCK_ROWS,
    Block,
    Piece,
    Source,
    Written,
    check_columns,
    check_header,
    cut_into_pieces,
    open_table,
)
from sfumato.text import join_names

T = TypeVar("T")

MAX_PIECE_ROWS = 1 << 20
"""One file of the release, some tens of megabytes."""

RESULT_TYPE = f"{worker.PART} bigint, result binary"
ENCRYPTION = "spark.io.encryption.enabled"
WORDS_TYPE = "word bigint, row bigint"

NO_PYSPARK = "the Spark engine needs pyspark; install it with: pip install 'sfumato[spark]'"
NO_JAVA = (
    "the Spark engine needs Java 17 or newer, and there is none: neither JAVA_HOME nor the path leads to one; install it, for "
    "example with: apt-get install default-jre-headless"
)


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A Spark DataFrame; `numbered` names the column with the numbers of its rows, if it has one."""

    frame: Any
    numbered: str | None = None
    name: str = "the DataFrame"
    rows: int | None = None
    """Unknown until counted."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names without that of the row numbers."""
        return tuple(c for c in self.frame.columns if c != self.numbered)

    def batches(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Raise UsageError: rows stay on the cluster."""
        raise UsageError(
            f"{join_names(columns)}: the rows of a Spark DataFrame are not brought to one machine; "
            "work on it with the Spark engine, or write it to Parquet files first"
        )


@dataclass(frozen=True, eq=False)
class Spark:
    """Work on the cluster of a SparkSession.

    Parameters
    ----------
    session
        A session; `Spark.connect` makes one.
    numbered
        For DataFrames without an id: the column of whole numbers that says which row is which. Noise belongs to them.
    piece_rows
        Rows of a piece of work at most; nothing in the result depends on it but how many files the release has.
    keys_on_workers
        The owner's key file stands under its path on every worker, which then reads it; so no key is sent at all.
    """

    session: Any = field(repr=False)
    numbered: str | None = None
    piece_rows: int = MAX_PIECE_ROWS
    keys_on_workers: bool = False

    @classmethod
    def connect(cls, master: str | None = None, **conf: str) -> Spark:
        """Return an engine with a session on a master (all cores of this machine by default), Spark's local files encrypted."""
        check_installed()
        from pyspark.sql import SparkSession

        if (master or "local").startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on this machine run this very Python
        builder = SparkSession.builder.appName("sfumato").master(master or "local[*]")
        ours = {"spark.ui.enabled": "false", ENCRYPTION: "true", "spark.ui.showConsoleProgress": "false"}
        for name, value in (ours | conf).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        _check_session(session, master, (ours | conf)[ENCRYPTION])
        return cls(session)

    @property
    def gathers(self) -> bool:
        """False: rows stay where they are."""
        return False

    def open(self, table: Any, encoding: str | None = None) -> Source:
        """Open a path that all workers see, or a DataFrame."""
        if hasattr(table, "mapInArrow"):
            check_header(list(table.columns), "the DataFrame")
            if self.numbered is not None and self.numbered not in table.columns:
                raise UsageError(f"the DataFrame has no column {self.numbered!r} of row numbers; name another")
            if taken := [c for c in table.columns if c.lower() in worker.OURS]:
                raise UsageError(
                    f"the DataFrame has a column {join_names(taken)}, a name kept for this engine; rename it"
                )
            if self.numbered is not None:
                _check_whole(table, self.numbered)
            return FrameSource(table, self.numbered)
        return open_table(table, encoding)

    def write(
        self,
        kernel: Callable[[Block], Mapped],
        source: Source,
        columns: Sequence[str],
        target: Target,
        *,
        order: Words | None = None,
        block_rows: int = BLOCK_ROWS,
        progress: Progress | None = None,
    ) -> tuple[Written, Any]:
        """Write a folder of files, one per piece, which the workers write side by side."""
        if target.form not in ("parquet", "csv"):
            raise UsageError(f"there is no format {target.form!r}; choose parquet or csv")
        if isinstance(source, FrameSource) and source.numbered is None and not getattr(kernel, "identifier", None):
            raise UsageError(
                "the rows of a DataFrame have no order and so no numbers, and noise must belong to something: name an id "
                "column in the plan, or a column of row numbers with Spark(session, numbered=COLUMN)"
            )
        if order is not None:
            return self._write_ordered(kernel, source, columns, target, order, block_rows)
        folder = target.folder / f"data.{target.form}"
        folder.mkdir()
        frame, rows = self._work(source, columns, block_rows, ordered=True)
        total: Any = None
        parts = []
        for written, tally in self._results(frame, worker.Write(rows, kernel, replace(target, folder=folder))):
            parts.append(written)
            total = tally if total is None else total + tally
            path = folder / written.file
            if not path.exists() or path.stat().st_size != written.bytes:
                raise OutputError(
                    f"{path} was written by a worker and cannot be seen from here; write the release to storage that "
                    "the driver and all workers share under the same path"
                )
        known = {p.file for p in parts}
        for left in [p for p in folder.iterdir() if p.name not in known]:  # of attempts that were given up
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        done = Written.folder(folder.name, parts)
        if progress:
            progress(done.rows, done.rows)
        return done, total

    def _write_ordered(
        self,
        kernel: Callable[[Block], Mapped],
        source: Source,
        columns: Sequence[str],
        target: Target,
        order: Words,
        block_rows: int,
    ) -> tuple[Written, Any]:
        """Let the cluster sort the mapped rows by their words, and write them as they then stand.

        Rows are mapped twice, once for the tally: a row that Spark moves cannot carry a share of it.
        """
        if isinstance(source, FrameSource) and source.numbered is None:
            raise UsageError(
                "the rows of a DataFrame have no numbers by which they could be shuffled; name a column of row numbers with "
                "Spark(session, numbered=COLUMN), or leave shuffle=True out: a DataFrame has no order to hide"
            )
        seen = self.fold(worker.Tallied(kernel), source, columns, block_rows=block_rows) or worker.Seen(None, {})
        frame, rows = self._work(source, columns, block_rows)
        kinds = {pa.string(): "string", pa.float64(): "double", pa.date32(): "date"}
        places = [f"c{place}" for place in range(len(target.schema))]
        kind = [f"{place} {kinds.get(f.type, 'bigint')}" for place, f in zip(places, target.schema, strict=True)]
        worded = worker.Map(rows, worker.Worded(kernel, order))
        moved = _map_in_arrow(frame, worded, ", ".join([*kind, f"{worker.NUMBER} bigint"]))
        ordered = FrameSource(moved, worker.NUMBER, "the shuffled table")
        return self.write(worker.Restored(target.schema, seen.labels), ordered, places, target)[0], seen.tally

    def fold(
        self, kernel: Callable[[Block], T], source: Source, columns: Sequence[str], *, block_rows: int = BLOCK_ROWS
    ) -> T | None:
        """Add up the workers' sums in the order of their rows."""
        frame, rows = self._work(source, columns, block_rows)
        total: T | None = None
        for counts in self._results(frame, worker.Fold(rows, kernel)):
            total = counts if total is None else total + counts
        return total

    def exchange(
        self, assign: Assign, within: Within, source: Source, columns: Sequence[str], schema: pa.Schema
    ) -> Source:
        """Bring each group to one worker by Spark's own shuffle; the rows stay on the cluster."""
        frame, rows = self._work(source, columns, BLOCK_ROWS)
        kinds = {pa.int64(): "bigint", pa.float64(): "double"}
        kind = ", ".join(f"{f.name} {kinds[f.type]}" for f in schema)
        assigned = _map_in_arrow(frame, worker.Map(rows, assign), kind)

        def sfumato_exchange(group: Any) -> Any:
            return within(group)

        exchanged = _ignore_pandas_warnings(lambda: assigned.groupBy("group").applyInArrow(sfumato_exchange, kind))
        return FrameSource(exchanged.drop("group"), "number", "the exchanged table")

    def count_groups(self, words: Words, source: Source, columns: Sequence[str]) -> tuple[int, int]:
        """Count keyed digests, not ids, on the cluster; two numbers come back."""
        from pyspark.sql import functions as f

        frame, rows = self._work(source, columns, BLOCK_ROWS)
        digests = _map_in_arrow(frame, worker.Map(rows, worker.NumberedWords(words)), WORDS_TYPE)
        sizes = digests.groupBy("word").count().agg(f.count("word"), f.max("count"))
        number, largest = _collect(sizes)[0]
        return int(number), int(largest or 0)

    def check_numbers(self, source: Source) -> None:
        """Check the numbers in one pass of the cluster over them alone."""
        if not isinstance(source, FrameSource) or source.numbered is None:
            return
        from pyspark.sql import functions as f

        number, times = f.col(worker.NUMBER), f.col("count")
        frame, called = _rename_by_place(source.frame)
        counted = (
            frame.select(f.col(called[source.numbered]).cast("bigint").alias(worker.NUMBER))
            .groupBy(worker.NUMBER)
            .count()
        )
        wrong = counted.where(number.isNull() | (number < 0) | (times > 1)).orderBy(number).limit(1)
        for row, several in _collect(wrong):
            if row is None or row < 0:
                raise DataError(worker.explain_wrong_number(source.numbered, row))
            raise DataError(
                f"{source.numbered}: the row number {row} occurs in {several} rows of the DataFrame, which would share their "
                "noise; give every row its own number"
            )

    def _work(
        self, source: Source, columns: Sequence[str], block_rows: int, *, ordered: bool = False
    ) -> tuple[Any, worker.Rows]:
        """Return what Spark maps over, and how a worker turns it into blocks."""
        if block_rows < 1:
            raise UsageError(f"a block cannot have {block_rows} rows; give at least 1")
        check_columns(source, columns)
        if isinstance(source, FrameSource):
            return self._frame(source, columns, ordered=ordered)
        context = getattr(self.session, "sparkContext", None)  # a session over Spark Connect has none
        cores = max(1, int(context.defaultParallelism)) if context is not None else 1
        size = self.piece_rows
        if source.rows:
            tasks_per_core = 3  # a slow worker then delays little
            min_piece_rows = 1 << 16  # smaller pieces cost more to start than they save by using more cores
            size = min(size, max(min_piece_rows, -(-source.rows // (tasks_per_core * cores))))
        pieces = tuple(cut_into_pieces(source, size, self._count_rows))
        return self._numbers(len(pieces)), worker.Pieces(pieces, tuple(columns), block_rows)

    def _frame(self, source: FrameSource, columns: Sequence[str], *, ordered: bool) -> tuple[Any, worker.Rows]:
        from pyspark.sql import functions as f

        frame, called = _rename_by_place(source.frame)
        chosen = [f.col(called[c]) for c in columns]
        if source.numbered is not None:
            number = f.col(called[source.numbered])
            frame = frame.orderBy(number) if ordered else frame
            chosen.append(number.cast("bigint").alias(worker.NUMBER))
        frame = frame.select(*chosen).withColumn(worker.PART, f.spark_partition_id().cast("bigint"))
        return frame, worker.Batches(tuple(columns), source.numbered)

    def _numbers(self, size: int) -> Any:
        """Return the numbers 0, 1, … of the pieces, split among the cores."""
        return self.session.range(0, size, 1, max(1, size))

    def _count_rows(self, pieces: Sequence[Piece]) -> list[int]:
        return list(self._results(self._numbers(len(pieces)), worker.Count(tuple(pieces))))

    def _results(
        self, frame: Any, work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> Iterator[Any]:
        """Run the work everywhere, and unpack its small tables in the order of the parts."""
        rows = _collect(_map_in_arrow(frame, work, RESULT_TYPE))
        results = [worker.unpack(bytes(row["result"])) for row in sorted(rows, key=lambda row: row[worker.PART])]
        if failed := next((r for r in results if isinstance(r, worker.Failed)), None):
            raise failed.error
        yield from results


def _rename_by_place(frame: Any) -> tuple[Any, dict[str, str]]:
    """Return the frame with columns called by their places, and the name of each.

    Spark takes a dot in a name for a part of a value, `mapInArrow` asks for every column by its bare name, and names that
    differ only in capitals are one to it. Places avoid all three, and workers give the names back.
    """
    called = {name: f"c{place}" for place, name in enumerate(frame.columns)}
    return frame.toDF(*called.values()), called


def _check_whole(frame: Any, numbered: str) -> None:
    """Raise UsageError for a column that is not of whole numbers: fractions would be cut, and rows would share their noise."""
    from pyspark.sql.types import IntegralType

    kind = frame.schema[numbered].dataType
    if not isinstance(kind, IntegralType):
        raise UsageError(
            f"the column {numbered!r} of row numbers has the type {kind.simpleString()}; name a column of whole numbers "
            "(int or bigint), or convert it"
        )


def _check_session(session: Any, master: str | None, encrypted: str) -> None:
    """Raise UsageError if an existing session differs from what was asked for: Spark would hand it out all the same."""
    context = getattr(session, "sparkContext", None)
    conf = context.getConf() if context is not None else None
    setting = conf.get(ENCRYPTION, "false") if conf is not None else "unknown"
    next_step = "stop it (session.stop()) and connect again, or pass it as Spark(session) if it is meant"
    if setting.lower() != encrypted.lower():
        raise UsageError(f"a Spark session exists already, with {ENCRYPTION} = {setting}; {next_step}")
    there = str(context.master) if context is not None else ""
    same_kind = (master or "").startswith("k8s://") and there.startswith("k8s://")  # Spark spells these anew
    if master is not None and there != master and not same_kind:
        raise UsageError(f"a Spark session exists already, on {there} and not on {master}; {next_step}")


def _collect(frame: Any) -> list[Any]:
    """Return the rows of a small result; explain in words what goes wrong on the cluster."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        rows: list[Any] = frame.collect()
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if "No module named 'sfumato'" in text or "No module named 'pyarrow'" in text:
            raise EngineError(
                "the Python of the workers has no sfumato; install it on every worker, or name an environment that has it "
                "in spark.pyspark.python (see docs/guide/spark.md)"
            ) from None
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        raise EngineError(f"the cluster could not do the work: {' … '.join(lines[:1] + lines[-1:])}") from error
    return rows


def _map_in_arrow(frame: Any, work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], kind: str) -> Any:
    """Map the work as a plain function, which is what Spark ships; the frozen value travels in its closure."""

    def sfumato_task(batches: Any) -> Any:
        yield from work(batches)

    return _ignore_pandas_warnings(lambda: frame.mapInArrow(sfumato_task, kind))


def _ignore_pandas_warnings(make: Callable[[], Any]) -> Any:
    """Call `make` without Spark's warnings about pandas versions: not one pandas frame is used here."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        return make()


def check_installed() -> None:
    """Raise UsageError with what to install where pyspark or Java is missing."""
    import importlib.util

    if importlib.util.find_spec("pyspark") is None:
        raise UsageError(NO_PYSPARK)
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        raise UsageError(NO_JAVA)

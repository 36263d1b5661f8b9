"""The verb `draws`: tables of plausible true rows, in memory or in a folder, block by block.

A row's draw comes from P(true row | its released row, model), and from chance that belongs to the row's number. So any engine and
any block size gives the same tables, and the first three of five draws are the three of three.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.counts import FloatArray, snap
from sfumato.engines import Engine, Local, Target
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note, code_notes
from sfumato.io import PLAIN, Block, Decoder, format_labels, open_new_folder, open_table, read_blocks, write_file
from sfumato.modelling.bootstrap import rehearse_draws, resample_models
from sfumato.modelling.pooling import Statistic, pool_draws
from sfumato.modelling.release_model import model as fit_model
from sfumato.modelling.table_model import Progress, TableModel
from sfumato.releases import Manifest, Reader, Release, as_release, whole_outputs
from sfumato.schema import Attribute, Role
from sfumato.table import Table
from sfumato.text import join_names, markdown

STATEMENT = "draws.json"


@dataclass(frozen=True)
class Cells:
    """Write the numbers of one column as cells, in the column's own values and type.

    Parameters
    ----------
    attribute : Attribute
        What the column holds in truth.
    """

    attribute: Attribute

    @cached_property
    def decoder(self) -> Decoder:
        """What turns numbers in the column's own unit into cells."""
        plain = replace(self.attribute, scale=None)
        return Decoder(plain, whole_outputs(plain, None))

    def __call__(self, values: FloatArray) -> pa.Array:
        """Return the cells."""
        if self.attribute.ruler is not None:
            values = self.attribute.to_values(values)
            values = snap(values, self.attribute.step) if self.attribute.step else values
        return self.decoder(values)


@dataclass(frozen=True)
class Writing:
    """Turn a table of the model into Arrow, the columns in the order of the release."""

    attributes: tuple[Attribute, ...]
    """All columns that the release holds, identifiers among them."""

    @classmethod
    def of(cls, manifest: Manifest) -> Writing:
        """Return what writes the columns of a release."""
        return cls(tuple(c.attribute for c in manifest.columns))

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that say whose row it is: they are no part of the model, and are carried as they are."""
        return tuple(a.name for a in self.attributes if a.role is Role.IDENTIFIER)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types."""
        return pa.schema([(a.name, self._type(a)) for a in self.attributes])

    def _type(self, attribute: Attribute) -> pa.DataType:
        return pa.string() if attribute.name in self.identifiers else Cells(attribute).decoder.type

    def __call__(self, table: Table, carried: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Return the rows; `carried` are the identifiers as they were released."""
        values = {c.name: c.values for c in table.all_columns}
        arrays = [
            format_labels(carried[a.name], a.name) if a.name in carried else Cells(a)(values[a.name])
            for a in self.attributes
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def without_identifiers(self) -> Writing:
        """Return the same without columns that say whose row it is."""
        return Writing(tuple(a for a in self.attributes if a.role is not Role.IDENTIFIER))


@dataclass(frozen=True, eq=False)
class DrawnBlock:
    """Rows to write, and how many there are."""

    batch: pa.RecordBatch
    tally: int


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draw the rows of a block: what an engine maps. A frozen value that travels to any worker as it is."""

    model: TableModel
    reader: Reader
    writing: Writing
    name: str

    def __call__(self, block: Block) -> DrawnBlock:
        """Return plausible true rows, one for each released row."""
        drawn = self.model.draw(self.reader(block), block.row_numbers, self.name)
        batch = self.writing(drawn, {name: block.batch.column(name) for name in self.writing.identifiers})
        return DrawnBlock(batch, block.rows)


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Tables of plausible true rows behind a release.

    Attributes
    ----------
    tables : tuple of pyarrow.Table
        The tables, row by row those of the release.
    release : str
        The name of the release.
    size : int
        m, how many tables there are.
    seed : int
        Another seed gives other draws.
    chosen : mapping
        How the model was chosen.
    cautions : tuple of Note
        What draws are, and what they are not.
    folder : Path, optional
        Where they were written.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     draws = sf.draws(release, m=3)
    >>> len(draws), draws.tables[0].num_rows, draws.tables[0].column_names[-1]
    (3, 150, 'class')
    """

    release: str
    size: int
    seed: int
    chosen: Mapping[str, Any]
    cautions: tuple[Note, ...]
    load: Callable[[int], pa.Table]
    rehearse: Callable[[], tuple[tuple[pa.Table, pa.Table], ...]]
    folder: Path | None = None

    @cached_property
    def tables(self) -> tuple[pa.Table, ...]:
        """The tables."""
        return tuple(self.load(place) for place in range(self.size))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Draws({self.size} tables behind {self.release})"

    def __iter__(self) -> Iterator[pa.Table]:
        return iter(self.tables)

    def __getitem__(self, place: int) -> pa.Table:
        return self.tables[place]

    def to_pandas(self) -> list[Any]:
        """Return the tables as pandas dataframes."""
        return [to_frame(table, "pandas") for table in self.tables]

    def to_polars(self) -> list[Any]:
        """Return the tables as polars dataframes."""
        return [to_frame(table, "polars") for table in self.tables]

    @cached_property
    def rehearsed(self) -> tuple[tuple[pa.Table, pa.Table], ...]:
        """Pairs of a draw that was taken for the truth, and what a draw from a release of it looks like: made when first asked for."""
        return self.rehearse()

    def pool(self, statistic: Statistic, *, form: str = "arrow", rehearse: bool = True) -> Any:
        """Compute a statistic on every table, and pool the results.

        Parameters
        ----------
        statistic : callable
            Takes a table; returns a number, ``(number, standard error)``, an array, a mapping of names to these, or a fitted model
            with ``params`` and ``bse``.
        form : str
            What the tables are handed over as: arrow, pandas or polars.
        rehearse : bool
            Measure on the draws themselves how far off the statistic comes out, correct it, and widen the interval by what the
            correction may lack. Without it intervals are Rubin's alone, and hold less often than they say.

        Returns
        -------
        Pooled, or a mapping or tuple of them
            Without a standard error the interval is for the figure of the rows behind the release; with one, for that of the
            population that they come from.
        """
        ask = _in_form(statistic, form)
        return pool_draws(self.tables, ask, self.rehearsed if rehearse else ())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the rows."""
        return {
            "release": self.release,
            "m": self.size,
            "seed": self.seed,
            "chosen": dict(self.chosen),
            "cautions": code_notes(self.cautions),
        }


def _in_form(statistic: Statistic, form: str) -> Statistic:
    if form == "arrow":
        return statistic
    if form not in ("pandas", "polars"):
        raise UsageError(f"form={form!r} is not known; use arrow, pandas or polars")
    return lambda table: statistic(to_frame(table, form))


def to_frame(table: pa.Table, form: str) -> Any:
    """Return a table as a dataframe of pandas or polars, whichever is asked for and installed."""
    import importlib

    try:
        library = importlib.import_module(form)
    except ModuleNotFoundError:
        raise UsageError(
            f"{form} is not installed; install it with: pip install {form}, or use the Arrow tables"
        ) from None
    return table.to_pandas() if form == "pandas" else library.from_arrow(table)


def draws(
    release: Release | str | Path,
    m: int = 5,
    folder: str | Path | None = None,
    engine: Engine = Local(),
    *,
    seed: int = 0,
    model: TableModel | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Draws:
    """Draw tables of plausible true rows, given the released ones.

    Each row of each table is a guess: it comes from P(true row | released row) under a model of the whole table. Each table has a
    model of its own, fitted to rows drawn anew, so that the tables differ by what is not known of the model, too.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.
    m : int
        How many tables.
    folder : path, optional
        Write them to this folder as Parquet, block by block. It appears when it is complete.
    engine : Engine
        Where the work is done; the draws are the same. One that does not gather rows needs a folder.
    seed : int
        Another seed gives other draws.
    model : TableModel, optional
        The model of the release, where it was fitted already.
    force : bool
        Replace an existing folder.
    progress : callable, optional
        Is told what is being done.

    Returns
    -------
    Draws
        The tables, and `pool` for statistics of them.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.compute as pc
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     draws = sf.draws(release, m=5)
    ...     mean = draws.pool(lambda table: pc.mean(table["petal_length"]).as_py())
    >>> mean.low < 3.758 < mean.high
    True
    """
    if isinstance(m, bool) or not isinstance(m, int) or m < 1:
        raise UsageError(f"m={m!r} cannot be a number of draws; give a whole number from 1 on")
    opened, tell = as_release(release), progress or (lambda _: None)
    if folder is None and not engine.gathers:
        raise UsageError("on this engine draws are written where the rows are; give a folder=")
    reader = Reader.of(opened.manifest)
    if not reader.names:
        raise DataError(f"{opened.folder} releases no column beside the identifier; there is nothing to draw")
    common = check_model(model, reader) if model else fit_model(opened, engine, progress=progress)
    rows = opened.read_table() if engine.gathers else opened.count_table(engine)
    labels = [f"{opened.manifest.name} seed {seed} draw {place}" for place in range(m)]
    models = resample_models(common, rows, labels, progress=progress)
    writing = Writing.of(opened.manifest)
    kernels = [Drawing(own, reader, writing, label) for own, label in zip(models, labels, strict=True)]
    head = (opened.manifest.name, m, seed, common.chosen, cautions_of(opened.manifest))

    def rehearse() -> tuple[tuple[pa.Table, pa.Table], ...]:
        pairs = rehearse_draws(common, models, rows, labels, tell)
        plain = writing.without_identifiers()
        return tuple((_to_arrow(plain, one), _to_arrow(plain, other)) for one, other in pairs)

    if folder is None:
        tell("drawing")
        source = open_table(opened.data_path, reading=PLAIN)
        parts = [[kernel(block).batch for kernel in kernels] for block in read_blocks(source, writing.schema.names)]
        tables = [pa.Table.from_batches(own, writing.schema) for own in zip(*parts, strict=True)]
        return Draws(*head, load=tables.__getitem__, rehearse=rehearse)
    place = Path(folder)
    with open_new_folder(place, force=force) as hidden:
        files = []
        for number, kernel in enumerate(kernels, 1):
            tell(f"drawing table {number} of {m}")
            source = engine.open(opened.data_path)
            target = Target(hidden, "parquet", writing.schema)
            written, _ = engine.write(kernel, source, writing.schema.names, target)
            file = f"draw-{number}.parquet"
            (hidden / written.file).rename(hidden / file)
            files.append(replace(written, file=file).to_dict())
        made = Draws(*head, load=lambda j: _read(place / f"draw-{j + 1}.parquet"), rehearse=rehearse, folder=place)
        write_file(hidden / "README.md", describe_draws(made, writing))
        statement = {"sfumato_draws": 1} | made.to_dict() | {"files": files}
        write_file(hidden / STATEMENT, json.dumps(statement, indent=2) + "\n")
    return made


def _read(path: Path) -> pa.Table:
    source = open_table(path, reading=PLAIN)
    return pa.Table.from_batches([block.batch for block in read_blocks(source)])


def _to_arrow(writing: Writing, table: Table) -> pa.Table:
    return pa.Table.from_batches([writing(table, {})])


def check_model(model: TableModel, reader: Reader) -> TableModel:
    """Return the model if it is one of the columns that are read."""
    if list(model.names) != reader.names:
        raise UsageError(
            f"the model is of the columns {join_names(model.names)}, and the release holds {join_names(reader.names)}; "
            "give the model of this release, or none"
        )
    return model


def cautions_of(manifest: Manifest) -> tuple[Note, ...]:
    """Return what to bear in mind with draws from a release."""
    out = [
        Note(
            "SF601",
            "every row of a draw is a guess, and not the true row of any person; the tables differ by what the release does not tell, "
            "so use all of them, and pool what they say with sf.pool",
        )
    ]
    if guided := [c.attribute.name for c in manifest.columns if c.guided is not None]:
        out.append(
            Note(
                "SF602",
                f"{join_names(guided)}: changed by a method that states no law, and drawn as released; the draws do not show how far "
                "these values are from the true ones",
            )
        )
    if manifest.entities is not None:
        out.append(
            Note(
                "SF603",
                f"a {manifest.entities.column} may have {manifest.entities.most_rows} rows, whose noise goes together; the draws take "
                "rows to be independent, so their spread is too small",
            )
        )
    return tuple(out)


def describe_draws(made: Draws, writing: Writing) -> str:
    """Say what the folder holds, and how to use it."""
    columns = "\n".join(f"- {markdown(a.name)}: {writing.schema.field(a.name).type}" for a in writing.attributes)
    cautions = "\n\n".join(f"{markdown(str(n)[0].upper() + str(n)[1:])}. ({n.code})" for n in made.cautions)
    return f"""# {made.size} plausible tables behind {markdown(made.release)}

`draw-1.parquet` to `draw-{made.size}.parquet` have the rows of the release in its order. Each holds, for every released row, a guess at
the true one, in the columns' own values. `{STATEMENT}` says how they were made (seed {made.seed}).

{cautions}

Compute what you want on every table, and pool the results:

    import sfumato as sf
    import pyarrow.parquet as pq

    tables = [pq.read_table(f"draw-{{j}}.parquet") for j in range(1, {made.size + 1})]
    sf.pool([my_statistic(table) for table in tables])

A model blunts what columns have in common, and these intervals do not know it. With the release at hand, make the same draws by
`sf.draws(release, m={made.size}, seed={made.seed})` and pool with `draws.pool(my_statistic)`. It measures how far a statistic leans,
and corrects it.

Columns:

{columns}
"""

"""Whatever is fed in: the right result, or an error in words. Never anything else."""

from __future__ import annotations

import gzip
import math
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import SfumatoError
from sfumato.io import open_table, read_blocks
from sfumato.io.cells import decode_dictionary, format_labels
from sfumato.plans import Plan
from sfumato.plans.document import with_consent
from sfumato.releases import Release
from sfumato.releasing import release
from sfumato.schema import Consent

CELLS = st.one_of(
    st.integers(-5, 120).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.dates().map(str),
    st.sampled_from(
        ["", "?", "NA", "nan", "yes", "no", "a b", "é", '"', '""', '"x"', '"a,b"', '"a\nb"', "\0", "\t", "'", "1,5"]
    ),
    st.text(max_size=6),
)
HEADERS = st.one_of(
    st.sampled_from(["a", "b", "c", "class", "id", "a b", "é", "", " ", '"q"', "a.b", "x|y", "__index_level_0__"]),
    st.text(max_size=5),
)


@st.composite
def csv_texts(draw: st.DrawFn) -> str:
    """Mostly tables, with all that can go wrong in them."""
    width = draw(st.integers(1, 4))
    header = draw(st.lists(HEADERS, min_size=width, max_size=width))
    column_cells = [
        draw(st.sampled_from([CELLS, st.integers(0, 9).map(str), st.sampled_from(["u", "v"]), st.just("7")]))
        for _ in header
    ]
    rows = draw(st.integers(0, 12))
    lines = [",".join(header)] + [",".join(draw(cells) for cells in column_cells) for _ in range(rows)]
    if draw(st.integers(0, 5)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.text(max_size=12)))
    return draw(st.sampled_from(["\n", "\r\n", "\n", "\n"])).join(lines) + draw(st.sampled_from(["\n", "", "\n\n"]))


@cache
def arrow_arrays(rows: int) -> st.SearchStrategy[pa.Array]:
    def of(kind: pa.DataType, values: st.SearchStrategy[Any]) -> st.SearchStrategy[pa.Array]:
        cells = st.lists(st.one_of(values, values, values, st.none()), min_size=rows, max_size=rows)
        return cells.map(lambda v: pa.array(v, kind))

    small = st.integers(-20, 100)
    days = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 20_000)
    instants = st.integers(-(2**62), 2**62) | st.integers(0, 10**9)
    texts = st.sampled_from(["a", "b", "c", "", "?", "nan", "12", "1e5", "2020-01-01", "é"]) | st.text(max_size=4)
    decimals = st.decimals(-1000, 1000, places=2)
    return st.one_of(
        *[of(k, st.integers(-100, 100)) for k in (pa.int8(), pa.int16(), pa.int32())],
        of(pa.int64(), small),
        of(pa.int64(), st.integers(-(2**63), 2**63 - 1)),
        of(pa.uint64(), st.integers(0, 2**64 - 1)),
        of(pa.uint8(), st.integers(0, 255)),
        of(pa.float64(), st.floats()),
        of(pa.float64(), st.floats(-10, 10)),
        of(pa.float64(), small.map(float)),
        of(pa.float32(), st.floats(width=32)),
        of(pa.float16(), st.floats(width=16)),
        of(pa.bool_(), st.booleans()),
        of(pa.string(), texts),
        of(pa.large_string(), texts),
        of(pa.string_view(), texts),
        of(pa.string(), texts).map(lambda a: a.dictionary_encode()),
        of(pa.int64(), small).map(lambda a: a.dictionary_encode()),
        of(pa.binary(), st.binary(max_size=3)),
        of(pa.binary(3), st.binary(min_size=3, max_size=3)),
        of(pa.date32(), days),
        of(pa.date64(), st.integers(0, 20_000).map(lambda d: d * 86_400_000)),
        *[of(pa.timestamp(u), instants) for u in ("s", "ms", "us", "ns")],
        of(pa.timestamp("us", tz="UTC"), st.integers(0, 10**9)),
        of(pa.time32("s"), st.integers(0, 86_399)),
        of(pa.duration("s"), small),
        of(pa.month_day_nano_interval(), st.tuples(small, small, small)),
        of(pa.decimal128(10, 2), decimals),
        of(pa.decimal256(40, 2), decimals),
        of(pa.list_(pa.int8()), st.lists(st.integers(0, 5), max_size=2)),
        of(pa.struct([("x", pa.int8())]), st.fixed_dictionaries({"x": st.integers(0, 5)})),
        of(
            pa.map_(pa.string(), pa.int8()),
            st.dictionaries(st.sampled_from("ab"), st.integers(0, 5)).map(lambda d: list(d.items())),
        ),
        st.just(pa.nulls(rows)),
    )


@st.composite
def arrow_tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 30))
    names = draw(
        st.lists(
            st.sampled_from(["a", "b", "class", "a.b", "x"]), min_size=1, max_size=3, unique=draw(st.integers(0, 9)) > 0
        )
    )
    return pa.Table.from_arrays([draw(arrow_arrays(rows)) for _ in names], names=names)


def check(table: Any, folder: Path, **options: Any) -> Release | None:
    """Propose and follow a plan; if it works, the result must be right."""
    try:
        plan = Plan.propose(table, **options)
        again = Plan.from_dict(_toml(plan))
        assert again == plan, "a plan means the same after it was written and read"
        plan = replace(plan, shuffle=False)  # rows are compared one by one
        made = release(table, plan, folder / "r", format="parquet", block_rows=7)
    except SfumatoError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert not (folder / "r").exists()
        return None
    original = pa.Table.from_batches([b.batch for b in read_blocks(open_table(table), None, 5)])
    out = made.to_arrow()
    Release.open(folder / "r").verify()
    assert out.num_rows == original.num_rows == made.manifest.data.rows
    seen = made.read_table()
    for column in made.manifest.columns:
        name = column.attribute.name
        words = plan.absent.get(name, ("",))
        assert out[name].is_null().to_pylist() == absent(original[name], words, column.attribute.kind.numeric)
        if name in {c.name for c in seen.columns}:
            assert np.isnan(seen[name].values).tolist() == out[name].is_null().to_pylist()
    clear = plan
    for attribute in plan.schema:
        if attribute.consent is Consent.MODIFIED:
            clear = with_consent(clear, attribute.name, Consent.TRUE)
    true = release(table, clear, folder / "true").to_arrow()
    for name in true.column_names:
        was, now = texts_of(original[name]), texts_of(true[name])
        assert len(was) == len(now)
        assert all(b is None or same(a, b) for a, b in zip(was, now, strict=True)), name
    return made


def _toml(plan: Plan) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(plan.to_toml())


def texts_of(column: pa.ChunkedArray) -> list[str | None]:
    return format_labels(column).to_pylist() if column.num_chunks else []


def absent(column: pa.ChunkedArray, words: tuple[str, ...], numeric: bool) -> list[bool]:
    """Which cells hold no value, written anew: null, or a text that is listed as such, or NaN where "nan" is."""
    by_text = (
        not numeric
        or pa.types.is_string(decode_dictionary(column.combine_chunks()).type)
        or pa.types.is_floating(column.type)
    )
    return [t is None or (by_text and t in words) for t in texts_of(column)]


def same(was: str | None, now: str) -> bool:
    """Equal as texts or as numbers: a date may have lost its blanks, a decimal its zeros, an integer its last digits."""
    if was is None or was.strip() == now.strip():
        return was is not None
    try:
        return math.isclose(float(was), float(now), rel_tol=1e-15)
    except ValueError:
        return False


@settings(max_examples=150)
@given(
    st.binary(max_size=200),
    st.sampled_from(["t.csv", "t.csv.gz", "t.parquet"]),
    st.sampled_from(["utf-8", "latin-1", "utf-16", "cp1252"]),
)
def test_random_bytes(content: bytes, name: str, encoding: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        check(str(path), Path(folder), encoding=encoding) if encoding == "utf-8" else _propose(path, encoding)
        path.write_bytes(gzip.compress(content))
        _propose(path, encoding)


def _propose(path: Path, encoding: str) -> None:
    try:
        Plan.propose(str(path), encoding=encoding)
    except SfumatoError:
        return


@settings(max_examples=200)
@given(csv_texts())
def test_random_csv(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        check(str(path), Path(folder))


@settings(max_examples=150)
@given(arrow_tables(), st.booleans())
def test_random_arrow_tables(table: pa.Table, by_file: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if by_file:
            path = Path(folder) / "t.parquet"
            try:
                pq.write_table(table, path, row_group_size=11)
            except (pa.ArrowException, ValueError, OSError):
                return
            check(str(path), Path(folder))
        else:
            check(table, Path(folder))


@settings(max_examples=60)
@given(arrow_tables())
def test_random_ids(table: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = check(table, Path(folder), identifier=table.column_names[0])
        if made is not None:
            ids = format_labels(table.columns[0].combine_chunks()).to_pylist()
            assert None not in ids
            assert len(set(ids)) == len(ids)


@settings(max_examples=60)
@given(
    arrow_tables(),
    st.sampled_from(["gaussian", "uniform", "laplace", "intervals", "substitution", "square-wave"]),
    st.floats(0.01, 3),
)
def test_every_law_on_random_tables(table: pa.Table, law: str, privacy: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(table, Path(folder), noise=law, privacy=privacy, target=table.column_names[-1])


@settings(max_examples=60)
@given(st.binary(min_size=1, max_size=30), st.integers(0, 10**6))
def test_spoilt_parquet_files(noise: bytes, place: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pq.write_table(pa.table({"a": np.arange(50) % 7, "b": [f"x{i % 3}" for i in range(50)]}), path)
        content = bytearray(path.read_bytes())
        place %= len(content)
        content[place : place + len(noise)] = noise
        path.write_bytes(content)
        _propose(path, "utf-8")


def test_numbers_too_wide_or_too_long_are_no_stumbling_block(tmp_path: Path) -> None:
    table = pa.table({"x": [0.5, 1.5, 2.5] * 20, "hash": [2**60, 2**61 + 1, -(2**62)] * 20})
    made = check(table, tmp_path)
    assert made is not None
    assert made.manifest.withheld == ("hash",)
    assert check(pa.table({"x": [-1.7e308, 0.5, 1.7e308] * 9}), tmp_path / "wide") is None


@pytest.mark.parametrize("low", [0.0, -1e308, 5e-324, 1e15, -1e-300])
@pytest.mark.parametrize("span", [0.0, 5e-324, 1e-300, 1e-9, 0.1, 1.0, 1e20, 1e308])
def test_ranges_at_the_ends_of_float64(tmp_path: Path, low: float, span: float) -> None:
    values = low + span * np.linspace(0, 1, 40)
    check(pa.table({"x": values[np.isfinite(values)], "y": np.arange(40)[np.isfinite(values)] % 3}), tmp_path)

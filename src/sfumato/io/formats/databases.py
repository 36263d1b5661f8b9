"""The answer of a SQL query as a table, held in memory: a database may answer in another order when asked again.

A plan may bring its query, and its author may be somebody else. So a query reads the database that the owner named and nothing
else: it writes no file, opens none, and changes no setting.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pyarrow as pa

from sfumato.errors import DataError, UsageError
from sfumato.io.formats.untyped import kinds_of, to_column
from sfumato.io.reading import Reading
from sfumato.io.sources import ArrowSource, check_header, first_line
from sfumato.text import join_names

DATABASE_ENDINGS = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
SCHEMES = {"sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgresql", "postgres": "postgresql"}
DATABASE_URL = re.compile(rf"({'|'.join(SCHEMES)})://")


class QuerySource(ArrowSource):
    """What a query gives, asked once."""

    def __init__(self, url: str, reading: Reading) -> None:
        address, stated = split_query(url)
        scheme, _, place = address.partition("://")
        query = reading.query or stated
        ask = {"sqlite": _ask_sqlite, "duckdb": _ask_duckdb, "postgresql": _ask_postgresql}[SCHEMES[scheme]]
        name = _without_password(address)
        table = ask(unquote(place.removeprefix("/")) if ask is not _ask_postgresql else address, name, query)
        check_header(table.column_names, name)
        super().__init__(name, table)


def split_query(url: str) -> tuple[str, str | None]:
    """Return the address of a database, and the query that stands behind ``query=`` up to the end of the URL."""
    address, mark, query = url.partition("query=")
    return (address.rstrip("?&"), unquote(query)) if mark else (url, None)


def _without_password(address: str) -> str:
    """Return an address that can be shown."""
    parts = urlsplit(address)
    return address if parts.password is None else urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _lacking_query(name: str, tables: list[str]) -> UsageError:
    return UsageError(
        f"{name} is a database with the tables {join_names(sorted(tables)) or '(none)'}; say with query= what to read"
    )


def _check_file(path: str, name: str) -> None:
    if not Path(path).is_file():
        raise DataError(f"there is no database {path or name}; name its file as sqlite:///folder/file.db")


def _authorise(action: int, *_: object) -> int:
    """Let SQLite read, and do nothing else: VACUUM INTO and ATTACH would write files even where the database is read-only."""
    import sqlite3

    reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    return sqlite3.SQLITE_OK if action in reading else sqlite3.SQLITE_DENY


def check_question(query: str, name: str) -> None:
    """Raise UsageError for a statement that does not begin as a question: COPY would write files on the server, or run programs."""
    bare = re.sub(r"(?s)^(\s|\(|--[^\n]*(\n|$)|/\*.*?\*/)*", "", query)
    if re.match(r"(?i)(select|with|values|table)\b", bare) is None:
        raise UsageError(
            f"{name}: the query begins with {bare.split(maxsplit=1)[:1]}, and only questions are asked; begin it with SELECT"
        )


def _ask_sqlite(path: str, name: str, query: str | None) -> pa.Table:
    import sqlite3

    _check_file(path, name)
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database:
            database.set_authorizer(_authorise)
            if query is None:
                raise _lacking_query(
                    name, [n for (n,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                )
            answer = database.execute(query)
            names = check_header([column[0] for column in answer.description or ()], f"{name}: the query's answer")
            columns: list[tuple[Any, ...]] = list(zip(*answer, strict=True)) or [()] * len(names)
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise DataError(f"{name}: the query fails: {first_line(error)}; fix the query") from None
    return pa.Table.from_arrays([to_column(c, kinds_of(c)) for c in columns], names=list(names))


def _ask_duckdb(path: str, name: str, query: str | None) -> pa.Table:
    try:
        import duckdb
    except ImportError:
        raise _lacking_driver("duckdb") from None

    _check_file(path, name)
    try:
        with duckdb.connect(
            path, read_only=True, config={"enable_external_access": False, "lock_configuration": True}
        ) as database:
            if query is None:
                raise _lacking_query(
                    name, [str(n) for (n,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
                )
            return database.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise DataError(f"{name}: the query fails: {first_line(error)}; fix the query") from None


def _ask_postgresql(address: str, name: str, query: str | None) -> pa.Table:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise _lacking_driver("adbc-driver-postgresql") from None

    listing = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    check_question(query or listing, name)
    try:
        with dbapi.connect(address, autocommit=True) as database, database.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
            cursor.execute(query or listing)
            table = cursor.fetch_arrow_table()
    except dbapi.Error as error:
        raise DataError(f"{name}: the query fails: {first_line(error)}; fix the query, or the address") from None
    if query is None:
        raise _lacking_query(name, table.column(0).to_pylist())
    return table


def _lacking_driver(package: str) -> UsageError:
    return UsageError(f"this database needs a driver that is not installed: install sfumato[sql], or {package}")

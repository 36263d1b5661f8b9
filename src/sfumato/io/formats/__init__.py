"""One file per kind of table; each is a `Source`, and knows nothing of spellings.

csv_files.py    texts between separators; dialects.py finds out which, and the encoding
arrow_files.py  Parquet, Arrow, Feather
json_lines.py   an object per line
workbooks.py    Excel and OpenDocument
databases.py    the answer of a SQL query
folders.py      several files that are one table
untyped.py      columns of values that each know their own type
streams.py      compressed files and standard input
"""

from sfumato.io.formats.arrow_files import ARROW_ENDINGS, PARQUET_ENDINGS, ArrowFileSource, ParquetSource
from sfumato.io.formats.csv_files import CSV_ENDINGS, CsvSource
from sfumato.io.formats.databases import DATABASE_ENDINGS, DATABASE_URL, QuerySource
from sfumato.io.formats.folders import (
    FiledSource,
    FileSource,
    FolderColumns,
    FolderSource,
    describe_row,
    name_files_in_errors,
)
from sfumato.io.formats.json_lines import JSON_ENDINGS, JsonLinesSource
from sfumato.io.formats.streams import spool_standard_input
from sfumato.io.formats.workbooks import WORKBOOK_ENDINGS, WorkbookSource

"""Tables in and out: the only room that knows a file format.

input_tables.py  open a table of any kind, in the plain spelling (`open_table`)
sources.py       a table as blocks of rows (`read_blocks`)
formats/         one file per kind of table: CSV, Parquet, Arrow, JSON lines, workbooks, databases, folders
reading.py       how a table is read: what a caller says, what a plan remembers
spellings.py     1.234,56 and 31.12.2024 as plain texts
detection.py     which columns are spelled so
pieces.py        row ranges of files, for workers that read them themselves
cells.py         between cells and the numbers that laws act on
documents.py     manifests, models and plans as texts, read in bounded time and memory
outputs.py       where rows go: files and folders that appear whole or not at all, with their checksum

Start with input_tables.py and sources.py, then cells.py (`Encoder`, `Decoder`). Nothing here
knows a law, a plan or a release: this room imports schemas, counts, bundled datasets and errors, nothing above them.
"""

from sfumato.io.buckets import open_buckets
from sfumato.io.cells import (
    Decoder,
    Encoder,
    decode_dictionary,
    detect_spelling,
    format_cell,
    format_labels,
    match_absent_numbers,
    released_attribute,
    truncate_to_days,
)
from sfumato.io.detection import ABSENT_MARKS, ABSENT_WORDS
from sfumato.io.documents import parse_json, parse_toml, read_document
from sfumato.io.formats import describe_row, name_files_in_errors
from sfumato.io.input_tables import ReadTable, open_known, open_table
from sfumato.io.outputs import (
    Written,
    check_outputs_free,
    checksum,
    find_abandoned,
    open_new_file,
    open_new_folder,
    open_row_writer,
    open_writer,
    partial_path,
    remove_folder,
    write_file,
    write_table,
)
from sfumato.io.pieces import Piece, cut_into_pieces
from sfumato.io.reading import PLAIN, PLAIN_SPELLING, Reading
from sfumato.io.sources import BLOCK_ROWS, ArrowSource, Block, Source, check_columns, check_header, read_blocks

"""Tables in and out: the only room that knows a file format.

sources.py    where rows come from: files, folders, Arrow tables, dataframes, in blocks
csv_files.py  CSV files, read as the texts they hold
pieces.py     row ranges of files, for workers that read them themselves
cells.py      between cells and the numbers that laws act on
documents.py  manifests, models and plans as texts, read in bounded time and memory
outputs.py    where rows go: files and folders that appear whole or not at all, with their checksum

Start with sources.py (`open_table`, `read_blocks`) and cells.py (`Encoder`, `Decoder`). Nothing here knows a law, a plan or a
release: this room imports schemas, counts, bundled datasets and errors, nothing above them.
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
from sfumato.io.csv_files import check_header
from sfumato.io.documents import parse_json, parse_toml, read_document
from sfumato.io.outputs import (
    Written,
    check_outputs_free,
    checksum,
    open_new_file,
    open_new_folder,
    open_writer,
    remove_folder,
    write_file,
    write_table,
)
from sfumato.io.pieces import Piece, cut_into_pieces
from sfumato.io.sources import (
    BLOCK_ROWS,
    ArrowSource,
    Block,
    Source,
    check_columns,
    describe_row,
    name_files_in_errors,
    open_table,
    read_blocks,
)

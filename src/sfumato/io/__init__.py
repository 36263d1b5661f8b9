"""Room."""

from sfumato.io.atomic import appearing, refuse_taken, write_whole
from sfumato.io.cells import Decoder, Encoder, as_text, cells_of, marked, midnights, plain, shown_cell
from sfumato.io.csv_files import check_header
from sfumato.io.partials import discard, partial
from sfumato.io.pieces import Piece, pieces_of
from sfumato.io.sources import (
    BLOCK_ROWS,
    ROW_GROUP,
    ArrowSource,
    Block,
    Source,
    Written,
    blocks,
    checksum,
    naming_files,
    need,
    open_table,
    row_in_words,
    write_table,
    writing,
)
from sfumato.io.spellings import form_of

__all__ = [
    "BLOCK_ROWS",
    "ROW_GROUP",
    "ArrowSource",
    "Block",
    "Decoder",
    "Encoder",
    "Piece",
    "Source",
    "Written",
    "appearing",
    "as_text",
    "blocks",
    "cells_of",
    "check_header",
    "checksum",
    "discard",
    "form_of",
    "marked",
    "midnights",
    "naming_files",
    "need",
    "open_table",
    "partial",
    "pieces_of",
    "plain",
    "refuse_taken",
    "row_in_words",
    "shown_cell",
    "write_table",
    "write_whole",
    "writing",
]

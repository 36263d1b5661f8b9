"""What a release is: data plus a public statement of how it was randomised, and the owner's key and ledger beside it."""

from sfumato.releases.alignment import refuse_other_rows
from sfumato.releases.description import describe, described
from sfumato.releases.fingerprint import Sketch, content, sketch_of
from sfumato.releases.folder import Release
from sfumato.releases.key import create_key, load_key, load_or_create_key, refuse_inside
from sfumato.releases.ledger import Entry, Ledger, refusal
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.releases.reader import (
    SAMPLE,
    CountedTable,
    ReadColumn,
    Reader,
    Sampled,
    sampled,
    true_table,
    whole_outputs,
)
from sfumato.releases.readme import cautions, readme

__all__ = [
    "SAMPLE",
    "CountedTable",
    "Entry",
    "Ledger",
    "Manifest",
    "ReadColumn",
    "Reader",
    "Release",
    "ReleasedColumn",
    "Sampled",
    "Sketch",
    "cautions",
    "content",
    "create_key",
    "describe",
    "described",
    "load_key",
    "load_or_create_key",
    "readme",
    "refusal",
    "refuse_inside",
    "refuse_other_rows",
    "sampled",
    "sketch_of",
    "true_table",
    "whole_outputs",
]

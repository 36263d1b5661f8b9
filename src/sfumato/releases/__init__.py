"""What a release is: data plus a public statement of how it was randomised, and the owner's key and ledger beside it.

folder.py       a release folder, opened: what a miner holds
manifest.py     the public statement
reader.py       from released cells, or from the owner's original, to a table in memory or to counts
key.py          the owner's key file; ledger.py: what was released under it
fingerprint.py  a keyed sketch, to recognise a table that was released before
alignment.py    whether a table is the one a release was made from, row for row

Start with folder.py and manifest.py. How a release is made is told above, in `releasing`: this room knows plans, laws,
engines and files, and no guided method, tree or attack.
"""

from sfumato.releases.alignment import check_same_rows
from sfumato.releases.fingerprint import Sketch, content_values, sketch_of
from sfumato.releases.folder import Making, Release, as_release
from sfumato.releases.key import check_key_outside, create_key, load_key, load_or_create_key
from sfumato.releases.ledger import Entry, Ledger, explain_refusal
from sfumato.releases.manifest import Manifest, ReleasedColumn
from sfumato.releases.reader import (
    SAMPLE,
    CountedTable,
    ReadColumn,
    Reader,
    Sampled,
    count_original,
    read_original,
    sampled,
    whole_outputs,
)

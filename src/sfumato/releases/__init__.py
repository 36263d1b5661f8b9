"""What a release is: data plus a public statement of how it was randomised, and the owner's key and ledger beside it.

folder.py       a release folder, opened: what a miner holds
manifest.py     the public statement
reader.py       from released cells, or from the owner's original, to a table in memory or to counts
keys.py         the owner's key file
ledger.py       what was released under a key; entry.py: one release of it, and what became of it
signature.py    who made a folder, and that it is whole
shuffled_rows.py  the order of rows that were shuffled
fingerprint.py  whether a table was released before, and whether a release was made from it

Start with folder.py and manifest.py. How a release is made is the part of `releasing`, above: this room knows plans, laws,
engines and files, and no guided method, tree or attack.
"""

from sfumato.releases.entry import MEMORY, Entry, Standing, recall_salt
from sfumato.releases.fingerprint import Sketch, check_same_rows, content_values, sketch_of
from sfumato.releases.folder import Making, Release, as_release, open_pair
from sfumato.releases.keys import check_key_outside, load_key
from sfumato.releases.ledger import (
    LOST,
    Ledger,
    create_key,
    explain_refusal,
    load_or_create_key,
)
from sfumato.releases.manifest import DRAFT, Manifest, ReleasedColumn, RowsOfEntities, round_rows_up
from sfumato.releases.reader import (
    SAMPLE,
    CountedTable,
    Reader,
    RowSample,
    count_original,
    gather_sample,
    open_described,
    read_original,
    whole_outputs,
)
from sfumato.releases.shuffled_rows import RowOrder
from sfumato.releases.signature import Signature, read_signature, sign, verify

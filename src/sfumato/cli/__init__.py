"""The command line: parse, call one public function, show.

app.py      the verbs, loaded when called; where errors become words and exit codes
options.py  options that several verbs share, each written once
output.py   words to stderr, one JSON document to stdout, files that appear whole
<verb>.py   one file per verb: it parses, calls `sfumato.<verb>`, and shows the result

No arithmetic here, and nothing heavy is imported for --help.
"""

import os

# Matrices here have a hundred rows or so: threads that share such small work only wait for one another. NumPy reads this once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from sfumato.cli.app import main

"""The command line: parse, call one public function, show.

app.py      the verbs, loaded when called; where errors become words and exit codes
options.py  options that several verbs share, each written once
output.py   words to stderr, one JSON document to stdout, files that appear whole
<verb>.py   one file per verb: it parses, calls `sfumato.<verb>`, and shows the result

No arithmetic here, and nothing heavy is imported for --help.
"""

from sfumato.cli.app import main

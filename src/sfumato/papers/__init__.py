"""One module per paper: its experiment, data in, table and figure out.

as2000.py, ib2003.py, detective2005.py, dowd2006.py, liu2012.py   the five reproductions, each with `run`
base.py      reproduce: a paper by its name; the paper's figure beside ours, resumable work, files
parties.py   the owner's tables and the intruder of the tree-guided experiments

Start with base.py, then as2000.py. Nothing imports this room but the command line.
"""

from sfumato.papers.base import PAPERS, Bench, Results, reproduce

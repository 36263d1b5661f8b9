"""One module per paper: its experiment, data in, table and figure out.

catalogue.py                              reproduce: a paper by its name
as2000.py, ib2003.py, detective2005.py, dowd2006.py, liu2012.py   the five reproductions, each with `run`
base.py                                   the paper's figure beside ours, resumable work, files
loans.py, owners.py                       the tables that several experiments use
cactus.py, intruder.py                    a clustering and an attack that only one paper needs

Start with base.py, then as2000.py. Nothing imports this room but the command line.
"""

from sfumato.papers.base import Bench, Results
from sfumato.papers.catalogue import PAPERS, reproduce

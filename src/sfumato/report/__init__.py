"""From results to something a person likes to read: charts first, tables after, nothing that needs a network.

svg.py           marks and axes as SVG text; no plotting library
charts.py        the pictures people look at first: distributions, comparisons
score_tables.py  scores of models as tables and as a picture
page.py          one self-contained HTML page, light and dark
audit_page.py    an audit as a page; audit_charts.py: its charts
filing.py        the record of a release that an officer files

Start with page.py and svg.py. A report is made from plain data: this room imports no attack and no audit.
"""

from sfumato.report import charts, page, score_tables, svg
from sfumato.report.audit_page import audit_page
from sfumato.report.filing import file_release

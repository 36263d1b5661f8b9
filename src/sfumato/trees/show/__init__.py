"""A finished tree for people and for other programs.

as_text.py  indented text and rules in words
as_svg.py   a drawing
as_code.py  Python, JavaScript and SQL that run without this library

Start with as_text.py. This room reads `Tree` and `Rule`, and nothing about how a tree was grown.
"""

from sfumato.trees.show.as_code import to_javascript, to_python, to_sql
from sfumato.trees.show.as_svg import svg
from sfumato.trees.show.as_text import rule_text, rules_text, text

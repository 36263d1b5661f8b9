"""Room."""

from sfumato.trees.show.as_code import to_javascript, to_python, to_sql
from sfumato.trees.show.as_svg import svg
from sfumato.trees.show.as_text import rule_text, rules_text, text

__all__ = ["rule_text", "rules_text", "svg", "text", "to_javascript", "to_python", "to_sql"]

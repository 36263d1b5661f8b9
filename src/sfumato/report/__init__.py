"""From results to something a person likes to read: charts first, tables after, nothing that needs a network."""

from sfumato.report import charts, page, svg
from sfumato.report.audit_page import audit_page

__all__ = ["audit_page", "charts", "page", "svg"]

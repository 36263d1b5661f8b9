"""Look at a table and propose what to release of it, and how."""

from sfumato.plans.document import Plan

__all__ = ["Plan"]

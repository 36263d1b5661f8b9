"""The parts of an audit that need the original: reading it, promises, exposed records, utility."""

from sfumato.auditing.comparison import Comparison, compare
from sfumato.auditing.result import Audit
from sfumato.auditing.runner import audit

__all__ = ["Audit", "Comparison", "audit", "compare"]

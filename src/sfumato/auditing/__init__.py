"""The parts of an audit that need the original: reading it, promises, exposed records, utility."""

from sfumato.auditing.comparison import cluster, compare
from sfumato.auditing.runner import audit

__all__ = ["audit", "cluster", "compare"]

"""Look at a table and propose what to release of it, and how."""

from sfumato.plans.document import (
    DEFAULT_LAW,
    Plan,
    channel_for,
    noise_for,
    with_consent,
)

__all__ = ["DEFAULT_LAW", "Plan", "channel_for", "noise_for", "with_consent"]

"""Look at a table and propose what to release of it, and how."""

from sfumato.plans.document import (
    DEFAULT_LAW,
    DEFAULT_PRIVACY,
    Plan,
    channel_for,
    equal_signal,
    noise_for,
    with_consent,
)

__all__ = ["DEFAULT_LAW", "DEFAULT_PRIVACY", "Plan", "channel_for", "equal_signal", "noise_for", "with_consent"]

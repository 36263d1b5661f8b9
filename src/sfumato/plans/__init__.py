"""Look at a table and propose what to release of it, and how.

document     the plan itself: a schema with the law of each column, read from and written to TOML
profile      what one pass over the table sees of each column
proposal     what to do with a column, given its profile
ordering     whether neighbouring rows are alike
sentinels    texts and numbers that stand for a missing value
"""

from sfumato.plans.document import (
    DEFAULT_LAW,
    Plan,
    channel_for,
    noise_for,
    with_consent,
)

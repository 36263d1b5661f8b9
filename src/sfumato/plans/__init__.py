"""Look at a table and propose what to release of it, and how.

document.py   the plan itself: a schema with the law of each column, read from and written to TOML
profile.py    what one pass over the table sees of each column
proposal.py   what to do with a column, given its profile

recognition.py       which columns point at people, by name and by content
column_words.py      what such columns are called, in four languages
identity_values.py   what a single value can be: an e-mail address, an IBAN, a person's name
person_names.py      the commonest names in four languages
"""

from sfumato.plans.document import DEFAULT_LAW, Plan, channel_for, noise_for, with_consent, without_identifier

"""Columns that point at people, recognised by what they are called and by what they hold.

A sign is one kind of thing, such as phone numbers. Its values give it away whatever the column is called, or its name does where
the values do not contradict: `telephone` with the labels yes and no is not a column of phone numbers. Everything is judged on a
sample of the column's different values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from sfumato.plans import column_words as words
from sfumato.plans import identity_values as values
from sfumato.plans.profile import ColumnProfile

MIN_VALUES = 5
"""Different values below which a column is a label or a flag, whatever it is called."""


@dataclass(frozen=True)
class Sign:
    """One kind of thing that points at people.

    Parameters
    ----------
    what : str
        The things, in the plural.
    holds : callable, optional
        Whether a sampled column's values are such things, whatever the column is called.
    header : str
        A pattern of column names as `fold_header` writes them.
    fits : callable, optional
        Whether the values of a column of such a name could be such things.
    names_person : bool
        Whether equal values mean the same person.
    """

    what: str
    holds: Callable[[Sample], bool] | None = None
    header: str = ""
    fits: Callable[[Sample], bool] | None = None
    names_person: bool = False

    def evidence(self, sample: Sample) -> str:
        """Return what gives the column away: its values, its name, both, or nothing."""
        held = self.holds is not None and self.holds(sample)
        named = bool(self.header) and re.search(self.header, sample.header) is not None
        fitting = named and (held or self.fits is None or self.fits(sample))
        return " and ".join(["its name"] * fitting + ["its values"] * held)


@dataclass(frozen=True)
class Sample:
    """A column's name, some of its different values, and its profile."""

    header: str
    texts: Sequence[str]
    digits: float
    """Digits of the value in the middle."""
    seen: ColumnProfile

    @classmethod
    def of(cls, seen: ColumnProfile) -> Sample:
        """Return the sample of a profile; what points at people shows in the first signs of a value, however long it is."""
        max_signs = 512  # some patterns take quadratic time
        texts = sorted(t for t in (text[:max_signs].strip() for text in seen.sample) if t and t not in seen.words)
        digits = sorted(map(values.count_digits, texts))
        return cls(words.fold_header(seen.name), texts, digits[len(digits) // 2] if digits else 0, seen)

    def mostly(self, is_one: Callable[[str], object], share: float = 0.9) -> bool:
        """Return whether at least this share of the values are such; stop as soon as too many are not."""
        spare = int((1 - share) * len(self.texts))
        for text in self.texts:
            if not is_one(text):
                spare -= 1
                if spare < 0:
                    return False
        return bool(self.texts)

    def matches(self, pattern: re.Pattern[str], share: float = 0.9) -> bool:
        """Return whether the pattern describes most values in full."""
        return self.mostly(pattern.fullmatch, share)

    @property
    def shape(self) -> str:
        """The shape of nearly all values, A for letters and 9 for digits; empty where they differ."""
        shapes = Counter(re.sub(r"[^\W\d_]", "A", re.sub("[0-9]", "9", t)) for t in self.texts)
        shape, count = shapes.most_common(1)[0] if shapes else ("", 0)
        return shape if count >= 0.95 * len(self.texts) else ""

    @property
    def one_length(self) -> bool:
        """Whether nearly all values have one length."""
        lengths = Counter(map(len, self.texts))
        return bool(lengths) and lengths.most_common(1)[0][1] >= 0.95 * len(self.texts)

    @property
    def bits(self) -> float:
        """How random values of one length are: the entropy of each place, summed."""
        if not self.texts:
            return 0.0
        length = Counter(map(len, self.texts)).most_common(1)[0][0]
        texts = [t for t in self.texts if len(t) == length]
        shares = [c / len(texts) for place in zip(*texts, strict=True) for c in Counter(place).values()]
        return -sum(p * log2(p) for p in shares)

    @property
    def distinct(self) -> int:
        """How many different values there are, as far as they were counted."""
        return len(self.seen.counts) if self.seen.counts is not None else self.seen.present

    @property
    def near_unique(self) -> bool:
        """Whether a value stands in two rows on average, or in fewer."""
        return 2 * self.distinct >= self.seen.present


def _holds_names(sample: Sample) -> bool:
    """Return whether the values are names of people, by the commonest names or by shape.

    By shape they are full names if first and last words differ as names do: names of firms and things share theirs.
    """
    few, many = 8, 20
    if len(sample.texts) < few or sample.digits or re.search(words.THING, sample.header):
        return False
    if sample.mostly(values.is_known_name, 0.5) or (len(sample.texts) >= many and sample.mostly(values.is_titled_name)):
        return True
    if len(sample.texts) < many or not sample.mostly(values.is_full_name, 0.95):
        return False
    names = [[values.fold(w) for w in values.name_words(text)] for text in sample.texts]
    fewer, more = sorted(len({name[place] for name in names if name}) for place in (0, -1))
    return fewer >= 0.3 * len(names) and more >= 0.5 * len(names)


def _could_be_names(sample: Sample) -> bool:
    return len(sample.texts) >= MIN_VALUES and sample.mostly(values.name_words, 0.8)


def _could_be_many_names(sample: Sample) -> bool:
    many = 20
    return len(sample.texts) >= many and _could_be_names(sample) and not re.search(words.THING, sample.header)


def _has_digits(least: int, most: int = 99) -> Callable[[Sample], bool]:
    return lambda sample: (
        least <= sample.digits <= most and sample.mostly(lambda t: values.count_digits(t) >= least, 0.7)
    )


def _is_id(sample: Sample) -> bool:
    """Return whether values could be ids of people: single words with digits, more than a list of labels has."""
    few = 8
    if len(sample.texts) < few or sample.seen.whole < sample.seen.numbers:
        return False
    return sample.mostly(lambda t: any(c.isdigit() for c in t) and t.count(" ") <= 2) or sample.near_unique


def _is_case_id(sample: Sample) -> bool:
    """Return whether values could be ids of cases, and not just a place in a list, such as the third visit."""
    min_digits = 4
    return _is_id(sample) and (3 * sample.distinct >= sample.seen.present or sample.digits >= min_digits)


def _could_be_logins(sample: Sample) -> bool:
    many = 20
    return len(sample.texts) >= many and sample.mostly(lambda t: " " not in t)


def _holds_codes(sample: Sample) -> bool:
    """Return whether the values have one shape of letters and digits, such as PT-004512 or 7CJS722, or nine digits alone.

    Amounts differ in length, moments in seconds since 1970 lie close together, batches are named by a month, and codes of goods
    have their own check digits: none of these is taken for ids.
    """
    many, min_digits, min_bits, long = 20, 5, 24.0, 9
    if len(sample.texts) < many or not (shape := sample.shape):
        return False
    if shape == "9" * len(shape):
        return len(shape) >= long and not _holds_moments(sample) and not _holds_thing_codes(sample)
    if re.fullmatch("(?=.*A)(?=.*9)[A9_/.-]+", shape) is None or _holds_thing_codes(sample):
        return False
    if sample.mostly(values.MONTH.search):
        return False
    digits = shape.count("9")
    return digits >= min_digits or (digits >= 3 and sample.bits >= min_bits)


def _holds_moments(sample: Sample) -> bool:
    """Return whether whole numbers are seconds or milliseconds since 1970, or days or minutes written as digits."""
    low, high = sample.seen.low, sample.seen.high
    since_2000, until_2050 = 9.4e8, 2.6e9
    seconds = any(s * since_2000 <= low <= high <= s * until_2050 and high < 2 * low for s in (1, 1e3, 1e6, 1e9))
    return seconds or sample.matches(values.DIGIT_DAY)


def _holds_thing_codes(sample: Sample) -> bool:
    return any(sample.mostly(values.scheme(name).is_valid, 0.95) for name in values.THING_SCHEMES)


def _holds_tokens(sample: Sample) -> bool:
    """Return whether values are long and random: one length, letters and digits, and hardly a place that tells another."""
    many, min_bits = 20, 48.0
    if len(sample.texts) < many or not sample.digits or not sample.matches(values.RANDOM_TOKEN):
        return False
    return sample.one_length and sample.bits >= min_bits and not _holds_thing_codes(sample)


def _holds_serials(sample: Sample) -> bool:
    """Return whether values are numbers of one length, or of one shape of letters and digits."""
    many, min_digits = 20, 6
    if len(sample.texts) < many or not (shape := sample.shape) or re.search(words.THING_ID, sample.header):
        return False
    enough = shape.count("9") >= (4 if "A" in shape else min_digits)
    return enough and re.fullmatch("[A9_/. -]+", shape) is not None and not _holds_thing_codes(sample)


def _could_be_documents(sample: Sample) -> bool:
    """Return whether values are long codes with a digit or more."""
    min_length = 6
    return sample.mostly(lambda t: any(c.isdigit() for c in t) and sum(c.isalnum() for c in t) >= min_length, 0.7)


def _holds_logins(sample: Sample) -> bool:
    """Return whether values are single tokens, half of them made of a given name, such as anna.weber or anna_82."""
    many = 20
    if len(sample.texts) < many or not sample.matches(values.LOGIN) or re.search(words.THING, sample.header):
        return False
    marked = sample.mostly(lambda t: any(not c.isalpha() for c in t), 0.7)
    return marked and sample.mostly(values.holds_given_name, 0.5)


def _holds_national_ids(sample: Sample) -> bool:
    few, min_digits = 10, 6
    if len(sample.texts) < few or sample.digits < min_digits:
        return False
    if sample.matches(values.UNCHECKED_IDS) or sample.mostly(values.is_provider, 0.95):
        return True
    # Citizens and foreigners can have ids of two schemes in one column.
    valid = [
        {t for t in sample.texts if is_valid(t)}
        for is_valid in (values.scheme(n).is_valid for n in values.NATIONAL_IDS)
    ]
    first, second = sorted(valid, key=len, reverse=True)[:2]
    mixed = len(second) >= 0.2 * len(sample.texts)
    return len(first | second if mixed else first) >= 0.95 * len(sample.texts)


def _holds_long_numbers(is_one: Callable[[str], bool]) -> Callable[[Sample], bool]:
    min_digits = 10
    return lambda sample: len(sample.texts) >= MIN_VALUES and sample.digits >= min_digits and sample.mostly(is_one)


def _holds(pattern: re.Pattern[str], least: int = MIN_VALUES) -> Callable[[Sample], bool]:
    return lambda sample: len(sample.texts) >= least and sample.matches(pattern)


def _holds_phones(sample: Sample) -> bool:
    # A column that reads as numbers is not one of phone numbers unless its name says so, or all have a plus and a country.
    many = 10
    numeric = 2 * sample.seen.numbers >= sample.seen.present and not sample.mostly(lambda t: t.startswith("+"))
    return len(sample.texts) >= many and not numeric and sample.matches(values.PHONE)


def _holds_addresses(sample: Sample) -> bool:
    many = 10
    return len(sample.texts) >= many and sample.mostly(values.is_address, 0.6)


def _could_be_addresses(sample: Sample) -> bool:
    many = 20
    return len(sample.texts) >= many and sample.mostly(lambda t: any(c.isalpha() for c in t))


def _holds_ips(sample: Sample) -> bool:
    return len(sample.texts) >= MIN_VALUES and sample.mostly(values.is_ip)


def _holds_free_text(sample: Sample) -> bool:
    """Return whether most values are sentences that hardly repeat: answers of a questionnaire do."""
    many, min_words, rows_each = 30, 6, 20
    rare = rows_each * sample.distinct >= sample.seen.present
    return len(sample.texts) >= many and rare and sample.mostly(lambda t: t.count(" ") >= min_words - 1, 0.6)


def _could_be_free_text(sample: Sample) -> bool:
    many = 20
    return len(sample.texts) >= many and sample.mostly(lambda t: " " in t, 0.7)


def _is_precise(sample: Sample) -> bool:
    """Return whether coordinates have three decimals or more, which is a hundred metres."""
    precise = sample.mostly(lambda t: len(t.partition(".")[2]) >= 3, 0.6)
    return precise and -180 <= sample.seen.low <= sample.seen.high <= 180


SIGNS = (
    Sign("e-mail addresses", _holds(values.EMAIL), words.EMAIL, lambda s: s.mostly(lambda t: "@" in t, 0.3)),
    Sign("web addresses", _holds(values.URL)),
    Sign("IP addresses", _holds_ips),
    Sign("MAC addresses", _holds(values.MAC)),
    Sign("vehicle numbers (VIN)", _holds(values.VIN, 10)),
    Sign("random tokens, such as UUIDs and hashes", _holds(values.TOKEN)),
    Sign("bank account numbers (IBAN)", _holds_long_numbers(values.is_iban), words.ACCOUNT, _has_digits(6)),
    Sign("card numbers", _holds_long_numbers(values.is_card), words.CARD, _has_digits(8)),
    Sign("national ids", _holds_national_ids, words.NATIONAL_ID, _could_be_documents, names_person=True),
    Sign("licence plates", _holds(values.PLATE, 10), words.PLATE, _has_digits(1)),
    Sign("phone numbers", _holds_phones, words.PHONE, _has_digits(6, 18)),
    Sign("street addresses", _holds_addresses, words.ADDRESS, _could_be_addresses),
    Sign("precise places", _holds(values.PLACE), words.PLACE, _is_precise),
    Sign("ids of people", _holds_codes, words.PERSON_ID, _is_id, names_person=True),
    Sign("random tokens", _holds_tokens),
    Sign("user names", _holds(values.HANDLE, 10)),
    Sign("user names", _holds_logins, words.LOGIN, _could_be_logins, names_person=True),
    Sign("ids of cases", None, words.CASE_ID, _is_case_id),
    Sign("ids", None, words.SOME_ID, _holds_serials),
    Sign("names of people", _holds_names, words.PERSON_NAME, _could_be_names),
    Sign("names", None, words.SOME_NAME, _could_be_many_names),
    Sign("free text", _holds_free_text, words.FREE_TEXT, _could_be_free_text),
)
"""Every kind, the surest first."""


def recognise(seen: ColumnProfile) -> tuple[Sign, str] | None:
    """Return the first sign that a column shows, and the evidence in words; None where there is none."""
    sample = Sample.of(seen)
    if len(sample.texts) < MIN_VALUES:
        return None
    for sign in SIGNS:
        if evidence := sign.evidence(sample):
            return sign, evidence
    return None


def points_in_combination(name: str) -> bool:
    """Return whether a column of this name points at a person together with others.

    Examples
    --------
    >>> points_in_combination("Geburtsdatum"), points_in_combination("zip_code"), points_in_combination("age")
    (True, True, False)
    """
    return re.search(words.COMBINED, words.fold_header(name)) is not None

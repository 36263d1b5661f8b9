"""From a look at a table to a proposal: kinds, domains, roles, and the reason for each guess."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.io import detect_spelling
from sfumato.plans.profile import MAX_DISTINCT, ColumnProfile, sentinels
from sfumato.plans.recognition import points_in_combination, recognise
from sfumato.plans.tails import with_scale
from sfumato.schema import MAX_EXACT_INTEGER, Attribute, Categories, Consent, Interval, Kind, Role, day_number
from sfumato.text import join_names

MAX_FLAGS = 2
"""Whole numbers with no more values than this are flags, not quantities."""
MAX_CATEGORIES = 1000
"""More labels than this are categories only where they repeat as codes do (`_are_many_codes`)."""
ROWS_A_LABEL, ROWS_A_CODE = 3, 2
"""How often, on average, a label of a large domain stands in the table: any text, and one whose column is known for codes."""
CODE_NAME = re.compile(
    r"(^|_|\b)(zip[0-9]?|postal|postcode|zipcode|code|codes|icd|icd9|icd10|naics|isic|fips)(_|\b|$)"
    r"|^((main|primary)_)?(diagnosis|diagnoses|diag|dx)(_?[0-9]+)?$",
    re.IGNORECASE,
)
DIGITS = re.compile("[0-9]+")
PERSON_NAME = re.compile(
    r"id$|ssn|mrn|key$|number$|(^|_|\b)no$|name|mail|phone|address|street|person|people|patient|user|customer|client|member"
    r"|account|passport",
    re.IGNORECASE,
)
"""Columns that may name a person, who can stand in many rows: a large domain of such texts is never taken for codes."""
ID_NAME = re.compile(r"(^|_|\b)(id|uuid|ssn|key|number|no)$", re.IGNORECASE)
STRETCHED = "a few large values stretch the range"
CLASS_NAMES = ("class", "target", "label")
WHOSE_ROW = "says whose row it is: noise is tied to it, and it is not released"


@dataclass(frozen=True)
class Proposal:
    """A proposed attribute, in words why, and the texts that mean a missing value."""

    attribute: Attribute
    why: str
    absent: tuple[str, ...] = ("",)
    ordered: bool = False
    """Whether neighbouring rows are alike, so that their order tells values."""
    answers: tuple[str, ...] = ()
    """Labels such as "None" that could mean a missing value, and were left labels."""
    doubt: str = ""
    """What the owner had better look at."""
    recognised: str = ""
    """What in the column points at people, such as names."""
    repeats: str = ""
    """Where the column names a person in several rows: how many rows each has, in words."""


def propose_column(seen: ColumnProfile, target: str | None = None, identifier: str | None = None) -> Proposal:
    """Return what a column most likely is. Every domain here is learned from the data, and says so."""
    try:
        proposal = replace(_in_other_form(_propose_role(seen, target, identifier), seen), ordered=seen.ordered)
    except UsageError as error:
        raise UsageError(f"{seen.name}: {error}; divide the column by a constant, or leave it out") from None
    proposal = replace(proposal, attribute=with_scale(proposal.attribute, seen.sizes))
    if proposal.attribute.kind.numeric or not proposal.attribute.released:
        return proposal
    return replace(proposal, answers=tuple(w for w in seen.absent_words if w not in proposal.absent))


def _in_other_form(proposal: Proposal, seen: ColumnProfile) -> Proposal:
    """Return the proposal with a word on numbers and days that are written otherwise, and so were taken for texts."""
    attribute = proposal.attribute
    form = detect_spelling(t for t in seen.not_numbers if t not in seen.words)
    if form is None or proposal.recognised or attribute.role is not Role.ATTRIBUTE or attribute.kind.numeric:
        return proposal
    if (seen.numbers and not form.number) or (seen.counts is not None and len(seen.counts) < 2):
        return proposal
    if attribute.released:
        return replace(proposal, doubt=f"the labels look like {form}, unless labels are meant")
    return replace(proposal, why=f"these look like {form}; as they stand they are withheld")


def _propose_role(seen: ColumnProfile, target: str | None, identifier: str | None) -> Proposal:
    if seen.name == target:
        # A class that is lost is lost without a word, so any text is a class; NaN among typed numbers is not a text.
        absent = ("", *(seen.absent_marks if not seen.worded else ()))
        guess = _guess(seen, absent)
        attribute = replace(_as_categories(seen, guess, absent), role=Role.TARGET, consent=Consent.TRUE)
        return replace(
            guess,
            attribute=attribute,
            why=f"the class; released as it is. {guess.why}",
            absent=guess.absent if attribute.kind.numeric else absent,
        )
    guess = _guess(seen, ("", *seen.absent_marks))
    if seen.name == identifier:
        return replace(
            guess,
            attribute=Attribute(seen.name, guess.attribute.kind, role=Role.IDENTIFIER, consent=Consent.WITHHOLD),
            why=f"{WHOSE_ROW}{_count_rows(seen)}",
        )
    if seen.unread or (recognition := recognise(seen)) is None:
        return guess
    sign, evidence = recognition
    # What its values show is not copied into the plan; a name alone can mislead, so the owner finds the domain at hand.
    known = (
        guess.attribute
        if "values" not in evidence
        else Attribute(seen.name, guess.attribute.kind, consent=Consent.WITHHOLD)
    )
    return replace(
        guess,
        attribute=replace(known, consent=Consent.WITHHOLD),
        why=f"{sign.what}, by {evidence}: points at people, and is withheld",
        recognised=sign.what,
        repeats=_count_rows(seen) if sign.names_person and "name" in evidence and not seen.missing else "",
    )


def _count_rows(seen: ColumnProfile) -> str:
    """Say how many rows each id has; nothing where each has one."""
    if seen.unique or not seen.present:
        return ""
    if seen.counts is None or (each := seen.rows_each) is None:
        return f"; more than {MAX_DISTINCT:,} ids, some in several rows"
    return f"; {len(seen.counts):,} ids with {each[0]:.1f} rows on average and up to {each[1]:,}"


def tie_to_people(proposals: dict[str, Proposal], seen: Mapping[str, ColumnProfile]) -> dict[str, Proposal]:
    """Return the proposals with one recognised id of people as the identifier, where ids repeat: the one of most people."""
    candidates = [n for n, p in proposals.items() if p.repeats]
    if not candidates:
        return proposals
    name = max(candidates, key=lambda n: math.inf if (counts := seen[n].counts) is None else len(counts))
    proposal = proposals[name]
    tied = replace(proposal.attribute, role=Role.IDENTIFIER)
    return proposals | {name: replace(proposal, attribute=tied, why=f"{WHOSE_ROW}{proposal.repeats}", recognised="")}


def _as_categories(seen: ColumnProfile, guess: Proposal, absent: tuple[str, ...]) -> Attribute:
    if seen.unread:
        raise DataError(f"{seen.name}: values of type {seen.unread} cannot be the class; convert the column to labels")
    if not guess.attribute.kind.numeric and guess.attribute.domain is not None:
        seen_labels = _labels(seen, absent) or frozenset()  # a class that an ordered categorical only allows is none
        labels = tuple(v for v in guess.attribute.categories if v in seen_labels) or guess.attribute.categories
        return replace(guess.attribute, kind=Kind.CATEGORICAL, domain=Categories(labels))
    if seen.counts is None or len(seen.counts) > 100:
        if not guess.attribute.kind.numeric or guess.attribute.domain is None:
            raise UsageError(f"{seen.name}: too many different values to be classes; name another column as target=")
        return replace(guess.attribute, learned=True)
    return Attribute(
        seen.name, Kind.CATEGORICAL, Categories(_sort_labels(_labels(seen, absent) or frozenset())), learned=True
    )


def _labels(seen: ColumnProfile, absent: tuple[str, ...]) -> frozenset[str] | None:
    return None if seen.counts is None else frozenset(d for d in seen.counts if d and d not in absent)


def _guess(seen: ColumnProfile, among_labels: tuple[str, ...]) -> Proposal:
    """Return what the column is; `among_labels` are the texts that mean a missing value if it turns out to hold labels."""
    name = seen.name
    if seen.unread:
        why = f"values of type {seen.unread} are neither numbers nor days nor labels: convert the column, or leave it withheld"
        return _withhold(seen, why, ("",))
    absent = ("", *seen.absent_words)
    labels = _labels(seen, absent)
    spoilt = sum(1 for w in seen.not_numbers if w not in absent)
    numeric = seen.numbers > 0 and not spoilt and (seen.numbers > 0.5 * seen.present or not seen.not_numbers)
    dated = seen.days > 0 and seen.days + seen.worded == seen.present
    code = numeric and _is_code(seen, labels)
    if code or not (numeric or dated):
        absent, labels = among_labels, _labels(seen, among_labels)
    if seen.present == 0 or labels == frozenset():
        return _withhold(seen, "holds no value at all", absent)
    if labels is not None and len(labels) == 1:
        return _withhold(seen, f"every value is {next(iter(labels))!r}, which tells nothing", absent)
    if _is_id(seen, numeric):
        attribute = Attribute(name, Kind.INTEGER if numeric else Kind.CATEGORICAL, consent=Consent.WITHHOLD)
        return Proposal(attribute, "no value repeats: this looks like an identifier, and is withheld", absent)
    if seen.levels and labels is not None and labels <= set(seen.levels) and len(seen.levels) <= MAX_CATEGORIES:
        why = "an ordered categorical: all its categories, in their order"
        return Proposal(Attribute(name, Kind.ORDINAL, Categories(seen.levels), learned=True), why)
    if dated and seen.first_day and seen.last_day:
        domain = Interval(day_number(seen.first_day), day_number(seen.last_day))
        return Proposal(Attribute(name, Kind.DATE, domain, learned=True), "calendar days", absent)
    if numeric and not code:
        whole = seen.whole == seen.numbers
        if whole and max(-seen.low, seen.high) > MAX_EXACT_INTEGER:
            return _withhold(seen, "whole numbers beyond 2^53, which look like codes and are withheld", absent)
        low, high = rounded_outward(seen.low, seen.high, whole=whole)
        kind = Kind.INTEGER if whole else Kind.REAL
        resolution = 10.0**-seen.decimals if kind is Kind.REAL and 0 < seen.decimals <= 6 else None
        why = "whole numbers" if whole else "real numbers" + (f" of {seen.decimals} decimals" if resolution else "")
        attribute = Attribute(name, kind, Interval(low, high), learned=True, resolution=resolution)
        return Proposal(attribute, why, absent, doubt=_describe_marks(seen, attribute))
    few = labels is not None and len(labels) <= min(MAX_CATEGORIES, max(20, seen.present // 2))
    if labels is None or not (few or _are_many_codes(seen, labels)):
        what, so = ("codes", "they are") if numeric else ("texts", "free text is")
        return _withhold(seen, f"too many different {what} to be categories: {so} withheld", absent)
    why = "digits that are codes: distances between them mean nothing" if numeric else "categories"
    if numeric and len(labels - seen.words) <= MAX_FLAGS:
        why = "two values only"
    return Proposal(Attribute(name, Kind.CATEGORICAL, Categories(_sort_labels(labels)), learned=True), why, absent)


def _describe_marks(seen: ColumnProfile, attribute: Attribute) -> str:
    """Return a word on numbers that look like marks for missing; whether they are is for the owner to say."""
    marks = sentinels(seen.ends, seen.rows, None if seen.counts is None else len(seen.counts))
    if not marks:
        return ""
    listed = " and ".join(f"{attribute.format_value(value)} in {count:,} rows" for value, count in marks)
    listing = "looks like a mark for missing: list it" if len(marks) == 1 else "look like marks for missing: list them"
    return f"{listed} {listing} under missing_values, and narrow the domain, if that is so"


def _is_id(seen: ColumnProfile, numeric: bool) -> bool:
    min_values = 20
    if not seen.unique or seen.present < min_values or seen.days:
        return False
    if not numeric:
        return True
    if seen.whole < seen.numbers:
        return False
    consecutive = seen.high - seen.low + 1 == seen.present
    return consecutive or bool(ID_NAME.search(seen.name))


def _is_code(seen: ColumnProfile, labels: frozenset[str] | None) -> bool:
    if seen.whole < seen.numbers:
        return labels is not None and _are_decimal_codes(seen, labels)
    flags = labels is not None and len(labels) <= MAX_FLAGS
    return seen.padded > 0 or flags or bool(CODE_NAME.search(seen.name)) or seen.logical


def _are_decimal_codes(seen: ColumnProfile, labels: frozenset[str]) -> bool:
    """Return whether digits with a point, such as 250.01 and 401.9, are codes of a system rather than measurements.

    They are where the column is known for codes, or where a reading as numbers would lose what no format of numbers writes.
    A format gives all numbers the same decimals, or the same significant digits, or drops the zeros at the end; so it
    pads (008.45) only where decimals are constant, and never has 250.10 beside 401.9 and 250.01.
    """
    parts = [text.partition(".") for text in labels]
    if not all(DIGITS.fullmatch(whole + decimals) and whole for whole, _, decimals in parts):
        return False
    if CODE_NAME.search(seen.name):
        return True
    pointed = {len(decimals) for _, point, decimals in parts if point}
    if seen.padded and len({len(decimals) for _, _, decimals in parts}) > 1:
        return True
    zeros = any(len(decimals) > 1 and decimals.endswith("0") for _, _, decimals in parts)
    significant = {len((whole + decimals).lstrip("0")) for whole, _, decimals in parts}
    widths = {len(whole) for whole, _, _ in parts}
    min_digits = 3
    # One width of three digits or more, as systems of codes have it: prices and temperatures that two hands wrote, as 36.5
    # and as 36.50, stay numbers.
    same_width = len(widths) == 1 and min(widths) >= min_digits
    repeating = seen.present >= ROWS_A_LABEL * len(labels)
    return zeros and len(pointed) > 1 and len(significant) > 1 and same_width and repeating


def _are_many_codes(seen: ColumnProfile, labels: frozenset[str]) -> bool:
    """Return whether more than MAX_CATEGORIES labels are a large domain, such as zip codes, rather than free text or persons."""
    if len(labels) <= MAX_CATEGORIES:
        return False
    if CODE_NAME.search(seen.name):
        return seen.present >= ROWS_A_CODE * len(labels)
    return seen.present >= ROWS_A_LABEL * len(labels) and not PERSON_NAME.search(seen.name)


def _withhold(seen: ColumnProfile, why: str, absent: tuple[str, ...]) -> Proposal:
    return Proposal(Attribute(seen.name, Kind.CATEGORICAL, consent=Consent.WITHHOLD), why, absent)


def _sort_labels(labels: frozenset[str]) -> tuple[str, ...]:
    def place(text: str) -> tuple[bool, float, str]:
        try:
            return (False, float(text), text)
        except ValueError:
            return (True, 0.0, text)

    return tuple(sorted(labels, key=place))


def rounded_outward(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Return the ends moved out to a tenth of the range's own decade, so that no person's value is an end of the domain."""
    if not 0 < high - low < math.inf:
        return low, high
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    if not step or high + step == high:  # a range so small, or so far away, that float64 has nothing finer
        return low, high
    if whole:
        step = max(step, 1.0)
    digits = max(0, -math.floor(math.log10(step)))
    return round(math.floor(low / step + 1e-9) * step, digits), round(math.ceil(high / step - 1e-9) * step, digits)


def propose_published(name: str, columns: list[dict[str, Any]], target: str | None) -> dict[str, Proposal]:
    """Return proposals for a bundled table, whose kinds and domains are published with it and not a secret of its rows."""
    out = {}
    for column in columns:
        kind = Kind(column["kind"])
        domain = Interval(column["min"], column["max"]) if kind.numeric else Categories(tuple(column["categories"]))
        attribute = Attribute(column["name"], kind, domain)
        if column["name"] == target:
            attribute = replace(attribute, role=Role.TARGET, consent=Consent.TRUE)
        elif _single(attribute):
            attribute = replace(attribute, consent=Consent.WITHHOLD)
        why = f"as published with {name}" + ("; its one value tells nothing" if not attribute.released else "")
        out[column["name"]] = Proposal(attribute, why)
    return out


def _single(attribute: Attribute) -> bool:
    """Return whether the domain has one value, which no noise can hide among others."""
    return attribute.interval.range == 0 if attribute.kind.numeric else len(attribute.categories) == 1


def note(proposal: Proposal) -> str:
    """Return the comment beside a column of the plan."""
    text = proposal.why + (" [domain learned from the data]" if proposal.attribute.learned else "")
    if proposal.attribute.scale is not None:
        text += f"; {STRETCHED}, so noise acts on a {proposal.attribute.scale.in_words()}: delete the line for the plain range"
    if absent := _texts(proposal.absent):
        text += f"; {absent} taken as missing"
    if answers := _texts(proposal.answers):
        text += f"; {answers} taken as labels: if they mean no value, list them under missing_values"
    return text + (f"; {proposal.doubt}" if proposal.doubt else "")


def remarks(proposals: Mapping[str, Proposal]) -> tuple[Note, ...]:
    """Return which columns are withheld and why, which texts were taken as missing, or were not, and what else to look at."""
    tied = {n: p for n, p in proposals.items() if p.attribute.role is Role.IDENTIFIER and p.repeats}
    withheld = _names_by({n: p.why for n, p in proposals.items() if not p.attribute.released and n not in tied})
    out = [
        Note("SF271" if proposals[names[0]].recognised else "SF103", f"withheld: {join_names(names)} ({why})")
        for why, names in withheld.items()
    ]
    out += [Note("SF273", f"{name}: {p.why}") for name, p in tied.items()]
    if combined := [n for n, p in proposals.items() if p.attribute.released and points_in_combination(n)]:
        words = (
            f"{join_names(combined)}: together with other facts {'they point' if len(combined) > 1 else 'it points'} at a person; "
            "coarsen or withhold, unless the noise hides them well"
        )
        out.append(Note("SF272", words))
    if absent := _where({n: p.absent for n, p in proposals.items() if p.attribute.released}):
        out.append(Note("SF104", f"taken as missing: {absent}"))
    if answers := _where({n: p.answers for n, p in proposals.items()}):
        words = f"taken as labels: {answers}; if they mean no value, list them under missing_values in the plan"
        out.append(Note("SF105", words))
    if scaled := [n for n, p in proposals.items() if p.attribute.scale is not None]:
        out.append(
            Note(
                "SF293",
                f"{join_names(scaled)}: {STRETCHED}; a scale is proposed, on which noise does not drown the others",
            )
        )
    doubts = _names_by({n: p.doubt for n, p in proposals.items() if p.doubt})
    return (*out, *(Note("SF106", f"{join_names(names)}: {doubt}") for doubt, names in doubts.items()))


def _names_by(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the columns that share each reason."""
    return {reason: [n for n, why in reasons.items() if why == reason] for reason in reasons.values()}


def _texts(texts: Iterable[str]) -> str:
    return join_names([repr(t) for t in texts if t])


def _where(texts: Mapping[str, tuple[str, ...]]) -> str:
    return join_names([f"{_texts(found)} in {name}" for name, found in texts.items() if _texts(found)])

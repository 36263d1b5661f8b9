"""What a single value can be: an e-mail address, a phone number, an IBAN, a national id, a person's name.

One predicate per thing. Check digits are python-stdnum's; it is imported when the first long number is seen.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import cache
from importlib import import_module
from typing import Protocol

from sfumato.plans.person_names import GIVEN_NAMES, SURNAMES


class NumberScheme(Protocol):
    """A module of python-stdnum."""

    def is_valid(self, number: str) -> bool:
        """Return whether form and check digits are right."""


NATIONAL_IDS = (
    "de.idnr", "fr.nir", "es.dni", "es.nie", "it.codicefiscale", "nl.bsn", "ch.ssn", "gb.nhs", "be.nn", "at.vnr", "pl.pesel",
    "pt.cc", "ie.pps", "se.personnummer", "no.fodselsnummer", "dk.cpr", "fi.hetu", "ca.sin", "br.cpf", "mx.curp", "cl.rut",
    "cz.rc", "ee.ik", "bg.egn", "gr.amka", "hr.oib", "il.idnr", "in_.aadhaar", "in_.pan", "is_.kennitala", "kr.rrn", "lt.asmens",
    "my.nric", "ro.cnp", "si.emso", "tr.tckimlik", "za.idnr", "cn.ric", "us.itin", "gb.upn",
)  # fmt: skip
"""Schemes with check digits, by their modules. Those without any are patterns below."""
THING_SCHEMES = ("ean", "isbn", "isin", "issn", "cusip", "casrn", "lei", "gb.sedol", "iso6346", "figi")
"""Schemes of goods, securities and substances: digits that are right in one of them are no ids of people."""
UNCHECKED_IDS = re.compile(
    r"[0-8]\d\d-\d\d-\d{4}"  # US social security number, with its hyphens
    r"|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?(\d\d ?){3}[A-D]"  # UK national insurance number
    r"|\d\d ?\d{6} ?[A-Z] ?\d{3}"  # German pension insurance number
)
EMAIL = re.compile(r"(.*[<(:\s])?[^@\s,;<(:]+@[^@\s,;]+\.[^@\s,;.>)]{2,}[>)]?")
HANDLE = re.compile(r"@\w{3,30}")
VIN = re.compile(r"(?=.*\d.*\d)(?=.*[A-Z].*[A-Z])[A-HJ-NPR-Z0-9]{17}")
RANDOM_TOKEN = re.compile(r"[A-Za-z0-9_+/=-]{12,}")
LOGIN = re.compile(r"[\w.:\\-]{4,40}")
URL = re.compile(r"([a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
MAC = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)
TOKEN = re.compile(
    r"\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE
)
MONTH = re.compile(r"(19|20)\d\d([-/.]?)((0[1-9]|1[0-2])(\2(0[1-9]|[12]\d|3[01]))?|W[0-5]\d|Q[1-4])(?!\d)")
DIGIT_DAY = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])[0-5]\d([0-5]\d)?)?")
_DEGREES = r"\d{1,3} ?[°ºd] ?\d{1,2} ?['′’m] ?(\d{1,2}([.,]\d+)? ?(\"|″|”|''|s) ?)?"
PLACE = re.compile(
    r"([A-Za-z]+ ?)?[(\[]?-?\d{1,3}\.\d{3,}[°NS ]*[,;/ ]\s*-?\d{1,3}\.\d{3,}[°EWO ]*[)\]]?"  # decimal, or as a POINT
    rf"|[NS]? ?{_DEGREES}[NS]?([,;/ ]\s*[EWO]? ?{_DEGREES}[EWO]?)?"  # degrees, minutes and seconds
)
PHONE = re.compile(
    r"((\+|00)[1-9]\d{0,2}([ ./()-]{0,2}\d){6,13}"  # with the country
    r"|(\+?1[ .-]?)?(\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"  # North America
    r"|\(?0\d{1,5}\)?( ?/ ?| )\d([ -]?\d){3,9}|0\d{1,5}-\d( ?\d){4,8}"  # area, then number: Germany, United Kingdom
    r"|0\d([ .-]\d\d){4}"  # France: pairs
    r"|[6-9]\d\d( \d{3}){2}|[6-9]\d\d( \d\d){3}|[6-9]\d( \d{3})( \d\d){2})"  # Spain
    r"( ?(x|ext\.?|poste|durchwahl|dw) ?\d+)?",
    re.IGNORECASE,
)
PLATE = re.compile(
    r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?"  # Germany
    r"|[A-Z]{2}[- ]?\d{3}[- ]?[A-Z]{2}"  # France, Italy
    r"|\d{4}[- ]?[BCDFGHJKLMNPRSTVWXYZ]{3}"  # Spain
    r"|[A-Z]{2}\d\d ?[A-Z]{3}"  # United Kingdom
)
STREET = re.compile(
    r"(?<![^\W\d_])(street|st|avenue|ave|av|road|rd|lane|ln|drive|dr|boulevard|blvd|court|way|terrace|close|crescent|square"
    r"|rue|chemin|impasse|allee|allees|quai|cours|place|route|calle|avda|avenida|plaza|paseo|camino|carrera|ronda|travesia|via)\b"
    r"|(strasse|str\b|weg\b|platz\b|allee\b|gasse\b|ufer\b|damm\b|ring\b)"
)
POST_BOX = re.compile(r"\b(p ?\.? ?o ?\.? ?box|post box|postfach|apartado( de correos)?|apdo\.?|bp|boite postale) ?\d+")
HOUSE_NUMBER = re.compile(r"\d+ ?[a-z]?\b")
TITLE = re.compile(
    r"(mr|mrs|ms|miss|dr|prof|sir|herr|frau|m|mme|mlle|monsieur|madame|sr|sra|srta|d|don|dona)\.?", re.IGNORECASE
)
WORD = re.compile(r"[^\W\d_]+(?:['’`-][^\W\d_]+)*\.?")


def fold(text: str) -> str:
    """Return the text in lower case and without accents: Müller and Muller, Straße and Strasse are one word."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def count_digits(text: str) -> int:
    """Return how many digits the text has."""
    return sum(c.isdigit() for c in text)


@cache
def scheme(name: str) -> NumberScheme:
    """Return a module of python-stdnum."""
    module: NumberScheme = import_module(f"stdnum.{name}")
    return module


def is_iban(text: str) -> bool:
    """Return whether the text is a bank account number with the check digits of ISO 13616 (mod 97)."""
    return text[:2].isalpha() and count_digits(text) > 9 and scheme("iban").is_valid(text)


def is_card(text: str) -> bool:
    """Return whether the text is 13 to 19 digits, grouped or not, with the check digit of ISO/IEC 7812 (Luhn)."""
    digits = re.sub("[ -]", "", text)
    return digits.isdigit() and 13 <= len(digits) <= 19 and digits[0] in "3456" and scheme("luhn").is_valid(digits)


def is_provider(text: str) -> bool:
    """Return whether the text is a US National Provider Identifier: with 80840 before it, the digits of Luhn are right."""
    length = 10
    return len(text) == length and text.isdigit() and scheme("luhn").is_valid("80840" + text)


def is_address(text: str) -> bool:
    """Return whether the text names a street and a house number, or a post box."""
    folded = fold(text)
    return bool((STREET.search(folded) and HOUSE_NUMBER.search(folded)) or POST_BOX.search(folded))


def is_ip(text: str) -> bool:
    """Return whether the text is an IPv4 or IPv6 address, as it is, with a port, or with the length of a prefix."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$|^([\d.]+):\d+$", r"\1\3", text)
    try:
        ipaddress.ip_interface(bare)  # with or without the length of a prefix
    except ValueError:
        return False
    return "." in bare or ":" in bare


def name_words(text: str) -> list[str]:
    """Return the words of what could be a person's name, without titles; none if it holds anything but words."""
    words = WORD.findall(text)
    rest = WORD.sub("", text).strip(" ,/")
    if rest or not words:
        return []
    return [w.rstrip(".") for w in words if not TITLE.fullmatch(w)]


def is_known_name(text: str) -> bool:
    """Return whether a word of the text is among the commonest names."""
    return any(part in GIVEN_NAMES or part in SURNAMES for w in name_words(text) for part in fold(w).split("-"))


def holds_given_name(text: str) -> bool:
    """Return whether a part of the text, such as of `live:anna.weber` or `anna_82`, is a common given name.

    Examples
    --------
    >>> holds_given_name("live:anna.weber"), holds_given_name("annabelle_hotel")
    (True, False)
    """
    min_length = 4
    return any(len(part) >= min_length and part in GIVEN_NAMES for part in re.split(r"[\W\d_]+", fold(text)))


def is_titled_name(text: str) -> bool:
    """Return whether the text is a title or initials with capitalised words: Dr. Weber, J. R. Smith, Smith, J."""
    parts = WORD.findall(text)
    if WORD.sub("", text).strip(" ,.") or len(parts) < 2:
        return False
    words = [w.rstrip(".") for w in parts]
    marks = [bool(TITLE.fullmatch(p)) or (len(w) == 1 and w.isupper()) for p, w in zip(parts, words, strict=True)]
    family = [w for w, mark in zip(words, marks, strict=True) if not mark]
    return any(marks) and 1 <= len(family) <= 3 and all(len(w) > 1 and w[0].isupper() for w in family)


def is_full_name(text: str) -> bool:
    """Return whether the text has the shape of a full name: two to four words, the first and the last with a capital."""
    words = name_words(text)
    return 2 <= len(words) <= 4 and words[0][0].isupper() and words[-1][0].isupper()

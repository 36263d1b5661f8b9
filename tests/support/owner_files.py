"""Twelve files as owners have them, each with its truth: what a careful person would read from it.

Every maker writes its file into a folder, the same bytes each time, and says which columns point at people. Tables have what
real ones have: people in several rows, spikes and long tails, rare classes, answers that were refused.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.spreadsheet import write_workbook

Truth = dict[str, list[Any]]
Generator = np.random.Generator


@dataclass(frozen=True)
class OwnerFile:
    """A file of an owner, and what is true of it.

    `table` is what to give as INPUT. `truth` holds every column as int, float, str, date or None (timestamps as their days).
    `identifying` columns must never leave; `identifier` says whose row it is, where people have several; `target` is the class.
    """

    name: str
    table: str
    truth: Truth
    identifying: tuple[str, ...]
    identifier: str | None
    target: str

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.truth[self.target])


def _words(text: str) -> list[str]:
    return text.split()


FIRST = {
    "de": _words(
        "Anna Jürgen Käthe Lukas Sabine Günter Maria Heinz Ute Björn Petra Klaus Renate Jörg Helga Uwe Monika Torsten"
    ),
    "en": _words(
        "James Mary Robert Patricia John Jennifer Michael Linda David Barbara William Susan Joseph Karen Tyrone Latoya"
    ),
    "fr": _words("Léa Hélène Jérôme Chloé François Amélie Benoît Zoé Cédric Inès Gaël Noémie Loïc Margaux Rémi Solène"),
    "es": _words("José María Ángel Lucía Íñigo Begoña Andrés Sofía Raúl Inés Martín Núria Óscar Belén Ramón Pilar"),
}
LAST = {
    "de": _words(
        "Müller Schmidt Schäfer Weiß Köhler Groß Vogel Krüger Böhm Busch Jäger Winkler Franke Lorenz Haas Roth"
    ),
    "en": _words(
        "Smith Johnson Brown Garcia Miller Davis Lopez Wilson Anderson Taylor Moore Jackson Lee Clark Walker Young"
    ),
    "fr": _words(
        "Lefèvre Moreau Girard Bonnet Dupont Lambert Fontaine Rousseau Blanc Guérin Faure Mercier Colin Noël Gérard"
    ),
    "es": _words("García Muñoz Ibáñez Peña Fernández Ordóñez Ruiz Gómez Díaz Núñez Vázquez Castaño Marín Rubio Gil"),
}
PLAIN = str.maketrans("äöüéèêëàáâíìîïóòôúùûñçÄÖÜÁÉÍÓÚ", "aoueeeeaaaiiiiooouuuncAOUAEIOU")


def person_names(rng: Generator, count: int, language: str) -> list[str]:
    """Return names of people, most of them once."""
    first, last = rng.choice(FIRST[language], count), rng.choice(LAST[language], count)
    return [f"{a} {b}" for a, b in zip(first, last, strict=True)]


def email_addresses(names: Sequence[str], rng: Generator) -> list[str]:
    """Return an address for each person."""
    hosts = rng.choice(["gmail.com", "web.de", "orange.fr", "outlook.com"], len(names))
    return [
        f"{n.translate(PLAIN).replace('ß', 'ss').replace(' ', '.').lower()}{i}@{h}"
        for i, (n, h) in enumerate(zip(names, hosts, strict=True))
    ]


def phone_numbers(rng: Generator, count: int, prefix: str) -> list[str]:
    """Return telephone numbers of one country."""
    return [f"{prefix} {n // 10_000:03d} {n % 10_000:04d}" for n in rng.integers(1_000_000, 9_999_999, count)]


def ibans(rng: Generator, count: int, country: str = "CH", digits: int = 17) -> list[str]:
    """Return account numbers with valid check digits (ISO 13616, mod 97)."""
    out = []
    for _ in range(count):
        account = "".join(map(str, rng.integers(0, 10, digits)))
        letters = "".join(str(ord(c) - 55) for c in country)
        out.append(f"{country}{98 - int(account + letters + '00') % 97:02d}{account}")
    return out


def days(rng: Generator, count: int, first: date, last: date) -> list[date]:
    """Return days of which Mondays have twice their share."""
    out = [first + timedelta(int(d)) for d in rng.integers(0, (last - first).days + 1, count)]
    return [d - timedelta(d.weekday()) if rng.random() < 1 / 6 and d.weekday() <= (d - first).days else d for d in out]


def _midnight(day: date) -> datetime:
    """Return the first instant of a day, by the clock on the wall."""
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001


def rounded(values: Iterable[float], decimals: int = 2) -> list[float]:
    """Return plain numbers of so many decimals."""
    return [round(float(v), decimals) for v in values]


def with_gaps(values: Sequence[Any], rng: Generator, share: float) -> list[Any]:
    """Return the values, some of them missing."""
    return [None if rng.random() < share else v for v in values]


def by_person(values: Sequence[Any], people: Iterable[int]) -> list[Any]:
    """Return each person's own value in all their rows."""
    return [values[i] for i in people]


def number_text(value: float | None, decimal: str = ".", thousands: str = "", decimals: int | None = 2) -> str:
    """Return a number as a program of that country writes it."""
    if value is None:
        return ""
    text = f"{value:,d}" if decimals is None else f"{value:,.{decimals}f}"
    return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)


def day_text(value: date | None, form: str) -> str:
    """Return a day in a format of strftime."""
    return "" if value is None else value.strftime(form)


def csv_text(
    columns: Mapping[str, Sequence[Any]], delimiter: str, *, quote_all: bool = False, end: str = "\r\n"
) -> str:
    """Return the rows with quotes where they are needed, or everywhere."""

    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        needed = quote_all or any(c in text for c in (delimiter, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needed else text

    lines = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(cell, line)) + end for line in lines)


def german_hospital(folder: Path) -> OwnerFile:
    """A German hospital's stays as an Excel workbook: typed days, a sheet of remarks before the table."""
    rng = np.random.default_rng(101)
    people, stays = 420, 900
    whose = rng.integers(0, people, stays)
    names = person_names(rng, people, "de")
    born = days(rng, people, date(1932, 1, 1), date(2005, 12, 31))
    sex = rng.choice(["w", "m", "d"], people, p=[0.52, 0.475, 0.005]).tolist()
    admitted = days(rng, stays, date(2022, 1, 1), date(2023, 11, 30))
    length = (1 + rng.geometric(0.18, stays)).tolist()
    diagnosis = rng.choice(
        ["E11.9", "I10", "I50.1", "J44.0", "C34.9", "S72.0"], stays, p=[0.3, 0.3, 0.18, 0.12, 0.04, 0.06]
    )
    age = [(a - born[p]).days // 365 for a, p in zip(admitted, whose, strict=True)]
    cost = rounded(np.exp(rng.normal(7.6, 0.9, stays)) + 310.0 * np.array(length))
    truth: Truth = {
        "Patienten-Nr.": [f"P{100_000 + 7 * int(p)}" for p in whose],
        "Name": by_person(names, whose),
        "Geburtsdatum": by_person(born, whose),
        "Geschlecht": by_person(sex, whose),
        "Alter": age,
        "Aufnahme": admitted,
        "Entlassung": [a + timedelta(n) for a, n in zip(admitted, length, strict=True)],
        "Hauptdiagnose": diagnosis.tolist(),
        "Kosten EUR": cost,
        "Gewicht kg": with_gaps(rounded(rng.normal(81, 16, stays).clip(38, 190), 1), rng, 0.06),
        "Verlegt": rng.choice(["ja", "nein"], stays, p=[0.08, 0.92]).tolist(),
    }
    rows = [list(truth), *zip(*truth.values(), strict=True)]
    notes = [["Auszug aus dem KIS, Stand 1.12.2023"], ["Ansprechpartner: Controlling"]]
    path = write_workbook(folder / "krankenhaus.xlsx", {"Fälle": rows, "Hinweise": notes})
    identifying = ("Patienten-Nr.", "Name", "Geburtsdatum")
    return OwnerFile("german_hospital", str(path), truth, identifying, "Patienten-Nr.", "Hauptdiagnose")


def us_claims(folder: Path) -> OwnerFile:
    """An American insurer's claims, a person in several visits: month-first days, 1,234.56, a social security number."""
    rng = np.random.default_rng(102)
    people, visits = 700, 2400
    whose = np.sort(rng.integers(0, people, visits))
    names = person_names(rng, people, "en")
    born = days(rng, people, date(1935, 1, 1), date(2004, 12, 31))
    ssn = [f"{a:03d}-{b:02d}-{c:04d}" for a, b, c in rng.integers([1, 1, 1], [899, 99, 9999], (people, 3))]
    zips = rng.choice(["02139", "10001", "60614", "94110", "73301", "00601"], people).tolist()
    truth: Truth = {
        "member_id": [f"M{900_000 + int(p)}" for p in whose],
        "ssn": by_person(ssn, whose),
        "full_name": by_person(names, whose),
        "phone": by_person([f"({a}) 555-{b:04d}" for a, b in rng.integers([200, 0], [989, 9999], (people, 2))], whose),
        "date_of_birth": by_person(born, whose),
        "zip": by_person(zips, whose),
        "service_date": days(rng, visits, date(2023, 1, 1), date(2023, 12, 31)),
        "icd10": rng.choice(["E11.9", "I10", "M54.5", "F32.9", "Z00.00"], visits, p=[0.2, 0.3, 0.2, 0.1, 0.2]).tolist(),
        "units": rng.choice([1, 2, 3, 10], visits, p=[0.8, 0.12, 0.06, 0.02]).tolist(),
        "billed_usd": rounded(np.exp(rng.normal(5.8, 1.3, visits)) + 25),
        "copay_usd": rng.choice([0, 15, 25, 50], visits, p=[0.3, 0.4, 0.2, 0.1]).tolist(),
        "denied": rng.choice(["N", "Y"], visits, p=[0.93, 0.07]).tolist(),
    }
    written = truth | {
        "date_of_birth": [day_text(d, "%m/%d/%Y") for d in truth["date_of_birth"]],
        "service_date": [day_text(d, "%m/%d/%Y") for d in truth["service_date"]],
        "billed_usd": [number_text(v, ".", ",") for v in truth["billed_usd"]],
    }
    path = folder / "claims.csv"
    path.write_bytes(csv_text(written, ",").encode())
    identifying = (
        "member_id",
        "ssn",
        "full_name",
        "phone",
    )  # a birth date points at a person only beside other columns
    return OwnerFile("us_claims", str(path), truth, identifying, "member_id", "denied")


def swiss_bank(folder: Path) -> OwnerFile:
    """A Swiss bank's transactions: account numbers, 1'234.56, timestamps without zone, a balance with a long tail."""
    rng = np.random.default_rng(103)
    customers, moves = 260, 2000
    whose = rng.integers(0, customers, moves)
    names = person_names(rng, customers, "de")
    accounts = ibans(rng, customers)
    booked = days(rng, moves, date(2024, 1, 1), date(2024, 6, 30))
    seconds = rng.integers(8 * 3600, 18 * 3600, moves)
    amounts = rounded(np.where(rng.random(moves) < 0.25, 50.0, np.exp(rng.normal(4.5, 1.5, moves)) + 1))
    truth: Truth = {
        "kunde": [f"K-{4000 + int(p)}" for p in whose],
        "inhaber": by_person(names, whose),
        "iban": by_person(accounts, whose),
        "buchung": booked,
        "betrag_chf": [a if rng.random() < 0.7 else -a for a in amounts],
        "saldo_chf": rounded(np.exp(rng.normal(9, 1.2, moves))),
        "kanal": rng.choice(
            ["Karte", "E-Banking", "Schalter", "Dauerauftrag"], moves, p=[0.5, 0.3, 0.05, 0.15]
        ).tolist(),
        "land": rng.choice(["CH", "DE", "FR", "US", "KY"], moves, p=[0.86, 0.07, 0.04, 0.025, 0.005]).tolist(),
        "verdacht": rng.choice([0, 1], moves, p=[0.985, 0.015]).tolist(),
    }
    stamps = [_midnight(d) + timedelta(seconds=int(s)) for d, s in zip(booked, seconds, strict=True)]
    written = truth | {
        "buchung": [s.strftime("%d.%m.%Y %H:%M:%S") for s in stamps],
        "betrag_chf": [number_text(v, ".", "'") for v in truth["betrag_chf"]],
        "saldo_chf": [number_text(v, ".", "'") for v in truth["saldo_chf"]],
    }
    path = folder / "konten.csv"
    path.write_bytes(csv_text(written, ";").encode())
    return OwnerFile("swiss_bank", str(path), truth, ("kunde", "inhaber", "iban"), "kunde", "verdacht")


def likert_survey(folder: Path) -> OwnerFile:
    """A survey as R writes it: every text in quotes, NA, answers of five steps, refusals, free text."""
    rng = np.random.default_rng(104)
    rows = 800
    steps = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
    words = _words("the staff was friendly but waiting took too long parking is a problem again nothing to add")
    names = person_names(rng, rows, "en")

    def answers(weights: Sequence[float]) -> list[Any]:
        given = rng.choice(steps, rows, p=weights).tolist()
        return ["refused" if rng.random() < 0.04 else None if rng.random() < 0.03 else g for g in given]

    truth: Truth = {
        "respondent": [f"R{i:05d}" for i in range(1, rows + 1)],
        "email": email_addresses(names, rng),
        "age": with_gaps(rng.normal(47, 17, rows).clip(18, 93).astype(int).tolist(), rng, 0.02),
        "household_income": with_gaps(
            (np.exp(rng.normal(10.6, 0.6, rows)) // 500 * 500).astype(int).tolist(), rng, 0.15
        ),
        "children": rng.choice([0, 1, 2, 3, 7], rows, p=[0.5, 0.2, 0.2, 0.09, 0.01]).tolist(),
        "q1_trust": answers([0.1, 0.2, 0.3, 0.3, 0.1]),
        "q2_service": answers([0.05, 0.1, 0.15, 0.4, 0.3]),
        "q3_recommend": rng.choice([*range(11)], rows, p=[0.03] * 5 + [0.05, 0.1, 0.15, 0.25, 0.2, 0.1]).tolist(),
        "comment": [" ".join(rng.choice(words, 9)) + f" ({i})" for i in range(rows)],
        "voted": rng.choice(["yes", "no", "not eligible"], rows, p=[0.7, 0.24, 0.06]).tolist(),
    }
    texts = ("respondent", "email", "q1_trust", "q2_service", "comment", "voted")
    lines = [",".join(f'"{n}"' for n in truth)]
    for row in zip(*truth.values(), strict=True):
        cells = zip(truth, row, strict=True)
        lines.append(",".join("NA" if v is None else f'"{v}"' if n in texts else str(v) for n, v in cells))
    path = folder / "survey.csv"
    path.write_bytes(("\n".join(lines) + "\n").encode())
    return OwnerFile("likert_survey", str(path), truth, ("respondent", "email", "comment"), None, "voted")


def sensor_log(folder: Path) -> OwnerFile:
    """A building's sensors: comment lines, timestamps with zone, gzipped; who opened a door is a badge."""
    rng = np.random.default_rng(105)
    rows = 3000
    badges = [f"BADGE-{n}" for n in rng.choice(9000, 120, replace=False) + 1000]
    start = _midnight(date(2024, 3, 1)) + timedelta(hours=5)
    at = [start + timedelta(seconds=int(s)) for s in np.sort(rng.integers(0, 86_400 * 60, rows))]
    truth: Truth = {
        "timestamp": [t.date() for t in at],
        "badge": rng.choice(badges, rows).tolist(),
        "ip": [f"10.{a}.{b}.{c}" for a, b, c in rng.integers(1, 250, (rows, 3))],
        "room": rng.choice([f"R{n}" for n in range(101, 113)], rows).tolist(),
        "temperature": with_gaps(rounded(rng.normal(21.5, 1.8, rows)), rng, 0.02),
        "humidity": rng.normal(45, 9, rows).clip(15, 90).astype(int).tolist(),
        "co2_ppm": (400 + np.exp(rng.normal(5.2, 0.8, rows))).astype(int).tolist(),
        "alarm": rng.choice(["none", "smoke", "door"], rows, p=[0.97, 0.005, 0.025]).tolist(),
    }
    written = truth | {"timestamp": [t.strftime("%Y-%m-%dT%H:%M:%S+01:00") for t in at]}
    text = "# device: gateway 7\n# firmware 2.1\n" + csv_text(written, ",", end="\n")
    path = folder / "sensors.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return OwnerFile("sensor_log", str(path), truth, ("badge", "ip"), "badge", "alarm")


def sap_export(folder: Path) -> OwnerFile:
    """An SAP list saved as text with tabs: a title, empty lines, 31.12.2024, 1.234,56 with the minus behind, Latin-1."""
    rng = np.random.default_rng(106)
    staff, rows = 150, 1200
    whose = rng.integers(0, staff, rows)
    names = person_names(rng, staff, "de")
    amounts = rounded(np.exp(rng.normal(5.5, 1.4, rows)))
    truth: Truth = {
        "PersNr": [f"{20_000 + int(p):08d}" for p in whose],
        "Name": by_person(names, whose),
        "Buchungsdatum": days(rng, rows, date(2023, 1, 1), date(2024, 12, 31)),
        "Kostenstelle": rng.choice(
            ["0001100", "0001200", "0004711", "0009000"], rows, p=[0.5, 0.3, 0.15, 0.05]
        ).tolist(),
        "Betrag": [-a if rng.random() < 0.2 else a for a in amounts],
        "Menge": with_gaps((1 + rng.geometric(0.02, rows) * 10).tolist(), rng, 0.03),
        "Werk": rng.choice(["Köln", "München", "Suhl"], rows, p=[0.6, 0.35, 0.05]).tolist(),
        "Belegart": rng.choice(["SA", "KR", "ZP"], rows, p=[0.7, 0.25, 0.05]).tolist(),
    }

    def amount(value: float) -> str:
        return number_text(abs(value), ",", ".") + ("-" if value < 0 else "")

    written = truth | {
        "Buchungsdatum": [day_text(d, "%d.%m.%Y") for d in truth["Buchungsdatum"]],
        "Betrag": [amount(v) for v in truth["Betrag"]],
        "Menge": [number_text(v, ",", ".", None) for v in truth["Menge"]],
    }
    text = "Einzelposten Kostenstellen\r\nStand 31.12.2024\r\n\r\n" + csv_text(written, "\t")
    path = folder / "sap.csv"
    path.write_bytes(text.encode("cp1252"))
    return OwnerFile("sap_export", str(path), truth, ("PersNr", "Name"), "PersNr", "Belegart")


def french_survey(folder: Path) -> OwnerFile:
    """A French survey saved by Excel as UTF-8 with a byte-order mark: ; between fields, 1 234,56, 31/12/2024."""
    rng = np.random.default_rng(107)
    rows = 600
    names = person_names(rng, rows, "fr")
    truth: Truth = {
        "nom": names,
        "courriel": email_addresses(names, rng),
        "téléphone": phone_numbers(rng, rows, "+33 6"),
        "date_entretien": days(rng, rows, date(2023, 9, 1), date(2023, 12, 31)),
        "âge": rng.normal(44, 16, rows).clip(18, 95).astype(int).tolist(),
        "revenu_mensuel": with_gaps(rounded(np.exp(rng.normal(7.7, 0.5, rows))), rng, 0.08),
        "trajet_km": rounded(rng.exponential(14, rows), 1),
        "département": rng.choice(["01", "13", "69", "75", "2A"], rows, p=[0.1, 0.25, 0.25, 0.38, 0.02]).tolist(),
        "satisfaction": rng.choice(["très satisfait", "satisfait", "peu satisfait", "sans réponse"], rows,
                                   p=[0.3, 0.45, 0.2, 0.05]).tolist(),
        "télétravail": rng.choice(["oui", "non"], rows, p=[0.4, 0.6]).tolist(),
    }  # fmt: skip
    written = truth | {
        "date_entretien": [day_text(d, "%d/%m/%Y") for d in truth["date_entretien"]],
        "revenu_mensuel": [number_text(v, ",", "\u202f") for v in truth["revenu_mensuel"]],
        "trajet_km": [number_text(v, ",", "", 1) for v in truth["trajet_km"]],
    }
    path = folder / "enquete.csv"
    path.write_bytes(csv_text(written, ";").encode("utf-8-sig"))
    return OwnerFile("french_survey", str(path), truth, ("nom", "courriel", "téléphone"), None, "télétravail")


def spanish_register(folder: Path) -> OwnerFile:
    """A Spanish town's register in Latin-1: names with accents, national ids, bars between fields."""
    rng = np.random.default_rng(108)
    rows = 500
    names = person_names(rng, rows, "es")
    numbers = rng.choice(80_000_000, rows, replace=False) + 10_000_000
    streets = rng.choice(["Calle Mayor", "Avda. de la Constitución", "Plaza de España"], rows)
    truth: Truth = {
        "dni": [f"{n}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}" for n in numbers],
        "nombre": names,
        "dirección": [f"{s} {n}" for s, n in zip(streets, rng.integers(1, 200, rows), strict=True)],
        "nacimiento": days(rng, rows, date(1930, 1, 1), date(2006, 12, 31)),
        "año_alta": rng.integers(1990, 2024, rows).tolist(),
        "superficie_m2": rounded(rng.normal(92, 30, rows).clip(25, 400), 1),
        "hijos": rng.choice([0, 1, 2, 3, 9], rows, p=[0.4, 0.3, 0.2, 0.09, 0.01]).tolist(),
        "situación": rng.choice(
            ["ocupado", "parado", "jubilado", "señalado"], rows, p=[0.6, 0.15, 0.24, 0.01]
        ).tolist(),
    }
    written = truth | {"nacimiento": [day_text(d, "%d-%m-%Y") for d in truth["nacimiento"]]}
    path = folder / "padron.csv"
    path.write_bytes(csv_text(written, "|", end="\n").encode("latin-1"))
    return OwnerFile(
        "spanish_register", str(path), truth, ("dni", "nombre", "dirección", "nacimiento"), None, "situación"
    )


def utf16_export(folder: Path) -> OwnerFile:
    """A school's marks as Excel saves "Unicode text": UTF-16 with tabs, decimal commas."""
    rng = np.random.default_rng(109)
    pupils, rows = 200, 1000
    whose = rng.integers(0, pupils, rows)
    names = person_names(rng, pupils, "de")
    truth: Truth = {
        "Schüler": by_person(names, whose),
        "Schülernummer": [50_000 + 3 * int(p) for p in whose],
        "Datum": days(rng, rows, date(2023, 9, 1), date(2024, 7, 15)),
        "Fach": rng.choice(["Mathe", "Deutsch", "Englisch", "Physik"], rows).tolist(),
        "Note": [round(float(n) * 4) / 4 for n in rng.normal(2.7, 0.9, rows).clip(1, 6)],
        "Fehltage": rng.choice([0, 1, 2, 3, 20], rows, p=[0.6, 0.2, 0.12, 0.07, 0.01]).tolist(),
        "versetzt": rng.choice(["ja", "nein"], rows, p=[0.95, 0.05]).tolist(),
    }
    written = truth | {
        "Datum": [day_text(d, "%d.%m.%Y") for d in truth["Datum"]],
        "Note": [number_text(v, ",") for v in truth["Note"]],
    }
    path = folder / "noten.tsv"
    path.write_bytes(b"\xff\xfe" + csv_text(written, "\t").encode("utf-16-le"))
    return OwnerFile("utf16_export", str(path), truth, ("Schüler", "Schülernummer"), "Schülernummer", "versetzt")


def web_log(folder: Path) -> OwnerFile:
    """A shop's requests as JSON lines: UTC timestamps, addresses of machines and pages, keys that are absent at times."""
    rng = np.random.default_rng(110)
    users, rows = 300, 1500
    whose = rng.integers(0, users, rows)
    start = _midnight(date(2024, 5, 1))
    at = [start + timedelta(milliseconds=int(s)) for s in np.sort(rng.integers(0, 86_400_000 * 30, rows))]
    tokens = rng.integers(10**9, 10**10, users)
    truth: Truth = {
        "time": [t.date() for t in at],
        "user": [f"u{int(tokens[p]):x}" for p in whose],
        "ip": [f"{a}.{b}.{c}.{d}" for a, b, c, d in rng.integers(1, 250, (rows, 4))],
        "url": [f"https://shop.example/p/{n}?s={t:x}" for n, t in rng.integers([1, 10**6], [400, 10**8], (rows, 2))],
        "status": rng.choice([200, 304, 404, 500], rows, p=[0.85, 0.08, 0.06, 0.01]).tolist(),
        "bytes": np.exp(rng.normal(8.5, 1.6, rows)).astype(int).tolist(),
        "seconds": rounded(rng.exponential(0.3, rows), 3),
        "device": with_gaps(rng.choice(["phone", "desktop", "tablet"], rows, p=[0.6, 0.35, 0.05]).tolist(), rng, 0.03),
        "bought": rng.choice([False, True], rows, p=[0.96, 0.04]).tolist(),
    }
    stamps = [f"{t.isoformat(timespec='milliseconds')}Z" for t in at]
    lines = []
    for stamp, row in zip(stamps, zip(*truth.values(), strict=True), strict=True):
        entry = dict(zip(truth, row, strict=True)) | {"time": stamp}
        lines.append(json.dumps({k: v for k, v in entry.items() if v is not None}))
    path = folder / "requests.jsonl"
    path.write_bytes(("\n".join(lines) + "\n").encode())
    truth["bought"] = ["true" if b else "false" for b in truth["bought"]]
    return OwnerFile("web_log", str(path), truth, ("user", "ip", "url"), "user", "bought")


def clinic_database(folder: Path) -> OwnerFile:
    """A clinic's SQLite file, two tables joined by a query: a patient in several measurements."""
    rng = np.random.default_rng(111)
    people, rows = 240, 1100
    names = person_names(rng, people, "en")
    born = days(rng, people, date(1940, 1, 1), date(2000, 12, 31))
    smoker = rng.choice(["never", "former", "current"], people, p=[0.55, 0.3, 0.15]).tolist()
    whose = rng.integers(0, people, rows)
    truth: Truth = {
        "patient_id": [int(p) + 1 for p in whose],
        "name": by_person(names, whose),
        "born": by_person(born, whose),
        "smoker": by_person(smoker, whose),
        "visited": days(rng, rows, date(2021, 1, 1), date(2023, 12, 31)),
        "systolic": with_gaps(rng.normal(132, 18, rows).clip(80, 230).astype(int).tolist(), rng, 0.04),
        "crp": rounded(np.exp(rng.normal(1, 1.1, rows)), 1),
        "outcome": rng.choice(["stable", "worse", "died"], rows, p=[0.88, 0.11, 0.01]).tolist(),
    }
    path = folder / "clinic.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE patient (patient_id INTEGER PRIMARY KEY, name TEXT, born TEXT, smoker TEXT)")
        database.execute(
            "CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id INTEGER, visited TEXT, systolic INTEGER, crp REAL, outcome TEXT)"
        )
        patients = zip(range(1, people + 1), names, map(str, born), smoker, strict=True)
        database.executemany("INSERT INTO patient VALUES (?, ?, ?, ?)", patients)
        columns = (truth[c] for c in ("systolic", "crp", "outcome"))
        visits = zip(range(rows), truth["patient_id"], map(str, truth["visited"]), *columns, strict=True)
        database.executemany("INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?)", visits)
    database.close()
    query = "SELECT patient_id, name, born, smoker, visited, systolic, crp, outcome FROM visit JOIN patient USING (patient_id) ORDER BY id"
    table = f"sqlite:///{path}?query={query}"
    return OwnerFile("clinic_database", table, truth, ("patient_id", "name"), "patient_id", "outcome")


def yearly_parquet(folder: Path) -> OwnerFile:
    """A mobility provider's trips, a Parquet folder per year: typed timestamps, positions, a vehicle's plate."""
    rng = np.random.default_rng(112)
    riders, rows = 350, 1800
    whose = rng.integers(0, riders, rows)
    year = np.sort(rng.choice([2021, 2022, 2023], rows, p=[0.2, 0.35, 0.45]))
    seconds = rng.integers(0, 364 * 86_400, rows)
    begun = [_midnight(date(int(y), 1, 1)) + timedelta(seconds=int(s)) for y, s in zip(year, seconds, strict=True)]
    cards = [f"RC{n}" for n in rng.choice(900_000, riders, replace=False) + 100_000]
    plates = [f"B-{a}{b} {n}" for a, b, n in zip(rng.choice(list("KMXR"), 60), rng.choice(list("ABST"), 60),
                                                 rng.integers(100, 9999, 60), strict=True)]  # fmt: skip
    truth: Truth = {
        "rider": by_person(cards, whose),
        "begun": [b.date() for b in begun],
        "latitude": rounded(rng.normal(52.52, 0.05, rows), 5),
        "longitude": rounded(rng.normal(13.40, 0.08, rows), 5),
        "plate": rng.choice(plates, rows).tolist(),
        "minutes": np.exp(rng.normal(2.6, 0.7, rows)).astype(int).tolist(),
        "fare": with_gaps(rounded(2 + rng.exponential(5, rows)), rng, 0.01),
        "payment": rng.choice(["card", "app", "voucher"], rows, p=[0.5, 0.47, 0.03]).tolist(),
        "year": year.tolist(),
    }
    path = folder / "trips"
    types = {"begun": pa.timestamp("us")}
    for value in (2021, 2022, 2023):
        rows_of_year = np.flatnonzero(year == value)
        held = {n: [(begun if n == "begun" else v)[i] for i in rows_of_year] for n, v in truth.items() if n != "year"}
        table = pa.table({n: pa.array(v, types.get(n)) for n, v in held.items()})
        (path / f"year={value}").mkdir(parents=True)
        pq.write_table(table, path / f"year={value}" / "part-0.parquet")
    identifying = ("rider", "latitude", "longitude", "plate")
    return OwnerFile("yearly_parquet", str(path), truth, identifying, "rider", "payment")


MAKERS: tuple[Callable[[Path], OwnerFile], ...] = (
    german_hospital, us_claims, swiss_bank, likert_survey, sensor_log, sap_export, french_survey, spanish_register,
    utf16_export, web_log, clinic_database, yearly_parquet,
)  # fmt: skip
"""Every maker, in the order of the acceptance's list."""

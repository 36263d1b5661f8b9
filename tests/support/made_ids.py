"""Ids with right check digits, worked out here and not by the library that the recogniser asks."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

Draws = np.random.Generator
Maker = Callable[[Draws], str]
CONSONANTS = "BCDFGHJKLMNPRSTVWXYZ"


def digits(r: Draws, n: int) -> str:
    """Return n random digits."""
    return "".join(map(str, r.integers(0, 10, n)))


def letters(r: Draws, n: int, pool: str = string.ascii_uppercase) -> str:
    """Return n random letters of a pool."""
    return "".join(r.choice(list(pool), n))


def group(text: str, *sizes: int, mark: str = " ") -> str:
    """Cut a text into groups; the last size repeats."""
    parts = []
    while text:
        size = sizes[min(len(parts), len(sizes) - 1)]
        parts.append(text[:size])
        text = text[size:]
    return mark.join(parts)


def luhn(body: str) -> str:
    """Append the digit of Luhn."""
    total = sum(sum(divmod(int(d) * (2 if i % 2 == 0 else 1), 10)) for i, d in enumerate(reversed(body)))
    return body + str(-total % 10)


def weighted(body: str, weights: list[int], modulus: int) -> int:
    """Return the weighted sum of the digits modulo a number."""
    return sum(int(d) * w for d, w in zip(body, weights, strict=False)) % modulus


def ean(body: str) -> str:
    """Append the check digit of EAN-13."""
    return body + str(-weighted(body, [1, 3] * 6, 10) % 10)


def birth(r: Draws) -> tuple[int, int, int]:
    """Draw a year, a month and a day of birth."""
    return int(r.integers(1935, 2009)), int(r.integers(1, 13)), int(r.integers(1, 29))


def birth_number(r: Draws, form: str) -> str:
    """Write a date of birth as %y%m%d would."""
    y, m, d = birth(r)
    return (
        form.replace("%Y", str(y)).replace("%y", f"{y % 100:02d}").replace("%m", f"{m:02d}").replace("%d", f"{d:02d}")
    )


def iban(country: str) -> Maker:
    """Return a maker of accounts of a country."""
    shapes = {"DE": "#" * 18, "FR": "#" * 20 + "@##", "ES": "#" * 20, "GB": "@@@@" + "#" * 14, "NL": "@@@@" + "#" * 10,
              "AT": "#" * 16, "CH": "#" * 17, "BE": "#" * 12, "IT": "@" + "#" * 22}  # fmt: skip

    def make(r: Draws) -> str:
        body = "".join(digits(r, 1) if c == "#" else letters(r, 1) for c in shapes[country])
        if country == "ES":
            checks = [
                -weighted(part, [1, 2, 4, 8, 5, 10, 9, 7, 3, 6], 11) % 11 for part in ("00" + body[:8], body[10:])
            ]
            body = body[:8] + "".join("1" if c == 10 else str(c) for c in checks) + body[10:]
        if country == "BE":
            body = body[:10] + f"{int(body[:10]) % 97 or 97:02d}"
        number = int("".join(str(int(c, 36)) for c in body + country + "00"))
        return f"{country}{98 - number % 97:02d}{body}"

    return make


def card(prefix: str, length: int) -> Maker:
    """Return a maker of card numbers."""
    return lambda r: luhn(prefix + digits(r, length - 1 - len(prefix)))


def ssn(r: Draws) -> str:
    return f"{r.integers(1, 666):03d}-{r.integers(1, 100):02d}-{r.integers(1, 10000):04d}"


def nino(r: Draws) -> str:
    return letters(r, 2, "ABCEHJKLMPRSTWXY") + digits(r, 6) + letters(r, 1, "ABCD")


def nir(r: Draws) -> str:
    y, m, _ = birth(r)
    body = (
        f"{r.integers(1, 3)}{y % 100:02d}{m:02d}{r.integers(1, 96):02d}{r.integers(1, 700):03d}{r.integers(1, 500):03d}"
    )
    return body + f"{97 - int(body) % 97:02d}"


def dni(r: Draws) -> str:
    n = int(r.integers(1_000_000, 99_999_999))
    return f"{n:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}"


def nie(r: Draws) -> str:
    first, body = int(r.integers(0, 3)), digits(r, 7)
    return f"{'XYZ'[first]}{body}{'TRWAGMYFPDXBNJZSQVHLCKE'[int(str(first) + body) % 23]}"


def steuer_id(r: Draws) -> str:
    while True:
        pool = list(r.permutation(10))
        body = [*pool[:9], pool[int(r.integers(0, 9))]]
        r.shuffle(body)
        if body[0] != 0:
            break
    product = 10
    for d in body:
        product = ((int(d) + product) % 10 or 10) * 2 % 11
    return "".join(map(str, body)) + str((11 - product) % 10)


def rentenversicherung(r: Draws) -> str:
    letter = letters(r, 1)
    body = (
        f"{r.integers(2, 90):02d}" + birth_number(r, "%d%m%y") + f"{ord(letter) - 64:02d}" + f"{r.integers(0, 100):02d}"
    )
    total = sum(sum(divmod(int(d) * w, 10)) for d, w in zip(body, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1], strict=True))
    return body[:8] + letter + body[10:] + str(total % 10)


def kvnr(r: Draws) -> str:
    letter, body = letters(r, 1), digits(r, 8)
    number = f"{ord(letter) - 64:02d}{body}"
    total = sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(number))
    return f"{letter}{body}{total % 10}"


def ahv(r: Draws) -> str:
    return ean("756" + digits(r, 9))


def nhs(r: Draws) -> str:
    while True:
        body = str(r.integers(4, 8)) + digits(r, 8)
        check = 11 - weighted(body, list(range(10, 1, -1)), 11)
        if check != 10:
            return body + str(check % 11)


def bsn(r: Draws) -> str:
    while True:
        body = str(r.integers(1, 10)) + digits(r, 7)
        check = weighted(body, list(range(9, 1, -1)), 11)
        if check < 10:
            return body + str(check)


def pesel(r: Draws) -> str:
    body = birth_number(r, "%y%m%d") + digits(r, 4)
    return body + str(-weighted(body, [1, 3, 7, 9] * 3, 10) % 10)


def belgian(r: Draws) -> str:
    body = birth_number(r, "%y%m%d") + f"{r.integers(1, 998):03d}"
    return body + f"{97 - int(body) % 97:02d}"


def personnummer(r: Draws) -> str:
    body = luhn(birth_number(r, "%y%m%d") + digits(r, 3))
    return f"{body[:6]}-{body[6:]}"


def cpf(r: Draws) -> str:
    body = digits(r, 9)
    for _ in range(2):
        rest = weighted(body, list(range(len(body) + 1, 1, -1)), 11)
        body += str(0 if rest < 2 else 11 - rest)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def rut(r: Draws) -> str:
    body = str(r.integers(5_000_000, 26_000_000))
    check = -weighted(body[::-1], [2, 3, 4, 5, 6, 7, 2, 3], 11) % 11
    return f"{int(body):,}".replace(",", ".") + "-" + "0123456789K"[check]


def codice_fiscale(r: Draws) -> str:
    y, _, d = birth(r)
    body = (
        letters(r, 6, CONSONANTS)
        + f"{y % 100:02d}"
        + letters(r, 1, "ABCDEHLMPRST")
        + f"{d + 40 * int(r.integers(0, 2)):02d}"
    )
    body += letters(r, 1, "ABCDEFGHIL") + f"{r.integers(1, 900):03d}"
    odd = dict(zip("0123456789", [1, 0, 5, 7, 9, 13, 15, 17, 19, 21], strict=True)) | dict(
        zip(string.ascii_uppercase, [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23], strict=True)
    )  # fmt: skip
    total = sum(odd[c] if i % 2 == 0 else int(c, 36) - 10 * c.isalpha() for i, c in enumerate(body))
    return body + string.ascii_uppercase[total % 26]


def curp(r: Draws) -> str:
    body = letters(r, 1) + letters(r, 1, "AEIOU") + letters(r, 2) + birth_number(r, "%y%m%d") + letters(r, 1, "HM")
    body += str(r.choice(["DF", "JC", "NL", "PL", "VZ", "MC"])) + letters(r, 3, CONSONANTS) + digits(r, 1)
    alphabet = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
    return body + str(-sum(alphabet.index(c) * (18 - i) for i, c in enumerate(body)) % 10)


def nuss(r: Draws) -> str:
    body = f"{r.integers(1, 53):02d}{r.integers(10_000_000, 99_999_999)}"
    return body + f"{int(body) % 97:02d}"


def npi(r: Draws) -> str:
    return luhn("808401" + digits(r, 8))[5:]


def vin(r: Draws) -> str:
    pool = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
    body = letters(r, 1, "123WVJKS") + letters(r, 16, pool)
    value = dict(
        zip(
            "ABCDEFGHJKLMNPRSTUVWXYZ",
            [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9],
            strict=True,
        )
    )
    weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    total = sum((int(c) if c.isdigit() else value[c]) * w for c, w in zip(body, weights, strict=True)) % 11
    return body[:8] + "0123456789X"[total] + body[9:]


def pzn(r: Draws) -> str:
    while True:
        body = digits(r, 7)
        check = weighted(body, list(range(1, 8)), 11)
        if check < 10:
            return body + str(check)


def isin(r: Draws) -> str:
    body = str(r.choice(["US", "DE", "FR", "GB"])) + letters(r, 3) + digits(r, 6)
    number = "".join(str(int(c, 36)) for c in body)
    return body + luhn(number)[-1]


def cas(r: Draws) -> str:
    body = str(r.integers(50, 9999)) + digits(r, 2)
    return f"{body[:-2]}-{body[-2:]}-{sum(int(d) * (i + 1) for i, d in enumerate(reversed(body))) % 10}"

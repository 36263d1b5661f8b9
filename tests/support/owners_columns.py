"""Columns as owners write them: identifiers and innocent look-alikes, in four languages, with telling headers and with none.

Written without the recogniser's rules at hand. The corpus is cut in two: one half to improve the recogniser by, and one that is
only ever measured. A column has 600 rows of 60 people or things, or fewer, so that none is withheld for being unique.
"""

from __future__ import annotations

import csv
import hashlib
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.support import made_ids as ids
from tests.support.made_ids import Draws, Maker, digits, group, letters

from sfumato.plans import Plan

THINGS, ROWS = 60, 600
GIVEN = {
    "en": "James Olivia Harper Mason Grace Ella Noah Ava Logan Ruby Freya Oscar Isla Archie Poppy Kayleigh Darren Nigel Sharon Trevor Gemma Craig Tracey Gareth",
    "de": "Leonie Maximilian Ulrike Jörg Günther Käthe Björn Birgit Anneliese Detlef Heinz Kerstin Malte Nele Svenja Torsten Ute Volker Wolfgang Hildegard",
    "fr": "Geneviève Benoît Thibault Maëlle Océane Gaël Françoise Jérôme Raphaël Noémie Quentin Sandrine Cédric Aurélie Loïc Odile Régis Yvette Zoé Guillaume",
    "es": "Begoña Íñigo Montserrat Joaquín Ximena Andrés Inmaculada José Raúl Verónica Yolanda Gonzalo Ángel Pilar Belén Ignacio Mónica Óscar Teresa Víctor",
}  # fmt: skip
STEMS = {
    "en": ("Black White Hart Wood Thorn Ash Birch Stan Whit Nor Hal Brad Ed Lang Marsh Pem Cran Kings Al Har", "ford ton field ley worth well wick burn shaw man bury combe ridge by stone son croft"),
    "de": ("Stein Rosen Ober Nieder Kirch Berg Feld Wald Linden Eich Hohen Grün Schön Brück Mühl Winter Sommer Vogel Rüt Göt", "bach berger mann feld hauer meier müller hofer stein ler inger mayr huber bauer ner hagen"),
    "fr": ("Beau Mont Ville Cham Char Grand Bel Fort Clair Du La Le De Val Roche Font Haute Bour Per Gré", "mont champ court ville pré beau lain rier teau geois nier reux dier goire lot blanc noît chet"),
    "es": ("Rodrígu Fernánd Hernánd Gutiérr Jimén Domíngu Velázqu Ordóñ Benít Suár Márqu Núñ Ibáñ Ramír Valdés Cort Galv Peral", "ez ez ez eda ano ero al edo illa uera ado"),
}  # fmt: skip
STREETS = {
    "en": "{n} {w} {k}|Street Road Lane Avenue Close Drive Way",
    "de": "{w}{k} {n}|straße weg allee platz gasse str.",
    "fr": "{n} {k} {w}|rue|avenue|boulevard|place|chemin des|rue de la|impasse",
    "es": "{k} {w}, {n}|Calle|Avda.|Plaza|C/|Paseo de la|Camino de",
}


@dataclass(frozen=True)
class OwnersColumn:
    """A column, its kind, and whether it is a direct identifier."""

    kind: str
    name: str
    values: tuple[str, ...]
    direct: bool
    held_out: bool


# ---- people


def given(language: str) -> Maker:
    """Draw a first name, sometimes a double one."""
    pool = GIVEN[language].split()

    def make(r: Draws) -> str:
        first = str(r.choice(pool))
        return f"{first}-{r.choice(pool)}" if r.random() < 0.08 else first

    return make


def family(language: str) -> Maker:
    """Compose a surname; Spanish ones come in pairs."""
    stems, ends = (s.split() for s in STEMS[language])

    def one(r: Draws) -> str:
        return f"{r.choice(stems)}{r.choice(ends)}"

    return (lambda r: f"{one(r)} {one(r)}") if language == "es" else one


def full(language: str, form: str = "{g} {f}") -> Maker:
    """Write a name in a form: g given, f family, i initial, G and F upper case."""
    g, f = given(language), family(language)

    def make(r: Draws) -> str:
        a, b = g(r), f(r)
        title = {"de": ["Herr", "Frau"], "en": ["Mr", "Mrs", "Dr"], "fr": ["M.", "Mme"], "es": ["D.", "Dña."]}[language]
        return form.format(
            g=a, f=b, i=a[0], G=a.upper(), F=b.upper(), j=letters(r, 1, "ABCDEFGHJKLMNPRST"), t=r.choice(title)
        )

    return make


def plain(text: str) -> str:
    """Write a name as an account would."""
    for a, b in zip("äöüßéèêëáíóúñçâîôûïÉÍÓÁ", "aousEeeeaiouncaiouieioa", strict=True):
        text = text.replace(a, b.lower())
    return "".join(c for c in text.lower() if c.isalpha())


def mail(language: str, form: str) -> Maker:
    """Write an address of a person: g, f, i, y (year), h (host)."""
    g, f = given(language), family(language)
    hosts = {"en": ["gmail.com", "outlook.com", "nhs.net", "btinternet.com"], "de": ["web.de", "gmx.de", "t-online.de"], "fr": ["orange.fr", "free.fr", "wanadoo.fr"], "es": ["hotmail.es", "telefonica.net", "yahoo.es"]}  # fmt: skip
    return lambda r: form.format(
        g=plain(g(r)),
        f=plain(f(r)),
        i=plain(g(r))[:1],
        y=r.integers(50, 99),
        h=r.choice(hosts[language]),
        n=digits(r, 3),
    )


def number(pattern: str) -> Maker:
    """# is a digit, ~ a digit but 0, @ a capital letter, * a hexadecimal digit, _ a capital letter or digit."""
    pools = {
        "#": "0123456789",
        "~": "123456789",
        "@": "ABCDEFGHJKLMNPRSTUVWXYZ",
        "*": "0123456789abcdef",
        "_": "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789",
    }
    return lambda r: "".join(str(r.choice(list(pools[c]))) if c in pools else c for c in pattern)


def either(*makers: Maker) -> Maker:
    """Draw from one of several makers each time, as files that several people filled do."""
    return lambda r: makers[int(r.integers(0, len(makers)))](r)


def street(language: str, tail: str = "") -> Maker:
    """Compose a street and a number."""
    form, kinds = STREETS[language].split("|", 1)
    pool = kinds.split("|") if "|" in kinds else kinds.split()
    f = family(language)
    return lambda r: (
        form.format(n=r.integers(1, 180), w=f(r).split()[0], k=r.choice(pool)) + tail.replace("#####", digits(r, 5))
    )


def three_words(r: Draws) -> str:
    """Name a square of three metres by three words."""
    pool = ["filled", "count", "soap", "index", "home", "raft", "daring", "lion", "race", "panda", "table", "frost"]
    return ".".join(r.choice(pool, 3))


def note(language: str) -> Maker:
    """Compose a sentence or two as a ward or a call centre writes them."""
    parts = {
        "en": ("Patient|Caller|Client|Wife of patient|Daughter", "reports|denies|complains of|asked about|is worried about", "chest pain|the last bill|sleeping badly|moving house|a fall in the kitchen|her medication", "since Monday|after work|again|, will call back|, see letter|and wants a copy"),
        "de": ("Patientin|Kunde|Anruferin|Ehemann|Der Nachbar", "klagt über|berichtet von|fragt nach|wünscht|bestreitet", "Schmerzen im Knie|der letzten Rechnung|Schlafstörungen|einem Rückruf|einen Sturz", "seit gestern|nach der Arbeit|, bitte dringend|, s. Brief|und hat Angst"),
        "fr": ("La patiente|Le client|Sa fille|L'assuré|Le voisin", "se plaint de|signale|demande|ne comprend pas|souhaite", "douleurs au dos|sa facture|un rappel|le remboursement|une chute", "depuis hier|après le travail|, à rappeler|, voir courrier|et reste inquiet"),
        "es": ("La paciente|El cliente|Su hija|El asegurado|Un vecino", "refiere|niega|pregunta por|se queja de|solicita", "dolor de espalda|la última factura|insomnio|una copia|una caída", "desde ayer|al salir del trabajo|, llamar mañana|, ver carta|y está preocupada"),
    }[language]  # fmt: skip
    pools = [p.split("|") for p in parts]

    def make(r: Draws) -> str:
        one = " ".join(str(r.choice(p)) for p in pools).replace(" ,", ",")
        return one + "." + (f" {' '.join(str(r.choice(p)) for p in pools)}." if r.random() < 0.6 else "")

    return make


def date(form: str, low: int, high: int) -> Maker:
    """Draw a date between two years."""

    def make(r: Draws) -> str:
        y, m, d = int(r.integers(low, high)), int(r.integers(1, 13)), int(r.integers(1, 29))
        return form.format(y=y, m=m, d=d)

    return make


def position(form: str) -> Maker:
    """Draw a place in western Europe."""

    def make(r: Draws) -> str:
        lat, lon = r.uniform(37, 54), r.uniform(-5, 14)
        return form.format(
            lat=lat, lon=lon, comma=f"{lat:.6f}".replace(".", ","),
            a=int(lat), b=int(lat % 1 * 60), c=r.uniform(0, 60), e=int(abs(lon)), f=r.integers(0, 60), g=r.uniform(0, 60), w="EW"[lon < 0],
        )  # fmt: skip

    return make


def url(form: str) -> Maker:
    """Write the page of a person."""
    return lambda r: form.format(
        u=plain(full(str(r.choice(["en", "fr", "es"])), "{g}{f}")(r)), n=digits(r, 7), h=number("*" * 11)(r)
    )


def ip6(r: Draws) -> str:
    return "2a02:" + ":".join(f"{int(x):x}" for x in r.integers(0, 65536, 3)) + "::" + f"{int(r.integers(1, 65536)):x}"


def hashed(kind: str) -> Maker:
    return lambda r: hashlib.new(kind, digits(r, 12).encode()).hexdigest()


def guid(r: Draws) -> str:
    return str(uuid.UUID(bytes=r.bytes(16), version=4))


def login(form: str) -> Maker:
    """Write the name of an account."""
    g, f = given("en"), family("en")
    words = ["sunny", "moto", "pixel", "tiger", "river", "shadow", "green", "lucky"]
    return lambda r: form.format(g=plain(g(r)), f=plain(f(r)), i=plain(g(r))[0], w=r.choice(words), n=r.integers(1, 99))


def upper(maker: Maker) -> Maker:
    return lambda r: maker(r).upper()


def cut(maker: Maker, *sizes: int, mark: str = " ") -> Maker:
    return lambda r: group(maker(r), *sizes, mark=mark)


DIRECT: dict[str, list[tuple[str, Maker]]] = {
    "names": [
        ("Nachname", family("de")), ("NACHNAME", upper(family("de"))), ("Vorname", given("de")), ("Pat_Name", full("de", "{f}, {g}")), ("Ansprechpartner", full("de", "{t} {f}")),
        ("Name, Vorname", full("de", "{f}, {g}")), ("Versicherter", full("de")), ("behandelnder Arzt", full("de", "Dr. {f}")), ("F3", full("de")), ("col7", full("de", "{F}, {g}")),
        ("lastName", family("en")), ("first_nm", given("en")), ("cust_full_nm", full("en")), ("Emergency contact", full("en")), ("guardian", full("en", "{t} {f}")), ("V12", full("en", "{f}, {g} {j}.")),
        ("Unnamed: 0", full("en", "{g} {j}. {f}")), ("NAME_OF_INSURED", full("en", "{G} {F}")), ("attending", full("en", "{i}. {f}")), ("middleInitialAndSurname", full("en", "{j}. {f}")),
        ("nom de famille", family("fr")), ("NOM", upper(family("fr"))), ("prénom", given("fr")), ("NomPrenom", full("fr", "{F} {g}")), ("medecin_traitant", full("fr", "Dr {f}")), ("champ4", full("fr")), ("conjoint", full("fr")),
        ("Apellidos", family("es")), ("apellido1", lambda r: family("es")(r).split()[0]), ("Nombre y apellidos", full("es")), ("nombre_pac", given("es")), ("titular", full("es", "{F}, {G}")), ("X5", full("es", "{f}, {g}")), ("Médico", full("es", "Dr. {f}")),
    ],
    "e-mail": [
        ("E-Mail-Adresse", mail("de", "{g}.{f}@{h}")), ("Mail privat", mail("de", "{i}.{f}{y}@{h}")), ("contactEmail", mail("en", "{g}.{f}+{n}@{h}")), ("F7", mail("en", "{g}_{f}@{h}")), ("courriel", mail("fr", "{g}-{f}@{h}")),
        ("correo_e", mail("es", "{g}{y}@{h}")), ("CORREO", upper(mail("es", "{f}.{g}@{h}"))), ("col_19", either(mail("en", "{g}.{f}@{h}"), lambda r: "n/a")), ("login", mail("fr", "{f}{y}@{h}")), ("replyTo", mail("en", "{g} {f} <{g}.{f}@{h}>")),
    ],
    "phones": [
        ("Tel.", number("0~## / ######")), ("Telefon priv.", either(number("030 #######"), number("0171-#######"))), ("Handynr", number("+49 17# #######")), ("Rückrufnummer", number("0049~########")), ("Fax", number("(089) ######-##")),
        ("phone_home", number("(~##) ~##-####")), ("cell", number("~##-~##-####")), ("Daytime Phone", number("+1 ~## ~## ####")), ("contact no", number("07### ######")), ("work_ph", number("020 7### #### ext. ###")), ("mobileNumber", number("+447#########")),
        ("Tél", number("0~ ## ## ## ##")), ("portable", number("06.##.##.##.##")), ("tel_domicile", number("+33 (0)~ ## ## ## ##")), ("Teléfono fijo", number("9~# ## ## ##")), ("móvil", number("+34 6## ### ###")), ("tlf", number("6########")),
        ("col11", number("+49 (0)30 ########")), ("F8", number("06 ## ## ## ##")), ("Var9", number("(~##) ~##-####")), ("c_14", number("+44 20 #### ####")),
    ],
    "accounts": [
        ("IBAN", cut(ids.iban("DE"), 4)), ("Bankverbindung", ids.iban("DE")), ("kontonr", number("~#########")), ("F14", cut(ids.iban("FR"), 4)), ("rib", ids.iban("FR")), ("cuenta", cut(ids.iban("ES"), 4)), ("IBAN Kontoinhaber", either(ids.iban("AT"), ids.iban("CH"))),
        ("acct_no", number("~#######")), ("col20", ids.iban("NL")), ("num_cuenta", number("####-####-##-##########")), ("bankAccount", cut(ids.iban("GB"), 4)), ("Field3", ids.iban("BE")),
        ("cc_number", cut(ids.card("4", 16), 4)), ("Kreditkarte", cut(ids.card("53", 16), 4, mark="-")), ("carte bancaire", ids.card("4", 16)), ("F15", ids.card("37", 15)), ("tarjeta", cut(ids.card("5412", 16), 4)), ("PAN", ids.card("4", 16)), ("payment", cut(ids.card("34", 15), 4, 6, 5)),
    ],
    "national ids": [
        ("SSN", ids.ssn), ("soc_sec", lambda r: ids.ssn(r).replace("-", "")), ("col8", ids.ssn), ("NI number", cut(ids.nino, 2)), ("nat_ins", ids.nino), ("NIR", ids.nir), ("n_secu", cut(ids.nir, 1, 2, 2, 2, 3, 3, 2)), ("F21", ids.nir),
        ("DNI/NIF", ids.dni), ("doc_identidad", either(ids.dni, ids.nie)), ("NIE", cut(ids.nie, 1, 7, 1, mark="-")), ("V31", ids.dni), ("Identifikationsnr", cut(ids.steuer_id, 2, 3)), ("IdNr", ids.steuer_id), ("RVNR", ids.rentenversicherung), ("SV-Nummer", cut(ids.rentenversicherung, 2, 6, 1, 3)),
        ("KVNR", ids.kvnr), ("eGK", ids.kvnr), ("spalte5", ids.rentenversicherung), ("AHVN13", cut(lambda r: ids.ahv(r), 3, 4, 4, 2, mark=".")), ("F30", cut(ids.ahv, 3, 4, 4, 2, mark=".")), ("nhsNumber", cut(ids.nhs, 3, 3, 4)), ("NHS_NO", ids.nhs), ("BSN", ids.bsn),
        ("burgerservicenummer", ids.bsn), ("PESEL", ids.pesel), ("INSZ", cut(ids.belgian, 6, 3, 2, mark="-")), ("personnr", ids.personnummer), ("cpf_titular", ids.cpf), ("RUT", ids.rut), ("codice_fiscale", ids.codice_fiscale), ("col33", ids.codice_fiscale), ("CURP", ids.curp),
        ("NUSS", ids.nuss), ("afiliación seg. social", cut(ids.nuss, 2, 8, 2, mark="/")), ("provider_npi", ids.npi), ("tax_id", lambda r: "9" + digits(r, 2) + "-7" + digits(r, 1) + "-" + digits(r, 4)), ("num_fiscal", number("~############")),
    ],
    "documents": [
        ("passport", number("#########")), ("Reisepassnr", number("C__HK____")), ("passeport", number("##@@#####")), ("n_pasaporte", number("@@@######")), ("Ausweisnummer", number("L________")), ("driving_licence", lambda r: ids.letters(r, 5) + digits(r, 6) + letters(r, 2) + digits(r, 1) + letters(r, 2)),
        ("Führerscheinnr", number("B072@@@##@#")), ("permiso_conducir", ids.dni), ("carte_identite", number("############")), ("visa_no", number("########")), ("Aufenthaltstitel", number("Y########")), ("DL#", number("@#######")),
    ],
    "plates": [
        ("Kennzeichen", number("M-@@ ~###")), ("KFZ", either(number("B-@@ ~##"), number("HH-@ ~###"), number("KA @@ ~##"))), ("immat", number("@@-###-@@")), ("plaque", number("@@ ### @@")), ("Matrícula", lambda r: f"{digits(r, 4)} {letters(r, 3, ids.CONSONANTS)}"),
        ("reg_no", number("@@## @@@")), ("licensePlate", number("@@@-####")), ("F17", number("@@-###-@@")), ("vehicle_reg", number("@@##@@@")), ("VIN", ids.vin), ("Fahrgestellnr", ids.vin), ("col40", ids.vin), ("tag", number("~@@@###")),
    ],
    "network": [
        ("client_ip", lambda r: ".".join(map(str, r.integers(1, 255, 4)))), ("src", lambda r: "10.{}.{}.{}".format(*r.integers(0, 255, 3))), ("F2", lambda r: "192.168.{}.{}".format(*r.integers(0, 255, 2))), ("ipv6", ip6), ("host_addr", ip6),
        ("mac", cut(number("*" * 12), 2, mark=":")), ("wifi_mac", upper(cut(number("*" * 12), 2, mark="-"))), ("col9", cut(number("*" * 12), 2, mark=":")), ("imei", ids.card("35", 15)), ("IMSI", number("26201##########")), ("device", hashed("sha1")),
        ("iccid", lambda r: ids.luhn("8949" + digits(r, 14))), ("gerät_id", upper(guid)), ("advertisingId", guid), ("deviceSerial", number("R58M@#####@")), ("endpoint", lambda r: ".".join(map(str, r.integers(1, 255, 4))) + ":" + str(r.integers(1024, 65535))),
        ("session", number("*" * 32)), ("cookie_id", number("GA1.2.~########.16########")),
    ],
    "urls": [
        ("profile", url("https://www.linkedin.com/in/{u}-{n}")), ("Webseite", url("www.{u}.de")), ("page perso", url("http://{u}.free.fr/")), ("perfil", url("https://facebook.com/{u}")), ("F6", url("https://example.org/users/{n}")), ("photo_url", url("https://cdn.example.com/p/{h}.jpg")), ("twitter", url("@{u}")),
    ],
    "places": [
        ("gps", position("{lat:.5f}, {lon:.5f}")), ("Standort", position("{lat:.6f};{lon:.6f}")), ("coordinates", position("({lat:.6f}, {lon:.6f})")), ("pickup", position("POINT ({lon:.6f} {lat:.6f})")), ("position", position("{a}°{b}'{c:.1f}\"N {e}°{f}'{g:.1f}\"{w}")), ("F10", position("{a}° {b}′ {c:.2f}″ N, {e}° {f}′ {g:.2f}″ {w}")),
        ("latitude", position("{lat:.6f}")), ("LONG", position("{lon:.6f}")), ("Breitengrad", position("{lat:.5f}")), ("home_lat", position("{lat:.7f}")), ("longitud", position("{lon:.6f}")), ("geo_lng", position("{lon:.5f}")),
    ],
    "addresses": [
        ("Anschrift", street("de", ", ##### Kirchfeld")), ("Straße/Hausnr.", street("de")), ("Str.", street("de")), ("F4", street("de")), ("addr1", street("en")), ("home_address", street("en", ", Apt 4B")), ("residence", street("en")), ("col12", street("en")), ("mailing", either(street("en"), number("PO Box ####"))),
        ("adresse_postale", street("fr", ", ##### Montclair")), ("domicile", street("fr")), ("voie", street("fr")), ("champ9", street("fr")), ("Dirección", street("es")), ("domicilio", street("es", ", ##### Valdehermoso")), ("F13", street("es")), ("what3words", three_words),
    ],
    "accounts of people": [
        ("username", login("{i}{f}")), ("user", login("{w}_{w}{n}")), ("Benutzername", login("{g}.{f}")), ("nickname", login("{w}{n}")), ("screen_name", login("{g}_{n}")), ("identifiant", login("{f}{i}")), ("usuario", login("{g}{n}")), ("alias", login("{w}{f}")), ("AD-Kennung", login("{f}{n}")), ("skype", login("live:{g}.{f}")),
    ],
    "numbers of people": [
        ("MRN", number("~######")), ("Pat.-Nr.", number("~#####")), ("PatientenID", number("P######")), ("Fallnr", number("~#########")), ("chart_no", number("##-##-##")), ("subject_id", number("S-###-####")), ("PersNr", number("~####")), ("emp_no", number("E~####")), ("membership_no", number("M#######")), ("custId", number("C########")),
        ("Kd-Nr", number("~######")), ("Vertragsnummer", number("VN-####-######")), ("policy_no", number("@@######")), ("IPP", number("8##########")), ("no_dossier", number("####/#####")), ("num_adherent", number("~######")), ("code client", number("CL#####")), ("N.º historia", number("~######")), ("num_socio", number("~####")), ("expediente", number("EXP-####/##")),
        ("student_nr", number("s~######")), ("respondent", number("~####")), ("case_id", number("~#######")), ("Probanden-ID", number("PRB###")), ("loan_id", number("LN~#######")), ("claimant", number("~#######")), ("Aktenzeichen", number("## C ###/##")), ("badge", number("~####")), ("library_card", number("2~##########")), ("meter_no", number("1EMH00########")),
    ],
    "hashes": [
        ("pid_hash", hashed("sha256")), ("pseudonym", hashed("md5")), ("F1", hashed("md5")), ("uid", guid), ("guid", upper(guid)), ("col2", guid), ("person_key", hashed("sha256")), ("token", number("tok_" + "_" * 16)), ("rec", number("*" * 24)), ("schlüssel", hashed("sha1")),
    ],
    "free text": [
        ("Bemerkung", note("de")), ("Anamnese", note("de")), ("remarks", note("en")), ("F22", note("en")), ("call_notes", note("en")), ("commentaire", note("fr")), ("observations", note("fr")), ("observaciones", note("es")), ("Freitext", note("de")), ("motivo_consulta", note("es")), ("V40", note("fr")), ("complaint_txt", note("en")),
    ],
}  # fmt: skip


# ---- things


def words(text: str, mark: str | None = None) -> Maker:
    """Draw one of a few labels."""
    pool = text.split(mark) if mark else text.split()
    return lambda r: str(r.choice(pool))


def join(form: str, *texts: str) -> Maker:
    """Compose a label of parts."""
    pools = [t.split("|") for t in texts]
    return lambda r: form.format(*(str(r.choice(p)) for p in pools))


def amount(form: str, centre: float, spread: float = 0.8, swap: bool = False) -> Maker:
    """Draw a skew amount, in English or German spelling."""

    def make(r: Draws) -> str:
        text = form.format(float(np.exp(r.normal(np.log(centre), spread))))
        return text.translate(str.maketrans(",.", ".,")) if swap else text

    return make


def whole(low: int, high: int, form: str = "{}") -> Maker:
    return lambda r: form.format(int(r.integers(low, high)))


def real(low: float, high: float, form: str = "{:.3f}") -> Maker:
    return lambda r: form.format(r.uniform(low, high))


def sku(text: str) -> Maker:
    return number(text)


HARMLESS: dict[str, list[tuple[str, Maker]]] = {
    "products": [
        ("Artikel", join("{0}{1} {2}", "Kaffee|Wasser|Akku|Garten|Bügel|Staub", "maschine|kocher|schrauber|sauger|brett|filter", "Pro|Classic|Mini|XL|Plus")), ("Produktname", join("{0} {1}", "Ultra|Nova|Terra|Aqua|Solar", "Clean|Max|Fresh|Soft|Power")), ("product_name", join("{0} {1} {2}", "Wireless|Folding|Steel|Cotton|Garden", "Mouse|Chair|Bottle|Towel|Hose", "2-pack|Black|Large|Set")),
        ("nom_produit", join("{0} {1}", "Crème|Savon|Huile|Lait|Gel", "Douceur|Nature|Confort|Éclat|Fraîcheur")), ("nombre_producto", join("{0} {1}", "Aceite|Queso|Jamón|Vino|Pan", "Serrano|Tierno|Reserva|Integral|Virgen")), ("F5", join("{0} {1}", "chair|table|lamp|desk|shelf", "oak|white|steel|small|round")),
        ("Marke", words("Bosch Siemens Braun Miele Porsche Liebherr Knorr Oetker Beiersdorf Henkel")), ("brand", words("Dyson Ford Kellogg Gillette Chrysler Hoover Heinz Mars Lipton Wrangler")), ("marque", words("Renault Peugeot Michelin Citroën Lacoste Dior Chanel Hermès Bic Moulinex")), ("marca", words("Seat Zara Loewe Osborne Torres Codorníu Mango Camper")),
        ("model", join("{0} {1}", "Ford|Opel|Fiat|Seat|Honda", "Fiesta|Corsa|Panda|Ibiza|Civic")), ("Gericht", join("{0} {1}", "Wiener|Zürcher|Leipziger|Berliner", "Schnitzel|Geschnetzeltes|Allerlei|Bulette")), ("drug", words("Ibuprofen Metformin Atorvastatin Omeprazole Amlodipine Ramipril Warfarin Citalopram")), ("Wirkstoff", words("Paracetamol Bisoprolol Pantoprazol Torasemid Simvastatin Candesartan")),
        ("wine", join("{0} {1}", "Château|Domaine|Clos", "Margaux|Latour|Montrose|Palmer|Talbot")), ("description", join("{0}, {1}, {2}", "100% cotton t-shirt|waterproof jacket|running shoe|knitted scarf", "navy|black|olive|white", "size S|size M|size L")), ("perfume", words("Chloé|Lolita|Kenzo|Opium|Poison|Samsara|Shalimar", "|")),
    ],
    "places of many": [
        ("Wohnort", words("Köln Hamburg Mannheim Fürth Würzburg Steinbach Rosenheim Bergisch-Gladbach Essen Kassel")), ("Ort", words("München|Bad Homburg|Frankfurt am Main|Freiburg|St. Ingbert|Neustadt", "|")), ("city", words("San Antonio|Los Angeles|Houston|Charlotte|Austin|Madison|Jackson|Florence", "|")), ("town", words("Stratford Bradford Preston Ashton Kingston Hartley Burnley Skelton")),
        ("ville", words("Lyon|Saint-Étienne|Clermont-Ferrand|Le Mans|Nancy|Lourdes|La Rochelle", "|")), ("municipio", words("Córdoba|San Sebastián|Santiago|Las Palmas|Torrejón de Ardoz|Cuenca", "|")), ("Geburtsland", words("Deutschland Türkei Polen Syrien Italien Georgien Jordanien")), ("state", words("Virginia Georgia Carolina Dakota Washington Montana Indiana")), ("county", words("Kent Norfolk Dorset Clare Kerry Devon Lincoln Stafford")),
        ("Bundesland", words("Bayern Hessen Sachsen Saarland Thüringen Brandenburg")), ("département", words("Ain Jura Var Gironde Finistère Landes Aube")), ("provincia", words("Álava León Lugo Soria Teruel Zamora Toledo")), ("nationality", words("British French German Spanish Irish Dutch")), ("airport", words("MUC FRA CDG MAD LHR BCN ORY DUS")), ("NUTS3", words("DE212 DE300 FR101 ES300 ES511 DE600")),
        ("office", join("{0} {1}", "North|South|East|West", "London|Leeds|Paris|Madrid")), ("region_code", words("R1 R2 R3 R4 R5 R6")), ("Stadtteil", words("Altona Eimsbüttel Wandsbek Bergedorf Harburg Barmbek")),
    ],
    "postal codes": [
        ("PLZ", lambda r: f"{int(r.integers(1, 20)) * 5000 + 115:05d}"), ("zip", lambda r: f"{int(r.integers(10, 99)) * 1000 + 1:05d}"), ("ZIP+4", lambda r: f"{int(r.integers(10, 40)):02d}001-{int(r.integers(1, 3)):04d}"), ("code postal", lambda r: f"{int(r.integers(1, 20)):02d}000"), ("cp", lambda r: f"{int(r.integers(1, 52)):02d}001"), ("postcode", lambda r: f"{r.choice(['LS', 'M', 'B', 'SW'])}{int(r.integers(1, 9))}"), ("post_town_area", words("EC1 EC2 N1 N7 SE5 W2")),
    ],
    "codes of medicine": [
        ("ICD", lambda r: f"{letters(r, 1, 'EIJKM')}{int(r.integers(10, 40))}.{int(r.integers(0, 10))}"), ("diag1", lambda r: f"{letters(r, 1, 'CDGS')}{int(r.integers(10, 99))}"), ("icd9", lambda r: f"{int(r.integers(250, 300))}.{int(r.integers(0, 10))}"), ("ATC", lambda r: f"{letters(r, 1, 'ACJN')}0{int(r.integers(1, 9))}{letters(r, 2, 'ABCD')}0{int(r.integers(1, 9))}"), ("DRG", lambda r: f"{letters(r, 1, 'FGI')}{int(r.integers(10, 70))}{letters(r, 1, 'ABC')}"), ("OPS", lambda r: f"5-{int(r.integers(400, 900))}.{int(r.integers(10, 60))}"),
        ("pzn", ids.pzn), ("loinc", lambda r: f"{int(r.integers(1000, 40000))}-{int(r.integers(0, 10))}"), ("cpt", whole(99201, 99260)), ("HCPCS", lambda r: f"J{int(r.integers(1000, 1400))}"), ("ndc", lambda r: f"00{digits(r, 2)}-{digits(r, 4)}-{digits(r, 2)}"), ("snomed", whole(10000000, 400000000)), ("Diagnose", words("Asthma|Diabetes mellitus|Morbus Crohn|Hypertonie|Morbus Parkinson|Hodgkin-Lymphom", "|")),
        ("syndrome", words("Down|Turner|Marfan|Tourette|Sjögren|Behçet|Guillain-Barré", "|")), ("gene", words("BRCA1 TP53 EGFR KRAS APOE CFTR")), ("allele", join("HLA-{0}*{1}", "A|B|C|DRB1", "01:01|02:01|07:02|15:01")), ("Blutgruppe", words("A+ B+ 0- AB+ A-")), ("Bezugseinheit", words("mg/dl mmol/l g/l %")), ("blood_pressure", lambda r: f"{int(r.integers(95, 180))}/{int(r.integers(55, 110))}"),
    ],
    "codes of trade": [
        ("ArtNr", sku("10####")), ("SKU", sku("SK-###-@")), ("ean", lambda r: ids.ean("40" + digits(r, 10))), ("isbn", lambda r: ids.ean("978" + digits(r, 9))), ("ISIN", ids.isin), ("ticker", words("AAPL MSFT SAP BMW TTE SAN IBE VOW3")), ("cas_no", ids.cas), ("hs_code", lambda r: f"{int(r.integers(10, 97))}{int(r.integers(10, 99))}.{int(r.integers(10, 99))}"), ("NACE", lambda r: f"{int(r.integers(10, 97))}.{int(r.integers(10, 60))}"), ("flight", lambda r: f"{r.choice(['LH', 'AF', 'IB', 'BA'])} {int(r.integers(100, 140))}"),
        ("currency", words("EUR USD GBP CHF JPY")), ("Kostenstelle", whole(4000, 4060)), ("cost_center", lambda r: f"CC-{int(r.integers(100, 130))}"), ("GL account", whole(400000, 400040)), ("HTTP status", words("200 301 404 500 503")), ("warehouse", words("WH01 WH02 WH03 WH04")), ("batch", lambda r: f"B{int(r.integers(2019, 2024))}-{int(r.integers(1, 13)):02d}"), ("colour_hex", lambda r: "#" + number("******")(r).upper()), ("Farbe", words("rot blau grün gelb schwarz oliv")), ("colour", words("Amber Olive Hazel Violet Rose Ruby Jade Ivory")),
        ("version", lambda r: f"{int(r.integers(1, 4))}.{int(r.integers(0, 20))}.{int(r.integers(0, 9))}"), ("build", lambda r: f"10.0.{int(r.integers(17000, 22000))}.{int(r.integers(1, 900))}"), ("fw", lambda r: f"v{int(r.integers(1, 4))}.{int(r.integers(0, 9))}.{int(r.integers(0, 9))}-rc{int(r.integers(1, 4))}"), ("file_ext", words(".pdf .docx .jpg .xlsx .csv")), ("filetype", words("application/pdf image/png text/csv text/html")), ("locale", words("de_DE en_GB fr_FR es_ES")), ("tz", words("Europe/Berlin Europe/Paris America/New_York")), ("browser", join("{0} {1}.0", "Chrome|Firefox|Edge", "98|99|100|101")), ("tld", words(".de .com .fr .es .org")),
        ("part_no", sku("7##-####")), ("tariff", words("T-100 T-200 Flex-5 Flex-9")), ("slot", words("A-01 A-02 B-01 B-02 C-11")), ("ISRC_country", words("US GB DE FR")), ("chassis_type", words("W124 E46 MK4 F30 B8")), ("matricule_type", words("civil militaire diplomatique")),
    ],
    "amounts": [
        ("Rechnungsbetrag", amount("{:,.2f}", 900, swap=True)), ("invoice_total", amount("{:,.2f}", 900)), ("montant", amount("{:.2f}", 60)), ("importe", amount("{:.2f}", 45)), ("order_qty", whole(1, 50)), ("Menge", whole(1, 200)), ("cantidad", whole(1, 90)), ("salary", whole(22000, 98000)), ("Bruttogehalt", amount("{:.0f}", 3400, 0.3)), ("balance", amount("{:.2f}", 5200)), ("account_balance", amount("{:.2f}", 5200)), ("premium", amount("{:.2f}", 320)), ("prix_ttc", amount("{:.2f} €", 30)), ("cost_usd", amount("${:,.2f}", 500)), ("population", whole(200, 900000)), ("turnover", whole(100000, 90000000)), ("distance_m", whole(3, 42000)), ("bytes", whole(0, 4_000_000_000)), ("kwh", amount("{:.3f}", 2400, 0.4)), ("limit", words("1000 2500 5000 10000")),
    ],
    "measures": [
        ("temp_c", real(-12, 38, "{:.4f}")), ("voltage", real(3.1, 4.2, "{:.5f}")), ("Winkel", real(0, 360, "{:.6f}")), ("score", real(0, 1, "{:.6f}")), ("ratio", real(0.2, 3, "{:.7f}")), ("bmi", real(17, 41, "{:.6f}")), ("log_income", real(8, 12, "{:.5f}")), ("x", real(0, 1024, "{:.5f}")), ("pc1", real(-4, 4, "{:.6f}")), ("F9", real(40, 55, "{:.6f}")), ("gpa", real(1, 4, "{:.2f}")), ("pH", real(6.8, 7.6, "{:.2f}")), ("bearing", real(0, 359, "{:.4f}")), ("hemoglobin", real(9, 17, "{:.1f}")), ("lat_ms", real(10, 900, "{:.3f}")), ("longest_stay", whole(1, 90)), ("late_days", whole(0, 60)), ("latency", real(0.5, 80, "{:.4f}")), ("Breite", real(10, 90, "{:.4f}")), ("Länge_cm", real(45, 58, "{:.1f}")), ("rating", words("1 2 3 4 5")), ("stars", words("★ ★★ ★★★ ★★★★")), ("nps", whole(0, 11)),
    ],
    "dates": [
        ("Rechnungsdatum", date("{d:02d}.{m:02d}.{y}", 2019, 2024)), ("admission", date("{y}-{m:02d}-{d:02d}", 2019, 2024)), ("date_visite", date("{d:02d}/{m:02d}/{y}", 2019, 2024)), ("fecha_alta", date("{d:02d}-{m:02d}-{y}", 2019, 2024)), ("created_at", date("{y}-{m:02d}-{d:02d}T09:15:00Z", 2021, 2024)), ("F16", date("{y}-{m:02d}-{d:02d}", 2020, 2024)), ("Uhrzeit", lambda r: f"{int(r.integers(0, 24)):02d}:{int(r.integers(0, 60)):02d}:{int(r.integers(0, 60)):02d}"), ("duration", lambda r: f"{int(r.integers(0, 3))}:{int(r.integers(0, 60)):02d}:{int(r.integers(0, 60)):02d}"), ("month", words("Jan April May June August")), ("week", lambda r: f"2023-W{int(r.integers(1, 53)):02d}"), ("yyyymmdd", date("{y}{m:02d}{d:02d}", 2019, 2024)), ("epoch", whole(1_600_000_000, 1_700_000_000)), ("quarter", words("2022Q1 2022Q2 2022Q3 2023Q1")), ("Jahrgang", whole(1935, 2006)), ("anio_nac", whole(1935, 2006)),
    ],
    "sayings about identifiers": [
        ("email_opt_in", words("yes no")), ("mail_domain", words("gmail.com outlook.com web.de gmx.de")), ("phone_type", words("mobile home work")), ("tel_prefix", words("030 040 089 0221 0711")), ("Telefonminuten", whole(0, 900)), ("n_phone_calls", whole(0, 40)), ("has_passport", words("true false")), ("passport_country", words("DE FR ES GB")), ("id_type", words("DNI NIE Pasaporte")), ("card_brand", words("Visa Mastercard Amex")), ("card_last4", number("####")),
        ("Kundentyp", words("Privat Geschäft")), ("client_segment", words("A B C D")), ("type_client", words("particulier professionnel")), ("tipo_cliente", words("nuevo habitual vip")), ("patient_sex", words("m w d")), ("PatientenAlter", whole(18, 95)), ("user_agent", join("Mozilla/5.0 ({0}) {1}", "Windows NT 10.0|X11; Linux|Macintosh", "Gecko|WebKit|Trident")), ("account_type", words("savings current loan")), ("Kontoart", words("Giro Spar Depot")), ("address_type", words("home work other")), ("Adresszusatz_vorhanden", words("ja nein")), ("ip_version", words("4 6")), ("Anrede", words("Herr Frau Divers")), ("civilité", words("M. Mme")), ("title", words("Mr Mrs Ms Dr")), ("name_length", whole(5, 30)), ("member_since", whole(1990, 2024)), ("url_category", words("news sport shop mail")), ("plate_country", words("D F E GB NL")), ("comment_count", whole(0, 60)), ("n_notes", whole(0, 9)), ("contact_method", words("cellular telephone letter")), ("employee_grade", words("G1 G2 G3 G4 G5")), ("staff_count", whole(1, 500)), ("num_personas", whole(1, 7)), ("nb_enfants", whole(0, 6)), ("versicherungsart", words("GKV PKV BG")), ("num_sessions", whole(1, 80)), ("id_check", words("passed failed")), ("domicile_type", words("maison appartement foyer")), ("name_change", words("y n")),
    ],
    "labels of several words": [
        ("Abteilung", words("Innere Medizin|Human Resources|Forschung und Entwicklung|Einkauf|Controlling", "|")), ("job_title", words("Senior Engineer|Software Developer|Head Nurse|Team Lead|Sales Manager|Truck Driver", "|")), ("Beruf", words("Bäcker Schmied Müller Schneider Fischer Koch Förster")), ("occupation", words("Baker Cook Taylor Mason Carpenter Butler Potter")), ("métier", words("Boulanger Boucher Charpentier Berger Marchand")), ("profesión", words("Herrero Pastor Molinero Zapatero Abogado")), ("ward", words("Station 3B|Station 4A|Halle 7|Gate 5|Ebene 2", "|")), ("route", words("Route 66|Interstate 5|Highway 101|Road 9", "|")), ("survey_q1", words("Strongly agree|Agree|Neither agree nor disagree|Disagree|Strongly disagree", "|")), ("F18", words("Trifft voll zu|Trifft eher zu|Trifft eher nicht zu|Trifft nicht zu|Weiß nicht", "|")),
        ("opinion", words("I am satisfied with the service I received today.|I would have liked a little more time with the doctor.|I will not come back to this clinic again.|I do not know what to say about this visit.", "|")), ("species", words("Homo sapiens|Quercus robur|Canis lupus|Felis catus|Apis mellifera|Pinus sylvestris", "|")), ("Baumart", words("Fagus sylvatica|Picea abies|Abies alba|Betula pendula", "|")), ("taxon", words("Rosa Canina|Viola Odorata|Iris Germanica|Lilium Martagon", "|")), ("education", words("Some College|High School|Master Degree|Primary School", "|")), ("religion", words("Roman Catholic|Protestant|Sunni|Orthodox|None", "|")), ("marital", words("Never married|Divorced|Widowed|Married civil", "|")), ("league", words("Premier League|Serie A|La Liga|Bundesliga", "|")), ("team", words("Manchester United|Real Madrid|Bayern München|Olympique Lyon|Aston Villa", "|")), ("V8", words("heart failure|hip fracture|acute asthma|renal colic|atrial flutter", "|")), ("company", join("{0} {1}", "Meyer|Schmidt|Becker|Wolf|Krause", "GmbH|AG|KG|& Co. KG")), ("hospital", words("St. Mary's Hospital|King's College Hospital|Royal Free Hospital", "|")), ("Krankenkasse", words("AOK Bayern|Barmer|Techniker Krankenkasse|DAK", "|")), ("school", words("Gymnasium Nord|Realschule am Park|Schiller-Schule", "|")), ("fabric", words("Denim Tweed Jersey Paisley Satin")), ("flower", words("Lily Rose Iris Daisy Violet Heather")), ("cheese", words("Brie Gouda Manchego Emmental Roquefort Stilton")), ("planet", words("Mercury Venus Mars Jupiter Saturn")), ("size_of_flat", words("2 Zimmer|3 Zimmer|4 Zimmer|1 Zimmer", "|")), ("tariff_zone", words("Zone 1|Zone 2|Zone 3|Ring A", "|")), ("Schulabschluss", words("Abitur Hauptschule Realschule Promotion")), ("genre", words("Drama Comedy Horror Western")), ("cluster", whole(0, 12)), ("col5", words("low medium high")), ("col6", words("Alpha Beta Gamma Delta")), ("F11", whole(1, 40)), ("F19", words("North South East West")), ("F20", words("A1 A2 B1 B2 C1 C2")),
    ],
}  # fmt: skip

BIRTHS: list[tuple[str, Maker]] = [
    ("Geb.-Datum", date("{d:02d}.{m:02d}.{y}", 1935, 2006)), ("DOB", date("{m:02d}/{d:02d}/{y}", 1935, 2006)), ("date_naissance", date("{d:02d}/{m:02d}/{y}", 1935, 2006)), ("fecha_nac", date("{d:02d}/{m:02d}/{y}", 1935, 2006)), ("birthDate", date("{y}-{m:02d}-{d:02d}", 1935, 2006)), ("Geburtstag", date("{d:02d}.{m:02d}.{y}", 1935, 2006)), ("né(e) le", date("{d:02d}/{m:02d}/{y}", 1935, 2006)), ("GebDat", date("{y}{m:02d}{d:02d}", 1935, 2006)),
]  # fmt: skip
"""Dates of birth: they point at people in combination, and are released with a note."""
BLANKS = ("", "n/a", "k.A.", "-")


def column(kind: str, name: str, maker: Maker, direct: bool) -> OwnersColumn:
    """Draw a column; a third of them have gaps, as owners' columns do."""
    draws = np.random.default_rng(zlib.crc32(f"{kind}/{name}".encode()))
    things = [maker(draws) for _ in range(THINGS)]
    values = [things[i] for i in draws.integers(0, THINGS, ROWS)]
    if zlib.crc32(name.encode()) % 3 == 0:
        blank = BLANKS[int(draws.integers(0, len(BLANKS)))]
        values = [blank if gap else v for v, gap in zip(values, draws.random(ROWS) < 0.06, strict=True)]
    return OwnersColumn(kind, name, tuple(values), direct, zlib.crc32(f"half/{kind}/{name}".encode()) % 2 == 1)


def owners_corpus() -> Iterator[OwnersColumn]:
    """Yield every column; `held_out` says of which half it is."""
    for direct, groups in ((True, DIRECT), (False, HARMLESS)):
        for kind, columns in groups.items():
            yield from (column(kind, name, maker, direct) for name, maker in columns)


def births() -> Iterator[OwnersColumn]:
    """Yield the dates of birth."""
    yield from (column("dates of birth", name, maker, False) for name, maker in BIRTHS)


def owners_plan(made: OwnersColumn, folder: Path) -> Plan:
    """Write a column into a file, beside a flag, and return the plan that is proposed for the file."""
    file = folder / "column.csv"
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow([made.name, "flag"])
        writer.writerows([value, ("yes", "no")[row * 7 % 3 % 2]] for row, value in enumerate(made.values))
    return Plan.propose(file)


def is_released(made: OwnersColumn, folder: Path) -> bool:
    """Return whether the proposed plan releases the column."""
    plan = owners_plan(made, folder)
    return plan.schema[plan.schema.names[0]].released

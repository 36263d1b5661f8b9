"""A corpus of columns in English, German, French and Spanish: some point at people, some only look like it.

Every column has 60 different values, or fewer, in 600 rows, so that none is withheld for being unique. Names come in two kinds: such
as an office would meet, and rare ones that `sfumato.plans.person_names` does not hold (a test keeps them apart). Check digits are
worked out here, not by the library that the recogniser asks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

PEOPLE, ROWS = 60, 600
Draws = np.random.Generator
Maker = Callable[[Draws], str]

USUAL = {
    "en": "Sarah Emily Jack Thomas Chloe Daniel Megan Joshua Laura Matthew Rebecca Liam Hannah Ryan Amy Adam Zoe Kevin Paige Ethan|"
    "Smith Patel Taylor Khan Wood Hughes Green Ali Baker Shaw Murphy Clarke Reid Hunt Palmer Fox Stone Burke Wells Harvey",
    "de": "Sabine Jürgen Lukas Anna Katharina Tobias Heike Moritz Petra Stefan Lea Uwe Emine Jana Florian Renate Mehmet Jonas Silke Paul|"
    "Müller Yılmaz Schäfer Weber Hoffmann Kaya Becker Krüger Lang Schulz Frank Nowak Vogel Kraft Seidel Engel Pohl Busch Horn Kühn",
    "fr": "Élodie Nicolas Chloé Mathieu Camille Julien Manon Thomas Léa Karim Amélie Hugo Inès Théo Pauline Mohamed Sophie Yann Lucie Éric|"
    "Martin Benali Petit Dubois Moreau Garcia Lefèvre Diallo Roux Fontaine Girard Caron Rivière Colin Brun Picard Renard Barbier Leclerc Aubert",
    "es": "María Javier Lucía Alejandro Carmen Pablo Marta Sergio Ana Iker Laura Álvaro Elena Diego Rocío Hugo Nerea Rubén Sofía Unai|"
    "García Martínez López Sánchez Gómez Ruiz Iglesias Ferrer Soler Vega Pascual Herrero Montero Crespo Arias Bravo Rojas Mora Nieto Parra",
}  # fmt: skip
RARE = {
    "en": "Barnaby Cordelia Ignatius Philippa Thelonious Octavia Peregrine Araminta Leopold Winifred Jarvis Ottoline Crispin Mabel Tarquin Ambrose Beatrix Dorian Elspeth Fergus Guinevere Horatio Imogen Jocasta Lysander|"
    "Featherstone Okonkwo Braithwaite Hollingworth Cholmondeley Ravenscroft Oyelaran Thistlewood Pemberton Ashdown Quartermaine Vickery Wolstenholme "
    "Adeyemi Bickerstaff Dunwoody Entwistle Fotheringham Gascoigne Haverstock Inchbald Kirkbride Lumley Molesworth Netherby Penhaligon Rushworth",
    "de": "Adelheid Thorben Wiebke Kunibert Roswitha Eberhard Mechthild Lothar Swantje Ottmar Edeltraud Ansgar Walburga Ekkehard Gudrun Baldur Dankwart Elfrun Friedhelm Gundula Hiltrud Ingeborg Jorid Lieselotte Notker|"
    "Brinkhoff Papenfuß Oelschläger Dierkes Wackernagel Tiedemann Grabowski Hinrichsen Zaunbrecher Knollmann Ritterbusch Spannagel Ohlendorf "
    "Achterberg Bleibtreu Czerny Drewermann Eickhoff Feddersen Gutzeit Heidenreich Isenberg Jablonski Kettelhack Lohmeyer Muschiol Nettesheim",
    "fr": "Hippolyte Apolline Gonzague Bérengère Anatole Clotilde Fulgence Euphrasie Aristide Solène Côme Capucine Ferdinand Honorine Barnabé Aymeric Blandine Cyprien Domitille Firmin Ghislaine Isidore Joséphine Lazare Mahaut|"
    "Bouchardeau Delacourcelle Vandenbroucke Le Goffic Escoffier Montgolfier Quesnel Rochebrune Tixier Vauquelin Ysambert Peyronnet Labrousse "
    "Abgrall Bellefontaine Chabrol Desrosiers Estève Fauconnier Guillaumin Hautecoeur Jaubert Kerautret Lavergne Maupassant Noirot Ozanne",
    "es": "Leocadia Baldomero Macarena Eustaquio Nazaret Hermenegildo Aránzazu Casimiro Eulalia Fulgencio Jacinta Melchor Obdulia Primitivo Zoraida Anselmo Brígida Celedonio Dorotea Evaristo Florinda Gumersindo Herminia Isidro Lourdes|"
    "Etxeberria Zubizarreta Goikoetxea Mondragón Villalobos Bustamante Arizmendi Quintanilla Echeverría Santamaría Urrutia Peñalver Larrañaga "
    "Abascal Berenguer Cifuentes Domènech Escrivá Fonseca Galdós Huguet Izquierdo Jáuregui Lizarraga Manrique Olabarría Palacín",
}  # fmt: skip


def rare_words() -> set[str]:
    """Every word of the rare names."""
    return {word for line in RARE.values() for word in line.replace("|", " ").split()}


def _pools(kind: dict[str, str], language: str) -> tuple[list[str], list[str]]:
    given, family = kind[language].split("|")
    return given.split(), family.split()


def given(language: str, kind: dict[str, str] = USUAL) -> Maker:
    return lambda r: str(r.choice(_pools(kind, language)[0]))


def family(language: str, kind: dict[str, str] = USUAL) -> Maker:
    names = _pools(kind, language)[1]
    return lambda r: (
        str(r.choice(names))
        if kind is USUAL
        else f"{r.choice(names)}" + ("-" + str(r.choice(names)) if r.random() < 0.2 else "")
    )


def full(language: str, form: str = "{g} {f}", kind: dict[str, str] = USUAL) -> Maker:
    return lambda r: form.format(g=given(language, kind)(r), f=family(language, kind)(r))


def shape(pattern: str) -> Maker:
    """# is a digit, 1 a digit but 0, @ a capital letter, ^ a lower-case letter or digit, % a hexadecimal digit."""
    pools = {
        "#": "0123456789",
        "1": "123456789",
        "@": "ABCDEFGHJKLMNPRSTUVWXYZ",
        "^": "abcdefghjkmnpqrstuvwxyz23456789",
        "%": "0123456789abcdef",
    }
    return lambda r: "".join(str(r.choice(list(pools[c]))) if c in pools else c for c in pattern)


def pick(*texts: str) -> Maker:
    return lambda r: str(r.choice(texts))


def words(texts: str) -> Maker:
    return pick(*texts.split("|"))


def number(low: float, high: float, decimals: int = 0) -> Maker:
    return lambda r: f"{r.uniform(low, high):.{decimals}f}"


def email(language: str, *hosts: str) -> Maker:
    def make(r: Draws) -> str:
        plain = full(language, "{g}.{f}", RARE)(r).lower().replace("ß", "ss").replace(" ", "")
        return plain.encode("ascii", "ignore").decode() + str(r.integers(99)) + "@" + str(r.choice(hosts))

    return make


def street(form: str, names: str) -> Maker:
    return lambda r: form.format(n=r.integers(1, 240), s=r.choice(names.split("|")), z=r.integers(10_000, 99_000))


# --- check digits, from their published descriptions ---


def _digits(r: Draws, count: int) -> str:
    return str(r.integers(1, 10)) + "".join(map(str, r.integers(0, 10, count - 1)))


def grouped(make: Maker, sizes: tuple[int, ...], mark: str = " ") -> Maker:
    def cut(r: Draws) -> str:
        text, out = make(r), []
        for size in sizes:
            out.append(text[:size])
            text = text[size:]
        return mark.join([*out, text] if text else out)

    return cut


def iban(country: str, length: int, head: str = "") -> Maker:
    def make(r: Draws) -> str:
        body = head + _digits(r, length - len(head))
        moved = "".join(str(int(c, 36)) for c in body + country + "00")
        return f"{country}{98 - int(moved) % 97:02d}{body}"

    return make


def spanish_account(r: Draws) -> str:
    """ES: bank and branch, two check digits mod 11, account."""
    weights = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)

    def check(ten: str) -> str:
        rest = 11 - sum(w * int(c) for w, c in zip(weights, ten, strict=True)) % 11
        return str({10: 1, 11: 0}.get(rest, rest))

    bank, account = "2100" + _digits(r, 4), _digits(r, 10)
    return bank + check("00" + bank) + check(account) + account


def spanish_iban(r: Draws) -> str:
    body = spanish_account(r)
    return f"ES{98 - int(body + '142800') % 97:02d}{body}"


def french_iban(r: Draws) -> str:
    bank, branch, account = _digits(r, 5), _digits(r, 5), _digits(r, 11)
    key = 97 - (89 * int(bank) + 15 * int(branch) + 3 * int(account)) % 97
    body = f"{bank}{branch}{account}{key:02d}"
    return f"FR{98 - int(body + '152700') % 97:02d}{body}"


def luhn(head: str, length: int) -> Maker:
    def make(r: Draws) -> str:
        body = (head + _digits(r, length))[: length - 1]
        total = sum(sum(divmod(2 * int(c), 10)) if i % 2 == 0 else int(c) for i, c in enumerate(reversed(body)))
        return body + str(-total % 10)

    return make


def until(holds: Callable[[str], bool], make: Maker) -> Maker:
    def again(r: Draws) -> str:
        while not holds(text := make(r)):
            pass
        return text

    return again


def weighted(weights: tuple[int, ...], modulus: int) -> Callable[[str], bool]:
    return lambda text: sum(w * int(c) for w, c in zip(weights, text, strict=True)) % modulus == 0


def steuer_id(r: Draws) -> str:
    """ISO 7064 mod 11, 10; among the first ten digits one occurs twice and one not at all."""
    order = [str(d) for d in r.permutation(10)]
    order[9] = order[int(r.integers(0, 8))]
    if order[0] == "0":
        order[0], order[8] = order[8], order[0]
    product = 10
    for c in order:
        product = 2 * ((int(c) + product) % 10 or 10) % 11
    return "".join(order) + str((11 - product) % 10)


def nir(r: Draws) -> str:
    body = f"{r.integers(1, 3)}{r.integers(30, 99):02d}{r.integers(1, 13):02d}{r.integers(1, 96):02d}{r.integers(1, 900):03d}{r.integers(1, 900):03d}"
    return f"{body}{97 - int(body) % 97:02d}"


def dni(r: Draws) -> str:
    body = int(r.integers(10_000_000, 80_000_000))
    return f"{body}{'TRWAGMYFPDXBNJZSQVHLCKE'[body % 23]}"


def nie(r: Draws) -> str:
    first, body = int(r.integers(0, 3)), f"{r.integers(0, 10_000_000):07d}"
    return f"{'XYZ'[first]}-{body}-{'TRWAGMYFPDXBNJZSQVHLCKE'[int(f'{first}{body}') % 23]}"


def codice_fiscale(r: Draws) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    odd = dict(
        zip(
            letters,
            (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
            strict=True,
        )
    )
    odd |= dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True))
    even = {c: i for i, c in enumerate(letters)} | {str(i): i for i in range(10)}
    body = shape("@@@@@@")(r) + f"{r.integers(30, 99)}{r.choice(list('ABCDEHLMPRST'))}{r.integers(1, 28):02d}H501"
    total = sum(odd[c] if i % 2 == 0 else even[c] for i, c in enumerate(body))
    return body + letters[total % 26]


def ahv(r: Draws) -> str:
    body = "756" + _digits(r, 9)
    total = sum((3 if i % 2 else 1) * int(c) for i, c in enumerate(body))
    full = body + str(-total % 10)
    return f"{full[:3]}.{full[3:7]}.{full[7:11]}.{full[11:]}"


def uk_nhs(r: Draws) -> str:
    return until(weighted((10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 11), lambda q: _digits(q, 10))(r)


NOTES = {
    "en": "Patient complained about pain in the|left knee|lower back|right shoulder|stomach|neck|and was sent home|needs a call next week|was seen by the nurse",
    "de": "Die Kundin war mit der|Lieferung|Beratung|Rechnung|Reparatur|Antwort|nicht zufrieden und ruft wieder an|sehr zufrieden und dankt|am Montag im Laden",
    "fr": "Le client demande encore une fois le|devis|contrat|remboursement|dossier|rendez-vous|avant la fin du mois|et se dit mécontent|par courrier recommandé",
    "es": "La paciente refiere dolor en la|espalda|rodilla|cabeza|mano|cadera|desde hace dos semanas|y no toma medicación|que mejora con reposo",
}  # fmt: skip


def note(language: str) -> Maker:
    opening, *rest = NOTES[language].split("|")
    return lambda r: f"{opening} {r.choice(rest[:5])} {r.choice(rest[5:])}, {r.integers(2, 99)} min."


@dataclass(frozen=True)
class MadeColumn:
    """A column of the corpus: what it is called, what it holds, and whether it points at people."""

    name: str
    values: list[str]
    direct: bool


PERSONAL: dict[str, Maker] = {
    # names
    "first_name": given("en"), "Surname": family("en", RARE), "Patient Name": full("en", kind=RARE), "col_7": full("en"),
    "contact person": full("en", "{f}, {g}", RARE), "v12": full("en", kind=RARE), "emp": full("en", "Dr. {g} {f}"), "F3": given("en"),
    "Vorname": given("de", RARE), "Nachname": family("de", RARE), "Name des Patienten": full("de", kind=RARE), "feld_3": full("de", "{f}, {g}", RARE),
    "Sachbearbeiter": full("de", "Frau {g} {f}"), "name": full("de", "{f} {g}", RARE), "Prénom": given("fr", RARE), "Nom de famille": family("fr", RARE),
    "champ2": full("fr", kind=RARE), "nom_du_client": full("fr", "{f} {g}"), "assuré": full("fr", "Mme {g} {f}", RARE), "Apellidos": family("es", RARE),
    "Nombre y apellidos": full("es", kind=RARE), "nombre_paciente": full("es", "{f}, {g}"), "dato4": full("es", kind=RARE), "x9": family("es"),
    "k44": family("de", RARE),
    # e-mail, phone, address
    "email": email("en", "example.com", "mail.example.org"), "E-Mail-Adresse": email("de", "beispiel.de"), "courriel": email("fr", "exemple.fr"),
    "correo electrónico": email("es", "ejemplo.es"), "field_11": email("de", "firma.example"), "phone": shape("(21#) 555-01##"),
    "Phone2": shape("21#-555-01##"), "tel_home": shape("020 7946 0###"), "mobile_no": shape("7700900###"), "Telefonnummer": shape("030 / 12 34 ## ##"),
    "Handynr.": shape("+49 17# #######"), "v_5": shape("0#1/2345##"), "téléphone": shape("06.12.34.##.##"), "tel_portable": shape("+33 6 12 34 ## ##"),
    "teléfono móvil": shape("6## 12 34 ##"), "a17": shape("+34 6## ### ###"), "home_address": street("{n} {s}", "Maple Street|Oak Ave|Hill Road|Mill Lane"),
    "Straße": street("{s} {n}", "Lindenweg|Hauptstraße|Am Markt|Gartenstr.|Goetheplatz"), "Anschrift": street("{s} {n}, {z} Musterstadt", "Bergstr.|Ringweg|Schulgasse"),
    "adresse": street("{n}, {s}", "rue de la Paix|avenue Foch|chemin des Vignes|impasse du Puits"), "loc": street("{n} bis {s}", "rue Haute|quai Nord|place Carnot"),
    "dirección": street("{s}, {n}", "Calle Mayor|Avenida del Sol|Plaza Nueva|Paseo del Río"), "x3": street("C/ {s} {n}", "Calle Real|Calle Luna|Ronda Sur|Avda. Sol"),
    # accounts and national ids
    "iban": grouped(iban("DE", 18), (4, 4, 4, 4, 4)), "Bankverbindung": iban("DE", 18), "rib": french_iban, "cuenta": grouped(spanish_iban, (4, 4, 4, 4, 4)),
    "q2": grouped(iban("GB", 18, "NWBK"), (4, 4, 4, 4, 4)), "credit card": grouped(luhn("4", 16), (4, 4, 4)), "zahlung": luhn("5", 16), "pay": grouped(luhn("37", 15), (4, 6), "-"),
    "ssn": shape("5##1#12##"), "c_1": shape("4#1-1#-1###"), "NI number": shape("AB##12##C"), "q17": shape("JK 12 ## ## A"), "nhs_number": uk_nhs, "r5": grouped(uk_nhs, (3, 3)),
    "Steuer-ID": steuer_id, "s_8": grouped(steuer_id, (2, 3, 3)), "Sozialversicherungsnummer": shape("12#107##@1##"), "rv": shape("65 1#0375 @ 0##"),
    "numéro de sécurité sociale": grouped(nir, (1, 2, 2, 2, 3, 3)), "ins": nir, "DNI": dni, "doc": dni, "nie_extranjero": nie, "ident2": nie, "cod_fisc": codice_fiscale,
    "bsn": until(weighted((9, 8, 7, 6, 5, 4, 3, 2, -1), 11), lambda r: _digits(r, 9)), "AHV-Nr": ahv, "sv": ahv,
    "pesel": until(weighted((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10), lambda r: f"{r.integers(30, 99)}0{r.integers(1, 9)}{r.integers(10, 28)}{_digits(r, 5)}"),
    "passport_no": shape("C#1X##T4#"), "Personalausweis": shape("L01X00T4#7"), "pasaporte": shape("AAB######"), "permis_de_conduire": shape("13AA#####"),
    # plates, networks, places, tokens
    "licence_plate": shape("@@5# @@@"), "Kfz-Kennzeichen": shape("M-@@ 1##"), "immatriculation": shape("@@-###-@@"), "matrícula": shape("1### BCD"), "car": shape("HH-@ 1###"),
    "ip": shape("10.#.1#.1#"), "client": shape("192.168.#.1#"), "host6": shape("2001:db8::%%%%:%%%%"), "mac": shape("%%-%%-%%-%%-%%-%%"), "device": shape("%%:%%:%%:%%:%%:%%"),
    "profile_url": shape("https://example.org/u/^^^^^"), "homepage": shape("www.^^^^^.example"), "gps": lambda r: f"{r.uniform(47, 54):.5f}, {r.uniform(7, 14):.5f}",
    "latitude": number(47, 54, 6), "lng": number(7, 14, 5), "Breitengrad": number(47, 54, 4), "uuid": shape("%%%%%%%%-%%%%-4%%%-a%%%-%%%%%%%%%%%%"), "h": shape("%" * 32),
    # ids and free text
    "patient_id": number(1, 48), "PatientID": number(100_000, 999_999), "customer_no": shape("K1####"), "mrn": shape("00######"), "account_number": shape("1#######"),
    "username": shape("^^^^^#"), "member id": number(1000, 1999), "id": number(1, 900), "student_number": shape("S2#####"), "employeeId": number(1, 400),
    "Patientennummer": number(1, 80), "KundenNr": shape("1#####"), "Versichertennummer": shape("A1########"), "Personalnr.": shape("00###"), "Mitgliedsnummer": shape("M-1####"),
    "n° client": shape("1####"), "identifiant": shape("u####"), "id_salarie": number(1, 300), "matricule": shape("E1###"), "id_paciente": number(1, 90), "número de socio": shape("1###"),
    "código_cliente": shape("C-1###"), "ref2": shape("PT-00####"), "comments": note("en"), "Bemerkungen": note("de"), "remarques": note("fr"), "texto": note("es"),
    # columns that were written when the recogniser stood: it missed Versicherter, nom usuel, identifiant_fiscal and Aktenzeichen at first
    "Versicherter":full("de","{g} {f}",RARE),"Pat.-Name":full("de","{f} {g}",RARE),"lastName":family("en",RARE),"GIVEN NAME":given("en",RARE),"nom usuel":family("fr",RARE),"prénom1":given("fr",RARE),"primer apellido":family("es",RARE),"nombre_trabajador":full("es",kind=RARE),"responsable":full("fr","M. {g} {f}"),"referring_physician":full("en","Dr {f}, {g}",RARE),
    "customerEmail":email("en","corp.example"),"mail_client":email("fr","z.example"),"phoneNumber":shape("+44 20 7946 0###"),"TELEFONO":shape("91 123 4# ##"),"num_tel":shape("061234####"),"Rufnummer privat":shape("(0221) 47 11 ##"),"gsm":shape("+32 47# ## ## ##"),
    "Adresse 1":street("{n} {s}","allée des Pins|route de Lyon"),"Str. und Hausnr.":street("{s} {n}","Mozartstr.|Feldweg|Kaiserdamm"),"residence":street("{n} {s}","Park Lane|Elm Drive|King St"),"via":street("Via {s} {n}","Roma|Dante|Verdi"),
    "Kreditkartennummer":luhn("4",16),"no_compte":shape("1#########"),"CCC":spanish_account,"Steuernummer":shape("12/3##/#####"),"no_secu":nir,"identifiant_fiscal":shape("1############"),"dni_nie":dni,"cf":codice_fiscale,"personal_code":until(weighted((9,8,7,6,5,4,3,2,-1),11),lambda r:_digits(r,9)),
    "plaque_immat":shape("@@-###-@@"),"vehicle":shape("@@1# @@@"),"ipv4":shape("10.1.1.#"),"remote_addr":shape("10.0.#.#"),"mac_address":shape("%%:%%:%%:%%:%%:%%"),"website":shape("https://^^^^.example"),"position":lambda r:f"{r.uniform(40,43):.6f} {r.uniform(-5,2):.6f}","Lat":number(40,43,5),"Longitude":number(2,9,7),
    "token":shape("%"*64),"study_id":shape("ST-#####"),"participant":shape("P###"),"ParticipantCode":shape("P###"),"proband_nr":number(1,60),"versichertennr":shape("1########"),"Aktenzeichen":shape("12 C ###/24"),"num_assure":shape("1#######"),"id_cliente":number(1,60),"nº expediente":shape("2024/1###"),"household_id":number(1,60),"acct":shape("1########"),"loan_id":shape("L1#####"),"badge":shape("B1####"),"staffno":shape("1###"),
    "Anmerkungen":note("de"),"observaciones_medico":note("es"),"reason_text":note("en"),
}  # fmt: skip
"""Columns that point at people, by name."""

HARMLESS: dict[str, Maker] = {
    "occupation": words("Adm-clerical|Exec-managerial|Craft-repair|Sales|Tech-support|Farming-fishing"), "native_country": words("United-States|Mexico|Germany|Georgia|Jordan|El-Salvador"),
    "education": words("Bachelors|HS-grad|11th|Masters|Some-college|Doctorate"), "city": words("New York|Los Angeles|Houston|Jackson|Austin|San Jose|Madison|Boston|Dallas|Denver"),
    "state": words("Virginia|Georgia|North Carolina|Texas|New Mexico|West Virginia|Ohio|Maine|Utah|Iowa"), "diagnosis": shape("E1#.#"), "icd9": shape("25#.#1"), "ndc": shape("000#-759#-0#"),
    "telephone": words("none|yes, registered"), "contact": words("cellular|telephone|unknown"), "credit_amount": number(250, 18_000), "income": number(9000, 90_000, 2), "fnlwgt": number(12_285, 1_484_705),
    "number_of_children": number(0, 6), "number_of_patients": number(1, 400), "num_persons": number(1, 9), "age": number(17, 90), "customer_since": number(1980, 2020), "patient_age": number(0, 99),
    "zip": shape("9021#"), "birth_year": number(1930, 2010), "visit_date": lambda r: f"2024-{r.integers(1, 13):02d}-{r.integers(1, 29):02d}", "month": words("April|May|June|July|August|January"),
    "weekday": words("Monday|Tuesday|Wednesday|Thursday|Friday|Sunday"), "blood_pressure": lambda r: f"{r.integers(100, 160)}/{r.integers(60, 99)}", "version": shape("1.#.#"), "temperature": number(35, 41, 1),
    "email_opt_in": words("yes|no"), "address_type": words("home|work|billing|other|postal|none"), "account_type": words("checking|savings|loan|student|business|joint"), "card_type": words("visa|amex|debit|gift|store|fuel"),
    "phone_model": words("Galaxy S9|Pixel 4|iPhone 12|Moto G7|Nokia 3310|Xperia 5"), "product": words("Green Tea|Black Tea|Red Wine|White Wine|Dark Beer|Light Beer|Brown Bread|White Bread|Blue Cheese|Green Apple"),
    "brand": words("Mercedes|Ford|Toyota|Renault|Seat|Skoda|Fiat|Volvo|Kia|Honda"), "department_id": number(1, 40), "store_no": number(1, 12), "class_id": number(1, 9), "lat_coarse": number(47, 54, 1),
    "satisfaction": words("Strongly agree|Agree|Neither agree nor disagree|Disagree|Strongly disagree|No answer"), "drug": words("Aspirin|Ibuprofen|Metformin|Insulin|Warfarin|Codeine|Morphine|Statin|Digoxin"),
    "company": words("Alabama Power Co|Duke Power Co|Ohio Edison Co|City of Anaheim|City of Austin|Georgia Power Co|Gulf Power Co"), "id_type": words("passport|licence|none|other|visa|card"), "user_rating": number(1, 5, 1),
    "street_type": words("paved|gravel|dirt|cobbled|asphalt|none"), "url_category": words("news|sports|shop|games|mail|other"), "passport_country": words("DE|FR|ES|US|GB|IT"), "phone_calls": number(0, 60), "flight": shape("LH1###"),
    "Beruf": words("Lehrer|Arzt|Bäcker|Schreiner|Kaufmann|Richter|Koch|Maler"), "Familienstand": words("ledig|verheiratet|geschieden|verwitwet|getrennt|k. A."), "Ort": words("Berlin|Hamburg|Köln|Bad Homburg|Frankfurt am Main|Neu-Ulm|Bonn"),
    "Krankenkasse": words("AOK Bayern|TK|Barmer|DAK|IKK classic|Knappschaft|hkk"), "Anzahl der Patienten": number(1, 500), "Kundengruppe": words("A|B|C|D|E|F"), "Versicherungsart": words("privat|gesetzlich|Beihilfe|keine|Zusatz|andere"),
    "PLZ": shape("8033#"), "Personenzahl": number(1, 8), "Umsatz": number(100, 90_000, 2), "Telefon vorhanden": words("ja|nein"), "nombre d'enfants": number(0, 7), "nombre": number(0, 40), "profession": words("boulanger|médecin|berger|marchand|fournier|meunier|notaire"),
    "département": words("Ain|Aisne|Allier|Hautes-Alpes|Côte-d'Or|Loire|Lot"), "commune": words("Lyon|Saint-Denis|La Rochelle|Le Havre|Paris|Nice|Pau"), "situation": words("célibataire|marié|divorcé|veuf|pacsé|inconnu"), "code_postal": shape("750##"),
    "nombre_de_clients": number(1, 90), "montant": number(1, 4000, 2), "ocupación": words("profesor|médico|herrero|pastor|guerrero|camarero|juez"), "provincia": words("León|Santa Cruz|Toledo|Lugo|Cádiz|Soria|Jaén"), "estado_civil": words("soltero|casado|viudo|divorciado|separado|otro"),
    "número_de_hijos": number(0, 6), "numero_de_pacientes": number(1, 300), "importe": number(5, 9000, 2), "codigo_postal": shape("2801#"), "nacionalidad": words("española|francesa|rumana|marroquí|italiana|china"), "weight_kg": number(45, 120, 3), "long_term_debt": number(0, 100, 4),
    "platelets": number(150, 400), "latency_ms": number(1, 170, 3), "mobility_score": number(0, 100), "carbon": number(1, 9, 5), "client_type": words("new|returning|gold|silver|trial|former"), "namespace": words("default|system|public|test|build|data"), "account_balance": number(-4000, 90_000, 2),
    "sku": shape("AB-12##"), "iban_country": words("DE|FR|ES|IT|NL|BE"), "household_size": number(1, 9), "hours_per_week": number(1, 99), "owner_occupied": words("yes|no|unknown|partly|other|n.a."), "job title": words(
        "Software Engineer|Data Engineer|Sales Manager|Product Manager|Office Manager|Registered Nurse|Head Nurse|Truck Driver|Bus Driver|Bank Teller|Tax Advisor|Legal Advisor|"
        "Web Designer|Graphic Designer|Data Analyst|Credit Analyst|School Teacher|Math Teacher|Police Officer|Loan Officer|Fire Fighter|Store Clerk|Postal Clerk|Chief Cook"
    ), "v31": words("Heart Failure|Lung Cancer|Breast Cancer|Renal Failure|Liver Failure|Skin Cancer|Hip Fracture|Wrist Fracture|Heart Attack|Back Pain|Knee Pain|Chest Pain"), "region": words("North|South East|South West|East|West|Midlands"),
    "visit_no":number(1,9),"nr_kinder":number(0,5),"Hausnummer":number(1,180),"floor_number":number(0,20),"num_tarjetas":number(0,5),"tipo_cliente":words("A|B|C|D|E|F"),"sector":words("Agua Potable|Energia Solar|Gas Natural|Red Movil|Banca Privada|Obra Civil"),"edad":number(18,90),"poids":number(40,120),"taille":number(150,200),"Befund":words("o.B.|leicht|mittel|schwer|unklar|n.d."),"stage":words("I|II|III|IV|V|VI"),"score":number(0,1,6),"ratio_x":number(-1,1,8),"x_coord_mm":number(200,900,4),"hotel":words("Grand Hotel|Hotel Adlon|City Inn|Park Plaza|Holiday Inn|Ibis Budget"),"dose_mg":number(1,900),"email_count":number(0,90),"card_present":words("Y|N"),"member":words("yes|no"),"member_level":words("gold|silver|basic|none|trial|vip"),"address_changed":words("0|1"),"rue_type":words("pavée|terre|goudron|gravier|sable|herbe"),"person_type":words("natural|legal|unknown|other|mixed|state"),"account_age_days":number(0,4000),"client_score":number(300,850),"patient_weight":number(40,140,1),"employee_count":number(1,9000),"user_agent":words("Chrome 120|Firefox 121|Safari 17|Edge 120|Opera 105|Chrome 119"),"cell_count":number(1000,90000),"tel_quality":number(1,5),"teleworking":words("yes|no|partly|never|always|n.a."),"description":words("Apple juice|Orange juice|Milk 1 l|Rye bread|Butter 250 g|Eggs 10 pcs"),"hcpcs":shape("J1###"),"cpt":shape("992##"),"drg":number(1,999),"naf":shape("62.0#Z"),"apell":words("x|y|z"),"npi_type":words("1|2"),
}  # fmt: skip
"""Columns that must not be withheld, by name; many look like those above."""


def corpus() -> Iterator[MadeColumn]:
    """Yield every column: PEOPLE different values at most, in ROWS rows, in an order that chance makes."""
    for direct, makers in ((True, PERSONAL), (False, HARMLESS)):
        for name, make in makers.items():
            draws = np.random.default_rng(zlib.crc32(name.encode()))
            people = [make(draws) for _ in range(PEOPLE)]
            rows = np.concatenate([np.arange(PEOPLE), draws.integers(0, PEOPLE, ROWS - PEOPLE)])
            yield MadeColumn(name, [people[i] for i in draws.permutation(rows)], direct)

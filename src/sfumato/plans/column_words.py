"""What columns that point at people are called, in English, German, French and Spanish.

Patterns of names as `fold_header` writes them. A name alone never decides: the values must fit.
"""

from __future__ import annotations

import re

from sfumato.plans.identity_values import fold


def fold_header(name: str) -> str:
    """Return a column's name as words in lower case with underscores between, without accents.

    Examples
    --------
    >>> fold_header("PatientenNr."), fold_header("N° de Téléphone"), fold_header("apellido1")
    ('patienten_nr', 'n_de_telephone', 'apellido_1')
    """
    parted = re.sub(r"(?<=[a-zäöüéèñß0-9])(?=[A-ZÄÖÜ])|(?<=[A-Za-z]{3})(?=[0-9])", "_", name)
    return re.sub("[^a-z0-9]+", "_", fold(parted)).strip("_")


def whole(*words: str) -> str:
    """Return a pattern of names that contain one of the words between underscores."""
    return rf"(^|_)({'|'.join(words)})(_|$)"


A_PERSON = (
    "patient|pat|patienten?|patientin|paciente|customer|cust|client|kunden?|kd|cliente|usuario|user|utilisateur|benutzer|member"
    "|mitglied|membre|socio|person|pers|personen|persona|personne|personal|personnel|employee|emp|mitarbeiter|empleado|salarie"
    "|employe|staff|student|schue?ler(in)?|etudiant|alumno|estudiante|eleve|subject|subj|participant|proband|probanden|teilnehmer"
    "|participante|respondent|insured|insuree|versicherte[nr]?|vers|assure|asegurado|policyholder|holder|titular|citizen|resident"
    "|tenant|mieter|borrower|applicant|candidate|bewerber|donor|beneficiary|beneficiaire|beneficiario|individual|driver|fahrer"
    "|guest|subscriber|abonne|abonado|caller|owner|inhaber|doctor|physician|arzt|medecin|medico|nurse|teacher|lehrer|victim"
    "|offender|passenger|contact|ansprechpartner|sachbearbeiter|household|haushalt|profile|login|card|karten?|carte|tarjeta"
    "|account|acct|konto|compte|cuenta"
)
A_CASE = (
    "police|policen|policy|poliza|contract|vertrag|contrat|contrato|case|fall|dossier|akten?|expediente|record|file|chart|order"
    "|bestell|bestellung|invoice|rechnung|transaction|claim|visit|encounter|booking|buchung|ticket|receipt|commande|facture|pedido"
    "|factura|reserva|sample|specimen|loan|membership|medical_record|historia|historia_clinica|insurance|versicherung|device"
    "|session|cookie|sim"
)


def number_of(about: str) -> str:
    """Return a pattern of ids: patient_id, kundennummer, id_client, numero_de_cliente; not number_of_clients, a count."""
    last = (
        "id|ids|ident|identifier|identifiant|identificador|kennung|no|nr|nro|num|number|nummer|numero|key|ref|reference|uuid|guid"
        "|code|hash"
    )
    first = "id|no|nr|nro|num|n|number|nummer|numero|identifiant|identificador|ref|code|codigo"
    between = "((de|du|del|d|la|le|l|der|des)_)*"
    return rf"(^|_)({about})(s|es|en|n|r|in)?_?({last})(_?[0-9])?$|(^|_)({first})_{between}({about})$"


EMAIL = "e_?mail|courriel|correo|(^|_)mail(_|$)"
ACCOUNT = (
    whole("iban") + "|bank_?(account|konto)|account_?(number|no|nr)|konto_?(nr|nummer)|numero_(de_)?(compte|cuenta)"
)
CARD = "(credit|debit|bank|payment)_?card|kreditkarte|carte_bancaire|tarjeta|^(card|cc)_?(no|nr|num|number)|^pan$"
NATIONAL_ID = whole(
    "ssn", "nino", "nir", "dni", "nif", "nie", "bsn", "ahv", "cpf", "curp", "pesel", "svnr", "rvnr", "ahv_?(nr|nummer)", "idnr",
    "insee", "secu", "tin", "tax_?(id|no|number|payer)", "fiscal", "steuer_?(id|nr|nummer|identifikationsnummer)",
    "nhs(_?(no|number))?", "identity_?(card|no|number)",
) + (
    "|soc[a-z]*_?sec|sec[a-z]*_?soc|seg[a-z]*_?soc|sozial?_?vers|codice_?fiscale|national_?(id|insurance)|passport|reisepass|passeport"
    "|pasaporte|ausweis|carte_identite|documento_(de_)?identidad|fue?hrerschein|driv(er|ing)s?_?licen[cs]e|permis_(de_)?conduire"
    "|carnet_(de_)?conducir"
)  # fmt: skip
PLATE = whole("((number|licen[cs]e)_?)?plates?", "plaque", "placa", "matricula", "registration_?(no|number)") + (
    "|kennzeichen|immatriculation"
)
PHONE = "phone|telefon|(^|_)(tel|tlf|tfno|fax|cell)(_|$)|mobil|handy|portable|movil|celular|rufnummer"
ADDRESS = whole(
    "address(_?(line)?_?[0-9])?", "adresse", "anschrift", "street(_name)?", "strasse", "str", "direccion", "domicilio", "calle",
    "rue", "voie", "domicile", "wohnadresse", "(street|post|postal|mailing|billing|shipping|home)_?addresse?s?", "strassen?_?name",
)  # fmt: skip
PLACE = whole(
    "lat", "latitude", "latitud", "lon", "lng", "(geo|gps|home|start|end|map)_long", "longitude", "longitud", "gps(_?[xy])?",
    "geo_?(lat|lon|lng)",
    "coord[a-z]*(_[xy])?", "breitengrad", "lae?ngengrad", "langengrad",
) + "|^long$"  # fmt: skip
PERSON_ID = "|".join(
    (
        number_of(A_PERSON),
        whole("mrn", "uid", "pid", "guid", "uuid", "matricule", "vin", "imei", "imsi", "fahrgestell_?(nr|nummer)"),
        rf"^((record|row)_?)?id$|^(identifiant|kennung|legajo|({A_PERSON})(in|innen)?)$",
    )
)
LOGIN = (
    "^(login|user|user_?name|nick_?name|nick|konto_?name|account_?name|(user|login|windows|ad)_(id|kennung|login)|benutzer"
    "|identifiant|kennung|identificador|benutzername|nutzername|usuario|utilisateur|alias|handle|screen_?name)$"
)
CASE_ID = number_of(A_CASE) + "|aktenzeichen|geschae?ftszeichen"
SOME_ID = "(^|_)(id|ident|no|nr|nro|num|number|nummer|numero|kennung|key|ref)(_?[0-9])?$|^(id|no|nr|nro|num|numero|n|nummer|number)_"
"""Numbers of anything; `THING_ID` tells those of goods apart."""
THING_ID = whole(
    "art", "artikel", "article", "articulo", "item", "part", "teil", "teile", "product", "produkt", "produit", "producto", "prod",
    "material", "mat", "sku", "lot", "batch", "charge", "lote", "cas", "ean", "gtin", "isbn", "flight", "flug", "vol", "vuelo",
    "room", "raum", "model", "modell", "modele", "modelo", "line", "linie", "ligne", "linea", "station", "shop", "store", "branch",
    "filiale", "sucursal", "tienda", "zip", "postal", "atc", "icd", "loinc", "snomed", "tariff", "tarif", "gl", "ledger", "cost",
    "version", "question", "frage", "node", "cell", "block", "tract", "school", "company", "firm", "firma", "vat", "ust", "tva",
)  # fmt: skip
"""Numbers of goods, places and firms."""
PERSON_NAME = whole(
    "(first|last|given|family|sur|full|middle|maiden|fore|nick|birth)_?names?", "[fl]_?name", "surnames?", "initials",
    "contact_?(person|name)", "(vor|nach|zu|familien|geburts|ruf|voll)_?namen?s?", "prenoms?", "noms?_(et_)?prenoms?",
    "nom_(de_)?(famille|naissance|jeune_fille|usage|usuel|complet)", "patronyme", "apellidos?", "nombre_(completo|de_pila)",
    "nombres_(y_)?apellidos?", rf"({A_PERSON})(s|n|en)?_?(name|namen|nom|nombre)",
    rf"(name|nom|nombre)_((de|du|del|of|des|der|la|le|l|the)_)*({A_PERSON})",
)  # fmt: skip
SOME_NAME = rf"^(name|namen|names|nom|noms|nombre|nombres)_?[0-9]?$|(^|_)({A_PERSON})(in|innen)?_?[0-9]?$"
FREE_TEXT = whole(
    "notes?", "comments?", "remarks?", "bemerkung(en)?", "kommentare?", "notizen?", "anmerkung(en)?", "freitext", "remarques?",
    "commentaires?", "observacion(es)?", "comentarios?", "notas?", "free_?text", "anamnese", "message", "nachricht",
)  # fmt: skip
THING = whole(
    "jobs?", "titles?", "titel", "titre", "occupation", "ocupacion", "beruf", "profession", "puesto", "products?", "produkt",
    "produit", "producto", "article", "artikel", "item", "compan(y|ies)", "firma", "entreprise", "empresa", "brand", "marke",
    "marque", "marca", "city", "town", "stadt", "ort", "ville", "ciudad", "municipality", "gemeinde", "commune", "municipio",
    "country", "land", "pays", "pais", "state", "region", "province", "provincia", "county", "district", "diagnosis", "diagnose",
    "disease", "drug", "medication", "department", "abteilung", "service", "school", "university", "hospital", "course", "species",
    "category", "type", "typ", "class", "model", "modell", "movie", "film", "song", "album", "book", "team", "club", "station",
    "airport", "industry", "sector", "genre", "language", "religion", "nationality",
)  # fmt: skip
"""Columns whose values can look like names of people, and are names of things."""
COMBINED = whole(
    "zip", "zip_?code", "postcode", "postal_?code", "plz", "postleitzahl", "code_postal", "codigo_postal", "born"
) + (
    "|birth_?(date|day)|(date|day)_of_birth|^dob$|geburts_?(datum|tag)|^geb_?dat|geb_?(d|am|tag)$|geboren"
    "|d(ate|at|t)?_?(de_)?naiss?(ance)?(_|$)|(^|_)nee?(_e)?_le$|(fecha|fec|f)_?(de_)?nac(imiento|im)?(_|$)|(^|_)(dt|d)_?birth"
    "|time_?stamp|(^|_)date_?time(_|$)"
)
"""Columns that point at a person only together with others: a birth date, a postal code, a moment."""

"""The record of a release that a data protection officer files: after the outline of NIST SP 800-188, in plain sentences.

Every sentence follows from what the manifest states and the audit measured. What neither can know is a line for people to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.text import format_number, join_names

Section = dict[str, Any]
"""A `title`, `statements`, perhaps a `table` with `head` and `rows`, and what people are `to_fill_in`."""


def file_release(about: Mapping[str, Any], described: Mapping[str, Any]) -> list[Section]:
    """Return the record section by section.

    Parameters
    ----------
    about
        An audit as plain data, of either edition: figures are taken from it as they are.
    described
        What the release says about itself (`describe_manifest`), its `data`, when it was `audited` and with which `version`.
    """
    return [
        _identify(about, described),
        _describe_data(described),
        _describe_population(about, described),
        _describe_method(described),
        _list_parameters(about, described),
        _list_attacks(about),
        _state_results(about),
        _state_risk(about, described),
    ]


def _section(title: str, statements: Sequence[str], to_fill_in: Sequence[str], **table: Any) -> Section:
    drawn = {"table": table} if table else {}
    return {"title": title, "statements": [s for s in statements if s]} | drawn | {"to_fill_in": list(to_fill_in)}


def _share(value: float) -> str:
    return f"{format_number(100 * value, 3)} %"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def _identify(about: Mapping[str, Any], described: Mapping[str, Any]) -> Section:
    data = described["data"]
    columns = _count(len(described["attributes"]), "column")
    return _section(
        "Release and version",
        [
            (
                f"The release {about['release'] or 'without a name'} has {_count(described['rows'], 'row')} and {columns}, in "
                f"{data['file']}."
            ),
            f"SHA-256 of the data: {data['sha256']}.",
            (
                f"It was audited on {described['audited']} with sfumato {described['version']}, under seed {about['seed']}; this is the "
                f"{about['edition']} edition."
            ),
            "The release is a draft: it is not to be passed on before it is published." if described["draft"] else "",
        ],
        ["Name of the data set", "Organisation and person responsible", "Reference of this record"],
    )


def _describe_data(described: Mapping[str, Any]) -> Section:
    columns = described["attributes"]
    clear = [n for n, a in columns.items() if a["mechanism"] == "none" and a["role"] != "identifier"]
    learned = [n for n, a in columns.items() if a.get("domain_from") == "data"]
    gaps = [n for n, a in columns.items() if a["missing_public"]]
    withheld = described["withheld"]
    return _section(
        "Data",
        [
            f"{_count(len(columns) - len(clear), 'column')} of the release were changed.",
            f"Released as they are: {join_names(clear, 30)}." if clear else "No column was released as it is.",
            f"Withheld from the release: {join_names(withheld, 30)}." if withheld else "No column was withheld.",
            f"The domain was learned from the data, so its ends or labels are real ones: {join_names(learned, 30)}."
            if learned
            else "",
            f"It can be seen who has no value: {join_names(gaps, 30)}." if gaps else "",
        ],
        [
            "What the table holds, and its source",
            "Period in which the data were collected",
            "Purpose and legal basis of the release",
        ],
    )


def _describe_population(about: Mapping[str, Any], described: Mapping[str, Any]) -> Section:
    person = described.get("person")
    if person is not None:
        rows = (
            f"The rows belong to {_count(person['people'], 'person').replace('persons', 'people')}, each with up to "
            f"{_count(person['most_rows'], 'row')}; noise is tied to the person."
        )
    elif described["noise_belongs_to"] == "entity":
        rows = "Noise is tied to the person that an id names, and each has one row."
    else:
        rows = "Noise is tied to the row, and every row counts as one person."
    return _section(
        "Population",
        [
            rows,
            (
                f"The audit looked for people in {_count(about['people_found']['rows'], 'row')}. It assumes an intruder who knows that a "
                "person is in the table. Whether the table is a sample of more people was not taken into account."
            ),
        ],
        [
            "Who these people are, and how they were chosen",
            "Size of the population that they come from",
            "Groups that could be harmed most, and how",
        ],
    )


def _describe_method(described: Mapping[str, Any]) -> Section:
    guided = described["method"] is not None
    drawn = "The owner mined the table first and bent the noise around what was found." if guided else ""
    law = (
        "The manifest states the law of every column. The noise is a function of a secret key that only the owner has."
    )
    order = "Rows stand in a random order." if described["shuffled"] else "Rows stand in the order of the table."
    return _section(
        "Method",
        [drawn, law, order],
        ["Other treatment before the release (sampling, recoding, removal of rows)"],
        head=["column", "what was done"],
        rows=[[name, a["what"]] for name, a in described["attributes"].items()],
    )


def _list_parameters(about: Mapping[str, Any], described: Mapping[str, Any]) -> Section:
    rows = []
    for name, a in described["attributes"].items():
        if a["mechanism"] == "none":
            continue
        judged = about["promised"].get(name) or {}
        promise = judged.get("interval_width_95") if judged.get("stated") is None else judged["stated"]
        epsilon = a["privacy"].get("epsilon")
        rows.append(
            [
                name,
                a["mechanism"],
                _parameters(a["parameters"]) or "see method",
                "none" if promise is None else format_number(promise, 6) + ("" if "domain" in a else " labels"),
                "none" if epsilon is None else format_number(epsilon, 3),
            ]
        )
    guided = described["method"]
    return _section(
        "Parameters",
        [
            f"Method {guided['law']}: {_parameters({k: v for k, v in guided.items() if k != 'law'}) or 'no parameters'}."
            if guided
            else "",
            (
                "The promise is the width of the interval that holds the true value with 95 %, in the column's own unit, or a number of "
                "labels; it is never larger than the domain. ε bounds what one person's value can change (local differential privacy)."
            ),
        ],
        [],
        head=["column", "law", "parameters", "promise", "ε"],
        rows=rows,
    )


def _parameters(values: Mapping[str, Any]) -> str:
    """Return numbers and words of a law as text; long lists stand in the manifest."""
    told = [
        f"{name} {format_number(value, 6) if isinstance(value, int | float) and not isinstance(value, bool) else value}"
        for name, value in values.items()
        if isinstance(value, int | float | str) and value != ""
    ]
    return ", ".join(told)


def _list_attacks(about: Mapping[str, Any]) -> Section:
    attacks = about["attacks"]
    kinds = {f["name"]: f for f in attacks}
    rows = []
    for name, first in kinds.items():
        beyond = sum(f["gains"] for f in attacks if f["name"] == name)
        of = sum(f["name"] == name for f in attacks)
        granted = ", ".join(about["granted"][name]) or "nothing"
        rows.append([first["title"] if of == 1 else name, granted, f"{beyond} of {of}"])
    skipped = about["not_run"]
    return _section(
        "Attacks tried",
        [
            (
                f"{_count(len(kinds), 'attack')} were tried, with {_count(len(attacks), 'measurement')}. Each had the release and its "
                "manifest, beside what the table names, and never the original."
            ),
            (
                f"{_count(about['people_found']['people'], 'person').replace('persons', 'people')}, chosen by chance, were looked for one "
                "by one."
            ),
            "Not run, or not on all columns: " + "; ".join(f"{n} ({why})" for n, why in skipped.items()) + "."
            if skipped
            else "",
        ],
        ["Other sources that an intruder may hold, and attacks considered on paper"],
        head=["attack", "granted beside the release", "measurements beyond chance"],
        rows=rows,
    )


def _state_results(about: Mapping[str, Any]) -> Section:
    headline, people, counts = about["headline"], about["people_found"], about["promises"]
    hidden = [p for p in about["promised"].values() if p["verdict"] not in ("in the clear", "not measured")]
    guessed = sorted((p for p in hidden if p["guessed_right"]), key=lambda p: -p["guessed_right"]["gain"])
    trees = about["utility"]["trees"]
    kinds = [
        (counts[kind], kind) for kind in ("kept", "narrowed", "inferred", "broken", "not measured") if counts[kind]
    ]
    return _section(
        "Results",
        [
            f"Verdict: {headline['verdict']}.",
            people["in_words"],
            f"Beyond chance that is {_share(people['beyond_chance'])} of people.",
            f"Of {_count(sum(n for n, _ in kinds), 'promise')}: {', '.join(f'{n} {kind}' for n, kind in kinds)}."
            if kinds
            else about["verdict"],
            *(f"{p['attribute']}: {_guess(p['guessed_right'])}" for p in guessed[:3]),
            f"A tree grown from the release is right on {_share(trees['accuracy']['reconstructed'])} of the rows held out, one grown "
            f"from the original on {_share(trees['accuracy']['original'])}."
            if trees
            else "",
        ],
        ["Comments on the results"],
    )


def _guess(guess: Mapping[str, Any]) -> str:
    without = _share(guess["without_release"])
    return f"guessed right {_share(guess['share'])} of the time by somebody who knows the row; {without} without the release."


def _state_risk(about: Mapping[str, Any], described: Mapping[str, Any]) -> Section:
    people, repeats = about["people_found"], about["repeats"]
    chance = people["chance"]
    most = max(0.0, (people["high"] - chance) / (1 - chance)) if chance < 1 else 0.0
    if repeats is None:
        others = (
            "The audit was not given the owner's ledger: whether the same rows were released before is not known to it."
        )
    else:
        others = f"The owner's ledger knows {_count(repeats['releases_known_to_the_ledger'], 'release')} of these rows."
    return _section(
        "Residual risk",
        [
            (
                f"At the upper end of its 95 % interval, {_share(most)} of people are found beyond chance by somebody who knows all "
                f"{people['columns']} columns of a person. Somebody who knows fewer columns finds fewer people."
            ),
            *(f"{a['words']} {a['remedy']}" for a in about["findings"] if a["level"] != "good"),
            *map(str, described["cautions"]),
            others,
            "An audit knows the attacks listed here and no others; what it did not break may still break.",
        ],
        [
            "Who receives the release, and under which conditions",
            "Harm to a person who is found",
            "Decision, with name, date and signature",
            "Date of the next review",
        ],
    )

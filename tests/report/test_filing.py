"""The record that an officer files: complete, in the order of its outline, and true to the release."""

from __future__ import annotations

import re
from datetime import date

import pytest

import sfumato as sf
from sfumato.plans import with_consent
from sfumato.randomness import SecretKey
from sfumato.schema import Consent

KEY = SecretKey(bytes(range(32)))
TITLES = [
    "Release and version",
    "Data",
    "Population",
    "Method",
    "Parameters",
    "Attacks tried",
    "Results",
    "Residual risk",
]


def filed(table, plan, folder, edition="owner", **options):
    made = sf.release(table, plan, folder, key=KEY)
    audit = sf.audit(table, made, key=KEY, targets=50, **options)
    return made, audit, audit.to_dict(edition)["filing"]


@pytest.fixture(scope="module")
def credit(tmp_path_factory):
    return filed(
        "credit_approval", sf.plan("credit_approval", noise="gaussian", privacy=2.0), tmp_path_factory.mktemp("f") / "r"
    )


def words(sections, title):
    return " ".join(next(s["statements"] for s in sections if s["title"] == title))


def test_the_record_has_every_part_of_the_outline_in_order(credit):
    _, _, sections = credit
    assert [s["title"] for s in sections] == TITLES
    for section in sections:
        assert section["statements"] or section["table"]["rows"]
        assert all(s.endswith((".", ". ")) and s[0] == s[0].upper() for s in section["statements"]), section


def test_it_names_the_release_by_its_checksum_the_day_and_the_version(credit):
    made, _, sections = credit
    said = words(sections, "Release and version")
    assert made.manifest.data.sha256 in said
    assert made.manifest.name in said
    assert sf.__version__ in said
    assert str(date.today().year) in said  # noqa: DTZ011 - as the report has it


def test_what_was_done_to_every_column_and_every_number_of_a_law_is_in_it(credit):
    made, audit, sections = credit
    by_title = {s["title"]: s for s in sections}
    assert [row[0] for row in by_title["Method"]["table"]["rows"]] == [c.attribute.name for c in made.manifest.columns]
    blurred = {c.attribute.name: c.channel for c in made.manifest.columns if c.channel is not None}
    rows = {row[0]: row for row in by_title["Parameters"]["table"]["rows"]}
    assert set(rows) == set(blurred)
    for name, law in blurred.items():
        strength = law.sigma if law.law == "gaussian" else law.gamma
        assert f"{float(f'{strength:.6g}'):,.10g}" in rows[name][2]
    for promise in audit.promises:
        if promise.attribute in rows:
            stated = float(rows[promise.attribute][3].replace(",", "").removesuffix(" labels"))
            assert stated <= audit.domains[promise.attribute] * (1 + 1e-6)


def test_every_attack_that_was_run_is_in_it_with_what_it_was_granted_and_every_one_that_was_not(credit):
    _, audit, sections = credit
    attacks = next(s for s in sections if s["title"] == "Attacks tried")
    assert len(attacks["table"]["rows"]) == len({f.name for f in audit.findings})
    assert sum(int(row[2].split(" of ")[1]) for row in attacks["table"]["rows"]) == len(audit.findings)
    assert all(name in " ".join(attacks["statements"]) for name in audit.notes)


def test_the_results_and_what_is_left_are_those_of_the_audit(credit):
    _, audit, sections = credit
    results, risk = words(sections, "Results"), words(sections, "Residual risk")
    assert audit.headline.decision.in_words in results
    assert audit.people.in_words in results
    assert f"{float(f'{100 * audit.people.interval[1]:.3g}'):g} %" in risk
    assert all(alarm["words"] in risk for alarm in audit.alarms())


def test_the_tool_states_nothing_that_only_people_know(credit):
    _, _, sections = credit
    blanks = [line for s in sections for line in s["to_fill_in"]]
    assert len(blanks) >= 12
    for topic in ("legal basis", "responsible", "receives", "signature", "population", "next review"):
        assert any(topic in line for line in blanks), topic
    stated = " ".join(words(sections, title) for title in TITLES).lower()
    for claim in ("complies", "gdpr", "anonymous data", "guaranteed"):
        assert claim not in stated


def test_the_page_has_a_line_to_fill_in_for_each(credit):
    _, audit, sections = credit
    page = audit.html()
    record = page[page.index("Record to file</h2>") :]
    for line in (line for s in sections for line in s["to_fill_in"]):
        assert f'<label class="blank">{line}<input type="text"' in record
    assert re.findall(r"<h3>(.*?)</h3>", record) == TITLES


def test_the_public_record_has_only_figures_of_the_public_edition(credit):
    _, audit, _ = credit
    public = audit.to_dict("public")
    results = words(public["filing"], "Results")
    assert public["people_found"]["in_words"] in results
    assert audit.people.in_words not in results


def test_a_guided_release_says_its_method_and_a_shuffled_one_its_order(tmp_path):
    _, _, guided = filed("iris", sf.plan("iris", method="leaf-swap", options={"least": 3}), tmp_path / "g")
    assert "mined the table first" in words(guided, "Method")
    assert "Method leaf-swap: " in words(guided, "Parameters")
    assert "order of the table" in words(guided, "Method")


def test_withheld_columns_learned_domains_and_gaps_are_told(tmp_path):
    table = tmp_path / "t.csv"
    lines = [f"{i % 7},{'' if i % 9 == 0 else i % 5 + 0.5},{'ab'[i % 2]}" for i in range(200)]
    table.write_text("\n".join(["visits,dose,group", *lines]))
    plan = sf.plan(table, noise="laplace", privacy=1.5)
    plan = with_consent(plan, "group", Consent.WITHHOLD)
    _, _, sections = filed(table, plan, tmp_path / "r")
    data = words(sections, "Data")
    assert "Withheld from the release: group." in data
    assert re.search(r"learned from the data.*dose", data)
    assert "who has no value: dose" in data

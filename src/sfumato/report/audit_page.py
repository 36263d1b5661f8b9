"""An audit as one page: what is broken first, in red and in words; charts; then tables. The same content as its JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import Any

from sfumato.findings import explain
from sfumato.report import charts, page, score_tables
from sfumato.report.audit_charts import (
    NARROW,
    STYLE,
    attack_chart,
    choose_ink,
    distance_chart,
    exposure_chart,
    promise_chart,
    width_chart,
)
from sfumato.text import escape, format_number

PAGE_STYLE = """
.decision{border:2px solid var(--care);border-left-width:10px;background:var(--caresheet);border-radius:10px;padding:12px 18px;margin:14px 0}
.decision b{display:block;font-size:22px;color:var(--care)}.decision p{max-width:none}
.decision.do-not-publish{border-color:var(--bad);background:var(--badsheet)}.decision.do-not-publish b{color:var(--bad)}
.decision.fit{border-color:var(--fit);background:var(--fitsheet)}.decision.fit b{color:var(--fit)}
.alarm{border-left:5px solid var(--bad);background:var(--badsheet);padding:10px 16px;border-radius:8px;margin:10px 0}
.alarm b{display:block;font-size:17px}.alarm .code{font-size:13px;font-weight:400}.alarm p{max-width:none;margin:6px 0}
.alarm i{font-style:normal;font-size:14px;display:inline-block;padding:1px 9px;margin:2px 6px 2px 0;border-radius:12px;
background:var(--sheet);border:1px solid var(--rule);font-variant-numeric:tabular-nums}
.alarm span{color:var(--soft);font-size:15px}.alarm.narrowed{border-left-color:var(--care);background:var(--caresheet)}
.alarm.clear{border-left-color:var(--calm);background:var(--calmsheet)}.alarm.good{border-left-color:var(--fit);background:var(--fitsheet)}
.verdict{display:inline-block;font-size:13px;font-weight:600;padding:1px 9px;border-radius:99px;color:var(--onbadge);background:var(--bad);
white-space:nowrap}.verdict.kept{background:var(--fit)}.verdict.narrowed{background:var(--care)}.verdict.clear{background:var(--calm)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(220px,100%),1fr))}
.figure.bad b{color:var(--bad)}.figure.ok b{color:var(--fit)}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:12px 0;font-size:15px}
.blank{display:block;max-width:76ch;margin:10px 0;color:var(--soft);font-size:15px}
.blank input{display:block;width:100%;box-sizing:border-box;font:inherit;color:var(--text);background:var(--sheet);border:0;
border-bottom:1px solid var(--soft);padding:6px 4px;border-radius:0}
@media print{.alarm,.decision{break-inside:avoid}.alarm,.decision,.verdict,thead th,.sf rect{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.record{break-before:page}.blank input{background:none}}
"""


BARS = {"original": "original", "release": "reconstructed", "naive": "naive"}
"""What the bars of trees are called, and their names in the data."""
GRAVE = ("broken", "people found", "nothing hidden", "given away")
NOTHING_FOUND = "Every attack below found nothing beyond what the laws and the distributions leave."


def audit_page(about: Mapping[str, Any]) -> str:
    """The page of an audit, from its plain data; the edition decides what may be in it."""
    public = about["edition"] == "public"
    lead = f"{about['rows']:,} records, attacked with everything the manifest tells" + (
        "; this edition says nothing about single people." if public else "."
    )
    parts = [
        _promises(about),
        _attacks(about),
        "" if public else _people(about),
        _usefulness(about["utility"]),
        _laws(about),
        _record(about["filing"]) if about["filing"] else "",
        _codes(about["findings"]),
        _reading(about),
    ]
    titles = [unescape(title) for part in parts for title in re.findall(r"<h2>(.*?)</h2>", part)]
    return page.page(
        f"Audit of {about['release']}" if about["release"] else "Audit",
        lead,
        f"<style>{STYLE}{PAGE_STYLE}</style>",
        _decision(about),
        _alarms(about["findings"]),
        _figures(about),
        page.contents(titles),
        *parts,
    )


def _decision(about: Mapping[str, Any]) -> str:
    """Return the verdict in plain words, with the worst fact and the remedy."""
    headline = about["headline"]
    return (
        f'<div class="decision {about["decision"]}"><b>{escape(headline["verdict"])}</b>'
        f"<p>{escape(headline['fact'])} {escape(headline['remedy'])}</p><p>{escape(about['verdict'])}</p></div>"
    )


def _record(sections: Sequence[Mapping[str, Any]]) -> str:
    """Return the record that an officer files: what is known, and a line for what only people know."""
    out = page.paragraph(
        "After the outline of NIST SP 800-188. The sentences follow from the release and this audit; the lines are for what neither can "
        "know. Type into them before you print the page, or write on paper."
    )
    for part in sections:
        out += f"<h3>{escape(part['title'])}</h3>" + "".join(map(page.paragraph, part["statements"]))
        if "table" in part:
            out += page.table(part["table"]["head"], part["table"]["rows"])
        out += "".join(
            f'<label class="blank">{escape(words)}<input type="text" autocomplete="off"></label>'
            for words in part["to_fill_in"]
        )
    return page.section("Record to file", out).replace("<section ", '<section class="record" ', 1)


def _alarms(alarms: Sequence[Mapping[str, Any]]) -> str:
    if not [a for a in alarms if a["level"] in (*GRAVE, "narrowed", "inferred")]:
        calm = {"level": "good", "words": "No attack got past a promise.", "remedy": NOTHING_FOUND}
        return _alarm(calm) + "".join(map(_alarm, alarms))
    first = [a for a in alarms if a["level"] in GRAVE]
    rest = [a for a in alarms if a["level"] not in GRAVE]
    shown = "".join(map(_alarm, first[:6]))
    more = first[6:] + rest
    if not first:
        shown, more = "".join(map(_alarm, rest[:4])), rest[4:]
    hidden = f"<details><summary>{len(more)} more</summary>{''.join(map(_alarm, more))}</details>" if more else ""
    return shown + hidden


def _alarm(alarm: Mapping[str, Any]) -> str:
    level = alarm["level"]
    kind = "" if level in GRAVE else {"not measured": "clear", "inferred": "narrowed"}.get(level, level)
    items = "".join(f"<i>{escape(i)}</i>" for i in alarm.get("items", ()))
    code = f' <a class="code" href="#{alarm["code"]}">{alarm["code"]}</a>' if "code" in alarm else ""
    return (
        f'<div class="alarm {kind}"><b>{escape(alarm["words"])}{code}</b>'
        f"{f'<p>{items}</p>' if items else ''}<span>{escape(alarm['remedy'])}</span></div>"
    )


def _codes(findings: Sequence[Mapping[str, Any]]) -> str:
    """What every code in the report means, and what to do about it."""
    entries = [explain(code) for code in sorted({f["code"] for f in findings})]
    if not entries:
        return ""
    rows = "".join(
        f'<dt id="{e.code}">{e.code}: {escape(e.title)}</dt><dd>{escape(e.meaning)} {escape(e.next_step)}</dd>'
        for e in entries
    )
    return page.section("What the codes mean", f"<dl>{rows}</dl>")


def _figures(about: Mapping[str, Any]) -> str:
    promises, risk = about["promises"], about["risk"]
    broken = promises["broken"]
    stated = promises["kept"] + promises["narrowed"] + broken
    links = [f for f in about["attacks"] if f["unit"] == "share of people found"]
    out = [_figure(f"{risk:.0%}", "of what was unknown is given away by the worst attack", risk >= 0.5, risk < 0.05)]
    if stated and not promises["no promise"]:
        words = "promised intervals kept against every attack"
        out.append(_figure(f"{promises['kept']} of {stated}", words, broken > 0, not broken))
    elif promises["no promise"] or broken:
        columns = promises["no promise"] + stated
        out.append(_figure(f"{broken} of {columns}", "columns undone by an attack", broken > 0, not broken))
    if links:
        # The worst of those that look among all rows, by the least chance of a random pick.
        worst = max(links, key=lambda f: (-f["baseline"], f["success"]))
        rate = worst["success"]
        words = f"of people found by anyone who knows their {len(worst['attributes'])} columns"
        out.append(_figure(f"{rate:.1%}", words, rate > 0.1, rate < 0.01))
    if trees := about["utility"]["trees"]:
        accuracy = trees["accuracy"]
        words = (
            f"accuracy of a tree from the release; {accuracy['original']:.1%} from the original, {trees['majority']:.1%} always "
            "the commonest class"
        )
        out.append(_figure(f"{accuracy['reconstructed']:.1%}", words))
    return f'<div class="figures">{"".join(out)}</div>'


def _figure(value: str, words: str, bad: bool = False, good: bool = False) -> str:
    kind = "bad" if bad else "ok" if good else ""
    return f'<div class="figure {kind}"><b>{escape(value)}</b><span>{escape(words)}</span></div>'


def _wide(draw: Callable[..., str], *args: Any) -> str:
    """Return a chart across the page, drawn for a wide one and for a narrow one; nothing where there is nothing to draw."""
    broad = draw(*args)
    return f'<div class="wide">{page.responsive(broad, draw(*args, narrow=True))}</div>' if broad else ""


def _card(draw: Callable[..., str], *args: Any, **options: Any) -> str:
    return page.responsive(*(draw(*args, **options, alone=False, width=width) for width in (520, NARROW)))


def _badge(promise: Mapping[str, Any]) -> page.Markup:
    kind = {"bad": "", "amber": "narrowed", "good": "kept"}.get(choose_ink(promise), "clear")
    return page.Markup(f'<span class="verdict {kind}">{escape(promise["verdict"])}</span>')


def _format_left(p: Mapping[str, Any]) -> str:
    if p["left"] is None:
        return "–"
    return f"{_number(p['left'])}  ({_number(p['left_interval'][0])} to {_number(p['left_interval'][1])})"


def _format_guess(guess: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return how often a value is guessed right with the release, and without it."""
    return ("–", "–") if guess is None else (f"{guess['share']:.0%}", f"{guess['without_release']:.0%}")


def _promises(about: Mapping[str, Any]) -> str:
    promised = about["promised"]
    sizes = about["domains"]
    rows = [
        [
            name,
            p["mechanism"],
            _number(p["interval_width_95"] if p.get("stated") is None else p["stated"]),
            f"{_number(p['without_release'])}",
            _format_left(p),
            *(_format_guess(p["guessed_right"])),
            _badge(p),
            p.get("not_measured_because") or (p["attack"] if p["verdict"] != "in the clear" else ""),
        ]
        for name, p in promised.items()
    ]
    blurred = [p for p in promised.values() if p["verdict"] not in ("in the clear", "not measured")]
    return page.section(
        "Promised, and left",
        page.paragraph(
            "For each attribute the width of the interval (or the number of labels) that holds the true value with 95 %: as "
            "the law promises it, and as it is after the strongest attack. No law can promise more than people differ by; the "
            "upright mark shows how much that is. Guessed right: how often the best guess of a value is right (the same label, or a "
            "number to within 5 % of the range) by somebody who knows the row, and how often the best guess without the release is."
        ),
        _wide(promise_chart, promised, sizes) if blurred else "",
        page.table(
            [
                "attribute",
                "law",
                "promised",
                "without release",
                "left (95 % interval)",
                "guessed right",
                "without release",
                "verdict",
                "by",
            ],
            rows,
            (2, 3, 4, 5, 6),
        ),
    )


def _attacks(about: Mapping[str, Any]) -> str:
    rows = [
        [
            f["title"],
            f["attributes"][0] if len(f["attributes"]) == 1 else f"{len(f['attributes'])} columns",
            f"{f['success']:.1%}",
            f"{f['interval'][0]:.1%} to {f['interval'][1]:.1%}",
            f"{f['baseline']:.1%}",
            "–" if f["control"] is None else f"{f['control']:.1%}",
            f"{f['trials']:,}",
            f["unit"],
        ]
        for f in about["attacks"]
    ]
    clear = {n for n, p in about["promised"].items() if p["verdict"] == "in the clear"}
    hidden = [f for f in about["attacks"] if set(f["attributes"]) - clear] or about["attacks"]
    kinds = {f["name"]: (f["title"], f["assumes"]) for f in about["attacks"]}
    granted = {name: ", ".join(words) or "nothing" for name, words in about["granted"].items()}
    assumed = [[title, words, granted[name]] for name, (title, words) in kinds.items()]
    skipped = [[name, why] for name, why in about["not_run"].items()]
    return page.section(
        "Every attack, beside what could be guessed anyway",
        page.paragraph(
            "An attack sees the release, its manifest and the side knowledge stated; never the original. The baseline is the "
            "best guess without the release; the control is the same attack on people who are not in it. What exceeds both was "
            "given away by the release."
        ),
        _wide(attack_chart, hidden) if hidden else "",
        "<details><summary>All figures</summary>"
        + page.table(
            ["attack", "on", "success", "95 % interval", "baseline", "control", "trials", "unit"], rows, (2, 3, 4, 5, 6)
        )
        + "</details><details><summary>What each attack assumes</summary>"
        + page.table(["attack", "assumes", "granted"], assumed)
        + (page.table(["not run", "because"], skipped) if skipped else "")
        + "</details>",
    )


def _people(about: Mapping[str, Any]) -> str:
    records = about["records"]
    rows = [
        [
            f"{w['row']:,}",
            f"{w['bits']:.1f}",
            f"{w['found_with_probability']:.1%}",
            f"{w['hidden_among']:.1f}",
            w["given_away_by"],
        ]
        for w in records["worst"]
    ]
    return page.section(
        "Who is exposed",
        page.paragraph(
            f"To single one record out of all takes {records['bits_needed_to_single_out']:.1f} bits. Half carry at most "
            f"{records['bits_median']:.1f}, and {records['share_over']:.1%} carry more than enough: anyone who knows all of "
            "such a person has a good chance to find the row."
        ),
        _wide(exposure_chart, records),
        _wide(width_chart, about["promised"], about["domains"]),
        "<details open><summary>The most exposed records (this edition only)</summary>"
        + page.table(
            ["row", "bits", "found with probability", "hidden among", "given away most by"], rows, (0, 1, 2, 3)
        )
        + "</details>",
    )


def _usefulness(utility: Mapping[str, Any]) -> str:
    drawings, parts = [], []
    if utility["trees"]:
        trees = utility["trees"]
        bars = {way: trees["accuracy"][key] for way, key in BARS.items()} | {"majority": trees["majority"]}
        title = f"Accuracy on {trees['test_rows']:,} rows held out"
        drawings.append(_card(charts.comparison, title, bars, inks=charts.TRUE_FIRST))
        if calibration := trees["scores"]["reconstructed"].get("calibration"):
            drawings.append(_card(score_tables.draw_calibration, calibration))
        likeness = trees["similarity"]["reconstructed"]
        parts.append(
            f"The tree from the release agrees with the original's on {likeness['agreement']:.1%} of records; "
            f"their rules are {likeness['rule_similarity']:.0%} alike."
        )
    if utility["correlations"]:
        c = utility["correlations"]
        parts.append(
            f"Correlations of numeric columns are off by {c['mean_error_corrected']:.3f} on average with the noise taken out, "
            f"{c['mean_error_released']:.3f} as released."
        )
    if utility["clusters"]:
        c = utility["clusters"]
        parts.append(
            f"k-means (k = {c['k']}) on the release puts {c['agreement']:.1%} of records where the original's puts them."
            + (f" Left out: {c['rows_with_gaps']:,} records with missing numbers." if c.get("rows_with_gaps") else "")
        )
    if alike := _likeness(utility):
        drawings.append(_card(charts.comparison, "Patterns of release and original alike", alike))
    rows = [
        [
            n,
            f"{d['total_variation']:.3f}",
            f"{d['total_variation_released']:.3f}",
            f"{d['kolmogorov_smirnov']:.3f}" if "kolmogorov_smirnov" in d else "–",
            f"{d['wasserstein']:.4g}" if "wasserstein" in d else "–",
        ]
        for n, d in utility["distributions"].items()
    ]
    return page.section(
        "What it is still good for",
        page.cards(drawings) if drawings else "",
        _scores(utility["trees"]) if utility["trees"] else "",
        _wide(distance_chart, utility["distributions"]) if utility["distributions"] else "",
        *[page.paragraph(p) for p in parts],
        "<details><summary>Distances of reconstructed distributions</summary>"
        + page.table(
            ["attribute", "total variation", "as released", "Kolmogorov–Smirnov", "Wasserstein"], rows, (1, 2, 3, 4)
        )
        + "</details>"
        if rows
        else "",
    )


def _scores(trees: Mapping[str, Any]) -> str:
    """Return the scores of the trees and, where the edition has the counts, which classes the release's tree mistakes."""
    names = {"original": "from the original", "reconstructed": "from the release", "naive": "from the release, naive"}
    by_tree = {f"tree {words}": trees["scores"][way] for way, words in names.items()}
    head, rows = score_tables.tabulate_scores(by_tree)
    out = page.table(head, rows, range(1, len(head)))
    if confusion := trees["scores"]["reconstructed"].get("confusion"):
        head, rows = score_tables.tabulate_confusion(confusion, trees["labels"])
        summary = "What the tree from the release takes each class for"
        out += f"<details><summary>{summary}</summary>{page.table(head, rows, range(1, len(head)))}</details>"
    return out


def _likeness(utility: Mapping[str, Any]) -> dict[str, float]:
    out = {}
    if utility["trees"]:
        likeness = utility["trees"]["similarity"]["reconstructed"]
        out = {"tree": likeness["agreement"], "rules": likeness["rule_similarity"]}
    if utility["clusters"]:
        out["clusters"] = utility["clusters"]["agreement"]
    if utility["correlations"]:
        out["correlation"] = max(0.0, 1 - utility["correlations"]["mean_error_corrected"])
    return out


def _laws(about: Mapping[str, Any]) -> str:
    privacy = about["privacy"]
    told = privacy["information"]
    rows = [
        [
            name,
            _number(p.get("interval_width_50")),
            _number(p.get("interval_width_95")),
            _number(p.get("interval_width_999", p.get("interval_width_99.9"))),
            "∞"
            if p.get("epsilon") is None
            else f"{p['epsilon']:.3f}" + (" if present" if p.get("missing_public") else ""),
            f"{p['rho']['rho1']:.0%} → {p['rho']['rho2']:.0%}" if "rho" in p else "–",
            *_information(told.get(name)),
        ]
        for name, p in privacy["attributes"].items()
    ]
    return page.section(
        "What the laws say of themselves",
        page.table(
            ["attribute", "50 %", "95 %", "99.9 %", "ε", "belief", "bits told", "privacy loss", "Π"],
            rows,
            (1, 2, 3, 4, 5, 6, 7, 8),
        ),
        page.paragraph(str(privacy["record"].get("in_words", ""))),
        page.paragraph(str(privacy["record"].get("information_in_words", ""))),
        *[page.paragraph(f"ε is infinite for {', '.join(names)}: {why}.") for why, names in _reasons(privacy).items()],
        page.paragraph(
            "Belief: the most that a belief of 5 % can become (ρ₁ → ρ₂). Bits told are I(X;Z), privacy loss is "
            "1 − 2^(−I(X;Z)), and Π = 2^h(X|Z) is the width of the interval that is as uncertain as the value still is, all "
            "three with the reconstructed distribution as prior."
        ),
        *[page.paragraph(f"{', '.join(names)}: {why}.") for why, names in _bounds(told).items()],
    )


def _information(told: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Return bits, loss and Π of a column, with the sign of a bound where they are not exact."""
    if told is None:
        return "–", "–", "–"
    least, most = ("", "") if told.get("exact", True) else ("≥ ", "≤ ")
    width = _number(told["entropy_privacy"])
    return f"{least}{told['bits']:.2f}", f"{least}{told['privacy_loss']:.0%}", f"{most}{width}"


def _bounds(told: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the columns of which figures are bounds, by the reason."""
    out: dict[str, list[str]] = {}
    for name, about in told.items():
        if about.get("reason"):
            out.setdefault(about["reason"], []).append(name)
    return out


def _reasons(privacy: Mapping[str, Any]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, p in privacy["attributes"].items():
        if p.get("epsilon") is None and p.get("reason"):
            out.setdefault(p["reason"], []).append(name)
    return out


def _number(value: Any) -> str:
    """Return a figure with four digits, and all digits of a large whole part: 99,999 must not read as 100,000 of 99,999."""
    if not isinstance(value, int | float):
        return "–"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else format_number(value)


def _reading(about: Mapping[str, Any]) -> str:
    return page.section(
        "How to read this",
        page.paragraph(
            "Broken: an attack found a way around the column's own law, or the law gives away more than a third of the promise. "
            "Narrowed: with the distribution of the column, which the release is meant to tell, less is left than the law alone would. "
            "Inferred: the value follows from another column, also of people who are not in the release. Kept: at "
            "least 95 % of the promise is left. An audit knows the attacks listed here and no others; what it did not break "
            "may still break."
        ),
        page.paragraph(f"Seed {about['seed']}; {about['edition']} edition; {about['seconds']:.1f} s."),
    )

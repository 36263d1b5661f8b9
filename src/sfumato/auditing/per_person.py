"""Rows of one person: read from the original, granted to the attack that averages them, and scored person by person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.attacks import TOLERANCE, Claim, Recovery, RowGroups, ValueAttack
from sfumato.auditing.score import Finding, score_values
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.io import format_labels, open_table, read_blocks
from sfumato.schema import Attribute
from sfumato.text import join_names

MEANS = f"share of people whose mean is found to within {TOLERANCE:.0%} of the range"
TYPICAL = "share of people whose commonest label is found"


def read_groups(table: Any, column: str, rows: IntArray, encoding: str | None, *, shared: bool) -> RowGroups | None:
    """Return whose row each of the given rows of the original is; None where everybody has one."""
    source = open_table(table, encoding)
    if column not in source.columns:
        raise UsageError(f"{source.name} has no column {column!r}; its columns are {join_names(source.columns)}")
    texts = [format_labels(b.batch.column(column), column).fill_null("") for b in read_blocks(source, [column])]
    ids = np.concatenate([t.to_numpy(zero_copy_only=False) for t in texts]).astype(str)[rows]
    person = np.unique(ids, return_inverse=True)[1]
    return None if person.max(initial=-1) + 1 == len(ids) else RowGroups(person.astype(np.int64), shared)


def score_per_person(
    attack: ValueAttack, claim: Claim, attributes: Mapping[str, Attribute], truth: Mapping[str, FloatArray], seed: int
) -> list[Finding]:
    """Return one finding per column: how many people's mean (of labels: the commonest) is found; none where no rows are grouped."""
    groups = attack.people()
    if groups is None:
        return []
    typical = {
        r.attribute: typical_values(truth[r.attribute], attributes[r.attribute], groups) for r in claim.recoveries
    }
    guesses = []
    for recovery in claim.recoveries:
        numeric = attributes[recovery.attribute].kind.numeric
        mean = typical_values(recovery.mean if numeric else recovery.pick, attributes[recovery.attribute], groups)
        guesses.append(Recovery(recovery.attribute, mean, mean, title=f"{attack.title}, per person"))
    findings = score_values(attack, Claim(tuple(guesses)), attributes, typical, seed=seed)
    return [_per_person(f, attributes[f.attributes[0]].kind.numeric) for f in findings]


def _per_person(finding: Finding, numeric: bool) -> Finding:
    """Return the finding with its interval among the details: a person's mean is not what the promise of a row is about."""
    left = [list(width) for width in finding.left.values()]
    details = {**finding.details, "per": "person"} | ({"mean_interval_left_95": left[0]} if left else {})
    return replace(finding, unit=MEANS if numeric else TYPICAL, left={}, details=details)


def typical_values(values: FloatArray, attribute: Attribute, groups: RowGroups) -> FloatArray:
    """Return the mean of each person's values, or their commonest label; NaN where there is none."""
    known = ~np.isnan(values)
    person, seen = groups.person[known], values[known]
    size = int(groups.person.max(initial=-1)) + 1
    rows = np.bincount(person, minlength=size)
    if attribute.kind.numeric:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.bincount(person, seen, minlength=size) / np.where(rows, rows, np.nan))
    labels = np.zeros((size, int(seen.max(initial=0)) + 1))
    np.add.at(labels, (person, seen.astype(np.int64)), 1)
    return np.where(rows > 0, labels.argmax(axis=1).astype(np.float64), np.nan)

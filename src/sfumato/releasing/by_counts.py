"""Guided methods for tables that fit no memory: the owner mines a sample, all rows are counted, each row is perturbed alone.

- The trees are grown from a sample of rows (all of them where they are few). Any tree serves: it only says among whom labels
  and values are exchanged.
- What a leaf holds is counted over all rows. So the guarantees that speak of leaves hold for the whole table: class-random
  and DETECTIVE's shuffle keep every leaf's totals exactly, the others keep them on average.
- Chance is keyed: a function of the row, its value, and a keyed sum over all cells. Any change of the table draws everything
  afresh, which the ledger then refuses, as it does for methods that see the whole table.

An exchange inside a leaf is a random order of its rows (by keyed numbers) and a deal by counts: who gets which value
follows from thresholds between ranks, which are found by counting (`trees.selection`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.guided import (
    ClassAllLeaves,
    ClassNoise,
    ClassProbabilistic,
    Detective,
    GuidedMethod,
    LeafSwap,
    Segments,
    all_leaves_rate,
    chosen_columns,
    left_out_note,
    limits,
    rare,
    rare_note,
    unmoved_note,
)
from sfumato.hashing import WordArray
from sfumato.io import Decoder, Encoder, Source, Written
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import CountedTable, Entry, Making, Manifest, ReadColumn, Reader, Sampled, Sketch, sampled
from sfumato.releasing import _swapping as swapping
from sfumato.releasing._dealing import Chance, Deal, GuidedKernel, GuidedTally, Leaf, LeafCounts, RankCount
from sfumato.releasing.base import Draft
from sfumato.releasing.whole_table import guided_entry, guided_manifest
from sfumato.schema import Consent, Kind, Role
from sfumato.table import Table, labels_of
from sfumato.text import join_names
from sfumato.trees import ALWAYS, LARGEST_WORD, NEVER, Asked, Cuts, Wanted, c45, select


@dataclass(frozen=True, eq=False)
class CountedDraft(Draft):
    """A guided release whose rows are perturbed one by one, by what was counted of all of them."""

    plan: Plan
    method: GuidedMethod
    names: list[str]
    noise: str
    """The public name of the noise: equal names mean equal noise."""
    sketch: Sketch | None = None
    """Of the true rows, where the rows to write are no longer theirs."""
    warnings: tuple[Note, ...] = ()
    rare_rows: int = 0
    """Rows of rare classes, which are left out whatever their leaf."""
    mined: Sampled | None = None

    def check(self, written: Written, tally: GuidedTally) -> None:  # noqa: ARG002
        """Refuse a release without rows."""
        if not written.rows:
            raise UsageError("leaf-swap: every leaf and class is a small cell; lower `least`, or choose small=keep")

    def entry(self, tally: GuidedTally) -> Entry:
        """Return one name of noise and one law for all columns."""
        return guided_entry(self.plan, self.method, self.names, self.noise, self.sketch or tally.tally.sketch)

    def manifest(self, written: Written, tally: GuidedTally, earlier: tuple[str, ...]) -> Manifest:
        """State the method, its parameters, and from how many rows its trees were grown."""
        return guided_manifest(
            self.plan,
            self.method,
            written,
            earlier,
            changed={name for name, count in tally.changed.items() if count},
            missing=tally.tally.missing,
            public=self._public(),
        )

    def _public(self) -> dict[str, Any]:
        assert self.mined is not None
        about: dict[str, Any] = {"tree_from_rows": len(self.mined.rows), "by_counts": True}
        if isinstance(self.method, LeafSwap):
            about["limits"] = limits(self.method.small, self.method.least)
            if self.mined.whole and self.method.leaves_rare_out:
                del about["tree_from_rows"]  # all rows: less those of the release, it would count who was left out
        return about

    def making(self, written: Written, tally: GuidedTally) -> Making:
        """Return the shares of changed cells, and how many rows were mined."""
        assert self.mined is not None
        warnings = self.warnings
        if self.sketch is not None:
            small = tally.changed[swapping.SMALL]
            if unmoved := small * (len(self.names) - 1):
                warnings += (unmoved_note(unmoved, small),)
            if gone := self.sketch.rows - written.rows - self.rare_rows:
                warnings += (left_out_note(gone),)
        shown = {n: c for n, c in tally.changed.items() if n in self.names}
        rows = len(self.mined.rows)
        return Making(
            notes=(f"the trees were grown from {rows:,} rows, and all rows were counted in them",),
            warnings=warnings,
            changed={name: count / max(written.rows, 1) for name, count in shown.items()},
            mined_rows=rows,
        )


def draft_by_counts(
    source: Source, plan: Plan, method: GuidedMethod, owner: SecretKey, engine: Engine, sample: int
) -> CountedDraft:
    """Prepare a guided release of a table that an engine holds."""
    _refuse(method, plan)
    if engine.keys_on_workers:
        raise UsageError(
            f"{method.law}: the keys of a guided release depend on what was counted and are sent to the workers, who cannot read "
            "them from a key file; leave keys_on_workers=True out"
        )
    if getattr(source, "numbered", "") is None:
        raise UsageError("the rows of a DataFrame have no numbers; name a column of row numbers, or give files")
    engine.check_numbers(source)
    counted = CountedTable(_reader(plan), source, engine)
    mined = sampled(counted, sample)
    decoders = {a.name: Decoder(a, a.kind in (Kind.INTEGER, Kind.DATE)) for a in plan.schema if a.released}
    if isinstance(method, LeafSwap):
        # Looking at the release's own tree takes the whole release; the manifest states that it was not done.
        draft = _swap(replace(method, redraws=0), plan, counted, mined.table, owner, decoders)
    else:
        draft = _deal(method, plan, counted, mined.table, owner, decoders)
    return replace(draft, mined=mined)


def _true_columns(plan: Plan) -> set[str]:
    """Return the columns whose people agreed to true values."""
    return {a.name for a in plan.schema if a.consent is Consent.TRUE and a.role is not Role.TARGET}


def _deal(
    method: Any, plan: Plan, counted: CountedTable, mined: Table, owner: SecretKey, decoders: dict[str, Decoder]
) -> CountedDraft:
    leaves = _leaves(method, mined)
    *found, content = counted.fold(LeafCounts(leaves, owner.derive("content"))).tables
    counts = [c.astype(np.float64) for c in found]
    labels = ["guided by counts", plan.release_name, method.to_dict(), _digest(leaves, counts, content)]
    chance = Chance(owner.derive(*labels))
    deals = _deals(method, leaves, counts, counted, chance)
    deals = tuple(d for d in deals if d.leaf.name not in _true_columns(plan))
    kernel = GuidedKernel(counted.reader, decoders, deals, chance, owner.derive("sketch"))
    names = counted.reader.names
    return CountedDraft(counted.source, names, kernel, kernel.schema, plan, method, names, owner.fingerprint(*labels))


def _swap(
    method: LeafSwap,
    plan: Plan,
    counted: CountedTable,
    mined: Table,
    owner: SecretKey,
    decoders: dict[str, Decoder],
) -> CountedDraft:
    swapping.refuse(method)
    target = mined.required_target.name
    if kept := _true_columns(plan):
        raise UsageError(
            f"{join_names(sorted(kept))}: to be released as true beside swapped columns; run it with engine=Local()"
        )
    tree = c45(mined)
    seen = swapping.Seen(tree, owner.derive("sketch"), owner.derive("content"))
    counts, content, sketch = counted.fold(seen).tables
    labels = ["guided by counts", plan.release_name, method.to_dict(), swapping.digest(tree, counts, content)]
    names = tuple(c.attribute.name for c in counted.reader.columns)
    cells = swapping.Cells(counted.reader, tree)
    by_class = counts.reshape(len(tree.nodes), -1).sum(axis=0)
    gone = rare(by_class) & method.leaves_rare_out
    notes = (rare_note(by_class, counted.reader.labels, target),) if gone.any() else ()
    swap = swapping.Swap(
        owner.derive(*labels), names, method.least, method.small, frozenset((np.flatnonzero(gone) - 1).tolist())
    )
    source = counted.engine.exchange(cells, swap, counted.source, counted.reader.names, cells.schema)
    kernel = swapping.Swapped(names, target, decoders)
    return CountedDraft(
        source,
        kernel.columns,
        kernel,
        kernel.schema,
        plan,
        method,
        counted.reader.names,
        owner.fingerprint(*labels),
        sketch,
        notes,
        int(by_class[gone].sum()),
    )


def _refuse(method: Any, plan: Plan) -> None:
    if plan.schema.target is None or plan.schema.target.kind.numeric:
        raise UsageError(f"{method.law} perturbs around a decision tree and needs a class; name the target column")
    if method.best_of != 1:
        raise UsageError(f"{method.law}: best_of above 1 compares whole releases; run it with engine=Local()")
    if isinstance(method, Detective) and method.chained:
        raise UsageError("detective: chained=true follows values already released; run it with engine=Local()")


def _reader(plan: Plan) -> Reader:
    columns = []
    target = None
    for a in (a for a in plan.schema if a.released):
        read = ReadColumn(a, None, Encoder(a, plan.absent.get(a.name, ("",))))
        if a.role is Role.TARGET:
            target = read
        else:
            columns.append(read)
    if not columns:
        raise UsageError("the table has no column beside the class; there is no tree to grow")
    return Reader(tuple(columns), target)


def _leaves(method: Any, mined: Table) -> tuple[Leaf, ...]:
    target = mined.required_target.name
    if not (mined.codes >= 0).any():
        raise DataError(f"{target}: no row has a class; there is no tree to grow")
    if isinstance(method, ClassNoise):
        return (Leaf(target, c45(mined), of_class=True, size=len(mined.labels)),)
    names = chosen_columns(mined, method.attributes, method.law)
    if not names:
        raise UsageError("detective: the table has no categorical column; use class noise, or another method locally")
    out = []
    for name in names:
        tree = c45(mined.with_target(name))
        out.append(Leaf(name, tree, of_class=False, size=len(labels_of(mined[name].attribute))))
    return tuple(out)


def _digest(leaves: tuple[Leaf, ...], counts: list[FloatArray], content: WordArray) -> str:
    """Of the trees, the counts and all cells: any change of the table draws everything afresh."""
    digest = hashlib.sha256()
    for leaf, table in zip(leaves, counts, strict=True):
        digest.update(json.dumps(leaf.tree.to_dict(), sort_keys=True).encode())
        digest.update(table.tobytes())
    digest.update(content.tobytes())
    return digest.hexdigest()


def _deals(
    method: Any, leaves: tuple[Leaf, ...], counts: list[FloatArray], counted: CountedTable, chance: Chance
) -> tuple[Deal, ...]:
    if isinstance(method, ClassAllLeaves):
        reached = counts[0][counts[0].sum(axis=1) > 0]
        return (Deal(leaves[0], None, None, flip=all_leaves_rate(reached)),)
    if isinstance(method, ClassProbabilistic):
        return (Deal(leaves[0], None, counts[0]),)
    own = [_segments(leaf, table) for leaf, table in zip(leaves, counts, strict=True)]
    if isinstance(method, Detective) and method.draws == "iid":
        out = []
        for leaf, segments in zip(leaves, own, strict=True):
            laws = np.zeros((len(leaf.tree.nodes), leaf.size))
            for node in segments.leaves.tolist():
                laws[node] = segments.law(node, method.p, method.v, method.up)
            out.append(Deal(leaf, None, laws))
        return tuple(out)
    cuts = _thresholds(leaves, counts, counted, chance)
    if not isinstance(method, Detective):
        return (Deal(leaves[0], cuts[0], None),)
    out = []
    for leaf, segments, cut in zip(leaves, own, cuts, strict=True):
        kin = [segments.majorities[segments.siblings(n, method.up)] for n in segments.leaves.tolist()]
        number = np.zeros(len(leaf.tree.nodes), np.int64)
        number[segments.leaves] = [len(k) for k in kin]
        table = np.zeros((len(number), max(int(number.max(initial=0)), 1)), np.int64)
        for node, majority in zip(segments.leaves.tolist(), kin, strict=True):
            table[node, : len(majority)] = majority
        out.append(Deal(leaf, cut, None, table, number, method.p, method.v))
    return tuple(out)


def _segments(leaf: Leaf, counts: FloatArray) -> Segments:
    """The leaves of an attribute's tree with the counts of all rows, summed up the tree."""
    whole = counts.copy()
    for number in range(len(leaf.tree.nodes) - 1, -1, -1):
        for child in leaf.tree.nodes[number].children:
            whole[number] += whole[child]
    return Segments(leaf.name, leaf.tree, np.empty(0, np.int64), whole)


def _thresholds(
    leaves: tuple[Leaf, ...], counts: list[FloatArray], counted: CountedTable, chance: Chance
) -> list[Cuts]:
    """Return for each leaf the rows, in keyed order, at which one value's share ends and the next begins."""
    wanted, bounds = {}, []
    for i, table in enumerate(counts):
        whole = table.astype(np.int64)
        size = whole.sum(axis=1)
        ends = np.cumsum(whole, axis=1)[:, :-1]
        node, _ = inner = np.nonzero((ends > 0) & (ends < size[:, None]))
        low = np.zeros(len(size), np.uint64)
        bounds.append((ends, inner))
        if len(node):
            wanted[i] = Wanted(node, ends[inner], size, low, np.full(len(size), LARGEST_WORD))

    def ask(slots: Asked, *, gathers: bool) -> dict[int, Any]:
        tables = counted.fold(RankCount(leaves, chance, slots, gathers)).tables
        return dict(zip(slots, tables, strict=True))

    thresholds = select(wanted, lambda s: ask(s, gathers=False), lambda s: ask(s, gathers=True))
    out = []
    for i, (ends, inner) in enumerate(bounds):
        words = np.where(ends > 0, NEVER[0], ALWAYS[0])
        rows = np.where(ends > 0, NEVER[1], ALWAYS[1])
        if i in thresholds:
            words[inner], rows[inner] = thresholds[i].words, thresholds[i].rows
        out.append(Cuts(words, rows))
    return out

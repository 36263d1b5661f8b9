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

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.engines import Engine
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.guided import Exchange, GuidedMethod, Segments, TreeMethod, exposed_rows, left_out_note, unmoved_note
from sfumato.io import Decoder, Source, Written
from sfumato.plans import Plan
from sfumato.randomness import SecretKey
from sfumato.releases import CountedTable, Making, Reader, RowSample, gather_sample
from sfumato.releasing import _kernels as kernels
from sfumato.releasing.base import Decoding, Scope, Tally
from sfumato.releasing.whole_table import GuidedDraft, true_columns
from sfumato.schema import Kind
from sfumato.table import Table
from sfumato.text import join_names
from sfumato.trees import ALWAYS, MAX_WORD, NEVER, CodeThresholds, SlotsByColumn, WantedRanks, c45, select


@dataclass(frozen=True, eq=False)
class CountedDraft(GuidedDraft):
    """A guided release whose rows are perturbed one by one, by what was counted of all of them."""

    method: TreeMethod
    mined: RowSample
    warnings: tuple[Note, ...] = ()
    rare_rows: int = 0
    """Rows of rare classes, which are left out whatever their leaf."""

    def check(self, written: Written, tally: Tally) -> None:  # noqa: ARG002
        """Refuse a release without rows."""
        if not written.rows:
            raise UsageError("leaf-swap: every leaf and class is a small cell; lower `least`, or choose small=keep")

    def changed_columns(self, tally: Tally) -> set[str]:
        """Return the columns with a cell that was changed."""
        return {name for name, count in tally.changed.items() if count}

    def public(self) -> dict[str, Any]:
        """Return from how many rows the trees were grown, and the limits of the method."""
        about: dict[str, Any] = {"tree_from_rows": len(self.mined.rows), "by_counts": True}
        if self.method.limits:
            about["limits"] = self.method.limits
        if self.mined.whole and self.method.leaves_rare_out:
            del about["tree_from_rows"]  # all rows: less those of the release, it would count who was left out
        return about

    def making(self, written: Written, tally: Tally) -> Making:
        """Return the shares of changed cells, and how many rows were mined."""
        warnings = self.warnings
        if self.sketch is not None:
            small = tally.changed[kernels.SMALL]
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
    source: Source, plan: Plan, scope: Scope, method: GuidedMethod, owner: SecretKey, engine: Engine, sample: int
) -> CountedDraft:
    """Prepare a guided release of a table that an engine holds."""
    if plan.schema.target is None or plan.schema.target.kind.numeric:
        raise UsageError(f"{method.law} perturbs around a decision tree and needs a class; name the target column")
    if not isinstance(method, TreeMethod):
        raise UsageError(f"{method.law} is not done by counts; run it with engine=Local()")
    method = method.for_counts()
    if engine.keys_on_workers:
        raise UsageError(
            f"{method.law}: the keys of a guided release depend on what was counted and are sent to the workers, who cannot read "
            "them from a key file; leave keys_on_workers=True out"
        )
    if getattr(source, "numbered", "") is None:
        raise UsageError("the rows of a DataFrame have no numbers; name a column of row numbers, or give files")
    engine.check_numbers(source)
    reader = Reader.of_original(plan)
    if not reader.columns:
        raise UsageError("the table has no column beside the class; there is no tree to grow")
    counted = CountedTable(reader, source, engine)
    cells = {a.name: Decoder(a, a.kind in (Kind.INTEGER, Kind.DATE)) for a in plan.schema if a.released}
    work = plan, scope, counted, gather_sample(counted, sample), owner, Decoding(cells)
    exchange = method.exchange
    return _deal(method, *work) if exchange is None else _swap(method, exchange, *work)


def _deal(
    method: TreeMethod,
    plan: Plan,
    scope: Scope,
    counted: CountedTable,
    mined: RowSample,
    owner: SecretKey,
    decoding: Decoding,
) -> CountedDraft:
    leaves = _leaves(method, mined.table)
    *tables, content = counted.fold(kernels.LeafCounts(leaves, owner.derive("content"))).tables
    counts = [table.astype(np.float64) for table in tables]
    about = kernels.digest((leaf.tree for leaf in leaves), counts, content)
    labels = ["guided by counts", scope.salt, method.to_dict(), about]
    chance = kernels.Chance(owner.derive(*labels))
    redraws = [method.redraw(Segments.of_counts(f.name, f.tree, c)) for f, c in zip(leaves, counts, strict=True)]
    shuffled = any(r.shuffle for r in redraws)
    cuts = _thresholds(leaves, counts, counted, chance) if shuffled else [None] * len(leaves)
    deals = tuple(map(kernels.Deal, leaves, redraws, cuts))
    deals = tuple(d for d in deals if d.leaf.name not in true_columns(plan))
    kernel = kernels.GuidedKernel(counted.reader, decoding, deals, chance, owner.derive("sketch"))
    names = counted.reader.names
    noise = owner.fingerprint(*labels)
    return CountedDraft(counted.source, names, kernel, decoding.schema, plan, scope, method, names, noise, None, mined)


def _swap(
    method: TreeMethod,
    exchange: Exchange,
    plan: Plan,
    scope: Scope,
    counted: CountedTable,
    mined: RowSample,
    owner: SecretKey,
    decoding: Decoding,
) -> CountedDraft:
    target = mined.table.required_target.name
    if kept := true_columns(plan):
        raise UsageError(
            f"{join_names(sorted(kept))}: to be released as true beside swapped columns; run it with engine=Local()"
        )
    tree = c45(mined.table)
    seen = kernels.SwapCounts(tree, owner.derive("sketch"), owner.derive("content"))
    counts, content, sketch = counted.fold(seen).tables
    labels = ["guided by counts", scope.salt, method.to_dict(), kernels.digest([tree], [counts], content)]
    names = tuple(c.attribute.name for c in counted.reader.columns)
    cells = kernels.Cells(counted.reader, tree)
    by_class = counts.reshape(len(tree.nodes), -1).sum(axis=0)
    gone = exposed_rows.is_rare(by_class) & exchange.leaves_rare_out
    notes = (exposed_rows.rare_note(by_class, counted.reader.labels, target),) if gone.any() else ()
    left_out = frozenset((np.flatnonzero(gone) - 1).tolist())
    swap = kernels.Swap(owner.derive(*labels), names, exchange.least, exchange.small, left_out)
    source = counted.engine.exchange(cells, swap, counted.source, counted.reader.names, cells.schema)
    kernel = kernels.SwapKernel(names, target, decoding)
    return CountedDraft(
        source,
        kernel.columns,
        kernel,
        decoding.schema,
        plan,
        scope,
        method,
        counted.reader.names,
        owner.fingerprint(*labels),
        sketch,
        mined,
        notes,
        rare_rows=int(by_class[gone].sum()),
    )


def _leaves(method: TreeMethod, mined: Table) -> tuple[kernels.Leaf, ...]:
    target = mined.required_target.name
    if not (mined.codes >= 0).any():
        raise DataError(f"{target}: no row has a class; there is no tree to grow")
    out = []
    for name in method.redrawn_columns(mined):
        view = mined if name == target else mined.with_target(name)
        out.append(kernels.Leaf(name, c45(view), of_class=name == target, size=len(view.labels)))
    return tuple(out)


def _thresholds(
    leaves: tuple[kernels.Leaf, ...], counts: list[FloatArray], counted: CountedTable, chance: kernels.Chance
) -> list[CodeThresholds]:
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
            wanted[i] = WantedRanks(node, ends[inner], size, low, np.full(len(size), MAX_WORD))

    def ask(slots: SlotsByColumn, *, gathers: bool) -> dict[int, Any]:
        tables = counted.fold(kernels.RankCount(leaves, chance, slots, gathers)).tables
        return dict(zip(slots, tables, strict=True))

    thresholds = select(wanted, lambda s: ask(s, gathers=False), lambda s: ask(s, gathers=True))
    out = []
    for i, (ends, inner) in enumerate(bounds):
        words = np.where(ends > 0, NEVER[0], ALWAYS[0])
        rows = np.where(ends > 0, NEVER[1], ALWAYS[1])
        if i in thresholds:
            words[inner], rows[inner] = thresholds[i].words, thresholds[i].rows
        out.append(CodeThresholds(words, rows))
    return out

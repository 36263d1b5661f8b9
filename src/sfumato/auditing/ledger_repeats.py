"""What the owner's ledger knows of other releases of the same rows, and stand-ins for them to measure averaging by.

The ledger keeps no data, so where a folder is not at hand its release is drawn again from the original under the law that the
ledger names, with noise of its own. That is not the other release, but it is one of the same law: what averaging leaves is alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.attacks import View
from sfumato.auditing.case import Truth
from sfumato.auditing.score import Finding
from sfumato.channels import CHANNELS, Channel
from sfumato.errors import UsageError
from sfumato.randomness import SecretKey
from sfumato.releases import Entry, Ledger, Manifest
from sfumato.table import Column


@dataclass(frozen=True)
class Repeats:
    """Other releases of the same rows: which columns each gives fresh noise, and whether rows stand in the same places."""

    own: Entry
    others: Mapping[str, tuple[Entry, tuple[str, ...], bool]] = field(default_factory=dict)
    """By name and time: the entry, its columns of independent noise, whether its rows have the same addresses."""

    def views(self) -> dict[str, int]:
        """Return for every column the number of releases with noise of their own, this one included."""
        seen: dict[str, set[object]] = {name: {noise} for name, noise in self.own.noise.items()}
        for key, (entry, columns, placed) in self.others.items():
            for name in columns:
                seen[name].add(entry.noise[name] if placed else (key, entry.noise[name]))
        return {name: len(noises) for name, noises in seen.items()}

    def widths(self, view: View) -> dict[str, tuple[float, float]]:
        """Return for every additive column the 95 % interval of this release and that of the best average, (Σ W⁻²)^(−1/2)."""
        out = {}
        for column in view.columns:
            own = column.channel
            others = {
                e.noise[column.name] if placed else (key, e.noise[column.name]): e
                for key, (e, names, placed) in self.others.items()
                if column.name in names
            }
            if own is None or not column.attribute.kind.numeric or not others:
                continue
            width = own.interval_width(0.95)
            laws = [law for e in others.values() if (law := self._law(e, column)) is not None]
            apart = [width, *(law.interval_width(0.95) for law in laws)]
            if laws and min(apart) > 0:
                out[column.name] = (width, float(np.sum(np.array(apart) ** -2.0) ** -0.5))
        return out

    @staticmethod
    def _law(entry: Entry, column: Column) -> Channel | None:
        """The law that the ledger names; an old ledger names none, and then this release's own stands for it.

        None for a guided method, which has no law value by value.
        """
        law = entry.laws.get(column.name)
        if law is None:
            return column.channel
        return Channel.from_dict(law) if law["law"] in CHANNELS else None

    def redraw(self, view: View, truth: Truth, given: Collection[str], seed: int) -> tuple[View, ...]:
        """Draw the others again, save those whose folders were given, and those whose rows stand in other places."""
        max_redrawn = 12  # more releases are counted, but no longer drawn
        out: list[View] = []
        at_hand = list(given)
        for key, (entry, names, placed) in list(self.others.items())[:max_redrawn]:
            laws = {c.name: self._law(entry, c) for c in view.columns if c.name in names and c.channel is not None}
            if entry.name in at_hand:
                at_hand.remove(entry.name)  # one folder stands for one entry of its name
                continue
            if not placed or not any(laws.values()):
                continue
            # No secret: chance for an experiment, repeated under its seed.
            noise = SecretKey(np.random.default_rng([seed, len(out)]).bytes(32))
            drawn = tuple(
                Column(view[n].attribute, None, truth[n]).through(law, noise.derive(key, n))
                for n, law in laws.items()
                if law is not None
            )
            out.append(View(drawn, name=entry.name))
        return tuple(out)

    def to_dict(self, view: View, given: Collection[str], findings: Collection[Finding]) -> dict[str, Any]:
        """Return what the report says: how many there are, what averaging should leave, and what it left."""
        measured = next((f.left for f in findings if f.name == "averaging"), {})
        widths = self.widths(view)
        views = {n: k for n, k in self.views().items() if k > 1}
        return {
            "releases_known_to_the_ledger": 1 + len(self.others),
            "names": [entry.name for entry, _, _ in self.others.values()],
            "given_as_folders": sorted(set(given) & {e.name for e, _, _ in self.others.values()}),
            "in_another_order": sum(not placed for _, _, placed in self.others.values()),
            "columns": {
                name: {
                    "independent_draws": k,
                    "interval_width_95": widths[name][0] if name in widths else None,
                    "expected_after_averaging": widths[name][1] if name in widths else None,
                    "measured_after_averaging": measured[name][0] if name in measured else None,
                }
                for name, k in views.items()
            },
        }


def find_repeats(ledger: Ledger, manifest: Manifest) -> Repeats:
    """Return other releases of the rows of this one, as the ledger beside the owner's key has them."""
    known = ledger.entries()
    own = [e for e in known if e.name == manifest.name and e.sketch.rows == manifest.data.rows]
    if not own:
        raise UsageError(
            f"the ledger {ledger.path} knows no release {manifest.name!r} of {manifest.data.rows:,} rows; "
            "give the key that the release was made with, or leave it out"
        )
    stated = {c.attribute.name: c.channel.to_dict() for c in manifest.columns if c.channel is not None}
    # A name may be released again under another law; ledgers from before laws were kept name none.
    this = next((e for e in reversed(own) if e.laws == stated), own[-1])
    others = {}
    for number, entry in enumerate(known):
        columns = tuple(n for n in this.columns_redrawn_by(entry) if n in this.noise) if entry is not this else ()
        if columns:
            others[f"{number}:{entry.name}"] = (entry, columns, not this.is_moved_in(entry))
    return Repeats(this, others)

"""What a proposed plan tells its owner: a note beside each column, and the remarks that should not be overlooked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfumato.errors import listed
from sfumato.releases.propose import Proposal


def note(proposal: Proposal) -> str:
    """The comment beside a column of the plan."""
    text = proposal.why + (" [domain learned from the data]" if proposal.attribute.learned else "")
    if absent := _texts(proposal.absent):
        text += f"; {absent} taken as missing"
    if answers := _texts(proposal.answers):
        text += f"; {answers} taken as labels: if they mean no value, list them under missing_values"
    return text + (f"; {proposal.doubt}" if proposal.doubt else "")


def remarks(proposals: Mapping[str, Proposal]) -> tuple[str, ...]:
    """Which columns are withheld and why, which texts were taken as missing, or were not, and what else to look at."""
    withheld: dict[str, list[str]] = {}
    for name, proposal in proposals.items():
        if not proposal.attribute.released:
            withheld.setdefault(proposal.why, []).append(name)
    out = [f"withheld: {listed(names)} ({why})" for why, names in withheld.items()]
    if absent := _where({n: p.absent for n, p in proposals.items() if p.attribute.released}):
        out.append(f"taken as missing: {absent}")
    if answers := _where({n: p.answers for n, p in proposals.items()}):
        out.append(f"taken as labels: {answers}; if they mean no value, list them under missing_values in the plan")
    doubts: dict[str, list[str]] = {}
    for name, proposal in proposals.items():
        if proposal.doubt:
            doubts.setdefault(proposal.doubt, []).append(name)
    return (*out, *(f"{listed(names)}: {doubt}" for doubt, names in doubts.items()))


def _texts(texts: Iterable[str]) -> str:
    return listed([repr(t) for t in texts if t])


def _where(texts: Mapping[str, tuple[str, ...]]) -> str:
    return listed([f"{_texts(found)} in {name}" for name, found in texts.items() if _texts(found)])

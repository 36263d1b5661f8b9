"""Whether real samples of a law keep the ε that it states: a lower bound on ε from draws alone, without looking at the law.

For two true values x and x′ any event E of released values bounds γ from below by P(E | x)/P(E | x′). One half of the draws
looks for the event that tells most, the other half, untouched by that choice, bounds both probabilities (Clopper & Pearson
1934). If the lower bound of the ratio exceeds the stated γ, the statement is refuted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.channels import Channel
from sfumato.counts import FloatArray, IntArray
from sfumato.errors import UsageError
from sfumato.randomness import Rows, SecretKey
from sfumato.schema import Attribute


@dataclass(frozen=True)
class EpsilonAudit:
    """The stated ε, the ε that samples show, and the least that it can be.

    Parameters
    ----------
    stated : float
        The ε of the law's guarantee.
    seen, shown : float
        log of the ratio as it was seen, and its lower bound.
    pair : tuple of float
        The two true values that are told apart best.
    share : float
        How likely the telling event is under the first of them.
    draws : int
        Samples per true value.
    """

    stated: float
    seen: float
    shown: float
    pair: tuple[float, float]
    share: float
    """P(E | x) as it was seen: how likely the telling event is."""
    draws: int

    @property
    def holds(self) -> bool:
        """Whether the samples leave the statement standing."""
        return self.shown <= self.stated


def clopper_pearson(hits: FloatArray, n: int, miss: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of a probability, each wrong with probability at most `miss`."""
    from scipy.special import betaincinv

    some, not_all = np.maximum(hits, 1), np.minimum(hits, n - 1)
    lower = np.where(hits > 0, betaincinv(some, n - some + 1, miss), 0.0)
    upper = np.where(hits < n, betaincinv(not_all + 1, n - not_all, 1 - miss), 1.0)
    return lower, upper


def ratio_bounds(first: FloatArray, second: FloatArray, n: int, miss: float) -> FloatArray:
    """Return the least that P(E | x)/P(E | x′) can be, from hits among `n` draws each; wrong with probability at most 2 `miss`."""
    return clopper_pearson(first, n, miss)[0] / clopper_pearson(second, n, miss)[1]


def probes(attribute: Attribute) -> list[float]:
    """Return true values between which a law is tried: the ends of the domain, two inside; for labels the first two and the last."""
    if not attribute.kind.numeric:
        size = len(attribute.labels)
        return [float(code) for code in sorted({0, 1, size // 2, size - 1}) if code < size]
    low, high = attribute.interval.low, attribute.interval.high
    step = attribute.step
    inner = [low + share * (high - low) for share in (0.31, 0.5)]
    return sorted({low, high, *(step * round(v / step) if step else v for v in inner)})


def audit_epsilon(
    channel: Channel,
    attribute: Attribute,
    *,
    draws: int = 100_000,
    key: SecretKey | None = None,
    values: Sequence[float] | None = None,
    false_alarm: float = 1e-5,
) -> EpsilonAudit:
    """Draw from a law at several true values, and bound its ε from below over all pairs of them.

    Parameters
    ----------
    channel : Channel
        The law, bound to the attribute.
    attribute : Attribute
        The attribute.
    draws : int
        Samples per true value, half to find telling events and half to judge them.
    key : SecretKey, optional
        The key of the draws; a new one by default.
    values : sequence of float, optional
        True values to try; by default the ends of the domain and some inside.
    false_alarm : float
        The chance, over all pairs together, to refute a law that keeps its statement.

    Returns
    -------
    EpsilonAudit
        What the law states and what its samples show.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.randomness import SecretKey
    >>> town = sf.Attribute("town", sf.Kind.CATEGORICAL, sf.Categories(("a", "b", "c")))
    >>> law = sf.Substitution(epsilon=1.0).on(town)
    >>> result = sf.audit_epsilon(law, town, key=SecretKey(bytes(32)))
    >>> result.stated, result.holds
    (1.0, True)
    """
    tried = probes(attribute) if values is None else list(values)
    if len(tried) < 2:
        raise UsageError(f"{attribute.name}: a ratio needs two true values; give at least two")
    if draws < 200:
        raise UsageError(f"{draws} draws show nothing; give at least 200")
    half, key = draws // 2, key or SecretKey.generate()
    drawn = [
        channel.perturb(key.derive("epsilon", i), Rows(0, 2 * half), np.full(2 * half, v)) for i, v in enumerate(tried)
    ]
    cuts = _cuts(np.concatenate([d[:half] for d in drawn]))
    looked, judged = ([_count(d[part], cuts) for d in drawn] for part in (slice(half), slice(half, None)))
    pairs = list(itertools.permutations(range(len(tried)), 2))
    miss = false_alarm / (2 * len(pairs))
    stated, results = channel.guarantee().epsilon, []
    for i, j in pairs:
        event = telling_event(looked[i], looked[j])
        hits = np.array([judged[i][event].sum(), judged[j][event].sum()], dtype=np.float64)
        shown = float(ratio_bounds(hits[:1], hits[1:], half, miss)[0])
        seen = hits[0] / hits[1] if hits[1] else (math.inf if hits[0] else 1.0)
        log_seen, log_shown = (math.log(ratio) if ratio > 0 else -math.inf for ratio in (seen, shown))
        pair, share = (tried[i], tried[j]), float(hits[0] / half)
        results.append(EpsilonAudit(stated, log_seen, log_shown, pair, share, draws))
    return max(results, key=lambda result: result.shown)


def telling_event(first: IntArray, second: IntArray) -> IntArray:
    """Return the cells whose union has the largest lower bound of the ratio: a single cell, a tail, or the cells of highest ratio.

    The counts must be of draws that are not used to judge; the bounds here may be rough, since they only choose.
    """
    by_ratio = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
    forward = np.arange(len(first))
    best, chosen = -math.inf, forward[:1]
    for order in (forward, forward[::-1], by_ratio):
        bounds = _rough_bounds(np.cumsum(first[order]), np.cumsum(second[order]))
        at = int(np.argmax(bounds))
        if bounds[at] > best:
            best, chosen = float(bounds[at]), order[: at + 1]
    single = _rough_bounds(first, second)
    at = int(np.argmax(single))
    return forward[at : at + 1] if single[at] > best else chosen


def _rough_bounds(first: IntArray, second: IntArray) -> FloatArray:
    """A count lies within Z standard errors on the scale of its square root, where it has the variance ¼ (Anscombe 1948)."""
    z = 4.0
    lower = np.maximum(np.sqrt(first + 0.375) - z / 2, 0.0) ** 2
    return np.asarray(lower / (np.sqrt(second + 0.375) + z / 2) ** 2)


def _cuts(values: FloatArray) -> FloatArray:
    """Cuts between released values: all of them where they are few, else quantiles and the outermost ones."""
    max_cells = 512
    distinct = np.unique(values)
    if len(distinct) > max_cells:
        ordered = np.sort(values)
        outer = np.array([1, 3, 10, 30, 100])
        outer = outer[outer < len(ordered)]
        distinct = np.unique(
            np.concatenate([np.quantile(ordered, np.linspace(0, 1, max_cells)), ordered[outer], ordered[-outer]])
        )
    return (distinct[1:] + distinct[:-1]) / 2


def _count(values: FloatArray, cuts: FloatArray) -> IntArray:
    return np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)

"""A question, as it is answered: figures of groups of rows, under a condition."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sfumato.questions.conditions import Always, Condition, Key, merge_ends

EVERY = Always()


class Statistic(StrEnum):
    """What is computed of the rows of a group."""

    COUNT = "count"
    SHARE = "share"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "deviation"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    QUANTILE = "quantile"


@dataclass(frozen=True)
class Asked:
    """One figure of each group.

    Parameters
    ----------
    name : str
        Its name in the answer.
    statistic : Statistic
        What is computed.
    columns : tuple of str
        The columns of numbers it is computed of; rows that miss one take no part.
    rows : Condition
        Which rows take part: those of which it is true.
    among : Condition, optional
        For a share: among which rows. For a count or a sum: without such a row it is NULL.
    level : float
        For a quantile: which.
    population : bool
        For a variance or covariance: divide by n and not by n − 1.
    interpolated : bool
        For a quantile: between two values, or the lower one of them.
    """

    name: str
    statistic: Statistic
    columns: tuple[str, ...] = ()
    rows: Condition = EVERY
    among: Condition | None = None
    level: float = 0.5
    population: bool = False
    interpolated: bool = True


@dataclass(frozen=True)
class Order:
    """Sort the answer by a column of it."""

    place: int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Question:
    """Figures by group, under a condition.

    Parameters
    ----------
    columns : tuple of (str, Key or Asked)
        What the answer shows, in its order.
    groups : tuple of Key
        What rows are grouped by.
    where : Condition
        Which rows are looked at.
    order, limit, offset
        How the answer is sorted and cut.
    """

    columns: tuple[tuple[str, Key | Asked], ...]
    groups: tuple[Key, ...] = ()
    where: Condition = EVERY
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def figures(self) -> tuple[Asked, ...]:
        """The figures, in the order of the answer."""
        return tuple(part for _, part in self.columns if isinstance(part, Asked))

    @property
    def ends(self) -> dict[str, tuple[float, ...]]:
        """Every column that conditions and groups ask of, with the numbers at which an answer may change."""
        figures = [condition for f in self.figures for condition in (f.rows, f.among or Always())]
        return merge_ends((self.where, *self.groups, *figures))

    @property
    def names(self) -> list[str]:
        """Every column of the release that is needed."""
        values = [name for figure in self.figures for name in figure.columns]
        return list(dict.fromkeys([*self.ends, *values]))

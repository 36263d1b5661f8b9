"""One door to regression: a formula, a release, a family."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.counts import FloatArray
from sfumato.engines import Engine, Local
from sfumato.errors import DataError, UsageError
from sfumato.findings import Note
from sfumato.questions.regression import corrected_score
from sfumato.questions.regression.clusters import Clusters
from sfumato.questions.regression.formula import Design
from sfumato.questions.regression.held_rows import Rows, Source, check_some_rows, in_either_order
from sfumato.questions.regression.linear import Direction, Influences, Products, Spread, fieller
from sfumato.questions.regression.outcome import RegressionFit
from sfumato.reconstruction import Figure
from sfumato.table import Column
from sfumato.text import join_names

FAMILIES = ("gaussian", "binomial", "poisson")
Z = 1.959963984540054


def fit(
    formula: Any,
    release: Any,
    *,
    family: str = "gaussian",
    success: str | None = None,
    ridge: float = 0.0,
    engine: Engine = Local(),
) -> RegressionFit:
    """Fit a regression on the true values behind a release.

    Parameters
    ----------
    formula : str
        Such as ``"salary ~ age + C(region)"``: columns by name, C(label), I(number**2), place(number), interactions a:b and a*b, 0
        for no intercept. It and the release may stand in either order.
    release : Release, path or Table
        A release, its folder, or a table of released columns in memory.
    family : str
        `gaussian` (least squares), `binomial` (logistic) or `poisson` (log link).
    success : str, optional
        The label of the response that counts as 1; by default the second of two.
    ridge : float
        λ of least squares with a penalty λ Σ b², b the change of the response, as a share of its domain, over the domain of a term.
    engine : Engine
        Where the work is done; the coefficients are those of any other engine.

    Returns
    -------
    RegressionFit
        Coefficients with the error of the noise and that of a population.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     result = sf.fit("petal_width ~ petal_length", release)
    >>> length = result["petal_length"]
    >>> length.low < 0.416 < length.high
    True
    """
    formula, release = in_either_order(formula, release)
    if family not in FAMILIES:
        raise UsageError(f"there is no family {family!r}; the families are {join_names(FAMILIES)}")
    if not 0 <= ridge < math.inf:
        raise UsageError(f"ridge = {ridge:g} must be 0 or a positive number")
    if ridge and family != "gaussian":
        raise UsageError(f"ridge is for family='gaussian'; leave it out with {family}")
    source = Source.of(release, engine)
    columns = source.columns
    design = Design.of(formula, columns, success)
    by_name = {c.name: c for c in columns}
    _check_response(by_name[design.response.column], family)
    clusters = Clusters.of(design, [by_name[name] for name in design.columns], linear=family == "gaussian")
    rows = source.rows(design.columns)
    sums = rows.fold(Products(clusters)).arrays
    n, kept, total = sums["present"].tolist()
    check_some_rows(kept, join_names(design.columns))
    moments = _Moments.of(clusters, sums["products"] / n, n, ridge)
    moments.check(rows, clusters)
    most = math.sqrt(source.rows_of_one)
    cautions = _cautions(source, clusters, by_name, ridge)
    scale: Figure | None
    if family == "gaussian":
        figures, scale, more = _least_squares(rows, clusters, moments, most)
        method = "least squares corrected for the noise"
    else:
        figures, scale, more = _generalised(rows, clusters, family, most)
        method = "a corrected score"
    exact = all(c.exact for c in clusters.clusters)
    return RegressionFit(
        formula=formula,
        family=family,
        coefficients=dict(zip([t.name for t in design.terms], figures, strict=True)),
        response=_describe_response(design, by_name[design.response.column]),
        rows=n,
        left_out=total - kept,
        by="counting" if exact and not ridge else method,
        exact=exact,
        scale=scale,
        naive=_naive(design, columns, source, family),
        cautions=(*cautions, *more),
    )


def _describe_response(design: Design, column: Column) -> str:
    level = design.response.level
    return column.name if level is None else f"{column.name} = {column.attribute.labels[level]}"


def _check_response(column: Column, family: str) -> None:
    attribute = column.attribute
    if family == "gaussian" or not attribute.kind.numeric:
        return
    low, high = (float(v) for v in attribute.to_values(np.array([attribute.interval.low, attribute.interval.high])))
    if family == "binomial" and (low < 0 or high > 1):
        raise UsageError(
            f"{column.name}: family='binomial' explains a label or numbers 0 and 1, and this domain is {low:g} … {high:g}"
        )
    if family == "poisson" and low < 0:
        raise UsageError(f"{column.name}: family='poisson' explains counts, and this domain begins at {low:g}")


def _cautions(source: Source, clusters: Clusters, columns: dict[str, Column], ridge: float) -> list[Note]:
    out = []
    if source.rows_of_one > 1:
        out.append(
            Note(
                "SF551",
                f"up to {source.rows_of_one} rows of one entity share their noise; errors of the noise are widened by "
                f"√{source.rows_of_one} for that",
            )
        )
    if clusters.bins:
        channels = [(name, columns[name].channel) for name in clusters.bins]
        laws = join_names([f"{name} ({c.law})" for name, c in channels if c is not None])
        out.append(
            Note("SF552", f"{laws}: known up to its bin, so the coefficients are those of the middle of the bin")
        )
    if ridge:
        out.append(
            Note(
                "SF554",
                f"ridge = {ridge:g}: intervals are those of the coefficients with this penalty, which are nearer to 0",
            )
        )
    return out


@dataclass(frozen=True, eq=False)
class _Moments:
    """M and m of the scaled terms, and the inverse of M with the penalty."""

    matrix: FloatArray
    cross: FloatArray
    inverse: FloatArray
    square: float
    n: float

    @classmethod
    def of(cls, clusters: Clusters, products: FloatArray, n: float, ridge: float) -> _Moments:
        p = clusters.size
        penalty = np.full(p, ridge)
        if clusters.intercept is not None:
            penalty[clusters.intercept] = 0.0
        matrix = products[:p, :p] + np.diag(penalty)
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            inverse = np.linalg.pinv(matrix)
        return cls(matrix, products[:p, p], np.asarray(inverse, dtype=np.float64), float(products[p, p]), n)

    @property
    def beta(self) -> FloatArray:
        return self.inverse @ self.cross

    def check(self, rows: Rows, clusters: Clusters) -> None:
        """Raise DataError where the smallest eigenvalue of M is not surely above 0: the rows cannot tell the coefficients."""
        sizes = np.sqrt(np.maximum(np.diag(self.matrix), 1 / max(self.n, 1.0)))
        values, vectors = np.linalg.eigh(self.matrix / np.outer(sizes, sizes))
        along = vectors[:, 0]
        direction = Direction(along / sizes, np.zeros(len(along)))
        spread = Spread.of(rows.fold(Influences(clusters, (direction,))).arrays["influences"][0], self.n)
        doubt = math.sqrt(max(spread.noise[1, 1], 0.0))
        if np.diag(self.matrix).min() > 0 and values[0] > max(2 * doubt, 1e-10):
            return
        places = np.argsort(-np.abs(along))
        names = [clusters.design.terms[i].name for i in places[:3] if abs(along[i]) > 0.2]
        raise DataError(
            f"{clusters.design.formula!r}: these rows cannot tell the coefficients of {join_names(names)} apart (smallest "
            f"eigenvalue {values[0]:.2g} ± {doubt:.2g}); leave a term out, or ask for ridge=0.01"
        )


def _least_squares(
    rows: Rows, clusters: Clusters, moments: _Moments, most: float
) -> tuple[list[Figure], Figure, list[Note]]:
    """Return coefficients by Fieller's intervals, and the variance of the residuals."""
    beta, back = moments.beta, clusters.back
    directions = tuple(Direction(moments.inverse @ a, beta) for a in back)
    sums = rows.fold(Influences(clusters, directions)).arrays["influences"]
    low, width = clusters.unit
    figures, unsure = [], []
    for place, (a, row) in enumerate(zip(back, sums, strict=True)):
        spread = Spread.of(row, moments.n)
        spread = replace(spread, noise=spread.noise * most**2, population=spread.population * most**2)
        estimate = float(a @ beta) + (low if place == clusters.intercept else 0.0)
        ends = fieller(spread, float(a @ moments.inverse @ a), Z)
        if ends is None:
            name = clusters.design.terms[place].name
            raise DataError(
                f"{clusters.design.formula!r}: these rows cannot tell the coefficient of {name}; "
                "leave it out, or ask for ridge=0.01"
            )
        if not spread.sure:
            unsure.append(clusters.design.terms[place].name)
        se, population = math.sqrt(spread.noise[0, 0]), math.sqrt(spread.population)
        figures.append(Figure(estimate, se, estimate + ends[0], estimate + ends[1], population))
    notes = []
    if unsure:
        notes.append(
            Note(
                "SF555", f"the error of the noise in {join_names(unsure)} is known roughly, and is rounded up for that"
            )
        )
    residual = (moments.square - 2 * beta @ moments.cross + beta @ moments.matrix @ beta) * width**2
    freedom = moments.n / max(moments.n - clusters.size, 1.0)
    return figures, Figure(max(float(residual) * freedom, 0.0), math.nan), notes


def _generalised(rows: Rows, clusters: Clusters, family: str, most: float) -> tuple[list[Figure], None, list[Note]]:
    """Return coefficients of the corrected score."""
    solution = corrected_score.solve(rows, clusters, family)
    back = clusters.back
    beta = back @ solution.beta
    noise, population = (np.sqrt(np.diag(back @ v @ back.T)) * most for v in (solution.noise, solution.population))
    figures = [
        Figure(float(b), float(s), population_error=float(p)) for b, s, p in zip(beta, noise, population, strict=True)
    ]
    notes = []
    if solution.dropped * math.sqrt(solution.n) > 0.25:
        notes.append(
            Note(
                "SF553",
                f"noise hides the bend of the logistic curve: up to {solution.dropped:.2g} of a probability is not corrected for, "
                "and intervals may be too short",
            )
        )
    return figures, None, notes


def _naive(design: Design, columns: tuple[Column, ...], source: Source, family: str) -> dict[str, float]:
    """Return what the released values give without correction; nothing where reports cannot be read as values."""
    read = tuple(c for c in columns if c.name in design.columns)
    if any(c.channel is not None and c.channel.reports is not None for c in read) or family != "gaussian":
        return {}
    plain = [
        replace(c, channel=None, attribute=replace(c.attribute, scale=None)) for c in read if c.attribute.ruler is None
    ]
    if len(plain) < len(read) or design.by_level & {c.name for c in plain if c.attribute.kind.numeric}:
        return {}
    clusters = Clusters.of(design, plain)
    rows = source.rows(design.columns)
    products = rows.fold(Products(clusters)).arrays
    p, matrix = clusters.size, products["products"]
    try:
        beta = clusters.back @ np.linalg.solve(matrix[:p, :p], matrix[:p, p])
    except np.linalg.LinAlgError:
        return {}
    if clusters.intercept is not None:
        beta[clusters.intercept] += clusters.unit[0]
    return dict(zip([t.name for t in design.terms], beta.tolist(), strict=True))

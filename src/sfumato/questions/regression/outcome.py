"""What a regression says: coefficients with two errors, as statsmodels prints them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sfumato.findings import Note
from sfumato.reconstruction import Figure


@dataclass(frozen=True)
class RegressionFit:
    """The coefficients that the owner would fit on the true table, with their errors.

    Attributes
    ----------
    formula : str
        The formula.
    family : str
        `gaussian`, `binomial` or `poisson`.
    coefficients : mapping of str to Figure
        By term. `se`, `low` and `high` speak of the noise alone: the interval is meant to hold the coefficient that the owner would
        fit on the same rows. `population_error` counts the chance of the rows as well, as a regression on true values would.
    naive : mapping of str to float
        What the released values say without any correction, where they can be read as values.
    response : str
        What is explained; for labels, which of them counts as 1.
    rows : float
        Rows with a value in every column of the formula.
    by : str
        How it was computed.
    cautions : tuple of Note
        What to bear in mind.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = sf.release("iris", sf.plan("iris", privacy=0.25), f"{folder}/release")
    ...     result = sf.fit("petal_width ~ petal_length", release)
    >>> [term for term in result.coefficients]
    ['Intercept', 'petal_length']
    """

    formula: str
    family: str
    coefficients: Mapping[str, Figure]
    response: str
    rows: float
    left_out: float
    by: str
    exact: bool = False
    scale: Figure | None = None
    """The variance of the residuals of a gaussian family."""
    naive: Mapping[str, float] = field(default_factory=dict)
    cautions: tuple[Note, ...] = ()

    def __getitem__(self, term: str) -> Figure:
        return self.coefficients[term]

    def __repr__(self) -> str:
        terms = ", ".join(f"{term} {figure!r}" for term, figure in list(self.coefficients.items())[:6])
        more = ", …" if len(self.coefficients) > 6 else ""
        return f"RegressionFit({self.formula!r}, {self.family}: {terms}{more})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: `coefficients[]` with `term`, `estimate`, `se`, `low`, `high` and `population_se`."""
        return {
            "formula": self.formula,
            "family": self.family,
            "response": self.response,
            "rows": float(f"{self.rows:.12g}"),
            "left_out": self.left_out,
            "by": self.by,
            "kind": "exact" if self.exact else "likely",
            "coefficients": [
                {"term": term}
                | figure.to_dict()
                | {"z": _digits(z_value(figure)), "p": _digits(p_value(figure)), "naive": _digits(self.naive.get(term))}
                for term, figure in self.coefficients.items()
            ],
            "residual_variance": None if self.scale is None else self.scale.to_dict(),
            "cautions": [str(c) for c in self.cautions],
        }

    def to_arrow(self) -> pa.Table:
        """Return the coefficients as an Arrow table."""
        return pa.Table.from_pylist(self.to_dict()["coefficients"])

    def to_dataframe(self) -> Any:
        """Return the coefficients as a pandas data frame, with the terms as its index."""
        return self.to_arrow().to_pandas().set_index("term")

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table of coefficients, as texts."""
        head = ["term", "coef", "se (noise)", "[0.025", "0.975]", "se (population)", "z", "P>|z|"]
        body = []
        for term, f in self.coefficients.items():
            z, p = z_value(f), p_value(f)
            numbers = [_number(v) for v in (float(f), f.se, f.low, f.high, f.population_error)]
            body.append([term, *numbers, "" if z is None else f"{z:.2f}", "" if p is None else f"{p:.3f}"])
        return head, body

    def facts(self) -> list[str]:
        """Return what stands above the table, in sentences."""
        rows = f"{self.rows:,.0f} rows" + (
            f", {self.left_out:,.0f} left out for a missing value" if self.left_out else ""
        )
        lines = [f"{self.family}: {self.response} by {self.by}; {rows}"]
        if self.scale is not None:
            lines.append(f"variance of the residuals {_number(float(self.scale))}")
        return lines

    def summary(self) -> str:
        """Return the fit as text, laid out like a summary of statsmodels."""
        head, body = self.table()
        widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]

        def line(cells: list[str]) -> str:
            first, *rest = cells
            return "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))])

        wide = len(line(head))
        lines = [self.formula, *self.facts(), "=" * wide, line(head), "-" * wide, *map(line, body), "=" * wide]
        lines.append("[0.025, 0.975]: of the coefficient that the true table would give; z and P: of a population.")
        return "\n".join([*lines, *(f"note: {c} [{c.code}]" for c in self.cautions)])


def z_value(figure: Figure) -> float | None:
    """Return the coefficient over its population error; None where that is 0."""
    return float(figure) / figure.population_error if figure.population_error else None


def p_value(figure: Figure) -> float | None:
    """Return P(|Z| > |z|): the chance of such a coefficient in a population where it is 0.

    >>> round(p_value(Figure(1.96, 0.5, population_error=1.0)), 3)
    0.05
    """
    z = z_value(figure)
    return None if z is None else math.erfc(abs(z) / math.sqrt(2))


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.12g}")


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    size = abs(value)
    return (
        f"{value:.4g}" if size and (size < 1e-3 or size >= 1e6) else f"{value:,.4f}" if size < 100 else f"{value:,.1f}"
    )

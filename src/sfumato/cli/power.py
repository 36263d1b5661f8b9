"""sfumato power: plan a release without data."""

from __future__ import annotations

from typing import Any

import click

import sfumato as sf
from sfumato.cli import options
from sfumato.cli.output import give, show
from sfumato.errors import UsageError


@click.command(epilog="Example:  sfumato power mean --noise gaussian --privacy 0.5 --domain 0,100 --sd 15 --error 1")
@click.argument("figure", type=click.Choice(["mean", "share", "count", "difference", "correlation", "coefficient"]))
@click.option("--rows", type=int, help="Rows of the release: the answer is the error.")
@click.option("--error", type=float, help="Half the width of the 95 % interval that is wanted: the answer is the rows.")
@click.option(
    "--population", is_flag=True, help="--error is that for a population, not for the table behind the release."
)
@options.noise("Law of the noise: {}.")
@options.privacy
@options.parameters
@click.option(
    "--domain", type=options.Numbers(), default="0,100", show_default=True, help="Ends of the domain of the numbers."
)
@click.option("--sd", type=float, help="Standard deviation of the true values (default: a quarter of the domain).")
@click.option("--share", type=float, default=0.5, show_default=True, help="Share of the label, or of the first group.")
@click.option("--labels", type=int, default=2, show_default=True, help="How many labels the column has.")
@click.option("--rho", type=float, default=0.0, show_default=True, help="The correlation that is expected.")
@click.option("--slope", type=float, default=0.0, show_default=True, help="The coefficient that is expected.")
@click.option(
    "--residual", type=float, help="Standard deviation around the regression (default: a quarter of its domain)."
)
@click.option("--response", type=options.Numbers(), help="Ends of the domain of the response (default: --domain).")
@options.json
def power(figure: str, domain: list[float], response: list[float] | None, as_json: bool, **asked: Any) -> None:
    """How many rows at which noise for which error of FIGURE, and the reverse; no data is read."""
    result = sf.power(figure, domain=_ends("--domain", domain), response=_ends("--response", response), **asked)
    if as_json:
        give(result.to_dict())
        return
    for line in result.in_words():
        show(line)


def _ends(option: str, numbers: list[float] | None) -> Any:
    """Return two ends."""
    if numbers is None:
        return None
    if len(numbers) != 2:
        raise UsageError(f"{option} has two ends with a comma between, such as 0,100")
    return tuple(numbers)

"""Room."""

from sfumato.attacks.posterior._conditional import MOST_CELLS
from sfumato.attacks.posterior.column_posterior import ColumnPosterior, InformedPosterior
from sfumato.attacks.posterior.conditional_posterior import GivenAnother
from sfumato.attacks.posterior.row_order import RowOrder

__all__ = ["MOST_CELLS", "ColumnPosterior", "GivenAnother", "InformedPosterior", "RowOrder"]

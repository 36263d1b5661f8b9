"""Ranges of blurred numbers, which no unbiased weight can count: fits, and intervals that are likely or guaranteed.

one_column       one blurred column, in each group
tied_columns     several columns of a group: each as it is by itself, tied by their correlations
several_columns  figures that need several columns through their noise

Start with one_column. Fits come from `reconstruction`, the copula from `modelling`.
"""

from sfumato.questions.ranges.one_column import BlurredCounts, RangeLayout, bound_share, join_cells, lay_out_range
from sfumato.questions.ranges.several_columns import SeveralLayout, lay_out_several

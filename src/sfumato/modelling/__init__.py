"""Model a released table as a whole: the joint distribution of its true values, and rows drawn from it.

facets           a column as the model sees it: cells of true values, bins of released ones
product_mixture  a mixture of products and one pass of EM, a sum that blocks add up
table_model      the model: how it is fitted, plausible true rows given the released ones, new rows
chance           random numbers that belong to a row, so that any engine draws the same
release_model    the model of a release
copula           a few columns of numbers, tied by their correlations: for figures of ranges
bootstrap        models of rows drawn anew, so that draws differ by what is not known of the model; how far draws lean
plausible_rows   tables of plausible true rows, in memory or in a folder
pooling          Rubin's rules

Start with table_model. Laws come from `channels`, single columns from `reconstruction`; nothing here sees a true value.
"""

from sfumato.modelling.bootstrap import resample_models
from sfumato.modelling.copula import Copula, contract, hermite_terms, latent_correlation, nearest_correlation
from sfumato.modelling.facets import Facet, group_cells
from sfumato.modelling.plausible_rows import Cells, Draws, Writing, draws
from sfumato.modelling.pooling import Pooled, pool
from sfumato.modelling.release_model import model
from sfumato.modelling.table_model import FitSettings, TableModel

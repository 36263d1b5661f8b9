"""Which columns of a release go together: tables of two columns, correlations, itemsets and rules.

relations     the door
crosstab      a table of two columns of labels, its test of independence, and Cramér's V
correlations  of all pairs of columns of numbers
itemsets      labels that stand together in many rows, and rules between them

Start with crosstab. Weights of one column come from the rooms around; nothing here reads a file.
"""

from sfumato.questions.associations.correlations import Correlations
from sfumato.questions.associations.crosstab import Crosstab
from sfumato.questions.associations.itemsets import Itemsets
from sfumato.questions.associations.relations import associate

"""Reconstruct the distribution of true values from counts of released ones.

problem       counts and the transition that explains them
em            the one EM step, and its loops: bayes, em, ems, many groups at once
joint         the same for tables of several attributes; joint_choice says how smooth
closed_form   exact answers where the matrix has an inverse
bases         the cells a column is solved in: even, stretched, atoms
penalised     the default on ordered values: penalised fits of all bases, averaged; quadratic solves them
moments       mean and variance without bias
distribution  the result: masses, figures with intervals, bands
fine_column   a column posed on the cells of its bases
columns       from a released column to a `Distribution`, overall and by class
dataset       a whole table of reconstructed values

Start with columns.reconstruct, then em.em_step. Laws come from `channels`; nothing here knows trees, attacks or releases.
"""

from sfumato.reconstruction.bases import Lattice, cell_kernel, share_cells
from sfumato.reconstruction.closed_form import (
    clip_negative,
    exact_counts,
    inverse_counts,
    project_to_simplex,
    renormalise,
)
from sfumato.reconstruction.columns import (
    METHODS,
    CellCounts,
    count_columns,
    observed_grid,
    pose_problem,
    reconstruct,
    reconstruct_by_class,
    true_grid,
    weighted_column,
    weights_of,
)
from sfumato.reconstruction.dataset import reconstruct_dataset
from sfumato.reconstruction.distribution import Distribution, wilson
from sfumato.reconstruction.em import Fit, em_step, fit_bayes, fit_em, fit_ems, fit_groups, smooth_axis
from sfumato.reconstruction.fine_column import has_shape
from sfumato.reconstruction.joint import JointDistribution, apply_along_axes, fit_separable, reconstruct_joint
from sfumato.reconstruction.moments import Figure
from sfumato.reconstruction.penalised import fit_averaged
from sfumato.reconstruction.problem import Problem, paper_size

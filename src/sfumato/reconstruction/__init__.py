"""The distribution of true values from counts of released ones."""

from sfumato.reconstruction.bands import wilson
from sfumato.reconstruction.closed_form import clipped, exact_counts, inverse_counts, projected, renormalised
from sfumato.reconstruction.columns import (
    METHODS,
    CellCounts,
    by_class,
    counted_columns,
    problem_of,
    reconstruct,
    true_grid,
    weighted,
)
from sfumato.reconstruction.dataset import reconstruct_dataset
from sfumato.reconstruction.distribution import Distribution
from sfumato.reconstruction.em import Fit, bayes, em, em_step, ems, masses, smooth_axis
from sfumato.reconstruction.joint import JointDistribution, reconstruct_joint
from sfumato.reconstruction.penalised import averaged
from sfumato.reconstruction.problem import Problem, paper_size
from sfumato.reconstruction.separable import apply_along_axes, joint_em, joint_fit

__all__ = [
    "METHODS",
    "CellCounts",
    "Distribution",
    "Fit",
    "JointDistribution",
    "Problem",
    "apply_along_axes",
    "averaged",
    "bayes",
    "by_class",
    "clipped",
    "counted_columns",
    "em",
    "em_step",
    "ems",
    "exact_counts",
    "inverse_counts",
    "joint_em",
    "joint_fit",
    "masses",
    "paper_size",
    "problem_of",
    "projected",
    "reconstruct",
    "reconstruct_dataset",
    "reconstruct_joint",
    "renormalised",
    "smooth_axis",
    "true_grid",
    "weighted",
    "wilson",
]

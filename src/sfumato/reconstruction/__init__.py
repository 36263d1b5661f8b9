"""The distribution of true values from counts of released ones."""

from sfumato.reconstruction.bands import wilson
from sfumato.reconstruction.closed_form import clipped, exact_counts, inverse_counts, projected, renormalised
from sfumato.reconstruction.columns import (
    METHODS,
    CellCounts,
    by_class,
    counted_columns,
    kernel_of,
    problem_of,
    reconstruct,
    true_grid,
    weighted,
)
from sfumato.reconstruction.dataset import reconstruct_dataset
from sfumato.reconstruction.distribution import Distribution
from sfumato.reconstruction.em import Fit, bayes, em, ems, masses
from sfumato.reconstruction.joint import JointDistribution, reconstruct_joint
from sfumato.reconstruction.penalised import averaged
from sfumato.reconstruction.problem import Problem, paper_size
from sfumato.reconstruction.separable import contract, joint_em, joint_fit

__all__ = [
    "METHODS",
    "CellCounts",
    "Distribution",
    "Fit",
    "JointDistribution",
    "Problem",
    "averaged",
    "bayes",
    "by_class",
    "clipped",
    "contract",
    "counted_columns",
    "em",
    "ems",
    "exact_counts",
    "inverse_counts",
    "joint_em",
    "joint_fit",
    "kernel_of",
    "masses",
    "paper_size",
    "problem_of",
    "projected",
    "reconstruct",
    "reconstruct_dataset",
    "reconstruct_joint",
    "renormalised",
    "true_grid",
    "weighted",
    "wilson",
]

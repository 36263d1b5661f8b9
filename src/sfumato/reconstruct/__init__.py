"""The distribution of true values from counts of released ones."""

from sfumato.reconstruct.columns import METHODS, by_class, kernel_of, problem_of, reconstruct, true_grid
from sfumato.reconstruct.distribution import Distribution
from sfumato.reconstruct.joint import JointDistribution, reconstruct_joint
from sfumato.reconstruct.loop import Fit, bayes, em, ems
from sfumato.reconstruct.mr import reconstruct_dataset
from sfumato.reconstruct.penalised import averaged
from sfumato.reconstruct.problem import Problem, paper_size
from sfumato.reconstruct.separable import joint_em, joint_fit

__all__ = [
    "METHODS",
    "Distribution",
    "Fit",
    "JointDistribution",
    "Problem",
    "averaged",
    "bayes",
    "by_class",
    "em",
    "ems",
    "joint_em",
    "joint_fit",
    "kernel_of",
    "paper_size",
    "problem_of",
    "reconstruct",
    "reconstruct_dataset",
    "reconstruct_joint",
    "true_grid",
]

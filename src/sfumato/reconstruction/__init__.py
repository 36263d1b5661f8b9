"""The distribution of true values from counts of released ones."""

from sfumato.reconstruction.columns import METHODS, by_class, kernel_of, problem_of, reconstruct, true_grid
from sfumato.reconstruction.dataset import reconstruct_dataset
from sfumato.reconstruction.distribution import Distribution
from sfumato.reconstruction.em import Fit, bayes, em, ems
from sfumato.reconstruction.joint import JointDistribution, reconstruct_joint
from sfumato.reconstruction.penalised import averaged
from sfumato.reconstruction.problem import Problem, paper_size
from sfumato.reconstruction.separable import joint_em, joint_fit

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

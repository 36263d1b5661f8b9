"""Make releases: row by row, from the whole table, or from counts."""

from sfumato.releasing.by_counts import counted_release
from sfumato.releasing.door import release
from sfumato.releasing.joint_noise import JointWish, joint_method, members, with_joint_noise
from sfumato.releasing.row_by_row import bound_laws
from sfumato.releasing.whole_table import guided_release

__all__ = [
    "JointWish",
    "bound_laws",
    "counted_release",
    "guided_release",
    "joint_method",
    "members",
    "release",
    "with_joint_noise",
]

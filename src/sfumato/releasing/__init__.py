"""Make releases: `release` turns a table and a plan into a folder, in the one way that the plan and the engine allow.

door.py         plan: propose a plan from a table and a few words; release: prepare, write, ask the ledger
drafts.py       publish and withdraw: what becomes of a release that was made as a draft
base.py         a draft: what is left to write, and what is said of it
row_by_row.py   drafts whose rows are blurred one by one
entity_ids.py   whose rows these are, and ids that are alike
joint_noise.py  noise drawn for several columns together
whole_table.py  guided drafts, perturbed in memory
by_counts.py    guided drafts of a table that an engine holds (_kernels.py: what its workers do)

Start with door.py.
"""

from sfumato.releasing.door import plan, release, with_method
from sfumato.releasing.drafts import publish, withdraw
from sfumato.releasing.joint_noise import JointKernel, JointNoise, members, moments_of, with_joint_noise
from sfumato.releasing.row_by_row import bind_laws

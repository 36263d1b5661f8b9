"""sfumato: privacy-preserving data mining by perturbation. Blur every value, keep the patterns.

>>> import sfumato as sf
>>> plan = sf.Plan.propose("iris", law="gaussian", privacy=0.5)
>>> sorted(plan.channels)[:2]
['petal_length', 'petal_width']

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

PUBLIC = {
    "Attribute": "sfumato.schema",
    "Categories": "sfumato.schema",
    "Consent": "sfumato.schema",
    "Interval": "sfumato.schema",
    "Kind": "sfumato.schema",
    "Role": "sfumato.schema",
    "Schema": "sfumato.schema",
    "Gaussian": "sfumato.channels",
    "Intervals": "sfumato.channels",
    "Laplace": "sfumato.channels",
    "Projective": "sfumato.channels",
    "SquareWave": "sfumato.channels",
    "Substitution": "sfumato.channels",
    "Uniform": "sfumato.channels",
    "Manifest": "sfumato.releases",
    "Plan": "sfumato.plans",
    "Release": "sfumato.releases",
    "release": "sfumato.releasing",
    "describe": "sfumato.releases",
    "Distribution": "sfumato.reconstruction",
    "reconstruct": "sfumato.reconstruction",
    "Model": "sfumato.mining",
    "mine": "sfumato.mining",
    "PerturbedTreeClassifier": "sfumato.mining",
    "audit": "sfumato.auditing",
    "audit_epsilon": "sfumato.auditing",
    "engines": "sfumato.engines",
    "SfumatoError": "sfumato.errors",
    "explain": "sfumato.findings",
}
"""Every public name and where it lives; the documentation is tested against this list, both ways."""

__version__ = "0.1.0"
__all__ = ["PUBLIC", "__version__", *PUBLIC]

if TYPE_CHECKING:
    from sfumato import engines
    from sfumato.auditing.epsilon import audit_epsilon
    from sfumato.auditing.runner import audit
    from sfumato.channels import Gaussian, Intervals, Laplace, Projective, SquareWave, Substitution, Uniform
    from sfumato.errors import SfumatoError
    from sfumato.findings import explain
    from sfumato.mining import Model, PerturbedTreeClassifier, mine
    from sfumato.plans import Plan
    from sfumato.reconstruction import Distribution, reconstruct
    from sfumato.releases import Manifest, Release
    from sfumato.releases.description import describe
    from sfumato.releasing import release
    from sfumato.schema import Attribute, Categories, Consent, Interval, Kind, Role, Schema


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"sfumato has no {name!r}; it has {', '.join(sorted(PUBLIC))}")
    home = importlib.import_module(PUBLIC[name])
    value = home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

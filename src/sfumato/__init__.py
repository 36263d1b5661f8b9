"""sfumato: privacy-preserving data mining by perturbation. Blur every value, keep the patterns.

>>> import sfumato as sf
>>> plan = sf.Plan.propose("iris", noise="gaussian", privacy=0.5)
>>> sorted(plan.channels)[:2]
['petal_length', 'petal_width']

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

HOMES = (
    ("sfumato.releasing", ("plan", "release", "publish", "withdraw")),
    ("sfumato.releases", ("sign", "verify")),
    ("sfumato.description", ("describe",)),
    ("sfumato.certificates", ("certify",)),
    ("sfumato.mining", ("reconstruct", "mine", "predict", "evaluate", "cluster")),
    ("sfumato.modelling", ("model", "draws", "pool")),
    ("sfumato.twin", ("synthesise",)),
    ("sfumato.questions", ("ask", "fit", "associate", "power")),
    ("sfumato.auditing", ("compare", "audit")),
    ("sfumato.tradeoffs", ("tradeoff", "compare_plans")),
    ("sfumato.generators", ("generate",)),
    ("sfumato.papers", ("reproduce",)),
    ("sfumato.demonstration", ("demo",)),
    ("sfumato.findings", ("explain",)),
    ("sfumato.schema", ("Attribute", "Categories", "Consent", "Interval", "Kind", "Role", "Schema")),
    ("sfumato.scales", ("Asinh", "Cbrt", "Log", "Quantile", "Sqrt")),
    ("sfumato.channels", ("Gaussian", "Intervals", "Laplace", "Projective", "SquareWave", "Substitution", "Uniform")),
    ("sfumato.plans", ("Plan",)),
    ("sfumato.releases", ("Manifest", "Release", "Making", "Signature")),
    ("sfumato.certificates", ("Certificate",)),
    ("sfumato.randomness", ("SecretKey",)),
    ("sfumato.reconstruction", ("Distribution", "Figure")),
    ("sfumato.mining", ("Reconstruction", "Reconstructions", "Model", "Evaluation")),
    ("sfumato.modelling", ("FitSettings", "TableModel", "Draws", "Pooled")),
    ("sfumato.questions", ("Answer", "Estimate", "RegressionFit", "Crosstab", "Correlations", "Itemsets", "Power")),
    ("sfumato.twin", ("Twin",)),
    ("sfumato.mining.estimators", ("PerturbedClassifier", "PerturbedRegressor", "PerturbedTreeClassifier")),
    ("sfumato.auditing", ("audit_epsilon", "Comparison", "Audit")),
    ("sfumato.tradeoffs", ("Tradeoff", "PlanComparison")),
    ("sfumato.papers", ("Results",)),
    ("sfumato.demonstration", ("DemoResult",)),
    ("sfumato.io", ("open_table",)),
    ("sfumato.engines", ("engines",)),
    ("sfumato.errors", ("SfumatoError",)),
)
PUBLIC = {name: home for home, names in HOMES for name in names}
"""Every public name and where it lives: one function per verb, then the types. The docs are tested against this list, both ways."""

__version__ = "0.1.0"
__all__ = ["PUBLIC", "__version__", *PUBLIC]

if TYPE_CHECKING:  # `as` tells type checkers that a name is handed on
    from sfumato.auditing import (
        Audit as Audit,
        Comparison as Comparison,
        audit as audit,
        audit_epsilon as audit_epsilon,
        compare as compare,
    )
    from sfumato.certificates import Certificate as Certificate, certify as certify
    from sfumato.channels import (
        Gaussian as Gaussian,
        Intervals as Intervals,
        Laplace as Laplace,
        Projective as Projective,
        SquareWave as SquareWave,
        Substitution as Substitution,
        Uniform as Uniform,
    )
    from sfumato.demonstration import DemoResult as DemoResult, demo as demo
    from sfumato.description import describe as describe
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.findings import explain as explain
    from sfumato.generators import generate as generate
    from sfumato.io import open_table as open_table
    from sfumato.mining import (
        Evaluation as Evaluation,
        Model as Model,
        Reconstruction as Reconstruction,
        Reconstructions as Reconstructions,
        cluster as cluster,
        evaluate as evaluate,
        mine as mine,
        predict as predict,
        reconstruct as reconstruct,
    )
    from sfumato.mining.estimators import (
        PerturbedClassifier as PerturbedClassifier,
        PerturbedRegressor as PerturbedRegressor,
        PerturbedTreeClassifier as PerturbedTreeClassifier,
    )
    from sfumato.modelling import (
        Draws as Draws,
        FitSettings as FitSettings,
        Pooled as Pooled,
        TableModel as TableModel,
        draws as draws,
        model as model,
        pool as pool,
    )
    from sfumato.papers import Results as Results, reproduce as reproduce
    from sfumato.plans import Plan as Plan
    from sfumato.questions import (
        Answer as Answer,
        Correlations as Correlations,
        Crosstab as Crosstab,
        Estimate as Estimate,
        Itemsets as Itemsets,
        Power as Power,
        RegressionFit as RegressionFit,
        ask as ask,
        associate as associate,
        fit as fit,
        power as power,
    )
    from sfumato.randomness import SecretKey as SecretKey
    from sfumato.reconstruction import Distribution as Distribution, Figure as Figure
    from sfumato.releases import (
        Making as Making,
        Manifest as Manifest,
        Release as Release,
        Signature as Signature,
        sign as sign,
        verify as verify,
    )
    from sfumato.releasing import plan as plan, publish as publish, release as release, withdraw as withdraw
    from sfumato.scales import Asinh as Asinh
    from sfumato.scales import Cbrt as Cbrt
    from sfumato.scales import Log as Log
    from sfumato.scales import Quantile as Quantile
    from sfumato.scales import Sqrt as Sqrt
    from sfumato.schema import (
        Attribute as Attribute,
        Categories as Categories,
        Consent as Consent,
        Interval as Interval,
        Kind as Kind,
        Role as Role,
        Schema as Schema,
    )
    from sfumato.tradeoffs import (
        PlanComparison as PlanComparison,
        Tradeoff as Tradeoff,
        compare_plans as compare_plans,
        tradeoff as tradeoff,
    )
    from sfumato.twin import Twin as Twin, synthesise as synthesise


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"sfumato has no {name!r}; it has {', '.join(sorted(PUBLIC))}")
    home = importlib.import_module(PUBLIC[name])
    value = home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

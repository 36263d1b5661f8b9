"""The peers that are measured, each with the exact versions it is measured at."""

from __future__ import annotations

PINS: dict[str, tuple[str, ...]] = {
    "polars": ("polars==2.1.0",),
    # diffprivlib does not import with scikit-learn 1.8 or later.
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6"),
    "opendp": ("opendp==0.16.0", "numpy==2.4.6"),
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5", "numpy==2.4.6", "numba==0.68.1", "scipy==1.17.1", "xxhash==2.0.2"),
    "anonymeter": ("anonymeter==1.1.0",),
    "sdmetrics": ("sdmetrics==0.32.0",),
    # dpmm 0.1.9 asks for pandas 2.1.0 and with it for NumPy 1.
    "dpmm": ("dpmm==0.1.9", "numpy==1.26.4", "pandas==2.1.0"),
}

"""Time and memory of the label-keeping methods beside the k-means fit they start from.

``python benchmarks/clusters.py [ROWS]``; memory is what numpy holds at most during the call, in tables of the input.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numpy as np
from measure import Ratio, ratios

from sfumato.clusters.disclosure import nearest_neighbour_linkage
from sfumato.clusters.kmeans import kmeans, lloyd
from sfumato.clusters.points import Scaling
from sfumato.guided.cluster.base import ClusterMethod
from sfumato.guided.cluster.voronoi import RACCV, SwapV
from sfumato.randomness import SecretKey, Stream

COLUMNS, K = 8, 10


def peak_tables(method: ClusterMethod, x: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> float:
    tracemalloc.start()
    method.perturb(x, labels, centres, Stream(SecretKey(bytes(32))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / x.nbytes


def table(rows: int) -> np.ndarray:
    """Ten overlapping Gaussian clusters of unequal size and shape."""
    rng = np.random.default_rng(1)
    which = rng.choice(K, rows, p=np.arange(1, K + 1) / (K * (K + 1) / 2))
    centres, spread = rng.uniform(0, 10, (K, COLUMNS)), rng.uniform(0.5, 2.5, (K, COLUMNS))
    return centres[which] + rng.normal(size=(rows, COLUMNS)) * spread[which]


def main(arguments: list[str] | None = None) -> list[Ratio]:
    given = sys.argv[1:] if arguments is None else arguments
    rows = int(given[0]) if given else 1_000_000
    found = []
    x = table(rows)
    x = Scaling.fit(x).apply(x)
    kmeans(x[:1000], K)  # loads scikit-learn, which is no part of the fit
    start = time.perf_counter()
    fit = kmeans(x, K)
    fit_time = time.perf_counter() - start
    print(f"{rows:,} × {COLUMNS}, k = {K}: table {x.nbytes / 2**20:.0f} MB; k-means {fit_time:.2f} s ({fit.method})")
    for method in (SwapV(), RACCV()):
        start = time.perf_counter()
        y = method.perturb(x, fit.labels, fit.centres, Stream(SecretKey(bytes(32))))
        took = time.perf_counter() - start
        run = lloyd(y, fit.centres, 2)
        kept = float((run.labels == fit.labels).mean())
        drift = float(np.abs(run.centres - fit.centres).max())
        link = nearest_neighbour_linkage(x, y, targets=1000).rate
        del y
        what = f"{method.law} on {rows:,} × {COLUMNS}: time, × the k-means fit it starts from"
        found.append(Ratio(what, f"{took:.2f} s", f"{fit_time:.2f} s", took / fit_time))
        print(
            f"{method.law:6} {took:5.2f} s = {took / fit_time:.2f} × k-means; "
            f"memory {peak_tables(method, x, fit.labels, fit.centres):.1f} tables, result included; "
            f"labels kept {kept:.6f}, centres moved {drift:.0e}, linkage {link:.4f}"
        )
    ratios(found)
    return found


if __name__ == "__main__":
    main()

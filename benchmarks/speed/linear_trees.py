"""Seconds and memory of trees on as many simulated rows and columns as the Yahoo! ranking data has.

    python -m benchmarks.speed.linear_trees [node budget ...]

141,397 rows, 519 columns in float32, prices drawn as often as that data has them; depth 5.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import frugalforest as ff

N_ROWS, N_COLUMNS = 141_397, 519
PRICES = np.repeat([1.0, 5, 20, 50, 100, 150, 200], [123, 31, 191, 125, 16, 32, 1])


def simulated(seed: int = 0) -> tuple[np.ndarray, np.ndarray, ff.FeatureCosts]:
    """Columns that share twenty causes, and a label that depends on two of them in turns."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((N_ROWS, N_COLUMNS), dtype=np.float32)
    effects = 0.4 * random.standard_normal((20, N_COLUMNS), dtype=np.float32)
    for start in range(0, N_ROWS, 1000):  # in parts, so that the peak of memory is that of fitting
        part = X[start : start + 1000]
        part += random.standard_normal((len(part), 20), dtype=np.float32) @ effects
    y = X[:, 0] + X[:, 5] * np.sign(X[:, 9]) + random.standard_normal(N_ROWS, dtype=np.float32) > 0
    return X, y, ff.FeatureCosts(random.permutation(PRICES))


def peak() -> float:
    """Largest memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Fit and predict for each node budget."""
    X, y, costs = simulated()
    print(f"X has {X.nbytes / 2**20:.0f} MB; peak before fitting {peak():.0f} MB")
    for budget in [float(text) for text in sys.argv[1:]] or [10.0, 100.0]:
        for soft in (False, True):
            begin, cpu = time.perf_counter(), time.process_time()
            model = ff.SubmodularTreeClassifier(budget, soft=soft, feature_costs=costs).fit(X, y)
            seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
            used = np.diff(model.tree_.feature_offsets)
            print(
                f"node budget {budget:g}, soft={soft}: {seconds:.1f} s ({cpu:.1f} s CPU), peak {peak():.0f} MB, "
                f"{model.tree_.n_nodes} nodes of {used.min()} to {used.max()} features, "
                f"accuracy {model.score(X, y):.3f}, mean bill {model.acquisition_cost(X).mean():.1f}"
            )


if __name__ == "__main__":
    main()

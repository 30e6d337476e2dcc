"""How long a whole cascade curve takes, as a ratio to one LightGBM fit of 300 trees, in one run on one thread.

    FRUGALFOREST_DATA=folder OMP_NUM_THREADS=1 python -m benchmarks.quality.cascade_time [--orders both forward]

Covertype, 36,603 rows, 7 classes, 54 features. CPU time; the fit that finds every budget is what counts.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from lightgbm import LGBMClassifier

import frugalforest as ff

ROWS = 36_603


def cpu_seconds(fit) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", nargs="*", default=["both", "forward", "backward"])
    parser.add_argument("--classes", type=int, default=7, choices=[2, 7])
    args = parser.parse_args()
    rows = ff.datasets.load("covtype")
    some = np.random.default_rng(0).permutation(len(rows.X))[:ROWS]
    X, y = np.asarray(rows.X[some], dtype=np.float64), np.asarray(rows.y)[some]
    if args.classes == 2:
        y = (y == np.unique(y)[1]).astype(int)
    peer = cpu_seconds(lambda: LGBMClassifier(n_estimators=300, n_jobs=1, verbose=-1).fit(X, y))
    print(f"LightGBM, 300 trees: {peer:.1f} s", flush=True)
    for order in args.orders:
        model = ff.FrugalCascadeClassifier(order=order, random_state=0, n_jobs=1)
        ours = cpu_seconds(lambda model=model: model.fit(X, y))
        print(f"cascade, {order}: {ours:.1f} s, {ours / peer:.1f} times", flush=True)


if __name__ == "__main__":
    main()

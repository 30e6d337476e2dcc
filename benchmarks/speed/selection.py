"""Seconds of tuned panel selection on setting D, budget 10, and the same STS written plainly on scikit-learn.

    python -m benchmarks.speed.selection [--repeats 3] [--without-forward] [--racing]

500 x 200, xi from a grid of 13, full forests of 1000 trees, 2 threads. `--racing` measures instead what racing changes
in forward selection: time, out-of-bag error and test error with and without, over several training sets.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

import frugalforest as ff
from benchmarks.speed.plain_sts import plain_sts
from frugalforest.selection import AUCSelector, ForwardSelector, PermutationSelector, ShallowTreeSelector
from frugalforest.selection.tuning import DEFAULT_GRID

BUDGET = 10
RESULTS = Path(__file__).parent.parent / "results" / "selection.csv"
RACING_RESULTS = RESULTS.with_name("selection_racing.csv")
FIELDS = ["what", "seconds", "slowest", "oob_error", "test_error", "xi", "n_features"]
RACING_FIELDS = ["budget", "seed", "racing", "cpu_seconds", "oob_error", "test_error"]


def timed(job, repeats: int):
    """The result, and the fastest and slowest time."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = job()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds), max(seconds)


def test_error(X, y, X_test, y_test, support) -> float:
    forest = ff.StandardForestClassifier(1000, random_state=0, n_jobs=2).fit(X[:, support], y)
    return 1 - forest.score(X_test[:, support], y_test)


def measure(repeats: int, with_forward: bool) -> list[dict]:
    X, y, costs = ff.datasets.make_jagdhuber("D", 500, random_state=1)
    X_test, y_test, _ = ff.datasets.make_jagdhuber("D", 5000, random_state=0)
    common = {"feature_costs": costs, "n_jobs": 2, "random_state": 0}
    ours = {
        "STS": ShallowTreeSelector(BUDGET, **common),
        "pFI": PermutationSelector(BUDGET, path_errors=False, **common),
        "AUC": AUCSelector(BUDGET, path_errors=False, **common),
    }
    rows = []
    for name, selector in ours.items():
        fitted, fast, slow = timed(lambda selector=selector: selector.fit(X, y), repeats)
        rows.append(row(name, fast, slow, fitted.oob_error_, fitted.xi_, fitted.support_, X, y, X_test, y_test))
    (panel, xi, oob), fast, slow = timed(lambda: plain_sts(X, y, costs.own, BUDGET, DEFAULT_GRID), max(1, repeats - 1))
    support = np.isin(np.arange(200), panel)
    rows.append(row("STS on scikit-learn", fast, slow, oob, xi, support, X, y, X_test, y_test))
    if with_forward:
        fitted, fast, slow = timed(lambda: ForwardSelector(BUDGET, **common).fit(X, y), 1)
        rows.append(row("FS", fast, slow, fitted.oob_error_, fitted.xi_, fitted.support_, X, y, X_test, y_test))
    return rows


def row(what, fast, slow, oob, xi, support, X, y, X_test, y_test) -> dict:
    numbers = {"what": what, "seconds": fast, "slowest": slow, "oob_error": oob, "xi": xi, "n_features": support.sum()}
    print(f"{what:20} {fast:8.2f} s   out-of-bag {oob:.4f}", flush=True)
    return numbers | {"test_error": test_error(X, y, X_test, y_test, support)}


def measure_racing(n_seeds: int) -> list[dict]:
    """Forward selection with 200 trees and xi = 1, with and without racing, on training sets of their own."""
    X_test, y_test, _ = ff.datasets.make_jagdhuber("D", 5000, random_state=0)
    rows = []
    for budget in (1, 2, 5):
        for seed in range(1, 1 + n_seeds):
            X, y, costs = ff.datasets.make_jagdhuber("D", 500, random_state=seed)
            for racing in (True, False):
                selector = ForwardSelector(
                    budget, feature_costs=costs, xi=1, n_forest_trees=200, racing=racing, n_jobs=2, random_state=seed
                )
                start = time.process_time()
                selector.fit(X, y)
                seconds = time.process_time() - start
                error = test_error(X, y, X_test, y_test, selector.support_)
                values = (budget, seed, racing, round(seconds, 2), selector.oob_error_, error)
                rows.append(dict(zip(RACING_FIELDS, values, strict=True)))
                print(rows[-1], flush=True)
    return rows


def store(path: Path, fields: list[str], rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without-forward", action="store_true")
    parser.add_argument("--racing", action="store_true")
    args = parser.parse_args()
    if args.racing:
        store(RACING_RESULTS, RACING_FIELDS, measure_racing(5))
        return
    rows = measure(args.repeats, not args.without_forward)
    store(RESULTS, FIELDS, rows)
    seconds = {r["what"]: r["seconds"] for r in rows}
    print(f"STS on scikit-learn / ours: {seconds['STS on scikit-learn'] / seconds['STS']:.1f} (aim: at least 10)")


if __name__ == "__main__":
    main()

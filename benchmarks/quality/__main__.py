"""Error at the same average bill: the cascade against LightGBM's cost-effective boosting and BudgetRF.

    FRUGALFOREST_DATA=folder python -m benchmarks.quality [--data spambase ...] [--methods cascade ...] [--seeds 3]

For each data set and seed: two thirds of the rows (20,000 of covertype) are for fitting, of the others at most 10,000
are for measuring. Whatever a method chooses (trade-off, size, thresholds) it chooses on its own training rows; each
budget is then measured once. One bill for all: FeatureCosts, over the features that a row's prediction reads. Results
are rows of results/quality.csv; what is there is not computed again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import frugalforest as ff
from benchmarks.quality.methods import METHODS

RESULTS = Path(__file__).parent.parent / "results" / "quality.csv"
FIELDS = ["data", "method", "seed", "budget", "error", "bill", "cpu_seconds"]
UNIT_BUDGETS = (1, 1.5, 2, 3, 4, 6, 8, 12, 15, 20, 30)
BUDGETS = {"pima": (2, 4, 8, 12, 20, 30), "heart_cleveland": (2, 4, 8, 15, 50, 100, 200)}
DATA = ["spambase", "miniboone_tiny", "miniboone_sub5044", "covtype2", "pima", "heart_cleveland"]
MOST_FITTED, MOST_MEASURED = 20_000, 10_000


def split(name: str, seed: int):
    """X and y to fit, X and y to measure, prices; covtype2: the most frequent class against the rest."""
    rows = ff.datasets.load("covtype" if name == "covtype2" else name)
    X, y = np.asarray(rows.X, dtype=np.float64), np.unique(np.asarray(rows.y), return_inverse=True)[1]
    if name == "covtype2":
        y = (y == 1).astype(int)
    costs = rows.feature_costs or ff.FeatureCosts.unit(X.shape[1])
    order = np.random.default_rng(seed).permutation(len(X))
    n_fit = min(2 * len(X) // 3, MOST_FITTED)
    fit, test = order[:n_fit], order[n_fit : n_fit + MOST_MEASURED]
    return X[fit], y[fit], X[test], y[test], costs


def measure(data: str, method: str, seed: int) -> list[dict]:
    X, y, X_test, y_test, costs = split(data, seed)
    start = time.process_time()
    chosen = METHODS[method](X, y, costs, BUDGETS.get(data, UNIT_BUDGETS), seed)
    seconds = time.process_time() - start
    found = []
    for budget, predict in chosen.items():
        labels, bill = predict(X_test)
        numbers = {"error": np.mean(labels != y_test), "bill": np.mean(bill), "cpu_seconds": round(seconds, 2)}
        found.append({"data": data, "method": method, "seed": seed, "budget": budget, **numbers})
    return found


def stored() -> list[dict]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def store(rows: list[dict]) -> None:
    rows = [*stored(), *rows]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def show(data: str) -> None:
    """A line for each method: mean error (mean bill) at each budget."""
    rows = [row for row in stored() if row["data"] == data]
    budgets = sorted({float(row["budget"]) for row in rows})
    print(data, "budgets", *(f"{budget:g}" for budget in budgets))
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        cells = []
        for budget in budgets:
            at = [row for row in own if float(row["budget"]) == budget]
            error, bill = (np.mean([float(row[name]) for row in at]) if at else np.nan for name in ("error", "bill"))
            cells.append(f"{error:.4f} ({bill:.1f})")
        if own:
            print(f"  {method:22}", *cells, f"seeds {len({row['seed'] for row in own})}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA, choices=DATA)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*|no tree fits|no panel fits")
    for data in args.data:
        for seed in range(args.seeds):
            for method in args.methods:
                done = {(row["data"], row["method"], row["seed"]) for row in stored()}
                if (data, method, str(seed)) not in done:
                    store(measure(data, method, seed))
        show(data)


if __name__ == "__main__":
    main()

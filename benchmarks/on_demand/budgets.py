"""The same budget, spent on all that the trees read or only on what settles the label: BudgetForest at five budgets.

    FRUGALFOREST_DATA=folder python -m benchmarks.on_demand.budgets [--seeds 5]

Both forests are fitted once per seed for the largest budget on the same half of the rows (at most 10,000), choose their
size for each budget on their own validation rows, and are measured once on 4,000 rows of the other half.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import frugalforest as ff
from benchmarks.on_demand.models import halves

RESULTS = Path(__file__).parent.parent / "results" / "on_demand_budgets.csv"
BUDGETS = {"covtype": (3, 5, 8, 12, 16), "miniboone_tiny": (3, 6, 10, 15, 20)}
FIELDS = ["data", "stop", "budget", "seed", "trees", "error", "bill"]
MOST_TRAINING, MOST_READ = 10_000, 4_000


def measure(data: str, stop: str, seed: int) -> list[dict]:
    rows = ff.datasets.load(data)
    X, y = np.asarray(rows.X, dtype=np.float64), np.asarray(rows.y)
    fit, read = halves(len(X), seed)
    fit, read = fit[:MOST_TRAINING], read[:MOST_READ]
    forest = ff.BudgetForestClassifier(
        max(BUDGETS[data]), alpha=[0, 2, 4, 8, 15, 25, 45], n_estimators=60, stop=stop, random_state=seed, n_jobs=2
    ).fit(X[fit], y[fit])
    found = []
    for budget in BUDGETS[data]:
        model = forest.at_budget(budget)
        labels, bill = model.predict_with_cost(X[read])
        found.append(
            {
                "data": data,
                "stop": stop,
                "budget": budget,
                "seed": seed,
                "trees": model.n_estimators_,
                "error": np.mean(labels != y[read]),
                "bill": bill.mean(),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="no tree fits")
    rows = [
        r
        for data in BUDGETS
        for seed in range(args.seeds)
        for stop in ("all", "label")
        for r in measure(data, stop, seed)
    ]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    for data, budgets in BUDGETS.items():
        for budget in budgets:
            line = f"{data:16} budget {budget:3}:"
            for stop in ("all", "label"):
                some = [r for r in rows if (r["data"], r["stop"], r["budget"]) == (data, stop, budget)]
                error, bill, trees = (np.mean([r[name] for r in some]) for name in ("error", "bill", "trees"))
                line += f"   {stop:5} error {error:.4f}, bill {bill:5.2f}, {trees:4.1f} trees"
            print(line)


if __name__ == "__main__":
    main()

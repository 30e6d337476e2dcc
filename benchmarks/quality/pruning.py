"""Error at equal average cost: forests pruned afterwards, against the unpruned ones and BudgetForest.

    FRUGALFOREST_DATA=folder python -m benchmarks.quality.pruning [--data spambase ...] [--seeds 3]
    python -m benchmarks.quality.pruning --draw docs/images/pruning.png

For each data set and seed: half of the rows (at most 10,000) fit a model, the other half (at most 10,000) is read.
Every feature costs 1, every forest has 40 trees, and every model sets a quarter of its rows aside to prune or to choose
by. The model of each budget is the one that `at_budget` gives. Rows go to results/pruning.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import frugalforest as ff
from benchmarks.on_demand.models import halves

RESULTS = Path(__file__).parent.parent / "results" / "pruning.csv"
FIELDS = ["data", "model", "seed", "budget", "error", "cost", "gap", "cpu_seconds"]
DATA = ["miniboone_tiny", "spambase", "covtype"]
BUDGETS = [2, 4, 8, 12, 16, 24, 32]
MOST_ROWS = 10_000

SQRT = ff.StandardForestClassifier(40)
ALL = ff.StandardForestClassifier(40, max_features=None)
BUDGET = ff.BudgetForestClassifier(n_estimators=40)
MODELS = {
    "forest, sqrt": SQRT,
    "forest, all features": ALL,
    "BudgetForest": BUDGET,
    "pruned: forest, all features": ff.PrunedForestClassifier(ALL),
    'pruned: forest, all features, loss="error"': ff.PrunedForestClassifier(ALL, loss="error"),
    "pruned: forest, all features, refit": ff.PrunedForestClassifier(ALL, refit_leaves=True),
    "pruned: forest, sqrt": ff.PrunedForestClassifier(SQRT),
    "pruned: BudgetForest, alpha=0": ff.PrunedForestClassifier(ff.BudgetForestClassifier(n_estimators=40, alpha=0)),
}


def rows_of(data: str, seed: int) -> tuple[np.ndarray, ...]:
    table = ff.datasets.load(data)
    X, y = np.asarray(table.X, dtype=np.float64), np.unique(np.asarray(table.y), return_inverse=True)[1]
    if data == "covtype":
        y = (y == 1).astype(int)  # the most frequent class against the others
    fit, read = (part[:MOST_ROWS] for part in halves(len(X), seed))
    return X[fit], y[fit], X[read], y[read]


def measure(data: str, name: str, seed: int) -> list[dict]:
    X, y, X_test, y_test = rows_of(data, seed)
    model = MODELS[name]
    nested = {"estimator__random_state": seed} if hasattr(model, "estimator") else {}
    model.set_params(random_state=seed, n_jobs=2, **nested)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    rows = []
    for budget in BUDGETS if hasattr(model, "at_budget") else [np.inf]:
        smaller = model.at_budget(budget) if np.isfinite(budget) else model
        labels, bill = smaller.predict_with_cost(X_test)
        rows.append(
            {
                "data": data,
                "model": name,
                "seed": seed,
                "budget": budget,
                "error": np.mean(labels != y_test),
                "cost": bill.mean(),
                "gap": getattr(smaller, "duality_gap_", ""),
                "cpu_seconds": round(seconds, 2),
            }
        )
    return rows


def store(rows: list[dict]) -> None:
    key = ("data", "model", "seed")
    repeated = {tuple(str(row[name]) for name in key) for row in rows}
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if tuple(row[name] for name in key) not in repeated]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept + rows)


def mean_points() -> dict[tuple[str, str], list[tuple[float, float]]]:
    """(mean cost, mean error) over seeds of each (data, model), one for each budget, in order."""
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    sums: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        key = row["data"], row["model"], row["budget"]
        sums.setdefault(key, []).append((float(row["cost"]), float(row["error"])))
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (data, model, _), seeds in sums.items():
        cost, error = np.mean(seeds, axis=0)
        points.setdefault((data, model), []).append((cost, error))
    return points


def draw(path: str) -> None:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(DATA), figsize=(13, 4))
    points = mean_points()
    for panel, data in zip(panels, DATA, strict=True):
        for model in MODELS:
            cost, error = zip(*points[data, model], strict=True)
            style = "s" if model.startswith("forest") else "o-" if model.startswith("pruned") else "^--"
            panel.plot(cost, error, style, label=model, markersize=4)
        panel.set(title=data, xlabel="features bought per row", ylim=(None, 0.3), xlim=(0, 52))
    panels[0].set_ylabel("test error")
    panels[-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draw", help="only draw what is in the results, to this file")
    args = parser.parse_args()
    if args.draw:
        return draw(args.draw)
    warnings.filterwarnings("ignore", message="no (tree|pruning) fits a budget")
    for data in args.data:
        for name in args.models:
            rows = [row for seed in range(args.seeds) for row in measure(data, name, seed)]
            store(rows)
            shown = []
            for budget in dict.fromkeys(row["budget"] for row in rows):
                same = [row for row in rows if row["budget"] == budget]
                error, cost = (np.mean([row[column] for row in same]) for column in ("error", "cost"))
                shown.append(f"{error:.3f} @ {cost:4.1f}")
            print(f"{data:15} {name:42} {'  '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()

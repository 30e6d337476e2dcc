"""Table 1 of Nan, Wang and Saligrama (2015), Forest: share of features read and test error, by number of trees.

    FRUGALFOREST_DATA=folder python studies/nan2015/covertype.py [--seeds 10]

Covertype, class 2 against the rest, 36,603 / 15,688 / 58,101 rows drawn anew for each seed (the paper's own draw is not
published); alpha 0, unit costs, 1 / 10 / 20 / 40 trees. Writes covertype.csv and covertype.md beside this file. The
validation rows are drawn and left alone: nothing is chosen here.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

import frugalforest as ff
from frugalforest.evaluation import cost_curve

SIZES = (36_603, 15_688, 58_101)
TREES = (1, 10, 20, 40)
PAPER = {  # percent of features, test error
    "BudgetRF": ((11.37, 23.21, 25.92, 29.01), (0.2122, 0.1364, 0.1232, 0.1156)),
    "RF Gini": ((22.57, 63.04, 70.76, 76.63), (0.2107, 0.1307, 0.1238, 0.1196)),
    "RF entropy": ((21.68, 63.56, 72.37, 79.34), (0.2045, 0.1313, 0.1239, 0.1200)),
}


def budget_forest(seed: int, **options) -> ff.BudgetForestClassifier:
    return ff.BudgetForestClassifier(alpha=0, n_estimators=max(TREES), n_jobs=-1, random_state=seed, **options)


def standard_forest(seed: int, **options) -> ff.StandardForestClassifier:
    return ff.StandardForestClassifier(
        max(TREES), max_features=8, voting="hard", n_jobs=-1, random_state=seed, **options
    )


MODELS = {
    "BudgetRF, random thresholds, bootstrap": (lambda s: budget_forest(s, thresholds="random"), "BudgetRF"),
    "BudgetRF, random thresholds, no bootstrap": (
        lambda s: budget_forest(s, thresholds="random", bootstrap=False),
        "BudgetRF",
    ),
    "BudgetRF, all thresholds, bootstrap": (budget_forest, "BudgetRF"),
    "standard forest, Gini, 8 features per node": (standard_forest, "RF Gini"),
    "standard forest, entropy, 8 features per node": (lambda s: standard_forest(s, criterion="entropy"), "RF entropy"),
}


def draw(seed: int):
    """Train, validation and test rows of the binary task."""
    data = ff.datasets.load("covtype")
    rows = np.random.default_rng(seed).permutation(len(data.X))[: sum(SIZES)]
    parts = np.split(rows, np.cumsum(SIZES)[:-1])
    return [(data.X[part], (data.y[part] == 1).astype(int)) for part in parts]


def measure(model, seed: int) -> list[tuple[float, float]]:
    """(percent of features read, test error) at 1, 10, 20 and 40 trees."""
    train, validation, test = draw(seed)
    if isinstance(model, ff.BudgetForestClassifier):
        model.fit(*train, eval_set=validation)
        forest = model.variants_[0].forest
        error, cost = forest.by_tree(
            test[0], test[1].astype(np.int32), forest.leaf_votes, model.feature_costs_, n_threads=2
        )
    else:
        curve = cost_curve(model.fit(*train), *test)
        error, cost = curve.error, curve.cost
    return [(100 * cost[t - 1] / model.feature_costs_.total, error[t - 1]) for t in TREES]


def run(n_seeds: int) -> list[dict]:
    rows = []
    for name, (make, _) in MODELS.items():
        for seed in range(n_seeds):
            for trees, (percent, error) in zip(TREES, measure(make(seed), seed), strict=True):
                rows.append({"model": name, "seed": seed, "trees": trees, "percent": percent, "error": error})
        print(f"{name}: {n_seeds} seeds done", flush=True)
    return rows


def table(rows: list[dict]) -> list[str]:
    lines = ["| model | trees | features read, % (sd) | paper | test error (sd) | paper |", "|---|---|---|---|---|---|"]
    for name, (_, paper) in MODELS.items():
        for i, trees in enumerate(TREES):
            mine = np.array([[r["percent"], r["error"]] for r in rows if r["model"] == name and r["trees"] == trees])
            (percent, error), (sd_percent, sd_error) = mine.mean(axis=0), mine.std(axis=0, ddof=1)
            lines.append(
                f"| {name} | {trees} | {percent:.2f} ({sd_percent:.2f}) | {PAPER[paper][0][i]:.2f} "
                f"| {error:.4f} ({sd_error:.4f}) | {PAPER[paper][1][i]:.4f} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    rows = run(seeds)
    here = Path(__file__).parent
    with (here / "covertype.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["model", "seed", "trees", "percent", "error"])
        writer.writeheader()
        writer.writerows({**r, "percent": f"{r['percent']:.4f}", "error": f"{r['error']:.6f}"} for r in rows)
    text = (here / "covertype.template.md").read_text().format(table="\n".join(table(rows)), seeds=seeds)
    (here / "covertype.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

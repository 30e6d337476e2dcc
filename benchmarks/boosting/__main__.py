"""Error at several budgets: FrugalBoosting against LightGBM with lazy costs (CEGB) and BudgetForest.

    FRUGALFOREST_DATA=folder python -m benchmarks.boosting [--seeds 2] [--data spambase pima] [--models ...]

One bill for all: what a row's paths read ("all") or what settles its label ("label"), by the same price list. Everybody
is trained on the same rows, chooses trade-off and number of trees for a budget on the same validation rows, by loss
(forests by error), and is measured once on the same test rows. Results are rows of results/boosting.csv; what is there
is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import frugalforest as ff
from benchmarks.quality.peers import majority, reader
from frugalforest.acquisition import StopRule
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.boosting_base import first_trees
from frugalforest.importers import import_ensemble

RESULTS = Path(__file__).parent.parent / "results" / "boosting.csv"
FIELDS = ["data", "model", "stop", "budget", "seed", "error", "bill", "cpu_seconds"]
BUDGETS = {
    "spambase": (2, 4, 8, 15),
    "miniboone_tiny": (2, 4, 8, 15),
    "covertype": (2, 4, 8, 15),
    "pima": (2, 10, 20, 30),
    "heart_cleveland": (10, 50, 120, 250),
}
ROUNDS = 300
CEGB_TRADEOFFS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2)
CEGB_SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 75, 100, 150, 200, 250, 300)


class Problem(NamedTuple):
    """Rows to train on, to choose with, and to measure on."""

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]
    costs: ff.FeatureCosts
    seed: int


def load(name: str, seed: int) -> Problem:
    data = ff.datasets.load("covtype" if name == "covertype" else name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if name == "covertype":  # the second class against the rest
        some = np.random.default_rng(seed).choice(len(X), 20_000, replace=False)
        X, y = X[some], np.unique(y, return_inverse=True)[1][some] == 1
    costs = None if name == "covertype" else data.feature_costs
    y = np.unique(y, return_inverse=True)[1]
    rest, test, rest_y, test_y = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    train, val, train_y, val_y = train_test_split(rest, rest_y, test_size=1 / 4, random_state=seed, stratify=rest_y)
    return Problem((train, train_y), (val, val_y), (test, test_y), costs or ff.FeatureCosts(np.ones(X.shape[1])), seed)


# ---- models: (label numbers, bills) of the test rows for each budget

Answers = Iterator[tuple[float, np.ndarray, np.ndarray]]


def frugal_boosting(problem: Problem, stop: str, budgets: tuple[float, ...], **options: Any) -> Answers:
    for budget in budgets:
        model = ff.FrugalBoostingClassifier(
            budget, feature_costs=problem.costs, n_estimators=ROUNDS, stop=stop, random_state=problem.seed, **options
        ).fit(*problem.train, eval_set=problem.validation)
        yield budget, *model.predict_with_cost(problem.test[0])


def frugal_boosting_path(problem: Problem, stop: str, budgets: tuple[float, ...]) -> Answers:
    model = ff.FrugalBoostingClassifier(
        feature_costs=problem.costs, n_estimators=ROUNDS, stop=stop, random_state=problem.seed
    ).path(*problem.train, eval_set=problem.validation)
    for budget in budgets:
        yield budget, *model.at_budget(budget).predict_with_cost(problem.test[0])


def budget_forest(problem: Problem, stop: str, budgets: tuple[float, ...]) -> Answers:
    model = ff.BudgetForestClassifier(
        max(budgets), feature_costs=problem.costs, stop=stop, random_state=problem.seed
    ).fit(*problem.train, eval_set=problem.validation)
    for budget in budgets:
        yield budget, *model.at_budget(budget).predict_with_cost(problem.test[0])


def cegb(problem: Problem, stop: str, budgets: tuple[float, ...]) -> Answers:
    """LightGBM with lazy costs, which knows no groups: the price of a feature is that of having it alone."""
    points = [point for tradeoff in CEGB_TRADEOFFS for point in _cegb_points(problem, stop, tradeoff)]
    for budget in budgets:
        within = [point for point in points if point[1] <= budget]
        predict = majority(problem.train[1])
        if within:
            predict = reader(min(within, key=lambda point: point[0])[2], StopRule(stop), problem.costs)
        yield budget, *predict(problem.test[0])


def _cegb_points(problem: Problem, stop: str, tradeoff: float) -> list[tuple[float, float, Ensemble]]:
    """Validation loss, validation bill and trees, at several numbers of trees."""
    from lightgbm import LGBMClassifier

    unit = problem.costs.alone / problem.costs.alone.mean()
    model = LGBMClassifier(
        n_estimators=ROUNDS,
        random_state=problem.seed,
        n_jobs=1,
        verbose=-1,
        cegb_tradeoff=tradeoff,
        cegb_penalty_feature_lazy=unit.tolist(),
    ).fit(*problem.train)
    whole = import_ensemble(model)
    points = []
    for size in CEGB_SIZES:
        ensemble = first_trees(whole, min(size, whole.forest.n_trees))
        scores, _ = ensemble.scores(problem.validation[0], with_mask=False)
        loss = log_loss(problem.validation[1], ensemble.probabilities(scores))
        bills = reader(ensemble, StopRule(stop), problem.costs)(problem.validation[0])[1]
        points.append((loss, float(bills.mean()), ensemble))
    return points


MODELS: dict[str, Callable[..., Answers]] = {
    "FrugalBoosting": frugal_boosting,
    "FrugalBoosting.path": frugal_boosting_path,
    "LightGBM CEGB": cegb,
    "BudgetForest": budget_forest,
}


def measure(data: str, name: str, stop: str, seed: int) -> list[dict]:
    problem, start = load(data, seed), time.process_time()
    rows = []
    for budget, labels, bills in MODELS[name](problem, stop, BUDGETS[data]):
        where = {"data": data, "model": name, "stop": stop, "budget": budget, "seed": seed}
        error, seconds = np.mean(labels != problem.test[1]), time.process_time() - start
        rows.append(where | {"error": f"{error:.4f}", "bill": f"{bills.mean():.3f}", "cpu_seconds": f"{seconds:.1f}"})
    return rows


def stored(path: Path) -> list[dict]:
    """What was measured before; delete rows to have them measured again."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def store(rows: list[dict], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def show(rows: list[dict]) -> None:
    """Mean error over seeds (and mean bill), budgets side by side."""
    for data, budgets in BUDGETS.items():
        here = [row for row in rows if row["data"] == data]
        for name, stop in dict.fromkeys((row["model"], row["stop"]) for row in here):
            line = f"{data:16} {name:20} {stop:6}"
            for budget in budgets:
                some = [r for r in here if (r["model"], r["stop"], float(r["budget"])) == (name, stop, float(budget))]
                error, bill = (np.mean([float(r[what]) for r in some]) for what in ("error", "bill"))
                line += f"  {budget:4}: {error:.4f} ({bill:6.2f})"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="no tree fits|X does not have valid feature names")
    rows = stored(args.results)
    for data, name, stop, seed in product(args.data, args.models, ("all", "label"), range(args.seeds)):
        if not any((r["data"], r["model"], r["stop"], int(r["seed"])) == (data, name, stop, seed) for r in rows):
            rows += measure(data, name, stop, seed)
            store(rows, args.results)
    show(rows)


if __name__ == "__main__":
    main()

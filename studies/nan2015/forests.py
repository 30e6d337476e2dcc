"""Table 1: share of features read and test error of three kinds of forests, by number of trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from studies.nan2015.tasks import Task

import frugalforest as ff

TREES = (1, 10, 20, 40)
MODELS = (
    "BudgetRF, random thresholds, bootstrap",
    "BudgetRF, random thresholds, no bootstrap",
    "BudgetRF, all thresholds, bootstrap",
    "RF Gini",
    "RF entropy",
)
PAPER = {  # percent of features, test error; Forest is the binary task, whatever the text says
    ("miniboone", "BudgetRF"): ((16.40, 57.80, 73.57, 86.78), (0.1241, 0.0786, 0.0721, 0.0689)),
    ("miniboone", "RF Gini"): ((27.32, 85.06, 94.83, 98.42), (0.1278, 0.0803, 0.0730, 0.0693)),
    ("miniboone", "RF entropy"): ((20.67, 75.54, 90.35, 97.54), (0.1230, 0.0775, 0.0713, 0.0680)),
    ("covertype", "BudgetRF"): ((11.37, 23.21, 25.92, 29.01), (0.2122, 0.1364, 0.1232, 0.1156)),
    ("covertype", "RF Gini"): ((22.57, 63.04, 70.76, 76.63), (0.2107, 0.1307, 0.1238, 0.1196)),
    ("covertype", "RF entropy"): ((21.68, 63.56, 72.37, 79.34), (0.2045, 0.1313, 0.1239, 0.1200)),
    ("cifar", "BudgetRF"): ((2.62, 21.09, 35.45, 54.24), (0.4264, 0.3600, 0.3332, 0.3125)),
    ("cifar", "RF Gini"): ((3.80, 30.35, 49.85, 72.20), (0.4284, 0.3604, 0.3349, 0.3106)),
    ("cifar", "RF entropy"): ((3.46, 28.34, 46.45, 68.47), (0.4267, 0.3561, 0.3296, 0.3080)),
}


def paper_row(task: str, model: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return PAPER[task.split("_")[0].split(",")[0], model.split(",")[0]]


def grown(model: str, task: Task, seed: int, n_jobs: int) -> tuple[Any, Any]:
    """The forest, and what features cost: 1 each. alpha is 0, nothing is chosen, validation rows are left alone."""
    common = {"random_state": seed, "n_jobs": n_jobs}
    if model.startswith("RF"):
        # As Matlab's: the square root of the number of features, rounded up.
        width = math.ceil(math.sqrt(task.train[0].shape[1]))
        fitted = ff.StandardForestClassifier(
            max(TREES), criterion=model.split()[1].lower(), max_features=width, voting="hard", **common
        ).fit(*task.train)
        return fitted.forest_, fitted
    fitted = ff.BudgetForestClassifier(
        alpha=0,
        n_estimators=max(TREES),
        thresholds="random" if "random" in model else "all",
        bootstrap="no bootstrap" not in model,
        **common,
    ).fit(*task.train, eval_set=task.validation)
    return fitted.variants_[0].forest, fitted


def measure(model: str, task: Task, seed: int, n_jobs: int) -> dict[str, list[float]]:
    """Percent of features read and test error at 1, 10, 20 and 40 trees."""
    forest, fitted = grown(model, task, seed, n_jobs)
    labels = np.searchsorted(fitted.classes_, task.test[1]).astype(np.int32)
    error, cost = forest.by_tree(task.test[0], labels, forest.leaf_votes, fitted.feature_costs_, n_threads=n_jobs)
    places = np.array(TREES) - 1
    return {"percent": (100 * cost[places] / fitted.feature_costs_.total).tolist(), "error": error[places].tolist()}

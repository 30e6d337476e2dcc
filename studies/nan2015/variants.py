"""What the paper leaves open: how splits are judged, which thresholds are tried, and what a split is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from studies.nan2015.tasks import Task

import frugalforest as ff

TASKS = ("miniboone_tiny", "miniboone_sub5044", "covertype")
VARIANTS: dict[str, dict[str, Any]] = {
    "minimax, random thresholds, always (the paper)": {"thresholds": "random"},
    "minimax, all thresholds, always": {},
    "expected, all thresholds, always": {"splitting": "expected"},
    "minimax, all thresholds, path": {"charge": "path"},
    "minimax, all thresholds, forest": {"charge": "forest"},
}
BUDGETS = (3.0, 5.0, 8.0, 12.0, 20.0)
N_TREES = 40
N_TEST = 20_000


def measure(variant: str, task: Task, seed: int, n_jobs: int) -> dict[str, list[float]]:
    """Test error and bill at each budget, alpha and number of trees by validation; and the best alpha of each."""
    X, y = (part[:N_TEST] for part in task.test)
    model = ff.BudgetForestClassifier(n_estimators=N_TREES, n_jobs=n_jobs, random_state=seed, **VARIANTS[variant])
    model.fit(*task.train, eval_set=task.validation)
    rows = []
    for budget in BUDGETS:
        chosen = model.at_budget(budget)
        label, bill = chosen.predict_with_cost(X)
        alpha = -1.0 if chosen.alpha_ is None else float(chosen.alpha_)  # -1: nothing can be bought
        rows.append((float(np.mean(label != y)), float(bill.mean()), alpha))
    error, bill, alpha = map(list, zip(*rows, strict=True))
    return {"error": error, "bill": bill, "alpha": alpha}

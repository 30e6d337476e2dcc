"""The competitors: each takes a task and gives, for one or two ways to read its models, a predictor for each budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from benchmarks.quality import peers
from benchmarks.quality.data import Task
from benchmarks.quality.peers import Predictor
from frugalforest.selection import PermutationSelector, ShallowTreeSelector

ByBudget = dict[float, Predictor]
Method = Callable[[Task, int], dict[str, ByBudget]]  # task, seed -> for each way to read, a model for each budget
N_PANEL_TREES = 300
MOST_SELECTED_FROM = 4000  # rows that panels are selected from; forests are fitted on all


def at_budgets(model: Any, task: Task) -> ByBudget:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a small budget buys nothing
        return {budget: model.at_budget(budget).predict_with_cost for budget in task.budgets}


def cascade(task: Task, seed: int) -> dict[str, ByBudget]:
    """Panels bought together, or the last one on demand."""
    found = {}
    for stop in ("all", "label"):
        model = ff.FrugalCascadeClassifier(stop=stop, feature_costs=task.costs, random_state=seed, n_jobs=1)
        found[stop] = at_budgets(model.fit(task.X, task.y), task)
    return found


def boosting(task: Task, seed: int) -> dict[str, ByBudget]:
    """One path along the whole range of costs, for each way to read."""
    found = {}
    for stop in ("all", "label", "confidence"):
        model = ff.FrugalBoostingClassifier(
            stop=stop,
            max_leaf_nodes="auto",
            feature_costs=task.costs,
            random_state=seed,
            n_jobs=1,
        )
        found[stop] = at_budgets(model.path(task.X, task.y), task)
    return found


def boosting_averaged(task: Task, seed: int) -> dict[str, ByBudget]:
    """Three boosters, one for each fold, read together until sure."""
    model = ff.FrugalBoostingClassifier(
        stop="confidence",
        n_folds=peers.N_FOLDS,
        max_leaf_nodes="auto",
        feature_costs=task.costs,
        random_state=seed,
        n_jobs=1,
    )
    return {"confidence": at_budgets(model.path(task.X, task.y), task)}


def pruned_forest(task: Task, seed: int) -> dict[str, ByBudget]:
    model = ff.PrunedForestClassifier(stop="label", feature_costs=task.costs, random_state=seed, n_jobs=1)
    return {"label": at_budgets(model.fit(task.X, task.y), task)}


def budget_forest(task: Task, seed: int) -> dict[str, ByBudget]:
    powers = 1.0 if np.ptp(task.costs.own) == 0 else [1.0, 0.0]
    found = {}
    for stop in ("all", "label"):
        model = ff.BudgetForestClassifier(
            max(task.budgets),
            feature_costs=task.costs,
            stop=stop,
            n_estimators=60,
            price_power=powers,
            random_state=seed,
            n_jobs=1,
        )
        found[stop] = at_budgets(model.fit(task.X, task.y), task)
    return found


def penalized_forest(task: Task, seed: int) -> dict[str, ByBudget]:
    model = ff.PenalizedForestClassifier("auto", stop="label", feature_costs=task.costs, random_state=seed, n_jobs=1)
    return {"label": at_budgets(model.fit(task.X, task.y), task)}


def cegb(task: Task, seed: int) -> dict[str, ByBudget]:
    sizes = peers.leaves_for(len(task.y))
    return peers.tuned(task, peers.single_boosters(task, seed, peers.lightgbm, peers.TRADEOFFS, sizes))


def cegb_averaged(task: Task, seed: int) -> dict[str, ByBudget]:
    return peers.tuned(task, peers.averaged_boosters(task, seed, peers.leaves_for(len(task.y))))


def catboost(task: Task, seed: int) -> dict[str, ByBudget]:
    return peers.tuned(task, peers.single_boosters(task, seed, peers.catboost, peers.CATBOOST_TRADEOFFS, (6,)))


def panels(task: Task, seed: int, selector: Any, estimator: Any) -> dict[str, ByBudget]:
    """A panel for each budget, then a forest; on demand a row buys of its panel only what settles its label."""
    rows = np.random.default_rng(seed).permutation(len(task.y))[:MOST_SELECTED_FROM]
    path = selector.path(task.X[rows], task.y[rows], task.budgets)
    fitted: dict[tuple[int, ...], dict[str, Predictor]] = {}
    for point in path.points:
        panel = tuple(point.features)
        if panel not in fitted:
            fitted[panel] = _panel_readers(task, list(panel), estimator)
    by_budget = {point.budget: fitted[tuple(point.features)] for point in path.points}
    return {stop: {b: readers[stop] for b, readers in by_budget.items()} for stop in ("all", "label")}


def _panel_readers(task: Task, panel: list[int], estimator: Any) -> dict[str, Predictor]:
    if not panel:
        return dict.fromkeys(("all", "label"), peers.majority(task.y))
    forest = clone(estimator).fit(task.X[:, panel], task.y)
    price = task.costs.of(panel)
    on_demand = ff.OnDemand(forest, feature_costs=task.costs.subset(panel), n_jobs=1)
    return {
        "all": lambda X: (forest.predict(X[:, panel]), np.full(len(X), price)),
        "label": lambda X: on_demand.predict_with_cost(X[:, panel]),
    }


def sts_panel(task: Task, seed: int) -> dict[str, ByBudget]:
    selector = ShallowTreeSelector(
        feature_costs=task.costs, n_estimators=500, n_forest_trees=N_PANEL_TREES, random_state=seed, n_jobs=1
    )
    return panels(task, seed, selector, ff.StandardForestClassifier(N_PANEL_TREES, random_state=seed, n_jobs=1))


def sklearn_panel(task: Task, seed: int) -> dict[str, ByBudget]:
    """scikit-learn's forest on a panel by permutation importance."""
    selector = PermutationSelector(feature_costs=task.costs, n_forest_trees=N_PANEL_TREES, random_state=seed, n_jobs=1)
    return panels(task, seed, selector, RandomForestClassifier(N_PANEL_TREES, random_state=seed, n_jobs=1))


NEW = {
    "cascade": cascade,
    "boosting": boosting,
    "boosting, mean of 3": boosting_averaged,
}
PAPERS = {
    "PrunedForest": pruned_forest,
    "PenalizedForest": penalized_forest,
    "BudgetForest": budget_forest,
    "STS panel": sts_panel,
}
PEERS = {
    "CEGB": cegb,
    "CEGB, mean of 3": cegb_averaged,
    "CatBoost": catboost,
    "RF on a panel": sklearn_panel,
}
# What is new in this library, methods of papers as it has them, and other libraries.
METHODS: dict[str, Method] = NEW | PAPERS | PEERS


def settings() -> tuple[object, ...]:
    """What rows depend on, beside the code: with other settings they are other rows."""
    return (
        *(peers.TRADEOFFS, peers.CATBOOST_TRADEOFFS, peers.CONFIDENCES.tolist(), peers.N_TREES, peers.PATIENCE),
        *(peers.N_FOLDS, peers.MOST_SURE, N_PANEL_TREES, MOST_SELECTED_FROM),
    )

"""Every estimator and selector of the library, beside the methods and peers of benchmarks.quality."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchmarks.quality.data import Task
from benchmarks.quality.methods import METHODS, N_PANEL_TREES, ByBudget, Method, at_budgets, panels
from benchmarks.quality.peers import tuned
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

import frugalforest as ff
from frugalforest.selection import AUCSelector, SubmodularSelector

MISER_TRADEOFFS = (
    3e-5,
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    6e-3,
    0.01,
    0.02,
    0.04,
    0.1,
)  # loss per mean price
N_WIDE = 100  # columns; with more of them CSTC takes minutes for each trade-off


def standard_forest(task: Task, seed: int) -> dict[str, ByBudget]:
    """One forest at whatever it costs: a single point, in full and on demand."""
    found = {}
    for stop in ("all", "label"):
        model = ff.StandardForestClassifier(
            N_PANEL_TREES, stop=stop, feature_costs=task.costs, random_state=seed, n_jobs=1
        )
        found[stop] = {max(task.budgets): model.fit(task.X, task.y).predict_with_cost}
    return found


def linear(model: Any, task: Task) -> dict[str, ByBudget]:
    """A linear model, which needs every value: missing ones are replaced by medians."""
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(task.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = at_budgets(model.fit(imputer.transform(task.X), task.y), task)
    return {"": {b: lambda X, predict=predict: predict(imputer.transform(X)) for b, predict in fitted.items()}}


def submodular_tree(task: Task, seed: int, soft: bool = False) -> dict[str, ByBudget]:
    return linear(ff.SubmodularTreeClassifier(soft=soft, feature_costs=task.costs, random_state=seed), task)


def mixed_norm_tree(task: Task, seed: int) -> dict[str, ByBudget]:
    return linear(ff.MixedNormTreeClassifier("auto", feature_costs=task.costs, random_state=seed), task)


def cost_lasso(task: Task, seed: int) -> dict[str, ByBudget]:
    return linear(ff.CostLassoClassifier(feature_costs=task.costs, random_state=seed), task)


def greedy_miser(task: Task, seed: int) -> dict[str, ByBudget]:
    """A model for each trade-off, chosen on a fifth of the rows."""
    X, X_val, y, y_val = train_test_split(task.X, task.y, test_size=0.2, stratify=task.y, random_state=seed)
    scale = 1 / task.costs.alone.mean()
    models = (
        ff.GreedyMiserClassifier(tradeoff * scale, feature_costs=task.costs, random_state=seed, n_jobs=1).fit(X, y)
        for tradeoff in MISER_TRADEOFFS
    )
    return tuned(task, (([model.ensemble_], [(X_val, y_val)]) for model in models))


def frugal_classifier(task: Task, seed: int) -> dict[str, ByBudget]:
    """All methods within one, a quarter of the rows to choose with."""
    model = ff.FrugalClassifier(feature_costs=task.costs, random_state=seed, n_jobs=1)
    return {"label": at_budgets(model.fit(task.X, task.y), task)}


def auc_panel(task: Task, seed: int) -> dict[str, ByBudget]:
    selector = AUCSelector(feature_costs=task.costs, n_forest_trees=N_PANEL_TREES, random_state=seed, n_jobs=1)
    return panels(task, seed, selector, ff.StandardForestClassifier(N_PANEL_TREES, random_state=seed, n_jobs=1))


def preselected(task: Task, seed: int) -> dict[str, ByBudget]:
    """Submodular selection within the budget, then penalised splits among what was selected."""
    by_budget = {}
    for budget in task.budgets:
        selector = SubmodularSelector(budget=budget, feature_costs=task.costs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = ff.PreselectedClassifier(
                selector,
                ff.PenalizedForestClassifier(0.0, stop="label", random_state=seed, n_jobs=1),
                feature_costs=task.costs,
            ).fit(task.X, task.y)
        by_budget[budget] = model.predict_with_cost
    return {"label": by_budget}


EXTRA: dict[str, Method] = {
    "StandardForest": standard_forest,
    "FrugalClassifier": frugal_classifier,
    "GreedyMiser": greedy_miser,
    "ASTC": submodular_tree,
    "ASTC soft": lambda task, seed: submodular_tree(task, seed, soft=True),
    "CSTC": mixed_norm_tree,
    "l1": cost_lasso,
    "AUC panel": auc_panel,
    "submodular, then forest": preselected,
}
ALL = METHODS | EXTRA


def suits(method: str, task: Task) -> bool:
    """CSTC is for two classes, and slow with many columns."""
    return method != "CSTC" or (task.X.shape[1] <= N_WIDE and len(np.unique(task.y)) == 2)

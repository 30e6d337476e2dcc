"""The competitors: each takes training rows, prices and budgets, and gives a predictor with bills for each budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import frugalforest as ff

Predictor = Callable[[Any], tuple[np.ndarray, np.ndarray]]

# Loss per money, in units of the mean price of a feature. Finely spaced where a booster is left with few features.
TRADEOFFS = (0.003, 0.01, 0.02, 0.04, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3)


def cascade(X, y, costs, budgets, seed: int, **options) -> dict[float, Predictor]:
    model = ff.FrugalCascadeClassifier(feature_costs=costs, random_state=seed, **options).fit(X, y)
    return {budget: model.at_budget(budget).predict_with_cost for budget in budgets}


def budget_forest(X, y, costs, budgets, seed: int, stop: str = "all") -> dict[float, Predictor]:
    model = ff.BudgetForestClassifier(max(budgets), feature_costs=costs, stop=stop, n_estimators=60, random_state=seed)
    model.fit(X, y)
    return {budget: model.at_budget(budget).predict_with_cost for budget in budgets}


def cegb(X, y, costs, budgets, seed: int, stop: str = "all") -> dict[float, Predictor]:
    """LightGBM with lazy feature costs only, the setting without known faults; validation chooses the trade-off.

    Trees have as many leaves as the cascade's, and their number is chosen by early stopping on the same rows.
    """
    _, X_val, _, y_val = parts = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    found = []
    for tradeoff in TRADEOFFS:
        model = ff.OnDemand(_fitted_once(parts, costs, tradeoff, seed), feature_costs=costs, stop=stop)
        labels, bill = model.predict_with_cost(X_val)
        found.append((np.mean(bill), np.mean(labels != y_val), model))
    nothing = _majority(y)
    chosen: dict[float, Predictor] = {}
    for budget in budgets:
        fits = [(error, bill, i) for i, (bill, error, _) in enumerate(found) if bill <= budget]
        chosen[budget] = found[min(fits)[2]][2].predict_with_cost if fits else nothing
    return chosen


_boosters: dict[tuple, Any] = {}  # of one data set: the same ones are read in several ways


def _fitted_once(parts, costs, tradeoff: float, seed: int) -> Any:
    X_fit, X_val, y_fit, y_val = parts
    rows = (X_fit.shape, seed, X_fit[:100].tobytes())
    if _boosters and next(iter(_boosters))[0] != rows:
        _boosters.clear()
    if (rows, tradeoff) not in _boosters:
        _boosters[rows, tradeoff] = _lightgbm(X_fit, y_fit, X_val, y_val, costs, tradeoff, seed)
    return _boosters[rows, tradeoff]


def _lightgbm(X_fit, y_fit, X_val, y_val, costs, tradeoff: float, seed: int) -> Any:
    from lightgbm import LGBMClassifier, early_stopping

    model = LGBMClassifier(
        n_estimators=300,
        num_leaves=min(127, max(15, len(X_fit) // 150)),
        min_child_samples=min(20, max(3, len(X_fit) // 30)),
        cegb_tradeoff=tradeoff / costs.alone.mean(),
        cegb_penalty_feature_lazy=costs.alone.tolist(),
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )
    return model.fit(X_fit, y_fit, eval_X=X_val, eval_y=y_val, callbacks=[early_stopping(20, verbose=False)])


def _majority(y) -> Predictor:
    label = np.bincount(y).argmax()
    return lambda X: (np.full(len(X), label), np.zeros(len(X)))


METHODS: dict[str, Callable[..., dict[float, Predictor]]] = {
    "cascade": cascade,
    "BudgetForest": budget_forest,
    "BudgetForest, label": lambda *args: budget_forest(*args, stop="label"),
    "CEGB": cegb,
    "CEGB, label": lambda *args: cegb(*args, stop="label"),
}

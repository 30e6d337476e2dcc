"""What FrugalClassifier chooses from: one line for each method, the quick ones first."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from frugalforest.estimators.budget_forest import BudgetForestClassifier
from frugalforest.estimators.cascade import FrugalCascadeClassifier
from frugalforest.estimators.frugal_boosting import FrugalBoostingClassifier
from frugalforest.estimators.penalized_forest import PenalizedForestClassifier
from frugalforest.estimators.pruned_forest import PrunedForestClassifier
from frugalforest.evaluation import CostCurve

# Rows stop when their label is settled, or sure enough, wherever a method can do that.
METHODS: dict[str, BaseEstimator] = {
    "budget-forest": BudgetForestClassifier(price_power=[1.0, 0.0], stop="label"),
    "penalized-forest": PenalizedForestClassifier("auto", stop="label"),
    "boosting": FrugalBoostingClassifier(stop="confidence", max_leaf_nodes="auto"),
    "cascade": FrugalCascadeClassifier(stop="label"),
    "pruned-forest": PrunedForestClassifier(stop="label"),
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fitted method, and how it did on the validation rows."""

    name: str
    model: Any
    curve: CostCurve
    seconds: float

    def within(self, budget: float | None) -> Any:
        """What the method itself takes for an average bill of at most this; nothing, if that does no worse.

        Each has a way to choose that luck does not mislead: by its loss, most of them. The point of least error on its
        curve would be the luckiest.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that nothing fits the budget is seen in its bill
            chosen = self.model.at_budget(budget)
            return chosen if chosen.validation_error_ < self.curve.baseline_error else self.model.at_budget(0)

    def best_within(self, budget: float | None) -> tuple[float, float]:
        """Validation error and average bill of what the method takes; the free answer's if that does no worse."""
        chosen = self.within(budget)
        if chosen.validation_error_ >= self.curve.baseline_error:
            return self.curve.baseline_error, 0.0
        return float(chosen.validation_error_), float(chosen.validation_cost_)


def pooled(candidates: tuple[Candidate, ...]) -> CostCurve:
    """The points of all candidates; their variants are the methods' names."""
    curves = [candidate.curve for candidate in candidates]
    return CostCurve(
        cost=np.concatenate([curve.cost for curve in curves]),
        error=np.concatenate([curve.error for curve in curves]),
        n_trees=np.concatenate([curve.n_trees for curve in curves]),
        variant=np.repeat(np.arange(len(curves)), [len(curve) for curve in curves]),
        variants=tuple(candidate.name for candidate in candidates),
        total_cost=curves[0].total_cost,
        baseline_error=curves[0].baseline_error,
    )


def templates_of(methods: Any) -> Mapping[str, Any]:
    """What `methods` asks for: "auto", names, or a dict name -> classifier of frugalforest; in the order given."""
    if isinstance(methods, str) and methods == "auto":
        return METHODS
    if isinstance(methods, Mapping):
        return {str(name): _checked(str(name), estimator) for name, estimator in methods.items()}
    names = [methods] if isinstance(methods, str) else list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(
            f"methods has {', '.join(map(repr, unknown))}; expected some of {', '.join(METHODS)}, or a dict of "
            "classifiers by name."
        )
    return {name: METHODS[name] for name in names}


def _checked(name: str, estimator: Any) -> Any:
    if not hasattr(estimator, "at_budget"):
        raise TypeError(
            f"methods[{name!r}] is {estimator!r:.60}; expected a classifier of frugalforest that has `at_budget`."
        )
    return estimator


def copy_of(template: Any, told: Mapping[str, Any]) -> Any:
    """A fresh classifier, with those of some parameters that it has."""
    known = template.get_params(deep=False)
    return clone(template).set_params(**{name: value for name, value in told.items() if name in known})


def fit_for_all_budgets(model: Any, X: Any, y: Any, **fit_params: Any) -> None:
    """Fit for its budget and all smaller ones."""
    if isinstance(model, FrugalBoostingClassifier) and model.budget is None and model.tradeoff is None:
        model.path(X, y, **fit_params)  # without a budget, `fit` spends without a limit
    else:
        model.fit(X, y, **fit_params)

"""Forests in many sizes: grown as variants, measured on validation rows, chosen by their error within a budget."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from functools import partial
from math import floor, log10
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition import Acquirer
from frugalforest.estimators.base import Floats, ForestClassifierBase
from frugalforest.estimators.checks import check_number, check_validation_fraction
from frugalforest.estimators.problem import Problem, Rows, set_aside, validation_rows
from frugalforest.estimators.variants import Measure, Variant, reads_something
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest


class ChoosingForestBase(ForestClassifierBase):
    """Asks for one method, `_keep_recipe`, and gives what every forest does that comes in variants.

    Each (recipe, number of trees) is a point of `curve_`; the one of least validation error within the budget becomes
    the model, of equals the cheapest. Without any, the model has no trees and answers with the most frequent class.
    """

    budget: float | None
    validation_fraction: float

    curve_: CostCurve
    variants_: tuple[Variant, ...]
    max_budget_: float
    n_estimators_: int
    validation_error_: float
    validation_cost_: float

    @abstractmethod
    def _keep_recipe(self, recipe: Any | None) -> None:
        """Set the attributes that say how the chosen trees were grown; None: there are none."""

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, from the trees already grown; this one stays as it is.

        Budgets up to `max_budget_` can be asked for. Out-of-bag estimates are not carried over.
        """
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        if limit_of(budget) > self.max_budget_:
            wanted = "no limit" if budget is None else f"a budget of {budget:g}"
            raise ValueError(
                f"the trees were grown for a budget of {self.max_budget_:g}, so {wanted} is out of reach; "
                "fit with this budget (or budget=None), then ask for smaller ones."
            )
        model = copy.copy(self)
        model.budget = budget
        for name in ("oob_score_", "oob_cost_", "oob_decision_function_"):
            model.__dict__.pop(name, None)
        model._choose()
        if model.n_estimators_ == 0:
            model._warn_no_tree()
        return model

    # ---- steps of fit

    def _check_choosing(self) -> None:
        check_number(self.budget, "budget", 0, or_none=True)
        check_validation_fraction(self.validation_fraction)

    def _split(self, problem: Problem, eval_set: Any, seed: int) -> tuple[Rows, Rows]:
        """Rows to grow from and rows to choose with."""
        if eval_set is not None:
            return problem.rows, validation_rows(problem, eval_set, type(self).__name__)
        return set_aside(problem.rows, self.validation_fraction, seed, stacklevel=4)

    def _measure_on(self, rows: Rows, problem: Problem) -> Measure:
        """How a forest does on these rows, while nothing is kept yet."""
        return lambda forest, sizes: self._measure(forest, rows, problem.costs, partial(self._try, problem), sizes)

    def _try(self, problem: Problem, forest: Forest) -> Acquirer:
        base = np.zeros(problem.n_classes)
        ensemble = self._ensemble(forest, base, problem.classes, problem.encoder)
        return Acquirer(ensemble, problem.costs)

    def _keep_variants(self, variants: tuple[Variant, ...], validation: Rows) -> Variant | None:
        """Keep the forests of a fit and choose among them -> the variant that was chosen."""
        self.variants_ = variants
        self.max_budget_ = np.inf if all(variant.is_complete for variant in variants) else limit_of(self.budget)
        points = self._curve([(variant.error, variant.cost) for variant in variants], validation)
        self.curve_ = (points.take(self._worth_something()) if np.isfinite(self._least_budget()) else points).measured()
        return self._choose()

    # ---- choosing a point

    def _choose(self) -> Variant | None:
        """Take the best point within the budget, or no tree at all -> the variant it belongs to."""
        point = self.curve_.best_index(limit_of(self.budget))
        if point is None:
            self._keep_recipe(None)
            self.n_estimators_ = 0
            self.validation_error_, self.validation_cost_ = self.curve_.baseline_error, 0.0
            self.forest_ = Forest.without_trees(self.n_features_in_, len(self.classes_))
            return None
        variant: Variant = self.variants_[self.curve_.variant[point]]
        self._keep_recipe(variant.recipe)
        self.n_estimators_ = int(self.curve_.n_trees[point])
        self.validation_error_ = float(self.curve_.error[point])
        self.validation_cost_ = float(self.curve_.cost[point])
        self.forest_ = variant.forest.first(self.n_estimators_)
        return variant

    def _worth_something(self) -> NDArray[np.intp]:
        """Which of all points read any feature."""
        return np.flatnonzero(np.concatenate([reads_something(variant.forest) for variant in self.variants_]))

    def _least_budget(self) -> float:
        """The average bill of the cheapest tree that reads anything, also if it was dropped; else infinity."""
        return min(variant.least_cost for variant in self.variants_)

    def _warn_no_tree(self) -> None:
        least = _rounded_up(self._least_budget())
        warnings.warn(
            f"no tree fits a budget of {self.budget:g}: the cheapest one costs {least} per row on average. The model "
            f"answers with the most frequent class, for nothing; give a budget of at least {least} for a tree.",
            UserWarning,
            stacklevel=3,
        )

    # ---- curves

    def _curve(self, measured: list[tuple[Floats, Floats]], rows: Rows) -> CostCurve:
        return CostCurve.of_forests(
            measured,
            [variant.recipe for variant in self.variants_],
            total_cost=self.feature_costs_.total,
            baseline_error=self._baseline_error(rows),
        )

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The points on the frontier of the validation curve, measured on other rows."""
        rows = self._later_rows(X, y)
        chosen = self.curve_.frontier()
        measured = [
            self._measure(
                variant.forest,
                rows,
                self.feature_costs_,
                self._acquirer_of,
                chosen.n_trees[chosen.variant == i].tolist(),
            )
            for i, variant in enumerate(self.variants_)
        ]
        first = np.cumsum([0, *(variant.n_trees for variant in self.variants_)])
        return self._curve(measured, rows).take(first[chosen.variant] + chosen.n_trees - 1)


def limit_of(budget: float | None) -> float:
    """A budget as a number: infinity for None."""
    return np.inf if budget is None else float(budget)


def _rounded_up(cost: float) -> str:
    """Six digits of a positive cost, and not less than it: a budget that is named has to be enough."""
    text = f"{cost:.6g}"
    return text if float(text) >= cost else f"{cost + 10.0 ** (floor(log10(cost)) - 5):.6g}"

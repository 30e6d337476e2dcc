"""Filters: features are judged one by one, and bought in the order of benefit per cost while the budget holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.estimators.checks import check_flag
from frugalforest.estimators.problem import Problem
from frugalforest.selection.criterion import benefit_per_cost, best_of
from frugalforest.selection.forests import ForestJudge
from frugalforest.selection.panel_selector import PanelSelector
from frugalforest.selection.search import Basket, Panel
from frugalforest.selection.tuning import Tuned

Floats = NDArray[np.float64]


class Filter:
    """A search that knows the benefit of each feature beforehand; benefits: (n_features,), >= 0."""

    def __init__(self, benefits: Floats, costs: FeatureCosts) -> None:
        self.benefits = benefits
        self.costs = costs

    def search(self, xi: float, budget: float | None) -> Panel:
        """Take the feature of the largest J / marginal cost^xi that fits, until none does; what is free comes first."""
        basket = Basket(self.costs, budget)
        basket.add_free()
        while (fits := basket.fits()).any():
            cost = basket.marginal()
            values = np.full(len(cost), np.inf)
            values[fits] = -benefit_per_cost(self.benefits[fits], cost[fits], xi)
            chosen = best_of(values, cost, xi, allowed=fits)
            basket.add(np.arange(len(cost)) == chosen, value=-values[chosen])
            basket.add_free()
        return basket.panel()


class FilterSelector(PanelSelector):
    """What both filters share: the benefits are kept, and the path gets its errors from full forests."""

    path_errors: bool
    benefits_: Floats

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag(self.path_errors, "path_errors")

    def _with_errors(self, panel: Panel, judge: ForestJudge) -> Panel:
        if not self.path_errors or not panel.added:
            return panel
        return panel.with_errors(judge.errors(panel.masks))

    def _keep_search(self, problem: Problem, panel: Panel, tuned: Tuned, searcher: Filter) -> None:
        super()._keep_search(problem, panel, tuned, searcher)
        self.benefits_ = searcher.benefits

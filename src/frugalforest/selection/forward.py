"""ForwardSelector: the feature that helps a full forest most, again and again (Jagdhuber et al., section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.estimators.checks import check_choice, check_flag
from frugalforest.estimators.problem import Problem
from frugalforest.selection.criterion import Ratio, best_of, change_per_cost
from frugalforest.selection.forests import ForestJudge
from frugalforest.selection.panel_selector import PanelSelector
from frugalforest.selection.race import Race
from frugalforest.selection.search import Basket, Panel

Floats = NDArray[np.float64]


class ForwardSelector(PanelSelector):
    """Panel grown feature by feature, each time the one that helps a full forest most for its price.

        (error(S + f) - error(S)) / (cost(S + f) - cost(S))^xi,   smallest first, until nothing fits

    The error is the out-of-bag error of a full forest on these features alone. All forests share their bootstrap
    samples; those of the candidates of one step are grown together, and nothing is judged twice, whatever the xi.

    Parameters
    ----------
    budget : float, default=None
        Cost of the panel, at most; None: no limit.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X. Features that cost
        nothing are always chosen.
    xi : float or "tune", default="tune"
        How much costs weigh: 0 ignores them (but for the budget), 1 divides by them. "tune" tries several and keeps
        the one whose panel gives the full forest the least out-of-bag error, of equals the cheaper panel.
    xi_grid : sequence of float, default=None
        What "tune" tries; None: 0, 0.25, 0.5, ..., 3.
    tuner : {"grid", "optuna"}, default="grid"
        "grid" tries the whole grid; "optuna" lets Optuna propose values from 0 to the largest of the grid (extra
        `tune`).
    n_trials : int, default=30
        Proposals of Optuna.
    bcr : {"signed", "paper"}, default="signed"
        How a candidate that does not lower the error is compared. The printed ratio divides its rise by cost^xi, which
        prefers the dearer of two equally bad features; "signed" multiplies instead.
    racing : bool, default=True
        Candidates race: all start with 16 trees, the better quarter goes on with four times as many, and so on; at
        least three reach the full forest, which decides. False gives every candidate the full forest, which takes
        longer; docs/panels.md says how much.
    n_forest_trees : int, default=1000
        Trees of the full forests that judge panels.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features tried per node in all forests.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    max_bins : int, default=255
        Bins per numeric feature, 2 to 255.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the panel does not depend on it.
    random_state : int, RandomState or None, default=None
        The same number gives the same panel.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Which features are chosen; `selected_` names them.
    cost_ : float
        What the panel costs.
    xi_ : float
        The xi that led to it.
    oob_error_ : float
        Out-of-bag error of the full forest on the panel.
    path_ : SearchPath
        What was added step by step, at what cost, with what error, and why the search ended.
    tuning_ : tuple of Trial
        Every xi that was tried, with the cost and the error of its panel.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names.
    encoder_ : FeatureEncoder
        How columns become numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = ForwardSelector(budget=2, xi=1, n_forest_trees=100, random_state=0).fit(X, y)
    >>> selector.cost_
    2.0
    """

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_costs: Any = None,
        xi: float | Literal["tune"] = "tune",
        xi_grid: Sequence[float] | None = None,
        tuner: Literal["grid", "optuna"] = "grid",
        n_trials: int = 30,
        bcr: Ratio = "signed",
        racing: bool = True,
        n_forest_trees: int = 1000,
        max_features: Any = "sqrt",
        categorical_features: Any = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.feature_costs = feature_costs
        self.xi = xi
        self.xi_grid = xi_grid
        self.tuner = tuner
        self.n_trials = n_trials
        self.bcr = bcr
        self.racing = racing
        self.n_forest_trees = n_forest_trees
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.bcr, "bcr", ("signed", "paper"))
        check_flag(self.racing, "racing")

    def _searcher(self, problem: Problem, judge: ForestJudge, budget: float | None, seed: int) -> ForwardSearch:
        return ForwardSearch(judge, problem.costs, self.bcr, racing=self.racing)


class ForwardSearch:
    """Greedy forward search with full forests; errors that were measured once serve every xi and budget."""

    def __init__(self, judge: ForestJudge, costs: FeatureCosts, ratio: Ratio, *, racing: bool) -> None:
        self.judge = judge
        self.costs = costs
        self.ratio = ratio
        self.race = Race(judge)
        self.racing = racing

    def search(self, xi: float, budget: float | None) -> Panel:
        """Add features by change of the error per cost^xi until none fits."""
        basket = Basket(self.costs, budget)
        basket.add_free()
        while (fits := basket.fits()).any():
            value, chosen = self._next(basket, np.flatnonzero(fits), xi)
            added = np.arange(len(fits)) == chosen
            error = self.judge.error(basket.mask | added)
            basket.add(added, value, error)
            basket.add_free(error)
        return self._with_free_errors(basket.panel())

    def _next(self, basket: Basket, features: NDArray[np.intp], xi: float) -> tuple[float, int]:
        """The best of some features -> (value of the criterion, feature)."""
        cost = basket.marginal()[features]

        def values_of(change: Floats, places: NDArray[np.intp]) -> Floats:
            return change_per_cost(change, cost[places], xi, self.ratio)

        if self.racing:
            places, errors = self.race.run(basket.mask, features, values_of)
        else:
            places, errors = np.arange(len(features)), self.race.without_rounds(basket.mask, features)
        values = values_of(errors - self.judge.error(basket.mask), places)
        best = best_of(values, cost[places], xi, allowed=np.ones(len(places), dtype=bool))
        return float(values[best]), int(features[places[best]])

    def _with_free_errors(self, panel: Panel) -> Panel:
        """Steps that took what was free get the error of the forest too."""
        if not panel.added:
            return panel
        return panel.with_errors(self.judge.errors(panel.masks))

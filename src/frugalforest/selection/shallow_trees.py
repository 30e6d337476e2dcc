"""ShallowTreeSelector: features that small trees use together, tree by tree (Jagdhuber et al., section 2.1: STS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.estimators.checks import check_choice, check_number, check_whole_number
from frugalforest.estimators.problem import Problem
from frugalforest.selection.base_trees import BaseTrees, Limit, deepest_that_fits
from frugalforest.selection.criterion import Ratio, best_of, change_per_cost
from frugalforest.selection.forests import ForestJudge
from frugalforest.selection.panel_selector import PanelSelector
from frugalforest.selection.search import Basket, Panel
from frugalforest.selection.tree_votes import CandidateTrees, Tally


class ShallowTreeSelector(PanelSelector):
    """Panel of the features that small trees use, chosen tree by tree (STS).

    A base ensemble has one stump for each feature, and forests of trees of depth 2, 3, ... up to the largest that can
    fit the budget. Starting from none, the tree is added that minimises

        (error(R + T) - error(R)) / (cost(R + T) - cost(R))^xi

    until none fits. The error is that of the out-of-bag majority vote of the chosen trees R; a row without a vote is
    wrong, and without any tree the error is 1 - 1 / n_classes. Trees that have become free are no candidates any more.
    The panel is the union of the features of the chosen trees; features that interact come in together.

    Features that cost nothing are in from the start; trees that use only these are added first, while they lower the
    error.

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
        prefers the dearer of two equally bad trees; "signed" multiplies instead.
    n_estimators : int, default=2000
        Trees of the base ensemble for each level but the first. The more there are, the better the combinations to
        choose from; they take little of the time.
    limit : {"depth", "features", "cost"}, default="depth"
        What limits the trees of a level: depth 1, 2, 3, ... (the paper), the number of distinct features 1, 3, 7, ...,
        or the cost of a tree, ..., 1/4, 1/2, 1 of the budget.
    max_depth : int, default=None
        Levels of the base ensemble, at most; None: as many as can fit the budget.
    base_tradeoff : float, default=0.0
        Base trees pay this much Gini gain per unit of cost for a feature that is new on the path.
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
    n_candidates_ : int
        Trees of the base ensemble.
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
    >>> selector = ShallowTreeSelector(budget=2, xi=1, n_estimators=50, n_forest_trees=50, random_state=0).fit(X, y)
    >>> selector.selected_
    ['petal length (cm)', 'petal width (cm)']
    """

    n_candidates_: int

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
        n_estimators: int = 2000,
        limit: Limit = "depth",
        max_depth: int | None = None,
        base_tradeoff: float = 0.0,
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
        self.n_estimators = n_estimators
        self.limit = limit
        self.max_depth = max_depth
        self.base_tradeoff = base_tradeoff
        self.n_forest_trees = n_forest_trees
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.bcr, "bcr", ("signed", "paper"))
        check_whole_number(self.n_estimators, "n_estimators", 1)
        check_choice(self.limit, "limit", ("depth", "features", "cost"))
        check_whole_number(self.max_depth, "max_depth", 1, or_none=True)
        check_number(self.base_tradeoff, "base_tradeoff", 0)

    def _searcher(self, problem: Problem, judge: ForestJudge, budget: float | None, seed: int) -> TreeSearch:
        return TreeSearch(
            BaseTrees(self.n_estimators, self.limit, self.base_tradeoff),
            problem,
            judge,
            max_depth=self.max_depth,
            ratio=self.bcr,
            largest_budget=budget,
            seed=seed,
        )

    def _keep_search(self, problem: Problem, panel: Panel, tuned: Any, searcher: TreeSearch) -> None:
        super()._keep_search(problem, panel, tuned, searcher)
        self.n_candidates_ = len(searcher.candidates(self.budget))


class TreeSearch:
    """Greedy search among the trees of a base ensemble, which is grown once for each set of limits."""

    def __init__(
        self,
        base: BaseTrees,
        problem: Problem,
        judge: ForestJudge,
        *,
        max_depth: int | None,
        ratio: Ratio,
        largest_budget: float | None,
        seed: int,
    ) -> None:
        self.base = base
        self.problem = problem
        self.judge = judge
        self.max_depth = max_depth
        self.ratio = ratio
        self.largest_budget = largest_budget
        self.seed = seed
        self._grown: dict[float | None, CandidateTrees] = {}

    def candidates(self, budget: float | None) -> CandidateTrees:
        """The base ensemble for a budget. Limits of cost depend on it, the others only on the number of levels."""
        n_levels = deepest_that_fits(self.problem.costs, budget, self.max_depth)
        grown_for = budget if self.base.limit == "cost" else self.largest_budget
        if grown_for not in self._grown:
            deepest = deepest_that_fits(self.problem.costs, grown_for, self.max_depth)
            self._grown[grown_for] = self.base.grow(self.problem, self.judge, deepest, grown_for, self.seed)
        trees = self._grown[grown_for]
        return trees if trees.level.max(initial=1) <= n_levels else trees.take(trees.level <= n_levels)

    def search(self, xi: float, budget: float | None) -> Panel:
        """Add trees by change of the error per cost^xi until none fits."""
        return search_trees(
            self.candidates(budget), self.problem.rows.labels, self.problem.costs, budget, xi, ratio=self.ratio
        )


def search_trees(
    trees: CandidateTrees,
    labels: NDArray[np.int32],
    costs: FeatureCosts,
    budget: float | None,
    xi: float,
    *,
    ratio: Ratio = "signed",
) -> Panel:
    """Greedy forward selection of trees (Jagdhuber et al., section 2.1.2)."""
    basket, tally = Basket(costs, budget), Tally(labels, len(trees.voters))
    basket.add_free(tally.error)
    trees = _take_free(trees, basket, tally)
    while len(trees := _affordable(trees, basket)):
        cost = basket.bill_with(trees.features) - costs.of(basket.mask)
        change = tally.errors_with(trees) - tally.error
        values = change_per_cost(change, cost, xi, ratio)
        chosen = best_of(values, cost, xi, allowed=np.ones(len(trees), dtype=bool))
        tally.add(trees, chosen)
        basket.add(trees.features[chosen], values[chosen], tally.error)
        basket.add_free(tally.error)
    return basket.panel()


def _take_free(trees: CandidateTrees, basket: Basket, tally: Tally) -> CandidateTrees:
    """Before anything is bought, free trees vote, the most useful first, as long as they lower the error."""
    free = basket.bill_with(trees.features) == 0
    free_trees = trees.take(free & trees.features.any(axis=1))
    while len(free_trees) and (errors := tally.errors_with(free_trees)).min() < tally.error:
        tally.add(free_trees, int(np.argmin(errors)))
    return trees.take(~free)


def _affordable(trees: CandidateTrees, basket: Basket) -> CandidateTrees:
    """Candidates that cost something and fit the budget."""
    bills = basket.bill_with(trees.features)
    return trees.take((bills > basket.costs.of(basket.mask)) & (bills <= basket.limit))

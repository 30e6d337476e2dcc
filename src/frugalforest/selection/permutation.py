"""PermutationSelector: features by what a full forest loses without them (Jagdhuber et al., section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.estimators.checks import check_choice, check_whole_number, resolve_max_features
from frugalforest.estimators.problem import Problem
from frugalforest.selection.filters import Filter, FilterSelector
from frugalforest.selection.forests import GINI, ForestJudge
from frugalforest.selection.panel_selector import method_seeds

Floats = NDArray[np.float64]
Importance = Literal["tree", "forest"]


class PermutationSelector(FilterSelector):
    """Panel of the features with the best permutation importance for their price.

        J(f) = rise of the out-of-bag error when f is permuted, 0 if it falls;  chosen by J(f) / cost^xi

    The error is that of a full forest on all features. Features are taken in this order while the budget holds; those
    that do not fit are skipped. The cost is what f adds to the bill.

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
    importance : {"tree", "forest"}, default="tree"
        Whose error rises: "tree" the mean over trees of the error of each on its own out-of-bag rows (Breiman 2001, and
        what the authors' software computes), "forest" the error of the forest's out-of-bag vote, which is how their
        text puts it. The second is coarser: most features do not change any vote.
    n_estimators : int, default=1000
        Trees of the forest that importances are measured on.
    path_errors : bool, default=True
        Also measure the full forest's out-of-bag error after every step of `path_`, one forest for each.
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
    benefits_ : ndarray of shape (n_features,)
        J of each feature.
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
    >>> selector = PermutationSelector(budget=2, xi=0, n_estimators=100, n_forest_trees=50, random_state=0).fit(X, y)
    >>> selector.selected_
    ['petal length (cm)', 'petal width (cm)']
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
        importance: Importance = "tree",
        n_estimators: int = 1000,
        path_errors: bool = True,
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
        self.importance = importance
        self.n_estimators = n_estimators
        self.path_errors = path_errors
        self.n_forest_trees = n_forest_trees
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.importance, "importance", ("tree", "forest"))
        check_whole_number(self.n_estimators, "n_estimators", 1)

    def _searcher(self, problem: Problem, judge: ForestJudge, budget: float | None, seed: int) -> Filter:
        rise = permutation_importance(judge, method_seeds(seed, self.n_estimators), self.importance)
        return Filter(np.maximum(rise, 0), problem.costs)


def permutation_importance(judge: ForestJudge, seeds: Any, importance: Importance = "tree") -> Floats:
    """Rise of the out-of-bag error when a feature is permuted among the out-of-bag rows of each tree, (n_features,)."""
    params = GINI.for_core()
    n_features = len(judge.training_set.binned.bins.n_bins)
    params.max_features = resolve_max_features(judge.max_features, n_features) or n_features
    of_forest = importance == "forest"
    rise, votes, moved = _core.permutation_votes(judge.training_set.core, params, seeds, of_forest, judge.n_threads)
    if not of_forest:
        return rise.sum(axis=0) / len(seeds)
    return np.subtract(judge.error_of_votes(votes + moved), judge.error_of_votes(votes))

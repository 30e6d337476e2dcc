"""AUCSelector: features by how well each one alone separates the classes (Jagdhuber et al., section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from frugalforest.estimators.problem import Problem
from frugalforest.selection.filters import Filter, FilterSelector
from frugalforest.selection.forests import ForestJudge

Floats = NDArray[np.float64]


class AUCSelector(FilterSelector):
    """Panel of the features with the best area under the ROC curve for their price.

        J(f) = 2 |AUC(f) - 0.5|,   chosen by J(f) / cost^xi, the cost being what f adds to the bill

    Features are taken in this order while the budget holds; those that do not fit are skipped. For k classes J is the
    mean over classes of one against the rest, weighted by the size of the class. Rows in which a feature is missing are
    left out of its AUC. A categorical feature is judged by the class shares of its categories.

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
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AUCSelector(budget=3, xi=0, n_forest_trees=50, random_state=0).fit(X, y)
    >>> selector.selected_
    ['worst radius', 'worst perimeter', 'worst area']
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
        self.path_errors = path_errors
        self.n_forest_trees = n_forest_trees
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _searcher(self, problem: Problem, judge: ForestJudge, budget: float | None, seed: int) -> Filter:
        rows, is_categorical = problem.rows, problem.encoder.is_categorical
        benefits = separation(rows.matrix, rows.labels, problem.n_classes, is_categorical)
        return Filter(benefits, problem.costs)


def separation(
    matrix: NDArray[Any], labels: NDArray[np.int32], n_classes: int, is_categorical: NDArray[np.bool_]
) -> Floats:
    """2 |AUC - 0.5| of each column, one class against the rest, averaged by class size; (n_features,).

    matrix: (n_rows, n_features), NaN where missing; a column without two classes among its values gets 0.
    """
    result = np.zeros(matrix.shape[1])
    for f in range(matrix.shape[1]):
        column = np.asarray(matrix[:, f], dtype=np.float64)
        known = ~np.isnan(column)
        counts = np.bincount(labels[known], minlength=n_classes)
        present = np.flatnonzero(counts) if n_classes > 2 else np.flatnonzero(counts)[:1]
        if np.count_nonzero(counts) < 2:
            continue
        one_class = [_separation_of(column[known], labels[known] == c, bool(is_categorical[f])) for c in present]
        result[f] = np.average(one_class, weights=counts[present])
    return result


def _separation_of(values: Floats, is_class: NDArray[np.bool_], is_categorical: bool) -> float:
    """AUC through the sum of ranks: (R - n(n + 1) / 2) / (n (N - n)) for a class of n among N rows."""
    if is_categorical:
        category = values.astype(np.intp)
        size = np.bincount(category)
        values = (np.bincount(category, is_class) / np.maximum(size, 1))[category]
    n, n_rest = is_class.sum(), (~is_class).sum()
    rank_sum = rankdata(values)[is_class].sum()
    return float(2 * abs((rank_sum - n * (n + 1) / 2) / (n * n_rest) - 0.5))

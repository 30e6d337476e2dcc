"""CostLassoClassifier: one linear classifier with a price on every coefficient."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from frugalforest.estimators.base import Floats
from frugalforest.estimators.checks import check_number, check_seed, check_validation_fraction
from frugalforest.estimators.linear_base import (
    LinearClassifierMixin,
    LinearVariant,
    as_settings,
    check_settings,
    is_auto,
)
from frugalforest.estimators.linear_problem import LinearProblem, LinearRows
from frugalforest.growing.seeds import root_seed
from frugalforest.linear_trees import LinearTree, Node, NodeLink, Standard
from frugalforest.linear_trees.lasso import Coefficients, LogisticData, largest_tradeoff, solve_path
from frugalforest.linear_trees.penalty import CostPenalty

N_AUTO = 20  # trade-offs that "auto" tries,
AUTO_RANGE = 300  # from the largest that uses anything, down to this part of it


class CostLassoClassifier(LinearClassifierMixin, BaseEstimator):
    """One linear classifier with a cost-weighted l1 penalty (the baseline of Kusner et al. 2014).

        mean log-loss + ridge / 2 |B|^2 + tradeoff * (sum of own_a |B_a| + sum of shared_g |B_g|)

    Every row pays for the features that have a coefficient, all of them. Two classes have one coefficient per feature;
    more have one for each class, and |B_a| is the length of that row, so that a feature is in for all classes or for
    none. |B_g| is the length of all coefficients of a group: whoever opens it pays the step, the others ride along.
    Columns are centred and of unit variance. Solved by an own method, see `frugalforest.linear_trees.lasso`: features
    may be free, groups may overlap, and a whole path over trade-offs takes seconds.

    A missing value, and a refused one, is read as the mean of its column in the training rows. Text is refused.

    Parameters
    ----------
    tradeoff : float, list of float or "auto", default="auto"
        Log-loss per unit of money. With several, all are fitted along one path and validation chooses. "auto": 20,
        from the largest that uses any feature with a price down to a 300th of it.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    ridge : float, default=1e-4
        A little l2 penalty, so that free features have finite coefficients where they separate the classes.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the weight of the rows of a class; 0 leaves them out.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside to choose among several trade-offs; a single one is
        fitted to all rows.
    random_state : int, RandomState or None, default=None
        Which rows are set aside; nothing else is random.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the columns as they are.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    tree_ : LinearTree
        The classifier, as a tree of a single node.
    variants_ : tuple of LinearVariant
        The classifier of each trade-off, rising.
    variant_ : LinearVariant
        The chosen one; `variant_.setting` is its trade-off.
    curve_ : CostCurve
        Error and bill of each trade-off on the validation rows, where there are such.
    prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows: what is said before anything is bought.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
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
    >>> model = CostLassoClassifier(tradeoff=0.1, feature_costs=[1, 1, 2, 2]).fit(X, y)
    >>> model.predict_with_cost(X[:1])[1].item()
    4.0
    """

    def __init__(
        self,
        tradeoff: Any = "auto",
        *,
        feature_costs: Any = None,
        ridge: float = 1e-4,
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.tradeoff = tradeoff
        self.feature_costs = feature_costs
        self.ridge = ridge
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Fit a classifier for each trade-off, and choose one.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows, one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to choose the trade-off with; replaces the internal split.

        Returns
        -------
        self
        """
        self._check_parameters()
        problem = LinearProblem.of_classes(
            X,
            y,
            sample_weight,
            feature_costs=self.feature_costs,
            class_weight=self.class_weight,
            name=type(self).__name__,
        )
        several = is_auto(self.tradeoff) or len(as_settings(self.tradeoff)) > 1
        train, validation = self._split(problem, eval_set, root_seed(self.random_state), several=several)
        variants = self._solve(problem, train)
        self._keep(problem, variants, validation)
        return self

    def _check_parameters(self) -> None:
        check_settings(self.tradeoff, "tradeoff")
        check_number(self.ridge, "ridge", 0)
        check_seed(self.random_state)
        check_validation_fraction(self.validation_fraction)

    def _solve(self, problem: LinearProblem, rows: LinearRows) -> list[LinearVariant]:
        n_classes = len(problem.prior)
        weights = problem.fitting_weights(rows)
        targets = (rows.targets[:, None] == np.arange(n_classes)).astype(np.float64)
        targets = targets[:, 1:] if n_classes == 2 else targets
        standard = problem.standard(rows)
        data = LogisticData(rows.matrix, standard, targets, weights / weights.sum())
        penalty = CostPenalty.of(problem.costs)
        tradeoffs = self._tradeoffs(data, penalty)
        found = solve_path(data, penalty, tradeoffs, self.ridge)
        link = NodeLink(np.ones(1), np.zeros((1, n_classes)))
        return [
            LinearVariant(tradeoff, _single_node(one, standard), link)
            for tradeoff, one in zip(tradeoffs, found, strict=True)
        ]

    def _tradeoffs(self, data: LogisticData, penalty: CostPenalty) -> list[float]:
        if not is_auto(self.tradeoff):
            return as_settings(self.tradeoff)
        largest = largest_tradeoff(data, penalty)
        return as_settings(np.geomspace(largest / AUTO_RANGE, largest, N_AUTO))

    @property
    def coef_(self) -> Floats:
        """Coefficients of the columns as they are, (1, n_features) or (n_classes, n_features)."""
        tree = self.tree_
        coefficients = np.zeros((self.n_features_in_, tree.n_outputs))
        coefficients[tree.feature] = tree.coefficient
        return (coefficients / tree.spread[:, None]).T

    @property
    def intercept_(self) -> Floats:
        """Intercept, (1,) or (n_classes,)."""
        return self.tree_.intercept[0] - self.coef_ @ self.tree_.centre


def _single_node(found: Coefficients, standard: Standard) -> LinearTree:
    features = np.flatnonzero(found.used_mask)
    k = len(found.intercept)
    node = Node(features, found.slopes[features], found.intercept, np.eye(k)[0], 1.0, np.nan, np.nan)
    return LinearTree.from_nodes(node, standard)

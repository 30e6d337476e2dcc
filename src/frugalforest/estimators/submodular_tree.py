"""SubmodularTreeClassifier and SubmodularTreeRegressor: ASTC, trees of linear classifiers chosen greedily."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from frugalforest.costs import FeatureCosts
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.checks import (
    check_flag,
    check_number,
    check_seed,
    check_validation_fraction,
    check_whole_number,
)
from frugalforest.estimators.linear_base import (
    LinearClassifierMixin,
    LinearModelMixin,
    LinearVariant,
    as_settings,
    check_settings,
    is_auto,
)
from frugalforest.estimators.linear_problem import LinearProblem, LinearRows, mean_of
from frugalforest.growing.seeds import root_seed
from frugalforest.linear_trees import Growth, LinearTree, NodeLink, grow_trees

N_AUTO = 12  # node budgets that "auto" tries
MOST_LEVELS = 20


class _SubmodularTree(LinearModelMixin):
    """Asks for two methods, `_learn` and `_grow`, and gives what the classifier and the regressor share."""

    node_budget: Any
    depth: int
    soft: bool
    ridge: float
    min_samples_leaf: int
    feature_costs: Any
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Grow a tree for each node budget, and choose one.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels for the classifier, numbers for the regressor.
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows, one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to choose the node budget with; replaces the internal split.

        Returns
        -------
        self
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        budgets = self._node_budgets(problem.costs)
        train, validation = self._split(problem, eval_set, root_seed(self.random_state), several=len(budgets) > 1)
        variants = self._grow(problem, train, budgets)
        self._keep(problem, variants, validation)
        self._warn_if_nothing_is_bought()
        return self

    @abstractmethod
    def _learn(self, X: Any, y: Any, sample_weight: Any) -> LinearProblem:
        """What is known before any tree is grown."""

    @abstractmethod
    def _grow(self, problem: LinearProblem, rows: LinearRows, budgets: list[float]) -> list[LinearVariant]:
        """A tree for each node budget."""

    def _check_parameters(self) -> None:
        check_settings(self.node_budget, "node_budget")
        check_whole_number(self.depth, "depth", 1, at_most=MOST_LEVELS)
        check_flag(self.soft, "soft")
        check_number(self.ridge, "ridge", 0)
        check_whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        check_seed(self.random_state)
        check_validation_fraction(self.validation_fraction)

    def _node_budgets(self, costs: FeatureCosts) -> list[float]:
        if not is_auto(self.node_budget):
            return as_settings(self.node_budget)
        prices = costs.alone[costs.alone > 0]
        if len(prices) == 0:
            return [0.0]
        least = float(prices.min())
        return as_settings(np.append(np.geomspace(least, costs.total, N_AUTO)[:-1], costs.total))

    def _growth(self) -> Growth:
        return Growth(self.depth, self.soft, self.ridge, self.min_samples_leaf)

    def _warn_if_nothing_is_bought(self) -> None:
        largest = self.variants_[-1]
        cheapest = float(self.feature_costs_.alone.min())
        if largest.setting < cheapest:
            warnings.warn(
                f"node_budget={largest.setting:g} buys nothing: the cheapest feature costs {cheapest:g}. The model "
                "answers without any feature, for nothing; give at least that much.",
                UserWarning,
                stacklevel=3,
            )

    @property
    def approximation_guarantee_(self) -> Floats:
        """(n_nodes,): 1 - exp(-gamma) of each node, gamma the smallest eigenvalue of the correlations it has chosen.

        Theorem 2.2 of Kusner et al. 2014: greedy R^2 is at least this share of the best there is at the same cost, if
        gamma bounds the submodularity ratio of all sets of candidates. The chosen set stands for them here: a
        diagnostic, near 0.63 where features are unrelated and near 0 where some are almost dependent, and no proof.
        """
        return 1 - np.exp(-np.clip(self.tree_.smallest_eigenvalue, 0.0, 1.0))


class SubmodularTreeClassifier(_SubmodularTree, LinearClassifierMixin, BaseEstimator):
    """Approximately submodular tree of classifiers (Kusner et al. 2014: ASTC).

    A binary tree whose nodes are linear classifiers. From the root down, each node chooses features greedily by what
    they add to R^2 per price, up to `node_budget` of new money, and is fitted by least squares to the rows that come to
    it; what the nodes above have bought is free. Half of the rows go each way. A row pays for the features of the nodes
    on its way, each once, and is labelled by the last one.

    Two classes are coded -1 and 1. More have one target each, share the chosen features, and are sent along the first
    principal direction of the node's scores. Probabilities come from a logistic curve through the scores of a node,
    fitted to the training rows that come to it (Platt), and the label is the most probable class.

    The scale of a column does not matter. A missing value, and a refused one, is read as the mean of its column in the
    training rows. Text is refused.

    Parameters
    ----------
    node_budget : float, list of float or "auto", default="auto"
        What the new features of a node may cost together. With several, one tree each is grown (what is the same is
        grown once), and validation chooses. "auto": 12 from the cheapest feature to the price of everything.
    depth : int, default=5
        Levels of nodes; 1 is a single linear classifier.
    soft : bool, default=False
        Fit each node to all rows, weighted by sigmoids of the scores along the path, as CSTC does. Rows to be predicted
        still go one way.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X. Once a member of a
        group is bought, the others cost their own price only.
    ridge : float, default=1e-4
        Added to the diagonal of the correlations in every fit; 0 is the paper's least squares. The little that is the
        default matters only where features are nearly dependent, or almost as many as rows.
    min_samples_leaf : int, default=20
        Rows that each side of a threshold needs; a node that cannot be cut is a leaf.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the weight of the rows of a class; 0 leaves them out.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside to choose among several node budgets; a single one is
        fitted to all rows.
    random_state : int, RandomState or None, default=None
        Which rows are set aside; nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The tree that predicts.
    variants_ : tuple of LinearVariant
        The tree of each node budget, rising, with its probabilities.
    variant_ : LinearVariant
        The chosen one; `variant_.setting` is its node budget.
    curve_ : CostCurve
        Error and average bill of each node budget on the validation rows, where there are such.
    approximation_guarantee_ : ndarray of shape (n_nodes,)
        1 - exp(-gamma), gamma the smallest eigenvalue of the correlations of the features of each node.
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
    >>> model = SubmodularTreeClassifier(node_budget=2, depth=2, feature_costs=[1, 1, 2, 2]).fit(X, y)
    >>> label, bill = model.predict_with_cost(X[:1])
    >>> label.item(), bill.item()
    (0, 4.0)
    """

    def __init__(
        self,
        node_budget: Any = "auto",
        *,
        depth: int = 5,
        soft: bool = False,
        feature_costs: Any = None,
        ridge: float = 1e-4,
        min_samples_leaf: int = 20,
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.node_budget = node_budget
        self.depth = depth
        self.soft = soft
        self.feature_costs = feature_costs
        self.ridge = ridge
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> LinearProblem:
        return LinearProblem.of_classes(
            X,
            y,
            sample_weight,
            feature_costs=self.feature_costs,
            class_weight=self.class_weight,
            name=type(self).__name__,
        )

    def _grow(self, problem: LinearProblem, rows: LinearRows, budgets: list[float]) -> list[LinearVariant]:
        n_classes = len(problem.prior)
        data = problem.training_set(rows, coded_labels(rows.targets, n_classes))
        trees = grow_trees(data, budgets, self._growth())
        links = [NodeLink.learn(tree, rows.matrix, rows.targets, data.weights, n_classes) for tree in trees]
        return [LinearVariant(*parts) for parts in zip(budgets, trees, links, strict=True)]


class SubmodularTreeRegressor(RegressorMixin, _SubmodularTree, BaseEstimator):
    """Approximately submodular tree of linear regressions (Kusner et al. 2014: ASTC), for numbers and for ranking.

    The tree of `SubmodularTreeClassifier` for one target: each node is a least squares fit on the features that add
    most to R^2 per price, half of the rows go each way, and the last node on the way of a row predicts its number.

    Parameters
    ----------
    node_budget : float, list of float or "auto", default="auto"
        What the new features of a node may cost together. With several, one tree each is grown (what is the same is
        grown once), and validation chooses. "auto": 12 from the cheapest feature to the price of everything.
    depth : int, default=5
        Levels of nodes; 1 is a single linear regression.
    soft : bool, default=False
        Fit each node to all rows, weighted by sigmoids of the predictions along the path, in units of the standard
        deviation of y. Rows to be predicted still go one way.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    ridge : float, default=1e-4
        Added to the diagonal of the correlations in every fit; 0 is the paper's least squares.
    min_samples_leaf : int, default=20
        Rows that each side of a threshold needs; a node that cannot be cut is a leaf.
    validation_fraction : float, default=0.25
        Share of the rows set aside to choose among several node budgets; a single one is fitted to all rows.
    random_state : int, RandomState or None, default=None
        Which rows are set aside; nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The tree that predicts.
    variants_ : tuple of LinearVariant
        The tree of each node budget, rising.
    variant_ : LinearVariant
        The chosen one; `variant_.setting` is its node budget.
    curve_ : CostCurve
        Mean squared error and average bill of each node budget on the validation rows, where there are such.
    approximation_guarantee_ : ndarray of shape (n_nodes,)
        1 - exp(-gamma), gamma the smallest eigenvalue of the correlations of the features of each node.
    prior_ : ndarray of shape (1,)
        The mean of y: what is said before anything is bought.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names.
    encoder_ : FeatureEncoder
        How columns become numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SubmodularTreeRegressor(node_budget=2, depth=2).fit(X, y)
    >>> model.acquisition_cost(X).max() <= 4
    np.True_
    """

    def __init__(
        self,
        node_budget: Any = "auto",
        *,
        depth: int = 5,
        soft: bool = False,
        feature_costs: Any = None,
        ridge: float = 1e-4,
        min_samples_leaf: int = 20,
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.node_budget = node_budget
        self.depth = depth
        self.soft = soft
        self.feature_costs = feature_costs
        self.ridge = ridge
        self.min_samples_leaf = min_samples_leaf
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> LinearProblem:
        return LinearProblem.of_numbers(X, y, sample_weight, feature_costs=self.feature_costs, name=type(self).__name__)

    def _grow(self, problem: LinearProblem, rows: LinearRows, budgets: list[float]) -> list[LinearVariant]:
        centre = mean_of(rows.targets, rows.weights)
        largest = float(np.abs(rows.targets - centre).max()) or 1.0
        deviation = (rows.targets - centre) / largest
        spread = float(np.sqrt(np.average(deviation**2, weights=rows.weights))) or 1.0
        data = problem.training_set(rows, (deviation / spread)[:, None])
        trees = grow_trees(data, budgets, self._growth())
        return [
            LinearVariant(budget, tree.rescaled(spread * largest, centre), None)
            for budget, tree in zip(budgets, trees, strict=True)
        ]

    # ---- the contract

    def predict(self, X: Any) -> Floats:
        """The number predicted for each row, (n_rows,)."""
        return self._read(self._rows(X))[0]

    def acquisition_mask(self, X: Any) -> Mask:
        """Which features each row needs for its prediction, (n_rows, n_features)."""
        return self._read(self._rows(X))[1]

    def acquisition_cost(self, X: Any) -> Floats:
        """The bill of each row: what the features of its mask cost together, (n_rows,)."""
        mask = self._read(self._rows(X))[1]
        return self.feature_costs_.of_rows(mask)

    def predict_with_cost(self, X: Any) -> tuple[Floats, Floats]:
        """Prediction and bill of each row in one pass: `predict(X), acquisition_cost(X)`."""
        numbers, mask = self._read(self._rows(X))
        return numbers, self.feature_costs_.of_rows(mask)

    def _read(self, rows: NDArray[Any]) -> tuple[Floats, Mask]:
        numbers, mask = self.variant_.read(rows)
        return numbers[:, 0], mask

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that `frugalforest.load` reads: no code in it, and checked when read."""
        FrugalClassifierMixin.save(self, path)

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        return FrugalClassifierMixin._rows(self, X, stacklevel + 1)

    def _error(self, variant: LinearVariant, rows: LinearRows) -> float:
        """Mean squared error."""
        return float(np.average((variant.read(rows.matrix)[0][:, 0] - rows.targets) ** 2, weights=rows.weights))

    def _free_variant(self) -> LinearVariant:
        some = self.variants_[0].tree
        return LinearVariant(0.0, LinearTree.without_features(some.centre, some.spread, self.prior_), None)

    def _later_rows(self, X: Any, y: Any) -> LinearRows:
        matrix = self._rows(X)
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape != (len(matrix),):
            raise ValueError(f"X has {len(matrix)} rows but y has shape {targets.shape}; give one number per row.")
        return LinearRows(matrix, targets, np.ones(len(matrix)))


def coded_labels(labels: NDArray[Any], n_classes: int) -> Floats:
    """Class numbers (n,) as targets: -1 and 1 in one column for two classes, in one column each for more."""
    if n_classes == 2:
        return np.where(labels == 1, 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)

"""MixedNormTreeClassifier: CSTC, a tree of linear classifiers whose nodes are optimised together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from frugalforest.estimators.base import Floats
from frugalforest.estimators.checks import (
    check_flag,
    check_number,
    check_seed,
    check_validation_fraction,
    check_whole_number,
)
from frugalforest.estimators.linear_base import (
    LinearClassifierMixin,
    LinearVariant,
    as_settings,
    check_settings,
    is_auto,
)
from frugalforest.estimators.linear_problem import LinearProblem, LinearRows
from frugalforest.estimators.submodular_tree import coded_labels
from frugalforest.growing.seeds import root_seed
from frugalforest.linear_trees import NodeLink
from frugalforest.linear_trees.mixed_norm_finish import Finish, finished
from frugalforest.linear_trees.mixed_norm_solve import Descent, Fitted, MixedNormData, largest_tradeoff, solve_path
from frugalforest.linear_trees.penalty import CostPenalty

N_AUTO = 18  # trade-offs that "auto" tries,
AUTO_RANGE = (0.001, 5.0)  # times the one at which a tree of equal nodes uses nothing: unequal nodes hold on for longer
MOST_LEVELS = 10


class MixedNormTreeClassifier(LinearClassifierMixin, BaseEstimator):
    """Cost-sensitive tree of classifiers (Xu et al. 2013, 2014: CSTC).

    A binary tree whose nodes are linear classifiers, optimised together: while it is fitted, every row comes to every
    node with a chance p, a product of sigmoids along the path, and

        sum over nodes of (mean of p (y - f)^2 + rho |B|_1)
            + tradeoff * sum over leaves of p (sum over features of price * |coefficients along the path|)

    is brought down node by node. Which features a path uses, and where rows go, thus depend on each other, on all
    levels. Rows to be predicted go one way, pay for the features of the nodes on their way, each once, and are labelled
    by the last one. See docs/linear_trees.md for what follows the papers and what does not.

    Two classes are coded -1 and 1. More have one target each, share the norm of a feature, and are sent along the first
    principal direction of the node's scores. Probabilities come from a logistic curve through the scores of a node,
    fitted to the training rows that come to it (Platt), and the label is the most probable class.

    The scale of a column does not matter. A missing value, and a refused one, is read as the mean of its column in the
    training rows. Text is refused.

    Parameters
    ----------
    tradeoff : float, list of float or "auto", default="auto"
        Squared error per unit of money and coefficient. With several, all are fitted along one path, from the smallest
        up, each from the one before, and validation chooses. "auto": 18, from a 1000th of the one at which a tree of
        equal nodes uses nothing, up to five times that.
    rho : float, default=1e-4
        Weight of the plain l1 penalty on all coefficients of all nodes.
    depth : int, default=5
        Levels of nodes; 1 is a single linear classifier.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X. The step of a group
        is one more norm, over all coefficients of its members along a path.
    steepness : float, default=8.0
        Of the sigmoids; scores are about -1 to 1. With the papers' 1 all rows come to all nodes with about the same
        chance, and the nodes of a tree hardly differ.
    refit : bool, default=True
        Fit the leaves by least squares to the rows that come there, on all that is paid on the way; otherwise they keep
        the coefficients of the descent, which the norms have shortened.
    prune : bool, default=True
        Take splits back that do not pay.
    ridge : float, default=1e-4
        Of that least squares, in units of the variance of a column.
    min_samples_leaf : int, default=20
        Rows that each side of a threshold needs; a node that cannot be cut is a leaf.
    tol : float, default=1e-3
        The descent ends when a sweep over all nodes lowers the objective by less than this share of it.
    max_sweeps : int, default=100
        Sweeps per trade-off, at most; a ConvergenceWarning says if that was not enough.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the weight of the rows of a class; 0 leaves them out.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside to choose among several trade-offs; a single one is
        fitted to all rows.
    random_state : int, RandomState or None, default=None
        Which rows are set aside; nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The tree that predicts.
    variants_ : tuple of LinearVariant
        The tree of each trade-off, rising, with its probabilities.
    variant_ : LinearVariant
        The chosen one; `variant_.setting` is its trade-off.
    objectives_ : tuple of ndarray
        For each trade-off the objective after each sweep.
    converged_ : ndarray of bool of shape (n_tradeoffs,)
        Whether the descent ended by `tol`.
    curve_ : CostCurve
        Error and average bill of each trade-off on the validation rows, where there are such.
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
    >>> model = MixedNormTreeClassifier(tradeoff=0.3, depth=2, feature_costs=[1, 1, 2, 2]).fit(X, y)
    >>> model.score(X, y) > 0.9, model.converged_.all().item()
    (True, True)
    """

    objectives_: tuple[Floats, ...]
    converged_: NDArray[np.bool_]

    def __init__(
        self,
        tradeoff: Any = "auto",
        *,
        rho: float = 1e-4,
        depth: int = 5,
        feature_costs: Any = None,
        steepness: float = 8.0,
        refit: bool = True,
        prune: bool = True,
        ridge: float = 1e-4,
        min_samples_leaf: int = 20,
        tol: float = 1e-3,
        max_sweeps: int = 100,
        class_weight: Any = None,
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.tradeoff = tradeoff
        self.rho = rho
        self.depth = depth
        self.feature_costs = feature_costs
        self.steepness = steepness
        self.refit = refit
        self.prune = prune
        self.ridge = ridge
        self.min_samples_leaf = min_samples_leaf
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Fit a tree for each trade-off, and choose one.

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
        check_whole_number(self.depth, "depth", 1, at_most=MOST_LEVELS)
        for name in ("rho", "ridge", "tol"):
            check_number(getattr(self, name), name, 0)
        check_number(self.steepness, "steepness", 0)
        for name in ("refit", "prune"):
            check_flag(getattr(self, name), name)
        for name in ("min_samples_leaf", "max_sweeps"):
            check_whole_number(getattr(self, name), name, 1)
        check_seed(self.random_state)
        check_validation_fraction(self.validation_fraction)

    def _solve(self, problem: LinearProblem, rows: LinearRows) -> list[LinearVariant]:
        n_classes = len(problem.prior)
        weights = problem.fitting_weights(rows)
        targets = coded_labels(rows.targets, n_classes)
        prices = CostPenalty.of(problem.costs)
        data = MixedNormData(rows.matrix, problem.standard(rows), targets, weights / weights.sum(), prices)
        tradeoffs = self._tradeoffs(data)
        descent = Descent(self.depth, self.rho, self.steepness, self.tol, self.max_sweeps)
        found = solve_path(data, tradeoffs, descent)
        self._report(found, tradeoffs)
        finish = Finish(self.min_samples_leaf, self.refit, self.prune, self.ridge)
        trees = [finished(data, one, finish) for one in found]
        links = [NodeLink.learn(tree, rows.matrix, rows.targets, weights, n_classes) for tree in trees]
        return [LinearVariant(*parts) for parts in zip(tradeoffs, trees, links, strict=True)]

    def _tradeoffs(self, data: MixedNormData) -> list[float]:
        if not is_auto(self.tradeoff):
            return as_settings(self.tradeoff)
        low, high = (share * largest_tradeoff(data, self.depth) for share in AUTO_RANGE)
        return as_settings(np.geomspace(low, high, N_AUTO))

    def _report(self, found: Sequence[Fitted], tradeoffs: Sequence[float]) -> None:
        self.objectives_ = tuple(one.objectives for one in found)
        self.converged_ = np.array([one.converged for one in found])
        if not self.converged_.all():
            unfinished = ", ".join(f"{tradeoffs[i]:.3g}" for i in np.flatnonzero(~self.converged_).tolist())
            warnings.warn(
                f"the objective still falls after {self.max_sweeps} sweeps for tradeoff {unfinished}; give a larger "
                "max_sweeps or tol. objectives_ has its course.",
                ConvergenceWarning,
                stacklevel=4,
            )

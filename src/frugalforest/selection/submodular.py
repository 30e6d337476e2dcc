"""SubmodularSelector: the set of features that is worth its price, groups and all, for one trade-off or for all."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from frugalforest.estimators.checks import check_choice, check_n_jobs, check_number, check_seed, check_whole_number
from frugalforest.estimators.problem import Problem
from frugalforest.growing.seeds import root_seed
from frugalforest.selection.base import FeatureSelector
from frugalforest.selection.information import histogram_information, nearest_neighbour_information, overlap_shares
from frugalforest.selection.redundancy import JointInformation, OverlapDescent
from frugalforest.selection.selection_path import SelectionPath
from frugalforest.selection.set_function import CallableCost, GroupCost, warn_if_not_submodular
from frugalforest.selection.solvers import CutSolver, PointSolver, Solver

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_MAX_COMPARED = 3000  # features whose pairs are compared: the tables of pairs take half a gigabyte then


@dataclass(frozen=True, eq=False)
class _Choice:
    """A set, the trade-off it is chosen for, and how the objective fell on the way to it."""

    support_mask: Mask
    tradeoff: float
    trace: list[float] | None = None


class SubmodularSelector(FeatureSelector):
    """Chooses the features whose information about the class is worth what they cost together.

        S* = argmin over S of cost(S) - tradeoff * sum of information_f over f in S, the smallest of equals

    With a price list, groups included, this is solved exactly by a minimum cut, and for all trade-offs at once (`path`)
    by nested ones. Any other submodular cost function is minimised by its minimum-norm point. After Thomas, "Feature
    Cost Sensitive Random Forest", section 4, which takes features one by one; `redundancy` also looks at pairs.

    Parameters
    ----------
    tradeoff : float, default=None
        Money that one nat of information is worth. None: any price is paid, so that every feature that tells anything
        is in, unless `budget` is given.
    budget : float, default=None
        What the set may cost, at most. The largest set of the path, up to `tradeoff`, that costs no more is chosen.
    feature_costs : FeatureCosts, array, dict, Series or callable, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X. A callable takes a
        boolean mask of shape (n_features,) and returns the cost of that set: 0 for the empty one, and submodular, that
        is, no feature adds more to a larger set. This is tried on small sets or samples, and a counterexample is shown
        in a `NotSubmodularWarning`.
    solver : {"min-cut", "min-norm-point"}, default="min-cut"
        "min-cut" is exact, fast, and needs a price list; "min-norm-point" takes callables too.
    information : {"histogram", "knn"}, default="histogram"
        How mutual information with the class is estimated: from bins, with missing values in a bin of their own, or by
        scikit-learn's `mutual_info_classif` from nearest neighbours, which takes no missing values.
    n_bins : int, default=50
        Bins per numeric feature, 2 to 255, of about equally many rows.
    redundancy : float, default=0.0
        Share of what two features both tell that is taken off the information of a set, once for each pair; 0: features
        are taken one by one. About 0.3 did well on data. The objective is then no longer submodular: a procedure that
        starts from the best set without redundancy lowers it step by step.
    max_vertices : int, default=None
        Vertices that "min-norm-point" looks at, at most; None: 1000 and 20 for each feature.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    n_jobs : int, default=None
        Number of threads that sort values into bins; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        For the noise that "knn" adds, and for the sets that a callable is tried on.

    Attributes
    ----------
    information_ : ndarray of shape (n_features,)
        Mutual information of each feature and the class in nats, rounded to 12 digits.
    support_ : ndarray of shape (n_features,)
        Which features are chosen.
    cost_ : float
        What they cost together.
    tradeoff_ : float
        The trade-off that the set is chosen for: the one given, or the largest one that fits the budget.
    objective_trace_ : ndarray of shape (n_steps + 1,)
        With redundancy: the objective of the best set without it, and after each step; falling.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns; not there if `feature_costs` is a callable.
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
    >>> selector = SubmodularSelector(tradeoff=2.0, feature_costs=[1, 1, 1.5, 1.5]).fit(X, y)
    >>> selector.selected_, selector.cost_
    (['petal length (cm)', 'petal width (cm)'], 3.0)
    """

    information_: Floats
    tradeoff_: float
    objective_trace_: Floats

    def __init__(
        self,
        tradeoff: float | None = None,
        *,
        budget: float | None = None,
        feature_costs: Any = None,
        solver: Literal["min-cut", "min-norm-point"] = "min-cut",
        information: Literal["histogram", "knn"] = "histogram",
        n_bins: int = 50,
        redundancy: float = 0.0,
        max_vertices: int | None = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.tradeoff = tradeoff
        self.budget = budget
        self.feature_costs = feature_costs
        self.solver = solver
        self.information = information
        self.n_bins = n_bins
        self.redundancy = redundancy
        self.max_vertices = max_vertices
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)

        Returns
        -------
        self
        """
        self._check_parameters()
        problem = self._learn(X, y)
        solver = self._make_solver(problem)
        information = self._estimate(problem)
        choice = self._choose(problem, solver, information)
        self._warn_if_empty(choice, information)
        self._keep(problem, choice, solver, information)
        return self

    def path(self, X: Any, y: Any) -> SelectionPath:
        """The best sets for all trade-offs: nested, from nothing to everything that tells something.

        `tradeoff`, `budget` and `redundancy` are not used: with redundancy, sets are not nested.
        """
        self._check_parameters()
        problem = self._learn(X, y)
        solver = self._make_solver(problem)
        return solver.path(self._estimate(problem))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.information != "knn"
        return tags

    # ---- steps of fit

    def _check_parameters(self) -> None:
        check_number(self.tradeoff, "tradeoff", 0, or_none=True)
        check_number(self.budget, "budget", 0, or_none=True)
        check_choice(self.solver, "solver", ("min-cut", "min-norm-point"))
        check_choice(self.information, "information", ("histogram", "knn"))
        check_whole_number(self.n_bins, "n_bins", 2, at_most=255)
        check_number(self.redundancy, "redundancy", 0)
        check_whole_number(self.max_vertices, "max_vertices", 1, or_none=True)
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        if callable(self.feature_costs) and self.solver == "min-cut":
            raise ValueError(
                "feature_costs is a callable, and solver='min-cut' needs a price list; give FeatureCosts with groups, "
                "or use solver='min-norm-point'."
            )

    def _learn(self, X: Any, y: Any) -> Problem:
        if not callable(self.feature_costs):
            return super()._learn(X, y)
        return Problem.learn(
            X,
            y,
            None,
            feature_costs=None,
            class_weight=None,
            categorical_features=self.categorical_features,
            estimator_name=type(self).__name__,
        )

    def _make_solver(self, problem: Problem) -> Solver:
        if self.solver == "min-cut":
            return CutSolver(problem.costs)
        if not callable(self.feature_costs):
            return PointSolver(GroupCost(problem.costs), self.max_vertices)
        cost = CallableCost(self.feature_costs, problem.n_features)
        warn_if_not_submodular(cost, root_seed(self.random_state), stacklevel=3)
        return PointSolver(cost, self.max_vertices)

    def _estimate(self, problem: Problem) -> Floats:
        if self.information == "knn":
            return nearest_neighbour_information(problem, root_seed(self.random_state))
        return histogram_information(problem, self.n_bins, int(effective_n_jobs(self.n_jobs)))

    def _choose(self, problem: Problem, solver: Solver, information: Floats) -> _Choice:
        limit = math.inf if self.tradeoff is None else float(self.tradeoff)
        if self.budget is None:
            choice = _Choice(solver.best_set(information, limit), limit)
        else:
            path = solver.path(information)
            number = min(path.within(self.budget), int(np.searchsorted(path.tradeoffs, limit)))
            choice = _Choice(path.mask(number), min(limit, float(path.tradeoffs[number])))
        if self.redundancy == 0 or not choice.support_mask.any():
            return choice
        return self._without_overlaps(problem, solver, information, choice, limit)

    def _without_overlaps(
        self, problem: Problem, solver: Solver, information: Floats, start: _Choice, limit: float
    ) -> _Choice:
        prices = solver.prices()
        joint = self._joint_information(problem, information, prices, limit)
        descent = OverlapDescent(information, joint, solver, prices)
        if self.budget is None:
            mask, trace = descent.improve(limit)
            return _Choice(mask, limit, trace)
        return _Choice(*descent.improve_within(self.budget, start.support_mask, start.tradeoff, limit))

    def _joint_information(
        self, problem: Problem, information: Floats, prices: tuple[Floats, Floats], limit: float
    ) -> JointInformation:
        """Overlaps of the features that can be chosen at all."""
        added_last, alone = prices
        can_be_worth_it = information > added_last / limit
        affordable = alone <= (math.inf if self.budget is None else self.budget)
        features = np.flatnonzero((information > 0) & can_be_worth_it & affordable)
        if len(features) > _MAX_COMPARED:
            raise ValueError(
                f"redundancy compares all pairs of features, and {len(features)} come into question, more than "
                f"{_MAX_COMPARED}; use redundancy=0, a smaller tradeoff or budget, or fewer columns."
            )
        worth = information[features]
        overlap = self.redundancy * overlap_shares(problem, features) * np.minimum.outer(worth, worth)
        return JointInformation(features, worth, overlap)

    def _warn_if_empty(self, choice: _Choice, information: Floats) -> None:
        if choice.support_mask.any():
            return
        name = type(self).__name__
        if not information.any():
            why = "no feature tells anything about y. Check that the rows of X and y belong together"
        elif self.budget is not None and choice.tradeoff < (math.inf if self.tradeoff is None else self.tradeoff):
            why = f"budget {self.budget:g} buys none of the best sets. Raise it; path(X, y) shows what they cost"
        else:
            why = f"no feature is worth its price at tradeoff {choice.tradeoff:g}. Raise it; path(X, y) shows how far"
        warnings.warn(f"{name} has chosen no features: {why}.", UserWarning, stacklevel=3)

    def _keep(self, problem: Problem, choice: _Choice, solver: Solver, information: Floats) -> None:
        cost = solver.cost(choice.support_mask)
        self._keep_support(problem, choice.support_mask)
        self.__dict__.pop("objective_trace_", None)
        if callable(self.feature_costs):
            del self.feature_costs_
        self.cost_ = cost
        self.information_ = information
        self.tradeoff_ = choice.tradeoff
        if choice.trace is not None:
            self.objective_trace_ = np.array(choice.trace)

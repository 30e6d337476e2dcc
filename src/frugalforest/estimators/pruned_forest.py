"""PrunedForestClassifier: a grown forest without the subtrees that are not worth what they read."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.estimators.base import Floats, ForestClassifierBase
from frugalforest.estimators.checks import (
    check_choice,
    check_flag,
    check_n_jobs,
    check_number,
    check_numbers,
    check_seed,
    check_validation_fraction,
    check_whole_number,
)
from frugalforest.estimators.problem import Rows
from frugalforest.estimators.pruned_source import Part, Source, Voting, grow_source, read_source
from frugalforest.estimators.standard_forest import StandardForestClassifier
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.growing.seeds import root_seed
from frugalforest.pruning import PruningProblem, PruningRows, refit_leaves, search_tradeoffs, solve
from frugalforest.pruning.dual import relative_gap
from frugalforest.pruning.problem import Loss

N_TREES = 40  # as in the paper
N_TRADEOFFS = 24


@dataclass(frozen=True, eq=False)
class Pruning:
    """The forest, pruned for one tradeoff, how it does on the pruning rows, and a proof of how good it is."""

    tradeoff: float
    forest: Forest
    error: Floats  # (n_trees,): after each tree
    cost: Floats  # (n_trees,): average bill of a row after each tree; NaN: this size was not measured
    objective: float  # loss + tradeoff * average bill of everything that is read
    bound: float  # no pruning has a smaller objective
    n_rounds: int

    @property
    def gap(self) -> float:
        """(objective - bound) / objective: by how much the best of all prunings can be better, at most."""
        return relative_gap(self.objective, self.bound)

    def __str__(self) -> str:
        return f"tradeoff={self.tradeoff:g}"


class PrunedForestClassifier(ForestClassifierBase):
    """A forest without the subtrees that are not worth what they read (Nan, Wang, Saligrama 2016: BudgetPrune).

    The forest is grown first, costs ignored or not, and then pruned as a whole. Of all ways to cut subtrees off it is
    the one that minimises

        loss of the pruned forest + tradeoff * mean over rows of the cost of the features that any tree still reads

    over rows that no tree was grown from; a row pays for a feature, and for the shared step of a group, once. Optimal
    up to `duality_gap_`, by dual decomposition. A row never pays more than in the unpruned forest.

    Without a `tradeoff`, a path of tradeoffs is pruned for. Every (tradeoff, number of trees) is a point of `curve_`;
    the one of least error within the budget becomes the model, of equals the cheapest. Error and bill of the points are
    those of the pruning rows, so they flatter a little.

    Parameters
    ----------
    estimator : classifier, default=None
        The forest: any of frugalforest, or RandomForest, ExtraTrees or DecisionTree of scikit-learn; a copy is fitted.
        None: StandardForestClassifier(40, max_features=None), whose trees agree on what to read. With prefit=True it is
        fitted already (or an Ensemble), and left alone.
    budget : float, default=None
        Average cost per row at prediction; None: no limit.
    tradeoff : float, list of float or None, default=None
        Loss that a unit of money is worth. A list: the budget and the error choose. None: so they do from a path
        between nothing and everything that is worth something.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: as the estimator has it, or every feature costs 1.
    loss : {"share", "error"}, default="share"
        What a row loses, averaged over trees: 1 - the share of its class in the leaf it reaches, or, as in the paper,
        1 if the majority class of the leaf is another.
    refit_leaves : bool, default=False
        Also fit the class shares of the leaves to the pruning rows, by ridge regression, so that the trees do better
        together; the bill stays as it is. Needs soft votes. Points of the curve are whole forests then, with the errors
        they had before.
    prefit : bool, default=False
        Whether the estimator is fitted; `fit` then takes rows to prune by, which it should not have seen.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, that the forest is pruned by and not grown from; not used with
        `eval_set` or `prefit`.
    gap : float, default=0.005
        Stop when the objective is proven to be within this share of the optimum.
    max_rounds : int, default=1000
        Rounds of the dual decomposition for each tradeoff, at most.
    stop : {"all", "label"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same.
        Pruning reckons with "all"; the budget is compared with the bill of this rule.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the model does not depend on it.
    random_state : int, RandomState or None, default=None
        Of the split, and of the default estimator.

    Attributes
    ----------
    forest_ : Forest
        The pruned trees. One without splits answers with the class shares of its root.
    tradeoff_, duality_gap_ : float
        What the forest was pruned for, and by which share of its objective the best of all prunings can be better.
        Without a pruning within the budget: None, 0.
    n_estimators_ : int
        Number of trees.
    curve_ : CostCurve
        Every (tradeoff, number of trees), measured on the pruning rows. Errors are weighted by sample_weight.
    prunings_ : tuple of Pruning
        The forest of each tradeoff, from small to large, with its objective and bound.
    validation_error_, validation_cost_ : float
        Of the chosen point.
    voting_ : {"soft", "hard"}
        How the trees vote, as the estimator has it.
    reading_ : Reading
        How numbers are read before they are compared, as the estimator does it.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the rows of the forest: the answer of a model without trees.
    feature_importances_, importances_per_cost_ : ndarray of shape (n_features,)
        Share in the decrease of Gini impurity; the same per unit of money.
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
    >>> model = PrunedForestClassifier(budget=2, feature_costs=[1, 1, 2, 2], random_state=0).fit(X, y)
    >>> model.validation_cost_ <= 2
    True
    >>> model.duality_gap_ < 0.01
    True
    """

    tradeoff_: float | None
    duality_gap_: float
    n_estimators_: int
    curve_: CostCurve
    prunings_: tuple[Pruning, ...]
    validation_error_: float
    validation_cost_: float
    voting_: Voting
    reading_: Reading

    def __init__(
        self,
        estimator: Any = None,
        budget: float | None = None,
        tradeoff: Any = None,
        *,
        feature_costs: Any = None,
        loss: Loss = "share",
        refit_leaves: bool = False,
        prefit: bool = False,
        validation_fraction: float = 0.25,
        gap: float = 0.005,
        max_rounds: int = 1000,
        stop: Literal["all", "label"] = "all",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.budget = budget
        self.tradeoff = tradeoff
        self.feature_costs = feature_costs
        self.loss = loss
        self.refit_leaves = refit_leaves
        self.prefit = prefit
        self.validation_fraction = validation_fraction
        self.gap = gap
        self.max_rounds = max_rounds
        self.stop = stop
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Grow the forest, unless it is there, and prune it.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows, in growing and in the loss; one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to prune by; replaces the internal split.

        Returns
        -------
        self
            After Ctrl-C the model is chosen from the prunings so far, and KeyboardInterrupt is raised.
        """
        self._check_parameters(eval_set)
        seed = root_seed(self.random_state)
        growing, pruning = self._deal(X, y, sample_weight, eval_set, seed)
        source = self._source(growing, seed)
        rows = pruning.encoded(source.ensemble, type(self).__name__)
        self._check_votes(source)
        draft = copy.copy(self)
        draft._keep_source(source, pruning if growing is None else growing)
        interrupted = draft._prune(source.ensemble.forest, rows)
        self.__dict__ = draft.__dict__
        if interrupted:
            raise KeyboardInterrupt(f"stopped after {len(self.prunings_)} prunings; the model is the best of these")
        self._warn_if_far()
        return self

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, from the prunings there are; this one stays as it is."""
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        model = copy.copy(self)
        model.budget = budget
        model._choose()
        return model

    # ---- steps of fit

    def _check_parameters(self, eval_set: Any = None) -> None:
        check_number(self.budget, "budget", 0, or_none=True)
        if self.tradeoff is not None:
            check_numbers(self.tradeoff, "tradeoff", 0)
        check_choice(self.loss, "loss", ("share", "error"))
        check_flag(self.refit_leaves, "refit_leaves")
        check_flag(self.prefit, "prefit")
        check_validation_fraction(self.validation_fraction, "Give eval_set to grow from all rows.")
        check_number(self.gap, "gap", 0, at_most=1)
        check_whole_number(self.max_rounds, "max_rounds", 1)
        check_choice(self.stop, "stop", ("all", "label"))
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        if self.prefit and self.estimator is None:
            raise ValueError("prefit=True needs a fitted estimator; give one, or leave prefit out.")
        if self.prefit and eval_set is not None:
            raise ValueError("with prefit=True all rows are to prune by; give them as X and y, without eval_set.")

    def _deal(self, X: Any, y: Any, sample_weight: Any, eval_set: Any, seed: int) -> tuple[Part | None, Part]:
        """Rows to grow from, None if the forest is there, and rows to prune by."""
        name = type(self).__name__
        rows = Part.checked(X, y, sample_weight, name)
        if self.prefit:
            return None, rows
        if eval_set is None:
            return rows.halves(self.validation_fraction, seed)
        if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
            raise ValueError(f"eval_set is a {type(eval_set).__name__}; expected a pair (X_val, y_val).")
        return rows, Part.checked(eval_set[0], eval_set[1], None, name)

    def _source(self, growing: Part | None, seed: int) -> Source:
        if growing is None:
            return read_source(self.estimator, self.feature_costs)
        estimator = self.estimator
        if estimator is None:
            estimator = StandardForestClassifier(N_TREES, max_features=None, n_jobs=self.n_jobs, random_state=seed)
        return grow_source(estimator, self.feature_costs, growing)

    def _check_votes(self, source: Source) -> None:
        if self.refit_leaves and source.voting == "hard":
            raise ValueError('refit_leaves=True changes class shares, and this forest counts votes; use voting="soft".')

    def _keep_source(self, source: Source, part: Part) -> None:
        """What was learned besides the pruning; traces of an earlier fit go."""
        ensemble = source.ensemble
        self.__dict__.pop("feature_names_in_", None)
        self.encoder_ = ensemble.encoder
        self.n_features_in_ = ensemble.n_features
        if ensemble.encoder.feature_names is not None:
            self.feature_names_in_ = np.array(ensemble.encoder.feature_names, dtype=object)
        self.classes_ = ensemble.classes
        self.class_prior_ = _shares(part, ensemble.classes) if source.class_prior is None else source.class_prior
        self.feature_costs_ = source.costs
        self.voting_ = source.voting
        self.reading_ = ensemble.reading

    def _prune(self, forest: Forest, rows: Rows) -> bool:
        """Prune for every tradeoff, keep, and choose -> whether Ctrl-C cut it short; before the first it is raised."""
        used = PruningRows(rows.matrix, rows.labels, rows.weights)
        problem = PruningProblem(forest, used, self.feature_costs_, loss=self.loss, n_threads=self._n_threads())
        found: list[Pruning] = []

        def bill_at(tradeoff: float) -> float:
            pruning = self._prune_for(problem, tradeoff, rows)
            found.append(self._refitted(pruning, used) if self.refit_leaves else pruning)
            return float(found[-1].cost[-1])

        interrupted = False
        try:
            self._walk(bill_at, problem, found)
        except KeyboardInterrupt:
            if not found:
                raise
            interrupted = True
        self.prunings_ = tuple(sorted(found, key=lambda pruning: pruning.tradeoff))
        self.curve_ = self._curve([(pruning.error, pruning.cost) for pruning in self.prunings_], rows)
        self._choose()
        return interrupted

    def _walk(self, bill_at: Any, problem: PruningProblem, found: list[Pruning]) -> None:
        if self.tradeoff is not None:
            for tradeoff in dict.fromkeys(float(tradeoff) for tradeoff in np.atleast_1d(self.tradeoff)):
                bill_at(tradeoff)
            return
        everything = bill_at(0.0)
        if everything > 0:
            # Where all splits together are worth their price: between nothing and everything.
            start = (problem.loss_without_splits - found[0].objective) / everything
            budget = np.inf if self.budget is None else self.budget
            search_tradeoffs(bill_at, everything, start, budget, N_TRADEOFFS)

    def _prune_for(self, problem: PruningProblem, tradeoff: float, rows: Rows) -> Pruning:
        found = solve(problem, tradeoff, gap=self.gap, max_rounds=self.max_rounds)
        error, cost = self._measure(found.forest, rows, self.feature_costs_, self._acquirer_of)
        return Pruning(tradeoff, found.forest, error, cost, found.objective, found.bound, found.n_rounds)

    def _refitted(self, pruning: Pruning, rows: PruningRows) -> Pruning:
        """Leaves are fitted for all trees together, so a part of them is no point any more."""
        whole = np.where(np.arange(len(pruning.cost)) == len(pruning.cost) - 1, pruning.cost, np.nan)
        forest = refit_leaves(pruning.forest, rows, n_threads=self._n_threads())
        return replace(pruning, forest=forest, cost=whole)

    def _warn_if_far(self) -> None:
        far = [pruning for pruning in self.prunings_ if pruning.gap > self.gap]
        if far:
            worst = max(far, key=lambda pruning: pruning.gap)
            warnings.warn(
                f"{len(far)} of {len(self.prunings_)} prunings are not proven to be within {self.gap:g} of the optimum "
                f"after {self.max_rounds} rounds, the worst within {worst.gap:.2g}; increase max_rounds, or gap.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- choosing a point

    def _choose(self) -> None:
        point = self.curve_.best_index(np.inf if self.budget is None else self.budget)
        if point is None:
            self.tradeoff_, self.duality_gap_, self.n_estimators_ = None, 0.0, 0
            self.validation_error_, self.validation_cost_ = self.curve_.baseline_error, 0.0
            self.forest_ = Forest.without_trees(self.n_features_in_, len(self.classes_))
            self._warn_too_dear()
            return
        pruning = self.prunings_[self.curve_.variant[point]]
        self.tradeoff_, self.duality_gap_ = pruning.tradeoff, pruning.gap
        self.n_estimators_ = int(self.curve_.n_trees[point])
        self.validation_error_ = float(self.curve_.error[point])
        self.validation_cost_ = float(self.curve_.cost[point])
        self.forest_ = pruning.forest.first(self.n_estimators_)

    def _warn_too_dear(self) -> None:
        warnings.warn(
            f"no pruning fits a budget of {self.budget:g}: the cheapest one costs {self.curve_.cost.min():g} per row "
            "on average. The model answers with the most frequent class, for nothing; give larger tradeoffs, or none.",
            UserWarning,
            stacklevel=4,
        )

    def _curve(self, measured: list[tuple[Floats, Floats]], rows: Rows) -> CostCurve:
        return CostCurve.of_forests(
            measured,
            [str(pruning) for pruning in self.prunings_],
            total_cost=self.feature_costs_.total,
            baseline_error=self._baseline_error(rows),
        ).measured()

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The curve of `frugalforest.evaluation.cost_curve`: a point for every pruning and number of trees."""
        rows = self._later_rows(X, y)
        forests = (pruning.forest for pruning in self.prunings_)
        measured = [self._measure(forest, rows, self.feature_costs_, self._acquirer_of) for forest in forests]
        as_chosen = zip(measured, self.prunings_, strict=True)
        return self._curve([(error, np.where(np.isnan(p.cost), np.nan, cost)) for (error, cost), p in as_chosen], rows)

    # ---- reading

    @property
    def voting(self) -> Voting:  # type: ignore[override]
        """How the trees vote, as the estimator has it."""
        return self.voting_

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        rows = super()._rows(X, stacklevel + 1)
        return self.reading_(rows)

    def _ensemble(self, forest: Forest, base: Floats, classes: NDArray[Any], encoder: FeatureEncoder) -> Ensemble:
        return replace(super()._ensemble(forest, base, classes, encoder), reading=self.reading_)


def _shares(part: Part, classes: NDArray[Any]) -> Floats:
    """Share of each class in the weight of the rows, (n_classes,)."""
    weights = np.ones(len(part.y)) if part.weights is None else part.weights
    return np.array([weights[part.y == label].sum() for label in classes]) / weights.sum()

"""FrugalCascadeClassifier: nested panels, each read by strong models; a row buys the next one until it is sure."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.acquisition.staged import StagedRun
from frugalforest.cascades import ORDERS, Cascade, FittedStage, Policy
from frugalforest.cascades.last_stage import LastStage
from frugalforest.cascades.measured import BillsByLead, EndBills, MeasuredCascade, PlayedBills, policy_curve
from frugalforest.cascades.nested import by_panel
from frugalforest.cascades.path import falling_losses
from frugalforest.cascades.stages import threads
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.cascade_building import default_estimator, panel_builder, stages_by_order
from frugalforest.estimators.cascade_runs import CascadeStages
from frugalforest.estimators.checks import (
    check_choice,
    check_n_jobs,
    check_number,
    check_seed,
    check_whole_number,
    class_numbers,
)
from frugalforest.estimators.problem import Problem, Rows, validation_rows
from frugalforest.evaluation import CostCurve
from frugalforest.growing.seeds import root_seed

Positions = NDArray[np.intp]


class FrugalCascadeClassifier(FrugalClassifierMixin, FetchMixin, MetaEstimatorMixin, BaseEstimator):
    """A cascade of nested panels: buy a few features together, answer if sure, otherwise buy the next panel.

    Panels S_0 < S_1 < ... < S_K, the first free and the last of everything useful, are each read by boosters of their
    own, fitted without any penalty and cross-fitted: one per fold, their answers averaged and made probabilities by a
    logistic curve. A row stops at the first stage where the lead of its most probable class reaches a threshold, one
    for each stage and class. Thresholds come from dynamic programming over out-of-fold predictions, for every price of
    money at once, so one fit gives the whole curve, and `at_budget` any model on it.

    Parameters
    ----------
    budget : float, default=None
        What a row may cost on average; None: no limit. The model of least out-of-fold loss within it is chosen.
    tradeoff : float, default=None
        Errors per unit of money, in place of a budget: the model of least error + tradeoff * cost is chosen.
    estimator : classifier, default=None
        What is fitted on each panel and fold; None: FrugalBoostingClassifier without prices, which stops early, or a
        StandardForestClassifier where rows are fewer than 1,000. It is given the columns of the
        panel as numbers, categories as theirs, NaN where a value is missing, and needs `predict_proba`.
    n_stages : int, default=10
        Panels that cost something, at most. Their prices rise in equal ratios, from the cheapest feature to everything.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X. A group is bought
        as a whole, or by its members, whichever is worth more.
    order : {"both", "forward", "backward"}, default="both"
        How panels are found. "backward": from everything down, what the models of a panel gain least from, for its
        price, leaves. "forward": from nothing up, what tells most about the residuals of the models, for its price,
        joins. "both": backward, and another cascade whose small panels are found forward among the features of a middle
        one; validation chooses for each budget.
    stop : {"all", "label"}, default="all"
        What is bought at the last stage that a policy looks at. "all": the panel, together. "label": nobody goes on
        from there, so rows buy one feature at a time, until no value of the others can change the label; every stage is
        tried as the last one. Labels are those of the whole panel. It needs stages of trees that take missing values,
        as the default ones; others buy their panels together.
    n_folds : int, default=3
        Folds, and models of each stage.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    n_jobs : int, default=None
        Threads: when fitting each has a fold; the model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds and models.

    Attributes
    ----------
    cascades_ : tuple of Cascade
        Stages by order, with their panels and models.
    policies_ : tuple of Policy
        Thresholds of every point of the curve.
    policy_ : Policy or None
        The chosen ones; None: the most frequent class for everybody, for nothing.
    curve_ : CostCurve
        Error and average bill of the policies, out of fold, or on `eval_set`, by rising bill and falling loss.
    losses_ : ndarray of shape (n_policies,)
        What they are chosen by: half errors, half log-loss; where rows are few, partly by what the last stage thinks.
    validation_error_, validation_cost_ : float
        Those of the chosen policy.
    panels_ : list of ndarray
        Positions of the features of the panels that the chosen policy stops at, each with those before.
    feature_costs_, classes_, class_prior_, n_features_in_, feature_names_in_, encoder_ :
        As of every classifier of frugalforest.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FrugalCascadeClassifier(budget=3, n_stages=4, order="forward", random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    >>> bool(model.at_budget(1).acquisition_cost(X[400:]).mean() < model.acquisition_cost(X[400:]).mean())
    True
    """

    cascades_: tuple[Cascade, ...]
    policies_: tuple[Policy, ...]
    policy_: Policy | None
    curve_: CostCurve
    losses_: Floats
    validation_error_: float
    validation_cost_: float
    class_prior_: Floats
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        budget: float | None = None,
        tradeoff: float | None = None,
        estimator: Any = None,
        *,
        n_stages: int = 10,
        feature_costs: Any = None,
        order: Literal["both", "forward", "backward"] = "both",
        stop: Literal["all", "label"] = "all",
        n_folds: int = 3,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.tradeoff = tradeoff
        self.estimator = estimator
        self.n_stages = n_stages
        self.feature_costs = feature_costs
        self.order = order
        self.stop = stop
        self.n_folds = n_folds
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Fit the stages, find thresholds for all prices, and choose.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows (folds still deal it as one), one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to measure the curve with and to choose from it, in place of the training rows out of fold, which
            thresholds come from in any case.

        Returns
        -------
        self
            After Ctrl-C the model is made of the stages fitted so far, and KeyboardInterrupt is raised.
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        validation = None if eval_set is None else validation_rows(problem, eval_set, type(self).__name__)
        built, interrupted = self._build(problem)
        self._keep(problem, built, validation)
        if interrupted:
            raise KeyboardInterrupt(f"stopped after {sum(map(len, built.values()))} stages; the model is made of these")
        if self.policy_ is None and self.budget is not None:
            self._warn_nothing_bought()
        return self

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, from the stages already fitted; this one stays as it is."""
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        model = copy.copy(self)
        model.budget, model.tradeoff = budget, None
        model._choose()
        if model.policy_ is None and budget is not None:
            model._warn_nothing_bought()
        return model

    # ---- steps of fit

    def _check_parameters(self) -> None:
        check_number(self.budget, "budget", 0, or_none=True)
        check_number(self.tradeoff, "tradeoff", 0, or_none=True)
        if self.budget is not None and self.tradeoff is not None:
            raise ValueError("budget and tradeoff are both given; a budget finds its own trade-off: leave one None.")
        check_whole_number(self.n_stages, "n_stages", 1)
        check_whole_number(self.n_folds, "n_folds", 2)
        check_choice(self.order, "order", ORDERS)
        check_choice(self.stop, "stop", ("all", "label"))
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator is {self.estimator!r:.60}; expected a classifier with `predict_proba`, since rows stop "
                "when they are sure. CalibratedClassifierCV gives it to one without."
            )

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        takes_weights = self.estimator is None or has_fit_parameter(self.estimator, "sample_weight")
        if sample_weight is not None and not takes_weights:
            raise TypeError(f"{type(self.estimator).__name__} takes no sample_weight; leave it out.")
        problem = Problem.learn(
            X,
            y,
            sample_weight,
            feature_costs=self.feature_costs,
            class_weight=None,
            categorical_features=self.categorical_features,
            estimator_name=type(self).__name__,
        )
        self._refuse_missing(problem.rows.matrix)
        return problem

    def _build(self, problem: Problem) -> tuple[dict[str, list[FittedStage]], bool]:
        """Stages by order, and whether Ctrl-C cut it short."""
        template = default_estimator(len(problem.rows)) if self.estimator is None else self.estimator
        seed, n_jobs = root_seed(self.random_state), self._n_threads()
        builder = panel_builder(problem, template, self.n_stages, n_folds=self.n_folds, seed=seed, n_jobs=n_jobs)
        return stages_by_order(builder, self.order)

    def _keep(self, problem: Problem, built: dict[str, list[FittedStage]], validation: Rows | None) -> None:
        self._keep_problem(problem)
        ordered = {order: by_panel(stages) for order, stages in built.items()}
        self.cascades_ = tuple(
            Cascade(order, tuple(fitted.stage for fitted in stages)) for order, stages in ordered.items()
        )
        out_of_fold = [[fitted.out_of_fold for fitted in stages] for stages in ordered.values()]
        measured = self._measured(out_of_fold, problem.rows, seen=True)
        policies = [
            policy for number, one in enumerate(measured) for policy in one.policies(number, len(self.classes_))
        ]
        if validation is not None:
            measured = self._measured(self._answers(validation.matrix), validation)
        self._keep_best(policies, measured, problem.rows if validation is None else validation)
        self._choose()

    # ---- policies and their curve

    def _answers(self, matrix: NDArray[Any]) -> list[list[Floats]]:
        """Of each cascade what every stage says of rows, (n_rows, n_classes)."""
        n_threads = self._n_threads()
        with threads(n_threads):
            return [[stage.probabilities(matrix, n_threads) for stage in cascade.stages] for cascade in self.cascades_]

    def _measured(self, answers: list[list[Floats]], rows: Rows, *, seen: bool = False) -> list[MeasuredCascade]:
        """Labelled rows in each cascade; seen: the stages were fitted on them, and the answers are out of fold."""
        found = []
        for cascade, answer in zip(self.cascades_, answers, strict=True):
            table = cascade.table(answer, rows.labels, rows.weights, self.feature_costs_)
            bills: EndBills | None = None
            if self._ends_on_demand():
                where = (cascade, self.feature_costs_, rows.matrix, self._n_threads())
                bills = BillsByLead(*where, table.leads) if seen else PlayedBills(*where)
            found.append(MeasuredCascade(table, bills))
        return found

    def _keep_best(self, policies: list[Policy], measured: list[MeasuredCascade], rows: Rows) -> None:
        """The policies with less loss than any cheaper one."""
        curve = self._curve(policies, measured, rows)
        losses = np.array([measured[policy.cascade].mean_loss(policy) for policy in policies])
        best = falling_losses(curve.cost, losses, curve.error, curve.baseline_error)
        self.policies_ = tuple(policies[i] for i in best)
        self.losses_ = losses[best]
        prices = tuple(policy.tradeoff for policy in self.policies_)
        self.curve_ = replace(curve.take(best), variant=np.arange(len(best)), variants=prices)

    def _curve(self, policies: Sequence[Policy], measured: list[MeasuredCascade], rows: Rows) -> CostCurve:
        baseline = rows.share(rows.labels != np.argmax(self.class_prior_))
        return policy_curve(policies, measured, total_cost=self.feature_costs_.total, baseline_error=baseline)

    def _choose(self) -> None:
        """Take the best point within the budget, or for the trade-off; nothing at all if that is better."""
        curve = self.curve_
        within = np.flatnonzero(curve.cost <= (np.inf if self.budget is None else float(self.budget)))
        point = int(within[-1]) if len(within) else None
        if self.tradeoff is not None and len(curve):
            objective = curve.error + self.tradeoff * curve.cost
            point = int(np.argmin(objective)) if objective.min() < curve.baseline_error else None
        self.policy_ = None if point is None else self.policies_[point]
        self.validation_error_ = curve.baseline_error if point is None else float(curve.error[point])
        self.validation_cost_ = 0.0 if point is None else float(curve.cost[point])

    def _warn_nothing_bought(self) -> None:
        if len(self.curve_) == 0:
            return  # no feature tells anything: the free answer is as good as any
        warnings.warn(
            f"no panel fits a budget of {self.budget:g}: the cheapest cascade costs {self.curve_.cost.min():.6g} per "
            "row on average. The model answers with the most frequent class, for nothing.",
            UserWarning,
            stacklevel=3,
        )

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The policies of the validation curve, measured on other rows."""
        matrix = self._rows(X)
        rows = Rows(matrix, class_numbers(y, self.classes_, len(matrix)), None)
        return self._curve(self.policies_, self._measured(self._answers(matrix), rows), rows)

    # ---- the contract

    @property
    def panels_(self) -> list[Positions]:
        """Positions of the features of each panel that the chosen policy looks at, rising."""
        check_is_fitted(self)
        if self.policy_ is None:
            return []
        stages = self.cascades_[self.policy_.cascade].stages
        return [stages[k].panel for k in self.policy_.looked_at()]

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        matrix = super()._rows(X, stacklevel + 1)
        self._refuse_missing(matrix)
        return matrix

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals, (n_rows,)."""
        # Whatever is bought at the last stage, the label is that of its whole panel, and this is the fastest way.
        return self._labels(self._read_panels(self._rows(X))[0])

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        probabilities, mask, at_last = self._read_panels(rows)
        last_stage = self._last_stage()
        if last_stage is not None and len(at_last):
            ends = last_stage.read(rows[at_last], self._n_threads())
            assert ends.probabilities is not None
            probabilities[at_last], mask[at_last] = ends.probabilities, ends.mask
        return probabilities, mask if with_mask else None

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        probabilities, mask, at_last = self._read_panels(rows)
        last_stage = self._last_stage()
        if last_stage is not None and len(at_last):
            mask[at_last] = last_stage.read(rows[at_last], self._n_threads(), with_probabilities=False).mask
        return self._labels(probabilities), mask

    def _read_panels(self, rows: NDArray[Any]) -> tuple[Floats, Mask, Positions]:
        """Probabilities and what was bought, with whole panels, and the rows that came to the last stage."""
        if self.policy_ is None:
            mask = np.zeros((len(rows), self.n_features_in_), dtype=bool)
            return np.tile(self.class_prior_, (len(rows), 1)), mask, np.zeros(0, dtype=np.intp)
        cascade, n_threads = self.cascades_[self.policy_.cascade], self._n_threads()
        with threads(n_threads):
            probabilities, stops = cascade.read(rows, self.policy_, n_threads)
        at_last = np.flatnonzero(stops == self.policy_.looked_at()[-1])
        return probabilities, cascade.masks(self.n_features_in_)[stops], at_last

    def _last_stage(self) -> LastStage | None:
        """The last stage of the chosen policy if it is read on demand."""
        if not self._ends_on_demand() or self.policy_ is None:
            return None
        return self.cascades_[self.policy_.cascade].last_stage_of(self.policy_, self.feature_costs_)

    def _ends_on_demand(self) -> bool:
        return self.stop == "label" and self._takes_missing()  # a feature that is refused is missing

    def _refuse_missing(self, matrix: NDArray[Any]) -> None:
        """In scikit-learn's words, for an estimator that cannot do with missing values."""
        if not self._takes_missing():
            assert_all_finite(matrix, estimator_name=type(self.estimator).__name__, input_name="X")

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def _takes_missing(self) -> bool:
        return self.estimator is None or bool(get_tags(self.estimator).input_tags.allow_nan)

    # ---- one row at a time

    def start(self) -> StagedRun:  # type: ignore[override]  # of the same surface
        """A run for one row: it asks for the features of a panel, and for the next panel if it is not sure."""
        check_is_fitted(self)
        return StagedRun(self._stages())

    def resume(self, text: str) -> StagedRun:
        """The run that `run.to_json()` wrote, at the point where it was."""
        check_is_fitted(self)
        return StagedRun.from_json(text, self._stages())

    def _stages(self) -> CascadeStages:
        number = 0 if self.policy_ is None else self.policy_.cascade
        return CascadeStages(
            self.cascades_[number],
            self.policy_,
            self.class_prior_,
            self.feature_costs_,
            self.encoder_,
            self.classes_,
            needs_all=None if self._takes_missing() else type(self.estimator).__name__,
            last_stage=self._last_stage(),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

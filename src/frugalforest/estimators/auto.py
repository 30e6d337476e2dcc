"""FrugalClassifier: tries the methods of the library, and takes the one that does best within the budget."""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.data.tables import as_frame
from frugalforest.estimators.acquiring import AcquiringMixin
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.candidates import Candidate, copy_of, fit_for_all_budgets, pooled, templates_of
from frugalforest.estimators.checks import (
    check_n_jobs,
    check_number,
    check_seed,
    check_validation_fraction,
    check_whole_number,
)
from frugalforest.estimators.choosing import limit_of
from frugalforest.estimators.problem import Problem, stratified_mask, validation_rows
from frugalforest.evaluation import CostCurve
from frugalforest.growing.seeds import root_seed

if TYPE_CHECKING:
    import pandas as pd


class FrugalClassifier(FrugalClassifierMixin, FetchMixin, MetaEstimatorMixin, BaseEstimator):
    """For those who do not want to choose: every method is fitted, and validation picks one for each budget.

    Each candidate is fitted on the same rows, chooses within the budget in its own way, and is measured on the same
    validation rows; the one of least error becomes the model, of equals the cheaper. `comparison_` says what all would
    have done, `why_` why this one was taken. `at_budget` may come to another method without fitting anything again.

    Parameters
    ----------
    budget : float, default=None
        What a row may cost on average; None: no limit.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    methods : "auto", list of str, or dict name -> classifier, default="auto"
        What to try, in this order. "auto": all that `frugalforest.estimators.candidates.METHODS` lists, quick ones
        first. A dict brings classifiers of your own choice, any that has `at_budget`.
    time_limit : float, default=None
        Seconds after which no further method is started; the first is always fitted. None: no limit.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside to choose with; not used with `eval_set`.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; without a time limit the model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of everything.
    verbose : int, default=0
        1 says what is being fitted, and how it did.

    Attributes
    ----------
    model_ : classifier
        The one that was taken, within the budget.
    method_ : str
        Its name.
    why_ : str
        Why it was taken, in a sentence.
    candidates_ : tuple of Candidate
        All that were fitted, with their curves and seconds.
    comparison_ : DataFrame
        Error and bill within the budget, area under the curve and seconds of each.
    curve_ : CostCurve
        The points of all candidates on the validation rows; variants are the methods.
    max_budget_ : float
        The largest budget that `at_budget` can answer: the one that was given, infinite without.
    skipped_ : tuple of str
        Methods that the time limit left out.
    validation_error_, validation_cost_ : float
        Of the model.
    feature_costs_, classes_, class_prior_, n_features_in_, feature_names_in_, encoder_ :
        As of every classifier of frugalforest.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> methods = ["budget-forest", "penalized-forest"]
    >>> model = FrugalClassifier(budget=3, methods=methods, random_state=0).fit(X[:400], y[:400])
    >>> model.method_ in methods
    True
    >>> bool(model.score(X[400:], y[400:]) > 0.85)
    True
    """

    model_: Any
    method_: str
    why_: str
    candidates_: tuple[Candidate, ...]
    curve_: CostCurve
    max_budget_: float
    skipped_: tuple[str, ...]
    validation_error_: float
    validation_cost_: float
    class_prior_: Floats
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_costs: Any = None,
        methods: Any = "auto",
        time_limit: float | None = None,
        validation_fraction: float = 0.25,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.feature_costs = feature_costs
        self.methods = methods
        self.time_limit = time_limit
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Fit every method, and choose.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            For the methods that take weights; validation rows all count the same.
        eval_set : (X_val, y_val), default=None
            Rows to choose with; replaces the internal split.

        Returns
        -------
        self
            After Ctrl-C the model is chosen from the methods fitted so far, and KeyboardInterrupt is raised.
        """
        templates = self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        seed = root_seed(self.random_state)
        train, validation = self._split(problem, X, y, sample_weight, eval_set, seed)
        candidates, interrupted = self._fit_all(templates, problem, train, validation, seed)
        self._keep(problem, candidates, tuple(name for name in templates if name not in {c.name for c in candidates}))
        if interrupted:
            raise KeyboardInterrupt(f"stopped after {len(candidates)} methods; the model is the best of these")
        return self

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, at most `max_budget_`, of the methods already fitted.

        This model stays as it is.
        """
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        if limit_of(budget) > self.max_budget_:
            raise ValueError(
                f"the methods were fitted for a budget of {self.max_budget_:g}; fit with a larger one, or budget=None, "
                "then ask for smaller ones."
            )
        model = copy.copy(self)
        model.budget = budget
        model._choose()
        return model

    # ---- steps of fit

    def _check_parameters(self) -> Mapping[str, Any]:
        check_number(self.budget, "budget", 0, or_none=True)
        check_number(self.time_limit, "time_limit", 0, or_none=True)
        check_validation_fraction(self.validation_fraction)
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)
        check_whole_number(int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, "verbose", 0)
        templates = templates_of(self.methods)
        if not templates:
            raise ValueError("methods is empty; name at least one method to try.")
        return templates

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        return Problem.learn(
            X,
            y,
            sample_weight,
            feature_costs=self.feature_costs,
            class_weight=None,
            categorical_features=self.categorical_features,
            estimator_name=type(self).__name__,
        )

    def _split(
        self, problem: Problem, X: Any, y: Any, sample_weight: Any, eval_set: Any, seed: int
    ) -> tuple[tuple[Any, Any, Any], tuple[Any, Any]]:
        """Rows, labels and weights to fit with, and rows and labels to choose with, as the user gave them."""
        if eval_set is not None:
            validation_rows(problem, eval_set, type(self).__name__)
            return (X, y, sample_weight), (eval_set[0], eval_set[1])
        y = np.ravel(np.asarray(y))
        held_out = stratified_mask(
            np.unique(y, return_inverse=True)[1].astype(np.int32), self.validation_fraction, seed
        )
        if not held_out.any():
            warnings.warn(
                "too few rows to set some aside: the methods are compared on the rows they were fitted on. Give "
                "eval_set, or more rows.",
                UserWarning,
                stacklevel=3,
            )
            return (X, y, sample_weight), (X, y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[~held_out]
        return (_some_rows(X, ~held_out), y[~held_out], weights), (_some_rows(X, held_out), y[held_out])

    def _fit_all(
        self,
        templates: Mapping[str, Any],
        problem: Problem,
        train: tuple[Any, Any, Any],
        validation: tuple[Any, Any],
        seed: int,
    ) -> tuple[tuple[Candidate, ...], bool]:
        """The candidates, and whether Ctrl-C cut it short."""
        start, candidates = time.perf_counter(), list[Candidate]()
        told = {"budget": self.budget, "feature_costs": problem.costs, "random_state": seed, "n_jobs": self.n_jobs}
        if self.categorical_features is not None:
            told["categorical_features"] = self.categorical_features
        for name, template in templates.items():
            if candidates and self.time_limit is not None and time.perf_counter() - start > self.time_limit:
                break
            began, model = time.perf_counter(), copy_of(template, told)
            interrupted = _fit_quietly(model, train, validation)
            if hasattr(model, "curve_"):
                candidates.append(Candidate(name, model, model.curve_, time.perf_counter() - began))
                self._say(candidates[-1])
            if interrupted:
                if not candidates:
                    raise KeyboardInterrupt("stopped before any method was fitted")
                return tuple(candidates), True
        return tuple(candidates), False

    def _say(self, candidate: Candidate) -> None:
        if self.verbose:
            error, cost = candidate.best_within(self.budget)
            print(f"{candidate.name}: {candidate.seconds:.1f} s, validation error {error:.4f} for {cost:.4g}")

    def _keep(self, problem: Problem, candidates: tuple[Candidate, ...], skipped: tuple[str, ...]) -> None:
        self._keep_problem(problem)
        self.candidates_, self.skipped_ = candidates, skipped
        self.max_budget_ = limit_of(self.budget)
        points = pooled(candidates)  # a method may have fitted more than it was asked to
        self.curve_ = points.take(np.flatnonzero(points.cost <= self.max_budget_))
        self._choose()

    # ---- choosing

    def _choose(self) -> None:
        ranked = sorted(
            self.candidates_, key=lambda candidate: candidate.best_within(self.budget)
        )  # of equals the first
        best = ranked[0]
        self.method_ = best.name
        self.validation_error_, self.validation_cost_ = best.best_within(self.budget)
        self.model_ = best.within(self.budget)
        self.why_ = self._reason(ranked)

    def _reason(self, ranked: list[Candidate]) -> str:
        error, cost = ranked[0].best_within(self.budget)
        within = "without a limit" if self.budget is None else f"within {self.budget:g}"
        if cost == 0:
            return f"{within} nothing that can be bought does better than the most frequent class (error {error:.4f})"
        text = f"{within} {ranked[0].name} has the least validation error, {error:.4f} for {cost:.4g} per row"
        if len(ranked) > 1:
            others = (f"{c.name} {e:.4f} for {b:.4g}" for c in ranked[1:] for e, b in [c.best_within(self.budget)])
            text += f" (then {', '.join(others)})"
        if self.skipped_:
            text += f"; no time for {', '.join(self.skipped_)}"
        return text

    @property
    def comparison_(self) -> pd.DataFrame:
        """What each candidate would do within the budget, on the validation rows, as a pandas DataFrame."""
        import pandas as pd

        check_is_fitted(self)
        limit = limit_of(self.budget)
        rows = []
        for candidate in self.candidates_:
            error, cost = candidate.best_within(self.budget)
            area = candidate.curve.area(limit if 0 < limit < np.inf else None)
            rows.append((candidate.name, error, cost, area, candidate.seconds, candidate.name == self.method_))
        return pd.DataFrame(rows, columns=["method", "error", "cost", "area", "seconds", "taken"])

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The points on the pooled frontier, each measured by the method it is of, on other rows."""
        chosen = self.curve_.frontier()
        measured = [self._at_point(cost, X, y) for cost in chosen.cost]
        errors, bills = (np.array(column) for column in zip(*measured, strict=True)) if measured else ([], [])
        baseline = float(np.mean(np.asarray(y) != self.classes_[np.argmax(self.class_prior_)]))
        return CostCurve(
            cost=np.asarray(bills, dtype=np.float64),
            error=np.asarray(errors, dtype=np.float64),
            n_trees=chosen.n_trees,
            variant=chosen.variant,
            variants=chosen.variants,
            total_cost=self.feature_costs_.total,
            baseline_error=baseline,
        )

    def _at_point(self, cost: float, X: Any, y: Any) -> tuple[float, float]:
        label, bill = self.at_budget(cost).predict_with_cost(X)
        return float(np.mean(label != np.asarray(y))), float(bill.mean())

    # ---- the contract is the model's

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        check_is_fitted(self)
        return self.model_._rows(X, stacklevel + 1)

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        return self.model_._read(rows, with_mask=with_mask)

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        return self.model_._label_and_mask(rows)

    def start(self) -> Any:
        """A run for one row, as the model has it."""
        check_is_fitted(self)
        return self.model_.start()

    def resume(self, text: str) -> Any:
        """The run that `run.to_json()` wrote, at the point where it was."""
        check_is_fitted(self)
        return self.model_.resume(text)

    # ---- exports are the model's, if it is one ensemble of trees

    def to_shap(self) -> Any:
        """A SHAP TreeExplainer of the model, for rows as `encode` gives them. Needs the extra `export`."""
        return self._trees().to_shap()

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The trees of the model for ONNX, written to `path` if given. Needs the extra `export`."""
        return self._trees().to_onnx(path)

    def to_treelite(self) -> Any:
        """The trees of the model for treelite. Needs the extra `export`."""
        return self._trees().to_treelite()

    def encode(self, X: Any) -> NDArray[Any]:
        """X as the matrix of numbers that exports take, (n_rows, n_features)."""
        return self._trees().encode(X)

    def _trees(self) -> AcquiringMixin:
        check_is_fitted(self)
        if isinstance(self.model_, AcquiringMixin):
            return self.model_
        raise TypeError(
            f"The method that was taken, {self.method_}, cannot be exported: {type(self.model_).__name__} is not one "
            "ensemble of trees. Export a model among candidates_ that is, or fit with methods that are, such as "
            'methods=["budget-forest", "boosting"].'
        )


def _some_rows(X: Any, mask: Mask) -> Any:
    """Rows of a table, of the same kind."""
    frame = as_frame(X)
    if frame is None:
        return np.asarray(X)[mask]
    return frame[np.flatnonzero(mask).tolist(), :].to_native()


def _fit_quietly(model: Any, train: tuple[Any, Any, Any], validation: tuple[Any, Any]) -> bool:
    """Fit with what the method takes -> whether Ctrl-C stopped it; it has kept what it had then."""
    X, y, weights = train
    extra = {} if weights is None or not has_fit_parameter(model, "sample_weight") else {"sample_weight": weights}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that nothing fits the budget is seen in the comparison
            fit_for_all_budgets(model, X, y, eval_set=validation, **extra)
    except KeyboardInterrupt:
        return True
    return False

"""The frame of the four panel selectors: a search for each xi, and the full forest to judge what it finds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs

from frugalforest.estimators.checks import (
    check_choice,
    check_n_jobs,
    check_number,
    check_numbers,
    check_seed,
    check_whole_number,
    resolve_max_features,
)
from frugalforest.estimators.problem import Problem
from frugalforest.growing import TrainingSet, tree_seeds
from frugalforest.growing.seeds import root_seed
from frugalforest.selection.base import FeatureSelector, warn_if_nothing_fits
from frugalforest.selection.budget_path import BudgetPath, BudgetPoint
from frugalforest.selection.forests import ForestJudge
from frugalforest.selection.search import Panel, SearchPath
from frugalforest.selection.tuning import DEFAULT_GRID, Trial, Tuned, tune_on_grid, tune_with_optuna

if TYPE_CHECKING:
    from typing import Protocol

    class Searcher(Protocol):
        """What does not depend on xi and budget is computed once; then each search is quick."""

        def search(self, xi: float, budget: float | None) -> Panel:
            """The panel for one xi within one budget."""


_FOREST_KEY, _METHOD_KEY = 11, 12  # keep the seeds of judging and of searching apart


class PanelSelector(FeatureSelector):
    """Selects a panel within a budget by benefit per cost^xi. Subclasses say how a panel is searched.

    Subclasses have the parameters below and `_searcher`.
    """

    budget: float | None
    xi: float | Literal["tune"]
    xi_grid: Sequence[float] | None
    tuner: Literal["grid", "optuna"]
    n_trials: int
    n_forest_trees: int
    max_features: Any
    max_bins: int
    n_jobs: int | None
    random_state: Any

    xi_: float
    oob_error_: float
    path_: SearchPath
    tuning_: tuple[Trial, ...]

    @abstractmethod
    def _searcher(self, problem: Problem, judge: ForestJudge, budget: float | None, seed: int) -> Searcher:
        """Prepare everything that the searches within this budget, or a smaller one, share."""

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a panel for the training data.

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
        warn_if_nothing_fits(problem, self.budget, type(self).__name__)
        judge, searcher = self._prepare(problem, self.budget)
        tuned = self._tune(searcher, judge, self.budget)
        self._keep_support(problem, tuned.panel.support_mask)
        self._keep_search(problem, self._with_errors(tuned.panel, judge), tuned, searcher)
        return self

    def path(self, X: Any, y: Any, budgets: Sequence[float] | None = None) -> BudgetPath:
        """The panels for many budgets in one run: each is the one that `fit` would choose for that budget.

        budgets: None takes twelve, spaced evenly on a logarithmic scale from the cheapest feature to everything.
        `budget` is not used. What all budgets share, such as base trees, importances and forests of panels that come
        up again, is computed once.
        """
        self._check_parameters()
        problem = self._learn(X, y)
        if budgets is None:
            budgets = _spread_budgets(problem)
        else:
            check_numbers(budgets, "budgets", 0)
        judge, searcher = self._prepare(problem, float(max(budgets)))
        points = []
        for budget in sorted({float(budget) for budget in budgets}):
            tuned = self._tune(searcher, judge, budget)
            selected = np.flatnonzero(tuned.panel.support_mask)
            labels = tuple(problem.encoder.feature_label(int(f)) for f in selected)
            points.append(BudgetPoint(budget, tuned.panel.cost, tuned.error, tuned.xi, labels))
        return BudgetPath(tuple(points))

    # ---- steps of fit

    def _check_parameters(self) -> None:
        check_number(self.budget, "budget", 0, or_none=True)
        if not (isinstance(self.xi, str) and self.xi == "tune"):
            try:
                check_number(self.xi, "xi", 0)
            except ValueError:
                raise ValueError(f'xi is {self.xi!r}; expected "tune" or a finite number of at least 0.') from None
        if self.xi_grid is not None:
            check_numbers(self.xi_grid, "xi_grid", 0)
        check_choice(self.tuner, "tuner", ("grid", "optuna"))
        check_whole_number(self.n_trials, "n_trials", 1)
        check_whole_number(self.n_forest_trees, "n_forest_trees", 1, at_most=65535)
        resolve_max_features(self.max_features, 1)
        check_whole_number(self.max_bins, "max_bins", 2, at_most=255)
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)

    def _prepare(self, problem: Problem, budget: float | None) -> tuple[ForestJudge, Searcher]:
        seed = root_seed(self.random_state)
        judge = ForestJudge(
            self._training_set(problem, seed),
            problem.rows.labels,
            seeds=tree_seeds(seed, self.n_forest_trees, _FOREST_KEY),
            max_features=self.max_features,
            n_threads=self._n_threads(),
        )
        return judge, self._searcher(problem, judge, budget, seed)

    def _training_set(self, problem: Problem, seed: int) -> TrainingSet:
        return problem.binned(problem.rows, max_bins=self.max_bins, seed=seed, n_threads=self._n_threads())

    def _tune(self, searcher: Searcher, judge: ForestJudge, budget: float | None) -> Tuned:
        search = partial(searcher.search, budget=budget)
        if not isinstance(self.xi, str):
            return tune_on_grid(search, judge, [self.xi])
        grid = DEFAULT_GRID if self.xi_grid is None else self.xi_grid
        if self.tuner == "grid":
            return tune_on_grid(search, judge, np.atleast_1d(grid).tolist())
        seed = root_seed(self.random_state)
        return tune_with_optuna(search, judge, largest=float(np.max(grid)), n_trials=self.n_trials, seed=seed)

    def _with_errors(self, panel: Panel, judge: ForestJudge) -> Panel:
        """The panel with an error for each step; searches that measure none leave NaN, or fill them here."""
        return panel

    def _keep_search(self, problem: Problem, panel: Panel, tuned: Tuned, searcher: Any) -> None:
        self.xi_ = tuned.xi
        self.oob_error_ = tuned.error
        self.path_ = panel.path(problem.encoder.feature_label)
        self.tuning_ = tuned.trials

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))


def method_seeds(seed: int, n: int, *key: int) -> Any:
    """Seeds of the trees that a search itself grows, apart from those of the forests that judge it."""
    return tree_seeds(seed, n, _METHOD_KEY, *key)


def _spread_budgets(problem: Problem) -> list[float]:
    priced = problem.costs.alone[problem.costs.alone > 0]
    if len(priced) == 0:
        return [0.0]
    return np.geomspace(priced.min(), problem.costs.total, 12).tolist()

"""compare_selectors: which selector suits these data and prices? Run all, on splits that none of them has seen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils import _safe_indexing

from frugalforest.costs import FeatureCosts
from frugalforest.data.tables import as_frame
from frugalforest.estimators.checks import check_n_jobs, check_numbers, check_seed, check_whole_number
from frugalforest.estimators.panel import PanelClassifier
from frugalforest.estimators.problem import Problem
from frugalforest.evaluation.resampling import corrected_interval
from frugalforest.growing.progress import progress_bar
from frugalforest.growing.seeds import root_seed
from frugalforest.selection.auc import AUCSelector
from frugalforest.selection.budget_path import BudgetPoint
from frugalforest.selection.fixed import FixedSelector
from frugalforest.selection.forward import ForwardSelector
from frugalforest.selection.panel_selector import PanelSelector
from frugalforest.selection.permutation import PermutationSelector
from frugalforest.selection.shallow_trees import ShallowTreeSelector

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PICK = "pick"


@dataclass(frozen=True)
class ComparisonRow:
    """One selector at one budget on one split: its panel, what it cost, and the error on the rows left out."""

    selector: str
    budget: float
    split: int
    cost: float
    n_features: int
    xi: float
    oob_error: float
    error: float
    seconds: float  # of choosing the panels of all budgets of the split


@dataclass(frozen=True, eq=False)
class SelectorComparison:
    """What every selector achieves on rows it has not seen.

    The row "pick" is the advice itself, measured as honestly as the rest: on each split the selector with the least
    out-of-bag error on the training rows is taken, and judged on the others.
    """

    rows: tuple[ComparisonRow, ...]
    selectors: Mapping[str, PanelSelector]
    feature_costs: FeatureCosts
    test_share: float  # rows left out over rows trained on, in one split

    @property
    def budgets(self) -> list[float]:
        """The budgets compared, rising."""
        return sorted({row.budget for row in self.rows})

    def errors(self, selector: str, budget: float) -> NDArray[np.float64]:
        """Errors on the splits, in order, (n_splits,); selector: a name, or "pick"."""
        found = [row.error for row in self.rows if (row.selector, row.budget) == (selector, budget)]
        if not found:
            raise ValueError(
                f"nothing was compared as {selector!r} at budget {budget!r}; there are the selectors "
                f"{', '.join([*self.selectors, PICK])} and the budgets {self.budgets}."
            )
        return np.array(found)

    def best(self, budget: float) -> str:
        """The name of the selector of the least mean error at a budget, of equals the one with the cheaper panels."""

        def standing(name: str) -> tuple[float, float]:
            costs = [row.cost for row in self.rows if (row.selector, row.budget) == (name, budget)]
            return float(self.errors(name, budget).mean()), float(np.mean(costs))

        return min(self.selectors, key=standing)

    def classifier(self, budget: float, **options: Any) -> PanelClassifier:
        """The best selector at this budget in a PanelClassifier, ready to be fitted; options go to it."""
        selector = clone(self.selectors[self.best(budget)]).set_params(budget=budget)
        return PanelClassifier(selector, **options)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per selector, budget and split."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def summary(self) -> pd.DataFrame:
        """Per budget and selector: mean error with its 95 % interval, mean rank, cost, features, seconds; best first.

        Intervals are corrected for the overlap of training rows; ranks count the selectors only, not the pick.
        """
        import pandas as pd

        frame = self.to_frame()
        own = frame[frame["selector"] != PICK]
        rank = own.groupby(["budget", "split"])["error"].rank()
        ranks = own.assign(rank=rank).groupby(["budget", "selector"])["rank"].mean()
        lines = []
        for (budget, name), part in frame.groupby(["budget", "selector"], sort=True):
            mean, half = corrected_interval(part["error"].to_numpy(), self.test_share)
            means = part[["cost", "n_features", "seconds"]].mean()
            line = {"budget": budget, "selector": name, "error": mean, "plus_minus": half}
            lines.append(line | {"mean_rank": ranks.get((budget, name), np.nan)} | means.to_dict())
        return pd.DataFrame(lines).sort_values(["budget", "error"], kind="stable").set_index(["budget", "selector"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean error against budget, one line with intervals for each selector. Needs matplotlib (extra `plot`)."""
        from frugalforest.plotting.comparison import draw_comparison

        return draw_comparison(self, ax=ax)


def default_selectors(n_jobs: int | None = None, random_state: Any = 0) -> dict[str, PanelSelector]:
    """The four selectors, all with tuned xi."""
    kinds: dict[str, type[PanelSelector]] = {
        "STS": ShallowTreeSelector,
        "AUC": AUCSelector,
        "pFI": PermutationSelector,
        "FS": ForwardSelector,
    }
    return {name: kind(n_jobs=n_jobs, random_state=random_state) for name, kind in kinds.items()}


def compare_selectors(
    X: Any,
    y: Any,
    feature_costs: Any = None,
    budgets: Sequence[float] = (),
    *,
    selectors: Mapping[str, PanelSelector] | None = None,
    estimator: Any = None,
    n_splits: int = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> SelectorComparison:
    """Run all selectors at all budgets on the same splits, and judge their panels on rows they have not seen.

    Nothing that a selector tunes sees the rows left out: xi is tuned on out-of-bag rows of the training part (nested
    resampling). Then the estimator is fitted on the panel and judged on the part left out.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1.
    budgets : sequence of float
        Budgets to compare at.
    selectors : dict name -> selector, default=None
        None: ShallowTreeSelector, AUCSelector, PermutationSelector and ForwardSelector, with tuned xi. Their budget and
        prices are set here.
    estimator : classifier, default=None
        What is fitted on the panels; None: the full forest of PanelClassifier.
    n_splits, n_repeats : int, default=5 and 1
        Of stratified cross-validation.
    n_jobs : int, default=None
        Threads, for selectors that are not given.
    random_state : int, RandomState or None, default=0
        Seed of the splits, the selectors that are not given, and the forests.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    SelectorComparison
        `summary()` is the table, `plot()` the picture, `best(budget)` the pick, `classifier(budget)` the pick to fit.
    """
    check_numbers(budgets, "budgets", 0)
    check_whole_number(n_splits, "n_splits", 2)
    check_whole_number(n_repeats, "n_repeats", 1)
    check_n_jobs(n_jobs)
    check_seed(random_state)
    problem = _learn(X, y, feature_costs)
    seed = root_seed(random_state)
    chosen = default_selectors(n_jobs, seed) if selectors is None else dict(selectors)
    chosen = {name: clone(each).set_params(feature_costs=problem.costs) for name, each in chosen.items()}
    _check_selectors(chosen)
    X = np.asarray(X) if as_frame(X) is None else X
    splitter = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=seed % 2**32)
    bench = _Bench(X, np.asarray(y), problem.costs, sorted({float(b) for b in budgets}), estimator, n_jobs, seed)
    rows: list[ComparisonRow] = []
    with progress_bar(verbose, n_splits * n_repeats * len(chosen), "compare_selectors") as show:
        for split, (train, test) in enumerate(splitter.split(np.zeros(len(bench.y)), bench.y)):
            of_split: list[ComparisonRow] = []
            for name, selector in chosen.items():
                of_split += bench.judge(name, selector, split, train, test)
                if show is not None:
                    show(split * len(chosen) + len({row.selector for row in of_split}))
            rows += of_split + _picks(of_split)
    return SelectorComparison(tuple(rows), chosen, problem.costs, 1 / (n_splits - 1))


@dataclass(frozen=True, eq=False)
class _Bench:
    """Data, prices, budgets and estimator that all selectors meet."""

    X: Any
    y: NDArray[Any]
    costs: FeatureCosts
    budgets: list[float]
    estimator: Any
    n_jobs: int | None
    seed: int

    def judge(
        self, name: str, selector: PanelSelector, split: int, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> list[ComparisonRow]:
        """One row for each budget; a panel that comes up again is not fitted again."""
        X_train, y_train = _safe_indexing(self.X, train), self.y[train]
        X_test, y_test = _safe_indexing(self.X, test), self.y[test]
        start = time.perf_counter()
        path = selector.path(X_train, y_train, self.budgets)
        seconds = time.perf_counter() - start
        errors: dict[tuple[Any, ...], float] = {}
        rows = []
        for point in path:
            if point.features not in errors:
                errors[point.features] = 1 - self._classifier(point).fit(X_train, y_train).score(X_test, y_test)
            rows.append(_row(name, split, point, errors[point.features], seconds))
        return rows

    def _classifier(self, point: BudgetPoint) -> PanelClassifier:
        fixed = FixedSelector(list(point.features), feature_costs=self.costs)
        return PanelClassifier(fixed, self.estimator, n_jobs=self.n_jobs, random_state=self.seed)


def _row(name: str, split: int, point: BudgetPoint, error: float, seconds: float) -> ComparisonRow:
    size = len(point.features)
    return ComparisonRow(name, point.budget, split, point.cost, size, point.xi, point.error, float(error), seconds)


def _picks(rows: list[ComparisonRow]) -> list[ComparisonRow]:
    """Per budget the row of the least out-of-bag error, of equals the cheapest, under the name of the pick."""
    picks = []
    for budget in sorted({row.budget for row in rows}):
        best = min((row for row in rows if row.budget == budget), key=lambda row: (row.oob_error, row.cost))
        picks.append(ComparisonRow(**{**asdict(best), "selector": PICK}))
    return picks


def _learn(X: Any, y: Any, feature_costs: Any) -> Problem:
    return Problem.learn(
        X,
        y,
        None,
        feature_costs=feature_costs,
        class_weight=None,
        categorical_features=None,
        estimator_name="compare_selectors",
    )


def _check_selectors(selectors: Mapping[str, Any]) -> None:
    if not selectors:
        raise ValueError("selectors is empty; give at least one selector by name.")
    for name, selector in selectors.items():
        if not isinstance(selector, PanelSelector):
            raise TypeError(
                f"selectors[{name!r}] is {selector!r:.60}; expected a selector of frugalforest.selection with a path "
                "over budgets."
            )
        if name == PICK:
            raise ValueError(f"{PICK!r} is the name of the pick itself; call the selector something else.")
        selector._check_parameters()

"""The methods that the command line knows: one table, one line for each."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Mistake

if TYPE_CHECKING:
    import pyarrow as pa

    from frugalforest.costs import FeatureCosts

AUTO = "auto"


@dataclass(frozen=True)
class Settings:
    """What every method is told."""

    costs: FeatureCosts
    budget: float | None
    n_trees: int
    seed: int
    n_jobs: int

    def within(self, budget: float | None) -> Settings:
        """The same with another budget."""
        return replace(self, budget=budget)


Make = Callable[[Settings], Any]
FitMany = Callable[[Settings, Any, Any, Sequence[float]], list[Any]]


@dataclass(frozen=True)
class Method:
    """A way to learn: how an unfitted classifier is made, or fitted ones for budgets, and what is known beforehand."""

    name: str
    about: str
    make: Make | None = None  # an unfitted classifier
    keeps_budget: bool = True  # False: costs what it costs
    reads_text: bool = True  # False: columns of numbers only
    fit_many: FitMany | None = None  # or fitted ones for several budgets together

    def fit(self, settings: Settings, X: Any, y: Any) -> Any:
        """A fitted classifier within the budget."""
        if self.fit_many is not None:
            return self.fit_many(
                settings, X, y, [settings.costs.total if settings.budget is None else settings.budget]
            )[0]
        assert self.make is not None
        model = self.make(settings).fit(X, y)
        has_budget = settings.budget is not None and not hasattr(model, "budget") and hasattr(model, "at_budget")
        return model.at_budget(settings.budget) if has_budget else model

    def fit_for(self, budgets: Sequence[float], settings: Settings, X: Any, y: Any) -> list[Any]:
        """One fitted classifier for each budget; one fit where the method has all sizes in it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a small budget buys nothing is seen in the figures
            if self.fit_many is not None:
                return self.fit_many(settings, X, y, budgets)
            assert self.make is not None
            if not self.keeps_budget:
                return [self.make(settings.within(None)).fit(X, y)] * len(budgets)
            largest = self.make(settings.within(max(budgets))).fit(X, y)
            if hasattr(largest, "at_budget"):
                return [largest.at_budget(budget) for budget in budgets]
            return [self.fit(settings.within(budget), X, y) for budget in budgets]


def _estimator(class_name: str, **options: Any) -> Make:
    """How to make an estimator of frugalforest; it is told those settings that it has parameters for."""

    def make(settings: Settings) -> Any:
        kind = getattr(import_module("frugalforest.estimators"), class_name)
        told = {
            "feature_costs": settings.costs,
            "budget": settings.budget,
            "n_estimators": settings.n_trees,
            "random_state": settings.seed,
            "n_jobs": settings.n_jobs,
        }
        known = inspect.signature(kind).parameters
        return kind(**{name: value for name, value in told.items() if name in known} | options)

    return make


def _fit_panels(settings: Settings, X: Any, y: Any, budgets: Sequence[float]) -> list[Any]:
    """Panels for all budgets come out of one search; a panel that comes up again is fitted once."""
    from frugalforest.selection import ShallowTreeSelector

    selector = ShallowTreeSelector(
        feature_costs=settings.costs,
        n_forest_trees=settings.n_trees,
        n_jobs=settings.n_jobs,
        random_state=settings.seed,
    )
    panels = {point.budget: point.features for point in selector.path(X, y, budgets)}
    fitted = {panel: _panel(panel, settings, X).fit(X, y) for panel in set(panels.values())}
    return [fitted[panels[float(budget)]] for budget in budgets]


def _panel(panel: tuple[str, ...], settings: Settings, X: pa.Table) -> Any:
    """A forest on these columns, unfitted; the forest is told which of them hold texts."""
    import pyarrow as pa

    from frugalforest.estimators import PanelClassifier, StandardForestClassifier
    from frugalforest.selection import FixedSelector

    texts = [pa.types.is_string(X.schema.field(name).type) for name in sorted(panel, key=X.column_names.index)]
    forest = StandardForestClassifier(
        settings.n_trees, categorical_features=texts, n_jobs=settings.n_jobs, random_state=settings.seed
    )
    return PanelClassifier(
        FixedSelector(list(panel), feature_costs=settings.costs), forest, feature_costs=settings.costs
    )


def _fit_on_demand(settings: Settings, X: Any, y: Any, budgets: Sequence[float]) -> list[Any]:
    """One forest for all budgets; none of its rows exceeds them."""
    from frugalforest.estimators import OnDemand

    forest = _estimator("StandardForestClassifier")(settings).fit(X, y)
    return [OnDemand(forest, stop="budget", budget=float(budget), n_jobs=settings.n_jobs) for budget in budgets]


METHODS = {
    method.name: method
    for method in (
        Method(
            "budget-forest",
            "trees of least cost per impurity removed, added until the budget is reached",
            _estimator("BudgetForestClassifier", price_power=[1.0, 0.0]),
        ),
        Method(
            "penalized-forest",
            "a forest whose splits pay for what no tree has bought yet",
            _estimator("PenalizedForestClassifier", tradeoff="auto"),
        ),
        Method(
            "boosting",
            "gradient boosting in which each row pays for what it reads",
            _estimator("FrugalBoostingClassifier", stop="confidence", n_estimators=300, max_leaf_nodes="auto"),
        ),
        Method(
            "cascade",
            "nested panels, bought one after the other until the answer is sure",
            _estimator("FrugalCascadeClassifier"),
        ),
        Method(
            "pruned-forest",
            "a forest without the subtrees that are not worth what they read",
            _estimator("PrunedForestClassifier", stop="label"),
        ),
        Method(
            "linear",
            "one linear classifier with a cost-weighted penalty; numbers only",
            _estimator("CostLassoClassifier"),
            reads_text=False,
        ),
        Method(
            "panel",
            "the same few features for every row, then a full forest",
            fit_many=_fit_panels,
        ),
        Method(
            "on-demand-forest",
            "Breiman's forest, one feature at a time, until its label is settled or a row has spent the budget",
            fit_many=_fit_on_demand,
        ),
        Method(
            "standard-forest",
            "Breiman's forest; reads nearly everything; has no budget",
            _estimator("StandardForestClassifier"),
            keeps_budget=False,
        ),
    )
}


def methods_of(names: Sequence[str]) -> list[Method]:
    """The methods of these names, each once."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise Mistake(f"there is no method {', '.join(map(repr, unknown))}; there are {', '.join(METHODS)}.")
    return [METHODS[name] for name in dict.fromkeys(names)]


def suited_to(methods: Sequence[Method], has_text: bool) -> list[Method]:
    """Those that can read the columns there are."""
    return [method for method in methods if method.reads_text or not has_text]


ABOUT = "\n".join(
    ["[b]Methods[/b]\n", f"{AUTO}: tries them on validation rows, and takes the best within the budget"]
    + [f"{method.name}: {method.about}" for method in METHODS.values()]
)

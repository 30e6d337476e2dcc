"""frugalforest: prediction when features cost something.

Learns which features are worth their price, and hands over the bill of every prediction.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from frugalforest import acquisition, datasets, evaluation, impurities, selection
    from frugalforest.acquisition import FetchError
    from frugalforest.costs import FeatureCosts, Group
    from frugalforest.estimators import (
        BudgetForestClassifier,
        CostLassoClassifier,
        FrugalBoostingClassifier,
        FrugalCascadeClassifier,
        FrugalClassifier,
        GreedyMiserClassifier,
        MixedNormTreeClassifier,
        OnDemand,
        PanelClassifier,
        PenalizedForestClassifier,
        PreselectedClassifier,
        PrunedForestClassifier,
        StandardForestClassifier,
        SubmodularTreeClassifier,
        SubmodularTreeRegressor,
    )
    from frugalforest.impurities import Polynomial, Powers, ThresholdPairs, check_admissible
    from frugalforest.persistence import ModelFileError, load
    from frugalforest.plotting import CostCurveDisplay

__version__ = "0.1.0"

__all__ = [
    "BudgetForestClassifier",
    "CostCurveDisplay",
    "CostLassoClassifier",
    "FeatureCosts",
    "FetchError",
    "FrugalBoostingClassifier",
    "FrugalCascadeClassifier",
    "FrugalClassifier",
    "GreedyMiserClassifier",
    "Group",
    "MixedNormTreeClassifier",
    "ModelFileError",
    "OnDemand",
    "PanelClassifier",
    "PenalizedForestClassifier",
    "Polynomial",
    "Powers",
    "PreselectedClassifier",
    "PrunedForestClassifier",
    "StandardForestClassifier",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
    "ThresholdPairs",
    "acquisition",
    "check_admissible",
    "datasets",
    "evaluation",
    "impurities",
    "load",
    "selection",
]

# Names are looked up when they are first used, so that `frugalforest --help` does not wait for numpy and scikit-learn.
# Where they come from, the imports above say; these packages are asked in turn, from the bottom layer upwards, so that
# whoever takes FeatureCosts alone loads nothing else.
_SOURCES = ("costs", "impurities", "acquisition", "estimators", "plotting", "persistence")
_PACKAGES = (
    *_SOURCES,
    "boosting",
    "cascades",
    "data",
    "datasets",
    "evaluation",
    "exports",
    "growing",
    "importers",
    "linear_trees",
    "pruning",
    "report",
    "selection",
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name in __all__:
        packages = (import_module(f"{__name__}.{package}") for package in _SOURCES)
        found = next(getattr(package, name) for package in packages if name in package.__all__)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})

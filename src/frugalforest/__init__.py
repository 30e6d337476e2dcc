"""frugalforest: prediction when features cost something.

Learns which features are worth their price, and hands over the bill of every prediction.
"""

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

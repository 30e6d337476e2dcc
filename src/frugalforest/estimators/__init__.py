"""Estimators: scikit-learn classifiers that know what features cost."""

from frugalforest.estimators.auto import FrugalClassifier
from frugalforest.estimators.budget_forest import BudgetForestClassifier
from frugalforest.estimators.cascade import FrugalCascadeClassifier
from frugalforest.estimators.cost_lasso import CostLassoClassifier
from frugalforest.estimators.frugal_boosting import FrugalBoostingClassifier
from frugalforest.estimators.greedy_miser import GreedyMiserClassifier
from frugalforest.estimators.mixed_norm_tree import MixedNormTreeClassifier
from frugalforest.estimators.on_demand import OnDemand
from frugalforest.estimators.panel import PanelClassifier
from frugalforest.estimators.penalized_forest import PenalizedForestClassifier
from frugalforest.estimators.preselected import PreselectedClassifier
from frugalforest.estimators.pruned_forest import PrunedForestClassifier
from frugalforest.estimators.standard_forest import StandardForestClassifier
from frugalforest.estimators.submodular_tree import SubmodularTreeClassifier, SubmodularTreeRegressor

__all__ = [
    "BudgetForestClassifier",
    "CostLassoClassifier",
    "FrugalBoostingClassifier",
    "FrugalCascadeClassifier",
    "FrugalClassifier",
    "GreedyMiserClassifier",
    "MixedNormTreeClassifier",
    "OnDemand",
    "PanelClassifier",
    "PenalizedForestClassifier",
    "PreselectedClassifier",
    "PrunedForestClassifier",
    "StandardForestClassifier",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
]

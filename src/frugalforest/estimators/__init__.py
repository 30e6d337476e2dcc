"""Estimators: scikit-learn classifiers that know what features cost."""

from frugalforest.estimators.budget_forest import BudgetForestClassifier
from frugalforest.estimators.cost_lasso import CostLassoClassifier
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

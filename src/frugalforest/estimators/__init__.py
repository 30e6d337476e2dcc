"""Estimators: scikit-learn classifiers that know what features cost."""

from frugalforest.estimators.budget_forest import BudgetForestClassifier
from frugalforest.estimators.on_demand import OnDemand
from frugalforest.estimators.panel import PanelClassifier
from frugalforest.estimators.standard_forest import StandardForestClassifier

__all__ = ["BudgetForestClassifier", "OnDemand", "PanelClassifier", "StandardForestClassifier"]

"""Cascades of nested panels: buy a few features, stop if sure, otherwise buy more."""

from frugalforest.cascades.cascade import Cascade, Policy
from frugalforest.cascades.folds import stratified_folds
from frugalforest.cascades.nested import ORDERS, PanelBuilder
from frugalforest.cascades.stages import CrossFitter, FittedStage, Stage
from frugalforest.cascades.stopping import StageTable

__all__ = [
    "ORDERS",
    "Cascade",
    "CrossFitter",
    "FittedStage",
    "PanelBuilder",
    "Policy",
    "Stage",
    "StageTable",
    "stratified_folds",
]

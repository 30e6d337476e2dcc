"""What has to hold for the parts of a cascade that comes out of a file. Each check raises ValueError if it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalforest.cascades import Cascade, Policy, Stage
from frugalforest.estimators.base import FrugalClassifierMixin


def check_stage(stage: Stage) -> None:
    """Models that read just the panel, and a curve of finite numbers."""
    panel = stage.panel
    _require(panel.ndim == 1 and (np.diff(panel) > 0).all() and (panel >= 0).all(), "a panel out of order")
    _require(stage.offset.ndim == 1 and len(stage.offset) > 1, "a stage of fewer than two classes")
    _require(np.isfinite(stage.offset).all() and 0 <= stage.slope < np.inf, "a stage with impossible probabilities")
    _require(len(stage.models) > 0 or stage.slope == 0, "a stage without models")
    for model in stage.models:
        if model is not None:
            _require(isinstance(model, FrugalClassifierMixin), "a stage with a model that is none")
            _require(model.n_features_in_ == len(panel), "a stage whose models read other features")
            _require(np.isin(model.classes_, np.arange(len(stage.offset))).all(), "a stage with other classes")
    _require(
        stage.trees is None or np.isfinite(stage.trees.values).all(), "a stage whose trees cannot be read together"
    )


def check_cascade(cascade: Cascade) -> None:
    """Panels that grow from stage to stage."""
    _require(len(cascade.stages) > 0, "a cascade without stages")
    for small, large in zip(cascade.stages[:-1], cascade.stages[1:], strict=True):
        _require(np.isin(small.panel, large.panel).all() and len(small.panel) < len(large.panel), "panels not nested")
        _require(len(small.offset) == len(large.offset), "stages of different classes")


def check_policy(policy: Policy) -> None:
    """Thresholds for every stage but the last, and shares of all."""
    _require(policy.thresholds.ndim == 2 and not np.isnan(policy.thresholds).any(), "impossible thresholds")
    _require(policy.shares.shape == (len(policy.thresholds) + 1,), "shares of other stages")
    _require(np.isfinite(policy.shares).all() and (policy.shares >= 0).all(), "impossible shares")


def check_cascade_classifier(model: Any) -> None:
    """All parts are about the same features and classes, and every point of the curve can become the model."""
    for name in ("cascades_", "policies_", "policy_", "curve_", "class_prior_", "feature_costs_", "encoder_"):
        _require(hasattr(model, name), f"there is no {name}")
    n_features, n_classes = model.n_features_in_, len(model.classes_)
    _require(len(model.cascades_) > 0, "a model without a cascade")
    for cascade in model.cascades_:
        last = cascade.stages[-1]
        _require(len(last.panel) == 0 or last.panel[-1] < n_features, "a panel of other features")
        _require(len(last.offset) == n_classes, "stages of other classes")
    chosen = () if model.policy_ is None else (model.policy_,)
    for policy in (*model.policies_, *chosen):
        _require(0 <= policy.cascade < len(model.cascades_), "a policy of a cascade that does not exist")
        shape = (len(model.cascades_[policy.cascade].stages) - 1, n_classes)
        _require(policy.thresholds.shape == shape, "a policy for other stages")
    _require(len(model.policies_) == len(model.curve_), "a curve of other policies")
    _require(np.array_equal(model.curve_.variant, np.arange(len(model.curve_))), "a curve out of order")
    _require(model.class_prior_.shape == (n_classes,) and np.isfinite(model.class_prior_).all(), "an impossible prior")
    _require(model.encoder_.n_features == n_features, "an encoder of other features")
    _require(model.feature_costs_.n_features == n_features, "prices of other features")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(what)

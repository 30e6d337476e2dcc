"""What has to hold for the parts of a loaded booster. Each check raises ValueError if it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalforest.boosting import BoostedTrees
from frugalforest.boosting.training import Boosted
from frugalforest.ensemble import Ensemble
from frugalforest.persistence.checks import check_classifier, require, require_shape

_LARGEST_SCORE = 1e37  # float32 sums overflow from 3.4e38 on


def check_boosted_trees(trees: BoostedTrees) -> None:
    """Whole rounds of trees, a value for each leaf, and a gain for each node."""
    forest = trees.forest
    require(trees.n_outputs >= 1 and forest.n_trees % trees.n_outputs == 0, "rounds that are not whole")
    require_shape(trees.values, (forest.n_leaves,), "values")
    for name in ("gains", "charged"):
        require_shape(getattr(trees, name), (forest.n_nodes,), name)
        require(np.isfinite(getattr(trees, name)).all(), f"{name} that are not finite")
    require(np.isfinite(trees.values).all(), "values that are not finite")


def check_boosted(boosted: Boosted) -> None:
    """Loss, error and cost of every round."""
    for record in boosted.records:
        for name in ("loss", "error", "cost"):
            require_shape(getattr(record, name), (boosted.n_rounds,), name)
            require(not np.isinf(getattr(record, name)).any(), f"{name} of a round is not finite")
        require(record.confidence >= 0, "an impossible confidence")
    require_shape(boosted.base, (boosted.trees.n_outputs,), "base")
    largest = np.abs(boosted.base).max() + boosted.trees.forest.n_trees * np.abs(boosted.trees.values).max(initial=0)
    require(largest <= _LARGEST_SCORE, "scores that are not finite")
    require(boosted.tradeoff >= 0 and boosted.budget >= 0, "an impossible trade-off or budget")


def check_greedy_miser(model: Any) -> None:
    """There are trees, of the right features and classes."""
    for name in ("ensemble_", "class_prior_", "gain_by_feature_", "n_estimators_"):
        require(hasattr(model, name), f"there is no {name}")
    require(isinstance(model.ensemble_, Ensemble), "a booster without trees")
    require_shape(model.gain_by_feature_, (model.n_features_in_,), "gain_by_feature_")
    check_classifier(model)
    inside, outside = model.ensemble_.encoder, model.encoder_
    is_same = (inside.feature_names, inside.categories) == (outside.feature_names, outside.categories)
    require(is_same, "trees and model have different columns")


def check_frugal_boosting(model: Any) -> None:
    """Every point of the curve can become the model."""
    for name in ("variants_", "max_budget_", "tradeoff_"):
        require(hasattr(model, name), f"there is no {name}")
    check_greedy_miser(model)
    require(len(model.variants_) > 0, "a model without boosters")
    for variant in model.variants_:
        require(variant.trees.forest.n_features == model.n_features_in_, "trees and model have different features")
        n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
        require(variant.trees.n_outputs == n_outputs, "trees and model have different classes")
    require(not np.isnan(model.max_budget_), "the largest budget is not a number")
    require(model.stop != "confidence" or model.confidence_ >= 0, "an impossible confidence")
    if hasattr(model, "curve_"):
        _check_points(model)


def _check_points(model: Any) -> None:
    """The points of the curve are the measured rounds of the boosters, in their order."""
    curve, records = model.curve_, [record for variant in model.variants_ for record in variant.records]
    require(len(curve.variants) == len(records), "a curve of other boosters")
    points = [(i, r + 1) for i, record in enumerate(records) for r in np.flatnonzero(~np.isnan(record.cost))]
    require(points == list(zip(curve.variant.tolist(), curve.n_trees.tolist(), strict=True)), "a curve of other rounds")

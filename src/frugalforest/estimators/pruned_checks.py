"""What has to hold for the parts of a pruned forest that comes out of a file. Each check raises ValueError if not."""

from __future__ import annotations

import numpy as np

from frugalforest.estimators.pruned_forest import PrunedForestClassifier, Pruning


def check_pruning(pruning: Pruning) -> None:
    """Error and cost of every tree, and numbers that are numbers."""
    for array in (pruning.error, pruning.cost):
        _require(array.shape == (pruning.forest.n_trees,), "a pruning of another number of trees")
    # Sizes whose cost was not measured have NaN.
    _require(not np.isinf(pruning.cost).any() and np.isfinite(pruning.error).all(), "trees without a cost or an error")
    numbers = (pruning.tradeoff, pruning.objective, pruning.bound)
    _require(np.isfinite(numbers).all() and pruning.tradeoff >= 0, "a pruning without a tradeoff or a bound")


def check_pruned_parts(model: PrunedForestClassifier) -> None:
    """Every point of the curve can become the model."""
    for name in ("forest_", "curve_", "prunings_", "class_prior_", "voting_", "reading_", "classes_", "n_features_in_"):
        _require(hasattr(model, name), f"there is no {name}")
    for pruning in model.prunings_:
        _require(pruning.forest.n_features == model.n_features_in_, "trees and model have different features")
        _require(pruning.forest.n_classes == len(model.classes_), "trees and model have different classes")
    n_trees = np.array([pruning.forest.n_trees for pruning in model.prunings_], dtype=np.int64)
    curve = model.curve_
    _require(len(curve.variants) == len(n_trees) > 0, "a curve of other forests")
    _require((curve.n_trees <= n_trees[curve.variant]).all(), "a point with more trees than there are")
    columns = (*model.reading_.zero_is_missing, *model.reading_.categories)
    _require(
        all(0 <= column < model.n_features_in_ for column in columns), "reading names a feature that does not exist"
    )


def _require(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)

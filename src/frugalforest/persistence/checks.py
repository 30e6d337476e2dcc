"""What has to hold for the parts of a loaded model, beyond their types. Each check raises ValueError if it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.acquisition import Order
from frugalforest.data import FeatureEncoder
from frugalforest.data.categories import MAX_CATEGORIES
from frugalforest.data.columns import is_missing
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.estimators.base import FrugalClassifierMixin
from frugalforest.estimators.variants import Variant
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.persistence.keys import refuse_slow_keys

_MAX_FEATURES = 2**20
_LARGEST_SCALE = 1e30  # of scores before they become probabilities
_LARGEST_SCORE = 1e37  # float32 sums overflow from 3.4e38 on
_LARGEST_NUMBER = float(np.finfo(np.float32).max)
_MAX_TABLE_BYTES = 2**32  # of the table that says which features are on the way to each node
_MOST_CATEGORIES = 65_000


def require(holds: Any, what: str) -> None:
    """ValueError with these words unless it holds."""
    if not holds:
        raise ValueError(what)


def require_shape(array: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """ValueError unless the array has this shape."""
    require(array.shape == shape, f"{name} has shape {array.shape} instead of {shape}")


# ---- trees


def check_forest(forest: Forest) -> None:
    """Trees are trees: every walk ends in a leaf of its own tree, whatever the row."""
    require(1 <= forest.n_features < _MAX_FEATURES, f"a forest of {forest.n_features:.6g} features")
    _check_shapes(forest)
    _check_offsets(forest.node_offsets, forest.n_nodes)
    _check_offsets(forest.leaf_offsets, forest.n_leaves)
    n_words = -(-forest.n_features // 64)
    require(forest.n_nodes * n_words * 8 <= _MAX_TABLE_BYTES, "a forest of too many nodes for so many features")
    _check_leaves(forest)
    # What the core needs is for the core to say. Another forest is asked: what it keeps for later goes with it.
    Forest.from_arrays(vars(forest), forest.n_features).apply(np.zeros((0, forest.n_features)))
    _check_preorder(forest)


def _check_shapes(forest: Forest) -> None:
    n_nodes, n_offsets = forest.feature.size, forest.node_offsets.size
    for name in ("feature", "threshold", "missing_left", "right", "category_set"):
        require_shape(getattr(forest, name), (n_nodes,), name)
    for name in ("node_offsets", "leaf_offsets"):
        require_shape(getattr(forest, name), (n_offsets,), name)
    for name in ("category_sets", "leaf_counts"):
        require(getattr(forest, name).ndim == 2, f"{name} has {getattr(forest, name).ndim} dimensions instead of 2")


def _check_offsets(offsets: NDArray[np.int64], n: int) -> None:
    ends_meet = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == n
    # Comparing neighbours: their difference could overflow.
    require(ends_meet and (offsets[:-1] < offsets[1:]).all(), "trees that do not follow each other")


def _check_leaves(forest: Forest) -> None:
    """Every leaf belongs to one node, of its own tree, and counts something."""
    nodes = np.flatnonzero(forest.feature < 0)
    tree = np.searchsorted(forest.node_offsets, nodes, side="right") - 1
    leaves = forest.right[nodes]
    own = (forest.leaf_offsets[tree] <= leaves) & (leaves < forest.leaf_offsets[tree + 1])
    require(own.all(), "a leaf of another tree")
    require((np.bincount(leaves, minlength=forest.n_leaves) == 1).all(), "a leaf that no node, or more than one, has")
    with np.errstate(over="ignore"):
        total = forest.leaf_counts.sum()
    require(np.isfinite(total) and (forest.leaf_counts >= 0).all(), "leaves with impossible counts")
    require((forest.missing_left <= 1).all(), "a missing value that goes neither left nor right")


def _check_preorder(forest: Forest) -> None:
    """A subtree of l leaves has 2 l - 1 nodes one behind the other: its left part first, then its right part."""
    if forest.n_trees == 0:
        return
    leaf_counts = _core.node_counts(forest.feature, forest.right, np.ones((forest.n_leaves, 1)))
    n_nodes_below = 2 * leaf_counts[:, 0].astype(np.int64) - 1
    inner = np.flatnonzero(forest.feature >= 0)
    right_begins = inner + 1 + n_nodes_below[inner + 1]
    roots = forest.node_offsets[:-1]
    in_order = np.array_equal(forest.right[inner], right_begins)
    require(in_order and np.array_equal(n_nodes_below[roots], np.diff(forest.node_offsets)), "nodes out of order")


def check_ensemble(ensemble: Ensemble) -> None:
    """Every leaf adds a number to every class."""
    forest = ensemble.forest
    check_classes(ensemble.classes)
    require_shape(ensemble.values, (forest.n_leaves, ensemble.n_classes), "values")
    require_shape(ensemble.base, (ensemble.n_classes,), "base")
    scales = (ensemble.slope, ensemble.divisor)
    require(all(1 / _LARGEST_SCALE <= scale <= _LARGEST_SCALE for scale in scales), "a sigmoid that is flat or a step")
    largest = np.abs(ensemble.base).max() + forest.n_trees * np.abs(ensemble.values).max(initial=0.0)
    margin = abs(ensemble.slope) * (largest / abs(ensemble.divisor))
    require(largest <= _LARGEST_SCORE and margin <= _LARGEST_SCORE, "scores that are not finite")
    require(ensemble.link != "power", "a link that only stages of cascades have, which are made when they are read")
    require(ensemble.link != "sigmoid" or ensemble.n_classes == 2, "a sigmoid for more than two classes")
    require(ensemble.link != "mean" or _are_shares(ensemble.values), "leaves whose shares of classes do not add up")
    require(ensemble.link != "mean" or ((ensemble.base >= 0) & (ensemble.base <= 1)).all(), "impossible shares")
    require(forest.n_classes in (1, ensemble.n_classes), "leaf_counts and classes do not fit")
    require(ensemble.encoder.n_features == forest.n_features, "encoder and forest have different features")
    columns = (*ensemble.reading.zero_is_missing, *ensemble.reading.categories)
    require(all(0 <= column < forest.n_features for column in columns), "reading names a feature that does not exist")


def _are_shares(values: NDArray[np.float64]) -> bool:
    return bool((values >= 0).all() and np.allclose(values.sum(axis=1), 1, rtol=0, atol=1e-6))


def check_reading(reading: Reading) -> None:
    """Numbers that stand for something fit into a matrix of floats."""
    for number in (reading.missing_value, reading.other_category):
        require(number is None or np.isnan(number) or abs(number) <= _LARGEST_NUMBER, "numbers out of range")


def check_order(order: Order) -> None:
    """Looking for the next feature ends within reasonable time."""
    weights = (order.range_weight, 0.0 if order.hope is None else order.hope)
    require(all(0 <= weight < np.inf for weight in weights), "an order of features with impossible weights")
    steps = (order.most_visits, order.boxes)
    require(all(0 <= n < 2**20 for n in steps), "an order of features that takes too many steps")


# ---- data


def check_encoder(encoder: FeatureEncoder) -> None:
    """Names and categories belong to the columns, each of them once."""
    n_features, names = encoder.n_features, encoder.feature_names
    require_shape(encoder.has_other, (n_features,), "has_other")
    require(names is None or len(set(names)) == len(names) == n_features, "feature names do not fit")
    for column, categories in encoder.categories.items():
        require(0 <= column < n_features, "categories of a column that does not exist")
        refuse_slow_keys(categories)
        require(len(set(categories)) == len(categories), "a category comes twice")
        # Trees of other libraries know more categories than ours, and have no "other".
        most = MAX_CATEGORIES - 1 if encoder.has_other[column] else _MOST_CATEGORIES
        require(len(categories) <= most, "too many categories")
        require(not any(map(is_missing, categories)), "a category is missing")
    require(encoder.is_categorical[encoder.has_other].all(), 'a numeric column with a category "other"')


def check_classes(classes: NDArray[Any]) -> None:
    """One label for each class."""
    require(classes.ndim == 1 and len(classes) >= 2, "classes are not a list of two or more")
    labels = classes.tolist()
    distinct = len(set(map(repr, labels))) == len(labels)  # as text, see refuse_slow_keys: labels may be any numbers
    require(distinct and not any(map(is_missing, labels)), "a class has no label of its own")


# ---- measurements


def check_curve(curve: CostCurve) -> None:
    """Every point has all of its numbers, and a forest it belongs to."""
    for name in ("cost", "error", "n_trees", "variant"):
        require_shape(getattr(curve, name), (curve.cost.size,), name)
    require(np.isfinite(curve.cost).all() and np.isfinite(curve.error).all(), "a curve with points that are not finite")
    require(np.isfinite([curve.total_cost, curve.baseline_error]).all(), "a curve without a total or a baseline")
    own = (curve.variant >= 0) & (curve.variant < len(curve.variants))
    require(own.all() and (curve.n_trees >= 1).all(), "a point of a forest that does not exist")


def check_variant(variant: Variant) -> None:
    """Error, cost and seed of every tree."""
    for name in ("error", "cost", "seeds"):
        require_shape(getattr(variant, name), (variant.n_trees,), name)
    # Sizes whose cost was not measured have NaN.
    require(not np.isinf(variant.cost).any() and np.isfinite(variant.error).all(), "trees without a cost or an error")
    require(variant.least_cost >= 0, "a negative cost")


# ---- models


def check_classifier(model: Any) -> None:
    """All parts are about the same features and classes, and the model answers."""
    _check_parts_fit(model)
    _check_answer(model, model.n_features_in_)


def check_panel(model: Any) -> None:
    """The panel is some of the features, and its estimator, if it is not empty, reads just these."""
    for name in ("panel_", "cost_", "selector_", "estimator_", "class_prior_"):
        require(hasattr(model, name), f"there is no {name}")
    panel, estimator = model.panel_, model.estimator_
    require(panel.ndim == 1 and (np.diff(panel) > 0).all(), "a panel out of order")
    require(len(panel) == 0 or (panel[0] >= 0 and panel[-1] < model.n_features_in_), "a panel of other features")
    require((estimator is None) == (len(panel) == 0), "a panel without an estimator")
    if estimator is not None:
        require(isinstance(estimator, FrugalClassifierMixin), "a panel with an estimator that is none")
        require(estimator.n_features_in_ == len(panel), "panel and estimator have different features")
        require(np.isin(estimator.classes_, model.classes_).all(), "panel and estimator have different classes")
    _check_parts_fit(model)
    require(model.cost_ == model.feature_costs_.of(panel), "a panel that costs something else")
    _check_answer(model, len(panel))


def check_preselected(model: Any) -> None:
    """Selector and estimator are about the same features and classes."""
    for name in ("selector_", "estimator_", "classes_"):
        require(hasattr(model, name), f"there is no {name}")
    estimator = model.estimator_
    require(isinstance(estimator, FrugalClassifierMixin), "an estimator that is none")
    require(hasattr(model.selector_, "support_"), "a selector that is not fitted")
    require_shape(model.selector_.support_, (model.n_features_in_,), "support_")
    require(np.array_equal(estimator.classes_, model.classes_), "model and estimator have different classes")
    require(estimator.n_features_in_ == model.n_features_in_, "model and estimator have different features")
    _check_parts_fit(model)
    _check_answer(model, model.n_features_in_)


def check_candidates(model: Any) -> None:
    """Every candidate is a classifier of the same features and classes, and the model is one of them."""
    for name in ("model_", "method_", "candidates_", "curve_", "max_budget_", "class_prior_"):
        require(hasattr(model, name), f"there is no {name}")
    names = [candidate.name for candidate in model.candidates_]
    require(model.method_ in names, "a method that is not among the candidates")
    require(tuple(names) == model.curve_.variants, "a curve of other methods")
    for fitted in (model.model_, *(candidate.model for candidate in model.candidates_)):
        require(isinstance(fitted, FrugalClassifierMixin) and hasattr(fitted, "at_budget"), "a candidate that is none")
        require(np.array_equal(fitted.classes_, model.classes_), "model and candidate have different classes")
        require(fitted.n_features_in_ == model.n_features_in_, "model and candidate have different features")
    require(model.max_budget_ >= 0, "an impossible largest budget")
    _check_parts_fit(model)
    _check_answer(model, model.n_features_in_)


def check_selector(selector: Any) -> None:
    """The chosen features are some of those that were learned."""
    for name in ("support_", "cost_", "n_features_in_", "encoder_", "feature_costs_", "classes_"):
        require(hasattr(selector, name), f"there is no {name}")
    check_classes(selector.classes_)
    _check_features(selector)
    require_shape(selector.support_, (selector.n_features_in_,), "support_")
    require(selector.cost_ == selector.feature_costs_.of(selector.support_), "a panel that costs something else")


def _check_parts_fit(model: Any) -> None:
    for name in ("n_features_in_", "encoder_", "feature_costs_", "classes_"):
        require(hasattr(model, name), f"there is no {name}")
    check_classes(model.classes_)
    _check_features(model)
    for part in _parts(value for name, value in vars(model).items() if not name.startswith("_")):
        if isinstance(part, Forest | Ensemble):
            require(part.n_features == model.n_features_in_, "trees and model have different features")
            require(part.n_classes == len(model.classes_), "trees and model have different classes")
    prior = getattr(model, "class_prior_", None)
    if prior is not None:
        require_shape(prior, model.classes_.shape, "class_prior_")
        require(np.isfinite(prior).all() and (prior >= 0).all(), "impossible shares of classes")
    if hasattr(model, "_check_parameters"):
        model._check_parameters()


def check_penalized_forest(model: Any) -> None:
    """One forest, or every point of the curve can become the model."""
    if hasattr(model, "curve_") or hasattr(model, "variants_"):
        return check_budget_forest(model)
    for name in ("forest_", "class_prior_", "tradeoff_", "n_estimators_"):
        require(hasattr(model, name), f"there is no {name}")
    check_classifier(model)


def check_budget_forest(model: Any) -> None:
    """Every point of the curve can become the model."""
    for name in ("curve_", "variants_", "max_budget_", "forest_", "class_prior_"):
        require(hasattr(model, name), f"there is no {name}")
    n_trees = np.array([variant.n_trees for variant in model.variants_], dtype=np.int64)
    curve = model.curve_
    require(len(curve.variants) == len(n_trees) > 0, "a curve of other forests")
    require((curve.n_trees <= n_trees[curve.variant]).all(), "a point with more trees than there are")
    require(not np.isnan(model.max_budget_), "the largest budget is not a number")
    check_classifier(model)


def _check_features(model: Any) -> None:
    n_features, encoder, costs = model.n_features_in_, model.encoder_, model.feature_costs_
    require(encoder.n_features == costs.n_features == n_features, "encoder, costs and model have different features")
    names = getattr(model, "feature_names_in_", None)
    known = None if names is None else tuple(names.tolist())
    require(known == encoder.feature_names, "feature_names_in_ are not the names of the columns")


def _parts(values: Any) -> Iterator[Any]:
    """Values, and what is in tuples and variants among them."""
    for value in values:
        if isinstance(value, tuple):
            yield from _parts(value)
        elif isinstance(value, Variant):
            yield value.forest
        else:
            yield value


def _check_answer(model: Any, n_columns: int) -> None:
    """A row of missing values, of as many columns as are read, gets a probability for each class, and a bill."""
    scores, mask = model._read(np.full((1, n_columns), np.nan), with_mask=True)
    require_shape(scores, (1, len(model.classes_)), "the answer")
    require(np.isfinite(scores).all() and np.isfinite(model.feature_costs_.of_rows(mask)).all(), "no proper answer")

"""Fitted scikit-learn trees, forests and boosters. Trees and forests compare float32(x) with a float64 threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from frugalforest.data.categories import Category
from frugalforest.data.columns import is_missing
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.forest import Floats
from frugalforest.importers.encoders import known_columns
from frugalforest.importers.trees import Tree, by_class, joined_words, to_forest


def import_forest(model: Any) -> Ensemble:
    """A forest, or a single tree: the mean of the class shares of the leaves, the first of equals."""
    check_is_fitted(model)
    if model.n_outputs_ > 1:
        raise ValueError(
            f"This {type(model).__name__} predicts {model.n_outputs_} outputs at once, which is not supported. "
            "Fit one model for each output."
        )
    _refuse_one_class(model)
    trees = [_class_tree(tree.tree_) for tree in getattr(model, "estimators_", [model])]
    forest, shares = to_forest(trees, model.n_features_in_)
    return Ensemble(
        forest=forest,
        values=shares,
        base=np.zeros(len(model.classes_)),
        link="mean",
        classes=model.classes_,
        encoder=known_columns(model.n_features_in_, _names(model)),
        reading=Reading(as_float32=True),
    )


def import_gradient_boosting(model: Any) -> Ensemble:
    """GradientBoostingClassifier: from the prior (or 0), learning_rate times the leaves; class 1 if the sum is >= 0."""
    check_is_fitted(model)
    base = _initial_scores(model)
    is_binary = len(model.classes_) == 2
    trees = [_value_tree(tree.tree_, model.learning_rate) for tree in model.estimators_.ravel()]
    forest, values = to_forest(trees, model.n_features_in_)
    n_per_stage = model.estimators_.shape[1]
    class_of_tree = [1 if is_binary else i % n_per_stage for i in range(len(trees))]
    return Ensemble(
        forest=forest,
        values=by_class(forest, values, class_of_tree, len(model.classes_)),
        base=np.array([0.0, *base]) if is_binary else base,
        link="sigmoid" if is_binary else "softmax",
        classes=model.classes_,
        encoder=known_columns(model.n_features_in_, _names(model)),
        reading=Reading(as_float32=True),
        labels_by="score",
        ties_to_last=is_binary,
        slope=2.0 if model.loss == "exponential" else 1.0,
    )


def import_hist_gradient_boosting(model: Any) -> Ensemble:
    """HistGradientBoostingClassifier: sums from its baseline; class 1 if the sum is > 0."""
    check_is_fitted(model)
    _refuse_one_class(model)
    classes = model.classes_
    is_binary = len(classes) == 2
    categories, columns = _categories_and_columns(model)
    predictors = [predictor for stage in model._predictors for predictor in stage]
    n_sets = np.cumsum([0] + [len(predictor.raw_left_cat_bitsets) for predictor in predictors])
    trees = [_hist_tree(predictor, columns, first) for predictor, first in zip(predictors, n_sets, strict=False)]
    bits = joined_words([words for predictor in predictors for words in predictor.raw_left_cat_bitsets])
    forest, values = to_forest(trees, model.n_features_in_, bits)
    class_of_tree = [1 if is_binary else i % len(classes) for i in range(len(trees))]
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    return Ensemble(
        forest=forest,
        values=by_class(forest, values, class_of_tree, len(classes)),
        base=np.array([0.0, *base]) if is_binary else base,
        link="sigmoid" if is_binary else "softmax",
        classes=classes,
        encoder=known_columns(model.n_features_in_, _names(model), categories),
        labels_by="score",
    )


def _refuse_one_class(model: Any) -> None:
    if len(model.classes_) < 2:
        raise ValueError(
            f"This {type(model).__name__} was fitted on one class only, {model.classes_.tolist()[0]!r}: there is "
            "nothing to predict. Fit it on rows of at least two classes."
        )


def _names(model: Any) -> Sequence[str] | None:
    return getattr(model, "feature_names_in_", None)


def _class_tree(tree: Any) -> Tree:
    shares = tree.value[:, 0, :]
    return _tree(tree, shares, shares * tree.weighted_n_node_samples[:, None])


def _value_tree(tree: Any, learning_rate: float) -> Tree:
    return _tree(tree, learning_rate * tree.value[:, 0, :], tree.weighted_n_node_samples[:, None])


def _tree(tree: Any, value: Floats, weight: Floats) -> Tree:
    return Tree(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=value,
        weight=weight,
    )


def _initial_scores(model: Any) -> Floats:
    """Where the scores of every row start, (1,) or (n_classes,)."""
    init = model.init_
    if init != "zero" and not (isinstance(init, DummyClassifier) and init.strategy == "prior"):
        raise ValueError(
            f"This {type(model).__name__} starts from the predictions of {init!r}, which are not made by trees. "
            'Fit it with init=None (the class prior) or init="zero".'
        )
    row = np.zeros((1, model.n_features_in_), np.float32)
    return model._raw_predict_init(row)[0]  # the prior is the same for every row


def _categories_and_columns(model: Any) -> tuple[dict[int, list[Category]], NDArray[np.intp]]:
    """Categories by column of X, and the column of X behind each feature of the trees: categorical ones come first."""
    mask = model.is_categorical_
    if mask is None:
        return {}, np.arange(model.n_features_in_)
    categorical = np.flatnonzero(mask)
    learned = model._preprocessor.named_transformers_["encoder"].categories_
    categories = {int(column): _named(values.tolist()) for column, values in zip(categorical, learned, strict=True)}
    return categories, np.concatenate([categorical, np.flatnonzero(~mask)])


def _named(categories: list[Any]) -> list[Category]:
    """The categories without NaN, which comes last and is no category to the trees."""
    if None in categories:
        raise ValueError(
            "The model has None for a category of its own, apart from missing values, which is not supported. "
            "Replace None (null) by NaN or by a category such as 'none' before fitting."
        )
    return [category for category in categories if not is_missing(category)]


def _hist_tree(predictor: Any, columns: NDArray[np.intp], first_set: int) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_categorical = nodes["is_categorical"].astype(bool) & ~is_leaf
    return Tree(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=nodes["right"].astype(np.int64),
        feature=columns[np.where(is_leaf, 0, nodes["feature_idx"])],
        threshold=np.where(is_categorical, 0.0, nodes["num_threshold"]),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"][:, None],
        weight=nodes["count"].astype(np.float64)[:, None],
        category_set=np.where(is_categorical, nodes["bitset_idx"].astype(np.int64) + first_set, -1),
    )

"""Fitted LightGBM models, read from the text that LightGBM saves. Nothing of it is rounded there but the sigmoid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.data.categories import Category
from frugalforest.ensemble import ZERO, Ensemble, Link, Reading
from frugalforest.forest import Floats
from frugalforest.importers.encoders import known_columns
from frugalforest.importers.trees import Integers, Tree, by_class, joined_words, single_leaf, to_forest

LINKS: dict[str, Link] = {"binary": "sigmoid", "multiclass": "softmax", "multiclassova": "one_vs_all"}

# Bits of decision_type
CATEGORICAL, DEFAULT_LEFT = 1, 2
NONE_MISSING, ZERO_MISSING = 0, 1  # shifted by two; 2: NaN is missing

# LightGBM reads integers in arrays as float32 and integers in frames as float64.
LARGEST_INTEGER = 2**24

Lines = dict[str, str]  # name -> what stands behind "="


def import_classifier(model: Any) -> Ensemble:
    """LGBMClassifier: the trees up to the best iteration; the first of the classes with the largest probability."""
    booster = model.booster_
    if model.get_params().get("pred_early_stop"):
        raise ValueError(
            "This LGBMClassifier stops adding trees early (pred_early_stop=True), which is not supported. "
            "Take it away with set_params(pred_early_stop=False)."
        )
    ensemble = import_booster(booster)
    if len(model.classes_) != ensemble.n_classes:
        raise ValueError(
            f"This LGBMClassifier predicts {ensemble.n_classes} classes, but was fitted on labels of "
            f"{len(model.classes_)}. Fit it on at least two classes."
        )
    return replace(ensemble, classes=model.classes_)


def import_booster(booster: Any) -> Ensemble:
    """Booster: as the classifier; its classes are 0, 1, ..."""
    header, blocks = _parse(booster.model_to_string())
    link, slope = _link(header, booster)
    _refuse_linear_trees(blocks)
    splits = [_numbers(block) for block in blocks]
    n_features = int(header["max_feature_idx"]) + 1
    n_sets = np.cumsum([0] + [int(block["num_cat"]) for block in blocks])
    trees = [_tree(numbers, first) for numbers, first in zip(splits, n_sets, strict=False)]
    forest, values = to_forest(trees, n_features, joined_words([s for block in blocks for s in _category_sets(block)]))
    n_per_stage = int(header["num_tree_per_iteration"])
    n_classes = 2 if link == "sigmoid" else n_per_stage
    return Ensemble(
        forest=forest,
        values=by_class(
            forest, values, ((i % n_per_stage) + (link == "sigmoid") for i in range(len(trees))), n_classes
        ),
        base=np.zeros(n_classes),
        link=link,
        classes=np.arange(n_classes),
        encoder=known_columns(n_features, _names(header), _pandas_categories(header, booster)),
        reading=Reading(
            zero_is_missing=_features_with_missing_zeros(splits),
            categories=tuple(np.unique(forest.feature[forest.category_set >= 0]).tolist()),
            largest_integer=LARGEST_INTEGER,
        ),
        blanks_as_underscores=True,
        slope=slope,
        divisor=max(1, len(trees) // n_per_stage) if "average_output" in header else 1,
    )


# ---- the text


def _parse(text: str) -> tuple[Lines, list[Lines]]:
    """The lines of the header and of each tree."""
    header, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    return _lines(header), [_lines(block) for block in blocks]


def _lines(text: str) -> Lines:
    return {name: value for name, _, value in (line.partition("=") for line in text.splitlines())}


def _link(header: Lines, booster: Any) -> tuple[Link, float]:
    objective, *options = header.get("objective", "custom").split(" ")
    if objective not in LINKS:
        raise ValueError(
            f"The objective of this LightGBM model is {objective}, which does not make class probabilities known here. "
            f"Supported are {', '.join(LINKS)}."
        )
    written = dict(option.split(":") for option in options).get("sigmoid", "1")
    # Six digits are written, and read again at the end of training; only a model still in training has them all.
    exact = booster.params.get("sigmoid", written) if hasattr(booster, "train_set") else written
    return LINKS[objective], float(exact)


def _refuse_linear_trees(blocks: list[Lines]) -> None:
    if any(block.get("is_linear", "0") != "0" for block in blocks):
        raise ValueError(
            "This LightGBM model has linear models in its leaves (linear_tree=True), which are not supported. "
            "Fit it with linear_tree=False."
        )


def _names(header: Lines) -> list[str] | None:
    """The names of the columns; None for those that LightGBM makes up."""
    names = header["feature_names"].split(" ")
    return None if names == [f"Column_{i}" for i in range(len(names))] else names


def _pandas_categories(header: Lines, booster: Any) -> dict[int, list[Category]]:
    """The categories of columns of pandas' category type, whose codes the trees compare.

    LightGBM stores the categories in the order of the columns, but not which columns these are: the categorical ones,
    if there are as many.
    """
    stored = booster.pandas_categorical or []
    infos = header["feature_infos"].split(" ")
    marked = booster.params.get("categorical_column", booster.params.get("categorical_feature"))
    seen = [i for i, info in enumerate(infos) if info != "none" and not info.startswith("[")]
    columns = marked if isinstance(marked, list) and set(seen) <= set(marked) else seen
    fitting = len(columns) == len(stored) and all(
        int(code) < len(categories)
        for column, categories in zip(columns, stored, strict=True)
        if column in seen
        for code in infos[column].split(":")
    )
    if stored and not fitting:
        raise ValueError(
            f"This LightGBM model was fitted on {len(stored)} pandas columns of category type and on {len(columns)} "
            "categorical features, and does not say which belong together. Make every such column an unordered "
            "category and mark no others as categorical, or give codes (.cat.codes) when fitting."
        )
    return dict(zip(columns, stored, strict=True)) if stored else {}


# ---- trees


def _numbers(block: Lines) -> dict[str, NDArray[Any]]:
    """The arrays of a tree: (n_leaves - 1,) of its splits, (n_leaves,) of its leaves."""
    integers = ("split_feature", "decision_type", "left_child", "right_child", "leaf_count")
    numbers: dict[str, NDArray[Any]] = {name: _array(block, name, np.int64) for name in integers}
    return numbers | {name: _array(block, name, np.float64) for name in ("threshold", "leaf_value")}


def _array(block: Lines, name: str, dtype: type[Any]) -> NDArray[Any]:
    return np.array(block.get(name, "").split(), dtype=dtype)


def _category_sets(block: Lines) -> list[NDArray[np.uint32]]:
    words = _array(block, "cat_threshold", np.uint32)
    return np.split(words, _array(block, "cat_boundaries", np.int64)[1:-1]) if len(words) else []


def _features_with_missing_zeros(splits: list[dict[str, NDArray[Any]]]) -> tuple[int, ...]:
    zeros, others = set(), set()
    for s in splits:
        numeric = s["decision_type"] & CATEGORICAL == 0
        is_zero = s["decision_type"] >> 2 == ZERO_MISSING
        zeros.update(s["split_feature"][numeric & is_zero].tolist())
        others.update(s["split_feature"][numeric & ~is_zero].tolist())
    if zeros & others:
        raise ValueError(
            f"Feature {min(zeros & others)} of this LightGBM model takes 0 for a missing value in some trees and for a "
            "number in others, which is not supported. Fit all its trees with the same zero_as_missing."
        )
    return tuple(sorted(zeros))


def _tree(numbers: dict[str, NDArray[Any]], first_set: int) -> Tree:
    n_splits, n_leaves = len(numbers["split_feature"]), len(numbers["leaf_value"])
    if n_splits == 0:
        return single_leaf(numbers["leaf_value"][0])
    kind, threshold = numbers["decision_type"], numbers["threshold"]
    is_categorical = kind & CATEGORICAL > 0
    missing_left = np.where(
        kind >> 2 == NONE_MISSING, threshold >= 0, kind & DEFAULT_LEFT > 0
    )  # none: NaN is read as 0
    sets = np.where(is_categorical, threshold, -1 - first_set).astype(np.int64) + first_set
    leaves = np.zeros(n_leaves, np.int64)
    counts = numbers["leaf_count"] if len(numbers["leaf_count"]) else np.ones(n_leaves)
    return Tree(
        left=np.concatenate([_children(numbers["left_child"], n_splits), leaves - 1]),
        right=np.concatenate([_children(numbers["right_child"], n_splits), leaves]),
        feature=np.concatenate([numbers["split_feature"], leaves]),
        threshold=np.concatenate([np.where(is_categorical, 0.0, _around_zero(threshold)), leaves]),
        missing_left=np.concatenate([missing_left & ~is_categorical, leaves > 0]),
        value=np.concatenate([np.zeros(n_splits), numbers["leaf_value"]])[:, None],
        weight=np.concatenate([np.zeros(n_splits), counts])[:, None],
        category_set=np.concatenate([sets, leaves - 1]),
    )


def _children(numbers: Integers, n_splits: int) -> Integers:
    """LightGBM numbers splits from 0 up and leaves from -1 down; here leaves come behind the splits."""
    return np.where(numbers >= 0, numbers, n_splits + ~numbers)


def _around_zero(threshold: Floats) -> Floats:
    """Thresholds for numbers as they are, where LightGBM reads those of at most 1e-35 as 0."""
    below = np.where((threshold >= -ZERO) & (threshold < 0), np.nextafter(-ZERO, -np.inf), threshold)
    return np.where((below >= 0) & (below <= ZERO), ZERO, below)

"""Fitted XGBoost models, read from the JSON that XGBoost saves: all numbers and sums in float32, x < t goes left."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.data.categories import Category
from frugalforest.ensemble import Ensemble, Link, Reading
from frugalforest.importers.encoders import known_columns
from frugalforest.importers.trees import Tree, by_class, category_bits, to_forest

LINKS: dict[str, Link] = {"binary:logistic": "sigmoid", "multi:softprob": "softmax", "multi:softmax": "softmax"}
FIRST_WITH_CATEGORIES = [3, 1]  # older versions do not store the categories of frames

Json = dict[str, Any]
Floats32 = NDArray[np.float32]


def import_classifier(model: Any) -> Ensemble:
    """XGBClassifier: the trees up to the best iteration; class 1 if its probability in float32 is above 0.5."""
    booster = model.get_booster()  # scikit-learn's NotFittedError if there is none
    document = _document(booster)
    objective = document["learner"]["objective"]["name"]
    if model.n_classes_ < 2 or (model.n_classes_ == 2 and objective == "multi:softprob"):
        raise ValueError(
            f"This XGBClassifier was fitted on {model.n_classes_} class(es) with the objective {objective}, for which "
            "it does not predict labels. Fit it on two classes with binary:logistic, or on more."
        )
    best_iteration = document["learner"]["attributes"].get("best_iteration")
    n_rounds = None if best_iteration is None else int(best_iteration) + 1
    # predict() of the classifier goes another way than that of the booster, which matters to dart.
    return _import(booster, document, n_rounds, model.missing, in_place=True)


def import_booster(booster: Any) -> Ensemble:
    """Booster: all its trees, as its own predict uses them; its classes are 0, 1, ..."""
    return _import(booster, _document(booster), None, np.nan, in_place=False)


def _import(booster: Any, document: Json, n_rounds: int | None, missing: float, *, in_place: bool) -> Ensemble:
    learner = document["learner"]
    link = _checked_link(learner)
    model, tree_weights = _tree_model(learner)
    _refuse_vectors(learner, model)
    categories = _categories(document, model)
    base = _base_margins(booster, document)
    end = len(model["trees"]) if n_rounds is None else model["iteration_indptr"][n_rounds]
    class_of_tree = np.array(model["tree_info"][:end], np.int64)
    starts = base[class_of_tree] if in_place else np.zeros(end, np.float32)
    bits = _left_bits(_category_sets(model["trees"][:end]))
    n_features = int(learner["learner_model_param"]["num_feature"])
    forest, values = to_forest(_trees(model["trees"][:end], tree_weights, starts), n_features, bits)
    is_binary = link == "sigmoid"
    n_classes = 2 if is_binary else len(base)
    return Ensemble(
        forest=forest,
        values=by_class(forest, values, (class_of_tree + is_binary).tolist(), n_classes),
        base=np.array([0.0, *base]) if is_binary else base.astype(np.float64),
        link=link,
        classes=np.arange(n_classes),
        encoder=known_columns(n_features, learner["feature_names"] or None, categories),
        reading=Reading(
            as_float32=True,
            missing_value=None if np.isnan(missing) else float(missing),
            categories=tuple(np.unique(forest.feature[forest.category_set >= 0]).tolist()),
            other_category=64 * bits.shape[1] - 1 if len(bits) else None,  # the last bit belongs to no category
        ),
        only_known_categories=True,
        sums_as_float32=True,
        labels_by="score" if learner["objective"]["name"] == "multi:softmax" else "probability",
    )


# ---- the document


def _document(booster: Any) -> Json:
    return json.loads(booster.save_raw("json"))


def _checked_link(learner: Json) -> Link:
    objective = learner["objective"]["name"]
    if objective not in LINKS:
        raise ValueError(
            f"The objective of this XGBoost model is {objective}, which does not make class probabilities known here. "
            f"Supported are {', '.join(LINKS)}."
        )
    return LINKS[objective]


def _tree_model(learner: Json) -> tuple[Json, Floats32 | None]:
    """The part with the trees, and their weights if it is a dart model."""
    booster = learner["gradient_booster"]
    if booster["name"] == "dart":
        return booster["gbtree"]["model"], np.array(booster["weight_drop"], np.float32)
    if booster["name"] != "gbtree":
        raise ValueError(
            f"The booster of this XGBoost model is {booster['name']}, which has no trees. "
            'Fit it with booster="gbtree" or booster="dart".'
        )
    return booster["model"], None


def _refuse_vectors(learner: Json, model: Json) -> None:
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise ValueError(
            "This XGBoost model predicts several labels at once, which is not supported. Fit one model for each."
        )
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in model["trees"]):
        raise ValueError(
            'This XGBoost model has vectors in its leaves (multi_strategy="multi_output_tree"), which are not '
            'supported. Fit it with multi_strategy="one_output_per_tree".'
        )


def _base_margins(booster: Any, document: Json) -> Floats32:
    """Where sums start, (1,) or (n_classes,): the answer of the same model without its trees.

    Asked for instead of computed from base_score, since the logarithm of float32 numbers differs between machines.
    """
    learner = document["learner"]
    model, _ = _tree_model(learner)
    bare_model = model | {"trees": [], "tree_info": [], "iteration_indptr": [0]}
    bare_model["gbtree_model_param"] = model["gbtree_model_param"] | {"num_trees": "0"}
    bare = learner | {"gradient_booster": {"name": "gbtree", "model": bare_model}}
    # A model without trees counts as one whose base_score is still to be estimated, unless this says that it was given.
    bare["learner_model_param"] = learner["learner_model_param"] | {"boost_from_average": "0"}
    treeless = type(booster)(model_file=bytearray(json.dumps(document | {"learner": bare}).encode()))
    row = np.zeros((1, int(learner["learner_model_param"]["num_feature"])), np.float32)
    return np.ravel(treeless.inplace_predict(row, predict_type="margin", validate_features=False))


def _categories(document: Json, model: Json) -> dict[int, list[Category]]:
    """The categories of the columns of a frame, in the order of their codes."""
    if "c" not in document["learner"]["feature_types"]:
        return {}
    if document["version"][:2] < FIRST_WITH_CATEGORIES:
        raise ValueError(
            "This version of XGBoost does not store the categories of its features. "
            "Fit the model with XGBoost 3.1 or later, or without categorical features."
        )
    stored = ((i, _category_names(encoding)) for i, encoding in enumerate(model["cats"]["enc"]))
    return {i: names for i, names in stored if names}


def _category_names(encoding: Json) -> list[Category]:
    if "offsets" not in encoding:
        return encoding["values"]
    if any(byte < 0 for byte in encoding["values"]):
        raise ValueError(
            "A categorical feature of this XGBoost model has categories in letters beyond ASCII, of which XGBoost "
            "stores only a part. Rename these categories before fitting."
        )
    text, offsets = bytes(encoding["values"]).decode(), encoding["offsets"]
    return [text[begin:end] for begin, end in pairwise(offsets)]


# ---- trees


def _trees(trees: Sequence[Json], tree_weights: Floats32 | None, starts: Floats32) -> list[Tree]:
    """The trees; starts: (n_trees,), what each is added to in place before its weight is applied."""
    n_sets = np.cumsum([0] + [len(tree["categories_nodes"]) for tree in trees])
    weights = [None] * len(trees) if tree_weights is None else tree_weights
    return [_tree(*parts) for parts in zip(trees, n_sets, weights, starts, strict=False)]


def _tree(tree: Json, first_set: int, tree_weight: np.float32 | None, start: np.float32) -> Tree:
    left = np.array(tree["left_children"], np.int64)
    numbers = np.array(tree["split_conditions"], np.float32)  # thresholds of splits, values of leaves
    category_set = np.full(len(left), -1)
    category_set[tree["categories_nodes"]] = first_set + np.arange(len(tree["categories_nodes"]))
    value = numbers if tree_weight is None else _weighted(numbers, tree_weight, start)
    return Tree(
        left=left,
        right=np.array(tree["right_children"], np.int64),
        feature=np.array(tree["split_indices"], np.int64),
        threshold=np.where(category_set < 0, np.nextafter(numbers, np.float32(-np.inf)), 0.0).astype(np.float64),
        missing_left=np.array(tree["default_left"], bool),
        value=value.astype(np.float64)[:, None],
        weight=np.array(tree["sum_hessian"], np.float64)[:, None],
        category_set=category_set,
    )


def _weighted(values: Floats32, weight: np.float32, start: np.float32) -> Floats32:
    """What a leaf of a dart model adds: its value times the weight of its tree.

    In place, XGBoost adds the tree to its base margin and takes that off again, which rounds.
    """
    return ((values + start) - start) * weight


def _category_sets(trees: Sequence[Json]) -> list[NDArray[np.int64]]:
    """Categories that go right, of every categorical split."""
    return [
        np.array(tree["categories"][begin : begin + size], np.int64)
        for tree in trees
        for begin, size in zip(tree["categories_segments"], tree["categories_sizes"], strict=True)
    ]


def _left_bits(sets: Sequence[NDArray[np.int64]]) -> NDArray[np.uint64]:
    """Categories that go left: all that a set does not name, and a last bit for those that no set names."""
    largest = max((int(members.max()) for members in sets if len(members)), default=-1)
    return ~category_bits(sets, largest + 2)

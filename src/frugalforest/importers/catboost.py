"""Fitted CatBoost models, read from the JSON that CatBoost saves: float32(x) > border goes right, sums in float64."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from frugalforest.ensemble import Ensemble, Link, Reading
from frugalforest.forest import Floats
from frugalforest.importers.encoders import HashedCategoryEncoder, known_columns
from frugalforest.importers.trees import Tree, category_bits, to_forest

LINKS: dict[str, Link] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "one_vs_all",
}
WAY_OUT = {
    "OnlineCtr": "statistics of the target by category (CTR): fit it with one_hot_max_size at least the number of "
    "categories of every categorical feature",
    "EstimatedFeature": "text or embedding features: turn them into numbers before fitting",
}

Json = dict[str, Any]


def import_catboost(model: Any) -> Ensemble:
    """CatBoostClassifier or CatBoost: the class of the largest raw value, class 1 if that is > 0."""
    if not model.is_fitted():
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet: call fit first.")
    _refuse_text(model)
    document = _document(model)
    link = _checked_link(document)
    _refuse_changed_rule(model, document)
    classes = np.asarray(model.classes_)
    n_features = len(model.feature_names_)
    splits = _Splits.of(document)
    trees = [_symmetric_tree(tree, splits, _n_values(link, classes)) for tree in document.get("oblivious_trees", [])]
    trees += [_nested_tree(tree, splits) for tree in document.get("trees", [])]
    forest, values = to_forest(trees, n_features, splits.left_bits())
    bias = np.array(document["scale_and_bias"][1], np.float64)
    is_binary = link == "sigmoid"
    return Ensemble(
        forest=forest,
        values=np.pad(values, ((0, 0), (1, 0))) if is_binary else values,
        base=np.array([0.0, *bias]) if is_binary else bias,
        link=link,
        classes=classes,
        encoder=known_columns(n_features, _names(model), splits.hashes, encoder=HashedCategoryEncoder),
        reading=Reading(as_float32=True),
        labels_by="score",
        base_last=True,
    )


def _n_values(link: Link, classes: NDArray[Any]) -> int:
    return 1 if link == "sigmoid" else len(classes)


def _names(model: Any) -> list[str] | None:
    """The names of the columns; None for those that CatBoost makes up."""
    names = list(model.feature_names_)
    return None if names == [str(i) for i in range(len(names))] else names


# ---- the document


def _document(model: Any) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _checked_link(document: Json) -> Link:
    loss = document["model_info"].get("params", {}).get("loss_function", {}).get("type")
    if loss is None:
        raise ValueError(
            "This CatBoost model does not say which loss function it was fitted with, so nothing is known about its "
            "labels; those that sum_models has made do not. Give a model as it was fitted."
        )
    if loss not in LINKS:
        raise ValueError(
            f"The loss function of this CatBoost model is {loss}, which does not make class probabilities known here. "
            f"Supported are {', '.join(LINKS)}."
        )
    return LINKS[loss]


def _refuse_text(model: Any) -> None:
    if model.get_text_feature_indices() or model.get_embedding_feature_indices():
        raise ValueError(f"This CatBoost model reads {WAY_OUT['EstimatedFeature']}.")


def _refuse_changed_rule(model: Any, document: Json) -> None:
    metadata = model.get_metadata()
    if "binclass_probability_threshold" in metadata.keys():  # noqa: SIM118 (no mapping)
        raise ValueError(
            "The labels of this CatBoost model are decided by a probability threshold of its own, which is not "
            "supported. Take it away with set_probability_threshold(None)."
        )
    if document["scale_and_bias"][0] != 1:
        raise ValueError(
            f"This CatBoost model multiplies its sums by {document['scale_and_bias'][0]}, which is not supported. "
            "Set the scale to 1: set_scale_and_bias(1, bias)."
        )


# ---- splits


@dataclass(frozen=True, eq=False)
class _Splits:
    """How the splits of a document read X."""

    numeric: dict[int, tuple[int, bool]]  # CatBoost's number of a numeric feature -> its column, missing goes left
    categorical: dict[int, int]  # CatBoost's number of a categorical feature -> its column
    hashes: dict[int, list[int]]  # column -> the hashes of the categories that splits ask for
    sets: dict[tuple[int, int], int]  # column, hash -> its set

    @classmethod
    def of(cls, document: Json) -> _Splits:
        """Learn the columns and the categories of all splits of a document."""
        info = document["features_info"]
        numeric = {
            feature["feature_index"]: (feature["flat_feature_index"], feature["nan_value_treatment"] != "AsTrue")
            for feature in info.get("float_features", [])
        }
        categorical = {f["feature_index"]: f["flat_feature_index"] for f in info.get("categorical_features", [])}
        hashes: dict[int, list[int]] = {column: [] for column in categorical.values()}
        sets: dict[tuple[int, int], int] = {}
        for split in _all_splits(document):
            _refuse_split(split)
            if split["split_type"] == "OneHotFeature":
                key = categorical[split["cat_feature_index"]], split["value"] & 0xFFFFFFFF
                if key not in sets:
                    sets[key] = len(sets)
                    hashes[key[0]].append(key[1])
        return cls(numeric, categorical, hashes, sets)

    def read(self, splits: Sequence[Json]) -> tuple[NDArray[Any], ...]:
        """Column, threshold, missing_left and category_set of splits, each (n_splits,)."""
        rows = [self._read_one(split) for split in splits]
        columns = zip(*rows, strict=True) if rows else ([], [], [], [])
        return tuple(np.array(c, t) for c, t in zip(columns, (np.int64, float, bool, np.int64), strict=True))

    def _read_one(self, split: Json) -> tuple[int, float, bool, int]:
        if split["split_type"] == "OneHotFeature":
            column = self.categorical[split["cat_feature_index"]]
            return column, 0.0, True, self.sets[column, split["value"] & 0xFFFFFFFF]
        column, missing_left = self.numeric[split["float_feature_index"]]
        return column, split["border"], missing_left, -1

    def left_bits(self) -> NDArray[np.uint64]:
        """Categories that go left: all but the one of the split. Those that no split asks for are missing, and too."""
        members = [np.array([self.hashes[column].index(value)]) for column, value in self.sets]
        return ~category_bits(members, max((len(values) for values in self.hashes.values()), default=1))


def _all_splits(document: Json) -> list[Json]:
    splits = [split for tree in document.get("oblivious_trees", []) for split in tree["splits"] or []]
    open_nodes = list(document.get("trees", []))
    while open_nodes:
        node = open_nodes.pop()
        if "split" in node:
            splits.append(node["split"])
            open_nodes += [node["left"], node["right"]]
    return splits


def _refuse_split(split: Json) -> None:
    kind = split["split_type"]
    if kind not in ("FloatFeature", "OneHotFeature"):
        raise ValueError(f"This CatBoost model reads {WAY_OUT.get(kind, f'features of the kind {kind}')}.")


# ---- trees


def _symmetric_tree(tree: Json, splits: _Splits, n_values: int) -> Tree:
    """A tree with one split for each level. Bit i of a leaf's number says whether the row went right at split i."""
    column, threshold, missing_left, category_set = splits.read(tree["splits"] or [])
    depth = len(column)
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))  # of each inner node, in the order of a heap
    n_inner, n_leaves = len(level), 2**depth
    node = np.arange(n_inner)
    leaves = np.zeros(n_leaves, np.int64)
    place = np.arange(n_leaves)  # of each leaf from left to right: the first split is its highest bit
    number = sum((place >> (depth - 1 - i) & 1) << i for i in range(depth)) + leaves
    value = np.array(tree["leaf_values"], np.float64).reshape(n_leaves, n_values)
    weight = np.array(tree.get("leaf_weights") or np.ones(n_leaves), np.float64)
    return Tree(
        left=np.concatenate([2 * node + 1, leaves - 1]),
        right=np.concatenate([2 * node + 2, leaves - 1]),
        feature=np.concatenate([column[level], leaves]),
        threshold=np.concatenate([threshold[level], leaves]),
        missing_left=np.concatenate([missing_left[level], leaves > 0]),
        value=_behind(n_inner, value[number]),
        weight=_behind(n_inner, weight[number][:, None]),
        category_set=np.concatenate([category_set[level], leaves - 1]),
    )


def _nested_tree(tree: Json, splits: _Splits) -> Tree:
    """A tree of nodes inside nodes."""
    nodes, children = [tree], []
    for node in nodes:  # grows on the way
        children.append(len(nodes) if "split" in node else -1)
        nodes += [node["left"], node["right"]] if "split" in node else []
    left = np.array(children)
    inner = np.flatnonzero(left >= 0)
    column, threshold, missing_left, category_set = splits.read([nodes[i]["split"] for i in inner])
    values = [np.atleast_1d(node.get("value", 0.0)) for node in nodes]
    width = max(len(value) for value in values)
    return Tree(
        left=left,
        right=left + 1,
        feature=_at(inner, column, np.zeros(len(nodes), np.int64)),
        threshold=_at(inner, threshold, np.zeros(len(nodes))),
        missing_left=_at(inner, missing_left, np.zeros(len(nodes), bool)),
        value=np.array([np.broadcast_to(value, width) for value in values], np.float64),
        weight=np.array([[node.get("weight", 1.0)] for node in nodes], np.float64),
        category_set=_at(inner, category_set, np.full(len(nodes), -1)),
    )


def _behind(n_inner: int, of_leaves: Floats) -> Floats:
    return np.concatenate([np.zeros((n_inner, of_leaves.shape[1])), of_leaves])


def _at(places: NDArray[np.intp], values: NDArray[Any], array: NDArray[Any]) -> NDArray[Any]:
    array[places] = values
    return array

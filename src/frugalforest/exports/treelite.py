"""Ensembles as treelite models: the exchange format of compilers for trees and of libraries that run them on GPUs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.ensemble import Ensemble
from frugalforest.exports.description import description
from frugalforest.exports.extras import load
from frugalforest.exports.trees import CategorySplits, with_a_tree
from frugalforest.forest import Floats

POSTPROCESSORS = {
    "mean": "identity_multiclass",
    "sigmoid": "sigmoid",
    "softmax": "softmax",
    "one_vs_all": "multiclass_ova",
}
NEXT_TO_FLOAT32 = 2.0**128  # the next number after the largest float32, if there were one


def to_treelite(ensemble: Ensemble, *, feature_costs: FeatureCosts | None = None) -> Any:
    """The ensemble as a treelite.Model, for rows of the encoded matrix.

    treelite.gtil.predict gives probabilities, (n_rows, 1, n_classes), of a sigmoid only that of the second class,
    (n_rows, 1, 1); with pred_margin=True what they are made of. The label is the most probable class. Of a softmax it
    is the class of the largest margin: treelite computes its probabilities in single precision.

    The attributes of the model say what the numbers mean, under "frugalforest": names, categories, classes, and the
    prices of `feature_costs`.
    """
    library = load("treelite.model_builder")
    _refuse_readings(ensemble)
    _refuse_rounding(ensemble)
    attributes = {"frugalforest": description(ensemble, feature_costs)}
    ensemble = with_a_tree(ensemble)
    outputs, added_last = _outputs(ensemble)
    builder = _start(library, ensemble, ensemble.forest.n_trees + len(added_last), attributes)
    _add_trees(builder, ensemble, [_leaf_value(row, ensemble) for row in outputs.tolist()])
    for row in added_last.tolist():
        builder.start_tree()
        _add_leaf(builder, 0, _leaf_value(row, ensemble))
        builder.end_tree()
    return builder.commit()


# ---- what treelite cannot do


def _refuse_readings(ensemble: Ensemble) -> None:
    if ensemble.reading.zero_is_missing or ensemble.reading.missing_value is not None:
        raise ValueError(
            "treelite takes NaN for missing and nothing else, but this model also reads some number as missing. Fit it "
            "with NaN in its place, or export it to ONNX."
        )


def _refuse_rounding(ensemble: Ensemble) -> None:
    if not ensemble.sums_as_float32:
        return
    leaves_fit = np.array_equal(ensemble.values, ensemble.values.astype(np.float32))
    if not ensemble.reading.as_float32 or ensemble.base_last or not leaves_fit:
        raise ValueError(
            "treelite computes in float32 or in float64 throughout, but this model rounds only some of its numbers to "
            "float32. Export it to ONNX."
        )


# ---- the model


def _outputs(ensemble: Ensemble) -> tuple[Floats, Floats]:
    """What each leaf adds, (n_leaves, n_outputs), and rows to add after all trees, (0 or 1, n_outputs).

    treelite would add the base after the trees, and read it with a rounding error. Where sums start from it, it is
    part of the first tree: its sum with a leaf rounds as ours does.
    """
    values, base = ensemble.values.copy(), ensemble.base
    if ensemble.link != "mean" and not ensemble.sums_as_float32:
        # treelite has a parameter for this, but only for the sigmoid and in single precision.
        factor = ensemble.slope / ensemble.divisor
        values, base = values * factor, base * factor
    if ensemble.link == "sigmoid":
        values, base = values[:, 1:] - values[:, :1], base[1:] - base[:1]
    if ensemble.base_last and ensemble.link != "mean":  # a mean over trees has no room for another one
        return values, base[None, :]
    values[: ensemble.forest.leaf_offsets[1]] += base
    return values, base[None, :][:0]


def _start(library: Any, ensemble: Ensemble, n_trees: int, attributes: dict[str, Any]) -> Any:
    n_outputs = 1 if ensemble.link == "sigmoid" else ensemble.n_classes
    number = "float32" if ensemble.sums_as_float32 else "float64"
    return library.ModelBuilder(
        threshold_type=number,
        leaf_output_type=number,
        metadata=library.Metadata(
            num_feature=ensemble.n_features,
            task_type="kBinaryClf" if ensemble.link == "sigmoid" else "kMultiClf",
            average_tree_output=ensemble.link == "mean",
            num_target=1,
            num_class=[n_outputs],
            leaf_vector_shape=(1, n_outputs),
        ),
        tree_annotation=library.TreeAnnotation(
            num_tree=n_trees,
            target_id=[0] * n_trees,
            class_id=[0 if n_outputs == 1 else -1] * n_trees,
        ),
        postprocessor=library.PostProcessorFunc(name=POSTPROCESSORS[ensemble.link]),
        base_scores=[0.0] * n_outputs,
        # Through JSON, so that what it cannot hold, a date say, becomes text.
        attributes=json.loads(json.dumps(attributes, default=str)),
    )


def _leaf_value(row: list[float], ensemble: Ensemble) -> float | list[float]:
    return row[0] if ensemble.link == "sigmoid" else row


def _add_trees(builder: Any, ensemble: Ensemble, leaf_values: list[float | list[float]]) -> None:
    forest = ensemble.forest
    thresholds, splits = _thresholds(ensemble), CategorySplits.of(ensemble)
    for first, end in zip(forest.node_offsets[:-1].tolist(), forest.node_offsets[1:].tolist(), strict=True):
        builder.start_tree()
        for node in range(first, end):
            if forest.feature[node] < 0:
                _add_leaf(builder, node - first, leaf_values[forest.right[node]])
            else:
                _add_split(builder, splits, node, first, float(thresholds[node]))
        builder.end_tree()


def _add_leaf(builder: Any, key: int, value: float | list[float]) -> None:
    builder.start_node(key)
    builder.leaf(value)
    builder.end_node()


def _add_split(builder: Any, splits: CategorySplits, node: int, root: int, threshold: float) -> None:
    forest = splits.forest
    common = {
        "default_left": bool(forest.missing_left[node]),
        "left_child_key": node + 1 - root,
        "right_child_key": int(forest.right[node]) - root,
    }
    builder.start_node(node - root)
    if forest.category_set[node] < 0:
        builder.numerical_test(int(forest.feature[node]), threshold, opname="<=", **common)
    else:
        # Listed are the numbers that part from those outside, which a list cannot name.
        outside_left = bool(splits.outside_left[node])
        builder.categorical_test(
            int(forest.feature[node]),
            category_list=np.flatnonzero(splits.left_mask(node) != outside_left).tolist(),
            category_list_right_child=outside_left,
            **common,
        )
    builder.end_node()


# ---- thresholds for numbers that are rounded to float32 before they are compared


def _thresholds(ensemble: Ensemble) -> Floats:
    """Thresholds that send a number where the ensemble sends it, (n_nodes,); a float32 model rounds its own input."""
    if not ensemble.reading.as_float32:
        return ensemble.forest.threshold
    rounded = _float32_at_most(ensemble.forest.threshold)
    return rounded.astype(np.float64) if ensemble.sums_as_float32 else _last_to_round_to(rounded)


def _float32_at_most(numbers: Floats) -> NDArray[np.float32]:
    """The largest float32 that is not above each number."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = numbers.astype(np.float32)
        return np.where(nearest > numbers, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def _last_to_round_to(limits: NDArray[np.float32]) -> Floats:
    """The largest float64 that is rounded to a float32 not above each limit: about half way to the next float32."""
    with np.errstate(over="ignore", under="ignore"):
        above = np.nextafter(limits, np.float32(np.inf)).astype(np.float64)
        below = np.clip(limits.astype(np.float64), -NEXT_TO_FLOAT32, None)
        half_way = (below + np.clip(above, None, NEXT_TO_FLOAT32)) / 2
        stays = half_way.astype(np.float32) <= limits
    return np.where(limits == np.inf, np.inf, np.where(stays, half_way, np.nextafter(half_way, -np.inf)))

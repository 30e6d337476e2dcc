"""Ensembles as explainers of the SHAP package: Shapley values of every feature, exact for the trees' own weights.

A feature that is not known goes down both branches, in the shares of the training rows that took them (the
"path-dependent" values of Lundberg et al. 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.ensemble import Ensemble
from frugalforest.exports.extras import load
from frugalforest.exports.trees import with_a_tree
from frugalforest.forest import Floats, Forest


def to_shap(ensemble: Ensemble) -> Any:
    """A shap.TreeExplainer of the ensemble, for rows of the encoded matrix.

    expected_value + sum over features of shap_values = what is explained:

        mean                  the probability of each class   shap_values (n_rows, n_features, n_classes)
        sigmoid               the margin of the second class              (n_rows, n_features)
        softmax, one_vs_all   the margin of each class                    (n_rows, n_features, n_classes)
    """
    load("shap")
    from frugalforest.exports.explainer import EnsembleExplainer, SetsAsThresholds  # imports SHAP

    ensemble = with_a_tree(ensemble)
    _refuse_weightless_leaves(ensemble.forest)
    names = [str(ensemble.encoder.feature_label(i)) for i in range(ensemble.n_features)]
    return EnsembleExplainer(_model(ensemble), ensemble.reading, SetsAsThresholds(ensemble), names)


def _refuse_weightless_leaves(forest: Forest) -> None:
    empty = np.flatnonzero(~(forest.leaf_counts.sum(axis=1) > 0))
    if len(empty):
        tree = int(np.searchsorted(forest.leaf_offsets, empty[0], side="right")) - 1
        raise ValueError(
            f"Shapley values share out a branch by its training rows, and a leaf of tree {tree} has none. "
            "Explain the predictions instead: shap.Explainer(model.predict_proba, X)."
        )


# ---- trees


def _model(ensemble: Ensemble) -> dict[str, Any]:
    """The ensemble as shap.TreeExplainer reads it."""
    values, base = _explained(ensemble)
    weights = ensemble.forest.node_counts.sum(axis=1)
    return {
        "trees": [_tree(ensemble.forest, tree, weights, values) for tree in range(ensemble.forest.n_trees)],
        "base_offset": base,
        "tree_output": {"mean": "probability", "sigmoid": "log_odds"}.get(ensemble.link, "raw_value"),
    }


def _explained(ensemble: Ensemble) -> tuple[Floats, Floats]:
    """What the leaves add to what is explained, (n_leaves, n_outputs), and what is there without them, (n_outputs,)."""
    factor = 1 / ensemble.forest.n_trees if ensemble.link == "mean" else ensemble.slope / ensemble.divisor
    values, base = ensemble.values * factor, ensemble.base * factor
    if ensemble.link == "sigmoid":
        return values[:, 1:] - values[:, :1], base[1:] - base[:1]
    return values, base


def _tree(forest: Forest, tree: int, weights: Floats, values: Floats) -> dict[str, NDArray[Any]]:
    """One tree; children are counted from its root, and SHAP computes the values of inner nodes itself."""
    first, end = forest.node_offsets[tree : tree + 2]
    nodes = slice(first, end)
    is_leaf = forest.feature[nodes] < 0
    left = np.where(is_leaf, -1, np.arange(1, end - first + 1))
    right = np.where(is_leaf, -1, forest.right[nodes] - first)
    own_values = np.zeros((len(is_leaf), values.shape[1]))
    own_values[is_leaf] = values[forest.right[nodes][is_leaf]]
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(forest.missing_left[nodes], left, right),
        "features": forest.feature[nodes],
        "thresholds": forest.threshold[nodes],
        "values": own_values,
        "node_sample_weight": weights[nodes],
    }

"""Cuts subtrees off: what was below a split that does not stay becomes one leaf, with all of its counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.forest import Forest, Mask


def collapsed(forest: Forest, stays: Mask) -> Forest:
    """The forest in which only these splits stay; stays: (n_nodes,), and those below a split that goes go with it."""
    if forest.n_trees == 0:
        return forest
    is_left = _is_reached(forest, stays)
    kept = np.flatnonzero(is_left)
    feature = np.where(stays, forest.feature, -1)[kept]
    is_leaf = feature < 0
    new_number = np.cumsum(is_left) - 1
    right_child = new_number[np.where(forest.feature >= 0, forest.right, 0)][kept]
    node_offsets = np.concatenate([[0], np.cumsum(is_left)])[forest.node_offsets]
    return Forest.from_arrays(
        {
            "node_offsets": node_offsets,
            "leaf_offsets": np.concatenate([[0], np.cumsum(is_leaf)])[node_offsets],
            "feature": feature,
            "threshold": np.where(is_leaf, 0.0, forest.threshold[kept]),
            "missing_left": np.where(is_leaf, 0, forest.missing_left[kept]).astype(np.uint8),
            "right": np.where(is_leaf, np.cumsum(is_leaf) - 1, right_child).astype(np.int32),
            "category_set": np.where(is_leaf, -1, forest.category_set[kept]).astype(np.int32),
            "category_sets": forest.category_sets,
            "leaf_counts": forest.node_counts[kept[is_leaf]],
        },
        forest.n_features,
    )


def n_nodes_below(forest: Forest) -> NDArray[np.int64]:
    """Nodes of the subtree of each node, itself included, (n_nodes,): one behind the other, 2 l - 1 for l leaves."""
    n_leaves = _core.node_counts(forest.feature, forest.right, np.ones((forest.n_leaves, 1)))[:, 0]
    return 2 * n_leaves.astype(np.int64) - 1


def _is_reached(forest: Forest, stays: Mask) -> Mask:
    """Whether all splits above each node stay, (n_nodes,)."""
    ends = np.flatnonzero(~stays & (forest.feature >= 0))
    depth_change = np.zeros(forest.n_nodes + 1, dtype=np.int64)
    np.add.at(depth_change, ends + 1, 1)
    np.add.at(depth_change, ends + n_nodes_below(forest)[ends], -1)
    return np.cumsum(depth_change[:-1]) == 0

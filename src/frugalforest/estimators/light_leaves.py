"""Undoes splits that leave too little weight on one side."""

from __future__ import annotations

import numpy as np

from frugalforest import _core
from frugalforest.forest import Forest


def without_light_leaves(forest: Forest, least_share: float) -> Forest:
    """The forest in which a split stays only if both sides hold at least this share of their tree's weight.

    What was below a split that does not stay becomes one leaf. (scikit-learn's min_weight_fraction_leaf looks for
    another split first; this stops instead.)
    """
    if least_share <= 0 or forest.n_trees == 0:
        return forest
    counts = forest.node_counts
    weight = counts.sum(axis=1)
    n_nodes_of_tree = np.diff(forest.node_offsets)
    least_weight = least_share * np.repeat(weight[forest.node_offsets[:-1]], n_nodes_of_tree)

    inner = np.flatnonzero(forest.feature >= 0)
    lighter = np.minimum(weight[inner + 1], weight[forest.right[inner]])
    undone = inner[lighter < least_weight[inner]]
    # A subtree of l leaves has 2 l - 1 nodes, one behind the other: count how many undone splits each node is below.
    n_leaves = _core.node_counts(forest.feature, forest.right, np.ones((forest.n_leaves, 1)))[:, 0].astype(np.int64)
    depth_change = np.zeros(forest.n_nodes + 1, dtype=np.int64)
    np.add.at(depth_change, undone + 1, 1)
    np.add.at(depth_change, undone + 2 * n_leaves[undone] - 1, -1)
    kept = np.flatnonzero(np.cumsum(depth_change[:-1]) == 0)

    feature = forest.feature.copy()
    feature[undone] = -1
    is_leaf = feature[kept] < 0
    new_number = np.searchsorted(kept, forest.right)  # of the right child; leaves are numbered below
    return Forest.from_arrays(
        {
            "node_offsets": np.searchsorted(kept, forest.node_offsets),
            "leaf_offsets": np.concatenate([[0], np.cumsum(is_leaf)])[np.searchsorted(kept, forest.node_offsets)],
            "feature": feature[kept],
            "threshold": np.where(is_leaf, 0.0, forest.threshold[kept]),
            "missing_left": np.where(is_leaf, 0, forest.missing_left[kept]).astype(np.uint8),
            "right": np.where(is_leaf, np.cumsum(is_leaf) - 1, new_number[kept]).astype(np.int32),
            "category_set": np.where(is_leaf, -1, forest.category_set[kept]).astype(np.int32),
            "category_sets": forest.category_sets,
            "leaf_counts": counts[kept[is_leaf]],
        },
        forest.n_features,
    )

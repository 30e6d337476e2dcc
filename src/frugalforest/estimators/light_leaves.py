"""Undoes splits that leave too little weight on one side."""

from __future__ import annotations

import numpy as np

from frugalforest.forest import Forest
from frugalforest.pruning.collapse import collapsed


def without_light_leaves(forest: Forest, least_share: float) -> Forest:
    """The forest in which a split stays only if both sides hold at least this share of their tree's weight.

    What was below a split that does not stay becomes one leaf. (scikit-learn's min_weight_fraction_leaf looks for
    another split first; this stops instead.)
    """
    if least_share <= 0 or forest.n_trees == 0:
        return forest
    weight = forest.node_counts.sum(axis=1)
    least_weight = least_share * np.repeat(weight[forest.node_offsets[:-1]], np.diff(forest.node_offsets))
    stays = forest.feature >= 0
    inner = np.flatnonzero(stays)
    stays[inner] = np.minimum(weight[inner + 1], weight[forest.right[inner]]) >= least_weight[inner]
    return collapsed(forest, stays)

"""What every export asks of the trees: that there is one, and which numbers of categories a split sends left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from frugalforest.ensemble import Ensemble
from frugalforest.forest import Floats, Forest, Mask


def with_a_tree(ensemble: Ensemble) -> Ensemble:
    """The ensemble itself, or, if it has no trees, the same constant answer with one leaf that adds nothing."""
    if ensemble.forest.n_trees > 0:
        return ensemble
    nothing = ensemble.forest
    leaf = {
        "node_offsets": np.array([0, 1], np.int64),
        "leaf_offsets": np.array([0, 1], np.int64),
        "feature": np.array([-1], np.int32),
        "threshold": np.zeros(1),
        "missing_left": np.zeros(1, np.uint8),
        "right": np.zeros(1, np.int32),
        "category_set": np.array([-1], np.int32),
        "category_sets": nothing.category_sets,
        "leaf_counts": np.ones((1, nothing.n_classes)),
    }
    forest = Forest.from_arrays(leaf, nothing.n_features)
    return replace(ensemble, forest=forest, values=np.zeros((1, ensemble.n_classes)))


@dataclass(frozen=True, eq=False)
class CategorySplits:
    """Which numbers of categories each categorical split sends left.

    Where the encoder knows the K categories of a feature, its values are 0 .. K - 1 and NaN. Elsewhere any number may
    come, and those that no set names are *outside*.
    """

    forest: Forest
    left_bits: Mask  # (n_sets, n_numbers)
    outside_left: Mask  # (n_nodes,): whether numbers outside go left
    n_categories: NDArray[np.int32]  # (n_features,): 0 where the encoder does not know them

    @classmethod
    def of(cls, ensemble: Ensemble) -> CategorySplits:
        """The categorical splits of an ensemble."""
        forest, other = ensemble.forest, ensemble.reading.other_category
        sets = forest.category_sets
        bits = ((sets[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(bool)
        left_bits = bits.reshape(len(sets), 64 * sets.shape[1])
        outside_left = forest.missing_left.astype(bool)
        if other is not None and len(sets):  # outside is read as this number, otherwise as missing
            outside_left = np.where(forest.category_set >= 0, left_bits[forest.category_set, other], outside_left)
        return cls(forest, left_bits, outside_left, ensemble.encoder.n_categories)

    def goes_left(self, nodes: NDArray[np.intp], numbers: Floats) -> Mask:
        """Whether each categorical node sends its number left, (n_nodes,); of NaN, where numbers outside go."""
        named = (numbers >= 0) & (numbers < self.left_bits.shape[1])
        bits = self.left_bits[self.forest.category_set[nodes], np.where(named, numbers, 0).astype(np.intp)]
        return np.where(named, bits, self.outside_left[nodes])

    def left_mask(self, node: int) -> Mask:
        """Of the numbers 0, 1, ... those that go left, (n_numbers,); the numbers behind are outside."""
        named = self.left_bits[self.forest.category_set[node]]
        n_categories = self.n_categories[self.forest.feature[node]]
        if n_categories == 0:
            return named
        mask = np.full(n_categories, self.outside_left[node])
        mask[: len(named)] = named[:n_categories]
        return mask

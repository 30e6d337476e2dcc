"""Trees of a booster: a Forest, what its leaves add, and what its splits gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.data import Bins
from frugalforest.forest import Forest

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Rounds of trees, one tree per output in each; leaf_counts of the forest are rows grown from."""

    forest: Forest
    values: Floats  # (n_leaves,): what each leaf adds to its output's score
    gains: Floats  # (n_nodes,): what each split takes off the loss, to second order; 0 in leaves
    charged: Floats  # (n_nodes,): what its rows were charged for it, in units of the loss
    n_outputs: int  # 1 for two classes, else one per class

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], bins: Bins, n_outputs: int) -> BoostedTrees:
        """What the core grew, with thresholds in the user's units."""
        forest = Forest.from_arrays(
            {
                **arrays,
                "threshold": _thresholds(arrays["feature"], arrays["code"], arrays["category_set"], bins),
                "leaf_counts": arrays["n_rows"][:, None],
            },
            len(bins.n_bins),
        )
        return cls(forest, arrays["value"], arrays["gain"], arrays["charged"], n_outputs)

    @classmethod
    def none(cls, n_features: int, n_outputs: int) -> BoostedTrees:
        """No trees at all."""
        return cls(Forest.without_trees(n_features, 1), np.zeros(0), np.zeros(0), np.zeros(0), n_outputs)

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return self.forest.n_trees // self.n_outputs

    def first(self, n_rounds: int) -> BoostedTrees:
        """The trees of the first rounds; shares memory with these."""
        forest = self.forest.first(n_rounds * self.n_outputs)
        nodes, leaves = forest.n_nodes, forest.n_leaves
        return BoostedTrees(forest, self.values[:leaves], self.gains[:nodes], self.charged[:nodes], self.n_outputs)

    def then(self, later: BoostedTrees) -> BoostedTrees:
        """These trees, and later ones behind them."""
        return BoostedTrees(
            Forest.joined([self.forest, later.forest]),
            np.concatenate([self.values, later.values]),
            np.concatenate([self.gains, later.gains]),
            np.concatenate([self.charged, later.charged]),
            self.n_outputs,
        )

    def take(self, trees: NDArray[np.intp]) -> BoostedTrees:
        """Some trees, whole rounds, in this order."""
        nodes, leaves = self.forest.positions(trees)
        return BoostedTrees(
            self.forest.take(trees), self.values[leaves], self.gains[nodes], self.charged[nodes], self.n_outputs
        )

    def values_by_class(self, n_classes: int) -> Floats:
        """What leaves add to the score of each class, (n_leaves, n_classes); with one output, that of the second."""
        output = np.arange(self.forest.n_trees) % self.n_outputs + (self.n_outputs == 1)
        by_class = np.zeros((len(self.values), n_classes))
        by_class[np.arange(len(self.values)), np.repeat(output, np.diff(self.forest.leaf_offsets))] = self.values
        return by_class

    def gain_by_feature(self) -> Floats:
        """The gains of the splits on each feature together, (n_features,)."""
        inner = self.forest.feature >= 0
        gains = np.zeros(self.forest.n_features)
        np.add.at(gains, self.forest.feature[inner], self.gains[inner])
        return gains

    @property
    def features_used(self) -> NDArray[np.int32]:
        """Features that any split reads, ascending."""
        return np.unique(self.forest.feature[self.forest.feature >= 0])


def _thresholds(
    feature: NDArray[np.int32], code: NDArray[np.uint8], category_set: NDArray[np.int32], bins: Bins
) -> Floats:
    """The number t of each numeric split with code(x) <= code exactly if x <= t; 0 elsewhere."""
    threshold = np.zeros(len(feature))
    nodes = np.flatnonzero((feature >= 0) & (category_set < 0))
    at = bins.edge_offsets[feature[nodes]] + code[nodes]
    has_edge = at < bins.edge_offsets[feature[nodes] + 1]
    threshold[nodes] = np.inf
    threshold[nodes[has_edge]] = bins.edges[at[has_edge]]
    return threshold

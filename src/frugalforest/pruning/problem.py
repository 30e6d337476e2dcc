"""The pruning problem: what every split of a forest is worth, and which rows pay for what it reads.

    minimise  loss of the pruned forest + tradeoff * mean over rows of the cost of the features any tree still reads

Nan, Wang and Saligrama 2016 (BudgetPrune). A shared step of a group is one more item that a row pays once, so groups
change nothing of the structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.forest import Floats, Forest
from frugalforest.pruning.collapse import collapsed

Loss = Literal["share", "error"]


@dataclass(frozen=True, eq=False)
class Items:
    """What a row can pay for: features with a price of their own, and shared steps."""

    prices: Floats  # (n_items,)
    offsets: NDArray[np.int64]  # (n_features + 1,): feature f needs ids[offsets[f] : offsets[f + 1]]
    ids: NDArray[np.int32]

    @classmethod
    def of(cls, costs: FeatureCosts) -> Items:
        """The items of a price list; what is free is none."""
        needs = np.vstack([np.eye(costs.n_features, dtype=bool), costs.membership])
        prices = np.concatenate([costs.own, costs.shared])
        feature, item = np.nonzero(needs[prices > 0].T)
        offsets = np.searchsorted(feature, np.arange(costs.n_features + 1))
        return cls(prices[prices > 0], offsets.astype(np.int64), item.astype(np.int32))

    @classmethod
    def none(cls, n_features: int) -> Items:
        """No items: everything is free."""
        return cls(np.zeros(0), np.zeros(n_features + 1, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True, eq=False)
class PruningRows:
    """Rows that no tree was grown from: they say what a split is worth."""

    matrix: NDArray[np.generic]  # (n_rows, n_features)
    labels: NDArray[np.int32]  # (n_rows,)
    weights: Floats | None = None  # (n_rows,); None: all 1


def node_losses(forest: Forest, leaves: NDArray[np.int32], rows: PruningRows, loss: Loss) -> Floats:
    """What the pruned forest loses in each node that is made a leaf, (n_nodes,): added over rows, averaged over trees.

    A leaf that holds the rows i, with weights w_i that add up to 1 over all rows, adds to the loss

        "share"   sum of w_i (1 - share of class y_i among the node's training rows) / n_trees
        "error"   sum of w_i [y_i is not the majority class of the node] / n_trees           Nan et al. 2016, section 3

    leaves: (n_rows, n_trees), the leaf that each row reaches. The first adds up to the mean of 1 - probability of the
    right class, as the forest gives it. Of two classes, a majority vote errs at most twice as often as the second says.
    """
    weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    k = forest.n_classes
    cells = (leaves * np.int64(k) + rows.labels[:, None]).ravel()
    each = np.repeat(weights / (weights.sum() * forest.n_trees), forest.n_trees)
    in_leaf = np.bincount(cells, each, minlength=forest.n_leaves * k).reshape(-1, k)
    held = _core.node_counts(forest.feature, forest.right, in_leaf.astype(np.float64, copy=False))
    grown = forest.node_counts
    if loss == "error":
        return held.sum(axis=1) - held[np.arange(len(held)), np.argmax(grown, axis=1)]
    weight = grown.sum(axis=1, keepdims=True)
    shares = np.where(weight > 0, grown, 1.0) / np.where(weight > 0, weight, k)
    return (held * (1 - shares)).sum(axis=1)


class PruningProblem:
    """A forest and the rows to prune it by, ready to be solved for one tradeoff after the other.

    Splits that are worth nothing even if everything is free go at once: a larger tradeoff never brings one back. Memory
    is 12 bytes for each (row, tree, item that the tree reads for the row).
    """

    def __init__(
        self, forest: Forest, rows: PruningRows, costs: FeatureCosts, *, loss: Loss = "share", n_threads: int = 1
    ) -> None:
        self.n_threads = n_threads
        whole = _core_problem(forest, rows, Items.none(forest.n_features), loss, n_threads)
        stays = whole.solve(np.zeros(0), 0.0, 1, n_threads)[0]
        self.loss_without_splits = whole.objective(np.zeros(0), np.zeros(forest.n_nodes, np.uint8))
        self.forest = collapsed(forest, stays.view(np.bool_))
        self._items = Items.of(costs)
        self._n_rows = len(rows.labels)
        self.core = _core_problem(self.forest, rows, self._items, loss, n_threads)

    def prices(self, tradeoff: float) -> Floats:
        """What an item costs a row, in units of the loss, (n_items,)."""
        return tradeoff * self._items.prices / self._n_rows


def _core_problem(forest: Forest, rows: PruningRows, items: Items, loss: Loss, n_threads: int) -> _core.PruningProblem:
    leaves = forest.apply(rows.matrix, n_threads)
    return _core.PruningProblem(
        np.ascontiguousarray(forest.feature),
        np.ascontiguousarray(forest.right),
        np.ascontiguousarray(forest.node_offsets),
        node_losses(forest, leaves, rows, loss),
        leaves,
        items.offsets,
        items.ids,
        len(items.prices),
    )

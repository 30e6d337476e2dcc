"""Forest: trees as immutable flat arrays, and everything one can read off them.

Nodes of all trees lie one behind the other, each tree in preorder: the left child of node i is i + 1, the right child
is right[i]. A leaf has feature -1, and right[i] is its row in leaf_counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.growing.params import groups_by_feature
from frugalforest.growing.weights import on_grid

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Node(NamedTuple):
    """One node of one tree, for reading; numbers count from the tree's root."""

    feature: int  # -1: leaf
    threshold: float  # x <= threshold goes left (numeric splits)
    left_categories: frozenset[int] | None  # category numbers that go left (categorical splits)
    missing_left: bool
    left: int
    right: int
    counts: tuple[float, ...] | None  # of a leaf: weighted number of training rows of each class


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over n_features features. Rows are matrices of numbers as FeatureEncoder makes them."""

    n_features: int
    node_offsets: NDArray[np.int64]  # (n_trees + 1,)
    leaf_offsets: NDArray[np.int64]  # (n_trees + 1,)
    feature: NDArray[np.int32]  # (n_nodes,)
    threshold: Floats  # (n_nodes,)
    missing_left: NDArray[np.uint8]  # (n_nodes,)
    right: NDArray[np.int32]  # (n_nodes,)
    category_set: NDArray[np.int32]  # (n_nodes,): row of category_sets, or -1
    category_sets: NDArray[np.uint64]  # (n_sets, n_words): bit c of the words says that category c goes left
    leaf_counts: Floats  # (n_leaves, n_classes)
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_features: int) -> Forest:
        """A forest from arrays by name; further names are ignored."""
        names = {f.name for f in fields(cls)} - {"n_features", "_cache"}
        chosen: dict[str, Any] = {name: arrays[name] for name in names}
        return cls(n_features=n_features, **chosen)

    @classmethod
    def without_trees(cls, n_features: int, n_classes: int) -> Forest:
        """The forest that reads nothing."""
        arrays = {
            "node_offsets": np.zeros(1, np.int64),
            "leaf_offsets": np.zeros(1, np.int64),
            "feature": np.zeros(0, np.int32),
            "threshold": np.zeros(0),
            "missing_left": np.zeros(0, np.uint8),
            "right": np.zeros(0, np.int32),
            "category_set": np.zeros(0, np.int32),
            "category_sets": np.zeros((0, 4), np.uint64),
            "leaf_counts": np.zeros((0, n_classes)),
        }
        return cls.from_arrays(arrays, n_features)

    @staticmethod
    def joined(forests: Sequence[Forest]) -> Forest:
        """All trees of several forests, in order; the one that has any itself if there is just one."""
        forests = [forest for forest in forests if forest.n_trees > 0] or forests[:1]
        if len(forests) == 1:
            return forests[0]
        nodes = np.cumsum([0] + [f.n_nodes for f in forests])
        leaves = np.cumsum([0] + [f.n_leaves for f in forests])
        sets = np.cumsum([0] + [len(f.category_sets) for f in forests])
        parts = list(zip(forests, nodes, leaves, sets, strict=False))
        arrays = {
            "node_offsets": _join_offsets([f.node_offsets for f in forests]),
            "leaf_offsets": _join_offsets([f.leaf_offsets for f in forests]),
            "right": np.concatenate(
                [(f.right + np.where(f.feature < 0, leaf, node)).astype(np.int32) for f, node, leaf, _ in parts]
            ),
            "category_set": np.concatenate(
                [np.where(f.category_set < 0, -1, f.category_set + s).astype(np.int32) for f, _, _, s in parts]
            ),
        }
        for name in ("feature", "threshold", "missing_left", "category_sets", "leaf_counts"):
            arrays[name] = np.concatenate([getattr(f, name) for f in forests])
        return Forest.from_arrays(arrays, forests[0].n_features)

    # ---- size and parts

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.node_offsets) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_counts)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.leaf_counts.shape[1])

    def first(self, n_trees: int) -> Forest:
        """The forest of the first n_trees trees; shares memory with this one."""
        if n_trees >= self.n_trees:
            return self
        nodes, leaves = self.node_offsets[n_trees], self.leaf_offsets[n_trees]
        arrays = {
            name: getattr(self, name)[:nodes]
            for name in ("feature", "threshold", "missing_left", "right", "category_set")
        }
        return Forest.from_arrays(
            arrays
            | {
                "node_offsets": self.node_offsets[: n_trees + 1],
                "leaf_offsets": self.leaf_offsets[: n_trees + 1],
                "category_sets": self.category_sets,
                "leaf_counts": self.leaf_counts[:leaves],
            },
            self.n_features,
        )

    def take(self, trees: NDArray[np.intp]) -> Forest:
        """The forest of some trees, in this order."""
        nodes, leaves = self.positions(trees)
        node_offsets, leaf_offsets = _offsets_of(self.node_offsets, trees), _offsets_of(self.leaf_offsets, trees)
        n_nodes = np.diff(node_offsets)
        feature = self.feature[nodes]
        later = np.where(
            feature < 0,
            np.repeat(leaf_offsets[:-1] - self.leaf_offsets[trees], n_nodes),
            np.repeat(node_offsets[:-1] - self.node_offsets[trees], n_nodes),
        )
        arrays = {name: getattr(self, name)[nodes] for name in ("threshold", "missing_left", "category_set")}
        return Forest.from_arrays(
            arrays
            | {
                "feature": feature,
                "right": (self.right[nodes] + later).astype(np.int32),
                "node_offsets": node_offsets,
                "leaf_offsets": leaf_offsets,
                "category_sets": self.category_sets,
                "leaf_counts": self.leaf_counts[leaves],
            },
            self.n_features,
        )

    def positions(self, trees: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the nodes and the leaves of some trees are, tree after tree."""
        return _members(self.node_offsets, trees), _members(self.leaf_offsets, trees)

    # ---- rows through the trees

    @property
    def _router(self) -> _core.Router:
        if "router" not in self._cache:
            self._cache["router"] = _core.Router(
                np.ascontiguousarray(self.node_offsets),
                np.ascontiguousarray(self.feature),
                np.ascontiguousarray(self.threshold),
                np.ascontiguousarray(self.missing_left),
                np.ascontiguousarray(self.right),
                np.ascontiguousarray(self.category_set) if len(self.category_sets) else None,
                np.ascontiguousarray(self.category_sets),
                self.n_leaves,
                self.n_features,
            )
        return self._cache["router"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # the router is made anew where it is needed

    def apply(self, rows: NDArray[Any], n_threads: int = 1) -> NDArray[np.int32]:
        """Leaf that each row reaches in each tree, (n_rows, n_trees)."""
        return self._router.apply(rows, n_threads)

    def sums(
        self,
        rows: NDArray[Any],
        values: Floats,
        *,
        with_mask: bool = False,
        in_bag: NDArray[np.uint8] | None = None,
        base: Floats | None = None,
        as_float: bool = False,
        as_votes: bool = False,
        n_threads: int = 1,
    ) -> tuple[Floats, Mask | None]:
        """Sum over trees of the values (n_leaves, k) of the leaves a row reaches, and which features it read.

        in_bag: (n_trees, n_rows), trees that a row leaves out. base: (k,), what the sums start from. as_float: every
        sum on the way is rounded to float32. as_votes: a leaf adds 1 to the class of its largest value, the first of
        equals.   -> (n_rows, k), (n_rows, n_features) or None
        """
        sums, mask = self._router.evaluate(
            rows, np.ascontiguousarray(values), self.n_trees, with_mask, in_bag, n_threads, base, as_float, as_votes
        )
        return sums, None if mask is None else mask.view(np.bool_)

    def features_read(self, rows: NDArray[Any], n_threads: int = 1) -> Mask:
        """Features on the paths of each row, over all trees, (n_rows, n_features)."""
        nothing = np.zeros((self.n_leaves, 0))
        mask = self.sums(rows, nothing, with_mask=True, n_threads=n_threads)[1]
        assert mask is not None
        return mask

    def by_tree(
        self,
        rows: NDArray[Any],
        labels: NDArray[np.int32],
        values: Floats,
        costs: FeatureCosts,
        *,
        weights: Floats | None = None,
        as_votes: bool = False,
        n_threads: int = 1,
    ) -> tuple[Floats, Floats]:
        """Error and mean bill after each tree, both (n_trees,): where every curve comes from.

        values, as_votes: what leaves add to the sums that decide labels, as in `sums`.
        """
        weights = np.ones(len(labels)) if weights is None else on_grid(weights)  # exact: threads add in any order
        offsets, ids = groups_by_feature(costs)
        wrong, bought, touched = self._router.by_tree(
            rows, labels, weights, np.ascontiguousarray(values), offsets, ids, len(costs.shared), n_threads, as_votes
        )
        paid = costs.of_purchases(np.cumsum(bought, axis=0), np.cumsum(touched, axis=0))
        return wrong / weights.sum(), np.atleast_1d(paid) / len(labels)

    # ---- leaves

    @cached_property
    def leaf_labels(self) -> NDArray[np.intp]:
        """Majority class of each leaf, the first of equals, (n_leaves,)."""
        return np.argmax(self.leaf_counts, axis=1)

    @cached_property
    def leaf_votes(self) -> Floats:
        """One vote of each leaf for its majority class, (n_leaves, n_classes)."""
        votes = np.zeros_like(self.leaf_counts)
        votes[np.arange(self.n_leaves), self.leaf_labels] = 1
        return votes

    @cached_property
    def leaf_shares(self) -> Floats:
        """Class shares of each leaf, (n_leaves, n_classes); equal shares where a leaf has no weight."""
        weight = self.leaf_counts.sum(axis=1, keepdims=True)
        return np.where(weight > 0, self.leaf_counts, 1.0) / np.where(weight > 0, weight, self.n_classes)

    # ---- nodes

    @cached_property
    def node_counts(self) -> Floats:
        """Class counts of every node, inner ones included, (n_nodes, n_classes)."""
        return _core.node_counts(self.feature, self.right, np.ascontiguousarray(self.leaf_counts))

    def features_by_tree(self) -> Mask:
        """Which features each tree splits on, (n_trees, n_features)."""
        used = np.zeros((self.n_trees, self.n_features), dtype=bool)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.node_offsets))
        inner = self.feature >= 0
        used[tree[inner], self.feature[inner]] = True
        return used

    def gini_decrease(self) -> Floats:
        """Decrease of Gini impurity by the splits on each feature, averaged over trees, (n_features,).

        One measure for every kind of forest, whatever it was grown by: the sum of n F(S) - n_L F(L) - n_R F(R), over n
        of the root.
        """
        decrease = np.zeros(self.n_features)
        if self.n_trees == 0:
            return decrease
        weight = self.node_counts.sum(axis=1)
        impurity = weight - (self.node_counts**2).sum(axis=1) / np.where(weight > 0, weight, 1)
        inner = np.flatnonzero(self.feature >= 0)
        tree = np.searchsorted(self.node_offsets, inner, side="right") - 1
        gain = (impurity[inner] - impurity[inner + 1] - impurity[self.right[inner]]) / weight[self.node_offsets[tree]]
        np.add.at(decrease, self.feature[inner], gain)
        return decrease / self.n_trees

    def nodes(self, tree: int) -> list[Node]:
        """The nodes of one tree, for reading and for walking by hand."""
        first, last = self.node_offsets[tree], self.node_offsets[tree + 1]
        return [self._node(i, int(first)) for i in range(first, last)]

    def _node(self, i: int, first: int) -> Node:
        if self.feature[i] < 0:
            return Node(-1, np.nan, None, False, -1, -1, tuple(self.leaf_counts[self.right[i]].tolist()))
        categories = None
        if self.category_set[i] >= 0:
            words = self.category_sets[self.category_set[i]]
            categories = frozenset(c for c in range(64 * len(words)) if int(words[c >> 6]) >> (c & 63) & 1)
        left, right = i + 1 - first, int(self.right[i]) - first
        return Node(
            int(self.feature[i]), float(self.threshold[i]), categories, bool(self.missing_left[i]), left, right, None
        )


def _offsets_of(offsets: NDArray[np.int64], trees: NDArray[np.intp]) -> NDArray[np.int64]:
    """Where some trees begin once they lie behind each other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.diff(offsets)[trees])]).astype(np.int64)


def _members(offsets: NDArray[np.int64], trees: NDArray[np.intp]) -> NDArray[np.intp]:
    """Positions of what belongs to some trees, tree after tree."""
    starts = _offsets_of(offsets, trees)
    shift = np.repeat(offsets[trees] - starts[:-1], np.diff(starts))
    return np.arange(starts[-1]) + shift


def _join_offsets(offsets: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(o) for o in offsets]))]).astype(np.int64)

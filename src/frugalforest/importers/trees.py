"""From trees as libraries keep them, children by number in any order, to the flat preorder arrays of a Forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.forest import Floats, Forest

Integers = NDArray[np.int64]

MAX_WORDS = 1022  # of 64 categories each: what the core can route


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree, its root first, the other nodes in any order. Nodes that no path reaches are left out later."""

    left: Integers  # (n_nodes,): number of the left child in this tree, -1: a leaf
    right: Integers  # (n_nodes,)
    feature: Integers  # (n_nodes,): anything in a leaf
    threshold: Floats  # (n_nodes,): x <= threshold goes left
    missing_left: NDArray[np.bool_]  # (n_nodes,)
    value: Floats  # (n_nodes, k): what a leaf adds
    weight: Floats  # (n_nodes, 1) or (n_nodes, n_classes): training rows of a leaf
    category_set: Integers | None = None  # (n_nodes,): row of the forest's sets, -1: a numeric split


def single_leaf(value: float) -> Tree:
    """The tree that adds the same to every row."""
    return Tree(
        left=np.array([-1]),
        right=np.array([-1]),
        feature=np.array([-1]),
        threshold=np.zeros(1),
        missing_left=np.zeros(1, bool),
        value=np.array([[value]]),
        weight=np.ones((1, 1)),
    )


def to_forest(
    trees: Sequence[Tree], n_features: int, category_sets: NDArray[np.uint64] | None = None
) -> tuple[Forest, Floats]:
    """The trees as a Forest, and the values of its leaves (n_leaves, k). Linear in the number of nodes."""
    if not trees:
        return Forest.without_trees(n_features, 1), np.zeros((0, 1))
    roots = np.cumsum([0] + [len(tree.left) for tree in trees])
    left, right = (_shifted(trees, side, roots) for side in ("left", "right"))
    place, node_offsets = _preorder(left, right, roots[:-1])
    reached = np.flatnonzero(place >= 0)
    order = np.empty(len(reached), np.int64)
    order[place[reached]] = reached
    is_leaf = left[order] < 0
    sets = np.concatenate([_sets_of(tree) for tree in trees])[order]
    forest = Forest(
        n_features=n_features,
        node_offsets=node_offsets,
        leaf_offsets=np.concatenate([[0], np.cumsum(is_leaf)])[node_offsets],
        feature=np.where(is_leaf, -1, _joined(trees, "feature", order)).astype(np.int32),
        threshold=np.where(is_leaf, 0.0, _joined(trees, "threshold", order)),
        missing_left=_joined(trees, "missing_left", order).astype(np.uint8),
        right=np.where(is_leaf, np.cumsum(is_leaf) - 1, place[right[order]]).astype(np.int32),
        category_set=np.where(is_leaf, -1, sets).astype(np.int32),
        category_sets=np.zeros((0, 1), np.uint64) if category_sets is None else category_sets,
        leaf_counts=_joined(trees, "weight", order[is_leaf]),
    )
    return forest, _joined(trees, "value", order[is_leaf])


def by_class(forest: Forest, values: Floats, class_of_tree: Iterable[int], n_classes: int) -> Floats:
    """Values (n_leaves, 1) of trees for one class each, every one in the column of its class, (n_leaves, n_classes)."""
    columns = np.repeat(np.fromiter(class_of_tree, np.intp), np.diff(forest.leaf_offsets))
    spread = np.zeros((forest.n_leaves, n_classes))
    spread[np.arange(forest.n_leaves), columns] = values[:, 0]
    return spread


def category_bits(sets: Sequence[NDArray[np.integer]], n_categories: int) -> NDArray[np.uint64]:
    """Sets of category numbers below n_categories as rows of bits, (n_sets, n_words)."""
    n_words = _checked_words(-(-n_categories // 64))
    bits = np.zeros((len(sets), n_words), np.uint64)
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    members = np.concatenate([np.zeros(0, np.int64), *sets]).astype(np.int64)
    np.bitwise_or.at(bits, (rows, members // 64), np.uint64(1) << (members % 64).astype(np.uint64))
    return bits


def joined_words(sets: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint64]:
    """Sets of words of 32 bits, the first categories first, as rows of words of 64 bits, (n_sets, n_words)."""
    n_words = _checked_words(max((-(-len(words) // 2) for words in sets), default=1))
    halves = np.zeros((len(sets), 2 * n_words), np.uint64)
    for row, words in zip(halves, sets, strict=True):
        row[: len(words)] = words
    return halves[:, 0::2] | halves[:, 1::2] << np.uint64(32)


def _checked_words(n_words: int) -> int:
    if n_words > MAX_WORDS:
        raise ValueError(
            f"The model has category numbers beyond {64 * MAX_WORDS - 1:,}, which is the largest possible here. "
            "Number the categories from 0 on without gaps before fitting."
        )
    return max(1, n_words)


def _joined(trees: Sequence[Tree], name: str, order: Integers) -> NDArray[Any]:
    return np.concatenate([getattr(tree, name) for tree in trees])[order]


def _sets_of(tree: Tree) -> Integers:
    return np.full(len(tree.left), -1) if tree.category_set is None else tree.category_set


def _shifted(trees: Sequence[Tree], side: str, roots: Integers) -> Integers:
    """Children numbered over all trees; -1 in leaves."""
    pairs = zip(trees, roots, strict=False)
    return np.concatenate([np.where(tree.left < 0, -1, getattr(tree, side) + root) for tree, root in pairs])


def _preorder(left: Integers, right: Integers, roots: Integers) -> tuple[Integers, Integers]:
    """The place of each node in preorder, one tree behind the other (-1: no path reaches it), and where trees begin.

    All trees go down together, a level at a time: as many numpy calls as the deepest tree has levels.
    """
    levels = []  # of each level its inner nodes
    level = roots
    while len(level):
        inner = level[left[level] >= 0]
        levels.append(inner)
        level = np.concatenate([left[inner], right[inner]])
    size = np.ones(len(left), np.int64)
    for inner in reversed(levels):
        size[inner] += size[left[inner]] + size[right[inner]]
    offsets = np.concatenate([[0], np.cumsum(size[roots])])
    place = np.full(len(left), -1)
    place[roots] = offsets[:-1]
    for inner in levels:
        place[left[inner]] = place[inner] + 1
        place[right[inner]] = place[inner] + 1 + size[left[inner]]
    return place, offsets

"""From children by number to preorder: against a walk by hand, for nodes in any order, dead nodes and long chains."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.importers.trees import Tree, by_class, category_bits, joined_words, single_leaf, to_forest


def random_tree(rng, n_inner, n_dead=0):
    """A tree with its nodes in random order behind the root, and n_dead leaves that nothing leads to."""
    left, right = [-1], [-1]
    for _ in range(n_inner):
        leaf = int(rng.choice(np.flatnonzero(np.array(left) < 0)))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    left += [-1] * n_dead
    right += [-1] * n_dead
    n = len(left)
    order = np.concatenate([[0], 1 + rng.permutation(n - 1)])  # new number -> old number
    number = np.argsort(order)
    children = [np.where(np.array(side)[order] < 0, -1, number[np.array(side)[order]]) for side in (left, right)]
    return Tree(
        *children,
        feature=rng.integers(0, 3, n),
        threshold=rng.integers(0, 4, n) / 2,
        missing_left=rng.random(n) < 0.5,
        value=rng.normal(size=(n, 1)),
        weight=rng.random((n, 1)),
    )


def walk(tree, row):
    """The number of the leaf that a row reaches."""
    at = 0
    while tree.left[at] >= 0:
        x = row[tree.feature[at]]
        goes_left = tree.missing_left[at] if np.isnan(x) else x <= tree.threshold[at]
        at = (tree.left if goes_left else tree.right)[at]
    return at


@pytest.mark.parametrize("seed", range(8))
def test_every_row_reaches_the_same_leaf(seed):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, int(rng.integers(0, 30)), n_dead=int(rng.integers(0, 4))) for _ in range(5)]
    forest, values = to_forest(trees, n_features=3)
    rows = rng.integers(-1, 5, (200, 3)) / 2
    rows[rng.random(rows.shape) < 0.1] = np.nan
    leaves = forest.apply(rows)
    reached = np.array([[walk(tree, row) for tree in trees] for row in rows])
    for t, tree in enumerate(trees):
        assert np.array_equal(values[leaves[:, t]], tree.value[reached[:, t]])
        assert np.array_equal(forest.leaf_counts[leaves[:, t]], tree.weight[reached[:, t]])
    assert forest.n_leaves == sum((np.diff(forest.node_offsets) + 1) // 2)


def test_a_chain_of_thousands_of_nodes():
    depth = 5000
    node = np.arange(depth)
    leaf = np.full(depth + 1, -1)
    chain = Tree(
        left=np.concatenate([node + depth, leaf]),  # the left child is always a leaf
        right=np.concatenate([np.append(node[1:], 2 * depth), leaf]),
        feature=np.zeros(2 * depth + 1, np.int64),
        threshold=np.concatenate([node + 0.5, leaf]),
        missing_left=np.zeros(2 * depth + 1, bool),
        value=np.concatenate([np.zeros(depth), np.arange(depth + 1)])[:, None],
        weight=np.ones((2 * depth + 1, 1)),
    )
    forest, values = to_forest([chain], n_features=1)
    sums, _ = forest.sums(np.arange(depth + 1.0)[:, None], values)
    assert np.array_equal(sums[:, 0], np.arange(depth + 1))


def test_no_trees_and_trees_without_splits():
    forest, values = to_forest([], n_features=4)
    assert (forest.n_trees, forest.n_features, values.shape) == (0, 4, (0, 1))
    forest, values = to_forest([single_leaf(0.25), single_leaf(-1.0)], n_features=4)
    assert forest.sums(np.zeros((2, 4)), values)[0].tolist() == [[-0.75], [-0.75]]


def test_values_go_to_the_class_of_their_tree():
    forest, values = to_forest([single_leaf(1.0), single_leaf(2.0), single_leaf(3.0)], n_features=1)
    assert by_class(forest, values, [2, 0, 2], 3).tolist() == [[0, 0, 1], [2, 0, 0], [0, 0, 3]]


# ---- sets of categories


def members(bits):
    return [{c for c in range(64 * len(row)) if int(row[c // 64]) >> c % 64 & 1} for row in bits]


def test_sets_as_bits():
    sets = [{0, 63, 64}, set(), {130}]
    bits = category_bits([np.array(sorted(s), np.int64) for s in sets], 131)
    assert bits.shape == (3, 3)
    assert members(bits) == sets
    assert category_bits([], 0).shape == (0, 1)


def test_words_of_32_bits_in_pairs():
    words = [np.array([1 << 31, 1], np.uint32), np.array([2, 0, 4], np.uint32), np.zeros(0, np.uint32)]
    assert members(joined_words(words)) == [{31, 32}, {1, 66}, set()]


def test_category_numbers_have_a_limit():
    category_bits([np.array([65_407])], 65_408)
    with pytest.raises(ValueError, match=r"beyond 65,407.* Number the categories from 0 on"):
        category_bits([np.array([65_408])], 65_409)

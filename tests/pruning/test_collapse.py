"""Subtrees that are cut off become leaves with all of their counts."""

from __future__ import annotations

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.forest import Forest
from frugalforest.persistence.checks import check_forest
from frugalforest.pruning.collapse import collapsed, n_nodes_below
from pruning.cases import small_case


def leaf_by_hand(forest, stays, tree, row):
    """The node where a row ends if only some splits stay."""
    first, nodes, node = int(forest.node_offsets[tree]), forest.nodes(tree), 0
    while nodes[node].feature >= 0 and stays[first + node]:
        value, split = row[nodes[node].feature], nodes[node]
        goes_left = split.missing_left if np.isnan(value) else value <= split.threshold
        node = split.left if goes_left else split.right
    return first + node


@pytest.mark.parametrize("seed", range(12))
def test_rows_end_where_the_splits_that_stay_lead_them(seed):
    forest, rows, _ = small_case(seed)
    stays = np.random.default_rng(seed).random(forest.n_nodes) < 0.7
    pruned = collapsed(forest, stays)
    check_forest(pruned)
    leaves = pruned.apply(rows.matrix)
    for i, row in enumerate(rows.matrix[:20]):
        for tree in range(forest.n_trees):
            expected = forest.node_counts[leaf_by_hand(forest, stays, tree, row)]
            assert np.array_equal(pruned.leaf_counts[leaves[i, tree]], expected)


def test_categories_and_missing_values_go_where_they_went():
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (200, 3)).astype(float)
    X[random.random(X.shape) < 0.1] = np.nan
    model = ff.StandardForestClassifier(6, categorical_features=[0, 1], random_state=0)
    forest = model.fit(X, np.isin(X[:, 0], [1, 4]) ^ (X[:, 2] > 2)).forest_
    stays = random.random(forest.n_nodes) < 0.8
    pruned = collapsed(forest, stays)
    check_forest(pruned)
    read, before = pruned.features_read(X), forest.features_read(X)
    assert not (read & ~before).any()
    assert np.array_equal(collapsed(pruned, np.ones(pruned.n_nodes, bool)).apply(X), pruned.apply(X))


def test_nothing_or_everything_stays():
    forest, rows, _ = small_case(3)
    same = collapsed(forest, np.ones(forest.n_nodes, bool))
    for name in ("feature", "threshold", "right", "leaf_counts", "node_offsets", "leaf_offsets"):
        assert np.array_equal(getattr(same, name), getattr(forest, name))
    roots = collapsed(forest, np.zeros(forest.n_nodes, bool))
    assert roots.n_nodes == roots.n_leaves == forest.n_trees
    assert np.array_equal(roots.leaf_counts, forest.node_counts[forest.node_offsets[:-1]])
    assert not roots.features_read(rows.matrix).any()
    nothing = Forest.without_trees(3, 2)
    assert collapsed(nothing, np.zeros(0, bool)) is nothing


def test_nodes_below():
    forest, _, _ = small_case(5)
    below = n_nodes_below(forest)
    inner = np.flatnonzero(forest.feature >= 0)
    assert np.array_equal(below[inner], 1 + below[inner + 1] + below[forest.right[inner]])
    assert (below[forest.feature < 0] == 1).all()
    assert np.array_equal(below[forest.node_offsets[:-1]], np.diff(forest.node_offsets))

"""Leaf refit: the ridge regression it is said to be, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.forest import Forest
from frugalforest.persistence.checks import check_forest
from frugalforest.pruning import refit_leaves
from pruning.cases import small_case


def shares_by_hand(forest, rows, strength):
    leaves, k, n_trees = forest.apply(rows.matrix), forest.n_classes, forest.n_trees
    indicators = np.zeros((len(rows.labels), forest.n_leaves))
    np.put_along_axis(indicators, leaves, 1.0 / n_trees, axis=1)
    weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    weights = np.diag(weights / weights.mean())
    off = np.eye(k)[rows.labels] - indicators @ forest.leaf_shares
    ridge = indicators.T @ weights @ indicators + strength / n_trees * np.eye(forest.n_leaves)
    shares = np.maximum(forest.leaf_shares + np.linalg.solve(ridge, indicators.T @ weights @ off), 0)
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(10))
def test_shares_are_those_of_the_normal_equations(seed):
    forest, rows, _ = small_case(seed)
    for strength in (0.3, 5.0):
        refitted = refit_leaves(forest, rows, strength)
        assert np.allclose(refitted.leaf_shares, shares_by_hand(forest, rows, strength), atol=1e-6)
        check_forest(refitted)


def test_only_shares_change():
    forest, rows, costs = small_case(4)
    refitted = refit_leaves(forest, rows)
    assert not np.array_equal(refitted.leaf_shares, forest.leaf_shares)
    assert np.allclose(refitted.leaf_counts.sum(axis=1), forest.leaf_counts.sum(axis=1))
    assert np.array_equal(refitted.apply(rows.matrix), forest.apply(rows.matrix))
    before, after = (costs.of_rows(f.features_read(rows.matrix)) for f in (forest, refitted))
    assert np.array_equal(before, after)


def test_infinitely_strong_is_no_change():
    forest, rows, _ = small_case(4)
    assert np.allclose(refit_leaves(forest, rows, 1e12).leaf_shares, forest.leaf_shares)
    nothing = Forest.without_trees(3, 2)
    assert refit_leaves(nothing, rows) is nothing

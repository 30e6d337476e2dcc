"""Small forests with rows to prune them by."""

from __future__ import annotations

import numpy as np

import frugalforest as ff
from frugalforest.pruning import PruningRows


def small_case(seed, n_rows=None, n_trees=None, max_depth=None):
    """Forest, rows that it was not grown from, prices: missing values, weights, groups and free features by turns."""
    random = np.random.default_rng(seed)
    m = int(random.integers(2, 7))
    n = int(random.integers(20, 70)) if n_rows is None else n_rows
    X = random.normal(size=(2 * n, m)).round(1)
    y = (X[:, 0] + (seed % 2) * X[:, 1] * X[:, -1] + 0.7 * random.normal(size=2 * n) > 0).astype(np.int32)
    y += (seed % 4 == 0) * (X[:, 1] > 0.5).astype(np.int32)
    if seed % 3 == 0:
        X[random.random(X.shape) < 0.1] = np.nan
    groups = {"a": ff.Group([0, 1], float(random.uniform(0, 2))), "b": ff.Group([1, m - 1] if m > 2 else [1], 0.5)}
    costs = ff.FeatureCosts(
        random.uniform(0, 2, m).round(2) * (random.random(m) < 0.8), groups=groups if seed % 2 else None
    )
    n_trees = int(random.integers(1, 7)) if n_trees is None else n_trees
    depth = int(random.integers(1, 6)) if max_depth is None else max_depth
    forest = ff.StandardForestClassifier(n_trees, max_depth=depth, random_state=seed).fit(X[:n], y[:n]).forest_
    weights = random.integers(1, 4, n).astype(float) if seed % 5 == 0 else None
    keep = y[n:] < forest.n_classes
    return forest, PruningRows(X[n:][keep], y[n:][keep], None if weights is None else weights[keep]), costs

"""Leaf refit: other class shares in the same leaves, so that the trees do better together. The bill stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from frugalforest.forest import Floats, Forest
from frugalforest.pruning.problem import PruningRows

STRENGTH = 5.0  # better than 1, 30 and 200 on miniboone_tiny, spambase and covertype, by a little


def refit_leaves(forest: Forest, rows: PruningRows, strength: float = STRENGTH, n_threads: int = 1) -> Forest:
    """The forest with leaf shares v that minimise, over rows that it was not grown from,

        sum over rows of w |e(y) - mean over trees of v[leaf]|^2 + strength / n_trees * sum over leaves of |v - v_0|^2

    e(y): 1 for the class of the row; w: its weight, 1 on average; v_0: the shares that were grown. Ridge regression on
    leaf indicators, as in the global refinement of Ren et al. 2015, but towards the shares there are; by conjugate
    gradients. Negative shares become 0. The weight of each leaf stays, its counts follow the shares.
    """
    if forest.n_trees == 0:
        return forest
    shares = np.maximum(forest.leaf_shares + _correction(forest, rows, strength, n_threads), 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    weight = forest.leaf_counts.sum(axis=1, keepdims=True)
    return replace(forest, leaf_counts=weight * shares, _cache={})


def _correction(forest: Forest, rows: PruningRows, strength: float, n_threads: int) -> Floats:
    """v - v_0, (n_leaves, n_classes), each row adding up to 0.

    (Z' W Z + strength T I) d = T Z' W r     Z: (n_rows, n_leaves), 1 where a row is; r: what the forest is off by
    """
    n_rows, n_trees, k = len(rows.labels), forest.n_trees, forest.n_classes
    leaves = forest.apply(rows.matrix, n_threads)
    where = csr_array(
        (np.ones(leaves.size), leaves.ravel(), np.arange(0, leaves.size + 1, n_trees)), shape=(n_rows, forest.n_leaves)
    )
    weights = np.ones(n_rows) if rows.weights is None else rows.weights / rows.weights.mean()
    off = np.eye(k)[rows.labels] - where @ forest.leaf_shares / n_trees

    def normal(d: Floats) -> Floats:
        return where.T @ (weights * (where @ d)) + strength * n_trees * d

    matrix = LinearOperator((forest.n_leaves, forest.n_leaves), matvec=normal, dtype=np.float64)
    right = n_trees * (where.T @ (weights[:, None] * off))
    found = np.zeros((forest.n_leaves, k))
    for c in range(k - 1):
        found[:, c] = cg(matrix, right[:, c], rtol=1e-8, maxiter=500)[0]
    found[:, -1] = -found.sum(axis=1)
    return found

"""How often a model buys each feature: counted on rows, or estimated from what the model file holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.cli.errors import Mistake
from frugalforest.cli.tables import TableFile
from frugalforest.cli.tree_text import forest_of
from frugalforest.forest import Forest

Floats = NDArray[np.float64]


def count_purchases(model: Any, table: TableFile) -> tuple[list[float], int, float]:
    """Share of the rows that buy each feature, number of rows, average bill; read in chunks."""
    from frugalforest.cli.predict import Reader

    reader = Reader(model, table, [], None)
    bought, n_rows, spent = np.zeros(model.n_features_in_), 0, 0.0
    for chunk, _ in reader.chunks():
        mask = model.acquisition_mask(reader.rows(chunk))
        bought += mask.sum(axis=0)
        spent += float(model.feature_costs_.of_rows(mask).sum())
        n_rows += len(mask)
    if n_rows == 0:
        raise Mistake(f"{table.path} has no rows below its first line.")
    return (bought / n_rows).tolist(), n_rows, spent / n_rows


def expected_purchases(model: Any) -> tuple[list[float], str]:
    """What can be said without rows: an estimate for each feature, and what it is."""
    if hasattr(model, "panel_"):
        return np.isin(np.arange(model.n_features_in_), model.panel_).astype(float).tolist(), "every row buys the panel"
    if hasattr(model, "variant_"):
        tree = model.variant_.tree
        leaves = np.asarray(tree.leaves_below(0))
        share = tree.share[leaves] / tree.share[leaves].sum()
        return (share @ tree.path_mask[leaves]).tolist(), "share of the training rows that buy it"
    forest = forest_of(model)
    if forest is not None:
        shares = reached_by_tree(forest)
        return (1 - np.prod(1 - shares, axis=0)).tolist(), (
            "at most: as if the trees were independent, and all of them read; give DATA to count"
        )
    return [float("nan")] * model.n_features_in_, "not known without rows; give DATA to count"


def reached_by_tree(forest: Forest) -> Floats:
    """Share of the rows of each tree that come to a split on each feature, (n_trees, n_features).

    A row comes to several splits on a feature, one below the other, but is counted once: at the first of them.
    """
    shares = np.zeros((forest.n_trees, forest.n_features))
    weight = forest.node_counts.sum(axis=1)
    for tree in range(forest.n_trees):
        first = int(forest.node_offsets[tree])
        stack: list[tuple[int, frozenset[int]]] = [(first, frozenset())]
        while stack:
            node, seen = stack.pop()
            feature = int(forest.feature[node])
            if feature < 0:
                continue
            if feature not in seen:
                shares[tree, feature] += weight[node] / weight[first]
            stack += [(node + 1, seen | {feature}), (int(forest.right[node]), seen | {feature})]
    return shares

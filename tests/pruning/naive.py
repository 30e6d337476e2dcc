"""Slow, obvious twins: the linear program of Nan et al. 2016 as it stands, for HiGHS, and the objective of a forest."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import lil_array

from frugalforest.pruning.problem import node_losses


def least_objective(forest, rows, costs, loss, tradeoff):
    """The optimum of the linear program: z_h, node h is a leaf of its pruned tree; w_ij, row i pays for item j.

    minimise   sum of loss_h z_h + tradeoff / n * sum of price_j w_ij
    such that  the z on the way to each leaf of the grown forest add up to 1
               w_ij >= 1 - the z on the way to the first node that reads j, for each tree
    """
    leaves = forest.apply(rows.matrix)
    prices = np.concatenate([costs.own, costs.shared])
    n, n_nodes = len(rows.labels), forest.n_nodes
    objective = np.concatenate([node_losses(forest, leaves, rows, loss), np.tile(tradeoff * prices / n, n)])
    ways = {int(forest.right[node]): way(forest, node) for node in range(n_nodes) if forest.feature[node] < 0}
    one_leaf = lil_array((len(ways), len(objective)))
    for constraint, nodes in enumerate(ways.values()):
        one_leaf[constraint, nodes] = 1
    paid = [
        (nodes[: depth + 1], n_nodes + row * len(prices) + item)
        for row in range(n)
        for nodes in (ways[leaf] for leaf in leaves[row].tolist())
        for depth, item in first_readings(forest, nodes, costs)
    ]
    pays = lil_array((len(paid), len(objective)))
    for constraint, (nodes, bought) in enumerate(paid):
        pays[constraint, [*nodes, bought]] = -1
    found = linprog(
        objective,
        A_ub=pays.tocsr() if paid else None,
        b_ub=-np.ones(len(paid)) if paid else None,
        A_eq=one_leaf.tocsr(),
        b_eq=np.ones(len(ways)),
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0
    return found.fun


def way(forest, node):
    """The nodes from the root to this one."""
    parents = {}
    for i in np.flatnonzero(forest.feature >= 0).tolist():
        parents[i + 1] = parents[int(forest.right[i])] = i
    nodes = [node]
    while nodes[-1] in parents:
        nodes.append(parents[nodes[-1]])
    return nodes[::-1]


def first_readings(forest, nodes, costs):
    """(depth, item): where on the way each item is read first; items are features, then groups."""
    seen = set()
    for depth, node in enumerate(nodes[:-1]):
        feature = int(forest.feature[node])
        groups = forest.n_features + np.flatnonzero(costs.membership[:, feature])
        for item in {feature, *groups.tolist()} - seen:
            seen.add(item)
            yield depth, item


def objective_of(forest, rows, costs, loss, tradeoff):
    """Loss and bill of a forest as it is, through its leaves and its mask."""
    leaves = forest.apply(rows.matrix)
    weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
    if loss == "share":
        lost = np.mean([1 - forest.leaf_shares[leaves[i], y] for i, y in enumerate(rows.labels)], axis=1)
    else:
        lost = np.mean(forest.leaf_labels[leaves] != rows.labels[:, None], axis=1)
    return np.average(lost, weights=weights) + tradeoff * costs.of_rows(forest.features_read(rows.matrix)).mean()

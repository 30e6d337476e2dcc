"""Slow and obvious: greedy selection by fitting least squares anew for every candidate, and trees grown with it."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def weighted_r_squared(X, Y, weights, features):
    """R^2 of least squares with an intercept on these columns, over all targets together."""
    root = np.sqrt(weights)[:, None]
    Yc = (Y - np.average(Y, axis=0, weights=weights)) * root
    if len(features) == 0:
        return 0.0
    Xc = X[:, features] - np.average(X[:, features], axis=0, weights=weights)
    size = np.sqrt(np.average(Xc**2, axis=0, weights=weights))
    Xc = Xc / np.where(size > 0, size, 1) * root
    solution = np.linalg.lstsq(Xc, Yc, rcond=None)[0]
    return 1 - float(((Yc - Xc @ solution) ** 2).sum() / (Yc**2).sum())


def least_squares(X, Y, weights, features):
    """Intercept (k,) and coefficients (n_used, k) in the units of X."""
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([np.ones(len(X)), X[:, features]])
    solution = np.linalg.lstsq(design * root, Y * root, rcond=None)[0]
    return solution[0], solution[1:]


def greedy_order(X, Y, weights, costs, budget, inherited=()):
    """Features in the order of Kusner et al. (7): inherited ones, then the largest gain per marginal cost that fits."""
    chosen, paid = list(inherited), set(inherited)
    before = costs.of(sorted(paid)) if paid else 0.0
    while True:
        now = weighted_r_squared(X, Y, weights, chosen)
        best, best_key = None, None
        for feature in range(X.shape[1]):
            if feature in paid:
                continue
            bill = costs.of(sorted(paid | {feature}))
            price = bill - (costs.of(sorted(paid)) if paid else 0.0)
            gain = weighted_r_squared(X, Y, weights, [*chosen, feature]) - now
            if gain < 1e-9 or bill - before > budget + 1e-9:
                continue
            key = (price <= 1e-12, gain / max(price, 1e-12))
            if best_key is None or key > best_key:
                best, best_key = feature, key
        if best is None:
            return chosen
        chosen.append(best)
        paid.add(best)


def best_value(X, Y, weights, costs, budget):
    """The largest R^2 of any set of features within a budget, by trying all."""
    n_features = X.shape[1]
    sets = (c for size in range(n_features + 1) for c in combinations(range(n_features), size))
    return max(weighted_r_squared(X, Y, weights, list(s)) for s in sets if costs.of(list(s)) <= budget + 1e-12)


def grow(X, Y, weights, costs, budget, depth, inherited=()):
    """A tree of nodes as dicts: features in order, intercept, coefficients, threshold, children. One target."""
    order = greedy_order(X, Y, weights, costs, budget, inherited)
    intercept, coefficients = least_squares(X, Y, weights, order)
    node = {"features": order, "intercept": intercept, "coefficients": coefficients}
    scores = (intercept + X[:, order] @ coefficients)[:, 0]
    if depth == 1:
        return node
    ranked = np.sort(scores)
    middle = len(ranked) // 2
    threshold = (ranked[middle - 1] + ranked[middle]) / 2
    left = scores <= threshold
    node["threshold"] = threshold
    node["children"] = [
        grow(X[side], Y[side], weights[side], costs, budget, depth - 1, order) for side in (left, ~left)
    ]
    return node

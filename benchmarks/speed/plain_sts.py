"""Shallow tree selection as one would write it on scikit-learn's forest: the peer of benchmarks/speed/selection.py.

The same method and sizes: one bootstrapped stump per feature, forests of 2000 trees for each depth, greedy search by
benefit per cost^xi on out-of-bag votes, xi from a grid by the out-of-bag error of a forest of 1000 trees.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier


def plain_sts(X, y, costs, budget, grid, *, n_base=2000, n_full=1000, n_jobs=2, seed=0):
    """-> (positions of the panel, xi, out-of-bag error)"""
    votes, features = base_ensemble(X, y, costs, budget, n_base, n_jobs, seed)
    errors: dict[tuple[int, ...], float] = {}
    best = None
    for xi in grid:
        panel = tuple(sorted(greedy(votes, features, y, costs, budget, xi)))
        if panel not in errors:
            forest = RandomForestClassifier(n_full, oob_score=True, n_jobs=n_jobs, random_state=seed)
            errors[panel] = 1 - forest.fit(X[:, panel], y).oob_score_
        candidate = (errors[panel], sum(costs[list(panel)]), xi, panel)
        best = candidate if best is None else min(best, candidate)
    return best[3], best[2], best[0]


def base_ensemble(X, y, costs, budget, n_base, n_jobs, seed):
    """Out-of-bag votes (n_trees, n_rows), -1 in the bag, and the set of features of each tree."""
    random = np.random.default_rng(seed)
    votes, features = [], []
    for f in range(X.shape[1]):
        drawn = random.integers(0, len(y), len(y))
        stump = DecisionTreeClassifier(max_depth=1).fit(X[drawn][:, [f]], y[drawn])
        out = np.setdiff1d(np.arange(len(y)), drawn)
        vote = np.full(len(y), -1)
        vote[out] = stump.predict(X[out][:, [f]])
        votes.append(vote)
        features.append({f})
    cumulative = np.cumsum(np.sort(costs))
    depth = 2
    while 2**depth - 1 <= np.searchsorted(cumulative, budget, side="right"):
        forest = RandomForestClassifier(n_base, max_depth=depth, n_jobs=n_jobs, random_state=seed + depth).fit(X, y)
        for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            out = np.setdiff1d(np.arange(len(y)), drawn)
            vote = np.full(len(y), -1)
            vote[out] = tree.predict(X[out])
            votes.append(vote)
            features.append(set(tree.tree_.feature[tree.tree_.feature >= 0].tolist()))
        depth += 1
    return np.array(votes), features


def greedy(votes, features, y, costs, budget, xi):
    """Add the best tree until none fits; the error of R + T for all candidates at once, in NumPy."""
    chosen: set[int] = set()
    counts = np.zeros((len(y), 2))
    candidates = np.arange(len(votes))
    error = 0.5
    while True:
        spent = sum(costs[f] for f in chosen)
        bills = np.array([spent + sum(costs[f] for f in features[t] - chosen) for t in candidates])
        candidates = candidates[(bills > spent) & (bills <= budget)]
        if len(candidates) == 0:
            return chosen
        bills = bills[(bills > spent) & (bills <= budget)]
        ones, zeros = counts[:, 1] + (votes[candidates] == 1), counts[:, 0] + (votes[candidates] == 0)
        right = np.where(ones > zeros, 1, 0) == y
        change = 1 - (right & (ones + zeros > 0)).mean(axis=1) - error
        weight = (bills - spent) ** xi
        best = int(np.argmin(np.where(change < 0, change / weight, change * weight)))
        tree = candidates[best]
        counts[:, 0] += votes[tree] == 0
        counts[:, 1] += votes[tree] == 1
        error += change[best]
        chosen |= features[tree]

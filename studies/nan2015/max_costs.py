"""The appendix: one tree on a complete set, error against the largest bill of any row, for two families of impurities.

A tree is cut where a path would read more features than a limit; what is cut off answers with its most common label.
"""

from __future__ import annotations

from typing import Any

import frugalforest as ff
from frugalforest.forest import Forest

IMPURITIES = {f"Powers {power}": ff.Powers(power) for power in (2, 3, 4, 5)} | {
    f"Pairs {alpha}": ff.ThresholdPairs(alpha) for alpha in (0, 1, 2, 4, 8, 16, 32)
}


def measure(impurity: str, X: Any, y: Any) -> dict[str, list[float]]:
    """Training error when no path reads more than 0, 1, 2, ... features; the last one is of the whole tree."""
    model = ff.BudgetForestClassifier(
        impurity=IMPURITIES[impurity], n_estimators=1, bootstrap=False, n_jobs=1, random_state=0
    )
    forest = model.fit(X, y, eval_set=(X, y)).variants_[0].forest
    deepest = largest_bill(forest)
    return {"error": [error_within(forest, limit) for limit in range(deepest + 1)]}


def largest_bill(forest: Forest) -> int:
    """Distinct features on the path that has most."""
    return max(len(read) for _, read in cut(forest, forest.n_features))


def error_within(forest: Forest, limit: int) -> float:
    """Error on the training rows when paths end before they read more than so many features."""
    counts = forest.node_counts
    wrong = sum(counts[i].sum() - counts[i].max() for i, _ in cut(forest, limit))
    return float(wrong / counts[0].sum())


def cut(forest: Forest, limit: int) -> list[tuple[int, frozenset[int]]]:
    """Where paths end, and what they have read."""
    nodes, ends = forest.nodes(0), []
    open_paths: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while open_paths:
        i, read = open_paths.pop()
        wanted = read | {nodes[i].feature}
        if nodes[i].feature < 0 or len(wanted) > limit:
            ends.append((i, read))
        else:
            open_paths += [(nodes[i].left, wanted), (nodes[i].right, wanted)]
    return ends

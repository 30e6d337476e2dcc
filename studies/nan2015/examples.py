"""The paper's worked examples, its guarantee where the best tree can be found, and the impurities that it covers.

Figure 1 and its computation are those of the paper's earlier version, the 1024 patterns are in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import frugalforest as ff
from frugalforest.impurities import Entropy, Gini, minimax_risk

# 30 circles and 30 triangles; t1 sets 20 triangles apart, t2 halves both classes.
FIGURE_1 = np.array([[0] * 40 + [1] * 20, [0] * 15 + [1] * 15 + [0] * 15 + [1] * 15]).T.astype(float)
FIGURE_1_LABELS = np.repeat([0, 1], 30)
FIGURE_1_IMPURITIES = {
    "alpha 0": ff.ThresholdPairs(0),
    "alpha 8, with the offset": ff.ThresholdPairs(8),
    "alpha 8, without the offset": ff.ThresholdPairs(8, offset=False),
}

# All 10-bit patterns, class = top two bits, but four patterns carry the next class.
PATTERNS = np.array([[pattern >> bit & 1 for bit in range(9, -1, -1)] for pattern in range(1024)])
PATTERN_LABELS = np.array([(pattern // 256 + (pattern % 256 == 0)) % 4 for pattern in range(1024)])
ALPHAS = {f"alpha {alpha}": alpha for alpha in (0, 1, 2, 4, 8, 16, 25)}

SMALL_IMPURITIES = {
    "Pairs 0": ff.ThresholdPairs(0),
    "Pairs 1": ff.ThresholdPairs(1),
    "Pairs 1, without the offset": ff.ThresholdPairs(1, offset=False),
    "Powers 3": ff.Powers(3),
    "Powers 5": ff.Powers(5),
}
N_SMALL_SETS = 200

ALL_IMPURITIES = {
    "Pairs 0": ff.ThresholdPairs(0),
    "Pairs 8": ff.ThresholdPairs(8),
    "Pairs 8, without the offset": ff.ThresholdPairs(8, offset=False),
    **{f"Powers {power}": ff.Powers(power) for power in (2, 3, 4, 5)},
    "Gini": Gini(),
    "entropy": Entropy(),
}


def tree(X: Any, y: Any, **options: Any) -> ff.BudgetForestClassifier:
    """A single tree on all rows, as GreedyTree grows it."""
    model = ff.BudgetForestClassifier(n_estimators=1, bootstrap=False, n_jobs=1, random_state=0, **options)
    return model.fit(X, y, eval_set=(X, y))


def figure_1(setting: str) -> dict[str, Any]:
    """1 / R of each of the two features, a pair of classes counted once as the paper does here; and which is taken."""
    impurity = FIGURE_1_IMPURITIES[setting]
    gains = []
    for feature in range(2):
        counts = tree(FIGURE_1[:, [feature]], FIGURE_1_LABELS, impurity=impurity, max_depth=1).forest_.node_counts
        worst = max(float(impurity(child)) for child in counts[1:])
        gains.append(1 / minimax_risk(1.0, float(impurity(counts[0])), worst) / 2)
    both = tree(FIGURE_1, FIGURE_1_LABELS, impurity=impurity, max_depth=1)
    return {"one_over_risk": [round(float(gain), 9) for gain in gains], "chosen": int(both.forest_.feature[0]) + 1}


def patterns(setting: str) -> dict[str, Any]:
    """Features that the longest path reads, and patterns that get a wrong label."""
    model = tree(PATTERNS, PATTERN_LABELS, alpha=ALPHAS[setting])
    return {
        "max_cost": float(model.acquisition_cost(PATTERNS).max()),
        "n_wrong": int((model.predict(PATTERNS) != PATTERN_LABELS).sum()),
    }


def guarantee(setting: str) -> dict[str, Any]:
    """Greedy trees beside the best ones on small random sets: how often dearer, how much, and against the bound."""
    impurity, random = SMALL_IMPURITIES[setting], np.random.default_rng(22)
    greedy, best, bound = [], [], []
    while len(best) < N_SMALL_SETS:
        X, y, price = small_set(random)
        optimum = least_max_cost(X, y, price, impurity)
        if optimum == 0 or math.isinf(optimum):
            continue
        greedy.append(float(tree(X, y, impurity=impurity, feature_costs=price).acquisition_cost(X).max()))
        best.append(optimum)
        bound.append(optimum * (math.log(scaled(impurity, np.bincount(y))) + 1))
    ratio = np.divide(greedy, best)
    return {
        "n_sets": len(best),
        "n_dearer": int((ratio > 1).sum()),
        "largest_ratio": float(ratio.max()),
        "largest_share_of_bound": float(np.divide(greedy, bound).max()),
    }


def small_set(random: np.random.Generator) -> tuple[Any, Any, Any]:
    """At most nine different rows of two to five features of two values, three classes, prices from 1 to 9.

    With two values a feature cannot be used twice on a path, as the theorem asks of the best tree.
    """
    n_features, n_rows = int(random.integers(2, 6)), int(random.integers(4, 10))
    X = np.unique(random.integers(0, 2, (n_rows, n_features)), axis=0)
    y = np.append(random.integers(0, 3, len(X) - 1), 2)
    return X, np.unique(y, return_inverse=True)[1], random.integers(1, 10, n_features).astype(float)


def least_max_cost(X: Any, y: Any, price: Any, impurity: Any) -> float:
    """Of all trees whose leaves have no impurity, the least cost of the dearest path; infinite if there is none."""
    n_classes = int(y.max()) + 1

    @cache
    def cost(rows: tuple[int, ...]) -> float:
        some = list(rows)
        if float(impurity(np.bincount(y[some], minlength=n_classes))) == 0:
            return 0.0
        least = math.inf
        for feature in range(X.shape[1]):
            ones = X[some, feature] == 1
            if ones.any() and not ones.all():
                sides = (tuple(np.array(some)[ones].tolist()), tuple(np.array(some)[~ones].tolist()))
                least = min(least, price[feature] + max(map(cost, sides)))
        return least

    return float(cost(tuple(range(len(X)))))


def scaled(impurity: Any, counts: Any) -> float:
    """F(S) when the smallest F above 0 of a subset counts as 1, which the theorem's bound takes for granted."""
    values = [float(impurity(np.array(subset))) for subset in product(*(range(n + 1) for n in counts))]
    return values[-1] / min(value for value in values if value > 0)


def admissible(setting: str) -> dict[str, Any]:
    """Whether sampled sets show that an impurity is not admissible, and the first two sets that show it."""
    report = ff.check_admissible(ALL_IMPURITIES[setting])
    found = report.violations.get("monotonicity")
    shown = "" if found is None else ", ".join(f"F{s} = {v:.3f}" for s, v in zip(found.sets, found.values, strict=True))
    return {"admissible": bool(report.admissible), "violated": sorted(report.violations), "shown": shown}


EXAMPLES: dict[str, tuple[tuple[str, ...], Callable[[str], dict[str, Any]]]] = {
    "figure 1": (tuple(FIGURE_1_IMPURITIES), figure_1),
    "patterns": (tuple(ALPHAS), patterns),
    "guarantee": (tuple(SMALL_IMPURITIES), guarantee),
    "admissible": (tuple(ALL_IMPURITIES), admissible),
}

"""The slow, obvious twins of the panel selectors: plain loops over rows, trees and features.

Costs are sets of Python numbers: own (list), groups (list of (members, shared)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction


class Prices:
    """cost(S) = sum of own + shared of every group that S touches, in exact fractions."""

    def __init__(self, own: Sequence[float], groups: Sequence[tuple[Sequence[int], float]] = ()) -> None:
        self.own = [Fraction(str(price)) for price in own]
        self.groups = [(set(members), Fraction(str(shared))) for members, shared in groups]

    def of(self, features: set[int]) -> Fraction:
        shared = sum((cost for members, cost in self.groups if members & features), Fraction(0))
        return sum((self.own[f] for f in features), Fraction(0)) + shared

    def free(self, chosen: set[int]) -> set[int]:
        return {f for f in range(len(self.own)) if f not in chosen and self.of(chosen | {f}) == self.of(chosen)}


def first_best(candidates: list[tuple[float, Fraction, int]], xi: float) -> int:
    """Smallest value; of equals the cheaper one unless xi is 0; then the first."""
    return min(candidates, key=lambda c: (c[0], c[1] if xi > 0 else 0, c[2]))[2]


def ratio_of(change: float, cost: Fraction, xi: float, bcr: str) -> float:
    weight = float(cost) ** xi
    if bcr == "paper" or change < 0:
        return change / weight
    return change * weight


def fill(benefits: Sequence[float], prices: Prices, budget: Fraction, xi: float) -> list[set[int]]:
    """The filters' way; what is added in each step."""
    chosen: set[int] = set()
    steps: list[set[int]] = []

    def take(features: set[int]) -> None:
        if features:
            steps.append(features)
            chosen.update(features)

    take(prices.free(chosen))
    while True:
        candidates = []
        for f in set(range(len(benefits))) - chosen:
            if prices.of(chosen | {f}) <= budget:
                cost = prices.of(chosen | {f}) - prices.of(chosen)
                candidates.append((-benefits[f] / float(cost) ** xi, cost, f))
        if not candidates:
            return steps
        take({first_best(candidates, xi)})
        take(prices.free(chosen))


def auc(values: Sequence[float], is_class: Sequence[bool]) -> float:
    """Share of pairs (class, rest) in which the class has the larger value; equal values count half."""
    inside = [v for v, c in zip(values, is_class, strict=True) if c]
    outside = [v for v, c in zip(values, is_class, strict=True) if not c]
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in inside for b in outside)
    return wins / (len(inside) * len(outside))


def ensemble_error(trees: list[list[int]], labels: Sequence[int], n_classes: int) -> float:
    """Error of the majority of the votes (-1: none); a row without a vote is wrong; no tree: a guess."""
    if not trees:
        return 1 - 1 / n_classes
    wrong = 0
    for row, label in enumerate(labels):
        counts = [sum(tree[row] == c for tree in trees) for c in range(n_classes)]
        wrong += sum(counts) == 0 or counts.index(max(counts)) != label
    return wrong / len(labels)


def search_trees(
    votes: list[list[int]],
    features: list[set[int]],
    labels: Sequence[int],
    n_classes: int,
    prices: Prices,
    budget: Fraction,
    xi: float,
    bcr: str,
) -> list[set[int]]:
    """Greedy selection of trees; what is added in each step."""
    chosen: set[int] = set()
    ensemble: list[list[int]] = []
    steps: list[set[int]] = []

    def error(extra: list[list[int]]) -> float:
        return ensemble_error(ensemble + extra, labels, n_classes)

    def take(new: set[int]) -> None:
        if new - chosen:
            steps.append(new - chosen)
            chosen.update(new)

    take(prices.free(chosen))
    free = [t for t in range(len(votes)) if features[t] and prices.of(chosen | features[t]) == 0]
    while free:
        best = min(free, key=lambda t: (error([votes[t]]), t))
        if error([votes[best]]) >= error([]):
            break
        ensemble.append(votes[best])
    while True:
        candidates = []
        for t in range(len(votes)):
            bill = prices.of(chosen | features[t])
            if prices.of(chosen) < bill <= budget:
                cost = bill - prices.of(chosen)
                change = error([votes[t]]) - error([])
                candidates.append((ratio_of(change, cost, xi, bcr), cost, t))
        if not candidates:
            return steps
        best = first_best(candidates, xi)
        ensemble.append(votes[best])
        take(features[best])
        take(prices.free(chosen))


def search_forward(
    error_of: Callable[[set[int]], float],
    error_with: Callable[[set[int], int], float],
    n_features: int,
    prices: Prices,
    budget: Fraction,
    xi: float,
    bcr: str,
) -> list[set[int]]:
    """Greedy forward selection with any judge of sets, and of sets that a feature joins; what is added in each step."""
    chosen: set[int] = set()
    steps: list[set[int]] = []

    def take(new: set[int]) -> None:
        if new:
            steps.append(new)
            chosen.update(new)

    take(prices.free(chosen))
    while True:
        candidates = []
        for f in set(range(n_features)) - chosen:
            cost = prices.of(chosen | {f}) - prices.of(chosen)
            if prices.of(chosen | {f}) <= budget:
                change = error_with(chosen, f) - error_of(chosen)
                candidates.append((ratio_of(change, cost, xi, bcr), cost, f))
        if not candidates:
            return steps
        take({first_best(candidates, xi)})
        take(prices.free(chosen))

"""The two ways to the best set: a minimum cut for a price list, the minimum-norm point for any submodular cost."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.selection.min_cut import CutProblem, best_set, entry_tradeoffs
from frugalforest.selection.min_norm_point import Minimum, minimise
from frugalforest.selection.selection_path import SelectionPath
from frugalforest.selection.set_function import SetFunction, TradedOff

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_STRICTLY = 1e-9  # a set must be better by this share of the costs compared to count as better


class Solver(Protocol):
    """argmin over S of cost(S) - tradeoff * sum of worth_f over f in S, the smallest of equals."""

    def cost(self, mask: Mask) -> float:
        """The cost of a set."""

    def prices(self) -> tuple[Floats, Floats]:
        """What each feature adds to all others, and what it costs alone, both (n_features,)."""

    def best_set(self, worth: Floats, tradeoff: float) -> Mask:
        """The best set for one trade-off; infinity: everything that is worth anything."""

    def path(self, worth: Floats) -> SelectionPath:
        """The best sets for all trade-offs; worth >= 0."""


class CutSolver:
    """For a price list: exact."""

    def __init__(self, costs: FeatureCosts) -> None:
        self._costs = costs

    def cost(self, mask: Mask) -> float:
        """The bill of a set."""
        return self._costs.of(mask)

    def prices(self) -> tuple[Floats, Floats]:
        """Own price, and price alone."""
        return self._costs.own, self._costs.alone

    def best_set(self, worth: Floats, tradeoff: float) -> Mask:
        """By one minimum cut."""
        return best_set(CutProblem.of(self._costs, worth), tradeoff)

    def path(self, worth: Floats) -> SelectionPath:
        """By nested cuts."""
        return SelectionPath.of(entry_tradeoffs(CutProblem.of(self._costs, worth)), worth, self._costs)


class PointSolver:
    """For any submodular cost: right up to rounding, about 1e-10 of the costs."""

    def __init__(self, cost: SetFunction, max_vertices: int | None = None) -> None:
        self._cost = cost
        self._max_vertices = max_vertices

    def cost(self, mask: Mask) -> float:
        """The value of a set."""
        return self._cost(mask)

    def prices(self) -> tuple[Floats, Floats]:
        """What each feature adds to all others, and to nothing."""
        single = np.eye(self._cost.n_features, dtype=bool)
        everything = self._cost(np.ones(self._cost.n_features, dtype=bool))
        last = np.array([everything - self._cost(~row) for row in single])
        return last, np.array([self._cost(row) for row in single])

    def best_set(self, worth: Floats, tradeoff: float) -> Mask:
        """By one minimum-norm point."""
        if tradeoff == math.inf:
            return self._minimise(self._cost, lower=worth > 0).mask
        return self._minimise(TradedOff(self._cost, worth, tradeoff)).mask

    def path(self, worth: Floats) -> SelectionPath:
        """By minimum-norm points between nested sets, as `entry_tradeoffs` does it with cuts."""
        lowest = self._minimise(self._cost).mask
        highest = self._minimise(self._cost, lower=lowest | (worth > 0)).mask
        entry = np.where(lowest, -math.inf, math.inf)
        ranges = [(lowest, highest)]
        while ranges:
            lower, upper = ranges.pop()
            rise, gain = self._cost(upper) - self._cost(lower), math.fsum(worth[upper & ~lower])
            if not gain > 0:
                continue
            pivot = rise / gain
            best = self._minimise(TradedOff(self._cost, worth, pivot), lower=lower, upper=upper)
            if best.value < -_STRICTLY * (abs(rise) + abs(self._cost(upper))):
                ranges += [(lower, best.mask), (best.mask, upper)]
            else:
                entry[upper & ~lower] = pivot
        return SelectionPath.of(entry, worth, self._cost)

    def _minimise(self, function: SetFunction, lower: Mask | None = None, upper: Mask | None = None) -> Minimum:
        return minimise(function, lower=lower, upper=upper, max_vertices=self._max_vertices)

"""The base ensemble of shallow tree selection: small trees whose features can be bought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.estimators.checks import resolve_max_features
from frugalforest.estimators.problem import Problem
from frugalforest.forest import Forest
from frugalforest.growing import Growth, grow
from frugalforest.growing.seeds import Seeds
from frugalforest.selection.forests import GINI, ForestJudge, single_masks
from frugalforest.selection.panel_selector import method_seeds
from frugalforest.selection.tree_votes import CandidateTrees

Mask = NDArray[np.bool_]
Limit = Literal["depth", "features", "cost"]


@dataclass(frozen=True)
class BaseTrees:
    """How the base ensemble is grown: one forest for each level but the first, which has one stump per feature.

    limit: what grows from level to level: "depth" 1, 2, 3, ...; "features" 1, 3, 7, ..., the most that trees of these
    depths can use; "cost" 1/2^(n - 1), ..., 1/2, 1 of the budget. tradeoff: of cost against Gini gain in a split.
    """

    n_trees: int
    limit: Limit
    tradeoff: float

    def grow(
        self, problem: Problem, judge: ForestJudge, n_levels: int, budget: float | None, seed: int
    ) -> CandidateTrees:
        """All candidates of the first n_levels levels."""
        parts = [self._stumps(problem, judge, method_seeds(seed, problem.n_features, 1))]
        for level in range(2, n_levels + 1):
            growth = self._growth(problem, judge, level, n_levels, budget)
            parts.append(self._forest(problem, judge, growth, level, method_seeds(seed, self.n_trees, level)))
        return CandidateTrees.joined(parts)

    def _stumps(self, problem: Problem, judge: ForestJudge, seeds: Seeds) -> CandidateTrees:
        codes = judge.training_set.binned.codes
        varying = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
        masks = single_masks(varying, problem.n_features)
        counts = judge.votes_of(masks, np.ascontiguousarray(seeds[varying, None]), max_depth=1)
        votes = np.where(counts.any(axis=2), np.argmax(counts, axis=2), -1).astype(np.int8)
        return CandidateTrees.from_votes(votes, problem.n_classes, masks, level=1)

    def _growth(self, problem: Problem, judge: ForestJudge, level: int, n_levels: int, budget: float | None) -> Growth:
        limits: dict[str, Any] = {
            "depth": {"max_depth": level},
            "features": {"max_distinct_features": 2**level - 1},
            "cost": {"max_tree_cost": (problem.costs.total if budget is None else budget) / 2 ** (n_levels - level)},
        }[self.limit]
        n_tried = resolve_max_features(judge.max_features, problem.n_features)
        growth = replace(GINI, max_features=n_tried, **limits)
        if self.tradeoff == 0:
            return growth
        return replace(growth, tradeoff=self.tradeoff, charge="path", repeat_charge=0.0)

    def _forest(self, problem: Problem, judge: ForestJudge, growth: Growth, level: int, seeds: Seeds) -> CandidateTrees:
        grown = grow(judge.training_set, growth, problem.costs, seeds, n_threads=judge.n_threads)
        if grown.interrupted:
            raise KeyboardInterrupt
        forest = Forest.from_arrays(grown.arrays, problem.n_features)
        leaves = forest.apply(problem.rows.matrix, judge.n_threads)
        votes = forest.leaf_labels[leaves].T.astype(np.int8)
        votes[_core.in_bag(seeds, len(problem.rows)) > 0] = -1
        return CandidateTrees.from_votes(votes, problem.n_classes, forest.features_by_tree(), level)


def deepest_that_fits(costs: FeatureCosts, budget: float | None, max_depth: int | None) -> int:
    """The largest depth d whose trees can still fit: the 2^d - 1 cheapest features cost at most the budget; at least 1.

    Cheapest in the order in which each next one adds least to the bill.
    """
    bills = np.array(cheapest_bills(costs))
    most = costs.n_features if budget is None else int(np.searchsorted(bills, budget, side="right"))
    depth = 1
    while 2 ** (depth + 1) - 1 <= most or (2**depth - 1 < most == costs.n_features):
        depth += 1
    return depth if max_depth is None else min(depth, max_depth)


def cheapest_bills(costs: FeatureCosts) -> Sequence[float]:
    """The bill of the 1, 2, 3, ... features that add least, one after the other."""
    mask, bills = np.zeros(costs.n_features, dtype=bool), []
    for _ in range(costs.n_features):
        marginal = np.where(mask, np.inf, costs.marginal(mask))
        mask[int(np.argmin(marginal))] = True
        bills.append(costs.of(mask))
    return bills

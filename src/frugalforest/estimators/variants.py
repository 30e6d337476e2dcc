"""Variants of a forest: one for each recipe, grown until the average bill reaches the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.estimators.light_leaves import without_light_leaves
from frugalforest.estimators.problem import Rows
from frugalforest.estimators.sizes import measured_sizes
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow
from frugalforest.growing.progress import progress_bar
from frugalforest.growing.seeds import Seeds

Floats = NDArray[np.float64]

TREES_PER_ROUND = 16  # charge="forest": these trees are charged by what rows have paid in the rounds before


@dataclass(frozen=True)
class Recipe:
    """How the trees of a variant are grown: by which impurity, and how much prices matter."""

    impurity: Any
    price_power: float = 1.0  # a split is charged its price to this power

    def __str__(self) -> str:
        return str(self.impurity) + (f", price_power={self.price_power:g}" if self.price_power != 1 else "")

    def charged(self, costs: FeatureCosts) -> FeatureCosts:
        """What splits are charged; free features stay free. Shared steps become part of each price, unless power 1."""
        if self.price_power == 1:
            return costs
        return FeatureCosts(np.where(costs.alone > 0, costs.alone**self.price_power, 0.0))


@dataclass(frozen=True)
class Penalty:
    """How the trees of a penalised forest are grown: score of a split = gain - tradeoff * price."""

    tradeoff: float
    at_a_loss: bool = False  # whether the best split of a node is taken even if its score is not above 0

    def __str__(self) -> str:
        return f"tradeoff={self.tradeoff:g}" + (", at a loss" if self.at_a_loss else "")


@dataclass(frozen=True, eq=False)
class Variant:
    """The forest of one recipe, as far as the budget let it grow, and how it does on the validation rows."""

    recipe: Recipe | Penalty
    forest: Forest
    error: Floats  # (n_trees,): after each tree
    cost: Floats  # (n_trees,): average bill after each tree
    seeds: Seeds  # (n_trees,): what each tree was grown from
    is_complete: bool  # all trees that were asked for are there
    least_cost: float  # average bill of the first trees that read anything, also if beyond the budget; else infinity

    @property
    def n_trees(self) -> int:
        """Number of trees within the budget."""
        return self.forest.n_trees


def reads_something(forest: Forest) -> NDArray[np.bool_]:
    """Whether the trees up to each one have any split at all, (n_trees,); a tree without is the free answer."""
    return np.logical_or.accumulate(np.diff(forest.node_offsets) > 1)


Measure = Callable[[Forest, list[int]], tuple[Floats, Floats]]  # error and cost (n_trees,), the cost of these sizes


@dataclass(frozen=True, eq=False)
class MeasuredForest:
    """Trees, measured on the validation rows."""

    forest: Forest
    error: Floats  # (n_trees,)
    cost: Floats  # (n_trees,); NaN: this size was not measured

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.forest.n_trees

    def with_more(self, trees: Forest, measure: Measure) -> MeasuredForest:
        """These trees and some more; what was measured before stays."""
        forest = Forest.joined([self.forest, trees])
        error, cost = measure(forest, measured_sizes(self.n_trees, forest.n_trees))
        known = np.concatenate([self.cost, np.full(trees.n_trees, np.nan)])
        return MeasuredForest(forest, error, np.where(np.isnan(cost), known, cost))

    def within(self, budget: float) -> int:
        """The largest number of trees within the budget, 0 if there is none; sizes not measured do not count."""
        return int(np.max(np.flatnonzero(self.cost <= budget), initial=-1)) + 1

    def cut(self, recipe: Recipe | Penalty, budget: float, seeds: Seeds) -> Variant:
        """The variant that has the trees within the budget; seeds: of all trees that were asked for."""
        n_within = self.within(budget)
        n_classes = self.forest.n_classes
        return Variant(
            recipe=recipe,
            forest=self.forest.first(n_within) if n_within else Forest.without_trees(self.forest.n_features, n_classes),
            error=self.error[:n_within],
            cost=self.cost[:n_within],
            seeds=seeds[:n_within],
            is_complete=n_within == len(seeds),
            least_cost=float(np.nanmin(self.cost[reads_something(self.forest)], initial=np.inf)),
        )


def grow_beyond(
    budget: float,
    n_trees: int,
    no_trees: Forest,
    grow_some: Callable[[int], tuple[Forest | None, bool]],
    measure: Measure,
) -> tuple[MeasuredForest, bool]:
    """Add trees until the average bill exceeds the budget or there are n_trees -> all of them, whether Ctrl-C came.

    grow_some(have) gives the next trees, None if there is none, and whether Ctrl-C cut them short. Ctrl-C before the
    first tree raises KeyboardInterrupt.
    """
    grown, interrupted = MeasuredForest(no_trees, np.zeros(0), np.zeros(0)), False
    try:
        while not interrupted and grown.n_trees < n_trees and grown.within(budget) == grown.n_trees:
            new, interrupted = grow_some(grown.n_trees)
            if new is None:
                break
            grown = grown.with_more(new, measure)
    except KeyboardInterrupt:  # it came while nothing was growing: what is measured is kept
        interrupted = True
    if grown.n_trees == 0:
        raise KeyboardInterrupt
    return grown, interrupted


@dataclass(frozen=True, eq=False)
class VariantGrower:
    """Everything that the variants of one fit have in common."""

    training_set: TrainingSet
    train: Rows
    growth: Growth  # with any impurity
    costs: FeatureCosts
    measure: Measure
    no_trees: Forest
    budget: float  # infinity: no limit
    min_leaf_share: float
    n_threads: int
    verbose: int

    def grow(self, recipe: Recipe, seeds: Seeds) -> tuple[Variant, bool]:
        """Add trees until the average bill exceeds the budget, drop those beyond -> variant, whether Ctrl-C came."""
        paid = np.zeros(self.train.matrix.shape, dtype=bool) if self.growth.charge == "forest" else None
        with progress_bar(self.verbose, len(seeds), f"BudgetForest, {recipe}") as show:

            def grow_some(have: int) -> tuple[Forest | None, bool]:
                return self._grow_some(recipe, seeds, have, paid, show)

            grown, interrupted = grow_beyond(self.budget, len(seeds), self.no_trees, grow_some, self.measure)
        return grown.cut(recipe, self.budget, seeds), interrupted

    def _grow_some(
        self, recipe: Recipe, seeds: Seeds, have: int, paid: NDArray[np.bool_] | None, show: Any
    ) -> tuple[Forest | None, bool]:
        """The next trees, and whether Ctrl-C cut them short; None if there is none. What rows read is paid."""
        grown = grow(
            self.training_set,
            replace(self.growth, impurity=recipe.impurity),
            recipe.charged(self.costs),
            seeds[have : have + self._step(have)],
            paid=paid,
            n_threads=self.n_threads,
            on_progress=None if show is None else lambda n: show(have + n),
        )
        if show is not None:
            show(have + grown.n_trees)
        if grown.n_trees == 0:
            return None, grown.interrupted
        forest = Forest.from_arrays(grown.arrays, self.no_trees.n_features)
        forest = without_light_leaves(forest, self.min_leaf_share)
        if paid is not None:
            paid |= forest.features_read(self.train.matrix, self.n_threads)
        return forest, grown.interrupted

    def _step(self, have: int) -> int:
        """How many trees to grow before the bill is looked at again; the forest depends on it for "forest" only.

        As many as there are: at most half of the trees are grown in vain, and rows are routed at most twice.
        """
        if self.growth.charge == "forest":
            return TREES_PER_ROUND
        return max(have, self.n_threads) if np.isfinite(self.budget) else np.iinfo(np.int32).max

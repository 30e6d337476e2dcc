"""A forest with a ledger: what any tree has bought is free for every node and every tree that comes after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.estimators.complementary import Ballots, Complementary
from frugalforest.estimators.light_leaves import without_light_leaves
from frugalforest.estimators.problem import Rows
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow
from frugalforest.growing.grow import cumulative
from frugalforest.growing.seeds import Seeds

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LedgerPlan:
    """What the forests of one fit have in common: rows, seeds, and how trees follow one another.

    rounds: None, each tree sees what all before it have bought; otherwise trees are grown in rounds against the ledger
    at the start of the round. A round has as many trees as there are before it (the first has one), at most `rounds`:
    the first trees buy most, so they must not be blind to one another.
    """

    training_set: TrainingSet
    rows: Rows  # that the training set was made of
    costs: FeatureCosts
    seeds: Seeds
    rounds: int | None
    complementary: Complementary
    min_leaf_share: float
    no_trees: Forest
    n_threads: int


class LedgerGrower:
    """Grows one forest, some trees at a time; the trees do not depend on how many at a time, nor on threads."""

    def __init__(self, plan: LedgerPlan, growth: Growth) -> None:
        self._plan = plan
        self._growth = growth
        self._ledger: Mask = np.zeros(plan.costs.n_features, dtype=bool)
        self._n_trees = 0
        self._ahead = plan.n_threads  # trees to try at once when each of them may change the ledger
        self._bags: list[NDArray[np.uint8]] = []  # (n_trees, n_rows / 8) each
        self._ballots = Ballots(len(plan.rows), printed=plan.complementary == "printed") if plan.complementary else None

    def grow_some(self, n_trees: int, show: Callable[[int], object] | None = None) -> tuple[Forest | None, bool]:
        """The next trees, at least n_trees if so many are left, and whether Ctrl-C cut them short; None if none."""
        parts: list[Forest] = []
        n_wanted = min(self._n_trees + n_trees, len(self._plan.seeds))
        interrupted = False
        try:
            while not interrupted and self._n_trees < n_wanted:
                forest, interrupted = self._grow_round()
                if forest is not None:
                    parts.append(forest)
                if show is not None:
                    show(self._n_trees)
        except KeyboardInterrupt:  # it came while nothing was growing: finished rounds are kept
            interrupted = True
        return (Forest.joined(parts) if parts else None), interrupted

    def in_bag(self, n_trees: int) -> NDArray[np.uint8]:
        """Which rows the first n_trees trees were grown from, (n_trees, n_rows)."""
        n_rows = len(self._plan.rows)
        if self._ballots is None:
            return _core.in_bag(self._plan.seeds[:n_trees], n_rows)
        return np.unpackbits(np.concatenate(self._bags)[:n_trees], axis=1, count=n_rows)

    def _grow_round(self) -> tuple[Forest | None, bool]:
        plan = self._plan
        seeds = plan.seeds[self._n_trees : self._n_trees + self._round_size()]
        draw_weights = None if self._ballots is None else self._ballots.draw_weights()
        grown = grow(
            plan.training_set,
            self._growth,
            plan.costs,
            seeds,
            draw_weights=draw_weights,
            ledger=self._ledger,
            n_threads=plan.n_threads,
        )
        if grown.n_trees == 0:
            return None, grown.interrupted
        forest = Forest.from_arrays(grown.arrays, plan.costs.n_features)
        forest = self._enter_purchases(without_light_leaves(forest, plan.min_leaf_share))
        self._n_trees += forest.n_trees
        if self._ballots is not None:
            self._count_votes(forest, _core.in_bag(seeds[: forest.n_trees], len(plan.rows), cumulative(draw_weights)))
        return forest, grown.interrupted

    def _round_size(self) -> int:
        if self._ballots is None and not self._prices_matter():
            return len(self._plan.seeds)
        if self._plan.rounds is not None:
            return min(self._plan.rounds, max(1, self._n_trees))
        return 1 if self._ballots is not None else self._ahead

    def _prices_matter(self) -> bool:
        return self._growth.tradeoff > 0 and self._plan.costs.total > 0

    def _enter_purchases(self, forest: Forest) -> Forest:
        """Enter what a round has bought -> the trees that stand: without rounds, those that knew of all purchases."""
        bought = forest.features_by_tree() & ~self._ledger
        if self._plan.rounds is None and self._prices_matter():
            n_standing = self._n_standing(bought)
            forest, bought = forest.first(n_standing), bought[:n_standing]
        self._ledger = self._ledger | bought.any(axis=0)
        return forest

    def _n_standing(self, bought: Mask) -> int:
        """How many trees that were grown ahead are what they would have been in their turn.

        That is all up to the first that buys something. After a success twice as many are tried: with two threads or
        more, the time for trees grown in vain never exceeds the time that growing side by side has saved.
        """
        buyers = np.flatnonzero(bought.any(axis=1))
        may_go_on = len(buyers) == 0 and self._plan.n_threads > 1
        self._ahead = 2 * self._ahead if may_go_on else self._plan.n_threads
        return len(bought) if len(buyers) == 0 else int(buyers[0]) + 1

    def _count_votes(self, forest: Forest, in_bag: NDArray[np.uint8]) -> None:
        assert self._ballots is not None
        rows = self._plan.rows
        is_right = forest.leaf_labels[forest.apply(rows.matrix, self._plan.n_threads)] == rows.labels[:, None]
        self._ballots.count(is_right.T, in_bag.astype(bool))
        self._bags.append(np.packbits(in_bag, axis=1))

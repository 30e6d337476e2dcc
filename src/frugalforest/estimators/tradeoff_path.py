"""A path of penalised forests: one for each tradeoff that is given, or for those that a search finds worth a look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from frugalforest.estimators.ledger import LedgerGrower, LedgerPlan
from frugalforest.estimators.variants import Measure, Penalty, Variant, grow_beyond
from frugalforest.forest import Forest
from frugalforest.growing import Growth
from frugalforest.growing.progress import progress_bar

MOST_HALVINGS = 40
N_BISECTIONS = 4
NEARLY_ALL = 0.95  # of the bill without a penalty: smaller tradeoffs would change nothing worth mentioning


GrowOne = Callable[[Penalty], Variant]
Walk = Callable[[GrowOne], None]


class PathGrower:
    """Grows the forests of one fit, one penalty after the other; each until the average bill exceeds the budget."""

    def __init__(
        self, plan: LedgerPlan, growth: Growth, measure: Measure, budget: float, verbose: int, name: str
    ) -> None:
        self._plan = plan
        self._growth = growth
        self._measure = measure
        self._budget = budget
        self._verbose = verbose
        self._name = name
        self.variants: list[Variant] = []
        self.growers: list[LedgerGrower] = []  # of the variants, in the same order

    def grow(self, walk: Walk) -> bool:
        """Let `walk` ask for one forest after the other -> whether Ctrl-C came; before the first tree it is raised."""
        try:
            walk(self._grow_one)
        except KeyboardInterrupt:
            if not self.variants:
                raise
            return True
        return False

    def _grow_one(self, penalty: Penalty) -> Variant:
        """The forest of one penalty, within the budget; KeyboardInterrupt after it is kept, if Ctrl-C came."""
        seeds = self._plan.seeds
        growth = replace(self._growth, tradeoff=penalty.tradeoff, at_a_loss=penalty.at_a_loss)
        grower = LedgerGrower(self._plan, growth)
        with progress_bar(self._verbose, len(seeds), f"{self._name}, {penalty}") as show:

            def grow_some(have: int) -> tuple[Forest | None, bool]:
                return grower.grow_some(self._step(have), show)

            grown, interrupted = grow_beyond(self._budget, len(seeds), self._plan.no_trees, grow_some, self._measure)
        variant = grown.cut(penalty, self._budget, seeds)
        self.variants.append(variant)
        self.growers.append(grower)
        if interrupted:
            raise KeyboardInterrupt
        return variant

    def _step(self, have: int) -> int:
        """How many trees to grow before the bill is looked at again: as many as there are, all without a budget."""
        return max(have, self._plan.n_threads) if np.isfinite(self._budget) else len(self._plan.seeds)


def walk_through(penalties: Sequence[Penalty]) -> Walk:
    """The forests of these penalties, in order."""

    def walk(grow: GrowOne) -> None:
        for penalty in penalties:
            grow(penalty)

    return walk


def search_from(top: float, kinds: Sequence[bool]) -> Walk:
    """A search for the tradeoffs that matter within the budget; kinds: whether to buy at a loss, one or both.

    First the forest without a penalty. Then, for each kind, tradeoffs from `top`, where nothing is worth its price,
    down by halves until a forest exceeds the budget, or costs nearly what the first did. Then a few times the geometric
    mean of the two neighbours whose bills differ most (one of them beyond the budget, if any is): bills do not fall
    evenly, but in steps.
    """

    def walk(grow: GrowOne) -> None:
        free = grow(Penalty(0.0))
        enough = NEARLY_ALL * free.cost[-1] if free.is_complete else np.inf
        for at_a_loss in kinds:
            bills = _descend(grow, top, at_a_loss, enough)
            _fill_gaps(grow, bills, at_a_loss)

    return walk


def _descend(grow: GrowOne, top: float, at_a_loss: bool, enough: float) -> dict[float, float]:
    """Halve the tradeoff until it is small enough -> the bill of each; infinity: beyond the budget."""
    bills: dict[float, float] = {}
    for tradeoff in (top * 0.5 ** np.arange(MOST_HALVINGS)).tolist():
        bills[tradeoff] = _bill(grow(Penalty(tradeoff, at_a_loss)))
        if bills[tradeoff] >= enough:
            break
    return bills


def _fill_gaps(grow: GrowOne, bills: dict[float, float], at_a_loss: bool) -> None:
    for _ in range(N_BISECTIONS if len(bills) > 1 else 0):
        tradeoffs = sorted(bills)
        widest = int(np.argmax([_gap(bills[small], bills[large]) for small, large in pairwise(tradeoffs)]))
        middle = float(np.sqrt(tradeoffs[widest] * tradeoffs[widest + 1]))
        bills[middle] = _bill(grow(Penalty(middle, at_a_loss)))


def _gap(bill: float, smaller: float) -> float:
    return 0.0 if bill == smaller else bill - smaller  # both may be infinite


def _bill(variant: Variant) -> float:
    return float(variant.cost[-1]) if variant.is_complete else np.inf

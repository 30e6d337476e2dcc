"""Which tradeoffs to prune for: from everything that is worth something to nothing at all, and close to the budget."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

Bill = Callable[[float], float]  # prunes for a tradeoff -> the mean bill of a row

MOST_DOUBLINGS = 60
NEARLY_ALL = 0.95  # of the bill at tradeoff 0: smaller tradeoffs would change nothing worth mentioning


def search_tradeoffs(bill_at: Bill, start: float, budget: float, n_tradeoffs: int) -> None:
    """Ask for the bill of one tradeoff after the other, about n_tradeoffs of them.

    First 0; then from `start` up by doubling until nothing is bought, and down by halving until nearly everything is.
    Then geometric means of neighbours: every other time of those on both sides of the budget, if it is finite, else of
    those whose bills differ most.
    """
    everything = bill_at(0.0)
    if everything == 0:
        return
    bills = {start: bill_at(start)}
    _walk(bills, bill_at, start, 2.0, lambda bill: bill == 0)
    _walk(bills, bill_at, start, 0.5, lambda bill: bill >= NEARLY_ALL * everything)
    near_budget = np.isfinite(budget)
    while len(bills) + 1 < n_tradeoffs:
        low, high = _around(bills, budget) if near_budget and len(bills) % 2 else _widest(bills)
        if high < low * (1 + 1e-6):
            break
        middle = float(np.sqrt(low * high))
        bills[middle] = bill_at(middle)


def _walk(bills: dict[float, float], bill_at: Bill, start: float, factor: float, done: Callable[[float], bool]) -> None:
    tradeoff = start
    for _ in range(MOST_DOUBLINGS):
        if done(bills[tradeoff]):
            return
        tradeoff *= factor
        bills[tradeoff] = bill_at(tradeoff)


def _around(bills: dict[float, float], budget: float) -> tuple[float, float]:
    """Neighbours of which the smaller tradeoff exceeds the budget and the larger does not; else the widest."""
    for low, high in pairwise(sorted(bills)):
        if bills[low] > budget >= bills[high]:
            return low, high
    return _widest(bills)


def _widest(bills: dict[float, float]) -> tuple[float, float]:
    return max(pairwise(sorted(bills)), key=lambda pair: bills[pair[0]] - bills[pair[1]])

"""Which tradeoffs to prune for: from everything that is worth something to nothing at all, and close to the budget."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

Bill = Callable[[float], float]  # prunes for a tradeoff -> the mean bill of a row

MOST_DOUBLINGS = 60
CLOSE = 1.01  # tradeoffs with a ratio below this are not told apart: between them the bill jumps
NEARLY_ALL = 0.95  # of the bill at tradeoff 0: smaller tradeoffs would change nothing worth mentioning


def search_tradeoffs(bill_at: Bill, everything: float, start: float, budget: float, n_tradeoffs: int) -> None:
    """Ask for the bill of one tradeoff after the other, about n_tradeoffs of them; everything: the bill at tradeoff 0.

    From `start` up by doubling until nothing is bought, and down by halving until nearly everything is.
    Then geometric means of neighbours: every other time of those on both sides of the budget, else of those whose
    bills differ most.
    """
    bills = {start: bill_at(start)}
    _walk(bills, bill_at, start, 2.0, lambda bill: bill == 0)
    _walk(bills, bill_at, start, 0.5, lambda bill: bill >= NEARLY_ALL * everything)
    while len(bills) < n_tradeoffs:
        neighbours = pairwise(sorted(bills))
        pairs = [(low, high) for low, high in neighbours if high > CLOSE * low and bills[low] > bills[high]]
        if not pairs:
            return
        around = [(low, high) for low, high in pairs if bills[low] > budget >= bills[high]]
        low, high = max(
            around if around and len(bills) % 2 else pairs, key=lambda pair: bills[pair[0]] - bills[pair[1]]
        )
        middle = float(np.sqrt(low * high))
        bills[middle] = bill_at(middle)


def _walk(bills: dict[float, float], bill_at: Bill, start: float, factor: float, done: Callable[[float], bool]) -> None:
    tradeoff = start
    for _ in range(MOST_DOUBLINGS):
        if done(bills[tradeoff]):
            return
        tradeoff *= factor
        bills[tradeoff] = bill_at(tradeoff)

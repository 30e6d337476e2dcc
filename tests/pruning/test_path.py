"""Tradeoffs are looked for between buying nothing and buying everything, and close to the budget."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.pruning import search_tradeoffs


def search(bill, start, budget=np.inf, n=24):
    asked = []

    def bill_at(tradeoff):
        asked.append(tradeoff)
        return bill(tradeoff)

    search_tradeoffs(bill_at, bill(0.0), start, budget, n)
    return asked


def smooth(tradeoff):
    return max(0.0, 10 / (1 + 100 * tradeoff) - 0.01)


@pytest.mark.parametrize("start", [1e-4, 0.01, 1.0, 300.0])
def test_from_nothing_to_nearly_everything(start):
    asked = search(smooth, start)
    bills = [smooth(tradeoff) for tradeoff in asked]
    assert min(bills) == 0
    assert max(bills) >= 0.95 * smooth(0)
    assert len(set(asked)) == len(asked)


def test_the_budget_is_met_closely():
    bills = np.array([smooth(tradeoff) for tradeoff in search(smooth, 0.01, budget=3.3, n=30)])
    assert bills[bills <= 3.3].max() > 3.2


def test_jumps_are_not_looked_into_for_ever():
    asked = sorted(search(lambda tradeoff: 10.0 * (tradeoff < 0.02), 0.01, n=1000))
    assert len(asked) < 20
    last = max(tradeoff for tradeoff in asked if tradeoff < 0.02)
    assert min(tradeoff for tradeoff in asked if tradeoff >= 0.02) < 1.02 * last

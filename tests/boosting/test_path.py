"""Path: which trade-offs are tried, with boosters that only pretend to be trained."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from frugalforest.boosting.path import Path
from frugalforest.boosting.training import Boosted
from frugalforest.boosting.trees import BoostedTrees


class Pretended(Boosted):
    """A booster of one round."""

    @property
    def n_rounds(self) -> int:
        return len(self.loss)


def path_of(cost_of, loss_of=lambda tradeoff: 0.0, first=None) -> tuple[Path, list[float]]:
    """A path whose boosters cost and lose what functions of the trade-off say, and the trade-offs it asked for."""
    asked = []

    def train(tradeoff, budget):
        asked.append(tradeoff)
        cost = min(cost_of(tradeoff), budget)
        costs = np.array([cost, cost] if first is None else [min(first, budget), cost])
        loss = np.array([9.0, loss_of(tradeoff)])
        is_limited = cost_of(tradeoff) > budget
        return Pretended(tradeoff, budget, np.zeros(1), BoostedTrees.none(1, 1), loss, loss, costs, is_limited), False

    return Path(train, largest=1.0), asked


def falling(tradeoff):
    return 10 / (1 + 100 * tradeoff)


def test_the_search_closes_in_on_the_least_loss():
    path, asked = path_of(falling, loss_of=lambda tradeoff: abs(np.log(tradeoff / 0.02)))
    path.within(4.0, 20, training_budget=4.0)
    assert min(abs(np.log(tradeoff / 0.02)) for tradeoff in asked) < np.log(1.15)
    assert len(asked) < 14


def test_no_more_trainings_than_allowed():
    path, asked = path_of(falling, loss_of=lambda tradeoff: abs(np.log(tradeoff / 0.02)))
    path.within(4.0, 5, training_budget=4.0)
    assert len(asked) == 5


def test_a_budget_that_everything_fits_in_tries_trade_off_zero():
    path, asked = path_of(lambda tradeoff: 1.0)
    path.within(4.0, 20, training_budget=4.0)
    assert 0 in asked


def test_bills_that_are_measured_afterwards_must_be_within_the_budget():
    path, _ = path_of(falling, loss_of=lambda tradeoff: tradeoff)
    path.within(4.0, 12, training_budget=np.inf)
    best = min(path.boosters(), key=lambda boosted: boosted.least_loss(4.0))
    assert 0.015 <= best.tradeoff < 0.015 * 1.5


def test_the_path_ends_where_nothing_more_is_bought():
    path, asked = path_of(falling)
    path.along(30, cheapest=np.inf)
    assert asked[0] == 0
    assert asked[1] == 0.9
    bills = [path.at(tradeoff).final_cost for tradeoff in sorted(asked)]
    assert bills[0] == 10
    assert bills[1] >= 9.8 > bills[2]
    assert max(one / other for one, other in pairwise(bills)) < 1.5


def test_small_budgets_follow_where_the_first_round_is_dear():
    path, _ = path_of(falling, first=3.0)
    path.along(12, cheapest=0.5)
    small = sorted({boosted.budget for boosted in path.boosters()} - {np.inf})
    assert small[0] == 0.5
    assert small[-1] < 3
    assert len(small) == 4


def test_ctrl_c_ends_the_search_with_what_there_is():
    path, asked = path_of(lambda tradeoff: 1.0)
    plain = path.train

    def train(tradeoff, budget):
        if len(asked) == 2:
            raise KeyboardInterrupt
        return plain(tradeoff, budget)

    path.train = train
    path.within(4.0, 20, training_budget=4.0)
    assert path.interrupted
    assert len(path.boosters()) == 2

"""Panels that shrink and grow: within their limits, by gain per money, groups as a whole where that is better."""

from __future__ import annotations

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.cascades.orders import free_features, grown, price_steps, savings, shrunk

BLOOD = ff.FeatureCosts([1, 2, 2, 0, 5], groups={"blood": ff.Group([1, 2], 10), "lab": ff.Group([2, 4], 1)})


def random_costs(seed):
    random = np.random.default_rng(seed)
    groups = {
        str(g): ff.Group(random.choice(8, random.integers(1, 5), replace=False).tolist(), int(random.integers(0, 5)))
        for g in range(3)
    }
    return ff.FeatureCosts(random.integers(0, 4, 8), groups=groups), random.random(8), random.random(8) < 0.7


@pytest.mark.parametrize("seed", range(20))
def test_savings_are_differences_of_bills(seed):
    costs, _, panel = random_costs(seed)
    for feature in range(8):
        without = panel.copy()
        without[feature] = False
        expected = costs.of(panel) - costs.of(without)
        assert savings(costs, panel)[feature] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_limits_are_kept_and_panels_are_nested(seed):
    costs, gains, panel = random_costs(seed)
    for limit in (0.0, 2.0, 5.0, costs.total):
        smaller, larger = shrunk(costs, panel, gains, limit), grown(costs, np.zeros(8, bool), gains, limit)
        assert costs.of(smaller) <= limit
        assert not (smaller & ~panel).any()
        assert costs.of(larger) <= limit
        assert (larger | ~costs.affordable(larger, limit))[gains > 0].all()  # nothing more fits
        assert (grown(costs, panel, gains, limit) >= panel).all()


def test_what_costs_nothing_stays_and_what_gains_nothing_does_not_join():
    gains = np.array([1.0, 1, 1, 0, 0])
    assert shrunk(BLOOD, np.ones(5, bool), gains, 0).tolist() == [False, False, False, True, False]
    assert grown(BLOOD, np.zeros(5, bool), gains, BLOOD.total).tolist() == [True, True, True, False, False]
    assert free_features(BLOOD).tolist() == [False, False, False, True, False]


def test_least_gain_per_money_leaves_first():
    costs = ff.FeatureCosts([1, 1, 4])
    assert shrunk(costs, np.ones(3, bool), np.array([2.0, 1, 3]), 5).tolist() == [True, True, False]
    assert shrunk(costs, np.ones(3, bool), np.array([2.0, 1, 8]), 5).tolist() == [True, False, True]


def test_a_group_joins_and_leaves_as_a_whole():
    """One blood value is not worth the draw; both together are."""
    gains = np.array([1.0, 9, 9, 0, 0.1])
    assert grown(BLOOD, np.zeros(5, bool), gains, 15)[[1, 2]].all()
    # Neither member saves much by itself, both save the draw.
    panel = np.array([True, True, True, False, False])
    assert shrunk(BLOOD, panel, np.array([1.0, 3, 3, 0, 0]), 14).tolist() == [True, False, False, False, False]


def test_steps_rise_in_equal_ratios_to_everything():
    steps = price_steps(ff.FeatureCosts.unit(8), np.ones(8, bool), 4)
    assert steps == pytest.approx([1, 2, 4, 8])
    assert steps[-1] == 8
    assert price_steps(BLOOD, np.ones(5, bool), 1).tolist() == [21]
    assert len(price_steps(BLOOD, free_features(BLOOD), 4)) == 0

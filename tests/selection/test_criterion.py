"""Benefit against cost, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.selection.criterion import benefit_per_cost, best_of, change_per_cost


def test_benefit_per_cost_by_hand():
    benefit, cost = np.array([0.8, 0.6, 0.1]), np.array([4.0, 1.0, 0.25])
    assert benefit_per_cost(benefit, cost, 1) == pytest.approx([0.2, 0.6, 0.4])
    assert benefit_per_cost(benefit, cost, 0).tolist() == [0.8, 0.6, 0.1]
    assert benefit_per_cost(benefit, cost, 2) == pytest.approx([0.05, 0.6, 1.6])


def test_a_fall_of_the_error_is_divided_by_the_cost_in_both_readings():
    change, cost = np.array([-0.2, -0.1]), np.array([4.0, 1.0])
    for ratio in ("signed", "paper"):
        assert change_per_cost(change, cost, 1, ratio) == pytest.approx([-0.05, -0.1])


def test_a_rise_of_the_error_is_where_the_two_readings_part():
    change, cost = np.array([0.1, 0.1]), np.array([2.0, 1.0])
    assert np.argmin(change_per_cost(change, cost, 1, "paper")) == 0  # as printed: the dearer of two equally bad ones
    assert np.argmin(change_per_cost(change, cost, 1, "signed")) == 1
    assert change_per_cost(change, cost, 1, "paper") == pytest.approx([0.05, 0.1])
    assert change_per_cost(change, cost, 1, "signed") == pytest.approx([0.2, 0.1])


def test_xi_0_ignores_costs():
    change, cost = np.array([-0.1, 0.1, 0.0]), np.array([2.0, 0.5, 7.0])
    for ratio in ("signed", "paper"):
        assert change_per_cost(change, cost, 0, ratio).tolist() == change.tolist()


@pytest.mark.parametrize("xi", [0.5, 1, 3])
def test_equal_costs_do_not_change_the_order(xi):
    change, cost = np.random.default_rng(0).normal(size=20), np.full(20, 0.37)
    for ratio in ("signed", "paper"):
        assert np.array_equal(np.argsort(change_per_cost(change, cost, xi, ratio)), np.argsort(change))


def test_ties_go_to_the_cheaper_one_unless_costs_are_ignored_then_to_the_first():
    values, cost = np.array([1.0, 0.5, 0.5, 0.5]), np.array([1.0, 3.0, 2.0, 2.0])
    everything = np.ones(4, dtype=bool)
    assert best_of(values, cost, 1, allowed=everything) == 2
    assert best_of(values, cost, 0, allowed=everything) == 1
    assert best_of(values, cost, 1, allowed=np.array([True, True, False, True])) == 3

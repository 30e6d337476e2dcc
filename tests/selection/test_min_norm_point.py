"""Minimising submodular functions by the minimum-norm point, and telling which functions are submodular."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import frugalforest as ff
from frugalforest.selection.min_norm_point import minimise
from frugalforest.selection.set_function import (
    CallableCost,
    GroupCost,
    TradedOff,
    find_counterexample,
)
from frugalforest.selection.solvers import CutSolver, PointSolver
from selection.submodular_cases import all_masks, random_case


def printed_cost(price, hyperedges):
    """Thomas, eq. (5), as printed: W(T) is taken off every member of T that is used, once two are."""

    def cost(mask):
        used = price[mask].sum()
        for members, weight in hyperedges:
            k = mask[members].sum()
            used -= k * weight if k > 1 else 0
        return used

    return cost


def meant_cost(price, hyperedges):
    """What the text says: the other members get cheaper, so that the first one pays in full."""

    def cost(mask):
        return price[mask].sum() - sum(max(mask[members].sum() - 1, 0) * weight for members, weight in hyperedges)

    return cost


def cut_function(weights):
    """The weight of edges between a set and the rest: submodular, and not monotone."""
    return lambda mask: weights[np.ix_(mask, ~mask)].sum()


# ---- the smallest minimiser


@pytest.mark.parametrize("seed", range(60))
def test_minimum_of_cuts_less_rewards_is_that_of_brute_force(seed):
    random = np.random.default_rng(seed)
    m = int(random.integers(1, 10))
    weights = random.integers(0, 4, (m, m)).astype(float)
    reward = random.integers(-6, 7, m).astype(float)
    cut = cut_function(weights + weights.T)
    function = CallableCost(lambda mask: cut(mask) - reward[mask].sum(), m)
    masks = all_masks(m)  # small sets first
    values = [function(mask) for mask in masks]
    found = minimise(function)
    assert np.array_equal(found.mask, masks[int(np.argmin(values))])
    assert found.value == pytest.approx(min(values), abs=1e-9)
    assert abs(found.gap) < 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_minimum_between_two_sets(seed):
    random = np.random.default_rng(seed)
    m = 8
    cut = cut_function(random.integers(0, 4, (m, m)).astype(float))
    reward = random.integers(-6, 7, m).astype(float)
    function = CallableCost(lambda mask: cut(mask) - reward[mask].sum(), m)
    lower = random.random(m) < 0.25
    upper = lower | (random.random(m) < 0.7)
    between = [mask for mask in all_masks(m) if np.all(lower <= mask) and np.all(mask <= upper)]
    best = min(between, key=function)  # the first of equals, which has the fewest features
    found = minimise(function, lower=lower, upper=upper)
    assert np.array_equal(found.mask, best)
    assert found.value == pytest.approx(function(best) - function(lower), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_is_a_proof_even_when_stopped_early(seed):
    case = random_case(seed, 12, coarse=False)
    function = TradedOff(GroupCost(case.costs), case.information, 3.0)
    best = min(function(mask) for mask in all_masks(case.costs.n_features))
    for n in (1, 2, 3, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = minimise(function, max_vertices=n)
        assert found.value - found.gap <= best + 1e-9
        assert found.value == pytest.approx(function(found.mask), abs=1e-9)


def test_stopping_early_is_said():
    random = np.random.default_rng(0)
    groups = {f"g{g}": ff.Group(random.choice(40, 12, replace=False).tolist(), 1.0) for g in range(10)}
    function = TradedOff(GroupCost(ff.FeatureCosts(random.random(40).round(3), groups=groups)), random.random(40), 2.0)
    with pytest.warns(
        ConvergenceWarning, match=r"looked at 3 vertices .* at most [\d.]+ more than the best .* max_vert"
    ):
        found = minimise(function, max_vertices=3)
    assert found.gap > 0


def test_a_hundred_features_with_many_ties():
    random = np.random.default_rng(1)
    groups = {f"g{g}": ff.Group(random.choice(100, 25, replace=False).tolist(), 2.0) for g in range(8)}
    costs = ff.FeatureCosts(random.integers(0, 4, 100) / 4, groups=groups)
    information = random.integers(0, 4, 100) / 8
    cut, point = CutSolver(costs), PointSolver(GroupCost(costs))
    for tradeoff in (1.0, 2.0, 4.0, 6.0):
        assert np.array_equal(point.best_set(information, tradeoff), cut.best_set(information, tradeoff))


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_paths_are_those_of_cuts(seed, coarse):
    case = random_case(seed, 10, coarse=coarse)
    by_points = PointSolver(GroupCost(case.costs)).path(case.information)
    by_cuts = CutSolver(case.costs).path(case.information)
    assert np.allclose(by_points.entry, by_cuts.entry, rtol=1e-9)
    assert np.allclose(by_points.cost[-1], by_cuts.cost[-1])


def test_a_cost_that_falls_at_last_has_features_in_from_the_start():
    # Feature 0 is worth taking even for nothing in return: it lowers the bill.
    cost = CallableCost(lambda mask: float(mask[1:].sum() - mask[0] * 0.5), 3)
    path = PointSolver(cost).path(np.array([0.0, 0.5, 0.0]))
    assert path.entry.tolist() == [-math.inf, 2.0, math.inf]
    assert path.cost.tolist() == [-0.5, 0.5]
    assert path.mask(0).tolist() == [True, False, False]


# ---- set functions


def test_steps_are_differences_of_values():
    for seed in range(20):
        case = random_case(seed, coarse=False)
        m = case.costs.n_features
        random = np.random.default_rng(seed)
        start = random.random(m) < 0.3
        order = random.permutation(np.flatnonzero(~start))[: max(1, m // 2)]
        fast, slow = GroupCost(case.costs), CallableCost(case.costs.of, m)
        assert np.allclose(fast.steps(start, order), slow.steps(start, order), atol=1e-12)
        traded = TradedOff(fast, case.information, 2.0)
        assert np.allclose(traded.steps(start, order), CallableCost(traded, m).steps(start, order), atol=1e-12)


def test_a_function_may_keep_and_change_the_mask_it_is_given():
    kept = []

    def cost(mask):
        kept.append(mask)
        size = mask.sum()
        mask[:] = True
        return size

    steps = CallableCost(cost, 3).steps(np.zeros(3, dtype=bool), np.arange(3))
    assert steps.tolist() == [1, 1, 1]
    assert len({id(mask) for mask in kept}) == len(kept)


@pytest.mark.parametrize(
    ("cost", "error", "message"),
    [
        (lambda mask: 2.0 + mask.sum(), ValueError, r"\(no features\) is 2; .* must be 0 for the empty set: subtract"),
        (lambda mask: math.nan if mask.sum() == 2 else 0.0, ValueError, r"feature_costs\(\{0, 1\}\) is nan; .* finite"),
        (lambda mask: math.inf if mask.any() else 0.0, ValueError, r"feature_costs\(\{0\}\) is inf"),
        (lambda mask: math.nan, ValueError, r"feature_costs\(\{\}\) is nan"),
        (lambda mask: "dear" if mask.any() else 0, TypeError, r"feature_costs\(\{0\}\) is 'dear'; .* return a number"),
        (lambda mask: mask, TypeError, r"must return a number"),
    ],
)
def test_functions_that_are_no_costs(cost, error, message):
    with pytest.raises(error, match=message):
        CallableCost(cost, 4).steps(np.zeros(4, dtype=bool), np.arange(4))


# ---- is it submodular?


def is_submodular(function, m):
    """By definition: f(A) + f(B) >= f(A or B) + f(A and B) for all A and B."""
    values = {mask.tobytes(): function(mask) for mask in all_masks(m)}
    return all(
        values[a.tobytes()] + values[b.tobytes()] >= values[(a | b).tobytes()] + values[(a & b).tobytes()] - 1e-9
        for a, b in itertools.combinations(all_masks(m), 2)
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_counterexample_is_found_exactly_if_there_is_one(seed):
    random = np.random.default_rng(seed)
    m = int(random.integers(2, 6))
    weights = np.triu(random.integers(-1, 5, (m, m)), 1).astype(float)  # a negative weight may break it
    function = cut_function(weights + weights.T)
    found = find_counterexample(function, m)
    assert (found is None) == is_submodular(function, m)
    if found is not None:
        base = np.isin(np.arange(m), found.base)
        sets = [base, base | (np.arange(m) == found.first), base | (np.arange(m) == found.second)]
        values = [function(mask) for mask in (*sets, sets[1] | sets[2])]
        assert list(found.values) == values
        assert values[1] + values[2] < values[0] + values[3]


@pytest.mark.parametrize("m", [4, 20])
def test_the_printed_formula_is_not_submodular_and_what_is_meant_is(m):
    price, hyperedges = np.full(m, 5.0), [(np.arange(m) < 4, 1.0)]
    found = find_counterexample(printed_cost(price, hyperedges), m)
    assert found is not None
    none, first, second, both = found.values
    assert second - none < both - first  # dearer after another one than before
    assert find_counterexample(meant_cost(price, hyperedges), m) is None


def test_the_printed_marginals_are_0_2_1():
    cost = printed_cost(np.zeros(4), [(np.ones(4, dtype=bool), 1.0)])
    steps = CallableCost(cost, 4).steps(np.zeros(4, dtype=bool), np.arange(4))
    assert steps.tolist() == [0, -2, -1, -1]
    example = find_counterexample(cost, 4)
    assert str(example) == (
        "f({0}) = 0, f({0, 1}) = -2, f({0, 2}) = -2, f({0, 1, 2}) = -3: feature 2 adds -2 before 1, and -1 after it"
    )


def test_what_is_meant_is_the_group_model():
    price, members, weight = np.array([5.0, 6, 7, 8]), np.array([True, True, False, True]), 2.0
    costs = ff.FeatureCosts(price - weight * members, groups={"g": ff.Group(np.flatnonzero(members).tolist(), weight)})
    meant = meant_cost(price, [(members, weight)])
    assert all(costs.of(mask) == meant(mask) for mask in all_masks(4))


def test_sampling_is_reproducible():
    cost = printed_cost(np.full(30, 5.0), [(np.arange(30) < 12, 1.0)])
    first, again, other = (find_counterexample(cost, 30, random_state=seed) for seed in (0, 0, 1))
    assert first == again != other

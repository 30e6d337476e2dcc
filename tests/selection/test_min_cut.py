"""The best set by minimum cuts: exact, the smallest of equals, and for all trade-offs at once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.selection.max_flow import worthwhile_projects
from frugalforest.selection.min_cut import CutProblem, as_printed, best_set, entry_tradeoffs, rounded_down
from frugalforest.selection.selection_path import SelectionPath
from selection.submodular_cases import Case, best_by_brute_force, random_case

# ---- projects and tools


def profit(chosen, gains, needs, prices):
    tools = {tool for project in chosen for tool in needs[project]}
    return sum(gains[project] for project in chosen) - sum(prices[tool] for tool in tools)


def projects_by_brute_force(gains, needs, prices):
    sets = [s for size in range(len(gains) + 1) for s in itertools.combinations(range(len(gains)), size)]
    best = max(sets, key=lambda chosen: profit(chosen, gains, needs, prices))  # the first of equals: the smallest
    return [project in best for project in range(len(gains))]


@pytest.mark.parametrize("seed", range(200))
def test_projects_are_those_of_brute_force(seed):
    random = np.random.default_rng(seed)
    n_projects, n_tools = random.integers(1, 8), random.integers(1, 6)
    gains = random.integers(0, 7, n_projects).tolist()
    prices = random.integers(0, 9, n_tools).tolist()
    needs = [random.choice(n_tools, random.integers(0, n_tools + 1), replace=False).tolist() for _ in gains]
    assert worthwhile_projects(gains, needs, prices) == projects_by_brute_force(gains, needs, prices)


def test_gains_may_be_larger_than_any_machine_number():
    huge = 10**40
    assert worthwhile_projects([huge, 1], [[0], [0]], [huge]) == [True, True]
    assert worthwhile_projects([huge, 1], [[0], [0]], [huge + 1]) == [False, False]


def test_flow_finds_its_way_back():
    # Project 0 pays tool 0 at first, and has to make room for project 1, which can pay nothing else.
    assert worthwhile_projects([2, 3], [[0, 1], [0]], [3, 2]) == [False, False]
    assert worthwhile_projects([2, 4], [[0, 1], [0]], [3, 2]) == [False, True]
    assert worthwhile_projects([3, 3], [[0, 1], [0]], [3, 2]) == [True, True]


# ---- one trade-off


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("seed", range(100))
def test_best_set_is_that_of_brute_force(seed, coarse):
    case = random_case(seed, 9, coarse=coarse)
    found = best_set(CutProblem.of(case.costs, case.information), case.tradeoff)
    assert np.array_equal(found, best_by_brute_force(case))


def chosen(costs, information, tradeoff):
    return np.flatnonzero(best_set(CutProblem.of(costs, np.array(information)), tradeoff)).tolist()


def test_a_group_is_bought_when_its_members_pay_for_it_together():
    costs = ff.FeatureCosts([1, 1, 1], groups={"blood": ff.Group([0, 1], 4)})
    assert chosen(costs, [0.5, 0.4, 0.3], 5) == [2]
    assert chosen(costs, [0.5, 0.4, 0.3], 10) == [0, 1, 2]
    assert chosen(costs, [0.5, 0.0, 0.3], 10) == [2]  # 5 does not pay for 1 + 4


def test_ties_go_to_the_smaller_set():
    assert chosen(ff.FeatureCosts([1, 1]), [0.5, 0.25], 2) == []
    assert chosen(ff.FeatureCosts([1, 1]), [0.5, 0.25], 4) == [0]
    costs = ff.FeatureCosts([0, 0, 0], groups={"a": ff.Group([0, 1], 1), "b": ff.Group([1, 2], 1)})
    assert chosen(costs, [0.5, 0.5, 0.5], 2) == [0, 1, 2]  # 3 against 2
    assert chosen(costs, [0.5, 0.0, 0.5], 2) == []


def test_decimals_are_what_they_look_like():
    # As binary fractions, 0.1 * 0.3 is a little more than 0.03, and 0.1 * 0.7 than 0.07.
    assert chosen(ff.FeatureCosts([0.03, 0.07]), [0.3, 0.7], 0.1) == []
    assert chosen(ff.FeatureCosts([0.03, 0.07]), [0.3, 0.7], math.nextafter(0.1, 1)) == [0, 1]


def test_free_features_are_in_as_soon_as_they_tell_anything_and_information_counts():
    costs = ff.FeatureCosts([0, 0, 1], groups={"free": ff.Group([0, 2], 0)})
    assert chosen(costs, [1e-12, 0, 0.5], 0) == []
    assert chosen(costs, [1e-12, 0, 0.5], 1e-300) == [0]
    assert chosen(costs, [1e-12, 0, 0.5], math.inf) == [0, 2]


def test_scaling_costs_and_tradeoff_changes_nothing():
    for seed in range(20):
        case = random_case(seed, coarse=False)
        found = chosen(case.costs, case.information, 2.0)
        assert chosen(case.costs.scaled(1000), case.information, 2000.0) == found


# ---- all of them


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_entries_give_the_best_set_for_every_tradeoff(seed, coarse):
    case = random_case(seed, 10, coarse=coarse)
    problem = CutProblem.of(case.costs, case.information)
    entry = entry_tradeoffs(problem)
    at = entry[np.isfinite(entry)]
    beside = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, np.inf), [0.0, 1.0, 1e9, math.inf]])
    for tradeoff in np.unique(beside).tolist():
        assert np.array_equal(best_set(problem, tradeoff), entry < tradeoff)


@pytest.mark.parametrize("seed", range(30))
def test_sets_of_a_path_are_those_of_brute_force(seed):
    case = random_case(seed, 8, coarse=True)
    path = SelectionPath.of(entry_tradeoffs(CutProblem.of(case.costs, case.information)), case.information, case.costs)
    for tradeoff in (0.25, 0.5, 1.0, 1.5, 3.0, 6.0, 50.0):
        wanted = best_by_brute_force(Case(case.costs, case.information, tradeoff))
        assert np.array_equal(path.mask_at(tradeoff), wanted)


@pytest.mark.parametrize("seed", range(30))
def test_a_path_is_nested_and_its_bills_are_right(seed):
    case = random_case(seed, coarse=False)
    path = SelectionPath.of(entry_tradeoffs(CutProblem.of(case.costs, case.information)), case.information, case.costs)
    assert len(path) <= case.costs.n_features + 1
    assert np.all(np.diff(path.tradeoffs) > 0)
    masks = [path.mask(i) for i in range(len(path))]
    assert not masks[0].any()
    assert np.array_equal(masks[-1], case.information > 0)
    for smaller, larger in itertools.pairwise(masks):
        assert np.all(smaller <= larger)
        assert larger.sum() > smaller.sum()
    assert path.cost.tolist() == [case.costs.of(mask) for mask in masks]
    assert np.allclose(path.information, [case.information[mask].sum() for mask in masks], atol=1e-12)
    assert path.n_selected.tolist() == [mask.sum() for mask in masks]


def test_overlapping_groups_enter_one_after_the_other():
    # {0} for 2 + 1, then 1 joins for 0.5 more, and 2 needs the second group by itself.
    groups = {"a": ff.Group([0, 1], 2), "b": ff.Group([1, 2], 1)}
    costs = ff.FeatureCosts([1, 0.5, 1], groups=groups)
    entry = entry_tradeoffs(CutProblem.of(costs, np.array([1.0, 0.25, 0.125])))
    assert entry.tolist() == [3.0, 6.0, 8.0]


def test_many_features_in_connected_groups():
    random = np.random.default_rng(0)
    groups = {f"g{g}": ff.Group(random.choice(3000, 400, replace=False).tolist(), float(g + 1)) for g in range(12)}
    costs = ff.FeatureCosts(random.random(3000).round(3) / 100, groups=groups)
    problem = CutProblem.of(costs, random.random(3000))
    entry = entry_tradeoffs(problem)
    assert len(problem.patterns) > 100
    for tradeoff in np.quantile(entry, [0.01, 0.1, 0.3, 0.5, 0.7]).tolist():
        assert np.array_equal(best_set(problem, tradeoff), entry < tradeoff)


def test_within_is_the_largest_set_of_the_path_that_fits():
    costs = ff.FeatureCosts([1, 2, 3])
    information = np.array([0.5, 0.5, 0.5])
    path = SelectionPath.of(entry_tradeoffs(CutProblem.of(costs, information)), information, costs)
    assert path.tradeoffs.tolist() == [2, 4, 6, math.inf]
    assert [path.within(budget) for budget in (0, 0.99, 1, 2.9, 3, 5, 6, 100)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_frame_of_a_path():
    pytest.importorskip("pandas")
    costs = ff.FeatureCosts([1, 2])
    path = SelectionPath.of(np.array([2.0, 4.0]), np.array([0.5, 0.5]), costs)
    frame = path.to_frame()
    assert list(frame.columns) == ["up_to", "n_selected", "cost", "information"]
    assert frame["cost"].tolist() == [0, 1, 3]
    assert frame["information"].tolist() == [0, 0.5, 1]


# ---- numbers


@pytest.mark.parametrize(
    "number",
    [Fraction(1, 10), Fraction(1, 3), Fraction(2, 3), Fraction(0), Fraction(10) ** 20 / 7, Fraction(1, 10**400)],
)
def test_rounded_down_is_the_last_float_that_is_not_above(number):
    found = rounded_down(number)
    assert as_printed(found) <= number < as_printed(math.nextafter(found, math.inf))


def test_rounding_down_what_no_float_can_hold():
    assert rounded_down(Fraction(10**400)) == np.finfo(np.float64).max


@pytest.mark.parametrize("prices", [[0.1, 0.02], [1 / 3, 1.0], [1e300, 1.0], [3e20, 1e20], [0.0, 0.0]])
def test_ticks_of_every_kind_are_read_exactly(prices):
    costs = ff.FeatureCosts(prices)
    problem = CutProblem.of(costs, np.ones(2))
    in_money = [Fraction(int(own)) * problem.unit / 10**12 for own in problem.own]
    assert [float(money) for money in in_money] == costs.own.tolist()

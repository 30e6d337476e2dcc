"""Shallow tree selection: votes as bits, the greedy search, and the trees it chooses from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import make_classification

import frugalforest as ff
import naive_selection as naive
from frugalforest.selection import ShallowTreeSelector
from frugalforest.selection.base_trees import cheapest_bills, deepest_that_fits
from frugalforest.selection.shallow_trees import search_trees
from frugalforest.selection.tree_votes import CandidateTrees, Tally, as_words, n_common


def candidates(votes, features, n_classes):
    return CandidateTrees.from_votes(np.array(votes, dtype=np.int8), n_classes, np.array(features, dtype=bool), 1)


def random_problem(random):
    n_rows, n_features, n_trees = int(random.integers(1, 150)), int(random.integers(1, 7)), int(random.integers(1, 12))
    n_classes = int(random.integers(2, 5))
    votes = random.integers(-1, n_classes, (n_trees, n_rows))
    features = random.random((n_trees, n_features)) < 0.4
    labels = random.integers(0, n_classes, n_rows).astype(np.int32)
    own = np.round(random.choice([0, 0.1, 0.2, 0.5, 1, 1.5], n_features), 1)
    members = np.flatnonzero(random.random(n_features) < 0.5).tolist()
    groups = [(members, 0.7)] if members else []
    named = {"g": ff.Group(members, 0.7)} if members else {}
    return votes, features, labels, n_classes, naive.Prices(own.tolist(), groups), ff.FeatureCosts(own, groups=named)


# ---- votes as bits


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_words_hold_the_bits(n):
    bits = np.random.default_rng(n).random((3, n)) < 0.5
    words = as_words(bits)
    assert words.shape == (3, -(-n // 64))
    assert n_common(words, words[0]).tolist() == (bits & bits[0]).sum(axis=1).tolist()


def test_tally_by_hand():
    # Four rows of classes 0, 0, 1, 1. The first tree votes for rows 0 and 2, rightly; rows without a vote are wrong.
    trees = candidates([[0, -1, 1, -1], [1, 0, -1, 0]], [[1], [1]], 2)
    tally = Tally(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    assert tally.error == 0.5
    assert tally.errors_with(trees).tolist() == [0.5, 0.75]
    tally.add(trees, 0)
    assert tally.error == 0.5
    # The second one makes a tie in row 0, which goes to class 0; it is right in row 1, wrong in row 3.
    assert tally.errors_with(trees)[1] == 0.25


def test_tally_equals_counting():
    random = np.random.default_rng(0)
    for _ in range(60):
        votes, features, labels, n_classes, *_ = random_problem(random)
        trees = candidates(votes, features, n_classes)
        tally, chosen = Tally(labels, n_classes), []
        for _ in range(4):
            expected = [naive.ensemble_error([*chosen, list(vote)], labels, n_classes) for vote in votes.tolist()]
            has_votes = [any(v >= 0 for tree in [*chosen, vote] for v in tree) for vote in votes.tolist()]
            found = tally.errors_with(trees)
            assert found[has_votes] == pytest.approx(np.array(expected)[has_votes])
            pick = int(random.integers(len(votes)))
            tally.add(trees, pick)
            chosen.append(votes[pick].tolist())


# ---- the search


def test_twin_chooses_the_same_trees():
    random = np.random.default_rng(1)
    for _ in range(250):
        votes, features, labels, n_classes, prices, costs = random_problem(random)
        budget, xi = float(np.round(random.uniform(0, costs.total + 0.5), 1)), float(random.choice([0, 0.5, 1, 2]))
        bcr = str(random.choice(["signed", "paper"]))
        panel = search_trees(candidates(votes, features, n_classes), labels, costs, budget, xi, ratio=bcr)
        sets = [set(np.flatnonzero(row).tolist()) for row in features]
        args = (votes.tolist(), sets, labels, n_classes, prices, Fraction(str(budget)), xi, bcr)
        assert [set(step) for step in panel.added] == naive.search_trees(*args)
        assert panel.cost <= budget


def test_both_readings_of_a_rising_error():
    # Any first tree leaves most rows without a vote, so the error rises from one half: the print prefers the dearer.
    votes = [[0, -1, -1, -1], [0, -1, -1, -1]]
    trees = candidates(votes, [[1, 0], [0, 1]], 2)
    labels, costs = np.array([0, 0, 1, 1], dtype=np.int32), ff.FeatureCosts([1, 2])
    assert search_trees(trees, labels, costs, 2, 1, ratio="paper").added == ((1,),)
    assert search_trees(trees, labels, costs, 2, 1, ratio="signed").added == ((0,),)


def test_xi_0_ignores_costs_but_for_the_budget():
    votes = [[0, 0, 1, -1], [0, 0, 1, 1], [0, -1, -1, -1]]
    trees = candidates(votes, np.eye(3), 2)
    labels, costs = np.array([0, 0, 1, 1], dtype=np.int32), ff.FeatureCosts([1, 9, 1])
    assert search_trees(trees, labels, costs, 9, 0).added == ((1,),)
    assert search_trees(trees, labels, costs, 8, 0).added[0] == (0,)


# ---- the base ensemble


def test_depth_by_hand():
    costs = ff.FeatureCosts([1.0] * 10)
    assert [deepest_that_fits(costs, b, None) for b in (0.5, 1, 2, 3, 6.9, 7)] == [1, 1, 1, 2, 2, 3]
    assert deepest_that_fits(costs, None, None) == 4  # 15 features or more: all ten may be in a tree of depth four
    assert deepest_that_fits(costs, 100, 2) == 2


def test_cheapest_bills_count_groups_once():
    costs = ff.FeatureCosts([1, 1, 4], groups={"g": ff.Group([0, 1], 2)})
    assert list(cheapest_bills(costs)) == [3, 4, 8]


@pytest.mark.parametrize("limit", ["depth", "features", "cost"])
def test_limits_hold(limit):
    X, y = make_classification(200, 12, n_informative=5, random_state=0)
    costs = ff.FeatureCosts(np.linspace(0.5, 1.5, 12))
    selector = ShallowTreeSelector(
        4, feature_costs=costs, limit=limit, n_estimators=30, n_forest_trees=20, random_state=0
    )
    problem = selector._learn(X, y)
    judge, searcher = selector._prepare(problem, 4)
    trees = searcher.candidates(4)
    n_levels = deepest_that_fits(costs, 4, None)
    assert set(trees.level.tolist()) == set(range(1, n_levels + 1))
    for level in range(1, n_levels + 1):
        used = trees.features[trees.level == level]
        assert used.sum(axis=1).max() <= 2**level - 1 if limit != "cost" else True
        if limit == "cost" and level > 1:
            assert costs.of_rows(used).max() <= 4 / 2 ** (n_levels - level)
    assert (trees.features[trees.level == 1].sum(axis=1) == 1).all()
    assert selector.fit(X, y).cost_ <= 4
    assert judge.n_trees == 20


def test_base_trees_that_mind_costs_are_cheaper():
    X, y = make_classification(200, 12, n_informative=6, random_state=0)
    costs = ff.FeatureCosts(np.where(np.arange(12) % 2, 5.0, 0.5))
    mean_cost = []
    for tradeoff in (0.0, 0.05):
        selector = ShallowTreeSelector(20, feature_costs=costs, base_tradeoff=tradeoff, n_estimators=50, random_state=0)
        _, searcher = selector._prepare(selector._learn(X, y), 20)
        trees = searcher.candidates(20)
        mean_cost.append(costs.of_rows(trees.features[trees.level > 1]).mean())
    assert mean_cost[1] < 0.7 * mean_cost[0]


def test_constant_features_have_no_stump():
    X, y = make_classification(100, 5, random_state=0)
    X[:, 2] = 1.0
    selector = ShallowTreeSelector(5, n_estimators=20, n_forest_trees=20, random_state=0)
    _, searcher = selector._prepare(selector._learn(X, y), 5)
    assert not searcher.candidates(5).features[:, 2].any()


def test_interacting_features_come_in_together():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 8))
    y = ((X[:, 1] > 0) ^ (X[:, 6] > 0)).astype(int)
    selector = ShallowTreeSelector(3, n_estimators=300, n_forest_trees=100, random_state=0).fit(X, y)
    assert selector.support_[[1, 6]].all()
    assert any({1, 6} <= set(step.added) for step in selector.path_)

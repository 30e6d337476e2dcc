"""Filters: what a feature is worth, and how a budget is filled."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification

import frugalforest as ff
import naive_selection as naive
from frugalforest.selection import AUCSelector, PermutationSelector
from frugalforest.selection.auc import separation
from frugalforest.selection.filters import Filter
from frugalforest.selection.search import NOTHING_FITS, NOTHING_LEFT


def random_prices(random, n_features, n_groups):
    own = np.round(random.uniform(0, 2, n_features), 1)
    groups = [
        (sorted(random.choice(n_features, random.integers(1, n_features + 1), replace=False).tolist()), shared)
        for shared in np.round(random.uniform(0, 2, n_groups), 1).tolist()
    ]
    named = {f"g{i}": ff.Group(members, shared) for i, (members, shared) in enumerate(groups)}
    return naive.Prices(own.tolist(), groups), ff.FeatureCosts(own, groups=named)


# ---- filling


def test_filling_by_hand():
    costs = ff.FeatureCosts([4, 1, 0.25, 3])
    panel = Filter(np.array([0.8, 0.6, 0.1, 0.3]), costs).search(1, 4.3)
    # per cost: 0.2, 0.6, 0.4, 0.1: the second, the third, then the first does not fit (5.25) and the last does (4.25)
    assert panel.added == ((1,), (2,), (3,))
    assert panel.cost == 4.25
    assert panel.ended == NOTHING_FITS
    assert Filter(np.array([0.8, 0.6, 0.1, 0.3]), costs).search(0, 5.3).added == ((0,), (1,), (2,))


def test_a_paid_group_makes_its_members_cheaper():
    costs = ff.FeatureCosts([1, 1, 1], groups={"blood": ff.Group([0, 2], 5)})
    panel = Filter(np.array([0.9, 0.5, 0.4]), costs).search(1, None)
    # alone: 0.15, 0.5, 0.067. With the middle one bought, 0.15 against 0.067; then the last costs 1 instead of 6.
    assert panel.added == ((1,), (0,), (2,))
    assert [step.cost for step in panel.path(lambda f: f)] == [1, 6, 1]
    assert panel.ended == NOTHING_LEFT


def test_twin_fills_the_same_panels():
    random = np.random.default_rng(0)
    for _ in range(300):
        n = int(random.integers(1, 9))
        prices, costs = random_prices(random, n, int(random.integers(0, 4)))
        benefits = np.round(random.uniform(0, 1, n), 1)
        budget, xi = float(np.round(random.uniform(0, costs.total + 1), 1)), float(random.choice([0, 0.5, 1, 2]))
        panel = Filter(benefits, costs).search(xi, budget)
        assert [set(step) for step in panel.added] == naive.fill(benefits, prices, Fraction(str(budget)), xi)
        assert costs.of(panel.support_mask) <= budget


def test_free_features_are_always_in():
    costs = ff.FeatureCosts([0, 2, 0])
    panel = Filter(np.array([0.0, 1.0, 0.5]), costs).search(1, 1)
    assert panel.added == ((0, 2),)


@pytest.mark.parametrize("xi", [0.5, 1, 2.5])
def test_equal_costs_make_xi_irrelevant(xi):
    benefits = np.random.default_rng(1).uniform(size=12)
    costs = ff.FeatureCosts(np.full(12, 0.3))
    assert Filter(benefits, costs).search(xi, 2).added == Filter(benefits, costs).search(0, 2).added


# ---- AUC


def test_separation_by_hand():
    column = np.array([[1.0], [2.0], [3.0], [4.0]])
    numeric = np.zeros(1, dtype=bool)
    assert separation(column, np.array([0, 0, 1, 1]), 2, numeric) == [1.0]
    assert separation(column, np.array([1, 0, 1, 0]), 2, numeric) == [0.5]  # 3 of 4 pairs are the wrong way round
    assert separation(column, np.array([0, 1, 1, 0]), 2, numeric) == [0.0]


def test_separation_equals_counting_pairs_with_ties_and_missing_values():
    random = np.random.default_rng(2)
    for n_classes in (2, 4):
        X = random.integers(0, 5, (60, 6)).astype(float)
        X[random.random(X.shape) < 0.2] = np.nan
        y = random.integers(0, n_classes, 60).astype(np.int32)
        found = separation(X, y, n_classes, np.zeros(6, dtype=bool))
        for f in range(6):
            known = ~np.isnan(X[:, f])
            each = [2 * abs(naive.auc(X[known, f], y[known] == c) - 0.5) for c in range(n_classes)]
            sizes = [int((y[known] == c).sum()) for c in range(n_classes)]
            assert found[f] == pytest.approx(np.average(each, weights=sizes))


def test_separation_of_nothing_is_zero():
    X = np.column_stack([np.full(6, 3.0), np.full(6, np.nan), [1, np.nan, np.nan, 2, np.nan, np.nan]])
    assert separation(X, np.array([0, 1, 1, 0, 1, 1], dtype=np.int32), 2, np.zeros(3, dtype=bool)).tolist() == [0, 0, 0]


def test_categories_are_judged_by_their_class_shares():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]])
    y = np.array([1, 1, 0, 0, 1, 1], dtype=np.int32)
    assert separation(X, y, 2, np.zeros(1, dtype=bool)) == [0.0]
    assert separation(X, y, 2, np.ones(1, dtype=bool)) == [1.0]


# ---- permutation importance


def test_importance_finds_the_feature_that_decides():
    X, y = make_classification(
        300, 6, n_informative=1, n_redundant=0, n_clusters_per_class=1, shuffle=False, random_state=0
    )
    for importance in ("tree", "forest"):
        selector = PermutationSelector(
            1, xi=0, importance=importance, n_estimators=100, n_forest_trees=20, random_state=0
        )
        selector.fit(X, y)
        assert selector.support_.tolist() == [True] + [False] * 5
        assert (selector.benefits_ >= 0).all()


def test_importance_is_near_scikit_learns_on_the_same_rows():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.inspection import permutation_importance

    X, y = load_iris(return_X_y=True)
    ours = (
        PermutationSelector(n_estimators=300, n_forest_trees=10, path_errors=False, random_state=0).fit(X, y).benefits_
    )
    random = np.random.default_rng(0)
    theirs = np.zeros(4)
    forest = RandomForestClassifier(300, random_state=0).fit(X, y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), rows)
        found = permutation_importance(tree, X[out], y[out], n_repeats=1, random_state=int(random.integers(2**31)))
        theirs += found.importances_mean / 300
    assert ours == pytest.approx(np.maximum(theirs, 0), abs=0.02)


# ---- the selectors


def test_path_tells_what_was_added_at_what_cost_with_what_error():
    data = ff.datasets.load_breast_cancer(as_frame=True)
    selector = AUCSelector(5, feature_costs=data.feature_costs, xi=1, n_forest_trees=60, random_state=0)
    selector.fit(data.X, data.y)
    steps = list(selector.path_)
    assert [name for step in steps for name in step.added] != []
    assert {name for step in steps for name in step.added} == set(selector.selected_)
    assert steps[-1].spent == selector.cost_ <= 5
    assert steps[-1].error == selector.oob_error_
    assert all(0 < step.error < 0.5 for step in steps)
    assert "fits the budget" in selector.path_.ended
    assert str(selector.path_).splitlines()[0].startswith("  1. ")
    assert selector.path_.to_frame()["spent"].is_monotonic_increasing


def test_without_path_errors_only_the_panel_is_judged():
    X, y = load_iris(return_X_y=True)
    selector = AUCSelector(3, xi=0, path_errors=False, n_forest_trees=20, random_state=0).fit(X, y)
    assert np.isnan([step.error for step in selector.path_]).all()
    assert selector.oob_error_ < 0.2


def test_auc_takes_the_best_separators():
    X, y = load_breast_cancer(return_X_y=True)
    selector = AUCSelector(3, xi=0, n_forest_trees=10, random_state=0).fit(X, y)
    assert selector.benefits_[selector.support_].min() >= selector.benefits_[~selector.support_].max()

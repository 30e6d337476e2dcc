"""The cost-weighted l1 classifier: optimal by its own conditions, equal to scikit-learn's where that can do it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from frugalforest.costs import FeatureCosts, Group
from frugalforest.linear_trees import Standard
from frugalforest.linear_trees.lasso import LogisticData, largest_tradeoff, solve_path
from frugalforest.linear_trees.penalty import CostPenalty

PRICES = np.array([1, 0.5, 2, 1, 3, 0.2, 1, 1, 4, 1.5])
DISJOINT = {"a": Group([0, 1, 2], 2.0), "b": Group([3, 4], 1.0)}
OVERLAPPING = {"a": Group([0, 1, 2, 5], 2.0), "b": Group([2, 3, 4], 1.0), "c": Group([5, 6], 0.5)}


def data(seed=0, n_classes=2, n_rows=300):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 10)) @ (np.eye(10) + 0.3 * random.normal(size=(10, 10)))
    margins = X[:, :n_classes] * 2 + X[:, 3:4] * np.arange(n_classes) + random.gumbel(size=(n_rows, n_classes))
    labels = margins.argmax(axis=1)
    weights = random.uniform(0.5, 2, n_rows)
    targets = np.eye(n_classes)[labels]
    standard = Standard.learn(X, weights)
    shares = weights / weights.sum()
    return LogisticData(X, standard, targets[:, 1:] if n_classes == 2 else targets, shares), labels


def objective(problem, penalty, tradeoff, ridge, slopes, intercept):
    margins = problem.standard.read(problem.matrix) @ slopes + intercept
    if margins.shape[1] == 1:
        loss = np.logaddexp(0, margins[:, 0]) - problem.targets[:, 0] * margins[:, 0]
    else:
        loss = np.logaddexp.reduce(margins, axis=1) - (problem.targets * margins).sum(axis=1)
    return problem.shares @ loss + ridge / 2 * (slopes**2).sum() + tradeoff * penalty.value(slopes)


@pytest.mark.parametrize("tradeoff", [0.1, 0.03, 0.003])
def test_without_groups_it_is_scikit_learn_on_rescaled_columns(tradeoff):
    problem, labels = data()
    penalty = CostPenalty.of(FeatureCosts(PRICES))
    (found,) = solve_path(problem, penalty, [tradeoff], ridge=0.0)
    Z = problem.standard.read(problem.matrix)
    model = LogisticRegression(l1_ratio=1, C=1 / (300 * tradeoff), solver="saga", tol=1e-6, max_iter=20_000)
    model.fit(Z / PRICES, labels, sample_weight=300 * problem.shares)
    theirs = (model.coef_ / PRICES).T
    assert np.allclose(found.slopes, theirs, atol=2e-3)
    values = [
        objective(problem, penalty, tradeoff, 0.0, *pair)
        for pair in ((found.slopes, found.intercept), (theirs, model.intercept_))
    ]
    assert values[0] <= values[1] + 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("groups", [None, DISJOINT, OVERLAPPING], ids=["none", "disjoint", "overlapping"])
def test_no_direction_lowers_the_objective(n_classes, groups):
    problem, _ = data(n_classes, n_classes)
    penalty = CostPenalty.of(FeatureCosts(PRICES / 4, groups=groups))
    tradeoff, ridge = 0.03, 1e-3
    (found,) = solve_path(problem, penalty, [tradeoff], ridge)
    value = objective(problem, penalty, tradeoff, ridge, found.slopes, found.intercept)
    shape = found.slopes.shape

    def smooth(x):  # |B| as sqrt(B^2 + e): never below it by more than e
        slopes, intercept = x[:slopes_size].reshape(shape), x[slopes_size:]
        squares = (slopes**2).sum(axis=1)
        bill = penalty.own @ np.sqrt(squares + 1e-10) + penalty.shared @ np.sqrt(penalty.membership @ squares + 1e-10)
        return objective(problem, penalty, 0.0, ridge, slopes, intercept) + tradeoff * bill

    slopes_size = found.slopes.size
    start = np.append(found.slopes.ravel(), found.intercept)
    best = minimize(smooth, start, options={"maxiter": 500}).fun
    assert value <= best + 1e-5


@pytest.mark.parametrize("groups", [None, DISJOINT, OVERLAPPING], ids=["none", "disjoint", "overlapping"])
def test_shrinking_is_the_least_of_its_objective(groups):
    random = np.random.default_rng(1)
    penalty = CostPenalty.of(FeatureCosts(PRICES / 10, groups=groups))
    for times in (0.1, 0.5, 2.0):
        moved = random.normal(size=(10, 2))
        found = penalty.shrink(moved, times)

        def value(rows, moved=moved, times=times):
            return ((rows - moved) ** 2).sum() / 2 + times * penalty.value(rows)

        for size in (1e-1, 1e-3):
            others = found + size * random.normal(size=(400, 10, 2)) * (random.random((400, 10, 1)) < 0.4)
            assert min(value(other) for other in others) >= value(found) - 1e-9
        assert value(found) <= value(found * (found != 0)) + 1e-12


def test_warm_starts_change_nothing():
    problem, _ = data(3)
    penalty = CostPenalty.of(FeatureCosts(PRICES, groups=DISJOINT))
    tradeoffs = [0.001, 0.05, 0.01, 0.2]
    path = solve_path(problem, penalty, tradeoffs, 1e-4)
    for tradeoff, one in zip(tradeoffs, path, strict=True):
        (alone,) = solve_path(problem, penalty, [tradeoff], 1e-4)
        assert np.allclose(one.slopes, alone.slopes, atol=5e-3)
        assert np.array_equal(one.used_mask, alone.used_mask)


def test_the_largest_tradeoff_is_where_the_first_feature_comes_in():
    for groups in (None, DISJOINT, OVERLAPPING):
        problem, _ = data(4)
        penalty = CostPenalty.of(FeatureCosts(PRICES, groups=groups))
        largest = largest_tradeoff(problem, penalty)
        above, below = solve_path(problem, penalty, [largest * 1.001, largest * 0.95], 0.0)
        assert not above.used_mask.any()
        assert below.used_mask.any()


def test_free_features_are_used_and_costs_times_k_with_tradeoff_over_k_are_the_same():
    problem, _ = data(5)
    prices = PRICES.copy()
    prices[7] = 0
    costs = FeatureCosts(prices, groups=DISJOINT)
    one, other = (solve_path(problem, CostPenalty.of(costs.scaled(k)), [0.02 / k], 1e-4)[0] for k in (1, 8))
    assert np.allclose(one.slopes, other.slopes)
    assert one.used_mask[7]
    nothing = solve_path(problem, CostPenalty.of(FeatureCosts(prices)), [1e3], 1e-4)[0]
    assert np.flatnonzero(nothing.used_mask).tolist() == [7]


def test_a_paid_group_makes_its_members_cheaper():
    problem, _ = data(6)
    own, shared = np.full(10, 0.05), {"all but one": Group(list(range(9)), 1.0)}
    (grouped,) = solve_path(problem, CostPenalty.of(FeatureCosts(own, groups=shared)), [0.02], 1e-4)
    (single,) = solve_path(problem, CostPenalty.of(FeatureCosts(own + np.append(np.ones(9), 0))), [0.02], 1e-4)
    assert grouped.used_mask.sum() > single.used_mask.sum()


def test_constant_columns_have_no_coefficient():
    problem, _ = data(7)
    X = np.column_stack([problem.matrix, np.full(300, 3.0)])
    wider = LogisticData(X, Standard.learn(X, problem.shares), problem.targets, problem.shares)
    (found,) = solve_path(wider, CostPenalty.of(FeatureCosts(np.zeros(11))), [1.0], 1e-3)
    assert not found.used_mask[10]
    assert found.used_mask[:10].all()

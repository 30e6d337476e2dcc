"""CSTC's objective and its descent: an obvious twin, properties of blocks and paths, and what becomes of a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import Lasso, Ridge

from frugalforest.costs import FeatureCosts, Group
from frugalforest.linear_trees import Standard
from frugalforest.linear_trees import mixed_norm_solve as solve
from frugalforest.linear_trees.mixed_norm import MixedNorm, Shape, SoftTree
from frugalforest.linear_trees.mixed_norm_blocks import Below, Block, Classifier, improve, objective, seen_from
from frugalforest.linear_trees.mixed_norm_finish import SMALLEST, Finish, finished, least_squares
from frugalforest.linear_trees.mixed_norm_solve import Descent, MixedNormData, largest_tradeoff, solve_path
from frugalforest.linear_trees.penalty import CostPenalty

PRICES = np.array([1.0, 2, 0.5, 1, 3, 1])
GROUPS = {"a": Group([0, 1, 2], 0.7), "b": Group([2, 3], 0.4)}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def naive_objective(tree, Z, Y, shares, costs, tradeoff, rho, steepness, smoothing):
    """The formula of the module, node by node, leaf by leaf, feature by feature."""

    def length(squares):
        return np.sqrt(squares + smoothing**2) - smoothing

    n_nodes = len(tree.intercept)
    chance = {0: np.ones(len(Z))}
    total = 0.0
    for node in range(n_nodes):
        scores = Z @ tree.slopes[node] + tree.intercept[node]
        total += shares @ (chance[node] * ((Y - scores) ** 2).sum(axis=1))
        total += rho * sum(length((row**2).sum()) for row in tree.slopes[node])
        if node < n_nodes // 2:
            up = sigmoid(steepness * (scores @ tree.direction[node] - tree.threshold[node]))
            chance[2 * node + 1], chance[2 * node + 2] = chance[node] * (1 - up), chance[node] * up
    for leaf in range(n_nodes // 2, n_nodes):
        path, node = [], leaf
        while node >= 0:
            path.append(node)
            node = (node + 1) // 2 - 1
        toll = 0.0
        for a in range(Z.shape[1]):
            toll += costs.own[a] * length(sum((tree.slopes[j, a] ** 2).sum() for j in path))
        for shared, members in zip(costs.shared, costs.membership, strict=True):
            toll += shared * length(sum((tree.slopes[j, a] ** 2).sum() for j in path for a in np.flatnonzero(members)))
        total += tradeoff * (shares @ chance[leaf]) * toll
    return float(total)


def problem(seed=0, n_outputs=1, groups=None, n_rows=300):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6)) + random.normal(size=(n_rows, 1))
    signal = X[:, 0] + X[:, 2] * np.sign(X[:, 1]) + 0.5 * random.normal(size=n_rows)
    labels = np.searchsorted(np.quantile(signal, [0.4, 0.7]), signal) if n_outputs == 3 else (signal > 0).astype(int)
    Y = np.where(labels[:, None] == np.arange(3), 1.0, -1.0) if n_outputs == 3 else np.where(labels, 1.0, -1.0)[:, None]
    weights = random.uniform(0.5, 2, n_rows)
    costs = FeatureCosts(PRICES, groups=groups)
    data = MixedNormData(X, Standard.learn(X, weights), Y, weights / weights.sum(), CostPenalty.of(costs))
    return data, costs


def random_tree(seed, depth=3, n_outputs=1):
    random = np.random.default_rng(seed)
    shape = Shape(depth)
    direction = random.normal(size=(shape.n_inner, n_outputs))
    return SoftTree(
        np.arange(6),
        random.normal(size=(shape.n_nodes, 6, n_outputs)) * (random.random((shape.n_nodes, 6, 1)) < 0.5) * 0.3,
        random.normal(size=(shape.n_nodes, n_outputs)) * 0.3,
        random.normal(size=shape.n_inner) * 0.3,
        direction / np.linalg.norm(direction, axis=1, keepdims=True),
    )


def value_of(data, tree, descent, tradeoff):
    state = solve._Descending(data, tradeoff, descent, tree.copy())
    return state._objective(state._upwards(improving=False))


# ---- the objective


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_shape(depth):
    shape = Shape(depth)
    assert shape.path_mask.shape == (2 ** (depth - 1), 2**depth - 1)
    assert (shape.path_mask.sum(axis=1) == depth).all()
    for node in range(shape.n_nodes):
        below = np.zeros(shape.n_inner + 1, dtype=bool)
        below[shape.leaves_below(node)] = True
        assert np.array_equal(below, shape.path_mask[:, node])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "groups"])
def test_the_objective_is_that_of_the_twin(n_outputs, groups):
    data, costs = problem(1, n_outputs, groups)
    Z = data.standard.read(data.matrix)
    for seed in range(3):
        tree = random_tree(seed, n_outputs=n_outputs)
        descent = Descent(depth=3, rho=0.02, steepness=3.0)
        expected = naive_objective(tree, Z, data.targets, data.shares, costs, 0.1, 0.02, 3.0, solve.SMOOTHING)
        assert value_of(data, tree, descent, 0.1) == pytest.approx(expected, rel=1e-12)


def test_the_bound_touches_and_is_never_below():
    random = np.random.default_rng(0)
    norm = MixedNorm(CostPenalty.of(FeatureCosts(PRICES, groups=GROUPS)), 0.3, 0.05, 1e-3)
    others, chances = random.random((2, 6)), np.array([0.3, 0.2])

    def penalty(squares):
        return float(chances @ norm.tolls(others + squares, np.eye(2, dtype=bool)) + norm.l1(squares))

    for _ in range(50):
        at, elsewhere = random.random(6) * random.integers(0, 2, 6), random.random(6)
        q = norm.bound(at, others, chances)
        assert penalty(elsewhere) <= penalty(at) + q @ (elsewhere - at) / 2 + 1e-12


# ---- one block


def a_block(seed, n_outputs=1, is_leaf=False, steepness=4.0):
    data, _ = problem(seed, n_outputs, GROUPS)
    random = np.random.default_rng(seed)
    n = len(data.targets)
    n_leaves = 1 if is_leaf else 4
    children = None
    if not is_leaf:
        children = tuple(Below(random.uniform(0, 3, n), _shares(random, n)) for _ in range(2))
    norm = MixedNorm(data.prices, 0.05, 0.01, 1e-3)
    others = random.random((n_leaves, 6)) * random.integers(0, 2, 6)
    weights = data.shares * random.random(n)
    return Block(data.standard.read(data.matrix), data.targets, weights, norm, others, steepness, children)


def _shares(random, n):
    part = random.random(n)
    return np.stack([part, 1 - part])


def a_classifier(seed, n_outputs):
    random = np.random.default_rng(seed)
    return Classifier(random.normal(size=(6, n_outputs)), np.zeros(n_outputs), 0.1, np.eye(n_outputs)[0])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_block_only_goes_down_to_where_nothing_pulls(n_outputs, is_leaf, seed):
    block, node = a_block(seed, n_outputs, is_leaf), a_classifier(seed, n_outputs)
    values = [objective(block, node)]
    for _ in range(400):
        node = improve(block, node)
        values.append(objective(block, node))
    assert (np.diff(values) <= 1e-12).all()

    def at(x):
        slopes = x[: node.slopes.size].reshape(node.slopes.shape)
        rest = x[node.slopes.size :]
        return objective(block, replace(node, slopes=slopes, intercept=rest[:-1], threshold=float(rest[-1])))

    where = np.concatenate([node.slopes.ravel(), node.intercept, [node.threshold]])
    assert np.abs(approx_fprime(where, at, 1e-7)).max() < 5e-3
    best = minimize(at, where, options={"maxiter": 200}).fun
    assert values[-1] <= best + 2e-3


def test_what_a_parent_sees():
    block, node = a_block(0), a_classifier(0, 1)
    below = seen_from(block, node)
    assert np.allclose(below.leaves.sum(axis=0), 1)
    scores = node.scores(block.columns)
    up = sigmoid(4 * (scores[:, 0] - 0.1))
    expected = (block.targets - scores)[:, 0] ** 2
    expected += (1 - up) * block.children[0].loss + up * block.children[1].loss
    assert np.allclose(below.loss, expected)


def test_a_node_without_rows_stays_as_it_is():
    block = replace(a_block(0), weights=np.zeros(300))
    node = a_classifier(0, 1)
    after = improve(block, node)
    assert np.array_equal(after.slopes, node.slopes)
    assert after.threshold == node.threshold


# ---- the descent


@pytest.mark.parametrize("tradeoff", [0.01, 0.1, 0.3])
def test_one_node_is_a_lasso_with_prices(tradeoff):
    data, _ = problem(2)
    rho = 0.05
    (found,) = solve_path(data, [tradeoff], Descent(depth=1, rho=rho, tol=1e-9, max_sweeps=500))
    Z = data.standard.read(data.matrix)
    hold = tradeoff * PRICES + rho
    lasso = Lasso(alpha=0.5, tol=1e-10, max_iter=10**5).fit(Z / hold, data.targets[:, 0], sample_weight=data.shares)
    slopes = np.zeros(6)
    slopes[found.tree.features] = found.tree.slopes[0, :, 0]
    assert np.allclose(slopes, lasso.coef_ / hold, atol=3e-3)
    assert (np.abs(slopes[lasso.coef_ == 0]) < SMALLEST).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "groups"])
def test_sweeps_go_down_and_end_where_nothing_pulls(n_outputs, groups):
    data, costs = problem(3, n_outputs, groups)
    descent = Descent(depth=2, rho=0.01, steepness=3.0, tol=1e-8, max_sweeps=600)
    (found,) = solve_path(data, [0.05], descent)
    assert found.converged
    assert (np.diff(found.objectives) <= 1e-7).all()
    full = found.tree.among(np.arange(6))
    Z = data.standard.read(data.matrix)

    def value(tree):
        return naive_objective(tree, Z, data.targets, data.shares, costs, 0.05, 0.01, 3.0, solve.SMOOTHING)

    assert found.objectives[-1] == pytest.approx(value(full), abs=1e-9)
    random = np.random.default_rng(0)
    for _ in range(30):  # no small step in any direction is better
        step = random.normal(size=full.slopes.shape) * (np.abs(full.slopes) > 0) * 1e-3
        assert value(replace(full, slopes=full.slopes + step)) >= value(full) - 1e-6


def test_features_that_have_left_come_back_when_they_are_needed():
    data, _ = problem(4)
    descent = Descent(depth=2, steepness=3.0)
    state = solve._Descending.start(data, 0.02, descent)
    whole = state.finish()
    crippled = solve._Descending(data, 0.02, descent, whole.tree.among(np.array([3, 4])))
    found = crippled.finish()
    assert {0, 2} <= set(found.tree.features.tolist())
    assert found.objectives[-1] == pytest.approx(whole.objectives[-1], rel=0.05)


def test_dearer_trees_use_less():
    data, _ = problem(5)
    tradeoffs = [0.003, 0.03, 0.3, 3.0]
    found = solve_path(data, tradeoffs, Descent(depth=3, steepness=4.0))
    used = [int((one.tree.squares > SMALLEST**2).any(axis=0).sum()) for one in found]
    assert used == sorted(used, reverse=True)
    assert used[0] > used[-1]
    assert all(one.converged for one in found)


def test_trees_of_a_path_do_not_share_arrays():
    data, _ = problem(5)
    first, second = solve_path(data, [0.01, 0.1], Descent(depth=3))
    for name in ("slopes", "intercept", "threshold", "direction"):
        assert not np.shares_memory(getattr(first.tree, name), getattr(second.tree, name))


def test_nothing_is_used_at_the_largest_tradeoff_of_one_node():
    data, _ = problem(6, groups=None)
    largest = largest_tradeoff(data, 1)
    for share, expected in ((1.02, 0), (0.9, 1)):
        (found,) = solve_path(data, [share * largest], Descent(depth=1, rho=0.0, tol=1e-9, max_sweeps=1000))
        assert int((found.tree.squares > SMALLEST**2).any(axis=0).sum()) == expected


def test_prices_times_k_and_tradeoff_over_k_are_the_same():
    data, _ = problem(7, groups=GROUPS)
    other = replace(data, prices=replace(data.prices, own=data.prices.own * 4, shared=data.prices.shared * 4))
    one, two = (solve_path(d, [t], Descent(depth=3))[0].tree.slopes for d, t in ((data, 0.04), (other, 0.01)))
    assert np.allclose(one, two, atol=1e-10)


def test_a_share_of_the_sweeps_is_reported():
    data, _ = problem(8)
    (found,) = solve_path(data, [0.01], Descent(depth=3, tol=0.0, max_sweeps=3))
    assert len(found.objectives) == 3
    assert not found.converged


# ---- the finished tree


def test_least_squares_is_ridge_regression():
    random = np.random.default_rng(0)
    X, Y, weights = random.normal(size=(50, 3)), random.normal(size=(50, 2)), random.random(50)
    found = least_squares(X, Y, weights, ridge=0.1)
    ridge = Ridge(alpha=0.1 * weights.sum()).fit(X, Y, sample_weight=weights)
    assert np.allclose(found.coefficients, ridge.coef_.T)
    assert np.allclose(found.intercept, ridge.intercept_)
    loss = weights @ ((Y - ridge.predict(X)) ** 2).sum(axis=1)
    assert found.expected_loss == pytest.approx(loss * 54 / 46)
    assert least_squares(X[:4], Y[:4], weights[:4], 0.1).expected_loss == np.inf
    assert np.allclose(least_squares(X[:, :0], Y, weights, 0.1).intercept, np.average(Y, axis=0, weights=weights))


def test_finished_trees_use_what_is_paid_and_nothing_small():
    data, _ = problem(9, groups=GROUPS, n_rows=600)
    (found,) = solve_path(data, [0.02], Descent(depth=3))
    soft, trained = found.tree, finished(data, found, Finish(20, refit=False, prune=False))
    assert trained.n_nodes > 1
    assert (np.abs(trained.coefficient) >= SMALLEST).all()
    assert set(trained.feature.tolist()) <= set(soft.features.tolist())
    refitted = finished(data, found, Finish(20, refit=True, prune=False))
    assert np.array_equal(refitted.path_mask, trained.path_mask)
    assert np.array_equal(refitted.threshold, trained.threshold, equal_nan=True)
    for node in np.flatnonzero(refitted.left < 0):
        assert np.array_equal(refitted.features_of(node), np.flatnonzero(refitted.path_mask[node]))
    leaf, scores = refitted.ends(data.matrix)
    before = trained.ends(data.matrix)[1]
    assert data.shares @ (data.targets - scores)[:, 0] ** 2 < data.shares @ (data.targets - before)[:, 0] ** 2
    assert np.bincount(leaf)[np.bincount(leaf) > 0].min() >= 20


def test_splits_that_do_not_pay_are_taken_back():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 6))
    linear = X[:, 0] + 0.1 * random.normal(size=400)
    broken = np.where(X[:, 1] > 0, X[:, 0], -X[:, 0]) + X[:, 1]
    sizes = []
    for signal in (linear, broken):
        weights = np.ones(400)
        prices = CostPenalty.of(FeatureCosts(np.ones(6)))
        data = MixedNormData(X, Standard.learn(X, weights), signal[:, None], weights / 400, prices)
        (found,) = solve_path(data, [0.01], Descent(depth=3, steepness=4.0))
        sizes.append(finished(data, found, Finish(20)).n_nodes)
        assert finished(data, found, Finish(20, prune=False)).n_nodes >= sizes[-1]
        assert finished(data, found, Finish(400)).n_nodes == 1
    assert sizes[0] < sizes[1]

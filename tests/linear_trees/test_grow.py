"""Trees of linear classifiers: equal to a naive twin node by node, within budget in every node, billed as walked."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.costs import FeatureCosts, Group
from frugalforest.linear_trees import Growth, LinearTree, Standard, TrainingSet, grow_trees
from frugalforest.linear_trees import grow as grow_module
from frugalforest.linear_trees.node import halving_threshold, principal_direction
from linear_trees import naive

GROUPED = FeatureCosts([0.3, 0.1, 0.2, 1, 0.4, 2], groups={"a": Group([0, 1], 0.7), "b": Group([1, 2, 3], 0.1)})


def training_set(seed=0, n_rows=160, costs=GROUPED, n_targets=1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6)) @ random.normal(size=(6, 6)) + random.normal(size=6)
    Y = X[:, [0, 2, 4][:n_targets]] * np.sign(X[:, [1]]) + random.normal(size=(n_rows, n_targets))
    weights = np.ones(n_rows)
    return TrainingSet(X, Y, weights, Standard.learn(X, weights), costs)


def tree_of(data, budget=1.2, **growth):
    return grow_trees(data, [budget], Growth(**growth))[0]


# ---- equal to the twin


def same(tree: LinearTree, node: int, twin: dict, data: TrainingSet) -> int:
    """Whether a node and all below it are those of the twin; the number of nodes compared."""
    assert tree.features_of(node).tolist() == sorted(twin["features"])
    order = np.argsort(twin["features"])
    entries = slice(tree.feature_offsets[node], tree.feature_offsets[node + 1])
    slopes = tree.coefficient[entries] / tree.spread[tree.features_of(node)][:, None]
    assert np.allclose(slopes, twin["coefficients"][order], atol=1e-8)
    if "children" not in twin:
        assert tree.is_leaf(node)
        return 1
    assert tree.threshold[node] == pytest.approx(twin["threshold"], abs=1e-8)
    sides = zip((tree.left[node], tree.right[node]), twin["children"], strict=True)
    return 1 + sum(same(tree, int(child), below, data) for child, below in sides)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("costs", [GROUPED, FeatureCosts.unit(6)], ids=["groups", "unit"])
def test_trees_are_those_of_the_naive_twin(seed, costs):
    data = training_set(seed, costs=costs)
    budget = 1.0 + 0.2 * seed
    twin = naive.grow(data.matrix, data.targets, data.weights, costs, budget, depth=3)
    assert same(tree_of(data, budget, depth=3), 0, twin, data) == 7


def test_trees_for_several_budgets_are_those_grown_one_by_one(monkeypatch):
    data, growth = training_set(4, n_rows=400), Growth(depth=4)
    budgets = [0.0, 0.3, 0.9, 1.0, 1.1, 1.9, 3.0, 100.0]
    alone = [grow_trees(data, [budget], growth)[0] for budget in budgets]
    fitted = []
    monkeypatch.setattr(grow_module, "moments_of", lambda *a, f=grow_module.moments_of: fitted.append(1) or f(*a))
    together = grow_trees(data, budgets, growth)
    for one, other in zip(alone, together, strict=True):
        for name in vars(one):
            if isinstance(getattr(one, name), np.ndarray):
                assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    assert len(fitted) < sum(tree.n_nodes for tree in alone)


# ---- money


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("soft", [False, True])
def test_no_node_spends_more_than_its_budget(seed, soft):
    costs = FeatureCosts([0.1, 0.2, 0.3, 0.4, 0.7, 1.1], groups=GROUPED.groups)
    data = training_set(seed, costs=costs)
    budget = [0.3, 0.8, 1.0, 1.5][seed % 4]
    tree = tree_of(data, budget, depth=4, soft=soft)
    own, shared = costs.ticks
    for node in range(tree.n_nodes):
        above = tree.path_mask[tree.parent[node]] if node else np.zeros(6, dtype=bool)
        ticks = [own[m].sum() + shared[(costs.membership & m).any(axis=1)].sum() for m in (tree.path_mask[node], above)]
        assert ticks[0] - ticks[1] <= costs.ticks_within(budget)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_ends_and_bills_are_those_of_a_walk_by_hand(n_targets):
    data = training_set(2, n_rows=300, n_targets=n_targets)
    tree = tree_of(data, 1.1, depth=4, min_samples_leaf=10)
    X = data.matrix.copy()
    X[::7, 2] = np.nan
    leaf, scores = tree.ends(X)
    for i, row in enumerate(X):
        node, read = 0, set()
        while True:
            features = tree.features_of(node).tolist()
            read |= set(features)
            entries = tree.coefficient[tree.feature_offsets[node] : tree.feature_offsets[node + 1]]
            score = tree.intercept[node].copy()
            for feature, weight in zip(features, entries, strict=True):
                value = 0.0 if np.isnan(row[feature]) else (row[feature] - tree.centre[feature]) / tree.spread[feature]
                score += weight * value
            if tree.is_leaf(node):
                break
            goes_left = sum(s * d for s, d in zip(score, tree.direction[node], strict=True)) <= tree.threshold[node]
            node = int(tree.left[node] if goes_left else tree.right[node])
        assert leaf[i] == node
        assert np.array_equal(scores[i], score)
        assert set(np.flatnonzero(tree.path_mask[node])) == read
        assert tree.where(row, np.ones(6, dtype=bool))[0] == node


def test_scores_do_not_depend_on_company_or_layout():
    data = training_set(5, n_rows=300)
    tree = tree_of(data, 3.0, depth=3)
    leaf, scores = tree.ends(data.matrix)
    for i in range(0, 300, 17):
        assert np.array_equal(tree.ends(data.matrix[i : i + 1])[1][0], scores[i])
    in_columns = tree.ends(np.asfortranarray(data.matrix))
    assert np.array_equal(in_columns[0], leaf)
    assert np.array_equal(in_columns[1], scores)


# ---- the tree


def test_halves_go_each_way():
    tree = tree_of(training_set(1, n_rows=320), 5.0, depth=5)
    assert tree.n_nodes == 31
    leaves = [node for node in range(31) if tree.is_leaf(node)]
    assert np.allclose(tree.share[leaves], 1 / 16)
    assert tree.share[0] == 1


def test_r_squared_rises_with_the_budget():
    data = training_set(3)
    values = [tree_of(data, budget, depth=1).r_squared[0] for budget in (0.0, 0.4, 1.0, 2.0, 6.0)]
    assert values[0] == 0
    assert values == sorted(values)


def test_a_node_of_one_class_buys_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    X[:, 0] = np.sort(X[:, 0])
    Y = np.where(np.arange(200) < 120, -1.0, np.sign(X[:, 1]))[:, None]
    data = TrainingSet(X, Y, np.ones(200), Standard.learn(X, np.ones(200)), FeatureCosts.unit(3))
    tree = tree_of(data, 1.0, depth=2)
    pure = int(tree.left[0])
    assert len(tree.features_of(pure)) == 0
    assert tree.intercept[pure].tolist() == [-1.0]
    assert tree.r_squared[pure] == 0


def test_a_budget_below_every_price_leaves_a_single_leaf():
    tree = tree_of(training_set(), 0.05)
    assert tree.n_nodes == 1
    assert not tree.path_mask.any()


def test_small_nodes_are_leaves():
    tree = tree_of(training_set(n_rows=160), 1.2, depth=5, min_samples_leaf=30)
    assert tree.n_nodes == 7


def test_more_columns_than_rows():
    random = np.random.default_rng(2)
    X = random.normal(size=(30, 80))
    Y = np.sign(X[:, [0]])
    data = TrainingSet(X, Y, np.ones(30), Standard.learn(X, np.ones(30)), FeatureCosts.unit(80))
    tree = tree_of(data, 80.0, depth=3)
    assert len(tree.features_of(0)) <= 29
    assert np.array_equal(np.sign(tree.ends(X)[1]), Y)


def test_soft_weights_are_products_of_sigmoids(monkeypatch):
    data = training_set(6)
    seen = []
    keep = grow_module.moments_of
    monkeypatch.setattr(grow_module, "moments_of", lambda *a: seen.append(a[4]) or keep(*a))
    tree = tree_of(data, 1.0, depth=3, soft=True)
    weights, rows = [np.ones(160)], np.arange(160)
    for node in range(tree.n_nodes):
        weights.append(np.nan)
        if node:
            up = int(tree.parent[node])
            lead = tree.node_scores(up, data.matrix, rows)[:, 0] - tree.threshold[up]
            weights[node] = weights[up] / (1 + np.exp(lead if node == tree.left[up] else -lead))
        assert np.allclose(seen[node], weights[node])


def test_rescaled_scores():
    data = training_set(3)
    tree = tree_of(data, 1.5, depth=3)
    leaf, scores = tree.ends(data.matrix)
    other_leaf, other = tree.rescaled(3.0, -7.0).ends(data.matrix)
    assert np.array_equal(leaf, other_leaf)
    assert np.allclose(other, 3 * scores - 7)


# ---- thresholds and directions


def test_halving_threshold():
    ones = np.ones(6)
    assert halving_threshold(np.array([3.0, 1, 2, 6, 5, 4]), ones, 1) == 3.5
    assert halving_threshold(np.array([1.0, 1, 1, 1, 1, 2]), ones, 1) == 1.5
    assert halving_threshold(np.array([1.0, 1, 1, 1, 1, 2]), ones, 2) is None
    assert halving_threshold(np.full(6, 2.0), ones, 1) is None
    assert halving_threshold(np.array([1.0, 2, 3]), np.array([1.0, 1, 8]), 1) == 2.5
    neighbours = np.array([1.0, np.nextafter(1.0, 2)])
    assert halving_threshold(neighbours, np.ones(2), 1) == 1.0


def test_weights_halve_as_repeated_rows_do():
    random = np.random.default_rng(1)
    values, times = random.normal(size=40), random.integers(1, 5, 40)
    assert halving_threshold(values, times.astype(float), 1) == halving_threshold(
        np.repeat(values, times), np.ones(times.sum()), 1
    )


def test_principal_direction():
    random = np.random.default_rng(0)
    scores = random.normal(size=(500, 1)) * np.array([[1.0, -2.0, 1.0]]) + 0.01 * random.normal(size=(500, 3))
    direction = principal_direction(scores, np.ones(500))
    assert np.allclose(direction, np.array([-1, 2, -1]) / np.sqrt(6), atol=0.01)
    assert principal_direction(scores[:, :1], np.ones(500)).tolist() == [1.0]

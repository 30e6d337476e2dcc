"""What a booster promises besides the right trees: accounts that add up, and results that depend on the data alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from boosting.problems import compiled, random_problem
from frugalforest import FeatureCosts, Group
from frugalforest.boosting import Booster, BoostingRows, BoostOptions
from frugalforest.boosting.path import largest_tradeoff
from frugalforest.boosting.prices import loss_prices
from frugalforest.boosting.training import Trainer
from frugalforest.boosting.trees import BoostedTrees
from frugalforest.data import Bins

COSTS = FeatureCosts([1, 0.3, 2, 0, 1, 5], groups={"blood": Group([0, 1], 0.5), "lab": Group([1, 2, 5], 0.7)})


def make_rows(n_rows=600, n_features=6, n_classes=2, seed=0, weights=None, bins=None, **more) -> BoostingRows:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, n_features - 1] > 0.5)
    y = np.digitize(signal + 0.5 * random.normal(size=n_rows), np.linspace(0, 1.5, n_classes - 1)).astype(np.int32)
    X[random.random(X.shape) < 0.05] = np.nan
    bins = bins or Bins.learn(X)
    return BoostingRows(X, bins.transform(X), y, n_classes, weights, **more)


def boost(rows, tradeoff, n_rounds=8, costs=COSTS, n_threads=1, seed=0, audience=None, **options) -> Booster:
    booster = Booster(
        rows,
        BoostOptions(**{"min_samples_leaf": 5, **options}),
        costs,
        seed=seed,
        n_threads=n_threads,
        audience=audience,
        is_charged=tradeoff > 0,
    )
    for _ in range(n_rounds):
        booster.grow_round(tradeoff)
    return booster


def assert_same(one: BoostedTrees, other: BoostedTrees) -> None:
    for name in ("feature", "threshold", "missing_left", "right", "category_set", "category_sets", "node_offsets"):
        np.testing.assert_array_equal(getattr(one.forest, name), getattr(other.forest, name), err_msg=name)
    np.testing.assert_array_equal(one.values, other.values)


# ---- accounts


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_splits_are_charged_adds_up_to_the_bill_of_the_training_rows(n_classes):
    rows = make_rows(n_classes=n_classes)
    trees = boost(rows, 0.01).trees()
    bill = COSTS.of_rows(trees.forest.features_read(rows.matrix)).sum()
    assert bill > 0
    assert trees.charged.sum() / 0.01 == pytest.approx(bill, rel=1e-9)


def test_a_row_of_weight_two_pays_twice():
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0, 3.0], 600)
    rows = make_rows(weights=weights)
    trees = boost(rows, 0.01).trees()
    bill = weights @ COSTS.of_rows(trees.forest.features_read(rows.matrix))
    assert trees.charged.sum() / 0.01 == pytest.approx(bill, rel=1e-9)


def test_weights_are_repetitions_in_loss_and_money():
    times = np.random.default_rng(2).integers(1, 4, 300)
    once = make_rows(300, weights=times.astype(float))
    repeated = np.repeat(np.arange(300), times)
    X = once.matrix[repeated]
    many = BoostingRows(X, once.binned.bins.transform(X), once.labels[repeated], 2)
    few = {"min_samples_leaf": 1, "min_hessian": 2.0}
    one, other = (boost(rows, 0.01, **few).trees() for rows in (once, many))
    np.testing.assert_array_equal(one.forest.feature, other.forest.feature)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-9)


def test_class_weight_changes_the_loss_and_not_the_money():
    rows = make_rows(class_weight=np.array([1.0, 4.0]))
    trees = boost(rows, 0.01).trees()
    bill = COSTS.of_rows(trees.forest.features_read(rows.matrix)).sum()
    assert trees.charged.sum() / 0.01 == pytest.approx(bill, rel=1e-9)


def test_no_split_is_taken_that_does_not_pay():
    """LightGBM's refund: after a feature's first use, other splits were credited with its price."""
    for charge in ("row", "forest"):
        trees = boost(make_rows(), 0.003, charge=charge).trees()
        inner = trees.forest.feature >= 0
        assert np.all(trees.charged >= 0)
        assert np.all(trees.gains[inner] > trees.charged[inner])


def test_used_features_become_free_for_other_leaves_at_once_when_the_forest_pays():
    trees = boost(make_rows(), 0.003, charge="forest").trees()
    inner = np.flatnonzero(trees.forest.feature >= 0)
    paid_by = {f: np.flatnonzero(trees.charged[inner[trees.forest.feature[inner] == f]]) for f in trees.features_used}
    assert len(paid_by) > 1
    assert all(len(times) <= 1 for times in paid_by.values())


@pytest.mark.parametrize("subsample", [0.2, 0.5, 0.8])
def test_rows_out_of_the_bag_pay_for_what_they_read_and_are_not_charged_again(subsample):
    """LightGBM's lazy accounts are wrong when few rows are drawn."""
    costs = FeatureCosts(np.ones(6))
    rows = make_rows(400)
    booster = Booster(rows, BoostOptions(min_samples_leaf=2, subsample=subsample), costs, seed=3)
    charged, read = 0.0, np.zeros((400, 6), bool)
    for _ in range(6):
        before = booster.trees() if booster.n_rounds else None
        booster.grow_round(0.01)
        trees = booster.trees()
        first = 0 if before is None else before.forest.n_nodes
        now = trees.charged[first:].sum() / 0.01
        new = trees.forest.features_read(rows.matrix) & ~read
        assert now <= new.sum() + 1e-9  # only rows in the bag are charged, each only for what is new to it
        read |= new
        charged += now
    assert 0 < charged < read.sum()


def test_once_all_rows_have_paid_for_everything_nothing_is_charged_any_more():
    rows = make_rows(400)
    free = boost(rows, 1e-6, n_rounds=120, costs=FeatureCosts(np.ones(6)), subsample=0.3, min_samples_leaf=1).trees()
    early = free.first(100).forest
    assert early.features_read(rows.matrix).all()
    assert free.charged[early.n_nodes :].sum() == 0
    assert np.any(free.forest.feature[early.n_nodes :] >= 0)


def test_the_audience_pays_exactly_what_the_forest_reads():
    rows = make_rows()
    audience = make_rows(300, seed=9, bins=rows.binned.bins)
    for n_classes in (2, 3):
        rows = make_rows(n_classes=n_classes)
        audience = make_rows(300, n_classes=n_classes, seed=9, bins=rows.binned.bins)
        booster = boost(rows, 0.01, audience=audience)
        trees, standing = booster.trees(), booster.watch()
        bills = COSTS.of_rows(trees.forest.features_read(audience.matrix))
        assert standing.cost == pytest.approx(bills.mean(), rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_audience_knows_its_loss_and_error(n_classes):
    rows = make_rows(n_classes=n_classes)
    audience = make_rows(300, n_classes=n_classes, seed=9, bins=rows.binned.bins)
    booster = boost(rows, 0.0, audience=audience)
    trees = booster.trees()
    base = np.concatenate([[0.0], booster.base]) if n_classes == 2 else booster.base
    scores, _ = trees.forest.sums(audience.matrix, trees.values_by_class(n_classes), base=base)
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    loss, error, _ = booster.watch()
    assert loss == pytest.approx(log_loss(audience.labels, share), rel=1e-12)
    assert error == np.mean(np.argmax(scores, axis=1) != audience.labels)


# ---- continued training


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "colsample": 0.5}, {"charge": "forest"}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_that_goes_on_is_training_in_one_piece(options, n_classes):
    """LightGBM charges rows again after init_model."""
    rows = make_rows(n_classes=n_classes)
    whole = boost(rows, 0.01, n_rounds=8, **options)
    half = boost(rows, 0.01, n_rounds=4, **options)
    before = (half.base, half.trees())
    rest = Booster(rows, BoostOptions(min_samples_leaf=5, **options), COSTS, before=before)
    for _ in range(4):
        rest.grow_round(0.01)
    assert_same(rest.trees(), whole.trees())
    np.testing.assert_array_equal(rest.trees().charged, whole.trees().charged)


# ---- prices


def test_without_trade_off_costs_do_not_matter():
    rows = make_rows()
    plain = boost(rows, 0.0).trees()
    assert_same(boost(rows, 0.0, costs=FeatureCosts(np.arange(6.0))).trees(), plain)
    nothing_to_pay = Booster(rows, BoostOptions(min_samples_leaf=5), FeatureCosts(np.zeros(6)))
    for _ in range(8):
        nothing_to_pay.grow_round(7.0)
    assert_same(nothing_to_pay.trees(), plain)


@pytest.mark.parametrize("factor", [3.0, 0.1, 7.7, 1 / 3, 1e6])
def test_costs_times_k_with_trade_off_over_k_is_the_identical_model(factor):
    for seed in range(20):
        problem = random_problem(seed)
        problem.tradeoff = 0.0137
        groups = {name: Group(g.members, g.cost * factor) for name, g in problem.costs.groups.items()}
        scaled = replace(problem, costs=FeatureCosts(problem.costs.own * factor, groups=groups))
        problem.budget = scaled.budget = np.inf
        scaled.tradeoff = problem.tradeoff / factor
        one, other = compiled(problem, 3).trees(), compiled(scaled, 3).trees()
        assert_same(one, other)
        np.testing.assert_array_equal(one.charged, other.charged)


def test_prices_are_products_of_twelve_digits():
    own, shared = loss_prices(FeatureCosts([0.1, 0, 3], groups={"g": Group([0], 0.7)}), 0.3)
    assert own.tolist() == [0.03, 0.0, 0.9]
    assert shared.tolist() == [0.21]
    own, _ = loss_prices(FeatureCosts([0, 1e-3, 1e300]), np.inf)
    assert own[0] == 0
    assert np.all(np.isfinite(own))


def test_a_cheap_copy_of_a_dear_feature_is_preferred():
    rows = make_rows()
    X = np.column_stack([rows.matrix, rows.matrix[:, 0]])
    bins = Bins.learn(X)
    both = BoostingRows(X, bins.transform(X), rows.labels, 2)
    trees = boost(both, 0.001, costs=FeatureCosts([10, 1, 1, 1, 1, 1, 1])).trees()
    assert 6 in trees.features_used
    assert 0 not in trees.features_used


def test_members_of_a_paid_group_are_cheap_and_the_first_is_dear():
    rows = make_rows()
    together = FeatureCosts(np.zeros(6), groups={"all": Group(range(6), 4.0)})
    trees = boost(rows, 0.005, costs=together).trees()
    read = trees.forest.features_read(rows.matrix).any(axis=1)
    assert trees.charged.sum() / 0.005 == pytest.approx(4.0 * read.sum(), rel=1e-9)


def test_nothing_pays_above_the_largest_trade_off_and_something_below():
    rows = make_rows()
    trainer = Trainer(rows, None, BoostOptions(min_samples_leaf=5), FeatureCosts(np.ones(6)), n_rounds=3)
    largest = largest_tradeoff(trainer)
    assert trainer.train(largest * 1.0001)[0].n_rounds == 0
    assert trainer.train(largest * 0.9999)[0].n_rounds == 3


# ---- budgets


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_training_rows_keep_to_the_budget_while_trees_grow(subsample):
    rows = make_rows()
    for budget in (0.5, 1.5, 4.0):
        options = BoostOptions(min_samples_leaf=5, subsample=subsample)
        booster = Booster(rows, options, COSTS, seed=1)
        for _ in range(10):
            booster.grow_round(0.001, budget=budget)
        bill = COSTS.of_rows(booster.trees().forest.features_read(rows.matrix)).mean()
        assert booster.was_limited
        # out of the bag, rows pay what trees of the others read, which is not known before; it is taken off afterwards
        assert 0.6 * budget < bill <= budget * (1 if subsample == 1 else 1.1)


def test_a_budget_that_is_not_reached_changes_nothing():
    rows = make_rows()
    free = boost(rows, 0.01)
    limited = Booster(rows, BoostOptions(min_samples_leaf=5), COSTS)
    for _ in range(8):
        limited.grow_round(0.01, budget=COSTS.total)
    assert_same(limited.trees(), free.trees())
    assert not limited.was_limited


def test_rounds_that_are_taken_back_leave_no_trace():
    rows, audience = make_rows(), make_rows(300, seed=9)
    for options in ({}, {"subsample": 0.5}, {"charge": "forest"}):
        straight = boost(rows, 0.01, n_rounds=5, audience=audience, **options)
        booster = boost(rows, 0.01, n_rounds=3, audience=audience, **options)
        booster.grow_round(0.0001, can_undo=True)
        booster.undo_round()
        for _ in range(2):
            booster.grow_round(0.01)
        assert_same(booster.trees(), straight.trees())
        assert booster.watch() == straight.watch()


# ---- constraints


def test_monotone_constraints_hold_everywhere():
    rows = make_rows(800, seed=4)
    signs = np.array([-1, 1, 0, 1, -1, 1], np.int8)  # against the signal of feature 0
    for tradeoff in (0.0, 0.005):
        booster = boost(rows, tradeoff, n_rounds=30, monotone=signs, min_samples_leaf=1, learning_rate=0.5)
        trees = booster.trees()
        others = rows.matrix[:60]
        for f in np.flatnonzero(signs):
            swept = np.repeat(others, 40, axis=0)
            swept[:, f] = np.tile(np.linspace(-3, 3, 40), len(others))
            scores, _ = trees.forest.sums(swept, trees.values[:, None])
            steps = np.diff(scores.reshape(len(others), 40), axis=1) * signs[f]
            assert steps.min() >= -1e-12


def test_features_of_one_path_are_in_one_set_together():
    sets = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], bool)
    for tradeoff in (0.0, 0.002):
        forest = boost(make_rows(), tradeoff, n_rounds=20, interactions=sets).trees().forest
        longest = 0
        for tree in range(forest.n_trees):
            paths = {0: frozenset()}
            for i, node in enumerate(forest.nodes(tree)):
                if node.feature >= 0:
                    paths[node.left] = paths[node.right] = paths[i] | {node.feature}
            for path in paths.values():
                longest = max(longest, len(path))
                assert any(all(members[f] for f in path) for members in sets)
        assert longest > 1


# ---- the same whatever the machine does


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "colsample": 0.7, "charge": "forest"}], ids=str)
def test_threads_change_nothing(n_classes, options):
    rows = make_rows(30_000, n_classes=n_classes)
    weighted = replace(rows, weights=np.random.default_rng(0).random(len(rows)))
    for some in (rows, weighted):
        one, three = (boost(some, 0.001, n_rounds=2, n_threads=n, **options) for n in (1, 3))
        assert_same(one.trees(), three.trees())


def test_memory_for_histograms_changes_nothing():
    for seed in range(30):
        problem = random_problem(seed)
        plenty = compiled(problem, 3).trees()
        for few in (0, 3_000):
            short = replace(problem, options=replace(problem.options, histogram_bytes=few))
            assert_same(compiled(short, 3).trees(), plenty)


def test_columns_in_another_order_give_the_same_scores():
    rows = make_rows()
    order = np.random.default_rng(0).permutation(6)
    X = rows.matrix[:, order]
    bins = Bins.learn(X)
    moved = BoostingRows(X, bins.transform(X), rows.labels, 2)
    one, other = boost(rows, 0.003).trees(), boost(moved, 0.003, costs=COSTS.subset(order)).trees()
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(
        order[other.forest.feature[other.forest.feature >= 0]], one.forest.feature[one.forest.feature >= 0]
    )


def test_other_seeds_draw_other_rows():
    rows = make_rows()
    one, other = (boost(rows, 0.0, subsample=0.5, seed=seed).trees() for seed in (0, 1))
    assert not np.array_equal(one.values, other.values)


# ---- odd shapes


def test_more_classes_than_leaves():
    rows = make_rows(n_classes=6)
    booster = boost(rows, 0.0, n_rounds=30, max_leaves=2, audience=rows)
    assert booster.watch().error < 0.6
    assert np.diff(booster.trees().forest.leaf_offsets).max() == 2


def test_rows_that_are_all_alike_are_not_split():
    X = np.ones((50, 3))
    bins = Bins.learn(X)
    labels = np.arange(50, dtype=np.int32) % 2
    trees = boost(BoostingRows(X, bins.transform(X), labels, 2), 0.0, costs=FeatureCosts(np.ones(3))).trees()
    assert trees.forest.n_nodes == trees.forest.n_trees
    assert not trees.values.any()


def test_more_than_64_features_and_groups():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 90))
    bins = Bins.learn(X)
    rows = BoostingRows(X, bins.transform(X), (X[:, ::9].sum(axis=1) > 0).astype(np.int32), 2)
    groups = {f"g{i}": Group([i, i + 1, i + 2], 0.5) for i in range(0, 80, 3)}
    costs = FeatureCosts(np.ones(90), groups=groups)
    trees = boost(rows, 0.004, n_rounds=10, costs=costs).trees()
    bill = costs.of_rows(trees.forest.features_read(X)).sum()
    assert trees.charged.sum() / 0.004 == pytest.approx(bill, rel=1e-9)

"""Dual decomposition finds the optimum of the linear program, and proves how near it is."""

from __future__ import annotations

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.pruning import PruningProblem, PruningRows, solve
from frugalforest.pruning.dual import relative_gap
from interrupting import ctrl_c_after
from pruning.cases import small_case
from pruning.naive import least_objective, objective_of

TRADEOFFS = [0, 0.001, 0.01, 0.05, 0.2, 1]
LOSSES = ["share", "error"]


@pytest.mark.parametrize("seed", range(16))
def test_the_objective_is_the_optimum_of_the_linear_program(seed):
    forest, rows, costs = small_case(seed)
    loss = LOSSES[seed // 2 % 2]
    problem = PruningProblem(forest, rows, costs, loss=loss)
    for tradeoff in TRADEOFFS:
        found = solve(problem, tradeoff, gap=1e-9, max_rounds=20_000)
        optimum = least_objective(forest, rows, costs, loss, tradeoff)
        assert found.objective == pytest.approx(optimum, abs=1e-6)
        assert found.bound <= optimum + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_of_larger_forests(seed):
    forest, rows, costs = small_case(100 + seed, n_rows=150, n_trees=12, max_depth=7)
    problem = PruningProblem(forest, rows, costs)
    for tradeoff in (0.003, 0.02):
        found = solve(problem, tradeoff, gap=1e-7, max_rounds=20_000)
        assert found.objective == pytest.approx(least_objective(forest, rows, costs, "share", tradeoff), abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_the_objective_is_loss_and_bill_of_the_pruned_forest(seed):
    forest, rows, costs = small_case(seed)
    for loss in LOSSES:
        problem = PruningProblem(forest, rows, costs, loss=loss)
        for tradeoff in TRADEOFFS:
            found = solve(problem, tradeoff)
            assert found.objective == pytest.approx(objective_of(found.forest, rows, costs, loss, tradeoff), abs=1e-12)
            assert found.bound <= found.objective + 1e-12
            assert found.gap <= 0.001
            unpruned = objective_of(forest, rows, costs, loss, tradeoff)
            assert found.objective <= unpruned + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_no_row_pays_more_than_before_and_a_larger_tradeoff_makes_it_less(seed):
    forest, rows, costs = small_case(seed, n_rows=120, max_depth=8)
    problem = PruningProblem(forest, rows, costs)
    before = costs.of_rows(forest.features_read(rows.matrix))
    bills = []
    for tradeoff in TRADEOFFS:
        bill = costs.of_rows(solve(problem, tradeoff, gap=1e-9, max_rounds=5000).forest.features_read(rows.matrix))
        assert (bill <= before).all()
        bills.append(bill.mean())
    assert (np.diff(bills) <= 1e-12).all()


def test_a_random_pruning_is_never_better():
    forest, rows, costs = small_case(7, n_rows=80, n_trees=5, max_depth=5)
    problem = PruningProblem(forest, rows, costs)
    best = solve(problem, 0.02, gap=1e-9, max_rounds=5000)
    random = np.random.default_rng(0)
    for _ in range(200):
        stays = (random.random(problem.forest.n_nodes) < random.random()).astype(np.uint8)
        assert problem.core.objective(problem.prices(0.02), stays) >= best.objective - 1e-12


def test_prices_times_k_with_the_tradeoff_over_k_give_the_same_pruning():
    forest, rows, costs = small_case(5, n_rows=100, max_depth=6)
    one = solve(PruningProblem(forest, rows, costs), 0.02)
    other = solve(PruningProblem(forest, rows, costs.scaled(4)), 0.005)
    assert np.array_equal(one.forest.feature, other.forest.feature)
    assert one.objective == pytest.approx(other.objective)


def test_a_copy_of_a_row_counts_as_much_as_its_weight_in_the_loss():
    forest, rows, _ = small_case(5, n_rows=60)
    free = ff.FeatureCosts(np.zeros(forest.n_features))
    twice = np.repeat(np.arange(len(rows.labels)), rows.weights.astype(int))
    copied = PruningRows(rows.matrix[twice], rows.labels[twice])
    weighted, repeated = (solve(PruningProblem(forest, r, free), 1.0) for r in (rows, copied))
    assert weighted.objective == pytest.approx(repeated.objective)
    assert np.array_equal(weighted.forest.feature, repeated.forest.feature)


def test_trees_share_what_a_row_pays():
    """Two trees that each gain 0.25 by a feature can only afford it together if it costs 0.49."""
    X = np.tile([[0.0], [1.0]], (50, 1))
    y = np.tile([0, 1], 50).astype(np.int32)
    forest = ff.StandardForestClassifier(2, bootstrap=False, random_state=0).fit(X, y).forest_
    rows = PruningRows(X, y)
    problem = PruningProblem(forest, rows, ff.FeatureCosts([1.0]))
    assert solve(problem, 0.49, gap=0.0, max_rounds=50).forest.n_leaves == 4
    assert solve(problem, 0.51, gap=0.0, max_rounds=50).forest.n_leaves == 2


def test_a_group_is_paid_once():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 2)).astype(float)
    y = (X[:, 0] + 2 * X[:, 1]).astype(np.int32)
    forest = ff.StandardForestClassifier(5, max_features=None, random_state=0).fit(X, y).forest_
    rows = PruningRows(X, y)
    apart = ff.FeatureCosts([1.0, 1.0])
    together = ff.FeatureCosts([0.0, 0.0], groups={"draw": ff.Group([0, 1], 1.0)})
    objectives = [solve(PruningProblem(forest, rows, costs), 0.2, gap=1e-9).objective for costs in (apart, together)]
    assert objectives == pytest.approx([0.4, 0.2])


def test_threads_do_not_matter():
    forest, rows, costs = small_case(9, n_rows=3000, n_trees=20, max_depth=8)
    one, two = (solve(PruningProblem(forest, rows, costs, n_threads=n), 0.004, gap=1e-5) for n in (1, 2))
    assert (one.objective, one.bound, one.n_rounds) == (two.objective, two.bound, two.n_rounds)
    assert np.array_equal(one.forest.feature, two.forest.feature)


def test_ctrl_c_ends_the_rounds():
    forest, rows, costs = small_case(9, n_rows=3000, n_trees=20, max_depth=8)
    problem = PruningProblem(forest, rows, costs)
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.2):
        solve(problem, 0.004, gap=-1.0, max_rounds=10**9)
    assert solve(problem, 0.004).gap <= 0.001  # and it can be solved all the same


def test_the_gap_on_miniboone(data_dir):
    data = ff.datasets.load("miniboone_tiny", data_dir)
    half = len(data.X) // 2
    forest = ff.StandardForestClassifier(40, random_state=0).fit(data.X[:half], data.y[:half]).forest_
    costs = ff.FeatureCosts.unit(forest.n_features)
    problem = PruningProblem(forest, PruningRows(data.X[half:], data.y[half:].astype(np.int32)), costs)
    for tradeoff in (0.001, 0.004, 0.01):
        assert solve(problem, tradeoff, gap=0.0099, max_rounds=200).gap < 0.01


def test_relative_gap():
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(1.0, 1.0 + 1e-15) == 0
    assert relative_gap(0.0, 0.0) == 0
    assert relative_gap(1e-17, -1e-17) == 0
    assert relative_gap(1e-6, 0.0) == 1

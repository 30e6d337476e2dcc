"""The compiled booster grows the trees that the slow, obvious twin grows, node by node, under every option."""

from __future__ import annotations

import numpy as np
import pytest

from boosting.problems import assert_same_tree, compiled, random_problem, twin

ROUNDS = 3


def compare(problem) -> int:
    booster, slow = compiled(problem, ROUNDS), twin(problem)
    trees, n_splits = booster.trees(), 0
    for r in range(ROUNDS):
        for k, expected in enumerate(slow.grow_round(problem.tradeoff, problem.budget)):
            assert_same_tree(trees, r * slow.n_outputs + k, expected, problem)
            n_splits += len(expected) // 2
    return n_splits


@pytest.mark.parametrize("block", range(6))
def test_all_options_together(block):
    n_splits = [compare(random_problem(1000 * block + i)) for i in range(40)]
    assert np.mean(n_splits) > 3


@pytest.mark.parametrize(
    "fixed",
    [
        {"charge": "row", "subsample": 0.5},
        {"charge": "forest"},
        {"loss": "squared", "charge": "row"},
        {"colsample": 0.4, "subsample": 0.7},
        {"l2": 1.0, "max_leaves": 31, "min_samples_leaf": 1},
    ],
    ids=str,
)
def test_one_option_at_a_time(fixed):
    assert sum(compare(random_problem(77_000 + i, **fixed)) for i in range(15)) > 0


def test_budgets_that_bind():
    limited = 0
    for i in range(40):
        problem = random_problem(88_000 + i, charge="row")
        problem.budget = 0.4 * problem.costs.total + 0.01
        compare(problem)
        limited += compiled(problem, ROUNDS).was_limited
    assert 10 < limited < 40

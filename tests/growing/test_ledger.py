"""Trees with a ledger: what earlier trees have bought is free, and what this tree buys is free from then on."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from frugalforest import FeatureCosts, Group, _core
from frugalforest.data import BinnedData
from frugalforest.growing import Growth, tree_seeds
from frugalforest.impurities import Entropy
from growing.problems import (
    Problem,
    assert_same_arrays,
    compare,
    compiled,
    compiled_nodes,
    first_difference,
    make_bins,
    random_problem,
    twin,
)

PENALIZED = Growth(Entropy(), splitting="expected", objective="penalized", charge="ledger", repeat_charge=0.0)


def copies(n_copies, ledger=None, **options):
    """A problem whose columns are copies of one informed column: only prices can tell them apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    column = 6 * labels + rng.integers(0, 12, 120)
    codes = np.repeat(column[None].astype(np.uint8), n_copies, axis=0)
    bins = make_bins([24] * n_copies, [False] * n_copies, rng)
    ledger = np.zeros(n_copies, bool) if ledger is None else np.array(ledger, bool)
    growth = replace(PENALIZED, bootstrap=False, **options)
    return Problem(BinnedData(codes, bins), labels, 2, growth, FeatureCosts.unit(n_copies), ledger=ledger)


def used(arrays):
    return set(arrays["feature"][arrays["feature"] >= 0].tolist())


def test_what_is_in_the_ledger_is_free():
    for bought in range(4):
        one = copies(4, np.arange(4) == bought, tradeoff=0.01)
        assert used(compiled(one)) == {bought}
        compare(one)


def test_a_tree_buys_one_of_equal_features_and_stays_with_it():
    one = copies(4, tradeoff=0.01)
    assert used(compiled(one)) == {0}
    assert used(compiled(replace(one, growth=replace(one.growth, charge="always")))) == {0}
    cheaper_last = replace(one, costs=FeatureCosts([4, 3, 2, 1]))
    assert used(compiled(cheaper_last)) == {3}


def test_a_group_is_paid_once_for_all_trees():
    costs = FeatureCosts([1, 1, 1, 1], groups={"draw": Group([2, 3], 5)})
    one = replace(copies(4, [0, 0, 0, 1], tradeoff=2.0**-6), costs=costs)
    # Feature 3 is free, and feature 2 costs 1 like the others, since its group is paid.
    assert used(compiled(one)) == {3}
    compare(one)
    nothing = replace(one, ledger=np.zeros(4, bool))
    assert used(compiled(nothing)) == {0}


def test_trees_of_one_call_start_from_the_same_ledger():
    for seed in range(30):
        one = random_problem(11 * 10**7 + seed, charge="ledger", objective="penalized", repeat_charge=0.0)
        seeds = tree_seeds(seed, 4)
        for n_threads in (1, 2):
            arrays = compiled(one, seeds=seeds, n_threads=n_threads)
            for tree, tree_seed in enumerate(seeds):
                assert first_difference(twin(one, int(tree_seed)), compiled_nodes(arrays, tree)) is None


@pytest.mark.parametrize("at_a_loss", [False, True])
def test_random_problems_with_a_ledger(at_a_loss):
    n_nodes = 0
    for seed in range(60):
        one = random_problem(
            12 * 10**7 + seed, charge="ledger", objective="penalized", repeat_charge=0.0, at_a_loss=at_a_loss
        )
        n_nodes += compare(one) * len(compiled(one)["feature"])
    assert n_nodes > 1000


def test_a_full_ledger_and_a_tradeoff_of_zero_are_the_same():
    for seed in range(20):
        one = random_problem(13 * 10**7 + seed, charge="ledger", objective="penalized", tradeoff=0.5, repeat_charge=0.0)
        full = replace(one, ledger=np.ones(one.binned.n_features, bool))
        free = replace(one, growth=replace(one.growth, tradeoff=0.0))
        assert_same_arrays(compiled(full), compiled(free))


def test_at_a_loss_a_node_is_split_whatever_it_costs():
    dear = copies(3, tradeoff=100.0)
    assert used(compiled(dear)) == set()
    at_a_loss = replace(dear, growth=replace(dear.growth, at_a_loss=True))
    assert used(compiled(at_a_loss)) == {0}
    compare(at_a_loss)


def test_the_ledger_has_to_be_given():
    one = copies(2, tradeoff=0.5)
    with pytest.raises(ValueError, match="needs what earlier trees have bought"):
        compiled(replace(one, ledger=None))
    with pytest.raises(ValueError, match="different sizes"):
        compiled(replace(one, ledger=np.zeros(3, bool)))


# Rows drawn by weight.


@pytest.mark.parametrize("n_rows", [1, 2, 63, 400])
def test_weighted_bootstrap_is_the_twins(n_rows):
    rng = np.random.default_rng(n_rows)
    for seed, weights in enumerate([rng.random(n_rows), rng.integers(0, 3, n_rows) + 0.0, np.eye(n_rows)[n_rows // 2]]):
        if not weights.any():
            continue
        draws = naive.bootstrap_draws(seed, n_rows, weights.tolist())
        cumulative = np.cumsum(weights)
        np.testing.assert_array_equal(_core.bootstrap_draws(seed, n_rows, cumulative), draws)
        in_bag = _core.in_bag(np.array([seed], np.uint64), n_rows, cumulative)
        np.testing.assert_array_equal(in_bag[0], np.array(draws) > 0)
        assert not np.any((np.array(draws) > 0) & (weights == 0))
    with pytest.raises(ValueError, match="different sizes"):
        _core.in_bag(np.zeros(1, np.uint64), n_rows, np.ones(n_rows + 1))

"""Every instruction set and any number of threads: the same forest, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from frugalforest import FeatureCosts
from frugalforest.data import MISSING, BinnedData
from frugalforest.growing import Growth, tree_seeds
from frugalforest.impurities import ThresholdPairs
from growing.problems import (
    INSTRUCTION_SETS,
    Problem,
    assert_same_arrays,
    compare,
    compiled,
    make_bins,
    random_problem,
)

WIDTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33]
AROUND_WORDS = [63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257]
# 16, 32 and 64 bytes at a time count to 255 in a byte: 4080, 8160 and 16320 rows.
AROUND_BLOCKS = [4079, 4080, 4081, 4095, 4096, 4097, 8159, 8160, 8161, 16321]
FAST = [name for name in INSTRUCTION_SETS if name != "portable"]


NO_LIMITS = {"max_distinct_features": None, "max_tree_cost": None, "min_samples_split": 2}


def bisected(seed, size, **fixed):
    """A problem for the engine that the kernels serve: unit weights, minimax, risk."""
    fixed = {"splitting": "minimax", "objective": "risk", "charge": "always", "max_distinct_features": None} | fixed
    fixed = {"impurity": "pairs 0", "max_tree_cost": None, "max_depth": None, "min_samples_leaf": 1} | fixed
    return replace(random_problem(seed, size, **fixed), weights=None)


def same_on_every_instruction_set(problem, n_trees=2, engine="bisection"):
    seeds, training_set = tree_seeds(0, n_trees), problem.training_set()
    expected = compiled(problem, engine, "portable", seeds=seeds, training_set=training_set)
    for instruction_set in FAST:
        assert_same_arrays(expected, compiled(problem, engine, instruction_set, seeds=seeds, training_set=training_set))
    return expected


@pytest.mark.parametrize("thresholds", ["all", "random"])
@pytest.mark.parametrize("start", range(1, 131, 10))
def test_every_small_number_of_rows(start, thresholds):
    for n_rows in range(start, start + 10):
        same_on_every_instruction_set(bisected(n_rows, (n_rows, 6, 255), thresholds=thresholds))


@pytest.mark.parametrize("n_rows", WIDTHS + AROUND_WORDS)
def test_rows_around_the_width_of_a_vector(n_rows):
    for seed in range(6):
        problem = bisected(
            100 * n_rows + seed, (n_rows, 5, 255), min_samples_leaf=1 + seed % 3, bootstrap=seed % 2 == 0
        )
        same_on_every_instruction_set(problem)


def noise(n_rows, n_features, growth):
    """255 bins and missing values that say nothing about three classes: trees grow as deep as they may."""
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(0, 255, (n_features, n_rows)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.05] = MISSING
    codes[0] %= 250  # one column without
    bins = make_bins([255] * n_features, [False] * n_features, rng)
    return Problem(BinnedData(codes, bins), rng.integers(0, 3, n_rows), 3, growth, FeatureCosts.unit(n_features))


@pytest.mark.parametrize("max_features", [None, 2])
@pytest.mark.parametrize("n_rows", AROUND_BLOCKS)
def test_rows_around_the_length_of_a_block(n_rows, max_features):
    problem = noise(n_rows, 4, Growth(ThresholdPairs(), max_depth=7, max_features=max_features))
    arrays = same_on_every_instruction_set(problem)
    assert len(arrays["feature"]) > 100


@pytest.mark.parametrize("n_features", [1, 2, 4, 7, 8, 9, 16, 17, 40, 129])
def test_any_number_of_features(n_features):
    for n_rows in (20, 64, 65, 200, 1024, 1025):
        same_on_every_instruction_set(bisected(n_rows + n_features, (n_rows, n_features, 255)), n_trees=1)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 9, 64, 65])
def test_any_number_of_classes(n_classes):
    # The rows of a class are a run of the column, which may be empty or start anywhere.
    for n_rows in (20, 64, 65, 300):
        labels = np.random.default_rng(n_rows).integers(0, n_classes, n_rows)
        problem = replace(bisected(n_rows, (n_rows, 4, 24)), labels=labels, n_classes=n_classes, class_weight=None)
        same_on_every_instruction_set(problem)


def test_a_class_for_every_row():
    for n_rows in (63, 64, 65):
        problem = replace(bisected(n_rows, (n_rows, 4, 255), bootstrap=False), labels=np.arange(n_rows)[::-1])
        same_on_every_instruction_set(replace(problem, n_classes=n_rows + 2, class_weight=None))


@pytest.mark.parametrize("share_drawn", [0.002, 0.02, 0.5])
def test_samples_with_gaps(share_drawn):
    # 64 rows of the sample may reach over more rows than two vectors hold, and one row may be drawn many times.
    problem = noise(5_000, 3, Growth(ThresholdPairs(), max_depth=5))
    weights = (np.random.default_rng(0).random(5_000) < share_drawn).astype(float)
    seeds, training_set = tree_seeds(0, 2), problem.training_set()
    options = {"seeds": seeds, "training_set": training_set, "draw_weights": weights}
    expected = compiled(problem, "histogram", **options)
    assert len(expected["feature"]) > 10
    for instruction_set in INSTRUCTION_SETS:
        assert_same_arrays(expected, compiled(problem, "bisection", instruction_set, **options))


def test_data_too_large_to_be_copied_in_class_order():
    n_features, n_rows = 512, 2**16 + 64  # beyond 2^25 codes
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 255, (n_features, n_rows), dtype=np.uint8)
    labels = (codes[100] > 90).astype(np.int32) + (codes[200] > 130)
    bins = make_bins([255] * n_features, [False] * n_features, rng)
    growth = Growth(ThresholdPairs(), max_depth=2)
    problem = Problem(BinnedData(codes, bins), labels, 3, growth, FeatureCosts.unit(n_features))
    training_set = problem.training_set()
    expected = compiled(problem, "histogram", training_set=training_set)
    assert_same_arrays(expected, compiled(problem, "bisection", training_set=training_set))


@pytest.mark.parametrize("share_missing", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("n_bins", [1, 2, 254, 255])
def test_missing_wraps_to_the_least_code(n_bins, share_missing):
    # With shift 1 a code of 255 becomes 0, and 254, the last bin, becomes 255.
    rng = np.random.default_rng(n_bins)
    for n_rows in (16, 63, 64, 65, 130, 300):
        problem = bisected(n_rows, (n_rows, 3, n_bins))
        codes = problem.binned.codes
        codes[:] = rng.choice([0, n_bins // 2, n_bins - 1], codes.shape)
        codes[rng.random(codes.shape) < share_missing] = MISSING
        problem = replace(problem, binned=BinnedData(codes, make_bins([n_bins] * 3, [False] * 3, rng)))
        same_on_every_instruction_set(problem)
        if n_rows <= 65:
            compare(problem)


@pytest.mark.parametrize("impurity", ["pairs 1", "powers 3", "polynomial", "gini", "entropy", "variance", "own"])
def test_every_engine_and_impurity(impurity):
    for seed in range(5):
        problem = random_problem(9_000 + seed, (150, 5, 24), impurity=impurity)
        for engine in problem.engines():
            same_on_every_instruction_set(problem, engine=engine)


# Threads.


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("impurity", ["pairs 0", "pairs 4", "gini", "variance", "own"])
def test_threads_do_not_change_the_forest(impurity, bootstrap):
    for seed, n_rows in enumerate((30, 90) if impurity == "own" else (90, 700, 3000)):
        problem = random_problem(
            11_000 + seed, (n_rows, 6, 255), impurity=impurity, bootstrap=bootstrap, max_depth=None
        )
        seeds, training_set = tree_seeds(seed, 15), problem.training_set()
        for engine in problem.engines():
            one, *others = (
                compiled(problem, engine, seeds=seeds, training_set=training_set, n_threads=n) for n in (1, 2, 3, 7)
            )
            for other in others:
                assert_same_arrays(one, other)


def test_more_threads_than_trees():
    problem = bisected(3, (200, 5, 24))
    for n_trees in (0, 1, 2):
        seeds = tree_seeds(1, n_trees)
        one, many = (compiled(problem, seeds=seeds, n_threads=n) for n in (1, 16))
        assert_same_arrays(one, many)
        assert len(many["node_offsets"]) == n_trees + 1

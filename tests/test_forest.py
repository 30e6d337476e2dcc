"""Forest: everything read off the arrays, against a walk by hand; and arrays that are no forest."""

import copy
import math
import pickle
import subprocess
import sys
import textwrap
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frugalforest import FeatureCosts, Group, _core
from frugalforest.data import Bins
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
from frugalforest.impurities import Gini, ThresholdPairs

NAMES = (
    *("node_offsets", "leaf_offsets", "feature", "threshold", "missing_left", "right"),
    *("category_set", "category_sets", "leaf_counts"),
)


# Forests: grown ones, and made-up ones with every kind of node.


def mixed_rows(n_rows, seed=0, missing=0.1):
    """Five columns: 0, 1 and 4 numbers, 2 whole numbers, 3 categories."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5)).round(2)
    X[:, 2] = rng.integers(-3, 4, n_rows)
    X[:, 3] = rng.integers(0, 9, n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def grown_forest(n_trees=8, seed=0, growth=None):
    X = mixed_rows(300, seed)
    clean = np.nan_to_num(X)
    y = (clean[:, 0] > 0).astype(np.int32) + (clean[:, 3] % 3 == 1)
    bins = Bins.learn(X, np.arange(5) == 3, max_bins=40)
    growth = growth or Growth(Gini(), splitting="expected", objective="penalized", max_features=2)
    training_set = TrainingSet(bins.transform(X), labels=y, n_classes=3)
    return Forest.from_arrays(grow(training_set, growth, FeatureCosts.unit(5), tree_seeds(seed, n_trees)).arrays, 5)


def made_up_forest(seed=0, n_trees=5, n_features=5, most_nodes=31, categorical=(3,), n_classes=3):
    """Trees of any shape; thresholds among the values that rows have, so that they are hit exactly."""
    rng = np.random.default_rng(seed)
    nodes, sets, offsets, leaf_offsets = [], [], [0], [0]
    n_leaves = 0

    def add(budget):
        nonlocal n_leaves
        place = len(nodes)
        nodes.append(None)
        if budget < 3 or rng.random() < 0.1:
            nodes[place] = (-1, 0.0, 0, n_leaves, -1)
            n_leaves += 1
            return
        feature, missing_left = int(rng.integers(n_features)), int(rng.integers(2))
        category_set = -1
        if feature in categorical:
            category_set = len(sets)
            sets.append(rng.integers(0, 2**64, 4, dtype=np.uint64))
        threshold = float(rng.choice([-np.inf, np.inf, -1, 0, 0.5, 1, round(rng.standard_normal(), 2)]))
        left = int(rng.integers(1, budget - 1))
        add(left)
        nodes[place] = (feature, threshold, missing_left, len(nodes), category_set)
        add(budget - 1 - left)

    for _ in range(n_trees):
        add(int(rng.integers(1, most_nodes + 1)))
        offsets.append(len(nodes))
        leaf_offsets.append(n_leaves)
    feature, threshold, missing_left, right, category_set = zip(*nodes, strict=True)
    arrays = {
        "node_offsets": np.array(offsets, np.int64),
        "leaf_offsets": np.array(leaf_offsets, np.int64),
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold),
        "missing_left": np.array(missing_left, np.uint8),
        "right": np.array(right, np.int32),
        "category_set": np.array(category_set, np.int32),
        "category_sets": np.array(sets, np.uint64).reshape(-1, 4),
        "leaf_counts": rng.integers(0, 9, (n_leaves, n_classes)) / 4 + 0.25,
    }
    return Forest.from_arrays(arrays, n_features)


FORESTS = {
    "grown": grown_forest,
    "grown for risk": partial(grown_forest, 5, 1, Growth(ThresholdPairs(1))),
    "random thresholds": partial(grown_forest, 5, 2, Growth(Gini(), thresholds="random")),
    **{f"made up {seed}": partial(made_up_forest, seed) for seed in range(3)},
    "numbers only": partial(made_up_forest, 7, categorical=()),
    "leaves only": partial(made_up_forest, 8, most_nodes=1),
    "one tree": partial(made_up_forest, 9, n_trees=1),
}
every_forest = pytest.mark.parametrize("forest", FORESTS, indirect=True)


@pytest.fixture
def forest(request):
    return FORESTS[request.param]()


# By hand.


def walk(nodes, row):
    """Number of the leaf that a row reaches, and the features it reads."""
    i, read = 0, set()
    while nodes[i].feature >= 0:
        node = nodes[i]
        value = float(row[node.feature])
        read.add(node.feature)
        if math.isnan(value):
            left = node.missing_left
        elif node.left_categories is not None:
            left = int(value) in node.left_categories
        else:
            left = value <= node.threshold
        i = node.left if left else node.right
    return i, read


def leaves_by_hand(forest, rows):
    """(n_rows, n_trees)"""
    trees = [forest.nodes(tree) for tree in range(forest.n_trees)]
    firsts = forest.node_offsets[:-1].tolist()
    ends = [[first + walk(nodes, row)[0] for first, nodes in zip(firsts, trees, strict=True)] for row in rows]
    return forest.right[np.array(ends, dtype=int).reshape(len(rows), forest.n_trees)]


def reads_by_hand(forest, rows, trees=None):
    mask = np.zeros((len(rows), forest.n_features), bool)
    for tree in range(forest.n_trees) if trees is None else trees:
        nodes = forest.nodes(tree)
        for i, row in enumerate(rows):
            mask[i, list(walk(nodes, row)[1])] = True
    return mask


def sums_by_hand(forest, rows, values, in_bag=None):
    """Added tree by tree, so that it rounds alike."""
    sums = np.zeros((len(rows), values.shape[1]))
    for tree, leaves in enumerate(leaves_by_hand(forest, rows).T):
        counts = np.ones(len(rows), bool) if in_bag is None else in_bag[tree] == 0
        sums[counts] += values[leaves[counts]]
    return sums


def assert_same_forest(a, b):
    assert a.n_features == b.n_features
    for name in NAMES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name, strict=True)


# Rows through the trees.


@every_forest
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 127, 128, 129])
def test_apply(forest, n_rows):
    rows = mixed_rows(n_rows, n_rows)
    np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows), strict=True)


@every_forest
@pytest.mark.parametrize("missing", [0.0, 0.5, 1.0])
def test_apply_with_missing_values(forest, missing):
    rows = mixed_rows(60, 3, missing)
    np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows))


@every_forest
def test_any_number_type(forest):
    whole = np.random.default_rng(0).integers(0, 9, (50, 5))
    signed, with_missing = whole - 4, mixed_rows(50, 4)
    signed[:, 3] = whole[:, 3]  # categories are not negative
    cases = [whole.astype(dtype) for dtype in "bBhHiIlLqQfd"] + [signed.astype(dtype) for dtype in "bhilqfd"]
    cases += [with_missing.astype(np.float32), with_missing, whole > 3]
    for rows in cases:
        np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows), err_msg=str(rows.dtype))


@every_forest
def test_any_memory_order(forest):
    rows = mixed_rows(70, 5)
    expected = leaves_by_hand(forest, rows)
    wide = np.full((140, 10), 77.0)
    wide[::2, ::2] = rows
    read_only = rows.copy()
    read_only.flags.writeable = False
    same = [np.asfortranarray(rows), wide[::2, ::2], np.asfortranarray(wide)[::2, ::2], read_only]
    same += [rows[::-1].copy()[::-1], rows[:, ::-1].copy()[:, ::-1]]
    for laid_out in same:
        np.testing.assert_array_equal(forest.apply(laid_out), expected)
    repeated = np.broadcast_to(rows[0], (9, 5))
    np.testing.assert_array_equal(forest.apply(repeated), np.repeat(expected[:1], 9, axis=0))


@every_forest
def test_float32_is_compared_as_float64(forest):
    # 0.1 in float32 is a little more than 0.1: what the row holds decides, not what it was rounded from.
    rows = mixed_rows(200, 6).astype(np.float32)
    np.testing.assert_array_equal(forest.apply(rows), forest.apply(rows.astype(np.float64)))


def test_a_value_equal_to_the_threshold_goes_left():
    arrays = {"threshold": np.array([0.5, 0, 0])}
    for value, leaf in [(0.5, 0), (np.nextafter(0.5, 1), 1), (np.nextafter(0.5, 0), 0), (np.nan, 1)]:
        assert stump(**arrays).apply(np.array([[value]])) == leaf


def test_missing_goes_where_the_node_says():
    for missing_left, leaf in [(0, 1), (1, 0)]:
        forest = stump(missing_left=np.array([missing_left, 0, 0], np.uint8))
        assert forest.apply(np.array([[np.nan]])) == leaf


def test_every_category_has_a_bit():
    evens = sum(1 << c for c in range(0, 255, 2))
    words = np.array([[evens >> 64 * w & 2**64 - 1 for w in range(4)]], np.uint64)
    forest = stump(category_set=np.array([0, -1, -1], np.int32), category_sets=words)
    np.testing.assert_array_equal(forest.apply(np.arange(255.0)[:, None])[:, 0], np.arange(255) % 2)
    np.testing.assert_array_equal(forest.apply(np.arange(255, dtype=np.uint8)[:, None])[:, 0], np.arange(255) % 2)
    assert forest.nodes(0)[0].left_categories == set(range(0, 255, 2))


@pytest.mark.parametrize("n_words", [1, 2, 5])
def test_sets_of_any_width(n_words):
    """Also in a block of rows that is large enough to be parted as bits."""
    odds = sum(1 << c for c in range(1, 64 * n_words, 2))
    words = np.array([[odds >> 64 * w & 2**64 - 1 for w in range(n_words)]], np.uint64)
    forest = stump(category_set=np.array([0, -1, -1], np.int32), category_sets=words)
    rows = np.tile(np.arange(64.0 * n_words), 40)[:, None]
    np.testing.assert_array_equal(forest.apply(rows)[:, 0], (rows[:, 0] + 1) % 2)


def test_a_category_that_training_has_not_seen_goes_to_the_heavier_child():
    rows = np.array([[0.0], [1], [1], [1], [4]])
    bins = Bins.learn(rows, np.array([True]))
    training_set = TrainingSet(bins.transform(rows), labels=np.array([0, 1, 1, 1, 0]))
    growth = Growth(Gini(), bootstrap=False)
    forest = Forest.from_arrays(grow(training_set, growth, FeatureCosts.unit(1), tree_seeds(0, 1)).arrays, 1)
    seen = forest.apply(np.array([[0.0], [1], [4]]))[:, 0]
    assert seen[0] == seen[2] != seen[1]
    unseen = forest.apply(np.array([[2.0], [3], [200], [254], [np.nan]]))[:, 0]
    np.testing.assert_array_equal(unseen, np.full(5, seen[1]))


@every_forest
@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_sums_and_features_read(forest, n_threads):
    rows = mixed_rows(200, 8)
    rng = np.random.default_rng(1)
    values = rng.random((forest.n_leaves, 2))
    in_bag = rng.integers(0, 2, (forest.n_trees, 200)).astype(np.uint8)
    sums, mask = forest.sums(rows, values, n_threads=n_threads)
    assert mask is None
    np.testing.assert_array_equal(sums, sums_by_hand(forest, rows, values), strict=True)
    sums, mask = forest.sums(rows, values, with_mask=True, in_bag=in_bag, n_threads=n_threads)
    np.testing.assert_array_equal(sums, sums_by_hand(forest, rows, values, in_bag), strict=True)
    for i in range(0, 200, 10):
        trees = np.flatnonzero(in_bag[:, i] == 0)
        np.testing.assert_array_equal(mask[i : i + 1], reads_by_hand(forest, rows[i : i + 1], trees))
    np.testing.assert_array_equal(forest.features_read(rows, n_threads), reads_by_hand(forest, rows), strict=True)


def test_more_features_than_bits_in_a_word():
    for n_features in (63, 64, 65, 130):
        forest = made_up_forest(n_features, n_features=n_features, categorical=(2, 64, 128), most_nodes=99)
        rng = np.random.default_rng(n_features)
        rows = rng.integers(-1, 2, (40, n_features)).astype(float)
        rows[:, [c for c in (2, 64, 128) if c < n_features]] = 5
        rows[rng.random(rows.shape) < 0.1] = np.nan
        np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows))
        np.testing.assert_array_equal(forest.features_read(rows), reads_by_hand(forest, rows))


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 60), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_forests_of_any_shape(seed, n_trees, most_nodes, n_rows):
    forest = made_up_forest(seed, n_trees, most_nodes=most_nodes)
    rows = mixed_rows(n_rows, seed, missing=0.2)
    leaves = leaves_by_hand(forest, rows)
    np.testing.assert_array_equal(forest.apply(rows), leaves)
    np.testing.assert_array_equal(forest.features_read(rows), reads_by_hand(forest, rows))
    sums, _ = forest.sums(rows, forest.leaf_counts)
    np.testing.assert_array_equal(sums, sums_by_hand(forest, rows, forest.leaf_counts))


def test_a_tree_returns_its_training_rows_to_their_leaves():
    # Codes and numbers are two ways to say the same split: counts by hand from the rows, leaf by leaf.
    rng = np.random.default_rng(0)
    X = mixed_rows(400, 1)
    y = rng.integers(0, 3, 400).astype(np.int32)
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        bins = Bins.learn(rows, np.arange(5) == 3, max_bins=30)
        for growth in (Growth(Gini(), bootstrap=False), Growth(ThresholdPairs(), thresholds="random", bootstrap=False)):
            training_set = TrainingSet(bins.transform(rows), labels=y)
            forest = Forest.from_arrays(grow(training_set, growth, FeatureCosts.unit(5), tree_seeds(0, 3)).arrays, 5)
            for tree in range(3):
                counts = np.zeros((forest.n_leaves, 3))
                np.add.at(counts, (forest.apply(rows)[:, tree], y), 1)
                own = slice(*forest.leaf_offsets[tree : tree + 2])
                np.testing.assert_array_equal(counts[own], forest.leaf_counts[own])


def balanced_tree(thresholds, missing_left=0):
    """One feature, one tree: a row reaches the leaf whose number says how many thresholds are below its value."""
    nodes = []

    def add(first, last):
        if first == last:
            nodes.append((-1, 0.0, 0, first))
            return
        place, middle = len(nodes), (first + last) // 2
        nodes.append(None)
        add(first, middle)
        nodes[place] = (0, thresholds[middle], missing_left, len(nodes))
        add(middle + 1, last)

    add(0, len(thresholds))
    feature, threshold, missing, right = (np.array(column) for column in zip(*nodes, strict=True))
    arrays = {
        "node_offsets": np.array([0, len(nodes)]),
        "leaf_offsets": np.array([0, len(thresholds) + 1]),
        "feature": feature.astype(np.int32),
        "threshold": threshold,
        "missing_left": missing.astype(np.uint8),
        "right": right.astype(np.int32),
        "category_set": np.full(len(nodes), -1, np.int32),
        "category_sets": np.zeros((0, 4), np.uint64),
        "leaf_counts": np.ones((len(thresholds) + 1, 1)),
    }
    return Forest.from_arrays(arrays, 1)


AROUND_BYTES = [1, 2, 15, 16, 17, 31, 32, 253, 254, 255, 256, 257]  # codes are bytes up to 254 thresholds
AROUND_WORDS = [65533, 65534, 65535, 65536, 70000]  # two bytes up to 65,534, then four


@pytest.mark.parametrize("n", AROUND_BYTES + AROUND_WORDS)
@pytest.mark.parametrize("last", [None, np.inf])
def test_any_number_of_thresholds(n, last):
    rng = np.random.default_rng(n)
    thresholds = np.unique(rng.standard_normal(n))
    if last is not None:  # all values against missing
        thresholds = np.append(thresholds, last)
    some = rng.choice(thresholds, 300)
    values = np.concatenate([some, np.nextafter(some, np.inf), np.nextafter(some, -np.inf), [-1e9, 1e9, np.nan]])
    expected = np.searchsorted(thresholds, values)
    for missing_left, leaf in [(0, len(thresholds)), (1, 0)]:
        expected[-1] = leaf
        found = balanced_tree(thresholds, missing_left).apply(values[:, None])[:, 0]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
@pytest.mark.parametrize("n_rows", [1, 15, 16, 63, 64, 65, 1000, 5000])
def test_every_instruction_set_reaches_the_same_leaves(instruction_set, n_rows):
    # Few distinct values, so that groups of rows stay together down to the leaves, and enough for every kind of search.
    forest = made_up_forest(n_rows, n_trees=3, categorical=(), most_nodes=199)
    rows = np.random.default_rng(n_rows).standard_normal((n_rows, 5)).round(1)
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    routes = router({name: getattr(forest, name) for name in NAMES}, forest.n_leaves, 5, instruction_set)
    distinct, which = np.unique(rows[:200], axis=0, return_inverse=True, equal_nan=False)
    np.testing.assert_array_equal(routes.apply(rows)[:200], leaves_by_hand(forest, distinct)[which])
    np.testing.assert_array_equal(routes.apply(rows[::-1])[::-1], routes.apply(rows))
    parts = np.concatenate([routes.apply(part) for part in np.array_split(rows, min(n_rows, 9))])
    np.testing.assert_array_equal(routes.apply(rows), parts)
    tree = balanced_tree(np.arange(255.0))
    routes = router({name: getattr(tree, name) for name in NAMES}, tree.n_leaves, 1, instruction_set)
    np.testing.assert_array_equal(routes.apply(rows[:, :1] * 99)[:, 0], tree.apply(rows[:, :1] * 99)[:, 0])


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
@pytest.mark.parametrize("n", [1, 15, 16, 17, 40, 254])
def test_float32_next_to_thresholds(instruction_set, n):
    # Thresholds on, just above and just below numbers that float32 has, and beyond all of them.
    rng = np.random.default_rng(n)
    near = rng.standard_normal(n).astype(np.float32).astype(np.float64)
    thresholds = np.nextafter(near, rng.choice([-np.inf, np.inf], n))
    thresholds[::3] = near[::3]
    thresholds[1 : n - 1 : 50] = rng.choice(
        [-0.0, -1e300, 1e300, 1e-46, -1e-46, 3.4028235e38], len(thresholds[1:-1:50])
    )
    thresholds = np.unique(thresholds)
    tree = balanced_tree(thresholds)
    with np.errstate(all="ignore"):  # neighbours of the largest and of the least number
        values = np.concatenate([near, [0, np.inf, -np.inf, 3.4028235e38, 1e-45]]).astype(np.float32)
        values = np.concatenate([values, -values])
        values = np.concatenate([values, *(np.nextafter(values, np.float32(end)) for end in (np.inf, -np.inf))])
    routes = router({name: getattr(tree, name) for name in NAMES}, tree.n_leaves, 1, instruction_set)
    expected = np.searchsorted(thresholds, values.astype(np.float64))
    np.testing.assert_array_equal(routes.apply(values[:, None])[:, 0], expected)
    values[::7] = np.nan  # goes right, to the last leaf
    expected[::7] = len(thresholds)
    np.testing.assert_array_equal(routes.apply(values[:, None])[:, 0], expected)


def test_both_zeros_are_one_threshold():
    arrays = {name: getattr(stump(threshold=np.array([0.0, 0, 0])), name) for name in NAMES}
    negative = Forest.from_arrays(arrays | {"threshold": np.array([-0.0, 0, 0])}, 1)
    both = Forest.joined([negative, Forest.from_arrays(arrays, 1)])
    for dtype in (np.float32, np.float64):
        rows = np.array([[-0.0], [0.0], [1e-30], [-1e-30]], dtype)
        np.testing.assert_array_equal(both.apply(rows), [[0, 2], [0, 2], [1, 3], [0, 2]])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("pure", [True, False])
def test_sums_of_many_blocks_are_those_of_the_leaves(n_threads, pure):
    forest = made_up_forest(5, n_trees=7, n_classes=4)
    rows, rng = mixed_rows(9_000, 3), np.random.default_rng(2)
    values = np.eye(4)[rng.integers(0, 4, forest.n_leaves)] if pure else rng.random((forest.n_leaves, 4)).round()
    base, in_bag = rng.random(4), rng.integers(0, 2, (7, 9_000)).astype(np.uint8)
    leaves = forest.apply(rows)
    expected, counted = np.tile(base, (9_000, 1)), np.zeros((9_000, 4))
    for tree in range(7):
        expected += values[leaves[:, tree]]
        counted += np.where(in_bag[tree, :, None] == 0, values[leaves[:, tree]], 0)
    np.testing.assert_array_equal(forest.sums(rows, values, base=base, n_threads=n_threads)[0], expected)
    np.testing.assert_array_equal(forest.sums(rows, values, in_bag=in_bag, n_threads=n_threads)[0], counted)


def test_joining_with_a_forest_without_trees_copies_nothing():
    forest, nothing = made_up_forest(1), Forest.without_trees(5, 3)
    assert Forest.joined([nothing, forest, nothing]) is forest
    assert Forest.joined([nothing, nothing]) is nothing


def test_an_instruction_set_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="sse9"):
        router(STUMP, 2, 1, "sse9")


@every_forest
def test_votes_are_one_for_the_largest_value(forest):
    rows = mixed_rows(100, 4)
    votes, _ = forest.sums(rows, forest.leaf_counts, as_votes=True)
    np.testing.assert_array_equal(votes, sums_by_hand(forest, rows, forest.leaf_votes), strict=True)
    labels = np.arange(100, dtype=np.int32) % 3
    for found, expected in zip(
        forest.by_tree(rows, labels, forest.leaf_counts, DYADIC, as_votes=True),
        forest.by_tree(rows, labels, forest.leaf_votes, DYADIC),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


# Infinity does not get past an estimator's door, but forests are read without one as well.


@pytest.mark.parametrize("value", [np.inf, 1e308, -1e308])
def test_the_largest_numbers_reach_a_leaf(value):
    forest = made_up_forest(3, categorical=())
    rows = np.full((20, 5), value)
    np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows))


def test_minus_infinity_reaches_a_leaf():
    run_apart("""
        from test_forest import *
        forest = made_up_forest(3, categorical=())
        rows = np.full((20, 5), -np.inf)
        np.testing.assert_array_equal(forest.apply(rows), leaves_by_hand(forest, rows))
    """)


def run_apart(code, timeout=120):
    """Run in a process of its own: what is tested might take the process down."""
    done = start_apart(code, timeout)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"


def start_apart(code, timeout=120):
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout, check=False)


# Tree by tree.

GROUPS = {"a": Group([0, 1, 2], 2.5), "b": Group([1, 3], 0.75), "c": Group([3, 4, 0], 4.0), "d": Group([2], 0.0)}
DYADIC = FeatureCosts([1, 0.5, 0, 2.25, 8], groups=GROUPS)
DECIMAL = FeatureCosts([0.1, 15.51, 20.68, 0, 7.3], groups={"a": Group([0, 1, 2], 2.1), "b": Group([1, 3], 0.07)})


@every_forest
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("costs", [DYADIC, DECIMAL, FeatureCosts.unit(5)], ids=["dyadic", "decimal", "unit"])
def test_by_tree_is_every_prefix_from_scratch(forest, costs, n_threads):
    rows = mixed_rows(300, 11)
    rng = np.random.default_rng(2)
    labels = rng.integers(-1, 3, 300).astype(np.int32)  # -1: a class that training has not seen
    weights = rng.integers(0, 9, 300) / 8
    error, bill = forest.by_tree(rows, labels, forest.leaf_shares, costs, weights=weights, n_threads=n_threads)
    assert error.shape == bill.shape == (forest.n_trees,)
    for n_trees in range(1, forest.n_trees + 1):
        prefix = forest.first(n_trees)
        predicted = sums_by_hand(prefix, rows, prefix.leaf_shares).argmax(axis=1)
        assert error[n_trees - 1] == weights[predicted != labels].sum() / weights.sum()
        mask = prefix.features_read(rows)
        touched = (mask.astype(int) @ costs.membership.T.astype(int)) > 0
        assert bill[n_trees - 1] == costs.of_purchases(mask.sum(axis=0), touched.sum(axis=0)) / 300
        if costs is not DECIMAL:  # then a sum of bills is exact
            assert bill[n_trees - 1] == costs.of_rows(mask).sum() / 300
        np.testing.assert_allclose(bill[n_trees - 1], costs.of_rows(reads_by_hand(prefix, rows)).mean(), rtol=1e-12)


def test_by_tree_without_weights_counts_rows():
    forest = grown_forest()
    rows, labels = mixed_rows(130, 1), np.random.default_rng(0).integers(0, 3, 130).astype(np.int32)
    error, _ = forest.by_tree(rows, labels, forest.leaf_votes, DYADIC)
    same, _ = forest.by_tree(rows, labels, forest.leaf_votes, DYADIC, weights=np.full(130, 0.5))
    np.testing.assert_array_equal(error, same)
    assert error[-1] == (sums_by_hand(forest, rows, forest.leaf_votes).argmax(axis=1) != labels).mean()


def test_of_equal_sums_the_first_class_wins():
    forest = made_up_forest(1, n_trees=1, most_nodes=1)
    labels = np.array([0, 1, 2], np.int32)
    error, _ = forest.by_tree(np.zeros((3, 5)), labels, np.array([[1.0, 1.0, 1.0]]), DYADIC)
    assert error[0] == 2 / 3


def test_weighted_errors_do_not_depend_on_threads():
    # An error that differs in its last bit from run to run decides ties between models.
    forest = grown_forest()
    rng = np.random.default_rng(0)
    rows, labels, weights = mixed_rows(20_000, 0), rng.integers(0, 3, 20_000).astype(np.int32), rng.random(20_000)
    expected = forest.by_tree(rows, labels, forest.leaf_votes, DYADIC, weights=weights)
    for n_threads in (2, 3, 7) * 3:
        found = forest.by_tree(rows, labels, forest.leaf_votes, DYADIC, weights=weights, n_threads=n_threads)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


# Parts, nodes, leaves.


@every_forest
def test_first(forest):
    rows = mixed_rows(40, 1)
    leaves = forest.apply(rows)
    for n_trees in range(forest.n_trees + 1):
        prefix = forest.first(n_trees)
        assert prefix.n_trees == n_trees
        assert prefix.n_nodes == forest.node_offsets[n_trees]
        assert prefix.n_leaves == forest.leaf_offsets[n_trees]
        assert prefix.n_classes == forest.n_classes
        np.testing.assert_array_equal(prefix.apply(rows), leaves[:, :n_trees])
        assert [prefix.nodes(t) == forest.nodes(t) for t in range(n_trees)] == [True] * n_trees
    assert forest.first(forest.n_trees) is forest
    assert forest.first(10**9) is forest
    assert np.shares_memory(forest.first(1).feature, forest.feature)


def test_joined():
    parts = [make() for name, make in FORESTS.items() if name != "numbers only"]  # column 3 is categorical
    parts += [Forest.without_trees(5, 3), made_up_forest(7).first(2), grown_forest().first(1)]
    together = Forest.joined(parts)
    rows = mixed_rows(60, 2)
    assert together.n_trees == sum(part.n_trees for part in parts)
    tree = leaf = 0
    for part in parts:
        found = together.apply(rows)[:, tree : tree + part.n_trees] - leaf
        np.testing.assert_array_equal(found, part.apply(rows))
        for t in range(part.n_trees):
            np.testing.assert_equal(together.nodes(tree + t), part.nodes(t))
        tree, leaf = tree + part.n_trees, leaf + part.n_leaves
    np.testing.assert_array_equal(together.leaf_counts, np.concatenate([part.leaf_counts for part in parts]))
    np.testing.assert_array_equal(together.features_read(rows), np.any([p.features_read(rows) for p in parts], axis=0))
    assert Forest.joined(parts[:1]) is parts[0]


@every_forest
def test_joining_the_parts_gives_the_whole(forest):
    more = made_up_forest(4)
    assert_same_forest(Forest.joined([forest, more]).first(forest.n_trees), _with_sets_of(forest, more))
    assert_same_forest(Forest.joined([Forest.without_trees(5, 3), forest]), forest)


def _with_sets_of(forest, more):
    arrays = {name: getattr(forest, name) for name in NAMES}
    arrays["category_sets"] = np.concatenate([forest.category_sets, more.category_sets])
    return Forest.from_arrays(arrays, forest.n_features)


def test_without_trees():
    nothing = Forest.without_trees(4, 3)
    rows = np.zeros((6, 4))
    assert (nothing.n_trees, nothing.n_nodes, nothing.n_leaves, nothing.n_classes) == (0, 0, 0, 3)
    assert nothing.apply(rows).shape == (6, 0)
    np.testing.assert_array_equal(nothing.sums(rows, np.zeros((0, 3)))[0], np.zeros((6, 3)))
    assert not nothing.features_read(rows).any()
    np.testing.assert_array_equal(nothing.gini_decrease(), np.zeros(4))
    assert nothing.node_counts.shape == nothing.leaf_shares.shape == (0, 3)
    error, bill = nothing.by_tree(rows, np.zeros(6, np.int32), np.zeros((0, 3)), FeatureCosts.unit(4))
    assert error.shape == bill.shape == (0,)


@every_forest
def test_nodes(forest):
    for tree in range(forest.n_trees):
        nodes = forest.nodes(tree)
        assert len(nodes) == forest.node_offsets[tree + 1] - forest.node_offsets[tree]
        reached = {0}
        for i, node in enumerate(nodes):
            assert i in reached  # preorder: every node but the root is a child of an earlier one
            if node.feature >= 0:
                assert node.left == i + 1 < node.right < len(nodes)
                assert node.counts is None
                reached |= {node.left, node.right}
            else:
                assert node.left_categories is None
                assert sum(node.counts) > 0
        in_leaves = [node.counts for node in nodes if node.feature < 0]
        np.testing.assert_array_equal(in_leaves, forest.leaf_counts[slice(*forest.leaf_offsets[tree : tree + 2])])


def counts_by_hand(nodes, i=0):
    """Class counts of every node of a tree, {number: counts}."""
    if nodes[i].feature < 0:
        return {i: np.array(nodes[i].counts)}
    left, right = counts_by_hand(nodes, nodes[i].left), counts_by_hand(nodes, nodes[i].right)
    return left | right | {i: left[nodes[i].left] + right[nodes[i].right]}


def weighted_gini(n):
    return n.sum() * (1 - (n**2).sum() / n.sum() ** 2)


@every_forest
def test_node_counts_and_gini_decrease(forest):
    decrease = np.zeros(forest.n_features)
    for tree in range(forest.n_trees):
        nodes = forest.nodes(tree)
        counts = counts_by_hand(nodes)
        first = forest.node_offsets[tree]
        for i, node in enumerate(nodes):
            np.testing.assert_array_equal(forest.node_counts[first + i], counts[i])
            if node.feature >= 0:
                before, left, right = (weighted_gini(counts[j]) for j in (i, node.left, node.right))
                lost = before - left - right
                decrease[node.feature] += lost / counts[0].sum() / forest.n_trees
    np.testing.assert_allclose(forest.gini_decrease(), decrease, rtol=1e-9, atol=1e-12)


def test_gini_decrease_of_a_perfect_stump():
    np.testing.assert_allclose(stump().gini_decrease(), [0.5])


@every_forest
def test_leaves(forest):
    np.testing.assert_array_equal(forest.leaf_labels, [list(c).index(max(c)) for c in forest.leaf_counts.tolist()])
    np.testing.assert_array_equal(forest.leaf_votes.argmax(axis=1), forest.leaf_labels)
    np.testing.assert_array_equal(forest.leaf_votes.sum(axis=1), 1)
    np.testing.assert_allclose(forest.leaf_shares.sum(axis=1), 1)
    np.testing.assert_allclose(forest.leaf_shares * forest.leaf_counts.sum(axis=1, keepdims=True), forest.leaf_counts)


def test_a_leaf_without_weight_has_shares():
    # A class of weight 0 can have a leaf of its own; whatever it answers, it is a number.
    forest = stump(leaf_counts=np.array([[0.0, 0.0], [0.0, 2.0]]))
    assert np.isfinite(forest.leaf_shares).all()
    np.testing.assert_array_equal(forest.leaf_shares[1], [0, 1])


@every_forest
def test_pickling_and_copying(forest):
    rows = mixed_rows(50, 1)
    leaves, _ = forest.apply(rows), forest.leaf_votes  # a router and a cached property are there
    for other in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest), copy.copy(forest)):
        assert_same_forest(other, forest)
        np.testing.assert_array_equal(other.apply(rows), leaves)
        np.testing.assert_array_equal(other.leaf_votes, forest.leaf_votes)


# What is refused.


def test_rows_that_do_not_fit():
    forest = grown_forest()
    with pytest.raises(ValueError, match="number of features"):
        forest.apply(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="sizes"):
        forest.sums(np.zeros((3, 5)), np.zeros((forest.n_leaves + 1, 2)))
    with pytest.raises(ValueError, match="sizes"):
        forest.sums(np.zeros((3, 5)), forest.leaf_counts, in_bag=np.zeros((forest.n_trees, 4), np.uint8))
    with pytest.raises(ValueError, match="sizes"):
        forest.sums(np.zeros((3, 5)), forest.leaf_counts, in_bag=np.zeros((forest.n_trees - 1, 3), np.uint8))
    with pytest.raises(ValueError, match="sizes"):
        forest.by_tree(np.zeros((3, 5)), np.zeros(2, np.int32), forest.leaf_counts, DYADIC)
    for rows in (np.zeros((3, 5), np.float16), np.zeros((3, 5), complex), np.zeros(5), np.zeros((1, 3, 5)), "rows"):
        with pytest.raises((ValueError, TypeError)):
            forest.apply(rows)


STUMP = {
    "node_offsets": np.array([0, 3], np.int64),
    "leaf_offsets": np.array([0, 2], np.int64),
    "feature": np.array([0, -1, -1], np.int32),
    "threshold": np.array([0.5, 0, 0]),
    "missing_left": np.zeros(3, np.uint8),
    "right": np.array([2, 0, 1], np.int32),
    "category_set": np.array([-1, -1, -1], np.int32),
    "category_sets": np.zeros((0, 4), np.uint64),
    "leaf_counts": np.array([[2.0, 0.0], [0.0, 2.0]]),
}


def stump(**changes):
    return Forest.from_arrays(STUMP | changes, 1)


MALFORMED = {
    "no offsets": {"node_offsets": []},
    "offsets do not start at 0": {"node_offsets": [1, 3]},
    "offsets start below 0": {"node_offsets": [-1, 3]},
    "offsets start far below 0": {"node_offsets": [-(2**40), 3]},
    "offsets end too early": {"node_offsets": [0, 2]},
    "offsets end too late": {"node_offsets": [0, 4]},
    "offsets fall": {"node_offsets": [0, 5, 3]},
    "a tree without nodes": {"node_offsets": [0, 0, 3]},
    "a child in another tree": {"node_offsets": [0, 1, 3]},
    "a child before its parent": {"right": [-1, 0, 1]},
    "a child that is its parent": {"right": [0, 0, 1]},
    "both children the same": {"right": [1, 0, 1]},
    "a child behind the last node": {"right": [3, 0, 1]},
    "a leaf that is negative": {"right": [2, -1, 1]},
    "a leaf that does not exist": {"right": [2, 0, 2]},
    "a split at the end": {"feature": [0, -1, 0], "right": [2, 0, 3]},
    "a feature that does not exist": {"feature": [1, -1, -1]},
    "a feature far away": {"feature": [2**31 - 1, -1, -1]},
    "a category set that does not exist": {"category_set": [0, -1, -1]},
    "a category set behind the last": {"category_set": [1, -1, -1], "category_sets": np.zeros((1, 4), np.uint64)},
    "category sets of 65,536 categories": {
        "category_set": [0, -1, -1],
        "category_sets": np.zeros((1, 1024), np.uint64),
    },
    "too few thresholds": {"threshold": [0.5]},
    "too few missing_left": {"missing_left": [0]},
    "too few right": {"right": [2]},
    "too few category_set": {"category_set": [-1]},
}


def router(arrays, n_leaves, n_features, instruction_set="auto"):
    """The core's view of arrays that may be anything."""
    typed = {name: np.ascontiguousarray(np.asarray(arrays[name]).astype(STUMP[name].dtype)) for name in NAMES}
    order = ("node_offsets", "feature", "threshold", "missing_left", "right", "category_set", "category_sets")
    return _core.Router(*(typed[name] for name in order), n_leaves, n_features, instruction_set)


def print_what_happens(names):
    for name in names:
        print(name, end=": ", flush=True)
        try:
            router(STUMP | MALFORMED[name], 2, 1)
            print("accepted", flush=True)
        except ValueError:
            print("refused", flush=True)


@pytest.fixture(scope="module")
def outcomes():
    """What becomes of each malformed forest: one process tries them all, and a new one goes on where it ended."""
    found, waiting = {}, list(MALFORMED)
    while waiting:
        done = start_apart(f"from test_forest import *\nprint_what_happens({waiting!r})")
        assert done.stdout, done.stderr
        for line in done.stdout.splitlines():
            name, outcome = line.split(": ")
            found[name] = outcome or f"ended the process with {done.returncode}"
            waiting.remove(name)
    return found


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_arrays_are_refused(name, outcomes):
    assert outcomes[name] == "refused"


def test_wellformed_arrays_are_taken():
    assert router(STUMP, 2, 1).apply(np.array([[0.0], [1.0]])).tolist() == [[0], [1]]


def is_forest(arrays, n_leaves, n_features):
    """What a router may rely on, in so many words."""
    offsets, n_nodes = arrays["node_offsets"].tolist(), len(arrays["feature"])
    if not offsets or offsets[0] != 0 or offsets[-1] != n_nodes or any(b <= a for a, b in pairwise(offsets)):
        return False
    if {len(arrays[name]) for name in ("threshold", "missing_left", "right", "category_set")} != {n_nodes}:
        return False
    inner = arrays["feature"] >= 0
    numeric = set(arrays["feature"][inner & (arrays["category_set"] < 0)].tolist())
    if numeric & set(arrays["feature"][inner & (arrays["category_set"] >= 0)].tolist()):
        return False  # a feature is numeric or categorical, not both
    for first, end in pairwise(offsets):
        for i in range(first, end):
            feature, right, category_set = (int(arrays[name][i]) for name in ("feature", "right", "category_set"))
            if feature < 0:
                if not 0 <= right < n_leaves:
                    return False
            elif feature >= n_features or not i + 1 < right < end or category_set >= len(arrays["category_sets"]):
                return False
    return True


ODD = st.one_of(st.integers(-3, 12), st.sampled_from([-(2**31), 2**31 - 1, 2**30, 1000, -1000]))


@st.composite
def broken_forests(draw):
    """A forest with up to four numbers changed, or an array cut short."""
    forest = made_up_forest(draw(st.integers(0, 50)), n_trees=draw(st.integers(1, 3)), most_nodes=9)
    arrays = {name: getattr(forest, name).copy() for name in NAMES}
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(["node_offsets", "feature", "right", "category_set"]))
        place = draw(st.integers(0, len(arrays[name]) - 1))
        arrays[name][place] = draw(ODD)
    if draw(st.integers(0, 9)) == 0:
        name = draw(st.sampled_from(["node_offsets", "feature", "threshold", "right", "category_set"]))
        arrays[name] = arrays[name][: draw(st.integers(0, len(arrays[name])))]
    return arrays, forest.n_leaves, forest.n_features


def fuzz(log):
    """Either refused, or read as a walk by hand reads it. `log` holds the example at hand, should the process end."""

    @given(broken_forests())
    @settings(max_examples=1500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(case):
        arrays, n_leaves, n_features = case
        Path(log).write_text(repr({name: array.tolist() for name, array in arrays.items()}))
        wellformed = is_forest(arrays, n_leaves, n_features)
        try:
            routes = router(arrays, n_leaves, n_features)
        except ValueError:
            assert not wellformed, "refused"
            return
        assert wellformed, "accepted"
        forest, rows = Forest.from_arrays(arrays, n_features), np.abs(mixed_rows(20, 1)).round()  # categories as well
        np.testing.assert_array_equal(routes.apply(rows), leaves_by_hand(forest, rows))
        forest.features_read(rows)

    check()


def test_no_array_takes_the_process_down(tmp_path):
    log = tmp_path / "example.txt"
    try:
        run_apart(f"from test_forest import *\nfuzz({str(log)!r})")
    except AssertionError as error:
        raise AssertionError(f"{error}\nlast example: {log.read_text() if log.exists() else None}") from None


def test_some_trees_in_another_order():
    forest, rows = grown_forest(6), mixed_rows(40, seed=5)
    trees = np.array([4, 0, 0, 5])
    some = forest.take(trees)
    assert some.n_trees == 4
    for place, tree in enumerate(trees):
        assert some.nodes(place) == forest.nodes(tree)
        own = some.apply(rows)[:, place] - some.leaf_offsets[place]
        np.testing.assert_array_equal(own, forest.apply(rows)[:, tree] - forest.leaf_offsets[tree])
    nodes, leaves = forest.positions(trees)
    np.testing.assert_array_equal(some.feature, forest.feature[nodes])
    np.testing.assert_array_equal(some.leaf_counts, forest.leaf_counts[leaves])
    assert forest.take(np.zeros(0, dtype=np.intp)).n_trees == 0

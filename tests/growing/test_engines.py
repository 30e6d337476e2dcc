"""The promise of docs/growing.md: the compiled engines grow the tree of the naive twin, node by node.

FRUGALFOREST_PROBLEMS=100000 makes the random sweep as long as you like.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalforest import FeatureCosts, Group
from frugalforest.data import MISSING, BinnedData, Bins
from frugalforest.growing import Growth, tree_seeds
from frugalforest.impurities import Entropy, Gini, Polynomial, Powers, ThresholdPairs
from growing.problems import (
    IMPURITIES,
    INSTRUCTION_SETS,
    OBJECTIVES,
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

N_PROBLEMS = int(os.environ.get("FRUGALFOREST_PROBLEMS", 800))
N_BLOCKS = 10
NO_LIMITS = {"max_depth": None, "max_distinct_features": None, "max_tree_cost": None, "max_features": None}


def problem(columns, labels, growth, *, n_bins=None, categorical=False, n_classes=None, costs=None, **others):
    """A problem from columns given as lists."""
    codes = np.array(columns, dtype=np.uint8)
    n_features = len(codes)
    n_bins = [n_bins or max(c for c in column if c != MISSING) + 1 for column in codes.tolist()]
    bins = make_bins(n_bins, [categorical] * n_features, np.random.default_rng(0))
    return Problem(
        BinnedData(codes, bins),
        np.array(labels),
        n_classes or int(max(labels)) + 1,
        replace(growth, bootstrap=False),
        costs or FeatureCosts.unit(n_features),
        **others,
    )


# The sweep.


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("splitting", ["minimax", "expected"])
@pytest.mark.parametrize("impurity", IMPURITIES)
def test_every_impurity_splitting_and_objective(impurity, splitting, objective):
    fixed = {"splitting": splitting, **OBJECTIVES[objective]}
    number = 1000 * list(IMPURITIES).index(impurity)
    for seed, thresholds in enumerate(["all", "random", "all", "random"]):
        compare(random_problem(10**7 + number + seed, impurity=impurity, thresholds=thresholds, **fixed))


@pytest.mark.parametrize("repeat_charge", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("charge", ["always", "path", "forest", "ledger"])
def test_every_charge(charge, repeat_charge):
    for seed in range(10):
        compare(random_problem(2 * 10**7 + seed, charge=charge, repeat_charge=repeat_charge))


@pytest.mark.parametrize(
    "limit", [{"max_distinct_features": 2}, {"max_tree_cost": 2.5}, {"max_tree_cost": 0.0}], ids=str
)
@pytest.mark.parametrize("max_features", [None, 1, 2])
def test_every_limit(limit, max_features):
    for seed in range(10):
        compare(random_problem(3 * 10**7 + seed, (40, 6, 12), max_features=max_features, **limit))


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_random_problems(block):
    for seed in range(block, N_PROBLEMS, N_BLOCKS):
        compare(random_problem(seed))


@given(st.integers(0, 2**32), st.integers(1, 24), st.integers(1, 4), st.integers(2, 255))
@settings(max_examples=100, deadline=None)
def test_problems_of_any_small_size(seed, n_rows, n_features, most_bins):
    compare(random_problem(seed, (n_rows, n_features, most_bins)))


@pytest.mark.parametrize("bootstrap", [True, False])
def test_trees_of_a_forest_are_grown_one_by_one(bootstrap):
    # The workspace of an engine serves tree after tree: nothing may be left over from the last one.
    for seed in range(20):
        problem = random_problem(4 * 10**7 + seed, bootstrap=bootstrap)
        seeds = tree_seeds(seed, 4)
        for engine in problem.engines():
            arrays = compiled(problem, engine, seeds=seeds)
            for tree, tree_seed in enumerate(seeds):
                assert first_difference(twin(problem, int(tree_seed)), compiled_nodes(arrays, tree)) is None


def test_bins_that_were_learned():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((90, 5)).round(1)
    matrix[:, 3] = rng.integers(0, 7, 90)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    labels = (np.nan_to_num(matrix[:, 0]) + np.nan_to_num(matrix[:, 1]) > 0).astype(int) + (matrix[:, 3] == 2)
    bins = Bins.learn(matrix, np.arange(5) == 3, max_bins=20)
    for thresholds in ("all", "random"):
        growth = Growth(ThresholdPairs(), thresholds=thresholds)
        problem = Problem(bins.transform(matrix), labels, 3, growth, FeatureCosts.unit(5), tree_seed=9)
        compare(problem)
        arrays = compiled(problem)
        for i in np.flatnonzero((arrays["feature"] >= 0) & (arrays["category_set"] < 0)):
            assert arrays["threshold"][i] == bins.threshold(arrays["feature"][i], arrays["code"][i])


# Nodes so large that the engines work differently: 64 (bit masks), 512 (kept histograms), 1024 (one bisection after the
# other), 2048 (block of the cache).


@pytest.mark.parametrize("n_rows", [511, 512, 513, 700, 1100])
@pytest.mark.parametrize("impurity", ["pairs 0", "pairs 4", "powers 3", "gini", "variance"])
def test_some_hundred_rows(impurity, n_rows):
    problem = random_problem(n_rows, (n_rows, 3, 5), impurity=impurity, **NO_LIMITS | {"max_depth": 4})
    compare(problem)


@pytest.mark.parametrize("n_rows", [2047, 2048, 2049, 2600])
@pytest.mark.parametrize(
    ("impurity", "splitting", "objective"),
    [("pairs 1", "minimax", "risk"), ("gini", "expected", "penalized 0"), ("variance", "expected", "risk")],
)
def test_some_thousand_rows(impurity, splitting, objective, n_rows):
    fixed = NO_LIMITS | {"max_depth": 3, "splitting": splitting, **OBJECTIVES[objective], "bootstrap": False}
    compare(random_problem(n_rows + 1, (n_rows, 2, 3), impurity=impurity, **fixed))


@pytest.mark.parametrize("n_rows", [500, 501, 2000, 2001])  # 20, 40, 40 and 80 draws
@pytest.mark.parametrize("bootstrap", [True, False])
def test_number_of_random_thresholds(n_rows, bootstrap):
    # 254 edges: twice as many draws nearly always decide the root.
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(0, 255, (1, n_rows)).astype(np.uint8)
    bins = make_bins([255], [False], rng)
    growth = Growth(ThresholdPairs(), thresholds="random", max_depth=1, bootstrap=bootstrap)
    labels = rng.integers(0, 2, n_rows)
    for seed in range(5):
        compare(Problem(BinnedData(codes, bins), labels, 2, growth, FeatureCosts.unit(1), seed), ["auto"])


@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 15, 16, 17, 33])
def test_any_number_of_features_side_by_side(n_features):
    for seed, share_missing in enumerate((0.0, 0.0, 0.05)):
        rng = np.random.default_rng(100 * n_features + seed)
        n_bins = rng.choice([1, 2, 3, 4, 5, 8, 9, 100, 254, 255], n_features)
        codes = rng.integers(0, n_bins[:, None], (n_features, 90)).astype(np.uint8)
        codes[rng.random(codes.shape) < share_missing] = MISSING
        bins = make_bins(n_bins.tolist(), [False] * n_features, rng)
        costs = FeatureCosts(rng.choice([0.5, 1.0, 1.0, 2.0], n_features))
        growth = Growth([ThresholdPairs(), Powers(3), ThresholdPairs(1)][seed], bootstrap=False)
        for n_classes in (2, 4):
            labels = rng.integers(0, n_classes, 90)
            compare(Problem(BinnedData(codes, bins), labels, n_classes, growth, costs))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_features", [2, 63, 64, 65, 130])
def test_small_forests_of_any_number_of_features(n_features, n_classes):
    # Features become constant below others, on both sides of a word of bits; in the second half values are missing.
    rng = np.random.default_rng(n_features)
    n_bins = rng.choice([1, 2, 3, 40, 255], n_features)
    codes = rng.integers(0, n_bins[:, None], (n_features, 60)).astype(np.uint8)
    codes[n_features // 2 :][rng.random((n_features - n_features // 2, 60)) < 0.05] = MISSING
    bins = make_bins(n_bins.tolist(), [False] * n_features, rng)
    growth = Growth(Gini(), splitting="expected", objective="penalized", max_features=max(1, int(n_features**0.5)))
    labels = rng.integers(0, n_classes, 60)
    for seed in range(3):
        compare(Problem(BinnedData(codes, bins), labels, n_classes, growth, FeatureCosts.unit(n_features), seed))


@pytest.mark.parametrize("n_rows", [1023, 1024, 1025, 1100])
def test_about_a_thousand_rows(n_rows):
    fixed = NO_LIMITS | {"splitting": "minimax", "objective": "risk", "charge": "always", "min_samples_leaf": 1}
    fixed |= {"max_depth": 3, "thresholds": "all", "bootstrap": False}
    for seed in range(2):
        problem = random_problem(7 * n_rows + seed, (n_rows, 4, 6), impurity="pairs 0", **fixed)
        compare(replace(problem, weights=None))


BISECTED = [name for name in IMPURITIES if name.split()[0] in ("pairs", "powers", "polynomial")]


@pytest.mark.parametrize("thresholds", ["all", "random"])
@pytest.mark.parametrize("impurity", BISECTED)
def test_engines_agree_on_many_rows(impurity, thresholds):
    n_nodes = 0
    for seed, (n_rows, n_features, most_bins) in enumerate(
        [(600, 20, 255), (1025, 30, 24), (1500, 6, 24), (3000, 8, 255), (8000, 5, 255), (20_000, 6, 255)]
    ):
        fixed = {"splitting": "minimax", "objective": "risk", "charge": ["always", "path"][seed % 2]}
        fixed |= NO_LIMITS | {"thresholds": thresholds, "max_features": [None, None, 3][seed % 3]}
        problem = random_problem(5 * 10**7 + seed, (n_rows, n_features, most_bins), impurity=impurity, **fixed)
        problem = replace(problem, weights=None)
        seeds, training_set = tree_seeds(seed, 2), problem.training_set()
        first = compiled(problem, "histogram", seeds=seeds, training_set=training_set)
        second = compiled(problem, "bisection", seeds=seeds, training_set=training_set)
        assert_same_arrays(first, second)
        n_nodes += len(first["feature"])
    assert n_nodes > 300  # nothing was compared if all were leaves


@pytest.mark.parametrize("impurity", ["pairs 0", "powers 5", "polynomial"])
def test_engines_agree_with_class_weights_that_round(impurity):
    # Balanced class weights are not exact in binary. F stays monotone when rounded: bisection finds the first best.
    for seed in range(30):
        fixed = NO_LIMITS | {"splitting": "minimax", "objective": "risk", "charge": "always"}
        problem = random_problem(6 * 10**7 + seed, (400 + 100 * seed, 6, 255), impurity=impurity, **fixed)
        counts = np.bincount(problem.labels, minlength=problem.n_classes)
        weight = len(problem.labels) / (problem.n_classes * np.maximum(counts, 1))
        problem = replace(problem, weights=None, class_weight=weight)
        assert_same_arrays(compiled(problem, "histogram"), compiled(problem, "bisection"))


# Rules that chance does not reach.


def test_edges_equally_near_to_a_random_threshold():
    # Between 2^52 and 2^53 a float is a whole number: with edges two apart, every other draw lies halfway.
    base, n = 2.0**52, 60
    edges = base + 2 * np.arange(n - 1) + 1
    bin_min = bin_max = base + 2 * np.arange(n)
    bins = Bins._join([(edges, bin_min, bin_max)], np.array([False]))
    rng = np.random.default_rng(0)
    codes, labels = np.arange(n, dtype=np.uint8)[None], rng.integers(0, 2, n)
    for impurity in (Gini(), ThresholdPairs()):
        growth = Growth(impurity, thresholds="random", bootstrap=False)
        for seed in range(20):
            compare(Problem(BinnedData(codes, bins), labels, 2, growth, FeatureCosts.unit(1), seed), ["auto"])


@pytest.mark.parametrize("charge", ["always", "path"])
def test_free_features_are_compared_by_gain(charge):
    # The first feature helps a little, the last one most. All are free, so that every risk is 0.
    labels = [0, 0, 0, 0, 1, 1, 1, 1]
    columns = [[0, 1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]]
    for categorical in (False, True):
        growth = Growth(ThresholdPairs(), charge=charge)
        one = problem(columns, labels, growth, categorical=categorical, costs=FeatureCosts([0, 0, 0]))
        compare(one)
        assert compiled(one)["feature"].tolist() == [2, -1, -1]


def test_rows_of_weight_zero_may_be_all_that_was_drawn():
    codes, labels = [[0, 1, 2, 3]], [0, 1, 0, 1]
    for impurity in (ThresholdPairs(), Gini(), "variance"):
        one = problem(codes, labels, Growth(impurity), weights=np.array([1.0, 0, 0, 0]))
        one = replace(one, growth=replace(one.growth, bootstrap=True))
        for seed in range(20):  # a third of these bootstraps miss row 0
            compare(replace(one, tree_seed=seed), ["auto"])


def test_the_best_free_split_is_taken_when_the_best_is_not_worth_its_price():
    # Minimax gains of Gini may be negative: then a priced split can score above every free one, and still lose to it.
    n_different = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        codes, labels = rng.integers(0, 4, (4, 30)), rng.integers(0, 3, 30)
        growth = Growth(Gini(), objective="penalized", tradeoff=2.0**-6)
        mixed = problem(codes, labels, growth, n_bins=4, n_classes=3, costs=FeatureCosts([0, 1, 0, 1]))
        compare(mixed)
        priced = replace(mixed, costs=FeatureCosts([1, 1, 1, 1]))
        n_different += len(compiled(mixed)["feature"]) > len(compiled(priced)["feature"])
    assert n_different > 20


@pytest.mark.parametrize("repeat_charge", [0.0, 0.5])
def test_what_rows_have_paid_is_counted_by_draws(repeat_charge):
    # Copies of one column at the same price: what the drawn rows have paid, and how often they were drawn, decides.
    rng = np.random.default_rng(2)
    growth = Growth(ThresholdPairs(), charge="forest", repeat_charge=repeat_charge)
    costs = FeatureCosts(np.ones(5), groups={"a": Group([0, 1], 0.5), "b": Group([1, 2, 3], 0.25)})
    for seed in range(20):
        codes = np.repeat(rng.integers(0, 6, (1, 40)), 5, axis=0)
        paid = rng.random((40, 5)) < 0.4
        one = problem(codes, rng.integers(0, 3, 40), growth, costs=costs, paid=paid, tree_seed=seed)
        compare(replace(one, growth=growth), ["auto"])  # with bootstrap


@pytest.mark.parametrize("impurity", [Gini(), Entropy()], ids=str)
def test_one_class_is_a_leaf_however_its_impurity_rounds(impurity):
    # log2(n) - n log2(n) / n is not always 0, and 1 - n^2 / n^2 is 0 for two classes if one weighs next to nothing.
    for splitting in ("expected", "minimax"):
        growth = Growth(impurity, splitting=splitting, objective="penalized")
        for n in range(2, 60, 3):
            one = problem([range(n)], [0] * (n - 1) + [1], growth)
            compare(one, ["auto"])
            compare(replace(one, class_weight=np.array([2.0**30, 2.0**-30])), ["auto"])
            compare(replace(one, class_weight=np.array([1 / 3, 0.7])), ["auto"])


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_one_row_and_one_class(impurity):
    growth = Growth(IMPURITIES[impurity](3))
    compare(problem([[0], [1]], [1], growth, n_classes=3))
    compare(problem([[0, 1, 2, 3]], [2, 2, 2, 2], growth, n_classes=3))
    compare(problem([[0, 1, 2, MISSING]], [2, 2, 0, 0], growth, n_classes=3))


@pytest.mark.parametrize("impurity", [ThresholdPairs(), Gini(), Entropy(), Powers(3), "variance"], ids=str)
@pytest.mark.parametrize("thresholds", ["all", "random"])
def test_nothing_but_missing_values(impurity, thresholds):
    codes = np.full((2, 6), MISSING, np.uint8)
    bins = make_bins([0, 0], [False, True], np.random.default_rng(0))
    growth = Growth(impurity, thresholds=thresholds, bootstrap=False)
    nothing = Problem(BinnedData(codes, bins), np.array([0, 1] * 3), 2, growth, FeatureCosts.unit(2))
    compare(nothing)
    assert len(compiled(nothing)["feature"]) == 1


@pytest.mark.parametrize("n_bins", [2, 254, 255])
def test_last_bin_and_missing_are_told_apart(n_bins):
    last = n_bins - 1
    for columns, labels in [
        ([[last, last, MISSING, MISSING]], [0, 0, 1, 1]),
        ([[0, last, MISSING, MISSING]], [0, 1, 0, 0]),
        ([[0, last, MISSING, MISSING]], [0, 1, 1, 1]),
        ([[0, last, 0, last]], [0, 1, 0, 1]),
    ]:
        for categorical in (False, True):
            growth = Growth(ThresholdPairs())
            one = problem(columns, labels, growth, n_bins=n_bins, categorical=categorical)
            compare(one)
            assert len(compiled(one)["feature"]) == 3


def test_a_user_may_write_any_impurity():
    def lopsided(counts):  # neither zero on pure sets nor monotone
        return 1.0 + np.sqrt(counts[:, 0] + 2 * counts[:, -1])

    for seed in range(25):
        one = random_problem(7 * 10**7 + seed, impurity="own")
        compare(replace(one, growth=replace(one.growth, impurity=lopsided)), ["auto"])


def test_a_user_impurity_may_be_negative():
    # Only F(S) = 0 makes a leaf: minus the share of the largest class is an impurity like any other.
    def minus_accuracy(counts):
        return -counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)

    growth = Growth(minus_accuracy, splitting="expected", objective="penalized")
    compare(problem([[0, 0, 1, 1]], [0, 0, 1, 1], growth))


def test_a_class_of_weight_zero_counts_towards_min_samples_leaf():
    # Category 0 has one row, of weight 0: it goes to the heavier child, {2}, and leaves one row on the other side.
    growth = Growth(ThresholdPairs(), min_samples_leaf=2)
    class_weight = np.array([0.0, 1.0, 1.0])
    compare(problem([[2, 1, 2, 0]], [1, 2, 2, 0], growth, categorical=True, class_weight=class_weight))
    for seed in range(60):
        one = random_problem(8 * 10**7 + seed, impurity="pairs 0", min_samples_leaf=2)
        weight = np.random.default_rng(seed).choice([0.0, 0.0, 1.0, 0.5], one.n_classes)
        compare(replace(one, class_weight=weight))


def test_pairs_round_like_the_twin():
    # Balanced weights of 3, 2 and 2 rows: two splits of equal gain, but for the order in which pairs are added.
    columns, labels = [[2, 2, 2, 1, 1, 2, 1], [2, 2, 1, 0, 2, 1, 0]], [2, 0, 2, 0, 0, 1, 1]
    growth = Growth(ThresholdPairs(0), max_depth=1)
    compare(problem(columns, labels, growth, class_weight=7 / (3 * np.array([3, 2, 2]))))


def test_polynomials_round_like_the_twin():
    # (0.1 * n) * n is not 0.1 * (n * n).
    columns, labels = [[0, 0, 0, 0, 1, 3, 0], [3, 0, 2, 2, 1, 2, 2]], [1, 0, 0, 0, 0, 0, 1]
    growth = Growth(Polynomial([(0.1, (2, 1)), (0.1, (1, 2))]), max_depth=1)
    compare(problem(columns, labels, growth))


@pytest.mark.parametrize("alpha", [0.1, 0.3, 1 / 3, 2.7])
@pytest.mark.parametrize("offset", [True, False])
def test_alphas_that_round(alpha, offset):
    for seed in range(10):
        one = random_problem(9 * 10**7 + seed, impurity="pairs 1")
        compare(replace(one, growth=replace(one.growth, impurity=ThresholdPairs(alpha, offset))), ["auto"])


def test_the_offset_is_alpha_times_alpha():
    # pow(alpha, 2) is not always alpha * alpha: for one alpha in 1200 the last bit differs.
    alpha = 6.214163824978197
    spec = Growth(ThresholdPairs(alpha)).impurity_for_core(2)
    assert spec.offset == alpha * alpha


@pytest.mark.parametrize("repeat_charge", [0.0, 0.5, 1.0])
def test_a_group_is_paid_once_on_a_path(repeat_charge):
    # Binary features can be used once on a path: below the root, what their groups still cost decides.
    rng = np.random.default_rng(1)
    groups = {"a": Group([0, 1, 3], 4.0), "b": Group([1, 2, 5], 2.0), "c": Group([3, 4], 0.5)}
    costs = FeatureCosts([1, 2, 1, 3, 1, 1], groups=groups)
    growth = Growth(ThresholdPairs(), charge="path", repeat_charge=repeat_charge)
    for _ in range(10):
        codes, labels = rng.integers(0, 2, (6, 50)), rng.integers(0, 3, 50)
        compare(problem(codes, labels, growth, costs=costs))


# What an engine refuses.


@pytest.mark.parametrize(
    "changes",
    [{"splitting": "expected"}, {"objective": "penalized"}, {"charge": "forest"}, {"impurity": "variance"}],
    ids=str,
)
def test_bisection_says_what_it_cannot_do(changes):
    one = random_problem(1, (20, 3, 5), **{"splitting": "minimax", "objective": "risk", "charge": "always"} | changes)
    one = replace(one, weights=None, paid=np.zeros((20, 3), bool))
    with pytest.raises(ValueError, match="bisection needs"):
        compiled(one, "bisection")


def test_bisection_refuses_weights():
    one = random_problem(1, (20, 3, 5), impurity="pairs 0", splitting="minimax", objective="risk", charge="always")
    with pytest.raises(ValueError, match="bisection needs"):
        compiled(replace(one, weights=np.full(20, 0.5)), "bisection")
    assert_same_arrays(
        compiled(replace(one, weights=np.ones(20)), "bisection"), compiled(replace(one, weights=None), "histogram")
    )


def test_names_that_do_not_exist_are_refused():
    one = random_problem(1, (20, 3, 5))
    with pytest.raises(ValueError, match="sse9"):
        compiled(one, instruction_set="sse9")
    with pytest.raises(ValueError, match="bisektion"):
        compiled(one, "bisektion")


def test_this_machine_runs_something():
    assert INSTRUCTION_SETS[0] == "portable"

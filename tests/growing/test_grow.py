"""Growing many trees: seeds, progress, Ctrl-C, and what must not change a forest."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

import naive
from frugalforest import FeatureCosts, _core
from frugalforest.data import BinnedData, Bins
from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
from frugalforest.impurities import Entropy, Gini, Powers, ThresholdPairs
from growing.problems import assert_same_arrays, compiled, random_problem

PLAIN = Growth(Gini(), splitting="expected", objective="penalized")
RISK = Growth(ThresholdPairs())
COSTLY = Growth(Entropy(), splitting="expected", objective="penalized", tradeoff=2.0**-6)
SEEDS = tree_seeds(0, 4)


def continuous(n_rows=150, n_features=5, n_classes=3, seed=0):
    """Numbers that do not tie, and labels that depend on them a little."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    y = np.floor(n_classes * (0.6 * X[:, 0] + 0.4 * X[:, 1] ** 2 + 0.1 * rng.random(n_rows)) / 1.1).astype(np.int32)
    return X, y


def forest(X, y, growth, costs=None, seeds=SEEDS, **others):
    bins = Bins.learn(X)
    names = ("weights", "class_weight")
    data = TrainingSet(bins.transform(X), labels=y, **{name: others.pop(name) for name in names if name in others})
    costs = FeatureCosts.unit(X.shape[1]) if costs is None else costs
    return grow(data, growth, costs, seeds, with_gains=True, **others).arrays


def without(arrays, *names):
    return {name: array for name, array in arrays.items() if name not in names}


# Seeds.


def test_a_longer_forest_starts_with_the_same_trees():
    for seed in range(6):
        problem = random_problem(70_000 + seed, (120, 6, 24))
        short, long = (compiled(problem, seeds=tree_seeds(seed, n)) for n in (10, 20))
        n_nodes, n_leaves = short["node_offsets"][-1], short["leaf_offsets"][-1]
        assert long["node_offsets"][10] == n_nodes
        for name, array in short.items():
            n = {"node_offsets": 11, "leaf_offsets": 11, "leaf_counts": n_leaves, "category_sets": len(array)}
            np.testing.assert_array_equal(long[name][: n.get(name, n_nodes)], array, err_msg=name)


def test_seeds():
    assert len(tree_seeds(0, 0)) == 0
    np.testing.assert_array_equal(tree_seeds(5, 20)[:10], tree_seeds(5, 10))
    assert len({*tree_seeds(0, 50), *tree_seeds(1, 50), *tree_seeds(0, 50, 0), *tree_seeds(0, 50, 1)}) == 200


@pytest.mark.parametrize("n_rows", [1, 2, 63, 1000])
def test_bootstrap_is_the_twins(n_rows):
    for seed in (0, 7, 2**64 - 1):
        draws = naive.bootstrap_draws(seed, n_rows)
        np.testing.assert_array_equal(_core.bootstrap_draws(seed, n_rows), draws)
        np.testing.assert_array_equal(_core.in_bag(np.array([seed], np.uint64), n_rows)[0], np.array(draws) > 0)


def test_leaves_hold_every_draw():
    X, y = continuous()
    arrays = forest(X, y, PLAIN)
    sums = np.add.reduceat(arrays["leaf_counts"], arrays["leaf_offsets"][:-1])
    for tree_seed, found in zip(SEEDS, sums, strict=True):
        np.testing.assert_array_equal(found, np.bincount(y, naive.bootstrap_draws(int(tree_seed), len(y)), minlength=3))


def test_draw_weights_say_how_often_a_row_is_drawn():
    X, y = continuous(400)
    only_two = (y == 2).astype(float)  # rows of other classes are never drawn
    arrays = forest(X, y, PLAIN, draw_weights=only_two)
    np.testing.assert_array_equal(arrays["leaf_counts"], [[0, 0, 400]] * 4)
    often = forest(X, y, PLAIN, draw_weights=np.where(y == 0, 3.0, 1.0), seeds=tree_seeds(0, 50))
    share = often["leaf_counts"].sum(axis=0)[0] / (400 * 50)
    expected = 3 * (y == 0).sum() / (3 * (y == 0).sum() + (y != 0).sum())
    assert abs(share - expected) < 4 * np.sqrt(0.25 / (400 * 50))  # four standard errors
    with pytest.raises(ValueError, match="sizes"):
        forest(X, y, PLAIN, draw_weights=np.ones(399))


# Progress.


def long_job():
    X, y = continuous(2000, 8)
    bins = Bins.learn(X)
    return TrainingSet(bins.transform(X), labels=y), PLAIN, FeatureCosts.unit(8), tree_seeds(0, 250)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_progress_rises(n_threads):
    counts = []
    grow(*long_job(), on_progress=counts.append, n_threads=n_threads)
    assert len(counts) >= 1  # the job takes a few twentieths of a second, and is looked at in each
    assert counts == sorted(counts)
    assert 0 <= counts[0] <= counts[-1] <= 250


def test_gains_are_given_on_request_and_change_nothing_else():
    job = long_job()
    plain, with_gains = grow(*job).arrays, grow(*job, with_gains=True).arrays
    assert "gain" not in plain
    assert with_gains["gain"].shape == plain["feature"].shape
    assert_same_arrays(plain, without(with_gains, "gain"))


def test_progress_does_not_change_the_forest():
    job = long_job()
    assert_same_arrays(grow(*job).arrays, grow(*job, on_progress=lambda n: None).arrays)


def test_errors_of_a_users_impurity_come_through():
    X, y = continuous(50)

    def broken(counts):
        raise ArithmeticError("no impurity today")

    with pytest.raises(ArithmeticError, match="no impurity today"):
        forest(X, y, Growth(broken))
    with pytest.raises(ValueError, match="one value per row"):
        forest(X, y, Growth(lambda counts: np.zeros(5)))


# Ctrl-C, in a process of its own: a mistake here takes the whole process down.

PROLOGUE = """
    import os, signal, threading, time
    import numpy as np
    from frugalforest import BudgetForestClassifier, FeatureCosts, StandardForestClassifier
    from frugalforest.data import Bins
    from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
    from frugalforest.impurities import Gini, ThresholdPairs

    rng = np.random.default_rng(0)
    X = rng.random((1500, 6))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.random(1500) > 1.1).astype(np.int32)
    bins = Bins.learn(X)
    training_set = TrainingSet(bins.transform(X), labels=y)
    growth = Growth(Gini(), splitting="expected", objective="penalized")
    costs = FeatureCosts.unit(6)
    MANY = 300_000

    def n_threads_alive():
        return len(os.listdir("/proc/self/task"))

    def interrupt_after(seconds):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    def same(a, b, names=("node_offsets", "feature", "threshold", "missing_left", "right", "leaf_counts")):
        get = lambda forest, name: forest[name] if isinstance(forest, dict) else getattr(forest, name)
        return all(np.array_equal(get(a, name), get(b, name)) for name in names)
"""


def run(script, timeout=60):
    """Run in a new Python; what it printed. Its end must be an orderly one."""
    code = textwrap.dedent(PROLOGUE) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.split()


needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")


@needs_proc
@pytest.mark.parametrize("n_threads", [1, 3])
def test_interrupted_growing_keeps_the_first_trees(n_threads):
    n_trees, is_prefix, threads_left, elapsed = run(f"""
        seeds = tree_seeds(0, MANY)
        before = n_threads_alive()
        timer = interrupt_after(0.3)
        start = time.perf_counter()
        grown = grow(training_set, growth, costs, seeds, n_threads={n_threads})
        elapsed = time.perf_counter() - start
        timer.join()
        assert grown.interrupted
        again = grow(training_set, growth, costs, tree_seeds(0, grown.n_trees))
        assert not again.interrupted
        print(grown.n_trees, same(grown.arrays, again.arrays), n_threads_alive() - before, elapsed)
    """)
    assert int(n_trees) > 0
    assert is_prefix == "True"
    assert int(threads_left) == 0
    assert float(elapsed) < 10  # trees here take a hundredth of a second


@needs_proc
@pytest.mark.parametrize("engine", ["bisection", "own impurity"])
def test_every_engine_can_be_interrupted(engine):
    growth = "ThresholdPairs()" if engine == "bisection" else "lambda n: n[:, 0] * n[:, 1]"
    n_trees, is_prefix = run(f"""
        small = TrainingSet(bins.transform(X[:60]), labels=y[:60])
        growth, seeds = Growth({growth}), tree_seeds(0, MANY)
        interrupt_after(0.3)
        grown = grow(small, growth, costs, seeds, n_threads=2)
        assert grown.interrupted
        print(grown.n_trees, same(grown.arrays, grow(small, growth, costs, tree_seeds(0, grown.n_trees)).arrays))
    """)
    assert int(n_trees) > 0
    assert is_prefix == "True"


@needs_proc
@pytest.mark.parametrize(
    "make",
    [
        "StandardForestClassifier(n, random_state=0, n_jobs=2)",
        "BudgetForestClassifier(alpha=2, n_estimators=n, random_state=0, n_jobs=2)",
        "BudgetForestClassifier(5.9, alpha=[2, 4], n_estimators=n, random_state=0, n_jobs=2)",
    ],
    ids=["standard", "budget", "budget with a limit"],
)
def test_an_interrupted_estimator_is_a_smaller_one(make):
    raised, usable, is_prefix, threads_left = run(f"""
        def make(n):
            return {make}

        make(2).fit(X, y)  # whatever starts threads of its own has done so
        before = n_threads_alive()
        model = make(MANY)
        timer = interrupt_after(0.6)
        try:
            model.fit(X, y)
            raised = False
        except KeyboardInterrupt:
            raised = True
        timer.join()
        threads_left = n_threads_alive() - before
        probabilities, bills = model.predict_proba(X), model.acquisition_cost(X)
        usable = np.isfinite(probabilities).all() and bills.mean() > 0 and (model.predict(X) == y).mean() > 0.7
        n_trees = model.forest_.n_trees
        smaller = make(n_trees).fit(X, y)
        smaller.predict(X)
        # How far growing came decides which impurity is chosen: compare with the forest of the same one.
        variants = [v.forest for v in getattr(smaller, "variants_", ()) if v.recipe.impurity == model.impurity_]
        whole = variants[0] if variants else smaller.forest_
        print(raised, usable, same(model.forest_, whole.first(n_trees)), threads_left)
    """)
    assert raised == "True"
    assert usable == "True"
    assert is_prefix == "True"
    assert int(threads_left) == 0


def test_ctrl_c_may_come_while_progress_is_shown():
    # A progress bar is Python code: Ctrl-C is raised inside it as often as anywhere else.
    (outcome,) = run("""
        try:
            grown = grow(training_set, growth, costs, tree_seeds(0, 1000), n_threads=2,
                         on_progress=lambda n: signal.raise_signal(signal.SIGINT))
            print("kept" if grown.interrupted and grown.n_trees < 1000 else "lost")
        except KeyboardInterrupt:
            print("raised")
    """)
    assert outcome in ("kept", "raised")


def test_errors_of_a_progress_function_come_through():
    (outcome,) = run("""
        def broken(n):
            raise RuntimeError("no progress")

        try:
            grow(training_set, growth, costs, tree_seeds(0, 1000), n_threads=2, on_progress=broken)
        except RuntimeError as error:
            print("raised" if "no progress" in str(error) else error)
    """)
    assert outcome == "raised"


# What must not change a forest, or must change it in a known way.


@pytest.mark.parametrize("factor", [0.25, 0.5, 2, 1024])
@pytest.mark.parametrize("growth", [RISK, COSTLY, Growth(Powers(3), charge="path", repeat_charge=0.5)], ids=str)
def test_costs_times_k_give_the_identical_forest(growth, factor):
    for seed in range(5):
        problem = random_problem(80_000 + seed, (100, 5, 24), impurity="pairs 0", max_tree_cost=None)
        problem = replace(problem, growth=growth, paid=None)
        cheaper = replace(growth, tradeoff=growth.tradeoff / factor)
        scaled = replace(problem, costs=problem.costs.scaled(factor), growth=cheaper)
        assert_same_arrays(compiled(problem, seeds=SEEDS), compiled(scaled, seeds=SEEDS))


def test_limits_scale_with_costs():
    X, y = continuous()
    costs = FeatureCosts([1, 2, 3, 4, 5])
    limited = replace(RISK, max_tree_cost=6.0)
    doubled = replace(RISK, max_tree_cost=12.0)
    assert_same_arrays(forest(X, y, limited, costs), forest(X, y, doubled, costs.scaled(2)))


@pytest.mark.parametrize("growth", [RISK, COSTLY, replace(RISK, max_tree_cost=2.0, charge="path")], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_permuting_columns_permutes_the_forest(growth, seed):
    X, y = continuous(seed=seed)
    rng = np.random.default_rng(seed)
    prices, order = rng.random(5).round(3) + 0.5, rng.permutation(5)
    weights = (rng.permutation(150) + 500) / 512  # weights and prices are all different: risks do not tie
    original = forest(X, y, growth, FeatureCosts(prices), weights=weights)
    permuted = forest(X[:, order], y, growth, FeatureCosts(prices[order]), weights=weights)
    back = permuted["feature"].copy()
    back[back >= 0] = order[back[back >= 0]]
    assert_same_arrays(original, permuted | {"feature": back})


@pytest.mark.parametrize(
    "growth", [RISK, COSTLY, replace(RISK, charge="path"), replace(RISK, thresholds="random")], ids=str
)
def test_a_cheap_copy_is_preferred_to_the_dear_original(growth):
    X, y = continuous()
    twice = np.hstack([X, X])
    prices = np.array([1, 2, 3, 4, 5], dtype=float)
    cheap = forest(twice, y, growth, FeatureCosts(np.concatenate([prices, prices / 2])))
    if growth.thresholds == "all":  # random thresholds of a copy are not copies
        assert cheap["feature"].max() >= 5
        assert not np.isin(cheap["feature"], range(5)).any()
    else:
        used = np.bincount(cheap["feature"][cheap["feature"] >= 0], minlength=10)
        assert used[:5].sum() < 0.2 * used[5:].sum()


@pytest.mark.parametrize("growth", [PLAIN, RISK, replace(COSTLY, tradeoff=0.0)], ids=str)
def test_of_equal_columns_the_first_is_taken(growth):
    X, y = continuous()
    arrays = forest(np.hstack([X, X]), y, growth)
    assert_same_arrays(arrays, forest(X, y, growth))


def test_free_features_are_chosen_by_gain_alone():
    X, y = continuous()
    free = FeatureCosts(np.zeros(5))
    by_risk = forest(X, y, RISK, free)
    assert_same_arrays(by_risk, forest(X, y, replace(RISK, objective="penalized"), free))
    assert_same_arrays(by_risk, forest(X, y, RISK, FeatureCosts.unit(5)))
    assert_same_arrays(by_risk, forest(X, y, replace(RISK, charge="path", repeat_charge=0.5), free))
    assert_same_arrays(by_risk, forest(X, y, replace(RISK, max_tree_cost=0.0), free))


def test_only_what_is_free_is_used_when_money_counts_for_everything():
    X, y = continuous()
    costs = FeatureCosts([1, 0, 1, 0, 1])
    arrays = forest(X, y, replace(COSTLY, tradeoff=1e6), costs)
    assert set(arrays["feature"]) == {-1, 1, 3}


@pytest.mark.parametrize("growth", [PLAIN, COSTLY, Growth(Gini())], ids=str)
def test_weights_of_two_change_the_counts_only(growth):
    X, y = continuous()
    plain = forest(X, y, growth)
    for doubled in (
        forest(X, y, growth, weights=np.full(150, 2.0)),
        forest(X, y, growth, class_weight=np.full(3, 2.0)),
        forest(X, y, growth, weights=np.full(150, 8.0), class_weight=np.full(3, 0.25)),
    ):
        np.testing.assert_array_equal(doubled["leaf_counts"], 2 * plain["leaf_counts"])
        assert_same_arrays(without(plain, "leaf_counts", "gain"), without(doubled, "leaf_counts", "gain"))
        np.testing.assert_allclose(doubled["gain"], plain["gain"], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("growth", [PLAIN, RISK, COSTLY, replace(PLAIN, max_features=2)], ids=str)
def test_weights_of_one_are_no_weights(growth):
    X, y = continuous()
    assert_same_arrays(forest(X, y, growth), forest(X, y, growth, weights=np.ones(150), class_weight=np.ones(3)))


@pytest.mark.parametrize("growth", [PLAIN, RISK, COSTLY], ids=str)
def test_a_weight_is_a_number_of_copies(growth):
    X, y = continuous()
    copies = np.random.default_rng(1).integers(0, 4, 150)
    growth, bins = replace(growth, bootstrap=False), Bins.learn(X)
    weighted = TrainingSet(bins.transform(X), labels=y, weights=copies.astype(float))
    repeated = TrainingSet(bins.transform(np.repeat(X, copies, axis=0)), labels=np.repeat(y, copies))
    one, other = (grow(data, growth, FeatureCosts.unit(5), SEEDS[:1]).arrays for data in (weighted, repeated))
    assert_same_arrays(one, other)


@pytest.mark.parametrize("growth", [PLAIN, RISK, COSTLY], ids=str)
def test_class_weights_are_weights_of_rows(growth):
    X, y = continuous()
    class_weight = np.array([0.5, 1.0, 4.0])
    assert_same_arrays(forest(X, y, growth, class_weight=class_weight), forest(X, y, growth, weights=class_weight[y]))


@pytest.mark.parametrize("growth", [PLAIN, RISK, replace(RISK, thresholds="random")], ids=str)
def test_order_preserving_changes_of_a_feature_keep_the_codes(growth):
    X, y = continuous()
    stretched = X * np.array([1, 2, 4, 8, 16])
    one, other = forest(X, y, growth), forest(stretched, y, growth)
    assert_same_arrays(without(one, "threshold"), without(other, "threshold"))


def test_numbering_the_classes_differently_permutes_the_counts():
    X, y = continuous()
    order = np.array([2, 0, 1])
    for growth in (PLAIN, RISK):
        one, other = forest(X, y, growth), forest(X, order[y].astype(np.int32), growth)
        np.testing.assert_array_equal(one["leaf_counts"], other["leaf_counts"][:, order])
        assert_same_arrays(without(one, "leaf_counts", "gain"), without(other, "leaf_counts", "gain"))


@pytest.mark.parametrize("growth", [PLAIN, RISK], ids=str)
def test_order_of_rows_does_not_matter_without_bootstrap(growth):
    X, y = continuous()
    order = np.random.default_rng(2).permutation(150)
    growth = replace(growth, bootstrap=False)
    weights = (np.arange(150) % 7 + 1) / 3  # not exact in binary: the grid makes their sums so
    one, other = forest(X, y, growth, weights=weights), forest(X[order], y[order], growth, weights=weights[order])
    assert_same_arrays(one, other)


@pytest.mark.parametrize("weighted", [False, True])
def test_order_of_rows_does_not_matter_for_regression(weighted):
    # Sums of w * y are exact only if the two grids together leave room for the products.
    growth = Growth("variance", splitting="expected", objective="penalized", bootstrap=False, max_depth=5)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, order = rng.random((600, 3)), rng.permutation(600)
        targets, weights = X[:, 0] + rng.random(600), rng.random(600) if weighted else np.ones(600)
        bins = Bins.learn(X)
        one, other = (
            grow(
                TrainingSet(bins.transform(X[rows]), targets=targets[rows], weights=weights[rows]),
                growth,
                FeatureCosts.unit(3),
                SEEDS[:1],
            ).arrays
            for rows in (np.arange(600), order)
        )
        assert_same_arrays(one, other)


def test_limits_hold():
    X, y = continuous(400)
    costs = FeatureCosts([1, 2, 3, 4, 5])
    arrays = forest(X, y, replace(RISK, max_distinct_features=2), costs)
    cheap = forest(X, y, replace(RISK, max_tree_cost=5.0), costs)
    small = forest(X, y, replace(RISK, min_samples_leaf=9, max_depth=3), costs)
    for tree in range(4):
        nodes = slice(*arrays["node_offsets"][tree : tree + 2])
        assert len(set(arrays["feature"][nodes]) - {-1}) <= 2
        nodes = slice(*cheap["node_offsets"][tree : tree + 2])
        assert costs.of(sorted(set(cheap["feature"][nodes].tolist()) - {-1})) <= 5
    assert small["leaf_counts"].sum(axis=1).min() >= 9
    assert np.diff(small["node_offsets"]).max() <= 15


def test_cost_limits_are_decimal():
    # 0.1 + 0.2 <= 0.3, as on paper: whoever writes these limits does not think in binary.
    X, y = continuous(400)
    arrays = forest(X[:, :2], y, replace(RISK, max_tree_cost=0.3), FeatureCosts([0.1, 0.2]))
    assert set(arrays["feature"]) == {-1, 0, 1}


def test_charge_by_forest_needs_what_was_paid():
    X, y = continuous()
    with pytest.raises(ValueError, match="what each row has paid"):
        forest(X, y, replace(RISK, charge="forest"))


def test_arrays_of_different_sizes_are_refused():
    X, y = continuous()
    binned = Bins.learn(X).transform(X)
    for wrong in ({"labels": y[:-1]}, {"labels": y, "weights": np.full(3, 0.5)}, {"targets": np.ones(3)}):
        with pytest.raises(ValueError, match="sizes"):
            TrainingSet(binned, **wrong)
    short = BinnedData(np.ascontiguousarray(binned.codes[:3]), binned.bins)
    with pytest.raises(ValueError, match="sizes"):
        TrainingSet(short, labels=y)

"""Acquirer: whole matrices on demand, against full evaluation, the naive twin, and every way a row could go on."""

from __future__ import annotations

import dataclasses
import pickle
from itertools import product

import numpy as np
import pytest

import frugalforest as ff
from acquisition.ensembles import (
    BOUNDS,
    BY,
    EXACT_KINDS,
    KINDS,
    joined_case,
    made_up_leaf,
    made_up_stump,
    plain_encoder,
    random_case,
    random_order,
    random_rule,
)
from frugalforest import FeatureCosts, Group, _core
from frugalforest.acquisition import Acquirer, Acquisition, Order, StopRule
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.forest import Forest
from naive_acquisition import NaiveRun, cells, every_completion, n_completions

LABEL, ALL = StopRule("label"), StopRule("all")
EVERY_ORDER = [Order(by=by, bounds=bounds, hope=hope) for by, bounds, hope in product(BY, BOUNDS, (0.0, None))]
MANY_VISITS = 2**31  # the twin looks at every node


def drawn(seed, n_rows=12, kinds=KINDS, **fixed):
    """A case, an acquirer of random order and a rule, all by the seed."""
    rng = np.random.default_rng([seed, 1])
    case = random_case(seed, kinds=kinds, n_rows=n_rows)
    return case, case.acquirer(random_order(rng, **fixed)), random_rule(rng, case.costs)


def assert_same(found, expected):
    for name in found._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


# Labels: always those of the whole ensemble.


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "small change"])
def test_labels_are_those_of_full_evaluation(kind):
    for seed in range(50):
        case, acquirer, _ = drawn(seed, 20, kinds=(kind,))
        found = acquirer.evaluate(case.rows, LABEL)
        assert np.array_equal(found.label_numbers, case.full_labels), (seed, acquirer.order)
        assert np.array_equal(found.probabilities.argmax(axis=1), case.full_labels), (seed, acquirer.order)


@pytest.mark.parametrize("order", EVERY_ORDER, ids=str)
def test_every_order_gives_the_same_labels(order):
    for seed in range(20):
        case = random_case(seed, kinds=(*EXACT_KINDS, "shares", "classes", "equal"))
        for visits in (0, 1, 7, 64):
            acquirer = case.acquirer(dataclasses.replace(order, most_visits=visits))
            assert np.array_equal(acquirer.evaluate(case.rows, LABEL).label_numbers, case.full_labels), seed


def test_ties_of_even_votes_go_to_the_first_class():
    stumps = [made_up_stump(feature, [[1, 0], [0, 1]]) for feature in (0, 1)]
    case = joined_case(stumps, FeatureCosts([1.0, 1.0]), [[-1, 1], [1, -1], [1, 1], [-1, -1]])
    found = case.acquirer().evaluate(case.rows, LABEL)
    assert found.label_numbers.tolist() == case.full_labels.tolist() == [0, 0, 1, 0]
    assert found.mask.all(axis=1).tolist() == [True, True, True, True]  # a vote each way is open until both are read


def small_lead_case():
    """Class 0 leads in float32, class 1 wins in truth: by 2^-27, if the feature is below its threshold."""
    step = 2.0**-24
    trees = [
        made_up_stump(0, [[1, 2.0**-26, 0], [1, -1, 0]]),
        made_up_leaf([0, 1 - step, 0]),
        made_up_leaf([0, step - 2.0**-27, 0]),
    ]
    return joined_case(trees, FeatureCosts([1.0]), [[-1.0]], link="softmax")


def test_a_lead_below_float32_is_seen():
    case = small_lead_case()
    assert case.full_labels.tolist() == [1]
    assert case.acquirer().evaluate(case.rows, LABEL).label_numbers.tolist() == [1]


def test_large_values_that_all_but_cancel():
    wrong = []
    for seed in range(200):
        case, acquirer, _ = drawn(seed, 30, kinds=("small change",))
        if not np.array_equal(acquirer.evaluate(case.rows, LABEL).label_numbers, case.full_labels):
            wrong.append(seed)
    assert wrong == []


# Masks.


def test_stop_all_reads_what_the_forest_reads():
    for seed in range(150):
        case = random_case(seed)
        found = case.acquirer().evaluate(case.rows, ALL)
        if case.ensemble.forest.n_trees:
            assert np.array_equal(found.mask, case.ensemble.forest.features_read(case.rows)), seed
        assert np.array_equal(found.probabilities, case.ensemble.probabilities(case.ensemble.scores(case.rows)[0]))


def test_nothing_is_bought_that_the_forest_would_not_read():
    n_saved = 0
    for seed in range(200):
        case, acquirer, rule = drawn(seed)
        everything = acquirer.evaluate(case.rows, ALL).mask
        mask = acquirer.evaluate(case.rows, rule).mask
        assert not (mask & ~everything).any(), seed
        n_saved += int((everything & ~mask).sum())
    assert n_saved > 1000


def test_unread_cells_do_not_matter():
    for seed in range(200):
        case, acquirer, rule = drawn(seed)
        found = acquirer.evaluate(case.rows, rule)
        rng = np.random.default_rng(seed)
        for other in (np.nan, rng.choice([-1e9, -1.0, 0.0, 0.5, 7.0, 1e9], case.rows.shape)):
            assert_same(acquirer.evaluate(np.where(found.mask, case.rows, other), rule), found)


def test_no_row_exceeds_its_budget():
    spent_all = 0
    for seed in range(150):
        case, acquirer, _ = drawn(seed)
        rng = np.random.default_rng(seed)
        drawn_masks = rng.random((4, case.costs.n_features)) < 0.4
        for budget in (0.0, 0.3, 0.7, *case.costs.of_rows(drawn_masks).tolist(), np.inf):
            mask = acquirer.evaluate(case.rows, StopRule("budget", budget=budget)).mask
            bills = [case.costs.of(row) if row.any() else 0.0 for row in mask]
            assert max(bills) <= budget, (seed, budget)
            spent_all += bills.count(budget) if budget else 0
    assert spent_all > 50  # some are spent to the last coin


def test_a_budget_that_is_enough_for_all_gives_the_label():
    for seed in range(60):
        case, acquirer, _ = drawn(seed)
        for budget in (case.costs.total, np.inf):
            assert_same(
                acquirer.evaluate(case.rows, StopRule("budget", budget=budget)), acquirer.evaluate(case.rows, LABEL)
            )


# Rows among each other.


def test_rows_threads_and_memory_order_do_not_matter():
    for seed in range(12):
        case, acquirer, rule = drawn(seed, 700)
        found = acquirer.evaluate(case.rows, rule)
        assert_same(acquirer.evaluate(case.rows, rule, n_threads=3), found)
        assert_same(acquirer.evaluate(np.asfortranarray(case.rows), rule), found)
        shuffled = np.random.default_rng(seed).permutation(len(case.rows))
        other = acquirer.evaluate(case.rows[shuffled], rule)
        for name in found._fields:
            np.testing.assert_array_equal(getattr(other, name), getattr(found, name)[shuffled])


def test_leaves_that_are_known_beforehand_change_nothing():
    for seed in range(100):
        case, acquirer, rule = drawn(seed, 40)
        if case.ensemble.forest.n_trees == 0 or rule.name == "all":
            continue
        policy, leaves = acquirer.policy(rule), case.ensemble.forest.apply(case.rows)
        found = acquirer.core.evaluate(case.rows, policy, True, 1, leaves)
        for one, other in zip(found, acquirer.core.evaluate(case.rows, policy, True), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=str(seed))


def test_leaves_of_other_trees_are_refused():
    case, acquirer, rule = drawn(3)
    leaves = case.ensemble.forest.apply(case.rows)
    for wrong in (leaves[1:], leaves[:, 1:]):
        with pytest.raises(ValueError, match="leaves of other rows or trees"):
            acquirer.core.evaluate(case.rows, acquirer.policy(rule), False, 1, np.ascontiguousarray(wrong))


def test_matrices_are_read_in_parts(monkeypatch):
    for seed in range(10):
        case, acquirer, rule = drawn(seed, 50)
        expected = acquirer.evaluate(case.rows, rule)
        monkeypatch.setattr("frugalforest.acquisition.acquirer.LEAVES_OF_SMALL_TREES_AT_ONCE", 100)
        assert_same(acquirer.evaluate(case.rows, rule), expected)
        monkeypatch.undo()


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64, np.uint8, bool])
def test_types_of_numbers(dtype):
    for seed in range(15):
        case, acquirer, rule = drawn(seed)
        rows = (np.nan_to_num(case.rows) > 0).astype(dtype)
        assert_same(acquirer.evaluate(rows, rule), acquirer.evaluate(rows.astype(np.float64), rule))


def test_no_rows():
    case, acquirer, rule = drawn(3)
    for stop in (rule, LABEL, ALL):
        found = acquirer.evaluate(case.rows[:0], stop)
        assert found.mask.shape == (0, case.costs.n_features)
        assert found.probabilities.shape == (0, case.ensemble.n_classes)


def test_no_trees_cost_nothing():
    forest = Forest.without_trees(3, 2)
    base = np.array([0.25, 0.75])
    ensemble = Ensemble(forest, np.zeros((0, 2)), base, "mean", np.array(["no", "yes"]), plain_encoder(3))
    found = Acquirer(ensemble, FeatureCosts.unit(3)).evaluate(np.zeros((2, 3)), LABEL)
    assert found.label_numbers.tolist() == [1, 1]
    assert found.probabilities.tolist() == [[0.25, 0.75]] * 2
    assert not found.mask.any()


# Kernel and twin.


def agree(run, twin):
    """Compare one step of the kernel's run and of the twin's -> the feature they both ask for."""
    core = run._core
    found = (run.next_feature(), core.leader, core.is_proven, run.spent)
    assert found == (twin.next(), twin.leader, twin.is_settled, twin.spent)
    assert core.confidence == pytest.approx(twin.confidence, rel=1e-12)
    estimate = np.array(twin.estimate())
    channels = estimate if len(estimate) > 2 else estimate[1:] - estimate[:1]
    assert np.array_equal(core.estimate(), channels)
    assert np.array_equal(core.bounds(), twin.score_bounds())
    return found[0]


def compare(acquirer, rule, row, rng, free_share=0.1):
    """Buy a row by both, step by step; now and then an unasked value comes for free. -> number of steps"""
    run, twin = Acquisition(acquirer, rule), NaiveRun(acquirer, rule)
    steps = 0
    while (feature := agree(run, twin)) is not None:
        if rng.random() < free_share:
            gift = int(rng.integers(acquirer.costs.n_features))
            if gift not in twin.known:
                run.provide(gift, row[gift], free=True)
                twin.learn(gift, row[gift])
                continue
        run.provide(feature, row[feature])
        twin.buy(feature, row[feature])
        steps += 1
    return steps


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("hope", [0.0, 0.45, None])
def test_kernel_and_twin_buy_the_same(by, bounds, hope):
    n_steps = 0
    order = Order(by=by, bounds=bounds, hope=hope, most_visits=MANY_VISITS, range_weight=0.25)
    for seed in range(50):
        case = random_case(seed, kinds=EXACT_KINDS, most_trees=8, most_features=7, n_rows=1)
        rng = np.random.default_rng([seed, 2])
        rule = random_rule(rng, case.costs, rng.choice(["label", "all", "confidence"]))
        n_steps += compare(case.acquirer(order), rule, case.rows[0], rng)
    assert n_steps > 80


@pytest.mark.parametrize("price", [0.0, 1.0, 2.5])
def test_kernel_and_twin_buy_the_same_where_all_prices_are_equal(price):
    """The kernel then compares counts alone; what is free is bought in the order of the features."""
    n_steps = 0
    for seed, by in product(range(30), BY):
        case = random_case(seed, kinds=EXACT_KINDS, most_trees=8, most_features=7, n_rows=1)
        case = dataclasses.replace(case, costs=FeatureCosts([price] * case.costs.n_features))
        order = Order(by=by, most_visits=MANY_VISITS, range_weight=0.25)
        n_steps += compare(case.acquirer(order), LABEL, case.rows[0], np.random.default_rng([seed, 2]))
    assert n_steps > 60


SMALL_TREES = ("two shares", "two margins", "margins", "rounds", "one against all")


def test_small_trees_as_sets_of_leaves_or_node_by_node():
    """63 nodes are enough to see these trees as a whole; from 64 on small trees are sets of leaves."""
    for seed in range(150):
        case = random_case(seed, kinds=SMALL_TREES, n_rows=20)
        rng = np.random.default_rng([seed, 3])
        order, rule = random_order(rng, most_visits=63), random_rule(rng, case.costs)
        by_nodes, by_sets = case.acquirer(order), case.acquirer(dataclasses.replace(order, most_visits=64))
        assert_same(by_sets.evaluate(case.rows, rule), by_nodes.evaluate(case.rows, rule))
        ticks = [_core.Run(a.core, a.policy(rule)).expected_ticks(20, seed) for a in (by_nodes, by_sets)]
        assert ticks[0] == ticks[1], seed


def test_kernel_and_twin_spend_the_same_within_a_budget():
    for seed in range(150):
        rng = np.random.default_rng([seed, 2])
        case = random_case(seed, kinds=EXACT_KINDS, most_trees=8, most_features=7, n_rows=1)
        acquirer = case.acquirer(random_order(rng, most_visits=MANY_VISITS, boxes=0))
        budget = float(case.costs.of_rows(rng.random((1, case.costs.n_features)) < 0.5)[0])
        compare(acquirer, StopRule("budget", budget=budget), case.rows[0], rng, free_share=0)


def test_bounds_matter_in_the_cases_that_are_compared():
    """Otherwise the comparison above would tell nothing about them."""
    bought = dict.fromkeys([*BOUNDS, "boxes"], 0)
    for seed in range(100):
        case = random_case(seed, kinds=EXACT_KINDS, most_trees=8, most_features=7)
        for bounds in BOUNDS:
            order = Order(by="count", bounds=bounds, hope=0.0)
            bought[bounds] += int(case.acquirer(order).evaluate(case.rows, LABEL).mask.sum())
        order = Order(by="count", hope=0.0, boxes=100)
        bought["boxes"] += int(case.acquirer(order).evaluate(case.rows, LABEL).mask.sum())
    assert bought["boxes"] < bought["grouped"] < bought["deep"] < bought["cursor"]


# Kernel and oracle.


def test_the_oracle_tells_open_from_settled():
    case = joined_case([made_up_stump(f, [[1, 0], [0, 1]]) for f in (0, 1, 2)], FeatureCosts.unit(3), [[1, 1, 1]])
    assert cells(case.ensemble, 0)[:2] == [0.0, 1.0]
    assert every_completion(case.ensemble, {0: 1.0}) == {0, 1}
    assert every_completion(case.ensemble, {0: 1.0, 1: 1.0}) == {1}
    assert n_completions(case.ensemble, {0: 1.0}) == 9


def test_a_label_is_never_proven_too_early():
    n_proven = 0
    for seed in range(300):
        case = random_case(seed, most_trees=5, most_features=4, n_rows=2)
        acquirer = case.acquirer(random_order(np.random.default_rng(seed)))
        if n_completions(case.ensemble, {}) > 4000:
            continue
        for row in case.rows:
            run, known = Acquisition(acquirer, ALL), {}
            while (feature := run.next_feature()) is not None:
                if run._core.is_proven:
                    n_proven += 1
                    assert every_completion(case.ensemble, known) == {run._core.leader}, seed
                run.provide(feature, row[feature])
                known[feature] = row[feature]
    assert n_proven > 100


# An acquirer as a value.


def test_pickled_acquirers_do_the_same():
    case, acquirer, rule = drawn(5)
    expected = acquirer.evaluate(case.rows, rule)
    again = pickle.loads(pickle.dumps(acquirer))
    assert_same(again.evaluate(case.rows, rule), expected)
    assert again.fingerprint == acquirer.fingerprint


def test_fingerprints_tell_models_and_prices_apart():
    case = random_case(4)
    ensemble, costs = case.ensemble, FeatureCosts.unit(case.costs.n_features)
    acquirers = [
        Acquirer(ensemble, costs),
        Acquirer(ensemble, costs.scaled(2)),
        Acquirer(ensemble, FeatureCosts(costs.own, groups={"visit": Group([0], 1)})),
        Acquirer(ensemble, FeatureCosts(costs.own / 10)),  # as many ticks, of another coin
        Acquirer(dataclasses.replace(ensemble, classes=np.array(list(map(str, ensemble.classes)))), costs),
        Acquirer(dataclasses.replace(ensemble, reading=Reading(as_float32=True)), costs),
        Acquirer(dataclasses.replace(ensemble, ties_to_last=not ensemble.ties_to_last), costs),
        *(Acquirer(dataclasses.replace(ensemble, encoder=encoder), costs) for encoder in other_encoders(ensemble)),
        Acquirer(dataclasses.replace(ensemble, values=ensemble.values * 2), costs),
        Acquirer(dataclasses.replace(ensemble, base=ensemble.base + 0.5), costs),
        Acquirer(dataclasses.replace(ensemble, classes=ensemble.classes + 1), costs),
        Acquirer(dataclasses.replace(ensemble, forest=ensemble.forest.first(1)), costs),
    ]
    assert len({acquirer.fingerprint for acquirer in acquirers}) == len(acquirers)
    assert Acquirer(ensemble, FeatureCosts.unit(case.costs.n_features)).fingerprint == acquirers[0].fingerprint


def other_encoders(ensemble):
    """The same columns with names, with exchanged names, and with categories of one of them."""
    names = tuple(f"f{i}" for i in range(ensemble.n_features))
    named = dataclasses.replace(ensemble.encoder, feature_names=names)
    yield named
    yield dataclasses.replace(named, feature_names=names[::-1])
    for categories in (("a", "b"), ("a", "c"), ("b", "a"), (0, 1), ("0", "1")):
        yield dataclasses.replace(named, categories={0: categories})


@pytest.mark.parametrize("order", ["deep", 5, {"by": "count"}])
def test_an_order_is_an_order(order):
    case = random_case(4)
    with pytest.raises(TypeError, match=r"order=.* is no order; give frugalforest\.acquisition\.Order"):
        Acquirer(case.ensemble, case.costs, order)


# Arrays that are no trees.


def core_arguments():
    forest = joined_case([made_up_stump(0, [[1, 0], [0, 1]])], FeatureCosts.unit(2), [[0, 0]]).ensemble.forest
    return {
        **{name: getattr(forest, name) for name in ("node_offsets", "feature", "threshold", "missing_left", "right")},
        **{"category_set": forest.category_set, "category_sets": forest.category_sets},
        **{"values": np.eye(2), "base": np.zeros(2), "node_weight": np.ones(3)},
        **{"own_ticks": np.ones(2, np.int64), "shared_ticks": np.zeros(0, np.int64)},
        **{"group_offsets": np.zeros(3, np.int64), "group_ids": np.zeros(0, np.int32), "only_lead": True},
    }


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("feature", [2, -1, -1], "a feature that does not exist"),
        ("right", [2, 0, 7], "a leaf that does not exist"),
        ("right", [1, 0, 1], "child is not in its tree"),
        ("right", [3, 0, 1], "child is not in its tree"),
        ("threshold", [np.nan, 0, 0], "a threshold that is not a number"),
        ("category_set", [0, -1, -1], "a set of categories that does not exist"),
        ("values", [[1, 0], [0, np.inf]], "not finite"),
        ("node_offsets", [0, 2], "arrays of different sizes"),
        ("node_weight", [1.0], "arrays of different sizes"),
        ("base", [0.0], "arrays of different sizes"),
        ("group_offsets", [0, 0], "prices of another number of features"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(name, array, message):
    arguments = core_arguments()
    _core.Acquirer(**arguments)
    arguments[name] = np.array(array, dtype=arguments[name].dtype)
    with pytest.raises(ValueError, match=message):
        _core.Acquirer(**arguments)


def test_another_number_of_columns_is_refused():
    case, acquirer, rule = drawn(3)
    with pytest.raises(ValueError, match="another number of features"):
        acquirer.core.evaluate(np.zeros((2, case.costs.n_features + 1)), acquirer.policy(rule), False)


def test_it_pays_on_real_forests():
    """What it is for: the same labels for a good part of the money."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = ff.StandardForestClassifier(40, random_state=0).fit(X[:300], y[:300])
    bills = {stop: model.set_params(stop=stop).acquisition_cost(X[300:]).mean() for stop in ("all", "label")}
    assert bills["label"] < 0.9 * bills["all"]


# Features that all rows have bought before, together.


def test_what_was_bought_before_is_in_the_mask_and_keeps_the_label():
    for seed in range(60):
        case, acquirer, _ = drawn(seed)
        rng = np.random.default_rng([seed, 7])
        bought = np.flatnonzero(rng.random(case.costs.n_features) < 0.4).tolist()
        plain, found = acquirer.evaluate(case.rows, LABEL), acquirer.evaluate(case.rows, LABEL, bought=bought)
        assert found.mask[:, bought].all()
        assert np.array_equal(found.label_numbers, plain.label_numbers)
        assert np.array_equal(acquirer.evaluate(case.rows, ALL, bought=bought).label_numbers, plain.label_numbers)
        everything = list(range(case.costs.n_features))
        assert acquirer.evaluate(case.rows, LABEL, bought=everything).mask.all()


def test_one_row_that_has_bought_before_is_a_row_of_the_matrix():
    for seed in range(60):
        case, acquirer, rule = drawn(seed, n_rows=4)
        bought = np.flatnonzero(np.random.default_rng([seed, 8]).random(case.costs.n_features) < 0.4).tolist()
        if rule.name == "all":
            continue
        found = acquirer.evaluate(case.rows, rule, bought=bought)
        for row, mask, label in zip(case.rows, found.mask, found.label_numbers, strict=True):
            run = _core.Run(acquirer.core, acquirer.policy(rule))
            run.buy_together(bought, row[bought].tolist())
            known = list(bought)
            while (feature := run.next()) >= 0:
                run.buy(feature, float(row[feature]))
                known.append(feature)
            assert sorted(known) == np.flatnonzero(mask).tolist()
            assert case.costs.money(run.spent) == case.costs.of_rows(mask[None])[0]
            assert run.is_complete or run.answer == label


def test_no_feature_that_does_not_exist_can_have_been_bought():
    case, acquirer, _ = drawn(0)
    with pytest.raises(ValueError, match="no such feature"):
        acquirer.evaluate(case.rows, LABEL, bought=[case.costs.n_features])

"""StopRule and Order: what they refuse, what they promise, and how they are told to the core."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from acquisition.ensembles import joined_case, made_up_stump, random_case, random_order
from frugalforest import FeatureCosts, Group, _core
from frugalforest.acquisition import Acquirer, Acquisition, Order, StopRule
from naive_acquisition import NaiveRun

LABEL = StopRule("label")


def cases(n, **options):
    for seed in range(n):
        case = random_case(seed, **options)
        yield case, case.acquirer(random_order(np.random.default_rng([seed, 4])))


# The rules themselves.


@pytest.mark.parametrize("name", ["never", "", None, 1, "Label"])
def test_unknown_rules(name):
    with pytest.raises(ValueError, match="is not one of 'label', 'all', 'confidence', 'budget'"):
        StopRule(name)


@pytest.mark.parametrize("name", ["confidence", "budget"])
@pytest.mark.parametrize("number", [None, -1, -0.001, np.nan])
def test_rules_need_their_number(name, number):
    with pytest.raises(ValueError, match=f"stop='{name}' needs a {name} of at least 0"):
        StopRule(name, **{name: number})


@pytest.mark.parametrize("name", ["confidence", "budget"])
@pytest.mark.parametrize("number", ["5", [2], (), object(), True, 1j, 10**400, np.array([1.0]), np.timedelta64(2)])
def test_limits_are_numbers(name, number):
    with pytest.raises(ValueError, match=f"stop='{name}' needs a {name} of at least 0, a number, got "):
        StopRule(name, **{name: number})
    with pytest.raises(ValueError, match=f"{name}=.* is no number of at least 0"):
        StopRule("label", **{name: number})


@pytest.mark.parametrize(
    "number",
    [
        2,
        np.int64(2),
        np.uint8(2),
        np.float32(2),
        np.float64(2),
        np.float16(2),
        Decimal(2),
        Fraction(2),
        np.longdouble(2),
    ],
    ids=lambda number: type(number).__name__,
)
def test_limits_of_any_type_are_floats(number):
    for name in ("confidence", "budget"):
        for stop in ("label", name):
            limit = getattr(StopRule(stop, **{name: number}), name)
            assert (type(limit), limit) == (float, 2.0)


@pytest.mark.parametrize("budget", [np.int64(2), np.float32(2.5), Decimal("0.3")])
def test_budgets_of_any_type_are_kept(budget, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 4))
    grown = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > X[:, 1])
    prices = [0.1, 0.2, 1, 1.5]
    model, plain = (ff.OnDemand(grown, feature_costs=prices, stop="budget", budget=b) for b in (budget, float(budget)))
    assert np.array_equal(model.acquisition_mask(X), plain.acquisition_mask(X))
    assert model.acquisition_cost(X).max() <= float(budget)
    assert model.start().to_json() == plain.start().to_json()
    assert plain.resume(model.start().to_json()).next_feature() == plain.start().next_feature()
    if not isinstance(budget, Decimal):  # which model files do not hold
        model.save(tmp_path / "model.ff")
        assert np.array_equal(ff.load(tmp_path / "model.ff").acquisition_mask(X), plain.acquisition_mask(X))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"by": "x"}, "by='x' is not one of 'score', 'count'"),
        ({"by": ["score"]}, "by=.* is not one of"),
        ({"bounds": "x"}, "bounds='x' is not one of 'cursor', 'deep', 'grouped'"),
        ({"bounds": None}, "bounds=None is not one of"),
        *[
            ({"hope": bad}, "hope=.* is no finite number of at least 0, or None")
            for bad in (-1, np.nan, np.inf, "x", [])
        ],
        *[
            ({"range_weight": bad}, "range_weight=.* is no finite number of at least 0")
            for bad in (-1, np.nan, "x", None)
        ],
        *[({"boxes": bad}, "boxes=.* is no whole number of at least 0") for bad in (-1, 1.5, "x", None, True, 2**32)],
        *[({"most_visits": bad}, "most_visits=.* is no whole number of at least 0") for bad in (-1, 1.5, "x", 2**40)],
    ],
)
def test_impossible_orders(setting, message):
    with pytest.raises(ValueError, match=f"Order: {message}"):
        Order(**setting)


def test_orders_of_numpy_are_those_of_python():
    order = Order(hope=np.float64(0.5), range_weight=np.float32(0.25), boxes=np.int64(3), most_visits=np.uint16(9))
    assert repr(order) == repr(Order(hope=0.5, range_weight=0.25, boxes=3, most_visits=9))


def test_the_core_is_told_everything():
    case = random_case(0)
    order = Order(by="count", bounds="deep", hope=0.125, most_visits=3, range_weight=0.5)
    policy = case.acquirer(order).policy(StopRule("budget", budget=case.costs.total))
    assert policy.stop == _core.Stop.budget
    assert (policy.by_count, policy.deep, policy.grouped) == (True, True, False)
    assert (policy.hope, policy.most_visits, policy.range_weight) == (0.125, 3, 0.5)
    assert policy.tolerance == case.ensemble.tolerance
    assert case.costs.money(policy.budget) == case.costs.total
    policy = case.acquirer(Order(bounds="cursor")).policy(StopRule("confidence", confidence=1.5))
    assert (policy.stop, policy.confidence, policy.deep, policy.by_count) == (_core.Stop.confidence, 1.5, False, False)


# Budgets: never exceeded, and used to the last coin.


def test_ticks_within_is_the_most_that_the_budget_pays():
    rng = np.random.default_rng(0)
    wrong = []
    for _ in range(300):
        digits = int(rng.integers(0, 4))
        costs = FeatureCosts(rng.integers(0, 900, 4) / 10**digits, groups={"visit": Group([0, 1], 0.1)})
        for mask in rng.random((4, 4)) < 0.5:
            budget = costs.of(mask) if mask.any() else 0.0
            ticks = costs.ticks_within(budget)
            everything = int(sum(map(np.sum, costs.ticks)))
            if costs.money(ticks) > budget or (ticks < everything and costs.money(ticks + 1) <= budget):
                wrong.append((costs.own.tolist(), budget))
    assert wrong == []


@pytest.mark.parametrize(("prices", "budget"), [([0.1, 0.2, 0.5], 0.3), ([0.2, 0.5, 0.9], 0.7), ([1.1, 2.2, 9], 3.3)])
def test_a_budget_buys_what_costs_exactly_that_much(prices, budget):
    stumps = [made_up_stump(feature, [[1, 0], [0, 1]]) for feature in (0, 1, 2)]
    case = joined_case(stumps, FeatureCosts(prices), [[1, -1, 1]])
    assert case.costs.of([0, 1]) == budget
    run = Acquisition(case.acquirer(), StopRule("budget", budget=budget))
    while (feature := run.next_feature()) is not None:
        run.provide(feature, case.rows[0, feature])
    assert (run.acquired, run.spent) == ((0, 1), budget)


def test_budgets_hold_to_the_last_digit():
    """As decimals and as fractions, not only as floats."""
    costs = FeatureCosts(
        [0.1, 0.2, 0.3, 0.37, 1.19, 15.51], groups={"a": Group([0, 2, 4], 0.7), "b": Group([1, 2], 2.1)}
    )
    exact = [Decimal(repr(price)) for price in costs.own.tolist()]
    groups = [(Decimal("0.7"), {0, 2, 4}), (Decimal("2.1"), {1, 2})]
    for seed in range(60):
        case = random_case(seed, most_features=6)
        if case.costs.n_features != 6:
            continue
        acquirer = Acquirer(case.ensemble, costs)
        for cents in range(0, 2100, 97):
            budget = cents / 100
            for row in acquirer.evaluate(case.rows, StopRule("budget", budget=budget)).mask:
                bought = set(np.flatnonzero(row).tolist())
                bill = sum((exact[f] for f in bought), Decimal(0))
                bill += sum((price for price, members in groups if members & bought), Decimal(0))
                assert Fraction(bill) <= Fraction(cents, 100)


def test_within_a_budget_nothing_affordable_is_left():
    for case, acquirer in cases(60, most_trees=6):
        rule = StopRule("budget", budget=case.costs.total / 3)
        run, twin = Acquisition(acquirer, rule), NaiveRun(acquirer, rule)
        while (feature := run.next_feature()) is not None:
            run.provide(feature, case.rows[0, feature])
            twin.buy(feature, case.rows[0, feature])
        assert run.spent <= case.costs.total / 3
        assert run.is_proven or twin.affordable() == []


def test_without_money_only_free_features_are_bought():
    for case, acquirer in cases(80):
        mask = acquirer.evaluate(case.rows, StopRule("budget", budget=0.0)).mask
        assert (case.costs.of_rows(mask) == 0).all()
        if (case.costs.alone == 0).all():
            labels = acquirer.evaluate(case.rows, StopRule("budget", budget=0.0)).label_numbers
            assert np.array_equal(labels, case.full_labels)


# Confidence.


def test_infinite_confidence_gives_the_labels_of_a_proof():
    for case, acquirer in cases(120):
        found = acquirer.evaluate(case.rows, StopRule("confidence", confidence=np.inf))
        assert np.array_equal(found.label_numbers, case.full_labels)


def test_infinite_confidence_buys_what_label_buys_at_equal_hope():
    for seed in range(80):
        case = random_case(seed)
        acquirer = case.acquirer(random_order(np.random.default_rng(seed), hope=0.0))
        sure, label = (acquirer.evaluate(case.rows, r) for r in (StopRule("confidence", confidence=np.inf), LABEL))
        for name in sure._fields:
            assert np.array_equal(getattr(sure, name), getattr(label, name)), seed


def test_no_confidence_buys_nothing():
    for case, acquirer in cases(40):
        assert not acquirer.evaluate(case.rows, StopRule("confidence", confidence=0.0)).mask.any()


def test_more_confidence_buys_more_of_the_same():
    """The order of buying does not depend on the threshold, so a row goes on where a lower one would have ended."""
    for case, acquirer in cases(60):
        masks = [acquirer.evaluate(case.rows, StopRule("confidence", confidence=c)).mask for c in (0.2, 0.5, 1.0, 3.0)]
        for less, more in pairwise(masks):
            assert not (less & ~more).any()


def test_runs_end_when_they_are_sure_enough():
    n_early = 0
    for case, acquirer in cases(60):
        rule = StopRule("confidence", confidence=0.5)
        for row in case.rows[:3]:
            run = Acquisition(acquirer, rule)
            while (feature := run.next_feature()) is not None:
                assert run._core.confidence < 0.5
                assert not run._core.is_proven
                run.provide(feature, row[feature])
            n_early += not run.is_proven
            assert run.is_proven or run._core.confidence >= 0.5
    assert n_early > 10

"""PenalizedForestClassifier: the ledger, the tradeoff, paths and budgets, rounds, complementary training."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
import naive
from frugalforest.data import Bins
from frugalforest.estimators import PenalizedForestClassifier
from frugalforest.estimators.complementary import Ballots
from frugalforest.estimators.tradeoff_path import N_BISECTIONS, NEARLY_ALL
from frugalforest.estimators.variants import Penalty
from frugalforest.growing import tree_seeds
from frugalforest.impurities import Entropy
from interrupting import ctrl_c_after

COSTS = ff.FeatureCosts(
    [1, 1.5, 2, 0.5, 1, 3, 1, 2.5], groups={"a": ff.Group([0, 1, 4], 0.75), "b": ff.Group([1, 2, 6], 1.25)}
)


def simulated(n_rows=600, seed=0, n_classes=2):
    """Columns 0 to 2 decide, 3 to 7 are noise."""
    X, y = make_classification(
        n_rows, 8, n_informative=3, n_redundant=0, n_classes=n_classes, shuffle=False, random_state=seed, flip_y=0.05
    )
    order = np.random.default_rng(seed).permutation(n_rows)
    return X[order], y[order]


X, y = simulated()
TRAIN, VALIDATION = (X[:400], y[:400]), (X[400:], y[400:])


def fit(tradeoff=0.1, eval_set=None, **options):
    options = {"n_estimators": 8, "feature_costs": COSTS, "random_state": 0} | options
    return PenalizedForestClassifier(tradeoff, **options).fit(*TRAIN, eval_set=eval_set)


def same_trees(one, two):
    names = ("node_offsets", "feature", "threshold", "missing_left", "right", "category_set", "leaf_counts")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def used(model):
    return set(np.flatnonzero(model.forest_.features_by_tree().any(axis=0)))


# ---- without a penalty: the standard forest, tree for tree


def mixed_rows():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 3)).round(1), columns=["age", "weight", "dose"])
    frame.loc[rng.random(300) < 0.2, "dose"] = np.nan
    frame["town"] = rng.choice(["Rome", "Oslo", "Lima", "Bonn"], 300)
    label = np.where(frame["town"].isin(["Rome", "Lima"]) ^ (frame["age"] > 0.3), "ill", "well")
    return frame, label, rng.uniform(0, 2, 300)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_features": "sqrt"},
        {"max_features": "sqrt", "skip_constant_features": True, "voting": "hard"},
        {"criterion": "gini", "thresholds": "random"},
        {"bootstrap": False, "max_depth": 4},
        {"class_weight": "balanced", "min_samples_leaf": 5, "oob_score": True},
        {"min_weight_fraction_leaf": 0.05, "stop": "label"},
    ],
    ids=str,
)
@pytest.mark.parametrize("rounds", [None, 3])
def test_no_penalty_is_the_standard_forest(options, rounds):
    frame, label, weight = mixed_rows()
    options = {"n_estimators": 7, "random_state": 3} | options
    given = {"criterion": "entropy", "max_features": None} | options
    for costs in (None, {"town": 3, "age": 0, "weight": 1, "dose": 0.5}):
        plain = ff.StandardForestClassifier(**given, feature_costs=costs).fit(frame, label, weight)
        model = PenalizedForestClassifier(0, rounds=rounds, **options, feature_costs=costs).fit(frame, label, weight)
        assert same_trees(model.forest_, plain.forest_)
        assert np.array_equal(model.predict_proba(frame), plain.predict_proba(frame))
        assert np.array_equal(model.acquisition_cost(frame), plain.acquisition_cost(frame))
        assert getattr(model, "oob_score_", None) == getattr(plain, "oob_score_", None)


def test_features_that_cost_nothing_are_the_standard_forest_at_any_tradeoff():
    free = fit(5.0, feature_costs=np.zeros(8))
    plain = ff.StandardForestClassifier(8, criterion="entropy", max_features=None, random_state=0).fit(*TRAIN)
    assert same_trees(free.forest_, plain.forest_)


# ---- the ledger, against the naive twin


def twin_forest(model, X, y, rounds=1, complementary=False):
    """The trees of a fitted model and their draws, by the twin, one after the other."""
    binned = (bins := Bins.learn(X, max_bins=model.max_bins)).transform(X)
    costs, n_rows = model.feature_costs_, len(X)
    seeds = [int(seed) for seed in tree_seeds(model.random_state, model.n_estimators)]

    draws = []

    def grow_one(seed, ledger, weights):
        draws.append(naive.bootstrap_draws(seed, n_rows, weights))
        return naive.grow_tree(
            binned.codes,
            bins.n_bins,
            y,
            draws=draws[-1],
            tree_seed=seed,
            impurity=Entropy(),
            splitting="expected",
            objective="penalized",
            tradeoff=model.tradeoff_,
            at_a_loss=model.at_a_loss_,
            max_features=None if model.max_features is None else int(np.sqrt(X.shape[1])),
            costs=(costs.own, costs.shared, costs.membership.T),
            charge="ledger",
            ledger=ledger,
        )

    def next_weights(trees):
        return naive.complementary_weights(trees, draws, binned.codes, y, printed=complementary == "printed")

    trees = naive.ledger_forest(grow_one, seeds, X.shape[1], rounds, next_weights if complementary else None)
    return bins, trees, draws


def assert_is_twin(model, X, y, **how):
    bins, trees, _ = twin_forest(model, X, y, **how)
    for t, expected in enumerate(trees):
        nodes = model.forest_.nodes(t)
        assert [node.feature for node in nodes] == [node.feature for node in expected]
        for node, other in zip(nodes, expected, strict=True):
            if node.feature < 0:
                assert node.counts == other.counts
            else:
                assert node.threshold == bins.threshold(node.feature, other.threshold)
                assert (node.left, node.right) == (other.left, other.right)


SMALL = np.random.default_rng(5).integers(0, 6, (70, 5)).astype(float)
SMALL_LABELS = 1 * (SMALL[:, 0] + SMALL[:, 1] > 5) + (SMALL[:, 2] > 3)
SMALL_COSTS = ff.FeatureCosts([1, 2, 0.5, 1, 0.25], groups={"pair": ff.Group([1, 3], 0.5)})


@pytest.mark.parametrize("at_a_loss", [False, True])
@pytest.mark.parametrize("max_features", [None, "sqrt"])
@pytest.mark.parametrize("tradeoff", [0.05, 0.3])
def test_trees_are_those_of_the_twin(tradeoff, max_features, at_a_loss):
    options = {"max_features": max_features, "at_a_loss": at_a_loss, "n_estimators": 6, "random_state": 1}
    model = PenalizedForestClassifier(tradeoff, feature_costs=SMALL_COSTS, **options)
    for n_jobs in (1, 2):
        assert_is_twin(model.set_params(n_jobs=n_jobs).fit(SMALL, SMALL_LABELS), SMALL, SMALL_LABELS)


@pytest.mark.parametrize("rounds", [2, 4, 100])
def test_rounds_are_those_of_the_twin(rounds):
    model = PenalizedForestClassifier(0.2, feature_costs=SMALL_COSTS, n_estimators=9, rounds=rounds, random_state=0)
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs).fit(SMALL, SMALL_LABELS)
        assert_is_twin(model, SMALL, SMALL_LABELS, rounds=rounds)


@pytest.mark.parametrize("complementary", [True, "printed"])
@pytest.mark.parametrize("rounds", [None, 3])
def test_complementary_trees_are_those_of_the_twin(complementary, rounds):
    model = PenalizedForestClassifier(
        0.1, feature_costs=SMALL_COSTS, n_estimators=6, complementary=complementary, rounds=rounds, random_state=0
    )
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs).fit(SMALL, SMALL_LABELS)
        assert_is_twin(model, SMALL, SMALL_LABELS, rounds=rounds or 1, complementary=complementary)


# ---- what must not change a forest


@pytest.mark.parametrize("options", [{}, {"rounds": 4}, {"complementary": True}, {"max_features": "sqrt"}], ids=str)
def test_threads_do_not_matter(options):
    given = {"n_estimators": 30, "oob_score": True} | options
    one, two, many = (fit(0.05, n_jobs=n_jobs, **given) for n_jobs in (1, 2, 7))
    for other in (two, many):
        assert same_trees(one.forest_, other.forest_)
        assert one.oob_score_ == other.oob_score_


@pytest.mark.parametrize("options", [{"budget": 3.0}, {"tradeoff": "auto"}, {"tradeoff": [0.3, 0.05]}], ids=str)
def test_threads_do_not_matter_to_a_path(options):
    one, two = (fit(eval_set=VALIDATION, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert np.array_equal(one.curve_.error, two.curve_.error)
    assert np.array_equal(one.curve_.cost, two.curve_.cost)
    assert same_trees(one.forest_, two.forest_)


@pytest.mark.parametrize("options", [{}, {"rounds": 8}, {"complementary": True}, {"at_a_loss": True}], ids=str)
@pytest.mark.parametrize("factor", [0.25, 8, 3.7])
def test_dearer_features_and_a_smaller_tradeoff_are_the_same_forest(factor, options):
    one = fit(0.08, **options)
    other = fit(0.08 / factor, feature_costs=COSTS.scaled(factor), **options)
    assert same_trees(one.forest_, other.forest_)


def test_permuting_columns_permutes_the_forest():
    order = np.array([5, 2, 7, 0, 3, 1, 6, 4])
    costs, weight = (
        np.arange(1.0, 9),
        np.random.default_rng(0).uniform(0.5, 1.5, 400),
    )  # weights: no two gains are equal
    options = {"n_estimators": 8, "min_samples_leaf": 10, "random_state": 0}
    one = PenalizedForestClassifier(0.01, feature_costs=costs, **options).fit(*TRAIN, weight)
    other = PenalizedForestClassifier(0.01, feature_costs=costs[order], **options).fit(X[:400, order], y[:400], weight)
    assert len(used(one)) > 2
    assert used(one) == {order[feature] for feature in used(other)}
    assert np.array_equal(one.acquisition_mask(X)[:, order], other.acquisition_mask(X[:, order]))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X[:, order]))


def test_a_round_of_one_tree_is_no_round():
    for options in ({}, {"complementary": True}):
        assert same_trees(fit(0.05, rounds=1, **options).forest_, fit(0.05, rounds=None, **options).forest_)


@pytest.mark.parametrize("options", [{}, {"rounds": 4}, {"rounds": 50}, {"complementary": True, "rounds": 2}], ids=str)
def test_a_larger_forest_starts_with_the_same_trees(options):
    small, large = (fit(0.05, n_estimators=n, **options) for n in (5, 13))
    assert same_trees(small.forest_, large.forest_.first(5))


# ---- what the tradeoff does


def test_a_tradeoff_that_no_gain_is_worth_buys_nothing():
    label = np.where(np.arange(600) % 3 == 0, y, 7)
    model = PenalizedForestClassifier(1e6, feature_costs=COSTS, n_estimators=8, random_state=0).fit(X, label)
    assert used(model) == set()
    assert not model.acquisition_cost(X).any()
    assert set(model.predict(X)) == {7}
    assert model.n_estimators_ == 8


def test_free_features_are_used_whatever_the_tradeoff():
    model = fit(1e6, feature_costs=[0, 1, 1, 0, 1, 1, 1, 1])
    assert used(model) == {0, 3}
    assert model.score(*TRAIN) > 0.9
    group = ff.FeatureCosts(np.zeros(8), groups={"all but 0": ff.Group([1, 2, 3, 4, 5, 6, 7], 1)})
    assert used(fit(1e6, feature_costs=group)) == {0}


def test_at_a_loss_trees_grow_to_the_end_and_buy_little():
    model = fit(1e6, at_a_loss=True)
    assert 1 <= len(used(model)) < 4
    assert (model.forest_.leaf_counts > 0).sum(axis=1).max() == 1  # every leaf is pure
    assert model.at_a_loss_


def test_a_larger_tradeoff_buys_less():
    bills = [fit(tradeoff, at_a_loss=True).acquisition_cost(X).mean() for tradeoff in (0, 0.1, 0.3, 1)]
    assert bills[0] > bills[1] > bills[2] > bills[3]


def test_a_cheap_copy_of_a_dear_feature_is_preferred():
    copies = np.hstack([X, X[:, :3]])
    costs = [5.0] * 8 + [1.0] * 3
    model = PenalizedForestClassifier(0.02, feature_costs=costs, n_estimators=10, random_state=0)
    model.fit(copies[:400], y[:400])
    assert used(model) & {8, 9, 10}
    assert not used(model) & {0, 1, 2}


def test_what_is_bought_is_free_for_all_later_trees():
    costs = ff.FeatureCosts([0] * 8, groups={"left": ff.Group([0, 3, 4, 5], 1), "right": ff.Group([1, 2, 6, 7], 1)})
    model = fit(0.2, feature_costs=costs, n_estimators=20, at_a_loss=True)
    by_tree = model.forest_.features_by_tree()
    assert by_tree[0].any()
    # A tree may use all of a group that any tree has touched: no feature of it costs anything any more.
    assert by_tree.sum(axis=1).max() >= 4
    shares = [costs.of(np.flatnonzero(row)) for row in np.logical_or.accumulate(by_tree)]
    assert shares == sorted(shares)


def test_groups_are_bought_as_a_whole():
    rng = np.random.default_rng(0)
    labels = np.arange(500) % 2
    # Each descriptor has four noisy views of the label; one descriptor is as good as the other.
    views = labels[:, None] + 1.5 * rng.normal(size=(500, 8))
    groups = {"first": ff.Group([0, 1, 2, 3], 1.0), "second": ff.Group([4, 5, 6, 7], 1.0)}
    model = PenalizedForestClassifier(
        1.0, feature_costs=ff.FeatureCosts(np.zeros(8), groups=groups), at_a_loss=True, n_estimators=15, random_state=0
    ).fit(views, labels)
    assert used(model) in ({0, 1, 2, 3}, {4, 5, 6, 7})
    assert set(model.acquisition_cost(views)) == {1.0}


def test_light_leaves_that_are_undone_are_not_entered():
    # A feature that only ever splits off a few rows is not bought if those splits are undone.
    rng = np.random.default_rng(0)
    rare = (rng.random(400) < 0.03).astype(float)
    labels = np.where(rare == 1, 1 - (X[:400, 0] > 0), X[:400, 0] > 0).astype(int)
    rows = np.column_stack([X[:400, 0], rare])
    options = {"feature_costs": [1, 1], "n_estimators": 6, "random_state": 0}
    assert used(PenalizedForestClassifier(0.01, **options).fit(rows, labels)) == {0, 1}
    model = PenalizedForestClassifier(0.01, min_weight_fraction_leaf=0.1, **options).fit(rows, labels)
    assert used(model) == {0}


# ---- one forest, or a path of them


def test_one_tradeoff_and_no_budget_uses_all_rows_and_chooses_nothing():
    model = fit(0.05)
    assert model.forest_.leaf_counts.sum() == 8 * 400
    assert (model.tradeoff_, model.at_a_loss_, model.n_estimators_) == (0.05, False, 8)
    assert not any(hasattr(model, name) for name in ("curve_", "variants_", "validation_error_", "max_budget_"))
    curve = ff.evaluation.cost_curve(model, X, y)
    assert list(curve.n_trees) == list(range(1, 9))
    with pytest.raises(ValueError, match="without rows to choose with; fit with a budget, several tradeoffs"):
        model.at_budget(2.0)


def test_traces_of_a_path_go_with_the_next_fit():
    model = fit([0.1, 0.2], eval_set=VALIDATION)
    assert hasattr(model, "curve_")
    model.set_params(tradeoff=0.1).fit(*TRAIN)
    assert not hasattr(model, "curve_")
    assert not hasattr(model, "validation_cost_")


def test_every_point_of_the_curve_is_what_that_forest_does():
    model = fit([0.05, 0.02, 0.02, 0], eval_set=VALIDATION, n_estimators=5, at_a_loss=True)
    assert model.curve_.variants == tuple(Penalty(tradeoff, at_a_loss=True) for tradeoff in (0.05, 0.02, 0.0))
    assert len(model.curve_) == 15
    for i in range(len(model.curve_)):
        penalty = model.curve_.variants[model.curve_.variant[i]]
        alone = fit(penalty.tradeoff, n_estimators=int(model.curve_.n_trees[i]), at_a_loss=True)
        assert model.curve_.error[i] == pytest.approx(1 - alone.score(*VALIDATION))
        assert model.curve_.cost[i] == pytest.approx(alone.acquisition_cost(VALIDATION[0]).mean())
    assert model.validation_error_ == model.curve_.error.min()
    assert "tradeoff=0.05, at a loss" in set(model.curve_.to_frame()["variant"])


def test_rows_are_set_aside_where_something_is_chosen():
    model = fit([0.2, 0.05])
    assert model.variants_[0].forest.leaf_counts.sum() == 8 * 300
    assert model.max_budget_ == np.inf


def test_an_automatic_path_leads_from_nothing_to_everything():
    model = fit("auto", eval_set=VALIDATION)
    by_kind = {kind: [v for v in model.variants_ if v.recipe.at_a_loss == kind] for kind in (False, True)}
    free = model.variants_[0]
    assert free.recipe == Penalty(0.0)
    assert all(len(variants) >= 5 for variants in by_kind.values())
    assert by_kind[False][1].cost[-1] == 0
    assert min(v.cost[-1] for v in by_kind[True]) < 0.5 * free.cost[-1]
    for variants in by_kind.values():
        assert max(v.cost[-1] for v in variants if v is not free) >= NEARLY_ALL * free.cost[-1]
    for kind in (False, True):
        only = fit("auto", eval_set=VALIDATION, at_a_loss=kind)
        assert {v.recipe.at_a_loss for v in only.variants_[1:]} == {kind}


# ---- the budget


@pytest.mark.parametrize("budget", [3.5, 4.5, 6.0])
@pytest.mark.parametrize("tradeoff", [0.1, "auto", [0.5, 0.2, 0.05]], ids=str)
def test_no_point_exceeds_the_budget(budget, tradeoff):
    model = fit(tradeoff, budget=budget, eval_set=VALIDATION, feature_costs=np.ones(8), at_a_loss=True)
    assert (model.curve_.cost <= budget).all()
    assert 0 < model.validation_cost_ <= budget
    assert model.validation_error_ == model.curve_.error.min()
    assert model.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(model.validation_cost_)
    assert model.score(*VALIDATION) == pytest.approx(1 - model.validation_error_)


def test_the_search_comes_close_to_the_budget():
    # Whole forests only: a few trees of a dearer forest may fit the budget as well.
    model = fit(budget=5.0, at_a_loss=True, eval_set=VALIDATION, feature_costs=np.ones(8), n_estimators=20)
    fits = {variant.recipe.tradeoff: variant.is_complete for variant in model.variants_}
    bills = [variant.cost[-1] for variant in model.variants_ if variant.is_complete]
    assert 4 < max(bills) <= 5.0
    steps = [large / small for small, large in pairwise(sorted(fits)) if small > 0 and fits[small] != fits[large]]
    assert min(steps) == pytest.approx(2**0.5**N_BISECTIONS)
    assert model.tradeoff_ in fits


def test_a_budget_for_everything_ends_with_the_standard_forest_among_the_rest():
    model = fit(budget=COSTS.total, eval_set=VALIDATION)
    assert model.max_budget_ == np.inf
    plain = ff.StandardForestClassifier(8, criterion="entropy", max_features=None, random_state=0).fit(*TRAIN)
    assert same_trees(model.variants_[0].forest, plain.forest_)


def test_smaller_budgets_need_no_other_fit():
    model = fit("auto", eval_set=VALIDATION)
    budgets = np.linspace(model.curve_.cost.min(), COSTS.total, 12)
    errors = []
    for budget in budgets:
        smaller = model.at_budget(float(budget))
        assert smaller.validation_cost_ <= budget
        assert smaller.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(smaller.validation_cost_)
        assert smaller.tradeoff_ in {variant.recipe.tradeoff for variant in model.variants_}
        errors.append(smaller.validation_error_)
    assert errors == sorted(errors, reverse=True)
    limited = fit(budget=3.0, eval_set=VALIDATION)
    with pytest.raises(ValueError, match="the trees were grown for a budget of 3, so a budget of 4 is out of reach"):
        limited.at_budget(4.0)


def test_a_budget_below_every_tree_leaves_the_free_answer():
    with pytest.warns(UserWarning, match="no tree fits a budget of 0.1: the cheapest one costs"):
        model = fit(budget=0.1, eval_set=VALIDATION, oob_score=True)
    assert (model.n_estimators_, model.tradeoff_, model.at_a_loss_) == (0, None, None)
    assert not model.acquisition_cost(X).any()
    assert model.oob_cost_ == 0


def test_a_search_among_free_features_is_one_forest():
    model = fit(budget=1.0, feature_costs=np.zeros(8), eval_set=VALIDATION)
    assert [variant.recipe for variant in model.variants_] == [Penalty(0.0)]
    assert model.validation_cost_ == 0


def test_stopping_at_the_label_gives_more_for_the_same_money():
    plain = fit([0.05, 0.01], eval_set=VALIDATION)
    model = fit([0.05, 0.01], eval_set=VALIDATION, stop="label")
    assert same_trees(plain.variants_[0].forest, model.variants_[0].forest)
    assert model.variants_[0].cost[-1] < plain.variants_[0].cost[-1]
    limited = fit(budget=3.0, eval_set=VALIDATION, stop="label")
    assert limited.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(limited.validation_cost_)
    assert limited.validation_cost_ <= 3.0


# ---- complementary training


def test_rows_that_are_got_wrong_are_drawn_more_often():
    ballots = Ballots(4, printed=False)
    assert ballots.draw_weights() is None
    in_bag = np.array([[1, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)
    is_right = np.array([[1, 1, 0, 0], [1, 1, 0, 1]], dtype=bool)
    ballots.count(is_right, in_bag)
    assert list(ballots.draw_weights()) == [0, 0, 1, 0.5]


def test_rows_without_a_judge_weigh_as_much_as_the_others_on_average():
    ballots = Ballots(4, printed=False)
    ballots.count(np.array([[0, 1, 0, 1]], dtype=bool), np.array([[0, 0, 1, 1]], dtype=bool))
    assert list(ballots.draw_weights()) == [1, 0, 0.5, 0.5]


def test_rows_are_drawn_alike_if_nothing_is_wrong():
    ballots = Ballots(2, printed=False)
    ballots.count(np.ones((1, 2), dtype=bool), np.zeros((1, 2), dtype=bool))
    assert ballots.draw_weights() is None


def test_in_print_rows_that_are_got_right_are_drawn_and_trees_judge_their_own_rows():
    ballots = Ballots(3, printed=True)
    ballots.count(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool), np.ones((2, 3), dtype=bool))
    assert list(ballots.draw_weights()) == [1, 0.5, 0]


@pytest.mark.parametrize("rounds", [None, 4])
def test_out_of_bag_estimates_know_what_was_drawn(rounds):
    model = PenalizedForestClassifier(
        0.1,
        feature_costs=SMALL_COSTS,
        n_estimators=9,
        complementary=True,
        rounds=rounds,
        oob_score=True,
        random_state=0,
    )
    model.fit(SMALL, SMALL_LABELS)
    bins, trees, draws = twin_forest(model, SMALL, SMALL_LABELS, rounds=rounds or 1, complementary=True)
    codes = bins.transform(SMALL).codes
    votes = np.zeros((len(SMALL), 3))
    for nodes, drawn in zip(trees, draws, strict=True):
        counts = naive.predict_counts(nodes, codes)
        votes += np.where(np.array(drawn)[:, None] == 0, counts / counts.sum(axis=1, keepdims=True), 0)
    judged = votes.any(axis=1)
    assert judged.sum() > 50
    expected = votes[judged] / votes[judged].sum(axis=1, keepdims=True)
    assert np.allclose(model.oob_decision_function_[judged], expected)
    assert np.isnan(model.oob_decision_function_[~judged]).all()
    assert model.oob_score_ == np.mean(np.argmax(votes[judged], axis=1) == SMALL_LABELS[judged])


# ---- real data


@pytest.mark.usefixtures("data_dir")
def test_half_the_price_of_pima_for_next_to_nothing():
    data = ff.datasets.load("pima")
    costs = [1, 17.61, 1, 1, 22.78, 1, 1, 1]  # as Thomas has them
    order = np.random.default_rng(0).permutation(768)
    train, test = order[:400], order[400:]
    options = {"feature_costs": costs, "random_state": 0}
    plain, frugal = (
        PenalizedForestClassifier(tradeoff, **options).fit(data.X[train], data.y[train]) for tradeoff in (0, 0.035)
    )
    assert plain.acquisition_cost(data.X[test]).mean() > 45
    assert frugal.acquisition_cost(data.X[test]).mean() < 24
    assert frugal.score(data.X[test], data.y[test]) > plain.score(data.X[test], data.y[test]) - 0.05


# ---- weights, frames, progress, interruption


def test_a_weight_is_a_repetition():
    random = np.random.default_rng(0)
    rows = random.integers(0, 30, size=(150, 5)).astype(float)
    labels = (rows[:, 0] + rows[:, 1] > 30).astype(int) ^ (random.random(150) < 0.1)
    weight = random.integers(0, 4, 150)
    model = PenalizedForestClassifier(0.1, n_estimators=4, bootstrap=False, random_state=0)
    weighted = clone(model).fit(rows, labels, sample_weight=weight)
    repeated = model.fit(np.repeat(rows, weight, axis=0), np.repeat(labels, weight))
    assert same_trees(weighted.forest_, repeated.forest_)


def test_costs_follow_the_columns_by_name():
    frame, label, _ = mixed_rows()
    model = PenalizedForestClassifier(1e6, feature_costs={"town": 1, "age": 0, "weight": 1, "dose": 1}, n_estimators=3)
    assert used(model.fit(frame, label)) == {0}


def test_progress_is_shown_when_asked_for(capsys):
    fit([0.2, 0.1], eval_set=VALIDATION)
    assert capsys.readouterr().err == ""
    fit([0.2, 0.1], eval_set=VALIDATION, verbose=1)
    shown = capsys.readouterr().err
    assert "PenalizedForestClassifier, tradeoff=0.2" in shown
    assert "8/8" in shown


@pytest.mark.parametrize("options", [{}, {"complementary": True}, {"rounds": 64}, {"tradeoff": 0}], ids=str)
def test_ctrl_c_keeps_the_trees_grown(options):
    model = PenalizedForestClassifier(
        **{"tradeoff": 0.05} | options, n_estimators=100_000, oob_score=True, random_state=0
    )
    with pytest.raises(KeyboardInterrupt, match=r"stopped after .* trees; the model is the best"), ctrl_c_after(0.7):
        model.fit(X, y)
    n_trees = model.forest_.n_trees
    assert 1 <= n_trees < 100_000
    assert model.n_estimators_ == n_trees
    small = clone(model).set_params(n_estimators=min(n_trees, 9)).fit(X, y)
    assert same_trees(model.forest_.first(small.forest_.n_trees), small.forest_)
    assert 0.5 < model.oob_score_ <= 1


def test_ctrl_c_in_a_path_keeps_what_is_measured():
    model = PenalizedForestClassifier([0.5, 0.05], n_estimators=100_000, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="stopped after"), ctrl_c_after(0.7):
        model.fit(X, y, eval_set=VALIDATION)
    assert len(model.variants_) >= 1
    assert model.validation_error_ == model.curve_.error.min()


def test_a_stored_model_is_the_same():
    model = fit("auto", eval_set=VALIDATION)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(back.at_budget(3.0).acquisition_cost(X), model.at_budget(3.0).acquisition_cost(X))


# ---- bad input


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("tradeoff", [-0.1, np.nan, np.inf, "some", None, [0.1, -1], [], True], 'expected "auto", or one or several'),
        ("budget", [-1, np.nan, np.inf, "much", True, [1]], "finite number of at least 0 or None"),
        ("complementary", ["yes", None, 1], "expected True, False or 'printed'"),
        ("at_a_loss", ["yes", None, 1], "expected True, False or 'auto'"),
        ("rounds", [0, -1, 2.5, "two", True], "whole number of at least 1 or None"),
        ("criterion", ["squared", None], "expected one of 'entropy', 'gini'"),
        ("skip_constant_features", [1, None], "expected True or False"),
        ("validation_fraction", [-0.1, 1.1, None], "finite number between 0 and 1"),
        ("validation_fraction", [0, 1.0], "expected a share between 0 and 1, exclusive"),
    ],
)
def test_parameters_out_of_range(name, values, message):
    for value in values:
        model = PenalizedForestClassifier(**{"n_estimators": 3, name: value})
        with pytest.raises(ValueError, match=f"{name} is .*{message}"):
            model.fit(X, y)
        assert not any(attribute.endswith("_") for attribute in vars(model))


def test_complementary_training_needs_a_bootstrap():
    with pytest.raises(ValueError, match="complementary training needs bootstrap=True"):
        PenalizedForestClassifier(complementary=True, bootstrap=False).fit(X, y)


CHECKED = [
    PenalizedForestClassifier(n_estimators=8),
    PenalizedForestClassifier(n_estimators=8, complementary=True, rounds=3, oob_score=True),
    PenalizedForestClassifier(budget=3.0, n_estimators=6, at_a_loss=True),
    PenalizedForestClassifier([0.3, 0.01], n_estimators=6, max_features="sqrt", stop="label"),
]


@pytest.mark.filterwarnings("ignore:no tree fits:UserWarning")
@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda estimator: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

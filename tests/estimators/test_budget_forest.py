"""BudgetForestClassifier: the curve, the budget, alphas and impurities, weights, and interruption."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import frugalforest as ff
from frugalforest.estimators.budget_forest import PAPER_ALPHAS
from frugalforest.estimators.problem import stratified_mask
from frugalforest.impurities import Gini, Polynomial, Powers, ThresholdPairs
from interrupting import ctrl_c_after

COSTS = ff.FeatureCosts(
    [1, 1.1, 1.2, 0.9, 1, 1.3, 1, 1.05], groups={"a": ff.Group([0, 1, 4], 0.15), "b": ff.Group([1, 2, 6], 0.2)}
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


def fit(budget=None, eval_set=VALIDATION, **options):
    options = {"n_estimators": 12, "feature_costs": COSTS, "random_state": 0} | options
    return ff.BudgetForestClassifier(budget, **options).fit(*TRAIN, eval_set=eval_set)


def same_trees(one, two):
    names = ("node_offsets", "feature", "threshold", "missing_left", "right", "category_set", "leaf_counts")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


@pytest.fixture(scope="module")
def unlimited():
    return fit()


# ---- the curve


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_every_point_of_the_curve_is_what_that_forest_does(voting):
    model = fit(alpha=[0, 8], voting=voting, n_estimators=6)
    assert len(model.curve_) == 12
    for i in range(len(model.curve_)):
        variant = model.variants_[model.curve_.variant[i]]
        assert model.curve_.variants[model.curve_.variant[i]] is variant.recipe
        forest = variant.forest.first(int(model.curve_.n_trees[i]))
        values = forest.leaf_votes if voting == "hard" else forest.leaf_shares
        sums, mask = forest.sums(VALIDATION[0], values, with_mask=True)
        assert model.curve_.error[i] == np.mean(np.argmax(sums, axis=1) != VALIDATION[1])
        assert model.curve_.cost[i] == pytest.approx(COSTS.of_rows(mask).mean(), rel=1e-12)


def test_the_chosen_point_is_the_best_one(unlimited):
    model = unlimited
    assert model.validation_error_ == model.curve_.error.min()
    assert model.validation_cost_ == model.curve_.cost[model.curve_.error == model.validation_error_].min()
    assert model.score(*VALIDATION) == pytest.approx(1 - model.validation_error_)
    assert model.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(model.validation_cost_)
    assert model.forest_.n_trees == model.n_estimators_
    assert model.impurity_ == ThresholdPairs(model.alpha_)
    assert model.max_budget_ == np.inf


def test_one_point_for_every_alpha_of_the_paper_and_number_of_trees(unlimited):
    assert [recipe.impurity.alpha for recipe in unlimited.curve_.variants] == list(PAPER_ALPHAS)
    assert len(unlimited.curve_) == 12 * len(PAPER_ALPHAS)
    assert unlimited.curve_.total_cost == COSTS.total
    assert unlimited.curve_.baseline_error == np.mean(VALIDATION[1] != np.argmax(np.bincount(TRAIN[1])))


def test_larger_alphas_make_cheaper_trees():
    curve = fit(feature_costs=None).curve_
    cost = curve.cost[curve.n_trees == 1]
    assert cost[-1] < cost[len(cost) // 2] < cost[0]


# ---- the budget


@pytest.mark.parametrize("charge", ["always", "path", "forest"])
@pytest.mark.parametrize("budget", [1.5, 3.0, 5.0])
def test_no_point_exceeds_the_budget(budget, charge):
    model = fit(budget, charge=charge)
    assert (model.curve_.cost <= budget).all()
    assert 0 < model.validation_cost_ <= budget
    assert model.validation_error_ == model.curve_.error.min()
    assert model.acquisition_cost(VALIDATION[0]).mean() <= budget * (1 + 1e-12)


@pytest.mark.parametrize("budget", [1.2, 2.0, 3.0, 4.5, 20.0])
def test_a_fit_within_a_budget_is_the_unlimited_fit_cut_short(unlimited, budget):
    alphas = list(PAPER_ALPHAS)
    assert same_trees(fit(budget, alpha=alphas).forest_, unlimited.at_budget(budget).forest_)


def test_a_larger_budget_is_never_worse_on_the_validation_rows(unlimited):
    budgets = np.linspace(unlimited.curve_.cost.min(), COSTS.total, 25)
    models = [unlimited.at_budget(float(budget)) for budget in budgets]
    errors = [model.validation_error_ for model in models]
    assert errors == sorted(errors, reverse=True)
    for budget, model in zip(budgets, models, strict=True):
        feasible = unlimited.curve_.cost <= budget
        assert model.validation_error_ == unlimited.curve_.error[feasible].min()
        assert model.validation_cost_ <= budget
        assert model.budget == budget


def test_at_budget_leaves_the_model_alone(unlimited):
    before = dict(vars(unlimited))
    smaller = unlimited.at_budget(2.0)
    assert dict(vars(unlimited)) == before
    assert smaller.forest_ is not unlimited.forest_
    assert same_trees(smaller.at_budget(4.0).forest_, unlimited.at_budget(4.0).forest_)
    assert same_trees(smaller.at_budget(None).forest_, unlimited.forest_)
    assert clone(smaller).get_params() == smaller.get_params()


def test_at_budget_has_no_out_of_bag_estimates():
    model = fit(oob_score=True, alpha=0)
    smaller = model.at_budget(3.0)
    assert hasattr(model, "oob_score_")
    assert not any(hasattr(smaller, name) for name in ("oob_score_", "oob_cost_", "oob_decision_function_"))


def test_a_budget_that_was_never_reached_is_no_limit():
    model = fit(1000.0, alpha=[0, 4], n_estimators=3)
    assert model.max_budget_ == np.inf
    assert same_trees(model.at_budget(2000.0).forest_, model.at_budget(None).forest_)
    assert fit(2.5).max_budget_ == 2.5


def test_beyond_the_last_alpha_while_no_tree_fits():
    X, y = simulated(2000)
    model = ff.BudgetForestClassifier(1.0, n_estimators=3, random_state=0).fit(X, y)
    alphas = [recipe.impurity.alpha for recipe in model.curve_.variants]
    assert alphas[: len(PAPER_ALPHAS)] == list(PAPER_ALPHAS)
    assert alphas[len(PAPER_ALPHAS) :] == [90 * 2**i for i in range(len(alphas) - len(PAPER_ALPHAS))]
    assert model.alpha_ >= 90
    assert model.n_estimators_ >= 1
    assert model.validation_cost_ == 1


def test_free_features_need_no_budget():
    model = fit(0.0, feature_costs=[0, 0, 0, 1, 1, 1, 1, 1])
    assert model.n_estimators_ >= 1
    assert model.validation_cost_ == 0
    assert model.score(*VALIDATION) > 0.8
    assert not model.acquisition_mask(X)[:, 3:].any()


@pytest.mark.parametrize("options", [{}, {"alpha": 10_000}, {"impurity": Gini(), "splitting": "expected"}])
def test_trees_without_splits_are_the_free_answer(options):
    """Nothing to read (constant columns), or nothing to gain (a huge alpha): no warning, whatever the budget."""
    constant = np.zeros((60, 2)) if "alpha" not in options else np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) % 3 == 0
    model = ff.BudgetForestClassifier(5.0, n_estimators=4, random_state=0, **options).fit(constant, labels)
    assert not model.predict(constant).any()
    assert not model.acquisition_cost(constant).any()
    assert model.n_estimators_ == 1
    assert model.validation_cost_ == 0


def test_trees_without_splits_are_not_chosen_where_others_are():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    labels = (X[:, 0] > 1.3) & (random.random(400) < 0.6)  # so rare that large alphas see nothing to split
    model = ff.BudgetForestClassifier(n_estimators=5, random_state=0).fit(X, labels)
    last = model.variants_[-1]
    assert (last.forest.feature < 0).all()
    assert last.least_cost == np.inf
    assert len(model.curve_) < 5 * len(model.variants_)
    assert (model.curve_.cost > 0).all()
    assert model.acquisition_mask(X).any()


# ---- validation rows


def test_the_split_is_stratified_and_leaves_every_class_some_rows():
    labels = np.repeat([0, 1, 2, 3], [400, 40, 4, 1]).astype(np.int32)
    mask = stratified_mask(labels, 0.25, seed=0)
    assert [mask[labels == c].sum() for c in range(4)] == [100, 10, 1, 0]
    assert np.array_equal(mask, stratified_mask(labels, 0.25, seed=0))
    assert not np.array_equal(mask, stratified_mask(labels, 0.25, seed=1))
    assert not stratified_mask(labels, 0.999, seed=0).all()


def test_rows_set_aside_are_not_trained_on():
    model = ff.BudgetForestClassifier(alpha=0, n_estimators=1, bootstrap=False, random_state=0).fit(X, y)
    assert model.forest_.leaf_counts.sum() == 450
    assert fit(alpha=0, bootstrap=False).forest_.first(1).leaf_counts.sum() == 400


def test_eval_set_takes_frames_and_lists():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    by_name = ff.BudgetForestClassifier(n_estimators=4, alpha=[0, 4], random_state=0)
    by_name.fit(frame[:400], y[:400], eval_set=[frame[400:][list("hgfedcba")], list(y[400:])])
    by_place = ff.BudgetForestClassifier(n_estimators=4, alpha=[0, 4], random_state=0).fit(*TRAIN, eval_set=VALIDATION)
    assert np.array_equal(by_name.curve_.error, by_place.curve_.error)
    assert np.array_equal(by_name.curve_.cost, by_place.curve_.cost)


def test_curve_on_other_rows(unlimited):
    X_test, y_test = simulated(300, seed=0)
    curve = ff.evaluation.cost_curve(unlimited, X_test, y_test)
    chosen = unlimited.curve_.frontier()
    assert len(curve) == len(chosen)
    assert np.array_equal(curve.n_trees, chosen.n_trees)
    assert np.array_equal(curve.variant, chosen.variant)
    for i in (0, len(curve) - 1):
        model = unlimited.at_budget(float(chosen.cost[i]))
        assert curve.error[i] == pytest.approx(1 - model.score(X_test, y_test))
        assert curve.cost[i] == pytest.approx(model.acquisition_cost(X_test).mean())


def test_labels_that_fit_has_not_seen_are_errors_on_a_curve(unlimited):
    curve = ff.evaluation.cost_curve(unlimited, X, np.full(len(X), 7))
    assert (curve.error == 1).all()
    assert curve.baseline_error == 1


# ---- alphas and impurities


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0, [0.0]), (2.5, [2.5]), (np.float32(4), [4.0]), ([0, 5], [0.0, 5.0]), ((8,), [8.0]), (np.array([1, 2]), [1, 2])],
)
def test_alpha_is_a_number_or_a_list(alpha, expected):
    model = fit(alpha=alpha, n_estimators=3)
    assert [recipe.impurity.alpha for recipe in model.curve_.variants] == expected
    assert model.alpha_ in expected
    assert type(model.alpha_) is float


@pytest.mark.parametrize("splitting", ["minimax", "expected"])
@pytest.mark.parametrize(
    ("function", "built_in"),
    [
        (lambda n: n.sum(axis=1) ** 2 - (n**2).sum(axis=1), Powers(2)),
        (lambda n: 2 * n[:, 0] * n[:, 1], ThresholdPairs(0)),
        (lambda n: 3 * n[:, 0] ** 2 * n[:, 1], Polynomial([(3, [2, 1])])),
    ],
)
def test_an_impurity_of_ones_own(function, built_in, splitting):
    options = {"n_estimators": 2, "splitting": splitting, "max_depth": 3}
    own, known = fit(impurity=function, **options), fit(impurity=built_in, **options)
    assert same_trees(own.variants_[0].forest, known.variants_[0].forest)
    assert own.impurity_ is function
    assert own.alpha_ is None
    assert known.impurity_ == built_in


def test_several_impurities_are_chosen_from():
    given = [Powers(2), ThresholdPairs(3, offset=False), Gini()]
    model = fit(impurity=given, alpha="not looked at")
    assert [recipe.impurity for recipe in model.curve_.variants] == given
    assert model.impurity_ in given
    assert set(model.curve_.to_frame()["variant"]) == {str(impurity) for impurity in given}


def test_an_impurity_that_fails_is_heard():
    def breaks(counts):
        if counts.sum() > 50:
            raise RuntimeError("cannot do that")
        return counts.prod(axis=1)

    with pytest.raises(RuntimeError, match="cannot do that"):
        fit(impurity=breaks)


def test_many_classes():
    X, y = simulated(800, n_classes=4)
    names = np.array(["a", "b", "c", "d"])
    model = ff.BudgetForestClassifier(n_estimators=30, random_state=0).fit(X[:600], names[y[:600]])
    assert model.predict_proba(X).shape == (800, 4)
    assert model.score(X[600:], names[y[600:]]) > 0.6


# ---- costs while growing


def test_cheap_noise_beats_a_dear_feature_unless_prices_matter_less():
    """Halving a set by noise removes 3/4 of its pairs, dividing it by class removes all: prices decide above 4 / 3."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    y = X[:, 3] > 0
    options = {"n_estimators": 5, "alpha": 0, "random_state": 0}
    for price, seen in ((1.2, True), (1.5, False)):
        model = ff.BudgetForestClassifier(feature_costs=[1, 1, 1, price], **options).fit(X, y)
        assert model.acquisition_mask(X)[:, 3].all() == seen
    prices = [1, 1, 1, 20]
    blind = ff.BudgetForestClassifier(feature_costs=prices, **options).fit(X, y)
    both = ff.BudgetForestClassifier(feature_costs=prices, price_power=[1, 0], **options).fit(X, y)
    assert blind.validation_error_ > 0.3
    assert both.validation_error_ < 0.05
    assert both.price_power_ == 0
    assert set(both.acquisition_cost(X)) == {20.0}
    assert both.at_budget(5.0).price_power_ == 1
    assert [str(recipe) for recipe in both.curve_.variants] == [
        "ThresholdPairs(alpha=0.0, offset=True)",
        "ThresholdPairs(alpha=0.0, offset=True), price_power=0",
    ]


def test_price_powers_are_families_of_their_own():
    one, two, both = (fit(price_power=power, alpha=[0, 4]) for power in (1, 0.5, [1, 0.5]))
    assert len(both.curve_) == len(one.curve_) + len(two.curve_)
    for mine, theirs in zip(both.variants_[:2], one.variants_, strict=True):
        assert same_trees(mine.forest, theirs.forest)
    limited = fit(2.5, price_power=[1, 0.5], alpha=list(PAPER_ALPHAS))
    assert same_trees(limited.forest_, fit(price_power=[1, 0.5], alpha=list(PAPER_ALPHAS)).at_budget(2.5).forest_)


def test_equal_prices_have_no_powers():
    assert len(fit(price_power=[1, 0], feature_costs=[2, 2, 0, 2, 2, 2, 2, 2], alpha=0).variants_) == 1
    free_stays_free = fit(0.0, price_power=[0], feature_costs=[0, 1, 2, 3, 4, 5, 6, 7], alpha=0, max_depth=1)
    assert free_stays_free.n_estimators_ >= 1


def test_repeats_at_full_price_are_charged_always():
    always = fit(alpha=0).variants_[0].forest
    for charge in ("path", "forest"):
        assert same_trees(fit(alpha=0, charge=charge, repeat_charge=1).variants_[0].forest, always)


def test_cheaper_repeats_change_trees_and_lower_the_bill():
    always = fit(alpha=0, n_estimators=40)
    for charge in ("path", "forest"):
        model = fit(alpha=0, n_estimators=40, charge=charge, repeat_charge=0.1)
        assert not same_trees(model.variants_[0].forest, always.variants_[0].forest)
        assert model.curve_.cost[-1] < always.curve_.cost[-1]


def test_the_unit_of_money_does_not_matter():
    one = fit(3.0)
    four = fit(12.0, feature_costs=COSTS.scaled(4))
    assert same_trees(one.forest_, four.forest_)
    assert four.validation_cost_ == pytest.approx(4 * one.validation_cost_)
    assert np.array_equal(4 * one.acquisition_cost(X), four.acquisition_cost(X))


def test_a_cheap_copy_of_a_dear_feature_is_preferred():
    doubled = np.hstack([X, X])
    prices = [5.0] * 8 + [1.0] * 8
    model = ff.BudgetForestClassifier(n_estimators=5, alpha=0, feature_costs=prices, random_state=0).fit(doubled, y)
    assert not model.acquisition_mask(doubled)[:, :8].any()


# ---- randomness and threads


@pytest.mark.parametrize("options", [{}, {"charge": "forest"}, {"splitting": "expected", "voting": "soft"}])
@pytest.mark.parametrize("budget", [None, 3.0])
def test_threads_do_not_matter(budget, options):
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    one, two = (
        ff.BudgetForestClassifier(
            budget, n_estimators=20, alpha=[0, 4], n_jobs=n, random_state=0, oob_score=True, **options
        ).fit(X, y, sample_weight=weight)
        for n in (1, 2)
    )
    assert same_trees(one.forest_, two.forest_)
    assert np.array_equal(one.curve_.error, two.curve_.error)
    assert np.array_equal(one.curve_.cost, two.curve_.cost)
    assert one.oob_score_ == two.oob_score_


def test_random_state():
    def trees(random_state):
        return fit(alpha=0, n_estimators=2, random_state=random_state).variants_[0].forest

    for seed in (0, 5):
        assert same_trees(trees(seed), trees(np.int64(seed)))
        assert same_trees(trees(np.random.RandomState(seed)), trees(np.random.RandomState(seed)))
    assert not same_trees(trees(0), trees(1))
    assert not same_trees(trees(0), trees(None))
    assert not same_trees(trees(None), trees(None))


def test_variants_have_bootstraps_of_their_own():
    model = fit(alpha=[0, 0])
    assert not same_trees(model.variants_[0].forest, model.variants_[1].forest)


# ---- weights


@pytest.mark.parametrize("options", [{}, {"splitting": "expected"}, {"impurity": Powers(3)}, {"charge": "path"}])
def test_a_weight_is_a_repetition(options):
    random = np.random.default_rng(0)
    X = random.integers(0, 30, size=(200, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] > 30).astype(int) ^ (random.random(200) < 0.1)
    weight = random.integers(0, 4, 120)
    model = ff.BudgetForestClassifier(n_estimators=1, alpha=[0, 4, 10], bootstrap=False, random_state=0, **options)
    weighted = clone(model).fit(X[:120], y[:120], sample_weight=weight, eval_set=(X[120:], y[120:]))
    again = np.repeat(np.arange(120), weight)
    repeated = clone(model).fit(X[again], y[again], eval_set=(X[120:], y[120:]))
    for one, two in zip(weighted.variants_, repeated.variants_, strict=True):
        assert same_trees(one.forest, two.forest)
    assert np.array_equal(weighted.curve_.error, repeated.curve_.error)


def test_validation_errors_are_weighted():
    weight = np.where(y == 1, 3.0, 0.5)
    model = ff.BudgetForestClassifier(n_estimators=1, alpha=0, random_state=0).fit(X, y, sample_weight=weight)
    held_out = stratified_mask(y.astype(np.int32), 0.25, seed=0)
    wrong = model.predict(X[held_out]) != y[held_out]
    assert model.validation_error_ == pytest.approx(np.average(wrong, weights=weight[held_out]))
    assert model.validation_cost_ == pytest.approx(model.acquisition_cost(X[held_out]).mean())


def test_class_weight_moves_the_answer():
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.25, 1 - y, y)
    shares = [
        ff.BudgetForestClassifier(n_estimators=15, alpha=8, class_weight=weight, min_samples_leaf=20, random_state=0)
        .fit(X, noisy)
        .predict(X)
        .mean()
        for weight in ({0: 8, 1: 1}, None, {1: 8})
    ]
    assert shares[0] < shares[1] - 0.1
    assert shares[2] > shares[1] + 0.1


# ---- estimates


def test_out_of_bag_estimates_are_close_to_the_test_rows():
    X, y = simulated(2000)
    model = ff.BudgetForestClassifier(5.0, n_estimators=60, alpha=[4, 10], oob_score=True, random_state=0)
    model.fit(X[:1200], y[:1200])
    assert model.oob_score_ == pytest.approx(model.score(X[1200:], y[1200:]), abs=0.04)
    assert 0 < model.oob_cost_ <= model.validation_cost_
    assert model.oob_decision_function_.shape == (900, 2)


def test_importances_find_what_matters():
    model = fit(feature_costs=np.full(8, 2.0))
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:3].sum() > 0.5
    assert np.allclose(model.importances_per_cost_, model.feature_importances_ / 2)


# ---- progress and interruption


def test_progress_is_shown_for_each_impurity(capsys):
    fit(alpha=[0, 7], n_estimators=5)
    assert capsys.readouterr().err == ""
    fit(alpha=[0, 7], n_estimators=5, verbose=1)
    shown = capsys.readouterr().err
    assert "ThresholdPairs(alpha=0.0" in shown
    assert "ThresholdPairs(alpha=7.0" in shown
    assert shown.count("5/5") == 2


def test_ctrl_c_keeps_the_trees_grown():
    def slow(counts):
        time.sleep(1e-5)
        return counts.prod(axis=1)

    model = ff.BudgetForestClassifier(
        n_estimators=100_000, impurity=[slow, Gini()], max_depth=2, oob_score=True, random_state=0
    )
    before = threading.active_count()
    with (
        pytest.raises(KeyboardInterrupt, match=r"stopped after \d+ trees; the model is the best of these"),
        ctrl_c_after(0.6),
    ):
        model.fit(X[:, :2], y)
    assert threading.active_count() <= before + 1
    assert len(model.variants_) == 1
    assert not model.variants_[0].is_complete
    assert 1 <= model.n_estimators_ <= len(model.curve_) < 100_000
    assert model.score(X[:, :2], y) > 0.6
    assert model.at_budget(1.9).validation_cost_ <= 1.9


@pytest.mark.parametrize("at_call", [1, 2, 3, 9])
def test_ctrl_c_between_trees_keeps_what_was_measured(at_call, monkeypatch):
    """The signal may come while rows are counted, not grown: simulated in the call that measures."""
    calls = []
    measure = ff.BudgetForestClassifier._measure

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == at_call:
            raise KeyboardInterrupt
        return measure(self, *args)

    monkeypatch.setattr(ff.BudgetForestClassifier, "_measure", interrupted)
    model = ff.BudgetForestClassifier(6.0, alpha=[4, 8, 10], n_estimators=9, n_jobs=1, random_state=0)
    if at_call == 1:
        with pytest.raises(KeyboardInterrupt):
            model.fit(*TRAIN, eval_set=VALIDATION)
        assert not hasattr(model, "forest_")
        return
    with pytest.raises(KeyboardInterrupt, match="the model is the best of these"):
        model.fit(*TRAIN, eval_set=VALIDATION)
    assert model.n_estimators_ >= 1
    assert (model.curve_.cost <= 6).all()
    assert model.score(*VALIDATION) > 0.6

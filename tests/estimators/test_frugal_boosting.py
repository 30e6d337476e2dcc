"""FrugalBoostingClassifier: budgets and paths, warm starts, constraints, bad input, and interruption."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from itertools import pairwise
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import frugalforest as ff
from boosting.problems import interrupt_after_rounds
from frugalforest.estimators.frugal_boosting import FrugalBoostingClassifier

COSTS = ff.FeatureCosts(
    [1, 1.1, 1.2, 0.9, 1, 1.3, 1, 1.05], groups={"a": ff.Group([0, 1, 4], 0.15), "b": ff.Group([1, 2, 6], 0.2)}
)


def simulated(n_rows=700, seed=0, n_classes=2):
    """Columns 0 to 2 decide, 3 to 7 are noise."""
    X, y = make_classification(
        n_rows, 8, n_informative=3, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, shuffle=False,
        random_state=seed, flip_y=0.05,
    )  # fmt: skip
    order = np.random.default_rng(seed).permutation(n_rows)
    return X[order], y[order]


X, y = simulated()
TRAIN, VALIDATION, TEST = (X[:300], y[:300]), (X[300:500], y[300:500]), (X[500:], y[500:])


def make(budget=None, tradeoff=None, **options):
    options = {"n_estimators": 20, "feature_costs": COSTS, "random_state": 0, "min_samples_leaf": 5} | options
    return FrugalBoostingClassifier(budget, tradeoff, **options)


@contextmanager
def one_thread():
    """Threads of OpenMP wait for each other with all their might, which a busy machine does not forgive."""
    with threadpool_limits(1, "openmp"):
        yield


def fit(budget=None, tradeoff=None, eval_set=VALIDATION, **options):
    return make(budget, tradeoff, **options).fit(*TRAIN, eval_set=eval_set)


def same_model(one, other) -> bool:
    names = ("node_offsets", "feature", "threshold", "missing_left", "right", "category_set")
    forests = all(np.array_equal(getattr(one.forest_, name), getattr(other.forest_, name)) for name in names)
    return forests and np.array_equal(one.ensemble_.values, other.ensemble_.values)


@parametrize_with_checks(
    [
        FrugalBoostingClassifier(n_estimators=8),
        FrugalBoostingClassifier(tradeoff=0.01, n_estimators=8, subsample=0.8, colsample=0.9),
        FrugalBoostingClassifier(budget=2.0, n_estimators=8),
        FrugalBoostingClassifier(n_estimators=6, stop="label", early_stopping=True),
        FrugalBoostingClassifier(tradeoff=0.05, n_estimators=6, stop="confidence"),
        FrugalBoostingClassifier(budget=2.0, n_estimators=4, n_tradeoffs=3, n_folds=2, stop="confidence"),
    ],
    expected_failed_checks=lambda _: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- quality


@pytest.mark.parametrize("name", ["spambase", "miniboone_tiny"])
def test_without_costs_as_good_as_others(name, data_dir):
    """Over three splits of at least 1,500 test rows: error within .006 of LightGBM and scikit-learn, same settings."""
    lightgbm = pytest.importorskip("lightgbm")
    data = ff.datasets.load(name, data_dir)
    others = {
        "LightGBM": lightgbm.LGBMClassifier(n_jobs=1, verbose=-1),
        "scikit-learn": HistGradientBoostingClassifier(early_stopping=False),
    }
    mine, errors = [], {name: [] for name in others}
    for seed in range(3):
        parts = train_test_split(data.X, data.y, test_size=1 / 3, random_state=seed, stratify=data.y)
        train, test, train_y, test_y = parts
        mine.append(1 - FrugalBoostingClassifier(n_estimators=100).fit(train, train_y).score(test, test_y))
        for other, model in others.items():
            with one_thread():
                errors[other].append(1 - model.fit(train, train_y).score(test, test_y))
    for other in others:
        assert np.mean(mine) <= np.mean(errors[other]) + 0.006


@pytest.mark.parametrize("n_classes", [2, 4])
def test_learns(n_classes):
    X, y = simulated(1200, n_classes=n_classes)
    model = make(n_estimators=60).fit(X[:800], y[:800])
    with one_thread():
        peer = HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=5).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) >= peer.score(X[800:], y[800:]) - 0.03
    assert log_loss(y[800:], model.predict_proba(X[800:])) < log_loss(y[800:], peer.predict_proba(X[800:])) * 1.1


# ---- trade-offs


def test_a_larger_trade_off_buys_less():
    bills = [fit(tradeoff=t).acquisition_cost(TEST[0]).mean() for t in (0, 0.003, 0.01, 0.03, 0.1)]
    assert all(later < earlier for earlier, later in pairwise(bills))


def test_no_trade_off_is_plain_boosting():
    assert same_model(fit(), fit(tradeoff=0.0))
    assert same_model(fit(), fit(feature_costs=np.arange(8)))
    assert same_model(fit(), fit(tradeoff=3.0, feature_costs=np.zeros(8)))


def test_costs_times_k_with_trade_off_over_k_is_the_identical_model():
    assert same_model(fit(tradeoff=0.012), fit(tradeoff=0.004, feature_costs=COSTS.scaled(3)))


def test_a_trade_off_so_large_that_nothing_is_bought_leaves_the_most_frequent_class():
    model = fit(tradeoff=1e6)
    assert model.n_estimators_ == 0
    assert model.acquisition_cost(X).max() == 0
    np.testing.assert_array_equal(model.predict(X), np.argmax(np.bincount(TRAIN[1])))
    np.testing.assert_allclose(model.predict_proba(X), [model.class_prior_] * len(X), rtol=1e-12)
    assert list(model.feature_importances_) == [0] * 8
    assert model.start().next_feature() is None


def test_free_features_are_used_whatever_the_trade_off():
    costs = COSTS.own.copy()
    costs[0] = 0
    model = fit(tradeoff=1e6, feature_costs=costs)
    assert model.acquisition_mask(X).any(axis=0).tolist() == [True] + [False] * 7
    assert model.acquisition_cost(X).max() == 0
    assert model.score(*TEST) > 0.6


# ---- budgets


@pytest.mark.parametrize("stop", ["all", "label", "confidence"])
@pytest.mark.parametrize("budget", [1.5, 3.0])
def test_the_validation_bill_is_within_the_budget(budget, stop):
    model = fit(budget, stop=stop)
    assert 0 < model.validation_cost_ <= budget
    assert model.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(model.validation_cost_, rel=1e-12)
    assert model.score(*VALIDATION) == pytest.approx(1 - model.validation_error_)
    assert model.score(*TEST) > 0.75


def test_every_point_of_the_curve_is_what_these_rounds_do():
    for n_classes in (2, 3):
        X, y = simulated(500, n_classes=n_classes)
        model = make(2.5, n_estimators=5).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
        assert len(model.curve_) == sum(variant.n_rounds for variant in model.variants_)
        for i in range(len(model.curve_)):
            variant = model.variants_[model.curve_.variant[i]]
            trees = variant.trees.first(int(model.curve_.n_trees[i]))
            ensemble = model._ensemble(variant.base, trees, "log_loss")
            scores, mask = ensemble.scores(X[300:], with_mask=True)
            assert model.curve_.error[i] == pytest.approx(np.mean(ensemble.label_numbers(scores) != y[300:]))
            assert model.curve_.cost[i] == pytest.approx(COSTS.of_rows(mask).mean(), rel=1e-12)
            loss = log_loss(y[300:], ensemble.probabilities(scores))
            assert variant.loss[model.curve_.n_trees[i] - 1] == pytest.approx(loss, rel=1e-9)


def test_the_chosen_point_has_the_least_loss_within_the_budget():
    model = fit(3.0)
    losses = np.concatenate([variant.loss for variant in model.variants_])
    assert log_loss(VALIDATION[1], model.predict_proba(VALIDATION[0])) == pytest.approx(losses.min())


def test_smaller_budgets_without_another_fit():
    model = fit(4.0)
    for budget in (2.5, 3.0, 4.0):
        smaller = model.at_budget(budget)
        assert smaller.n_estimators_ > 0
        assert smaller.acquisition_cost(VALIDATION[0]).mean() <= budget
    with pytest.warns(UserWarning, match="no tree fits a budget of 0:"):
        assert model.at_budget(0).n_estimators_ == 0
    assert model.budget == 4.0
    with pytest.raises(ValueError, match=r"trained for a budget of 4, so a budget of 5 is out of reach"):
        model.at_budget(5)


def test_a_path_answers_every_budget():
    model = make().path(*TRAIN, eval_set=VALIDATION)
    assert model.max_budget_ == np.inf
    assert {0.0} < {variant.tradeoff for variant in model.variants_}
    assert len(model.variants_) <= 12 + 12 // 3
    assert {variant.budget for variant in model.variants_} > {0.9, np.inf}  # from the cheapest feature on
    bills = [model.at_budget(b).acquisition_cost(VALIDATION[0]).mean() for b in (1.2, 2, 3, 5, None)]
    assert all(bill <= budget for bill, budget in zip(bills, (1.2, 2, 3, 5), strict=False))
    assert bills[0] < bills[2] < bills[4]
    with pytest.raises(ValueError, match="give tradeoff=None"):
        make(tradeoff=0.1).path(*TRAIN)


def test_a_model_with_validation_rows_has_a_curve_and_one_without_has_none():
    assert hasattr(fit(tradeoff=0.01), "curve_")
    model = make(tradeoff=0.01).fit(*TRAIN)
    assert not hasattr(model, "curve_")
    with pytest.raises(ValueError, match="at_budget needs bills of validation rows"):
        model.at_budget(2)
    curve = ff.evaluation.cost_curve(model, *TEST)
    assert len(curve) == model.n_estimators_
    assert curve.error[-1] == pytest.approx(1 - model.score(*TEST))
    assert curve.cost[-1] == pytest.approx(model.acquisition_cost(TEST[0]).mean())


def test_cost_curve_of_a_budget_measures_what_validation_recommended():
    for stop in ("all", "label", "confidence"):
        model = fit(3.0, stop=stop)
        curve = ff.evaluation.cost_curve(model, *TEST)
        chosen = curve.n_trees == model.n_estimators_
        assert np.isclose(curve.error[chosen], 1 - model.score(*TEST)).any()
        assert np.isclose(curve.cost[chosen], model.acquisition_cost(TEST[0]).mean()).any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_point_of_a_curve_by_confidence_is_what_rows_do_that_are_so_sure(n_classes):
    X, y = simulated(500, n_classes=n_classes)
    rows, labels = X[300:], y[300:]
    model = make(n_estimators=12, n_tradeoffs=2, stop="confidence").path(X[:300], y[:300], eval_set=(rows, labels))
    records = [(variant, record) for variant in model.variants_ for record in variant.records]
    assert {record.confidence for _, record in records} > {1.0, np.inf}
    for i in range(0, len(model.curve_), 7):
        variant, record = records[model.curve_.variant[i]]
        ensemble = model._ensemble(variant.base, variant.trees.first(int(model.curve_.n_trees[i])), "log_loss")
        rule = ff.acquisition.StopRule("confidence", confidence=record.confidence)
        found = ff.acquisition.Acquirer(ensemble, COSTS).evaluate(rows, rule)
        assert model.curve_.error[i] == pytest.approx(np.mean(found.label_numbers != labels))
        assert model.curve_.cost[i] == pytest.approx(COSTS.of_rows(found.mask).mean(), rel=1e-12)
        bits = -np.log2(found.probabilities[np.arange(len(rows)), labels]).mean()
        loss = (np.mean(found.label_numbers != labels) + bits / 2) / 2
        assert record.loss[model.curve_.n_trees[i] - 1] == pytest.approx(loss, rel=1e-6)


def test_rows_that_need_not_be_proven_buy_no_more_and_the_same_budget_buys_a_lower_loss():
    path = make(stop="confidence").path(*TRAIN, eval_set=VALIDATION)
    for variant in (variant for variant in path.variants_ if variant.n_rounds):
        bills = np.array([record.cost[-1] for record in variant.sooner] + [variant.cost[-1]])
        assert (np.diff(bills) >= 0).all()  # by rising confidence, a proof last
    proofs = [variant.least_loss(2.0) for variant in path.variants_]
    assert min(proofs) <= min(np.min(v.loss, initial=np.inf, where=v.cost <= 2.0) for v in path.variants_)
    cheap = path.at_budget(2.0)
    assert cheap.acquisition_cost(VALIDATION[0]).mean() == pytest.approx(cheap.validation_cost_, rel=1e-12)
    assert cheap.validation_cost_ <= 2.0
    assert path.at_budget(None).confidence_ in {*(r.confidence for v in path.variants_ for r in v.records)}


def test_without_a_budget_the_trade_off_says_how_sure_is_sure_enough():
    model = fit(tradeoff=0.01, stop="confidence")
    (variant,), n_rounds = model.variants_, model.n_estimators_
    worth = {r.confidence: r.loss[n_rounds - 1] + 0.01 * r.cost[n_rounds - 1] for r in variant.records}
    assert model.confidence_ == min(worth, key=worth.__getitem__) < np.inf
    assert model.acquisition_cost(VALIDATION[0]).mean() < variant.cost[n_rounds - 1]


def test_a_budget_of_nothing_with_free_features_uses_these():
    costs = COSTS.own.copy()
    costs[[0, 3]] = 0
    model = fit(0.0, feature_costs=costs)
    assert model.validation_cost_ == 0
    assert model.score(*TEST) > 0.6
    assert not model.acquisition_mask(X)[:, [1, 2, 4, 5, 6, 7]].any()


def test_a_budget_below_the_cheapest_tree_is_answered_for_free():
    with pytest.warns(UserWarning, match=r"no tree fits a budget of 0.5: the cheapest one costs at least 0.9 per row"):
        model = fit(0.5)
    assert model.n_estimators_ == 0
    assert model.tradeoff_ == np.inf
    assert model.validation_cost_ == 0
    assert model.acquisition_cost(X).max() == 0


def test_a_budget_with_a_trade_off_keeps_to_both():
    free, tight = fit(tradeoff=0.003), fit(1.5, 0.003)
    assert free.acquisition_cost(VALIDATION[0]).mean() > 1.5
    assert tight.validation_cost_ <= 1.5
    assert {variant.tradeoff for variant in tight.variants_} == {0.003}


def test_when_the_budget_is_spent_rounds_go_on_with_what_is_paid():
    model = fit(2.0, 0.001, early_stopping=False)
    (variant,) = model.variants_
    assert variant.is_limited
    assert variant.n_rounds == 20
    assert variant.cost.max() <= 2.0
    spent = np.flatnonzero(np.diff(variant.cost, prepend=0.0) > 0)[-1] + 1
    assert spent < 15
    assert variant.loss[-1] < variant.loss[spent - 1]


def test_a_budget_of_one_feature_buys_one_feature():
    model = fit(1.0, feature_costs=np.ones(8))
    assert model.validation_cost_ == 1.0
    assert model.score(*TEST) > 0.6
    assert fit(1.3, feature_costs=np.full(8, 1.3)).validation_cost_ == 1.3


def test_everything_fits_into_a_large_budget():
    model = fit(100.0)
    assert 0.0 in {variant.tradeoff for variant in model.variants_}
    assert model.max_budget_ == np.inf


# ---- early stopping and validation rows


def test_training_ends_when_the_loss_no_longer_falls():
    model = fit(n_estimators=400, learning_rate=0.3, n_iter_no_change=5)
    (variant,) = model.variants_
    assert model.n_estimators_ == np.argmin(variant.loss) + 1
    assert variant.n_rounds == model.n_estimators_ + 5
    endless = fit(n_estimators=60, learning_rate=0.3, early_stopping=False)
    assert endless.n_estimators_ == 60


def test_rows_are_set_aside_only_where_they_are_needed():
    all_rows = make(n_estimators=5).fit(*TRAIN)
    assert all_rows.forest_.leaf_counts[: all_rows.forest_.leaf_offsets[1]].sum() == 300
    some = make(n_estimators=5, early_stopping=True, validation_fraction=0.2).fit(*TRAIN)
    assert some.forest_.leaf_counts[: some.forest_.leaf_offsets[1]].sum() == 240


# ---- continued training


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"n_classes": 3}], ids=str)
def test_a_warm_start_is_training_in_one_piece(options):
    options = dict(options)
    X, y = simulated(400, n_classes=options.pop("n_classes", 2))
    whole = make(tradeoff=0.01, n_estimators=12, **options).fit(X, y)
    steps = make(tradeoff=0.01, n_estimators=5, warm_start=True, **options).fit(X, y)
    steps.set_params(n_estimators=12).fit(X, y)
    assert same_model(whole, steps)


def test_a_warm_start_on_other_rows_charges_them_for_what_is_new():
    model = make(tradeoff=0.02, n_estimators=8, warm_start=True).fit(X[:300], y[:300])
    read = model.forest_.features_read(X[300:])
    model.set_params(n_estimators=16).fit(X[300:], y[300:])
    new = model.forest_.features_read(X[300:]) & ~read
    (variant,) = model.variants_
    n_before = variant.trees.first(8).forest.n_nodes
    bill = COSTS.of_rows(read | new).sum() - COSTS.of_rows(read).sum()
    assert variant.trees.charged[n_before:].sum() / 0.02 == pytest.approx(bill, abs=1e-6)


def test_warm_starts_that_make_no_sense():
    model = make(tradeoff=0.01, n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="there are 5 rounds already; give a larger number"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="other columns, categories or classes"):
        model.set_params(n_estimators=8, feature_costs=None).fit(X[:, :5], y)
    with pytest.raises(ValueError, match="other columns, categories or classes"):
        model.set_params(feature_costs=None).fit(X, y + 1)
    with pytest.raises(ValueError, match="warm_start goes on with one booster, and a budget tries several"):
        make(2.0, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start goes on with one booster, and this model was chosen among"):
        fit(3.0).set_params(budget=None, warm_start=True).fit(X, y)


# ---- frames, categories, missing values, constraints


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(5)
    n = 500
    town = random.choice(["a", "b", "c", "d", "e"], n).astype(object)
    age, weight = random.integers(20, 80, n).astype(float), random.normal(70, 10, n)
    signal = np.isin(town, ["a", "d"]) * 2.0 + (age - 50) / 15 + random.normal(size=n)
    age[random.random(n) < 0.15] = np.nan
    town[random.random(n) < 0.1] = None
    return pd.DataFrame({"age": age, "town": town, "weight": weight}), np.array(["no", "yes"])[(signal > 1).astype(int)]


def test_categories_and_missing_values(frame):
    X, y = frame
    costs = {"town": 2, "age": 1, "weight": 0.5}
    model = make(tradeoff=0.005, feature_costs=costs).fit(X[:350], y[:350])
    assert model.score(X[350:], y[350:]) > 0.75
    assert {"age", "town"} <= set(model.feature_names_in_[model.acquisition_mask(X).any(axis=0)])
    assert model.forest_.category_set.max() >= 0


def test_runs_mask_and_bill_agree(frame):
    X, y = frame
    for stop in ("all", "label", "confidence"):
        model = make(tradeoff=0.005, feature_costs=[2, 1, 0.5], stop=stop).fit(X[:350], y[:350])
        labels, mask, bills = model.predict(X), model.acquisition_mask(X), model.acquisition_cost(X)
        np.testing.assert_array_equal(bills, model.feature_costs_.of_rows(mask))
        for i in range(350, 380):
            run = model.start()
            while (feature := run.next_feature()) is not None:
                run.provide(feature, X[feature].iloc[i])
            assert run.prediction == labels[i]
            assert run.spent == bills[i]
            assert {name for name, bought in zip(X.columns, mask[i], strict=True) if bought} == set(run.acquired)


def test_constraints_by_name(frame):
    X, y = frame
    model = make(monotone_cst={"age": -1}, n_estimators=40, feature_costs=None).fit(X, y)
    swept = pd.concat([X[:30].assign(age=float(age)) for age in range(20, 80, 3)])
    margins = model.decision_function(swept).reshape(-1, 30)
    assert np.diff(margins, axis=0).max() <= 1e-12
    apart = make(interaction_cst=[["age"], ["town"]], feature_costs=None).fit(X, y)
    for tree in range(apart.forest_.n_trees):
        features = {node.feature for node in apart.forest_.nodes(tree) if node.feature >= 0}
        assert len(features) <= 1  # every path has one feature, so every tree has the one of its root


# ---- weights


def test_class_weight_finds_the_rare_class():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = (X[:, 0] + random.normal(size=2000) > 2.5).astype(int)
    plain, balanced = (make(class_weight=w, feature_costs=None).fit(X, y) for w in (None, "balanced"))
    assert balanced.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.1


def test_a_row_without_weight_is_left_out():
    weights = np.ones(300)
    weights[200:] = 0
    with_weights = make(tradeoff=0.01).fit(*TRAIN, sample_weight=weights)
    assert same_model(with_weights, make(tradeoff=0.01).fit(TRAIN[0][:200], TRAIN[1][:200]))


def test_one_weight_for_all_changes_nothing():
    assert same_model(make(tradeoff=0.01).fit(*TRAIN, sample_weight=np.ones(300)), make(tradeoff=0.01).fit(*TRAIN))


# ---- the same whatever the machine does


def test_threads_and_seeds():
    models = [fit(3.0, subsample=0.7, n_jobs=n) for n in (1, 2)]
    assert same_model(*models)
    assert same_model(models[0], fit(3.0, subsample=0.7, random_state=0))
    assert not same_model(models[0], fit(3.0, subsample=0.7, random_state=1))


def test_pickle_and_clone():
    model = fit(3.0)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_what_is_learned_has_type_hints_so_that_it_can_be_stored():
    hints = get_type_hints(FrugalBoostingClassifier)
    learned = {name for name in vars(fit(3.0)) if name.endswith("_")}
    assert learned <= set(hints)


def test_importances_find_the_informative_columns():
    model = fit()
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:3].sum() > 0.8
    np.testing.assert_allclose(model.importances_per_cost_, model.feature_importances_ / COSTS.alone)


# ---- interruption


@pytest.fixture
def ctrl_c(monkeypatch):
    """After so many rounds, Ctrl-C."""

    return lambda n_rounds: interrupt_after_rounds(n_rounds, monkeypatch)


def test_ctrl_c_keeps_the_rounds_trained(ctrl_c):
    short = make(n_estimators=7, tradeoff=0.01).fit(*TRAIN)
    ctrl_c(7)
    model = make(tradeoff=0.01)
    with pytest.raises(KeyboardInterrupt, match="stopped after 7 rounds; the model is the best of these"):
        model.fit(*TRAIN)
    assert same_model(model, short)


def test_ctrl_c_in_a_search_keeps_the_best_model_so_far(ctrl_c):
    ctrl_c(30)
    model = make(2.0)
    with pytest.raises(KeyboardInterrupt, match=r"stopped after .* rounds"):
        model.fit(*TRAIN, eval_set=VALIDATION)
    assert model.validation_cost_ <= 2.0
    assert model.score(*TEST) > 0.7


def test_ctrl_c_before_the_first_round_keeps_the_old_model(ctrl_c):
    model = make(tradeoff=0.01).fit(*TRAIN)
    before = model.ensemble_
    ctrl_c(0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*TEST)
    assert model.ensemble_ is before


def test_progress_is_shown_when_asked_for(capsys):
    make(tradeoff=0.01, n_estimators=3).fit(*TRAIN)
    assert capsys.readouterr().err == ""
    make(tradeoff=0.01, n_estimators=3, verbose=1).fit(*TRAIN)
    assert "FrugalBoostingClassifier, tradeoff=0.01" in capsys.readouterr().err


def test_many_rows_get_many_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (np.sin(9 * X[:, 0]) + np.sin(9 * X[:, 1]) + rng.normal(size=4000) > 0).astype(int)
    for n_rows, n_leaves in ((2000, 31), (4000, 40)):
        model = ff.FrugalBoostingClassifier(n_estimators=1, max_leaf_nodes="auto", min_samples_leaf=1)
        model.fit(X[:n_rows], y[:n_rows])
        assert model.ensemble_.forest.n_leaves == n_leaves


# ---- bad input

BAD = {
    "budget": ([-1, np.nan, "much", True], "finite number of at least 0 or None"),
    "tradeoff": ([-1, np.inf, "much", True], "finite number of at least 0 or None"),
    "n_estimators": ([0, 2.5, None], "whole number of at least 1"),
    "learning_rate": ([0, -1, None, "fast"], "expected a (finite )?number"),
    "max_leaf_nodes": ([1, 2.5, None, "many"], "whole number of at least 2"),
    "max_depth": ([0, 1.5], "whole number of at least 1 or None"),
    "min_samples_leaf": ([0, None], "whole number of at least 1"),
    "l2": ([-1, None], "finite number of at least 0"),
    "max_bins": ([1, 256], "whole number from 2 to 255"),
    "subsample": ([0, 1.5, None], "expected a (share|finite number)"),
    "colsample": ([0, 1.5, None], "expected a (share|finite number)"),
    "early_stopping": ([1, None, "yes"], 'expected True, False or "auto"'),
    "n_iter_no_change": ([0, None], "whole number of at least 1"),
    "validation_fraction": ([0, 1, None], "expected a (share|finite number)"),
    "n_tradeoffs": ([0, None], "whole number of at least 1"),
    "n_folds": ([1, 2.5], "whole number of at least 2 or None"),
    "stop": (["early", None], "expected one of 'all', 'label', 'confidence'"),
    "warm_start": ([1, None], "expected True or False"),
    "n_jobs": ([0, 1.5], "expected None, a number of threads"),
    "random_state": ([-1, "lucky"], "expected None, a whole number"),
    "verbose": ([-1, None], "whole number of at least 0"),
}


@pytest.mark.parametrize(
    ("name", "value", "message"), [(name, value, m) for name, (values, m) in BAD.items() for value in values]
)
def test_parameters_out_of_range(name, value, message):
    with pytest.raises(ValueError, match=f"{name} is .*{message}"):
        FrugalBoostingClassifier(**{name: value}).fit(*TRAIN)


def test_every_parameter_is_checked():
    elsewhere = {"feature_costs", "class_weight", "categorical_features", "monotone_cst", "interaction_cst"}
    assert set(FrugalBoostingClassifier().get_params()) - elsewhere == set(BAD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone_cst": [1, 0]}, "monotone_cst has 2 entries but X has 3 features"),
        ({"monotone_cst": {"height": 1}}, "names feature 'height', which X does not have; .* names: age, town, weight"),
        ({"monotone_cst": {"age": 2}}, "monotone_cst has 2 for feature 'age'; expected -1, 0 or 1"),
        ({"monotone_cst": {"town": 1}}, "names feature 'town', which is categorical"),
        ({"monotone_cst": 1}, "monotone_cst is 1; expected one of -1, 0, 1 per feature"),
        ({"interaction_cst": "pairwise"}, "interaction_cst is 'pairwise'; expected a list of lists"),
        ({"interaction_cst": [0, 1]}, "interaction_cst holds 0; expected lists of features"),
        ({"interaction_cst": [[0, 9]]}, "interaction_cst names feature 9"),
    ],
)
def test_constraints_that_are_none(frame, options, message):
    with pytest.raises(ValueError, match=message):
        make(feature_costs=None, **options).fit(*frame)


def test_monotone_constraints_need_two_classes():
    X, y = simulated(200, n_classes=3)
    with pytest.raises(ValueError, match="monotone_cst needs two classes, and y has 3"):
        make(monotone_cst=[1] * 8).fit(X, y)
    make(monotone_cst=[0] * 8, n_estimators=2).fit(X, y)


def test_too_few_rows_to_set_aside_are_warned_about():
    with pytest.warns(UserWarning, match="too few rows to set some aside"):
        FrugalBoostingClassifier(budget=1.0, n_estimators=2).fit([[0.0], [1.0]], [0, 1])

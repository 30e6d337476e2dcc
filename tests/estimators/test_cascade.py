"""FrugalCascadeClassifier: panels bought together, stops when sure, one fit for every budget."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators.cascade import FrugalCascadeClassifier, default_estimator

FOREST = ff.StandardForestClassifier(8, max_depth=5)
QUICK = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=8, early_stopping=False, min_samples_leaf=5)
BOOSTER = HistGradientBoostingClassifier(max_iter=12, early_stopping=False, min_samples_leaf=5)


@parametrize_with_checks(
    [
        FrugalCascadeClassifier(estimator=QUICK, n_stages=2),
        FrugalCascadeClassifier(tradeoff=1e-4, estimator=ff.StandardForestClassifier(5), n_stages=2, order="backward"),
    ],
    expected_failed_checks=lambda estimator: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "town", "noise"]
COSTS = ff.FeatureCosts(
    [0, 0.5, 1, 1.5, 1, 0.4, 2], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2)}
)


@pytest.fixture(scope="module")
def data():
    """Rows with names, a category and missing values; the first 500 to fit, the others to predict."""
    X, y = make_classification(
        650, 7, n_informative=5, n_redundant=0, n_clusters_per_class=1, flip_y=0.1, random_state=5
    )
    frame = pd.DataFrame(X, columns=NAMES)
    frame["town"] = pd.cut(frame["town"], 3, labels=["Lima", "Oslo", "Rome"]).astype(str)
    frame.loc[::9, "glucose"] = np.nan
    return frame, np.array(["ill", "well"])[y]


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return FrugalCascadeClassifier(estimator=BOOSTER, n_stages=5, feature_costs=COSTS, random_state=0).fit(
        X[:500], y[:500]
    )


@pytest.fixture(scope="module")
def middle(model):
    """A model whose rows stop at different stages."""
    return model.at_budget(float(np.median(model.curve_.cost)))


# ---- the contract


def test_the_bill_is_the_cost_of_the_panels_bought(middle, data):
    X = data[0][500:]
    masks, bills = middle.acquisition_mask(X), middle.acquisition_cost(X)
    stages = middle.cascades_[middle.policy_.cascade].stages
    panels = {stages[k].mask(7).tobytes() for k in middle.policy_.looked_at()}
    assert {mask.tobytes() for mask in masks} <= panels
    assert len(np.unique(bills)) > 1
    assert np.array_equal(bills, COSTS.of_rows(masks))
    labels, again = middle.predict_with_cost(X)
    assert np.array_equal(labels, middle.predict(X))
    assert np.array_equal(again, bills)
    assert np.array_equal(middle.classes_[middle.predict_proba(X).argmax(axis=1)], labels)


def test_rows_stop_at_the_first_stage_where_they_are_sure(middle, data):
    """By hand: stage after stage, one row at a time."""
    X = data[0][500:540]
    rows, policy = middle.encoder_.encode(X), middle.policy_
    stages = middle.cascades_[policy.cascade].stages
    masks, answers = middle.acquisition_mask(X), middle.predict_proba(X)
    for i in range(len(rows)):
        for k, stage in enumerate(stages):
            answer = stage.probabilities(rows[[i]])[0]
            lead = np.sort(answer)[-1] - np.sort(answer)[-2]
            if k == len(stages) - 1 or lead >= policy.thresholds[k, answer.argmax()]:
                break
        assert np.array_equal(masks[i], stages[k].mask(7))
        assert np.array_equal(answers[i], answer)


def test_run_mask_bill_and_answer_agree(middle, data):
    X = data[0][500:515]
    masks, answers, bills = middle.acquisition_mask(X), middle.predict_proba(X), middle.acquisition_cost(X)
    for i in range(len(X)):
        run, values = middle.start(), X.iloc[i]
        while (feature := run.next_feature()) is not None:
            run.provide(feature, values[feature])
            run = middle.resume(run.to_json())
        assert set(run.acquired) == {NAMES[f] for f in np.flatnonzero(masks[i])}
        assert run.spent == bills[i]
        assert np.array_equal(run.probabilities, answers[i])
        assert run.expected_cost() == 0


def test_a_stage_is_asked_for_together(middle, data):
    """All features of the panel are named at once, before any of them is known."""
    run, values = middle.start(), data[0].iloc[520]
    first = run.next_features()
    stages = middle.cascades_[middle.policy_.cascade].stages
    panels = [{NAMES[f] for f in stages[k].panel} for k in middle.policy_.looked_at()]
    assert set(first) == panels[0]
    for feature in first:
        run.provide(feature, values[feature])
    assert run.is_over or set(run.next_features()) == panels[1] - panels[0]


def test_expected_cost_is_the_average_bill(middle):
    """Before anything is known, by the shares of the training rows: what validation measured."""
    assert middle.start().expected_cost() == pytest.approx(middle.validation_cost_)


def test_known_and_refused_features(middle, data):
    X = data[0]
    run = middle.start()
    run.provide("bmi", 0.3)
    assert run.known_before == ("bmi",)
    while (feature := run.next_feature()) is not None:
        run.refuse(feature)
    assert run.spent == 0
    assert run.probabilities.sum() == pytest.approx(1)
    fetched = middle.predict_on_demand(X.iloc[510].to_dict().__getitem__)
    assert fetched.prediction == middle.predict(X.iloc[[510]])[0]


# ---- the last stage on demand


@pytest.fixture(scope="module")
def on_demand(data):
    """Stages of our own trees, the last of which is bought one feature at a time."""
    X, y = data
    booster = ff.FrugalBoostingClassifier(n_estimators=12, max_leaf_nodes=8)
    return FrugalCascadeClassifier(
        estimator=booster, n_stages=5, stop="label", feature_costs=COSTS, random_state=0
    ).fit(X[:500], y[:500])


def ends_of(model):
    """Models with policies that differ in their last stage."""
    by_end = {policy.last_step(): cost for policy, cost in zip(model.policies_, model.curve_.cost, strict=True)}
    return [model.at_budget(cost) for cost in by_end.values()]


def test_on_demand_labels_are_those_of_whole_panels_for_less(on_demand, data):
    X = data[0][500:]
    saved = 0.0
    for model in ends_of(on_demand):
        whole = clone(model).set_params(stop="all")
        whole.__dict__.update({name: value for name, value in model.__dict__.items() if name.endswith("_")})
        assert np.array_equal(model.predict(X), whole.predict(X))
        labels, bills = model.predict_with_cost(X)
        assert np.array_equal(labels, whole.predict(X))
        assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], labels)
        assert not (model.acquisition_mask(X) & ~whole.acquisition_mask(X)).any()
        assert (bills <= whole.acquisition_cost(X)).all()
        saved += (whole.acquisition_cost(X) - bills).mean()
    assert saved > 0.1


def test_on_demand_run_mask_bill_and_answer_agree(on_demand, data):
    X = data[0][500:510]
    for model in ends_of(on_demand):
        masks, answers, bills = model.acquisition_mask(X), model.predict_proba(X), model.acquisition_cost(X)
        for i in range(len(X)):
            run, values = model.start(), X.iloc[i]
            while (feature := run.next_feature()) is not None:
                assert run.expected_cost() >= 0
                run.provide(feature, values[feature])
                run = model.resume(run.to_json())
            assert set(run.acquired) == {NAMES[f] for f in np.flatnonzero(masks[i])}
            assert run.spent == bills[i]
            assert np.array_equal(run.probabilities, answers[i])
            assert run.expected_cost() == 0


def test_on_demand_takes_what_is_known_and_does_without_what_is_refused(on_demand, data):
    model, values = on_demand.at_budget(None), data[0].iloc[530]
    known, refusing = model.start(), model.start()
    for name in NAMES:
        known.provide(name, values[name], free=True)
    assert known.is_over
    assert known.spent == 0
    assert known.prediction == model.predict(data[0].iloc[[530]])[0]
    while (feature := refusing.next_feature()) is not None:
        refusing.refuse(feature)
    assert refusing.spent == 0
    assert refusing.prediction in model.classes_


def test_on_demand_bills_out_of_fold_are_close_to_those_of_other_rows(on_demand, data):
    X, y = data
    measured = ff.evaluation.cost_curve(on_demand, X[500:], y[500:])
    assert np.abs(measured.cost - on_demand.curve_.cost).max() < 0.12 * COSTS.total
    dear = on_demand.at_budget(None)
    assert dear.acquisition_cost(X[500:]).mean() == pytest.approx(measured.cost[-1])


def test_on_demand_with_an_eval_set(data):
    X, y = data
    model = FrugalCascadeClassifier(
        3.0, estimator=FOREST, n_stages=3, stop="label", order="forward", feature_costs=COSTS, random_state=0
    ).fit(X[:400], y[:400], eval_set=(X[400:500], y[400:500]))
    assert 1 - model.score(X[400:500], y[400:500]) == pytest.approx(model.validation_error_)
    assert model.acquisition_cost(X[400:500]).mean() == pytest.approx(model.validation_cost_)


def test_on_demand_model_is_the_same_from_a_file(on_demand, data, tmp_path):
    X = data[0][500:]
    on_demand.save(tmp_path / "model.ff")
    for loaded in (ff.load(tmp_path / "model.ff"), pickle.loads(pickle.dumps(on_demand))):
        assert np.array_equal(loaded.acquisition_mask(X), on_demand.acquisition_mask(X))
        assert np.array_equal(loaded.predict_proba(X), on_demand.predict_proba(X))


def test_stages_without_trees_are_bought_together(data):
    X, y = data[0][["age", "bmi", "insulin", "ldl", "noise"]], data[1]
    both = [
        FrugalCascadeClassifier(estimator=GaussianNB(), n_stages=3, stop=stop, random_state=0).fit(X, y)
        for stop in ("all", "label")
    ]
    assert np.array_equal(both[0].acquisition_mask(X), both[1].acquisition_mask(X))


# ---- budgets


def test_one_fit_gives_every_budget(model, data):
    X, y = data
    cost, error = model.curve_.cost, model.curve_.error
    assert (np.diff(cost) > 0).all()
    assert (np.diff(model.losses_) < 0).all()
    assert (error < model.curve_.baseline_error).all()
    for budget in (0.5, 1.5, 4.0):
        smaller = model.at_budget(budget)
        dearest = np.flatnonzero(cost <= budget)[-1]  # of falling losses the least
        assert smaller.validation_cost_ == cost[dearest]
        assert smaller.validation_error_ == error[dearest]
        same = clone(model).set_params(budget=budget).fit(X[:500], y[:500])
        assert np.array_equal(same.predict_proba(X), smaller.predict_proba(X))
    assert model.budget is None
    assert model.at_budget(None).validation_error_ == error[-1]


def test_more_money_is_spent_where_it_helps(model, data):
    X, y = data[0][500:], data[1][500:]
    free, dear = model.at_budget(0), model.at_budget(None)
    assert free.acquisition_cost(X).sum() == 0
    assert dear.acquisition_cost(X).mean() > 1
    assert dear.score(X, y) > free.score(X, y) + 0.1


def test_budget_0_reads_what_is_free(model, data):
    X, y = data
    mask = model.at_budget(0).acquisition_mask(X)
    assert set(np.flatnonzero(mask.any(axis=0))) <= {0}
    everything_free = clone(model).set_params(budget=0, feature_costs=np.zeros(7), order="forward").fit(X, y)
    assert everything_free.score(X, y) > 0.8
    assert everything_free.acquisition_mask(X).any()


def test_a_budget_of_just_the_cheapest_feature_buys_it():
    X, y = load_iris(return_X_y=True)
    model = FrugalCascadeClassifier(0.1, estimator=BOOSTER, feature_costs=[0.1] * 4, n_stages=3, random_state=0)
    model.fit(X, y)
    assert (model.acquisition_cost(X) == 0.1).all()
    assert model.score(X, y) > 0.9


def test_a_budget_below_every_panel_buys_nothing_and_says_so(data):
    X, y = data
    model = FrugalCascadeClassifier(0.1, estimator=BOOSTER, feature_costs=[5.0] * 7, n_stages=2, random_state=0)
    with pytest.warns(UserWarning, match=r"no panel fits a budget of 0\.1: the cheapest cascade costs 5 per row"):
        model.fit(X[:200], y[:200])
    most = max(["ill", "well"], key=y[:200].tolist().count)
    assert (model.predict(X) == most).all()
    assert (model.acquisition_cost(X) == 0).all()
    run = model.start()
    assert run.next_feature() is None
    assert run.prediction == most
    assert run.expected_cost() == 0
    assert model.panels_ == []


def test_a_tradeoff_too_large_buys_nothing_and_a_small_one_what_it_is_worth(data):
    X, y = data[0][:300], data[1][:300]
    quick = FrugalCascadeClassifier(estimator=BOOSTER, feature_costs=[1.0] * 7, n_stages=3, order="forward")
    dear = clone(quick).set_params(tradeoff=100, random_state=0).fit(X, y)
    assert (dear.acquisition_cost(X) == 0).all()
    assert dear.validation_error_ == dear.curve_.baseline_error
    cheap = clone(quick).set_params(tradeoff=0.02, random_state=0).fit(X, y)
    objective = cheap.curve_.error + 0.02 * cheap.curve_.cost
    assert cheap.validation_error_ + 0.02 * cheap.validation_cost_ == pytest.approx(objective.min())
    assert cheap.acquisition_cost(X).mean() > 0


def test_costs_times_k_and_tradeoff_over_k_is_the_same_model(data):
    X, y = data[0][:300], data[1][:300]
    one = FrugalCascadeClassifier(tradeoff=0.02, estimator=BOOSTER, feature_costs=COSTS, n_stages=3, random_state=0)
    four = clone(one).set_params(tradeoff=0.005, feature_costs=COSTS.scaled(4))
    assert np.array_equal(one.fit(X, y).predict_proba(X), four.fit(X, y).predict_proba(X))
    assert np.array_equal(4 * one.acquisition_cost(X), four.acquisition_cost(X))


def test_the_curve_can_be_measured_on_other_rows(model, data):
    X, y = data[0][500:], data[1][500:]
    curve = ff.evaluation.cost_curve(model, X, y)
    assert len(curve) == len(model.curve_)
    chosen = model.at_budget(float(model.curve_.cost[3]))
    assert chosen.acquisition_cost(X).mean() == pytest.approx(curve.cost[3])
    assert 1 - chosen.score(X, y) == pytest.approx(curve.error[3])


def test_eval_set_measures_and_chooses(data):
    X, y = data
    quick = FrugalCascadeClassifier(
        2.0, estimator=BOOSTER, n_stages=3, order="forward", feature_costs=COSTS, random_state=0
    )
    model = quick.fit(X[:400], y[:400], eval_set=(X[400:500], y[400:500]))
    assert 1 - model.score(X[400:500], y[400:500]) == pytest.approx(model.validation_error_)
    assert model.acquisition_cost(X[400:500]).mean() == pytest.approx(model.validation_cost_)
    assert model.validation_cost_ <= 2
    assert (np.diff(model.losses_) < 0).all()


# ---- data of all kinds


def test_several_classes_stop_by_the_lead_of_the_best_two():
    X, y = make_classification(600, 8, n_informative=5, n_classes=4, n_clusters_per_class=1, random_state=2)
    model = FrugalCascadeClassifier(2.5, estimator=BOOSTER, n_stages=4, order="backward", random_state=0).fit(
        X[:400], y[:400]
    )
    assert model.policy_.thresholds.shape[1] == 4
    bills = model.acquisition_cost(X[400:])
    assert len(np.unique(bills)) > 1
    assert model.score(X[400:], y[400:]) > 0.55
    assert model.predict_proba(X).shape == (600, 4)


def test_polars_pandas_and_columns_in_another_order(middle, data):
    X = data[0][500:520]
    expected = middle.predict_proba(X)
    assert np.array_equal(middle.predict_proba(pl.from_pandas(X)), expected)
    assert np.array_equal(middle.predict_proba(X[NAMES[::-1]]), expected)


def test_threads_and_seeds(data):
    X, y = data[0][:300], data[1][:300]
    quick = FrugalCascadeClassifier(estimator=BOOSTER, n_stages=3, order="forward", random_state=3)
    one, two = clone(quick).fit(X, y), clone(quick).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert np.array_equal(one.curve_.cost, two.curve_.cost)
    other = clone(quick).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_rows_of_weight_0_are_left_out_and_weights_count(data):
    X, y = data[0][:300], data[1][:300]
    quick = FrugalCascadeClassifier(estimator=BOOSTER, n_stages=2, order="forward", random_state=0)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    fewer = clone(quick).fit(X[:200], y[:200])
    assert np.array_equal(clone(quick).fit(X, y, sample_weight=weight).predict_proba(X), fewer.predict_proba(X))
    ill = clone(quick).fit(X, y, sample_weight=np.where(y == "ill", 5.0, 1.0))
    assert (ill.predict(X) == "ill").sum() > (clone(quick).fit(X, y).predict(X) == "ill").sum()


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(max_iter=2000), GaussianNB(), FOREST, RandomForestClassifier(10)]
)
def test_any_classifier_can_be_a_stage(estimator):
    X, y = load_iris(return_X_y=True)
    model = FrugalCascadeClassifier(1.5, estimator=estimator, n_stages=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.validation_cost_ <= 1.5


def test_an_estimator_that_needs_all_values_says_so(data):
    X, y = load_iris(return_X_y=True)
    model = FrugalCascadeClassifier(estimator=LogisticRegression(max_iter=2000), n_stages=1, random_state=0)
    with pytest.raises(ValueError, match="contains NaN"):
        clone(model).fit(np.where(X > 6, np.nan, X), y)
    run = model.fit(X, y).start()
    for feature in range(3):
        run.provide(feature, 1.0)
    with pytest.raises(ValueError, match="LogisticRegression cannot do without 3; take an estimator that accepts"):
        run.refuse(3)


def test_default_is_a_booster_that_stops_early_and_a_forest_for_few_rows():
    X, y = make_classification(1200, 4, random_state=0)
    model = FrugalCascadeClassifier(n_stages=1, order="forward", random_state=0).fit(X, y)
    booster = model.cascades_[0].stages[-1].models[0]
    assert type(booster) is ff.FrugalBoostingClassifier is type(default_estimator(1200))
    assert booster.n_estimators_ < booster.n_estimators
    assert model.score(X, y) > 0.8
    few = FrugalCascadeClassifier(n_stages=1, order="forward", random_state=0).fit(X[:200], y[:200])
    assert type(few.cascades_[0].stages[-1].models[0]) is ff.StandardForestClassifier


def test_default_models_can_be_saved(tmp_path):
    X, y = make_classification(200, 4, random_state=0)
    model = FrugalCascadeClassifier(n_stages=2, random_state=0).fit(X, y)
    model.save(tmp_path / "cascade.ff")
    again = ff.load(tmp_path / "cascade.ff")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.at_budget(1).acquisition_mask(X), model.at_budget(1).acquisition_mask(X))


# ---- few rows


def test_fewer_rows_than_folds():
    X, y = np.array([[0.0], [1.0]]), np.array(["a", "b"])
    model = FrugalCascadeClassifier(n_folds=5, random_state=0).fit(X, y)
    assert set(model.predict(X)) <= {"a", "b"}
    X, y = load_iris(return_X_y=True)
    assert FrugalCascadeClassifier(estimator=BOOSTER, n_folds=5, random_state=0).fit(X[48:52], y[48:52]).predict(X).size


def test_a_class_with_fewer_rows_than_folds(data):
    X, y = data[0][:200].drop(columns="town"), data[1][:200].copy()
    y[7] = "rare"
    model = FrugalCascadeClassifier(n_stages=2, order="backward", random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (200, 3)
    assert "rare" in model.classes_


# ---- interruptions


class _Interrupting(HistGradientBoostingClassifier):
    """Presses Ctrl-C when fitted on this many columns."""

    at = 3

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] == self.at:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_interrupted_training_keeps_the_stages_so_far():
    X, y = make_classification(300, 7, n_informative=5, n_redundant=2, random_state=0)
    model = FrugalCascadeClassifier(
        estimator=_Interrupting(max_iter=10, early_stopping=False), n_stages=6, order="backward", random_state=0
    )
    with pytest.raises(KeyboardInterrupt, match=r"stopped after \d stages; the model is made of these"):
        model.fit(X, y)
    assert all(len(stage.panel) > 3 or len(stage.panel) == 0 for stage in model.cascades_[0].stages)
    assert model.score(X, y) > 0.8


def test_interrupted_before_the_first_stage_nothing_is_kept():
    X, y = make_classification(100, 7, random_state=0)
    _Interrupting.at = 7
    try:
        model = FrugalCascadeClassifier(estimator=_Interrupting(max_iter=5))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        _Interrupting.at = 3
    with pytest.raises(NotFittedError):
        model.predict(X)


# ---- bad input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"budget": -1}, ValueError, "budget is -1; expected a finite number of at least 0 or None"),
        ({"tradeoff": np.nan}, ValueError, "tradeoff is nan; expected a finite number"),
        ({"budget": 1, "tradeoff": 1}, ValueError, "budget and tradeoff are both given; .* leave one None"),
        ({"n_stages": 0}, ValueError, "n_stages is 0; expected a whole number of at least 1"),
        ({"n_folds": 1}, ValueError, "n_folds is 1; expected a whole number of at least 2"),
        ({"order": "random"}, ValueError, "order is 'random'; expected one of 'both', 'forward', 'backward'"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0; expected None"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected None"),
        ({"estimator": RidgeClassifier()}, TypeError, r"expected a classifier with `predict_proba`"),
        ({"estimator": "forest"}, TypeError, "estimator is 'forest'; expected a classifier"),
        ({"feature_costs": [1, 2]}, ValueError, "feature_costs has 2 entries but X has 7 columns"),
        ({"categorical_features": ["city"]}, ValueError, "categorical_features names 'city'"),
    ],
)
def test_mistakes_are_named_and_an_earlier_fit_survives(options, error, message, model, data):
    before = model.predict_proba(data[0][:5])
    changed = pickle.loads(pickle.dumps(model)).set_params(**options)
    with pytest.raises(error, match=message) as caught:
        changed.fit(*data)
    assert len(str(caught.value).splitlines()) == 1
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(data[0][:5]), before)
    assert vars(changed)["policies_"] is not None


def test_weights_for_an_estimator_that_takes_none(data):
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight; leave it out"):
        FrugalCascadeClassifier(estimator=KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(150))


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        ("rows", r"expected a pair \(X_val, y_val\)"),
        (lambda X, y: (X, np.full(len(X), "dead")), "labels that y does not have: dead"),
    ],
)
def test_eval_sets_that_do_not_fit(eval_set, message, data):
    X, y = data
    given = eval_set(X, y) if callable(eval_set) else eval_set
    with pytest.raises(ValueError, match=message):
        FrugalCascadeClassifier(estimator=BOOSTER).fit(X, y, eval_set=given)


# ---- files


def test_a_stage_of_another_library_cannot_be_saved(middle, tmp_path):
    with pytest.raises(TypeError, match=re.escape("joblib")):
        middle.save(tmp_path / "cascade.ff")
    assert not list(tmp_path.iterdir())


def test_real_data(data_dir):
    """Spambase, unit prices: four features of 57 a row, and an error that a whole forest of BudgetRF has at twelve."""
    rows = ff.datasets.load("spambase", data_dir)
    order = np.random.default_rng(0).permutation(len(rows.X))
    X, y = rows.X[order], rows.y[order]
    model = FrugalCascadeClassifier(4, n_stages=8, order="forward", random_state=0).fit(X[:3000], y[:3000])
    labels, bills = model.predict_with_cost(X[3000:])
    assert np.mean(labels != y[3000:]) < 0.12
    assert bills.mean() < 4.4
    assert ((bills == 0) | (bills >= 1)).all()

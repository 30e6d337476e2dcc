"""Everything here is a scikit-learn citizen: its own checks, and the tools its users combine estimators with."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.impurities import Powers

EXPECTED_FAILURES = PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier]  # of its own forest: weights and bootstrap

CHECKED = [
    ff.StandardForestClassifier(n_estimators=10),
    ff.StandardForestClassifier(n_estimators=5, criterion="entropy", max_features=None, bootstrap=False),
    ff.StandardForestClassifier(n_estimators=10, voting="hard", thresholds="random", oob_score=True),
    ff.StandardForestClassifier(n_estimators=8, stop="label"),
    ff.BudgetForestClassifier(n_estimators=10),
    ff.BudgetForestClassifier(n_estimators=10, alpha=[0, 2], stop="label"),
    ff.BudgetForestClassifier(n_estimators=10, alpha=[0, 1], splitting="expected", thresholds="random"),
    ff.BudgetForestClassifier(n_estimators=10, alpha=0, charge="path", voting="soft"),
    ff.BudgetForestClassifier(n_estimators=20, alpha=0, charge="forest"),
    ff.BudgetForestClassifier(n_estimators=5, impurity=Powers(2), max_features="sqrt", oob_score=True),
    ff.PrunedForestClassifier(ff.StandardForestClassifier(n_estimators=8, random_state=0)),
]


@parametrize_with_checks(CHECKED, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_expected_failures_are_about_weights_only():
    assert all("sample_weight" in name for name in EXPECTED_FAILURES)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl"]
COSTS = ff.FeatureCosts(
    [5, 5.5, 5, 5, 5], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 0.25)}
)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(240, 5, n_informative=3, n_redundant=0, random_state=3)
    return pd.DataFrame(X, columns=NAMES), np.array(["well", "ill"])[y]


@pytest.fixture(
    params=[
        ff.StandardForestClassifier,
        ff.BudgetForestClassifier,
        ff.FrugalBoostingClassifier,
        ff.GreedyMiserClassifier,
    ]
)
def model(request):
    return request.param(n_estimators=8, feature_costs=COSTS, random_state=0)


# ---- parameters


def test_clone_keeps_parameters_and_forgets_the_fit(model, data):
    copy = clone(model.fit(*data))
    assert copy.get_params() == model.get_params()
    assert copy.feature_costs is COSTS
    with pytest.raises(NotFittedError):
        copy.predict(data[0])


@pytest.mark.parametrize("given", [dict.fromkeys(NAMES, 2.0), [1, 2, 3, 4, 5], pd.Series(dict.fromkeys(NAMES, 1.0))])
def test_clone_takes_costs_of_any_kind(given, data):
    model = clone(ff.StandardForestClassifier(3, feature_costs=given)).fit(*data)
    assert model.feature_costs_.feature_names == tuple(NAMES)


def test_set_params_takes_effect_at_the_next_fit(model, data):
    dear = COSTS.scaled(10)
    before = model.fit(*data).acquisition_cost(data[0])
    model.set_params(feature_costs=dear)
    assert np.array_equal(model.acquisition_cost(data[0]), before)
    bill = model.fit(*data).acquisition_cost(data[0])
    assert np.array_equal(bill, dear.of_rows(model.acquisition_mask(data[0])))


def test_set_params_refuses_unknown_names(model):
    with pytest.raises(ValueError, match="Invalid parameter 'costs'"):
        model.set_params(costs=COSTS)


def test_tags_say_what_is_possible(model):
    tags = get_tags(model)
    assert is_classifier(model)
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert not tags.input_tags.sparse


def test_representations_name_the_costs(model, data):
    assert "FeatureCosts(5 features" in repr(model)
    for state in (model, model.fit(*data)):
        assert type(model).__name__ in estimator_html_repr(state)


# ---- tools


def test_grid_search_over_budgets_and_costs(data):
    grid = {"budget": [1.0, 20.0], "feature_costs": [COSTS, COSTS.scaled(0.5)], "alpha": ["auto", 4]}
    model = ff.BudgetForestClassifier(n_estimators=5, random_state=0)
    with pytest.warns(UserWarning, match="no tree fits a budget of 1:"):
        search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(*data)
    assert search.best_params_["budget"] == 20.0
    assert search.best_score_ > 0.7
    assert np.array_equal(search.predict(data[0]), search.best_estimator_.predict(data[0]))


def test_cross_validation(model, data):
    scores = cross_val_score(model, *data, cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert scores.mean() > 0.75
    probabilities = cross_val_predict(model, *data, cv=3, method="predict_proba")
    assert np.allclose(probabilities.sum(axis=1), 1)


def test_parallel_cross_validation_gives_the_same(model, data):
    one, two = (cross_val_score(model, *data, cv=2, n_jobs=n, error_score="raise") for n in (1, 2))
    assert np.array_equal(one, two)


def test_pipeline_hands_names_on(model, data):
    X, y = data
    scaler = StandardScaler().set_output(transform="pandas")
    pipe = make_pipeline(scaler, model).fit(X, y)
    assert list(pipe[-1].feature_names_in_) == NAMES
    assert np.array_equal(pipe.predict(X), pipe[-1].predict(scaler.transform(X)))
    with sklearn.config_context(transform_output="polars"):
        in_polars = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
        assert np.array_equal(in_polars.predict(X), pipe.predict(X))


def test_one_against_the_rest(data):
    X, y = data
    three = np.where(X["age"] > 1, "old", y)
    wrapped = OneVsRestClassifier(ff.StandardForestClassifier(5, random_state=0)).fit(X, three)
    assert set(wrapped.predict(X)) == {"ill", "old", "well"}


def test_sample_weight_is_routed(model, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    direct = clone(model).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asks)
        pipe.set_output(transform="pandas").fit(X, y, sample_weight=weight)
        search = GridSearchCV(clone(asks), {"n_estimators": [8]}, cv=2, error_score="raise")
        search.fit(X, y, sample_weight=weight)
    assert np.array_equal(pipe.predict_proba(X), direct.predict_proba(X))
    assert np.array_equal(search.best_estimator_.predict_proba(X), direct.predict_proba(X))


def test_eval_set_is_routed(data):
    X, y = data
    model = ff.BudgetForestClassifier(n_estimators=5, random_state=0)
    direct = clone(model).fit(X[:120], y[:120], eval_set=(X[120:], y[120:]))
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline("passthrough", model.set_fit_request(eval_set=True))
        pipe.fit(X[:120], y[:120], eval_set=(X[120:], y[120:]))
    assert pipe[-1].validation_error_ == direct.validation_error_
    assert len(pipe[-1].curve_) == len(direct.curve_)


@pytest.mark.parametrize("store", ["pickle", "joblib"])
def test_stored_models_are_the_same(store, model, data, tmp_path):
    X, y = data
    has_bags = hasattr(model, "oob_score")
    model.set_params(**({"oob_score": True} if has_bags else {})).fit(X, y)
    if store == "pickle":
        back = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        back = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(back.acquisition_mask(X), model.acquisition_mask(X))
    assert np.array_equal(back.acquisition_cost(X), model.acquisition_cost(X))
    assert not has_bags or back.oob_score_ == model.oob_score_
    if isinstance(model, ff.BudgetForestClassifier):
        assert np.array_equal(back.at_budget(8).predict(X), model.at_budget(8).predict(X))
        assert np.array_equal(back.curve_.cost, model.curve_.cost)


def test_permutation_importance_finds_what_matters(data):
    X, _ = data
    y = np.where(X["bmi"] > 0, "high", "low")
    model = ff.StandardForestClassifier(10, random_state=0).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert np.argmax(found.importances_mean) == NAMES.index("bmi")
    assert np.argmax(model.feature_importances_) == NAMES.index("bmi")


# ---- frames


def test_polars_pandas_and_numpy_give_the_same_forest(model, data):
    X, y = data
    answers = []
    for frame in (X, pl.from_pandas(X), X.to_numpy()):
        fitted = clone(model).fit(frame, y)
        assert hasattr(fitted, "feature_names_in_") == (not isinstance(frame, np.ndarray))
        answers.append((fitted.predict_proba(frame), fitted.acquisition_cost(frame)))
    for probabilities, cost in answers[1:]:
        assert np.array_equal(probabilities, answers[0][0])
        assert np.array_equal(cost, answers[0][1])


def test_names_are_kept_and_forgotten(model, data):
    X, y = data
    model.fit(X, y)
    assert model.feature_names_in_.dtype == object
    assert list(model.feature_names_in_) == NAMES
    assert model.n_features_in_ == 5
    model.fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")


def test_names_on_one_side_only_are_warned_about(model, data):
    X, y = data
    model.fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but .* was fitted with") as caught:
        by_position = model.predict(X.to_numpy())
    assert caught[0].filename == __file__
    assert np.array_equal(by_position, model.predict(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.acquisition_cost(X.set_axis(range(5), axis=1))
    model.fit(X.to_numpy(), y)
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without feature names"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_fitting_leaves_the_data_alone(model, dtype, order):
    random = np.random.default_rng(0)
    X = np.array(random.integers(0, 2 if dtype is bool else 50, (120, 5)), dtype=dtype, order=order)
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    weight = random.uniform(0, 1, len(y))
    X_before, y_before, weight_before = X.copy(), y.copy(), weight.copy()
    for array in (X, y, weight):
        array.flags.writeable = False
    model.fit(X, y, sample_weight=weight).predict_with_cost(X)
    assert np.array_equal(X, X_before)
    assert np.array_equal(y, y_before)
    assert np.array_equal(weight, weight_before)
    assert model.score(X, y) > 0.9

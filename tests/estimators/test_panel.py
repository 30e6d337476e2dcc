"""PanelClassifier: the same features for every row, whatever chose them and whatever reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.selection import AUCSelector, FixedSelector, ShallowTreeSelector, SubmodularSelector

QUICK = {"xi": 1, "n_forest_trees": 20, "random_state": 0}
FOREST = ff.StandardForestClassifier(n_estimators=20, random_state=0)


@parametrize_with_checks(
    [
        ff.PanelClassifier(AUCSelector(**QUICK), FOREST),
        ff.PanelClassifier(AUCSelector(2, **QUICK), GaussianNB()),
        ff.PanelClassifier(ShallowTreeSelector(3, n_estimators=20, **QUICK), FOREST),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "a forest draws rows: weights and repetitions differ",
        "check_sample_weight_equivalence_on_sparse_data": "a forest draws rows: weights and repetitions differ",
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "group"]
COSTS = ff.FeatureCosts(
    [0.3, 0.5, 1, 1.5, 1, 0.4], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2)}
)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(160, 6, n_informative=4, n_redundant=0, random_state=3)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["group"] = pd.cut(frame["group"], 3, labels=["low", "middle", "high"]).astype(str)
    return frame, np.array(["ill", "well"])[y]


@pytest.fixture(scope="module")
def model(data):
    selector = FixedSelector(["group", "glucose", "ldl"], feature_costs=COSTS)
    return ff.PanelClassifier(selector, random_state=0).fit(*data)


def test_every_row_pays_for_the_panel(model, data):
    X, _ = data
    assert model.cost_ == 4.4
    assert (model.acquisition_cost(X) == 4.4).all()
    assert (model.acquisition_mask(X) == [False, False, True, False, True, True]).all()
    labels, bills = model.predict_with_cost(X)
    assert np.array_equal(labels, model.predict(X))
    assert (bills == 4.4).all()


def test_default_is_the_full_forest_on_the_panel(model):
    assert isinstance(model.estimator_, ff.StandardForestClassifier)
    assert (model.estimator_.n_estimators, model.estimator_.max_features) == (1000, "sqrt")
    assert model.estimator_.n_features_in_ == 3
    assert model.estimator_.encoder_.is_categorical.tolist() == [False, False, True]


def test_frames_need_only_the_panel(model, data):
    X, y = data
    panel = X[["ldl", "group", "glucose"]]
    assert np.array_equal(model.predict_proba(panel), model.predict_proba(X))
    assert np.array_equal(model.predict_proba(pl.from_pandas(panel)), model.predict_proba(X))
    assert model.score(panel, y) == model.score(X, y)
    with pytest.raises(ValueError, match="lacks 1 of the 3 columns that PanelClassifier was fitted with: ldl"):
        model.predict(X.drop(columns="ldl"))


def test_run_mask_and_bill_agree(model, data):
    X, _ = data
    labels, probabilities = model.predict(X), model.predict_proba(X)
    for row in range(5):
        run, values = model.start(), X.iloc[row]
        assert run.expected_cost() == pytest.approx(4.4)
        while (feature := run.next_feature()) is not None:
            run.provide(feature, values[feature])
            run = model.resume(run.to_json())
        assert set(run.acquired) == {"group", "glucose", "ldl"}
        assert run.spent == 4.4
        assert run.prediction == labels[row]
        assert np.array_equal(run.probabilities, probabilities[row])
    assert model.start().next_feature() == "group"  # the cheapest first


def test_values_are_fetched(model, data):
    X, _ = data
    run = model.predict_on_demand(X.iloc[3].to_dict().__getitem__)
    assert run.prediction == model.predict(X.iloc[[3]])[0]

    async def fetch(feature):
        return X.iloc[3][feature]

    assert model.predict_on_demand(fetch).prediction == run.prediction


def test_refused_features_are_missing_values(model, data):
    X, _ = data
    run = model.start()
    run.refuse("glucose")
    run.provide("ldl", 0.5)
    run.provide("group", "low")
    assert run.spent == 3.4
    without = X.iloc[[0]].assign(glucose=np.nan, ldl=0.5, group="low")
    assert np.array_equal(run.probabilities, model.predict_proba(without)[0])


def test_an_estimator_that_needs_all_values_says_so(data):
    X, y = data
    model = ff.PanelClassifier(FixedSelector(["age", "bmi"], feature_costs=COSTS), LogisticRegression()).fit(X, y)
    run = model.start()
    run.provide("age", 1.0)
    with pytest.raises(ValueError, match="LogisticRegression cannot do without 'bmi'"):
        run.refuse("bmi")


def test_selectors_of_scikit_learn_and_estimators_without_probabilities():
    X, y = load_iris(return_X_y=True)
    model = ff.PanelClassifier(SelectKBest(k=2), RidgeClassifier(), feature_costs=[1, 2, 3, 4]).fit(X, y)
    assert model.panel_.tolist() == [2, 3]
    assert model.cost_ == 7
    assert np.array_equal(model.predict(X), RidgeClassifier().fit(X[:, 2:], y).predict(X[:, 2:]))
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert ff.PanelClassifier(SelectKBest(k=1), GaussianNB()).fit(X, y).cost_ == 1  # unit costs


def test_prices_come_from_the_selector_unless_given(data):
    assert ff.PanelClassifier(FixedSelector(["age"], feature_costs=COSTS), FOREST).fit(*data).cost_ == 0.3
    dearer = ff.PanelClassifier(FixedSelector(["age"], feature_costs=COSTS), FOREST, feature_costs=COSTS.scaled(2))
    assert dearer.fit(*data).cost_ == 0.6


def test_an_empty_panel_answers_with_the_most_frequent_class(data):
    X, y = data
    model = ff.PanelClassifier(AUCSelector(0.1, feature_costs=COSTS, **QUICK), FOREST)
    with pytest.warns(UserWarning, match="'age' for 0.3; the panel is empty"):
        model.fit(X, y)
    most = max(["ill", "well"], key=list(y).count)
    assert (model.predict(X) == most).all()
    assert (model.acquisition_cost(X) == 0).all()
    assert model.start().prediction == most
    assert model.start().next_feature() is None


def test_weights_reach_the_estimator_and_rows_of_weight_zero_are_left_out(data):
    X, y = data
    weights = np.where(np.arange(len(y)) < 100, 1.0, 0.0)
    selector = AUCSelector(1, feature_costs=COSTS, **QUICK)
    weighted = ff.PanelClassifier(selector, FOREST).fit(X, y, sample_weight=weights)
    fewer = ff.PanelClassifier(selector, FOREST).fit(X[:100], y[:100])
    assert np.array_equal(weighted.predict_proba(X), fewer.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"selector": None},
            "selector is None; expected a selector of scikit-learn or frugalforest with `get_support`",
        ),
        ({"estimator": "forest"}, "estimator is 'forest'; expected a estimator"),
    ],
)
def test_mistakes_are_named(options, message, data):
    model = ff.PanelClassifier(FixedSelector(["age"], feature_costs=COSTS)).set_params(**options)
    with pytest.raises(TypeError, match=message):
        model.fit(*data)


def test_unknown_features_of_a_fixed_panel(data):
    with pytest.raises(ValueError, match=r"features: unknown: .*height"):
        ff.PanelClassifier(FixedSelector(["height"], feature_costs=COSTS)).fit(*data)


def test_saved_and_loaded(model, data, tmp_path):
    X, y = data
    model.save(tmp_path / "panel.ff")
    loaded = ff.load(tmp_path / "panel.ff")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.cost_ == model.cost_
    chosen = ff.PanelClassifier(ShallowTreeSelector(3, feature_costs=COSTS, n_estimators=20, **QUICK), FOREST).fit(X, y)
    chosen.save(tmp_path / "chosen.ff")
    again = ff.load(tmp_path / "chosen.ff")
    assert again.selector_.path_ == chosen.selector_.path_
    assert np.array_equal(again.predict_proba(X), chosen.predict_proba(X))
    foreign = ff.PanelClassifier(FixedSelector(["age"], feature_costs=COSTS), LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="LogisticRegression"):
        foreign.save(tmp_path / "foreign.ff")


def test_a_callable_price_needs_a_list_for_the_bill(data):
    selector = SubmodularSelector(feature_costs=lambda mask: float(mask.sum()), solver="min-norm-point")
    with pytest.raises(TypeError, match="give feature_costs to PanelClassifier"):
        ff.PanelClassifier(selector, FOREST).fit(*data)
    X, y = data[0].drop(columns="group"), data[1]
    model = ff.PanelClassifier(SubmodularSelector(budget=4, feature_costs=[1, 2, 3, 4, 5]), FOREST).fit(X, y)
    assert model.cost_ <= 4

"""PreselectedClassifier: what was not selected is never read, and the bill is that of what was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.selection import AUCSelector, FixedSelector, SubmodularSelector

FOREST = ff.PenalizedForestClassifier(0.05, n_estimators=20, random_state=0)
NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "group"]
COSTS = ff.FeatureCosts(
    [0.3, 0.5, 1, 1.5, 1, 0.4], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2)}
)


@parametrize_with_checks(
    [ff.PreselectedClassifier(AUCSelector(xi=1, path_errors=False, n_forest_trees=10, random_state=0), FOREST)],
    expected_failed_checks=lambda estimator: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(200, 6, n_informative=4, n_redundant=0, random_state=3)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["group"] = pd.cut(frame["group"], 3, labels=["low", "middle", "high"]).astype(str)
    return frame, np.array(["ill", "well"])[y]


@pytest.fixture(scope="module")
def model(data):
    return ff.PreselectedClassifier(FixedSelector(["age", "glucose", "group"]), FOREST, feature_costs=COSTS).fit(*data)


def test_only_selected_features_are_read_and_paid(model, data):
    X, y = data
    mask = model.acquisition_mask(X)
    assert not mask[:, [1, 3, 4]].any()
    assert mask[:, [0, 2, 5]].any(axis=0).all()
    assert np.array_equal(model.acquisition_cost(X), COSTS.of_rows(mask))
    assert model.score(X, y) > 0.8


def test_other_columns_do_not_matter(model, data):
    X, _ = data
    changed = X.assign(bmi=np.nan, insulin=1e6, ldl=-1.0)
    assert np.array_equal(model.predict_proba(X), model.predict_proba(changed))
    assert np.array_equal(model.predict_proba(X), model.predict_proba(X[["age", "glucose", "group"]]))
    assert np.array_equal(model.predict_proba(X), model.predict_proba(pl.from_pandas(X[NAMES[::-1]])))


def test_runs_ask_for_what_the_mask_says(model, data):
    X, _ = data
    labels, mask = model.predict(X), model.acquisition_mask(X)
    for row in range(5):
        run = model.predict_on_demand(X.iloc[row].to_dict().__getitem__)
        assert run.prediction == labels[row]
        assert set(run.acquired) == {NAMES[f] for f in np.flatnonzero(mask[row])}
    assert model.resume(model.start().to_json()).next_feature() == model.start().next_feature()


def test_selection_within_a_budget_keeps_bills_within_it(data):
    X, y = data
    model = ff.PreselectedClassifier(SubmodularSelector(budget=3.5), feature_costs=COSTS).fit(X, y)
    assert model.selector_.cost_ <= 3.5
    assert model.acquisition_cost(X).max() <= 3.5
    assert isinstance(model.estimator_, ff.PenalizedForestClassifier)


def test_all_selected_is_the_estimator_itself(data):
    X, y = data
    model = ff.PreselectedClassifier(FixedSelector(NAMES, feature_costs=COSTS), FOREST).fit(X, y)
    alone = ff.PenalizedForestClassifier(0.05, n_estimators=20, random_state=0, feature_costs=COSTS).fit(X, y)
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert np.array_equal(model.acquisition_mask(X), alone.acquisition_mask(X))


def test_arrays_and_selectors_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    model = ff.PreselectedClassifier(SelectKBest(k=2), ff.BudgetForestClassifier(3, n_estimators=10)).fit(X, y)
    assert not model.acquisition_mask(X)[:, :2].any()
    assert model.feature_costs_.total == 4


def test_saved_and_loaded(model, data, tmp_path):
    model.save(tmp_path / "model.ff")
    loaded = ff.load(tmp_path / "model.ff")
    assert np.array_equal(loaded.predict_proba(data[0]), model.predict_proba(data[0]))
    assert np.array_equal(loaded.acquisition_mask(data[0]), model.acquisition_mask(data[0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"selector": 3}, "selector is 3"), ({"estimator": RandomForestClassifier()}, "expected a classifier of frugal")],
)
def test_mistakes_are_named(options, message, data):
    with pytest.raises(TypeError, match=message):
        ff.PreselectedClassifier(FixedSelector(["age"])).set_params(**options).fit(*data)

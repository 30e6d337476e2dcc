"""CostLassoClassifier: one linear classifier, its bill, its path, and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators.cost_lasso import CostLassoClassifier
from frugalforest.estimators.linear_base import LinearVariant
from frugalforest.estimators.linear_checks import (
    check_linear_model,
    check_linear_tree,
    check_linear_variant,
    check_node_link,
)
from frugalforest.linear_trees import LinearTree, NodeLink
from frugalforest.persistence import register
from frugalforest.persistence.registry import name_of

for cls, check in {
    LinearTree: check_linear_tree,
    NodeLink: check_node_link,
    LinearVariant: check_linear_variant,
    CostLassoClassifier: check_linear_model,
}.items():
    if name_of(cls) is None:
        register(cls, check=check)


# Several trade-offs set rows aside at random, which is the reason scikit-learn gives for its own forest.
@parametrize_with_checks(
    [CostLassoClassifier(0.01), CostLassoClassifier([0.1, 0.001])],
    expected_failed_checks=lambda _: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl"]
COSTS = ff.FeatureCosts(
    [1, 1.5, 2, 2, 0.3], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 0.25)}
)
random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(300, 5)), columns=NAMES)
y = np.where(2 * X["age"] + X["glucose"] + 0.5 * X["bmi"] + 0.5 * random.normal(size=300) > 0, "ill", "well")


def test_every_row_pays_for_the_coefficients():
    for tradeoff in (0.001, 0.02, 0.1, 10):
        model = CostLassoClassifier(tradeoff, feature_costs=COSTS).fit(X, y)
        mask = model.acquisition_mask(X)
        assert (mask == (model.coef_[0] != 0)).all()
        assert (model.acquisition_cost(X) == COSTS.of(mask[0])).all()
    assert not mask.any()
    assert np.allclose(model.predict_proba(X), model.prior_)


def test_coefficients_predict():
    for data, labels in ((X.to_numpy(), y), load_iris(return_X_y=True)):
        model = CostLassoClassifier(0.005).fit(data, labels)
        margins = data @ model.coef_.T + model.intercept_
        chance = model.predict_proba(data)
        if len(model.classes_) == 2:
            assert np.allclose(chance[:, 1], 1 / (1 + np.exp(-margins[:, 0])))
        else:
            assert np.allclose(np.log(chance) - np.log(chance[:, :1]), margins - margins[:, :1])
        assert np.array_equal(model.predict(data), model.classes_[chance.argmax(axis=1)])


def test_without_a_price_it_is_logistic_regression():
    model = CostLassoClassifier(0, ridge=1e-3).fit(X, y)
    Z = (X - X.mean()) / X.std(ddof=0)
    plain = LogisticRegression(C=1 / (1e-3 * 300), tol=1e-8).fit(Z, y)
    assert np.allclose(model.predict_proba(X), plain.predict_proba(Z), atol=2e-3)


def test_dearer_features_leave_first():
    cheap = CostLassoClassifier(0.05, feature_costs=dict.fromkeys(NAMES, 1.0)).fit(X, y)
    dear = CostLassoClassifier(0.05, feature_costs={**dict.fromkeys(NAMES, 1.0), "age": 30}).fit(X, y)
    assert cheap.coef_[0, 0] != 0
    assert dear.coef_[0, 0] == 0


def test_one_path_gives_all_tradeoffs():
    tradeoffs = [0.003, 0.02, 0.1]
    model = CostLassoClassifier(tradeoffs, feature_costs=COSTS).fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    for tradeoff, variant, cost in zip(tradeoffs, model.variants_, model.curve_.cost, strict=True):
        alone = CostLassoClassifier(tradeoff, feature_costs=COSTS).fit(X[:200], y[:200])
        assert np.allclose(alone.predict_proba(X), variant.read(X.to_numpy())[0], atol=2e-3)
        assert model.at_budget(float(cost)).acquisition_cost(X)[0] <= cost
    assert (np.diff(model.curve_.cost) <= 0).all()
    with pytest.warns(UserWarning, match="no setting fits a budget of 0"):
        assert not model.at_budget(0).acquisition_mask(X).any()


def test_auto_finds_the_range():
    model = CostLassoClassifier(feature_costs=COSTS, random_state=0).fit(X, y)
    assert len(model.curve_) == 20
    assert model.curve_.cost[-1] == 0
    assert model.curve_.cost[0] > 3
    assert model.score(X, y) > 0.85
    curve = ff.evaluation.cost_curve(model, X, y)
    assert len(curve) == len(model.curve_.frontier())


def test_runs_buy_the_panel():
    model = CostLassoClassifier(0.02, feature_costs=COSTS).fit(X, y)
    row = X.iloc[0]
    run = model.start()
    assert set(run.next_features()) == set(np.array(NAMES)[model.acquisition_mask(X[:1])[0]])
    run = model.predict_on_demand(row.get)
    assert run.prediction == model.predict(X[:1])[0]
    assert run.spent == model.acquisition_cost(X[:1])[0]
    assert np.array_equal(run.probabilities, model.predict_proba(X[:1])[0])
    assert model.resume(run.to_json()).spent == run.spent


@pytest.mark.parametrize("store", ["pickle", "file"])
def test_stored_models_are_the_same(store, tmp_path):
    model = CostLassoClassifier([0.01, 0.05], feature_costs=COSTS, random_state=0).fit(X, y)
    if store == "pickle":
        back = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model.ff")
        back = ff.load(tmp_path / "model.ff")
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(back.coef_, model.coef_)
    assert np.array_equal(back.curve_.cost, model.curve_.cost)


def test_difficult_columns():
    data = X.to_numpy()
    difficult = np.column_stack([data, data[:, 0], np.full(300, 3.0), np.full(300, np.nan), data[:, 2] * 1e200])
    difficult[::9, 1] = np.nan
    model = CostLassoClassifier(0.005).fit(difficult, y)
    assert model.score(difficult, y) > 0.85
    assert not model.acquisition_mask(difficult)[:, [6, 7]].any()
    wide = np.random.default_rng(1).normal(size=(40, 200))
    assert CostLassoClassifier(0.02).fit(wide, wide[:, 0] > 0).score(wide, wide[:, 0] > 0) > 0.9


def test_separated_classes_with_free_features():
    model = CostLassoClassifier(0.1, feature_costs=np.zeros(2)).fit([[0.0, 1], [1, 0], [5, 1], [6, 0]], [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict([[0, 0], [6, 1]]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("tradeoff", [-1, np.nan, None, "much", [], [1, -1]], 'expected "auto", or one or several finite numbers'),
        ("ridge", [-1, np.inf, None], "finite number of at least 0"),
        ("validation_fraction", [0, 1, -0.5], "between 0 and 1"),
        ("class_weight", ["some", {"dead": 1}], "class_weight"),
    ],
)
def test_parameters_out_of_range(name, values, message):
    for value in values:
        with pytest.raises(ValueError, match=message):
            clone(CostLassoClassifier()).set_params(**{name: value}).fit(X, y)


def test_text_is_refused_and_nothing_works_before_fit():
    with pytest.raises(ValueError, match="CostLassoClassifier reads numbers, but there is text in: town"):
        CostLassoClassifier().fit(X.assign(town="Oslo"), y)
    with pytest.raises(NotFittedError):
        CostLassoClassifier().predict(X)
    assert not hasattr(CostLassoClassifier(), "coef_")


def test_breast_cancer_for_the_price_of_a_few_features():
    data, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:400], order[400:]
    model = CostLassoClassifier(random_state=0).fit(data[train], labels[train]).at_budget(4)
    assert model.score(data[test], labels[test]) > 0.88
    assert model.acquisition_cost(data[test]).max() <= 4

"""SubmodularTreeClassifier and SubmodularTreeRegressor: the contract, several node budgets, bad input, real data."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators.linear_base import LinearVariant
from frugalforest.estimators.linear_checks import (
    check_linear_model,
    check_linear_tree,
    check_linear_variant,
    check_node_link,
)
from frugalforest.estimators.submodular_tree import SubmodularTreeClassifier, SubmodularTreeRegressor
from frugalforest.linear_trees import LinearTree, NodeLink
from frugalforest.persistence import register
from frugalforest.persistence.registry import name_of

for cls, check in {
    LinearTree: check_linear_tree,
    NodeLink: check_node_link,
    LinearVariant: check_linear_variant,
    SubmodularTreeClassifier: check_linear_model,
    SubmodularTreeRegressor: check_linear_model,
}.items():
    if name_of(cls) is None:
        register(cls, check=check)

CHECKED = [
    SubmodularTreeClassifier(2),
    SubmodularTreeClassifier([1, 3], depth=2),
    SubmodularTreeClassifier(2, depth=2, soft=True),
    SubmodularTreeRegressor(2),
    SubmodularTreeRegressor(1, min_samples_leaf=1),
    SubmodularTreeRegressor(depth=2),
]


# Several budgets set rows aside at random, which is the reason scikit-learn gives for its own forest.
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl"]
COSTS = ff.FeatureCosts(
    [1, 1.5, 2, 2, 0.3], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 0.25)}
)
random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(400, 5)), columns=NAMES)
SIGNAL = (X["age"] + X["glucose"] * np.sign(X["bmi"]) + 0.3 * random.normal(size=400)).to_numpy()
y = np.where(SIGNAL > 0, "ill", "well")


@pytest.fixture(params=[SubmodularTreeClassifier, SubmodularTreeRegressor])
def model(request):
    return request.param(3.0, depth=3, feature_costs=COSTS)


def targets(model):
    return SIGNAL if isinstance(model, SubmodularTreeRegressor) else y


# ---- the contract


def test_bills_are_those_of_the_nodes_on_the_way(model):
    model.fit(X, targets(model))
    mask, cost = model.acquisition_mask(X), model.acquisition_cost(X)
    assert np.array_equal(cost, COSTS.of_rows(mask))
    leaf, _ = model.tree_.ends(X.to_numpy())
    for row, node in zip(mask, leaf, strict=True):
        read = set()
        while node >= 0:
            read |= set(model.tree_.features_of(int(node)).tolist())
            node = model.tree_.parent[node]
        assert set(np.flatnonzero(row)) == read
    assert (cost <= 3 * 3.0).all()
    predicted, bill = model.predict_with_cost(X)
    assert np.array_equal(predicted, model.predict(X))
    assert np.array_equal(bill, cost)


def test_nothing_outside_the_mask_is_read(model):
    model.fit(X, targets(model))
    garbled = X.where(model.acquisition_mask(X), 1e6)
    assert np.array_equal(model.predict(garbled), model.predict(X))
    assert np.array_equal(model.acquisition_mask(garbled), model.acquisition_mask(X))


def test_rows_are_answered_one_by_one_as_together(model):
    model.fit(X, targets(model))
    everything = model.predict(X)
    assert [model.predict(X[i : i + 1])[0] for i in range(0, 400, 41)] == everything[::41].tolist()


def test_the_label_is_the_most_probable_class():
    for data, labels in ((X, y), load_iris(return_X_y=True)):
        model = SubmodularTreeClassifier(2, depth=3).fit(data, labels)
        chance = model.predict_proba(data)
        assert np.allclose(chance.sum(axis=1), 1)
        assert np.array_equal(model.classes_[chance.argmax(axis=1)], model.predict(data))


def test_probabilities_are_calibrated_on_the_training_rows():
    data, labels = make_classification(3000, 8, n_informative=4, weights=[0.8], random_state=0)
    model = SubmodularTreeClassifier(2, depth=3).fit(data, labels)
    chance = model.predict_proba(data)[:, 1]
    for part in np.array_split(np.argsort(chance), 6):
        assert chance[part].mean() == pytest.approx(labels[part].mean(), abs=0.06)


@pytest.mark.parametrize("store", ["pickle", "file"])
def test_stored_models_are_the_same(model, store, tmp_path):
    model.set_params(node_budget=[1, 3]).fit(X, targets(model))
    if store == "pickle":
        back = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model.ff")
        back = ff.load(tmp_path / "model.ff")
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.acquisition_cost(X), model.acquisition_cost(X))
    assert back.get_params() == model.get_params()
    assert back.start().to_json() == model.start().to_json()
    cheapest = float(model.curve_.cost.min())
    assert np.array_equal(back.at_budget(cheapest).predict(X), model.at_budget(cheapest).predict(X))


def test_frames_arrays_and_types_give_the_same(model):
    answers = [clone(model).fit(data, targets(model)).predict(data) for data in (X, X.to_numpy(), np.asfortranarray(X))]
    for answer in answers[1:]:
        assert np.array_equal(answer, answers[0])
    single = X.to_numpy(dtype=np.float32)
    small = clone(model).fit(single, targets(model))
    assert np.array_equal(small.predict(single), small.predict(single.astype(float)))


def test_columns_are_found_by_name(model):
    model.fit(X, targets(model))
    assert np.array_equal(model.predict(X[NAMES[::-1]].assign(more=1)), model.predict(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        model.predict(X.to_numpy())
    assert caught[0].filename == __file__


def test_permuted_columns_give_the_same_model():
    order = [3, 0, 4, 2, 1]
    one = SubmodularTreeClassifier(2, depth=3, feature_costs=COSTS).fit(X, y)
    other = SubmodularTreeClassifier(2, depth=3, feature_costs=COSTS).fit(X.iloc[:, order], y)
    assert np.allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert np.array_equal(one.acquisition_mask(X)[:, order], other.acquisition_mask(X))


def test_weights_count_as_repeated_rows(model):
    model.set_params(min_samples_leaf=1, depth=2)
    times = np.random.default_rng(1).integers(0, 3, 400)
    one = clone(model).fit(X, targets(model), sample_weight=times)
    other = clone(model).fit(X.loc[np.repeat(X.index, times)], np.repeat(targets(model), times))
    if isinstance(model, SubmodularTreeRegressor):
        assert np.allclose(one.predict(X), other.predict(X), atol=1e-8)
    else:
        assert np.allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_class_weight():
    labels = np.where(SIGNAL > 1, "ill", "well")
    recall = [
        (SubmodularTreeClassifier(2, depth=2, class_weight=w).fit(X, labels).predict(X) == labels)[
            labels == "ill"
        ].mean()
        for w in (None, "balanced")
    ]
    assert recall[1] > recall[0]


def test_grids_and_cross_validation():
    search = GridSearchCV(SubmodularTreeClassifier(feature_costs=COSTS), {"node_budget": [1, 4], "depth": [1, 3]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.75
    assert cross_val_score(SubmodularTreeRegressor(4, depth=3), X, SIGNAL, cv=3).mean() > 0.3


# ---- several node budgets


def test_one_fit_gives_all_node_budgets(model):
    budgets = [0.6, 1.0, 2.5, 9.0]
    model.set_params(node_budget=budgets).fit(X[:300], targets(model)[:300], eval_set=(X[300:], targets(model)[300:]))
    assert len(model.curve_) == 4
    for budget, variant, cost in zip(budgets, model.variants_, model.curve_.cost, strict=True):
        alone = clone(model).set_params(node_budget=budget).fit(X[:300], targets(model)[:300])
        assert np.array_equal(alone.variant_.read(X.to_numpy())[0], variant.read(X.to_numpy())[0])
        assert alone.acquisition_cost(X[300:]).mean() == pytest.approx(cost)
        cheaper = model.at_budget(float(cost))
        assert cheaper.acquisition_cost(X[300:]).mean() <= cost
    assert model.curve_.error[model.variants_.index(model.variant_)] == model.curve_.error.min()


def test_a_model_without_money():
    model = SubmodularTreeClassifier([1, 3], feature_costs=COSTS, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"no setting fits a budget of 0: the cheapest costs .* for nothing") as caught:
        free = model.at_budget(0)
    assert caught[0].filename == __file__
    assert not free.acquisition_cost(X).any()
    assert np.allclose(free.predict_proba(X), model.prior_)
    assert free.start().is_over
    regressor = SubmodularTreeRegressor([1, 3], feature_costs=COSTS, random_state=0).fit(X, SIGNAL)
    with pytest.warns(UserWarning, match="no setting fits a budget of 0"):
        assert np.allclose(regressor.at_budget(0).predict(X), regressor.prior_)


def test_at_budget_needs_something_to_choose_from():
    with pytest.raises(ValueError, match="fitted with one setting, and nothing to measure it by; give several"):
        SubmodularTreeClassifier(2).fit(X, y).at_budget(3)
    with pytest.raises(ValueError, match="budget is -1; expected a finite number"):
        SubmodularTreeClassifier([1, 2], random_state=0).fit(X, y).at_budget(-1)


def test_auto_goes_from_the_cheapest_feature_to_everything():
    model = SubmodularTreeClassifier(feature_costs=COSTS, depth=2, random_state=0).fit(X, y)
    settings = [variant.setting for variant in model.variants_]
    assert settings[0] == pytest.approx(0.55)
    assert settings[-1] == COSTS.total
    assert SubmodularTreeClassifier(feature_costs=np.zeros(5)).fit(X, y).acquisition_cost(X).max() == 0


def test_curves_on_other_rows(model):
    model.set_params(node_budget=[1, 3], random_state=0).fit(X, targets(model))
    curve = ff.evaluation.cost_curve(model, X, targets(model))
    assert len(curve) == len(model.curve_.frontier())
    single = clone(model).set_params(node_budget=3).fit(X, targets(model))
    curve = ff.evaluation.cost_curve(single, X, targets(model))
    assert curve.cost[0] == pytest.approx(single.acquisition_cost(X).mean())


def test_the_seed_decides_what_is_set_aside():
    one, same, other = (SubmodularTreeClassifier([1, 3], random_state=s).fit(X, y) for s in (0, 0, 1))
    assert np.array_equal(one.curve_.error, same.curve_.error)
    assert not np.array_equal(one.curve_.error, other.curve_.error)


# ---- ranks and regressions


def test_one_node_with_all_features_is_linear_regression():
    data, numbers = load_diabetes(return_X_y=True)
    model = SubmodularTreeRegressor(10, depth=1, ridge=0).fit(data, numbers)
    assert np.allclose(model.predict(data), LinearRegression().fit(data, numbers).predict(data), atol=1e-6)
    assert model.tree_.r_squared[0] == pytest.approx(model.score(data, numbers))


def test_units_of_the_target_do_not_matter():
    one = SubmodularTreeRegressor(3, depth=3, soft=True).fit(X, SIGNAL)
    for factor in (1e-150, 1e150):
        other = SubmodularTreeRegressor(3, depth=3, soft=True).fit(X, SIGNAL * factor + 5 * factor)
        assert np.allclose(other.predict(X) / factor - 5, one.predict(X), atol=1e-6)


def test_a_constant_target():
    model = SubmodularTreeRegressor(3).fit(X, np.full(400, 7.5))
    assert np.allclose(model.predict(X), 7.5)
    assert not model.acquisition_cost(X).any()


def test_the_guarantee_is_between_0_and_1_and_small_for_twins():
    model = SubmodularTreeClassifier(5, depth=2, ridge=0).fit(X, y)
    assert model.approximation_guarantee_.shape == (model.tree_.n_nodes,)
    assert ((model.approximation_guarantee_ >= 0) & (model.approximation_guarantee_ < 0.633)).all()
    twins = X.assign(twin=X["age"] + 1e-3 * X["ldl"])
    assert SubmodularTreeRegressor(9, depth=1, ridge=0).fit(twins, SIGNAL).approximation_guarantee_[0] < 1e-3


# ---- bad input


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("node_budget", [-1, np.nan, None, "much", [], [1, -1]], 'expected "auto", or one or several finite numbers'),
        ("depth", [0, 2.5, None, 21], "whole number from 1 to 20"),
        ("soft", [1, "yes", None], "True or False"),
        ("ridge", [-1, np.inf, None], "finite number of at least 0"),
        ("min_samples_leaf", [0, 1.5, None], "whole number of at least 1"),
        ("validation_fraction", [0, 1, -0.5, "some"], "share between 0 and 1|between 0 and 1"),
        ("random_state", ["x", -1], "random_state is"),
    ],
)
def test_parameters_out_of_range(model, name, values, message):
    for value in values:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**{name: value}).fit(X, targets(model))


def test_text_is_refused_with_a_way_out(model):
    message = r"reads numbers, but there is text in: town\. Give one column of 0 and 1 for each category \(one-hot\)"
    with pytest.raises(ValueError, match=message):
        model.set_params(feature_costs=None).fit(X.assign(town="Oslo"), targets(model))


def test_infinity_and_unknown_costs(model):
    with pytest.raises(ValueError, match=r"contains infinity .* in: bmi"):
        clone(model).fit(X.assign(bmi=np.inf), targets(model))
    with pytest.raises(ValueError, match="feature_costs has 3 entries but X has 5 columns"):
        clone(model).set_params(feature_costs=[1, 2, 3]).fit(X, targets(model))


def test_a_failed_fit_leaves_the_model_as_it_was(model):
    model.fit(X, targets(model))
    before, answer = dict(vars(model)), model.predict(X)
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(X.assign(bmi=np.inf), targets(model))
    assert vars(model) == before
    assert np.array_equal(model.predict(X), answer)


def test_nothing_works_before_fit(model):
    for ask in (model.predict, model.acquisition_mask, model.acquisition_cost, model.predict_with_cost):
        with pytest.raises(NotFittedError):
            ask(X)
    with pytest.raises(NotFittedError):
        model.start()
    assert not hasattr(model, "tree_")


def test_a_node_budget_below_every_price_is_warned_about(model):
    with pytest.warns(UserWarning, match=r"node_budget=0.2 buys nothing: the cheapest feature costs 0.55") as caught:
        model.set_params(node_budget=0.2).fit(X, targets(model))
    assert caught[0].filename == __file__
    assert not model.acquisition_cost(X).any()


def test_a_leaf_without_money_uses_what_its_parents_bought():
    data = X[["age", "glucose", "bmi"]]
    model = SubmodularTreeRegressor(1.0, depth=5, feature_costs=dict.fromkeys(data, 1.0)).fit(data, SIGNAL)
    deep = [n for n in range(model.tree_.n_nodes) if model.tree_.path_mask[n].all()]
    assert deep
    assert all(model.tree_.features_of(n).tolist() == [0, 1, 2] for n in deep if model.tree_.is_leaf(n))


@pytest.mark.parametrize("soft", [False, True])
def test_difficult_columns(soft):
    rows = np.random.default_rng(3)
    data = rows.normal(size=(150, 4))
    labels = data[:, 0] + data[:, 1] > 0
    difficult = np.column_stack(
        [data, data[:, 0], np.full(150, 3.0), np.full(150, np.nan), data[:, 1] * 1e200, data[:, 2] * 1e-200]
    )
    difficult[::9, 0] = np.nan
    model = SubmodularTreeClassifier(3, depth=3, soft=soft).fit(difficult, labels)
    assert model.score(difficult, labels) > 0.9
    assert not model.acquisition_mask(difficult)[:, [5, 6]].any()
    assert np.isfinite(model.predict_proba(np.full((1, 9), np.nan))).all()
    assert np.isfinite(model.predict_proba(np.full((1, 9), 1.7e308))).all()


def test_more_columns_than_rows():
    rows = np.random.default_rng(4)
    data = rows.normal(size=(40, 300))
    model = SubmodularTreeClassifier(5, depth=3).fit(data, data[:, 0] > 0)
    assert model.score(data, data[:, 0] > 0) > 0.9


def test_two_rows():
    model = SubmodularTreeClassifier(1).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    with pytest.warns(UserWarning, match="too few rows to set some aside") as caught:
        SubmodularTreeClassifier([1, 2]).fit([[0.0], [1.0]], ["a", "b"])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        ((X,), r"expected a pair \(X_val, y_val\)"),
        ((X[["age"]], y), "eval_set: X lacks 4 of the 5 columns"),
    ],
)
def test_eval_sets_that_do_not_fit(model, eval_set, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, targets(model), eval_set=eval_set)


def test_numbers_that_are_none():
    for bad, message in (
        (["x"] * 400, "could not convert|dtype"),
        (SIGNAL[:5], "X has 400 rows but y has 5"),
        (None, "y is None"),
    ):
        with pytest.raises(ValueError, match=message):
            SubmodularTreeRegressor(2).fit(X, bad)


# ---- real data


def test_breast_cancer_for_the_price_of_a_few_features():
    data, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:400], order[400:]
    model = SubmodularTreeClassifier(1, depth=4).fit(data[train], labels[train])
    assert model.score(data[test], labels[test]) > 0.9
    assert model.acquisition_cost(data[test]).max() <= 4


def test_covertype_trees_beat_one_linear_classifier(data_dir):
    data = ff.datasets.load("covtype", data_dir=data_dir)
    some = np.random.default_rng(0).permutation(len(data.y))[:16_000]
    features, labels = np.asarray(data.X)[some], np.asarray(data.y)[some]
    labels = labels == np.unique(labels)[1]
    scores = [
        SubmodularTreeClassifier(6, depth=depth)
        .fit(features[:12_000], labels[:12_000])
        .score(features[12_000:], labels[12_000:])
        for depth in (1, 5)
    ]
    assert scores[1] > scores[0] + 0.01
    assert scores[1] > 0.75

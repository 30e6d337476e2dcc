"""MixedNormTreeClassifier: the contract, several trade-offs, what it reports, bad input, real data."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators.linear_checks import check_linear_model
from frugalforest.estimators.mixed_norm_tree import MixedNormTreeClassifier
from frugalforest.persistence import register
from frugalforest.persistence.registry import name_of

if name_of(MixedNormTreeClassifier) is None:
    register(MixedNormTreeClassifier, check=check_linear_model)

CHECKED = [
    MixedNormTreeClassifier(0.01, depth=3),
    MixedNormTreeClassifier([0.01, 0.1], depth=2),
    MixedNormTreeClassifier(0.01, depth=2, refit=False, prune=False, min_samples_leaf=1),
]


# Several trade-offs set rows aside at random, which is the reason scikit-learn gives for its own forest.
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl"]
COSTS = ff.FeatureCosts(
    [1, 1.5, 2, 2, 0.3], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 0.25)}
)
random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(500, 5)), columns=NAMES)
SIGNAL = X["age"] + X["bmi"] + X["glucose"] * np.sign(X["age"] + X["bmi"]) + 0.3 * random.normal(size=500)
y = np.where(SIGNAL > 0, "ill", "well")


@pytest.fixture
def model():
    return MixedNormTreeClassifier(0.02, depth=3, feature_costs=COSTS)


# ---- the contract


def test_bills_are_those_of_the_nodes_on_the_way(model):
    model.fit(X, y)
    assert model.tree_.n_nodes > 1
    mask, cost = model.acquisition_mask(X), model.acquisition_cost(X)
    assert np.array_equal(cost, COSTS.of_rows(mask))
    leaf, _ = model.tree_.ends(X.to_numpy())
    for row, node in zip(mask, leaf, strict=True):
        read = set()
        while node >= 0:
            read |= set(model.tree_.features_of(int(node)).tolist())
            node = model.tree_.parent[node]
        assert set(np.flatnonzero(row)) == read


def test_nothing_outside_the_mask_is_read(model):
    model.set_params(tradeoff=0.2).fit(X, y)
    mask = model.acquisition_mask(X)
    assert not mask.all()
    garbled = X.where(mask, 1e6)
    assert np.array_equal(model.predict(garbled), model.predict(X))
    assert np.array_equal(model.acquisition_mask(garbled), mask)


def test_runs_agree_with_predictions(model):
    model.fit(X, y)
    labels, bills = model.predict_with_cost(X)
    chance = model.predict_proba(X)
    for i in range(0, 500, 71):
        run = model.predict_on_demand(X.iloc[i].get)
        assert run.prediction == labels[i]
        assert run.spent == bills[i]
        assert np.array_equal(run.probabilities, chance[i])
        assert set(run.acquired) == set(np.array(NAMES)[model.acquisition_mask(X[i : i + 1])[0]])


@pytest.mark.parametrize("store", ["pickle", "file"])
def test_stored_models_are_the_same(model, store, tmp_path):
    model.set_params(tradeoff=[0.02, 0.2], random_state=0).fit(X, y)
    if store == "pickle":
        back = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model.ff")
        back = ff.load(tmp_path / "model.ff")
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(back.acquisition_cost(X), model.acquisition_cost(X))
    assert np.array_equal(back.converged_, model.converged_)
    assert all(map(np.array_equal, back.objectives_, model.objectives_))
    assert back.get_params() == model.get_params()


def test_permuted_columns_give_the_same_model(model):
    order = [3, 0, 4, 2, 1]
    one, other = clone(model).fit(X, y), clone(model).fit(X.iloc[:, order], y)
    assert np.allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert np.array_equal(one.acquisition_mask(X)[:, order], other.acquisition_mask(X))


def test_weights_count_as_repeated_rows(model):
    model.set_params(min_samples_leaf=1, prune=False)
    times = np.random.default_rng(1).integers(0, 3, 500)
    one = clone(model).fit(X, y, sample_weight=times)
    other = clone(model).fit(X.loc[np.repeat(X.index, times)], np.repeat(y, times))
    assert np.allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_more_than_two_classes():
    data, labels = load_iris(return_X_y=True)
    model = MixedNormTreeClassifier(0.1, depth=3).fit(data, labels)
    assert model.score(data, labels) > 0.93
    assert np.array_equal(model.predict_proba(data).argmax(axis=1), model.predict(data))


# ---- trade-offs


def test_one_path_gives_all_tradeoffs(model):
    tradeoffs = [0.01, 0.1, 0.5, 50]
    model.set_params(tradeoff=tradeoffs).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    assert [variant.setting for variant in model.variants_] == tradeoffs
    assert (np.diff(model.curve_.cost) <= 0).all()
    assert model.curve_.cost[-1] == 0
    for cost in model.curve_.cost[:-1]:
        assert model.at_budget(float(cost)).acquisition_cost(X[300:]).mean() <= cost
    assert len(model.objectives_) == 4
    assert model.converged_.all()


def test_auto_goes_from_everything_to_nothing():
    model = MixedNormTreeClassifier(depth=3, feature_costs=COSTS, random_state=0).fit(X, y)
    assert len(model.curve_) == 18
    assert model.curve_.cost[-1] == 0
    assert model.curve_.cost[0] > 0.9 * COSTS.total
    assert model.score(X, y) > 0.85
    assert len(ff.evaluation.cost_curve(model, X, y)) == len(model.curve_.frontier())


def test_dearer_features_leave_first():
    prices = dict.fromkeys(NAMES, 1.0)
    cheap = MixedNormTreeClassifier(0.1, depth=2, feature_costs=prices).fit(X, y)
    dear = MixedNormTreeClassifier(0.1, depth=2, feature_costs={**prices, "bmi": 30}).fit(X, y)
    assert cheap.acquisition_mask(X)[:, 1].all()
    assert not dear.acquisition_mask(X)[:, 1].any()


def test_a_tree_is_better_than_one_classifier_where_features_interact():
    errors = [
        1 - MixedNormTreeClassifier(0.02, depth=depth).fit(X[:300], y[:300]).score(X[300:], y[300:]) for depth in (1, 3)
    ]
    assert errors[1] < errors[0] - 0.02


def test_the_seed_decides_what_is_set_aside(model):
    model.set_params(tradeoff=[0.02, 0.2])
    one, same, other = (clone(model).set_params(random_state=s).fit(X, y) for s in (0, 0, 1))
    assert np.array_equal(one.curve_.error, same.curve_.error)
    assert not np.array_equal(one.curve_.error, other.curve_.error)


# ---- what it reports


def test_a_descent_cut_short_is_reported(model):
    with pytest.warns(ConvergenceWarning, match="still falls after 2 sweeps for tradeoff 0.02") as caught:
        model.set_params(max_sweeps=2, tol=0).fit(X, y)
    assert caught[0].filename == __file__
    assert not model.converged_.any()
    assert len(model.objectives_[0]) == 2


# ---- bad and difficult input


def test_difficult_columns():
    data = X.to_numpy()
    difficult = np.column_stack([data, data[:, 0], np.full(500, 3.0), np.full(500, np.nan), data[:, 2] * 1e200])
    difficult[::9, 3] = np.nan
    for rho in (0, 1e-4):
        model = MixedNormTreeClassifier([0, 0.02], depth=3, rho=rho, random_state=0).fit(difficult, y)
        assert model.score(difficult, y) > 0.8
        assert not model.acquisition_mask(difficult)[:, [6, 7]].any()
    wide = np.random.default_rng(1).normal(size=(60, 200))
    assert MixedNormTreeClassifier(0.05).fit(wide, wide[:, 0] > 0).score(wide, wide[:, 0] > 0) > 0.9


def test_free_and_endlessly_dear_features():
    model = MixedNormTreeClassifier(0.1, depth=2, feature_costs=[0, 0, 1e290, 1e290, 1e290]).fit(X, y)
    assert not model.acquisition_mask(X)[:, 2:].any()
    assert model.score(X, y) > 0.7
    assert MixedNormTreeClassifier(feature_costs=np.zeros(5), depth=2).fit(X, y).acquisition_cost(X).max() == 0


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("tradeoff", [-1, np.nan, None, "much", []], 'expected "auto", or one or several finite numbers'),
        ("rho", [-1, np.inf, None], "rho is .*finite number of at least 0"),
        ("steepness", [-1, "flat"], "steepness is .*finite number of at least 0"),
        ("tol", [-1], "tol is .*finite number of at least 0"),
        ("depth", [0, 11, 2.5], "depth is"),
        ("max_sweeps", [0, None], "max_sweeps is"),
        ("refit", ["no", 2], "refit is"),
        ("validation_fraction", [0, 1], "between 0 and 1"),
    ],
)
def test_parameters_out_of_range(name, values, message):
    for value in values:
        with pytest.raises((ValueError, TypeError), match=message):
            MixedNormTreeClassifier(0.1).set_params(**{name: value}).fit(X, y)


def test_text_is_refused_and_nothing_works_before_fit():
    with pytest.raises(ValueError, match="MixedNormTreeClassifier reads numbers, but there is text in: town"):
        MixedNormTreeClassifier().fit(X.assign(town="Oslo"), y)
    with pytest.raises(NotFittedError):
        MixedNormTreeClassifier().predict(X)


def test_grids():
    search = GridSearchCV(MixedNormTreeClassifier(0.02, feature_costs=COSTS), {"depth": [1, 3], "rho": [0, 1e-3]}, cv=2)
    assert search.fit(X, y).best_params_["depth"] == 3


# ---- real data


def test_breast_cancer_for_the_price_of_a_few_features():
    data, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:400], order[400:]
    model = MixedNormTreeClassifier(depth=3, random_state=0).fit(data[train], labels[train]).at_budget(5)
    assert model.score(data[test], labels[test]) > 0.88
    assert model.acquisition_cost(data[test]).mean() < 6

"""Models that change in place after they were read: OnDemand notices, and what it does not notice is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator

import frugalforest as ff
from frugalforest.importers import version_of
from importers.cases import numbers

X, y = numbers(0, n_rows=400)


def trees_of(on_demand):
    return on_demand._acquirer().ensemble.forest.n_trees


def check_noticed(model, change, labels=lambda model: np.ravel(model.predict(X))):
    """The labels are those of the model before and after a change, and nothing is read again without one."""
    on_demand = ff.OnDemand(model)
    assert np.array_equal(on_demand.predict(X), labels(model))
    first = on_demand._acquirer()
    on_demand.predict_with_cost(X)
    assert on_demand._acquirer() is first
    change(model)
    assert np.array_equal(on_demand.predict(X), labels(model))
    assert on_demand._acquirer() is not first
    return on_demand


# ---- scikit-learn


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_trees_taken_out_of_a_forest_or_put_in_its_place(kind):
    model = kind(5, random_state=0).fit(X, y)
    check_noticed(model, lambda model: model.estimators_.pop())
    other = kind(1, max_depth=1, random_state=1).fit(X, y)
    check_noticed(model, lambda model: model.estimators_.__setitem__(0, other.estimators_[0]))
    check_noticed(model, lambda model: model.estimators_[0].fit(X, 1 - y))


def test_trees_of_a_gradient_booster():
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    other = GradientBoostingClassifier(n_estimators=5, max_depth=1, random_state=1).fit(X, 1 - y)
    check_noticed(model, lambda model: model.estimators_.__setitem__((0, 0), other.estimators_[0, 0]))


def test_stages_of_a_histogram_booster():
    model = HistGradientBoostingClassifier(max_iter=5, warm_start=True).fit(X, y)
    check_noticed(model, lambda model: model.set_params(max_iter=9).fit(X, y))
    check_noticed(model, lambda model: model._predictors.pop())


def test_inside_a_wrapper():
    model = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, y))
    check_noticed(model, lambda model: model.estimator.estimators_.pop())
    forest = ff.StandardForestClassifier(5, random_state=0).fit(X, y)
    check_noticed(ff.OnDemand(forest), lambda _: forest.fit(X, 1 - y))


def test_models_of_a_file_are_read_once(tmp_path):
    ff.OnDemand(RandomForestClassifier(3, random_state=0).fit(X, y)).save(tmp_path / "model.ff")
    model = ff.load(tmp_path / "model.ff")
    first = model._acquirer()
    model.predict_with_cost(X)
    assert model._acquirer() is first


def test_unfitted_and_other_models_have_no_version():
    for model in (RandomForestClassifier(), HistGradientBoostingClassifier(), ff.StandardForestClassifier(), None):
        assert version_of(model) == ()


# ---- other libraries


def test_xgboost_trained_on():
    xgb = pytest.importorskip("xgboost")
    model = xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(X, y)
    data = xgb.DMatrix(X, 1 - y)

    def labels(booster):
        return (booster.predict(xgb.DMatrix(X)) > 0.5).astype(int)

    def train_on(booster):
        for i in range(10):
            booster.update(data, 5 + i)

    check_noticed(model, lambda model: train_on(model.get_booster()))
    check_noticed(model.get_booster(), train_on, labels)
    check_noticed(model, lambda model: model.get_booster().set_attr(best_iteration="2"))
    assert version_of(xgb.XGBClassifier()) == ()


def test_lightgbm_trained_on_and_cut():
    lgb = pytest.importorskip("lightgbm")
    options = {"objective": "binary", "verbose": -1, "num_leaves": 7, "num_threads": 1}
    booster = lgb.Booster(options, lgb.Dataset(X, y, free_raw_data=False))

    def labels(booster):
        return (booster.predict(X) > 0.5).astype(int)

    def train_on(booster):
        for _ in range(5):
            booster.update()

    train_on(booster)
    check_noticed(booster, train_on, labels)
    check_noticed(booster, lambda booster: booster.rollback_one_iter(), labels)
    model = lgb.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    assert version_of(model) == version_of(model.booster_) != version_of(booster)
    assert version_of(lgb.LGBMClassifier()) == ()


def test_leaves_of_lightgbm_set_by_hand_need_a_new_wrapper():
    lgb = pytest.importorskip("lightgbm")
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y)
    old = ff.OnDemand(model)
    before = old.predict(X)
    for leaf in range(4):
        model.booster_.set_leaf_output(0, leaf, 9.0)
    assert np.array_equal(old.predict(X), before)
    assert np.array_equal(ff.OnDemand(model).predict(X), model.predict(X))


def test_catboost_shifted_shrunk_or_with_a_threshold():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(iterations=9, depth=3, verbose=0, thread_count=1, allow_writing_files=False)
    model.fit(X, y)
    check_noticed(model, lambda model: model.set_scale_and_bias(1, 0.7))
    on_demand = check_noticed(model, lambda model: model.shrink(4))
    model.set_probability_threshold(0.8)
    with pytest.raises(ValueError, match="probability threshold of its own"):
        on_demand.predict(X)
    model.set_probability_threshold(None)
    model.set_scale_and_bias(2.0, 0.0)
    with pytest.raises(ValueError, match="multiplies its sums by 2"):
        on_demand.predict(X)
    assert version_of(catboost.CatBoostClassifier()) == ()

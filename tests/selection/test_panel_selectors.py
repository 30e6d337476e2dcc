"""What the four panel selectors have in common: budgets, tuning, paths, bad input, and their place in pipelines."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.selection import AUCSelector, ForwardSelector, PermutationSelector, ShallowTreeSelector

QUICK = {
    AUCSelector: {"n_forest_trees": 30},
    PermutationSelector: {"n_forest_trees": 30, "n_estimators": 30},
    ShallowTreeSelector: {"n_forest_trees": 30, "n_estimators": 30},
    ForwardSelector: {"n_forest_trees": 30, "xi_grid": [0, 1]},
}
SELECTORS = list(QUICK)


def make(cls, budget=None, **options):
    return cls(budget, **{"random_state": 0, **QUICK[cls], **options})


@parametrize_with_checks(
    [make(cls, random_state=None) for cls in SELECTORS] + [make(cls, 2, xi=1) for cls in SELECTORS]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=SELECTORS, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "hdl"]
COSTS = ff.FeatureCosts(
    [0, 0.5, 1, 1.5, 1, 0.7],
    feature_names=NAMES,
    groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2), "fasting": ff.Group(["ldl", "hdl"], 1)},
)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(150, 6, n_informative=4, n_redundant=0, random_state=3)
    return pd.DataFrame(X, columns=NAMES), np.array(["well", "ill"])[y]


# ---- budgets


@pytest.mark.parametrize("budget", [0, 0.5, 1.9, 3, 4.2, 6.5, 100, None])
def test_budget_is_never_exceeded_and_free_features_are_in(cls, data, budget):
    selector = make(cls, budget, feature_costs=COSTS, xi=1).fit(*data)
    assert selector.cost_ == COSTS.of(selector.selected_)
    assert budget is None or selector.cost_ <= budget
    assert "age" in selector.selected_
    if budget in (100, None) and cls is not ShallowTreeSelector:
        assert selector.support_.all()
        assert "nothing is left" in selector.path_.ended


def test_budget_below_the_cheapest_feature(cls, data):
    costs = dict(zip(NAMES, [3, 2, 4, 4, 4, 4], strict=True))
    with pytest.warns(UserWarning, match="'bmi' for 2; the panel is empty"):
        selector = make(cls, 1, feature_costs=costs).fit(*data)
    assert selector.selected_ == []
    assert selector.cost_ == 0
    assert selector.oob_error_ == pytest.approx(min(np.mean(data[1] == "ill"), np.mean(data[1] == "well")))
    assert len(selector.path_) == 0


def test_a_paid_group_is_not_paid_again(cls, data):
    selector = make(cls, 6.5, feature_costs=COSTS, xi=1).fit(*data)
    assert sum(step.cost for step in selector.path_) == pytest.approx(selector.cost_)
    assert selector.path_[-1].spent == selector.cost_


def test_path_of_budgets_is_what_fit_would_choose(cls, data):
    budgets = [0.6, 3, 5]
    path = make(cls, feature_costs=COSTS).path(*data, budgets=budgets)
    assert [point.budget for point in path] == budgets
    for point in path:
        alone = make(cls, point.budget, feature_costs=COSTS).fit(*data)
        assert (point.cost, point.xi, point.error) == (alone.cost_, alone.xi_, alone.oob_error_)
        assert list(point.features) == alone.selected_
    assert len(make(cls, feature_costs=COSTS, xi=1).path(*data)) == 12
    assert path.to_frame()["n_features"].tolist() == [len(point.features) for point in path]


# ---- xi


def test_tuning_keeps_the_least_error_then_the_cheaper_panel(cls, data):
    selector = make(cls, 4, feature_costs=COSTS, xi_grid=[0, 0.5, 1, 2]).fit(*data)
    best = min(selector.tuning_, key=lambda trial: (trial.error, trial.cost, trial.xi))
    assert (selector.xi_, selector.oob_error_, selector.cost_) == (best.xi, best.error, best.cost)
    assert [trial.xi for trial in selector.tuning_] == [0, 0.5, 1, 2]
    for trial in selector.tuning_:
        fixed = make(cls, 4, feature_costs=COSTS, xi=trial.xi).fit(*data)
        assert (fixed.cost_, fixed.oob_error_) == (trial.cost, trial.error)


def test_optuna_tunes_too(data):
    pytest.importorskip("optuna")
    selector = make(AUCSelector, 4, feature_costs=COSTS, tuner="optuna", n_trials=6).fit(*data)
    assert {0.0, 1.0} <= {trial.xi for trial in selector.tuning_}
    assert selector.oob_error_ == min(trial.error for trial in selector.tuning_)
    again = make(AUCSelector, 4, feature_costs=COSTS, tuner="optuna", n_trials=6).fit(*data)
    assert again.tuning_ == selector.tuning_


def test_equal_costs_make_xi_irrelevant(cls, data):
    # The same order of features whatever xi; sums of four times 0.25 are exact.
    panels = {tuple(make(cls, 1, feature_costs=[0.25] * 6, xi=xi).fit(*data).selected_) for xi in (0.5, 1, 3)}
    assert len(panels) == 1


def test_costs_times_k_with_budget_times_k_give_the_same_panel(cls, data):
    ones = make(cls, 4, feature_costs=COSTS).fit(*data)
    tens = make(cls, 40, feature_costs=COSTS.scaled(10)).fit(*data)
    assert ones.selected_ == tens.selected_


# ---- the same whatever the way


def test_seed_decides_and_threads_do_not(cls, data):
    one = make(cls, 4, feature_costs=COSTS, n_jobs=1).fit(*data)
    two = make(cls, 4, feature_costs=COSTS, n_jobs=2).fit(*data)
    assert one.tuning_ == two.tuning_
    assert one.path_ == two.path_


def test_frames_of_any_kind(cls, data):
    frame, y = data
    from_pandas = make(cls, 3, feature_costs=COSTS, xi=1).fit(frame, y)
    from_polars = make(cls, 3, feature_costs=COSTS, xi=1).fit(pl.from_pandas(frame), y)
    by_position = make(cls, 3, feature_costs=COSTS, xi=1).fit(frame.to_numpy(), y)
    assert from_pandas.selected_ == from_polars.selected_
    assert by_position.selected_ == [NAMES.index(name) for name in from_pandas.selected_]
    chosen = from_pandas.set_output(transform="pandas").transform(frame)
    assert list(chosen.columns) == from_pandas.selected_ == from_pandas.get_feature_names_out().tolist()


def test_pipelines_clones_and_pickles(cls, data):
    frame, y = data
    selector = make(cls, 3, feature_costs=COSTS, xi=1)
    pipeline = make_pipeline(clone(selector), StandardScaler(), ff.StandardForestClassifier(n_estimators=20))
    assert cross_val_score(pipeline, frame, y, cv=3).mean() > 0.6
    fitted = selector.fit(frame, y)
    assert pickle.loads(pickle.dumps(fitted)).selected_ == fitted.selected_


def test_missing_values_and_categories(cls, data):
    frame, y = data
    holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    holes["bmi"] = pd.cut(frame["bmi"], 3, labels=["low", "middle", "high"])
    selector = make(cls, 3, feature_costs=COSTS, xi=1).fit(holes, y)
    assert 0 < selector.oob_error_ < 0.6


def test_three_classes_and_a_class_with_one_row(cls):
    X, y = load_iris(return_X_y=True)
    assert make(cls, 2, xi=1).fit(X, y).oob_error_ < 0.2
    y = np.append(y, 7)
    X = np.vstack([X, [9, 9, 9, 9]])
    assert make(cls, 2, xi=1).fit(X, y).oob_error_ < 0.2


def test_constant_features_are_worth_nothing(cls):
    X, y = make_classification(120, 5, n_informative=3, random_state=0)
    X[:, 0] = 3.0
    selector = make(cls, 2, feature_costs=[0.5, 1, 1, 1, 1], xi=0).fit(X, y)
    assert not selector.support_[0]


# ---- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"xi": -1}, r'xi is -1; expected "tune" or a finite number of at least 0'),
        ({"xi": "auto"}, "xi is 'auto'; expected \"tune\""),
        ({"xi_grid": [0, -2]}, "xi_grid is .* expected"),
        ({"xi_grid": []}, "xi_grid is .* expected"),
        ({"budget": -1}, "budget is -1; expected a finite number of at least 0 or None"),
        ({"budget": np.nan}, "budget is nan"),
        ({"tuner": "magic"}, "tuner is 'magic'; expected one of 'grid', 'optuna'"),
        ({"n_trials": 0}, "n_trials is 0"),
        ({"n_forest_trees": 0}, "n_forest_trees is 0"),
        ({"max_features": "most"}, "max_features is 'most'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"feature_costs": {"age": 1}}, "missing"),
        ({"feature_costs": [1, 2]}, "feature_costs has 2 entries"),
        ({"feature_costs": dict.fromkeys([*NAMES, "height"], 1)}, "height"),
    ],
)
def test_mistakes_are_named_before_any_work(cls, data, options, message):
    selector = make(cls, 3).set_params(**options)
    with pytest.raises(ValueError, match=message):
        selector.fit(*data)
    assert not hasattr(selector, "support_")


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (ShallowTreeSelector, {"bcr": "printed"}, "bcr is 'printed'; expected one of 'signed', 'paper'"),
        (ShallowTreeSelector, {"limit": "size"}, "limit is 'size'"),
        (ShallowTreeSelector, {"max_depth": 0}, "max_depth is 0"),
        (ShallowTreeSelector, {"base_tradeoff": -1}, "base_tradeoff is -1"),
        (ForwardSelector, {"bcr": "printed"}, "bcr is 'printed'"),
        (ForwardSelector, {"racing": "fast"}, "racing is 'fast'; expected True or False"),
        (PermutationSelector, {"importance": "gini"}, "importance is 'gini'"),
        (PermutationSelector, {"n_estimators": 0}, "n_estimators is 0"),
        (AUCSelector, {"path_errors": 2}, "path_errors is 2"),
    ],
)
def test_own_parameters_are_checked(cls, options, message, data):
    with pytest.raises(ValueError, match=message):
        make(cls, 3).set_params(**options).fit(*data)


def test_budgets_of_a_path_are_checked(cls, data):
    with pytest.raises(ValueError, match="budgets is"):
        make(cls, xi=1).path(*data, budgets=[-1])
    with pytest.raises(ValueError, match="budgets is"):
        make(cls, xi=1).path(*data, budgets=[])

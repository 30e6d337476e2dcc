"""Bad input gets a clear error with the way out, and nothing else happens: a fitted model stays as it was."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import frugalforest as ff
from frugalforest.impurities import Gini, Polynomial, Powers, ThresholdPairs

NAMES = ["age", "glucose", "insulin", "town"]
random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(120, 3)).round(2), columns=NAMES[:3]).assign(
    town=random.choice(["Rome", "Oslo", "Lima"], 120)
)
y = np.where(X["glucose"] + X["age"] > 0, "ill", "well")
NUMBERS = X[NAMES[:3]].to_numpy()


@pytest.fixture(
    params=[
        ff.StandardForestClassifier,
        ff.BudgetForestClassifier,
        ff.FrugalBoostingClassifier,
        ff.GreedyMiserClassifier,
    ]
)
def model(request):
    return request.param(n_estimators=4, random_state=0)


def _state(model) -> dict[str, Any]:
    return {name: id(value) for name, value in vars(model).items() if name not in model.get_params()}


def refuses(model, message, X=X, y=y, error=ValueError, **fit: Any):
    """`fit` raises with this message; an unfitted model stays unfitted, a fitted one keeps its old fit in full."""
    with pytest.raises(error, match=message) as caught:
        clone(model).fit(X, y, **fit)
    assert len(str(caught.value).splitlines()) == 1
    fresh = clone(model)
    with pytest.raises(error):
        fresh.fit(X, y, **fit)
    assert not any(name.endswith("_") and not name.endswith("__") for name in vars(fresh))
    with pytest.raises(NotFittedError):
        fresh.predict(NUMBERS)
    _old_fit_survives(model, X, y, error, fit)


def _old_fit_survives(model, X, y, error, fit):
    fitted = copy.copy(_fitted_before(type(model)))
    before, answer = _state(fitted), fitted.predict_proba(NUMBERS)
    fitted.set_params(**model.get_params(deep=False))
    with pytest.raises(error):
        fitted.fit(X, y, **fit)
    assert _state(fitted) == before
    if getattr(fitted, "voting", None) in ("hard", "soft"):  # the one parameter that prediction looks at
        fitted.set_params(voting=type(model)().voting, n_jobs=None)
        assert np.array_equal(fitted.predict_proba(NUMBERS), answer)
        assert fitted.score(NUMBERS, NUMBERS[:, 0] > 0) > 0.9


@cache
def _fitted_before(cls):
    options = {"oob_score": True} if hasattr(cls(), "oob_score") else {}
    return cls(n_estimators=3, random_state=1, **options).fit(NUMBERS, NUMBERS[:, 0] > 0)


# ---- costs


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, 2, 3], r"feature_costs has 3 entries but X has 4 columns\. Give one cost per column, or costs by name"),
        ([1, 2, 3, 4, 5], "feature_costs has 5 entries but X has 4 columns"),
        ({"age": 1, "glucose": 2, "town": 3}, r"missing: insulin\. Add costs for the missing ones"),
        ({"age": 1, "glucose": 2, "insulin": 2, "city": 3}, r"missing: town; unknown: city\. Add .* Drop the unknown"),
        ({"age": 1, "glucose": 2, "insulin": 2, "town": 3, "ct": 9}, r"unknown: ct\. Drop the unknown ones"),
        (pd.Series([1.0, 2, 3, 4], index=["age", "age", "town", "insulin"]), r"has duplicates: age; give each"),
        ([1, -2, 3, 4], r"must be finite and >= 0, got 1 = -2; 0 is legal"),
        ([1, np.nan, 3, 4], r"must be finite and >= 0, got 1 = nan"),
        ({"age": 1, "glucose": np.inf, "insulin": 2, "town": 1}, r"must be finite and >= 0, got glucose = inf"),
        ([[1, 2, 3, 4]], r"one number for each feature, got shape \(1, 4\)"),
        ([], r"one number for each feature, got shape \(0,\)"),
    ],
)
def test_costs_that_do_not_fit(model, costs, message):
    refuses(model.set_params(feature_costs=costs), message)


def test_costs_that_are_not_numbers(model):
    refuses(model.set_params(feature_costs="cheap"), "must be numbers, got 'cheap'; an array, dict", error=TypeError)


def test_named_costs_for_an_array_of_another_width(model):
    costs = dict.fromkeys(NAMES, 1.0)
    refuses(model.set_params(feature_costs=costs), "feature_costs has 4 entries but X has 3 columns", X=NUMBERS)


def test_groups_that_do_not_fit():
    with pytest.raises(ValueError, match="group 'blood': unknown: ldl; there are 4 features: age, glucose"):
        ff.FeatureCosts([1, 2, 3, 4], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "ldl"], 2)})
    with pytest.raises(ValueError, match="group 'blood': unknown: 4; these 4 features have no names, use"):
        ff.FeatureCosts([1, 2, 3, 4], groups={"blood": ff.Group([1, 4], 2)})
    with pytest.raises(ValueError, match=r"group costs must be finite and >= 0, got blood = -2"):
        ff.FeatureCosts([1, 2, 3, 4], groups={"blood": ff.Group([1, 2], -2)})


# ---- X


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_in_x_is_named(model, bad):
    infinite = X.copy()
    infinite.loc[3, "insulin"] = bad
    refuses(model, r"contains infinity .* in: insulin\. Replace it by a large number, or by NaN", X=infinite)
    refuses(model, r"contains infinity .* in: 2\.", X=infinite[NAMES[:3]].to_numpy())
    fitted = model.fit(X, y)
    for ask in (fitted.predict, fitted.predict_proba, fitted.acquisition_mask, fitted.acquisition_cost):
        with pytest.raises(ValueError, match="contains infinity"):
            ask(infinite)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (X[:0], r"Found array with 0 sample\(s\)"),
        (NUMBERS[:0], r"Found array with 0 sample\(s\)"),
        (X[[]], r"Found array with 0 feature\(s\)"),
        (NUMBERS[:, 0], r"Expected 2D array, got 1D array instead"),
        (NUMBERS[:100], "X has 100 rows but y has 120; give one label per row"),
        (X.set_axis(["age", "age", "insulin", "town"], axis=1), "several columns of the same name; rename or drop"),
    ],
)
def test_x_of_no_use(model, bad, message):
    with pytest.raises(ValueError, match=message):
        model.fit(bad, y)
    assert not hasattr(model, "classes_")


def test_dates_are_refused(model):
    dates = X.assign(seen=pd.Timestamp("2020-01-01"))
    refuses(model, "Dates, times and durations are not supported, but are in: seen", X=dates, error=TypeError)


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (["city"], "categorical_features names 'city', but X has no such column: age, glucose, insulin, town"),
        ([7], "categorical_features holds 7; expected column names, positions from 0 to 3"),
        ([True], "categorical_features has 1 entries, but X has 4 columns"),
        ("town", "is not a list: give .*town"),
    ],
)
def test_categorical_features_that_do_not_exist(model, marks, message):
    refuses(model.set_params(categorical_features=marks), message)


# ---- y


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(120, "ill"), "y has only one class, .*'ill'.*; a classifier needs rows of at least two classes"),
        (np.where(np.arange(120) == 5, np.nan, 1.0), "y contains NaN or infinity; remove these rows"),
        (np.where(np.arange(120) == 5, np.inf, 1.0), "y contains NaN or infinity; remove these rows"),
        (np.where(np.arange(120) == 5, None, y), "y contains missing labels .*; remove these rows"),
        (pd.Series(y).where(np.arange(120) != 5, np.nan), "y contains missing labels"),
        (pd.Series(y, dtype="string").where(np.arange(120) != 5, pd.NA), "y contains missing labels"),
        (np.linspace(0, 1, 120), "Unknown label type: continuous"),
        (np.zeros(7), "X has 120 rows but y has 7; give one label per row"),
        (None, "requires y to be passed, but the target y is None; give one label per row"),
        (np.zeros((120, 2)), "y should be a 1d array"),
    ],
)
def test_labels_that_are_none(model, labels, message):
    refuses(model, message, y=labels)


# ---- weights


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(7), r"X has 120 rows but sample_weight has shape \(7,\); give one weight per row"),
        (np.ones((120, 2)), r"sample_weight has shape \(120, 2\); give one weight per row"),
        (np.where(np.arange(120) == 5, -1.0, 1.0), "sample_weight is -1 in row 5; expected finite numbers >= 0"),
        (np.where(np.arange(120) == 5, np.nan, 1.0), "sample_weight is nan in row 5"),
        (np.where(np.arange(120) == 5, np.inf, 1.0), "sample_weight is inf in row 5"),
        (np.zeros(120), "sample_weight is zero for every row; give at least one"),
        (["heavy"] * 120, "sample_weight must be numbers, one per row"),
    ],
)
def test_weights_that_are_none(model, weight, message):
    refuses(model, message, sample_weight=weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", """class_weight is 'even'; expected None, "balanced" or a dict"""),
        ([1, 2], "class_weight is .1, 2.; expected None"),
        ({"ill": 1, "dead": 2}, "names classes that y does not have: .'dead'.; y has .'ill', 'well'."),
        ({"ill": -1}, "class_weight.'ill'. is -1; expected a finite number of at least 0"),
        ({"ill": np.nan}, "class_weight.'ill'. is nan"),
        ({"ill": 0, "well": 0}, "class_weight is zero for every row; give at least one class"),
    ],
)
def test_class_weights_that_are_none(model, weight, message):
    refuses(model.set_params(class_weight=weight), message)


# ---- parameters: type and range of every one

WHOLE = [0, -1, 2.5, "3", None, True]
COMMON = {
    "n_estimators": (WHOLE, "whole number of at least 1"),
    "max_depth": ([0, -3, 2.5, "deep", False], "whole number of at least 1 or None"),
    "max_features": ([0, 0.0, -1, 1.5, "all", True, np.nan, [1]], 'expected "sqrt", "log2", a whole number'),
    "min_samples_split": ([1, 0.5, None, "2"], "whole number of at least 2"),
    "min_samples_leaf": (WHOLE, "whole number of at least 1"),
    "min_weight_fraction_leaf": ([-0.1, 0.6, None, "0.1", np.nan], "finite number between 0 and 0.5"),
    "thresholds": (["some", None, 80], "expected one of 'all', 'random'"),
    "bootstrap": ([1, None, "yes"], "expected True or False"),
    "voting": (["loud", None, True], "expected one of 'hard', 'soft'"),
    "stop": (["early", None, "budget"], "expected one of 'all', 'label'"),
    "max_bins": ([1, 256, None, 10.0], "whole number from 2 to 255"),
    "oob_score": ([1, None, "yes"], "expected True or False"),
    "n_jobs": ([0, 1.5, "two", True], "expected None, a number of threads, or -1 for all processors"),
    "random_state": (
        [-1, 2**32, 1.5, "lucky"],
        "expected None, a whole number from 0 to",
    ),
    "verbose": ([-1, None, "loud"], "whole number of at least 0"),
}
ONE = {
    ff.StandardForestClassifier: {
        "skip_constant_features": ([1, None, "yes"], "expected True or False"),
        "criterion": (["squared", None, Gini()], "expected one of 'gini', 'entropy'"),
        "max_distinct_features": ([0, 1.5, "two"], "whole number of at least 1 or None"),
        "max_tree_cost": ([-1, np.inf, np.nan, "much"], "finite number of at least 0 or None"),
    },
    ff.BudgetForestClassifier: {
        "budget": ([-1, np.nan, np.inf, "much", True, [1]], "finite number of at least 0 or None"),
        "alpha": (
            [-1, np.nan, "many", None, [0, -1], [0, "x"], [], [[0, 1]]],
            """expected "auto", or one or several finite numbers""",
        ),
        "splitting": (["minmax", None], "expected one of 'minimax', 'expected'"),
        "charge": (["never", None], "expected one of 'always', 'path', 'forest'"),
        "price_power": ([-0.1, 1.1, None, "low", [], [1, "x"]], "one or several finite numbers between 0 and 1"),
        "repeat_charge": ([-0.1, 1.1, None], "finite number between 0 and 1"),
        "validation_fraction": ([-0.1, 1.1, None, "some"], "finite number between 0 and 1"),
    },
}
BAD = [
    (cls, name, value, message)
    for cls, own in ONE.items()
    for name, (values, message) in (COMMON | own).items()
    for value in values
]


@pytest.mark.parametrize(("cls", "name", "value", "message"), BAD, ids=lambda part: str(part)[:40])
def test_parameters_out_of_range(cls, name, value, message):
    refuses(cls(**{"n_estimators": 3, name: value}), f"{name} is .*{message}")


def test_every_parameter_is_checked():
    elsewhere = {"feature_costs", "class_weight", "categorical_features", "impurity"}
    for cls, own in ONE.items():
        assert set(cls().get_params()) - elsewhere == set(COMMON) | set(own)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
def test_validation_needs_some_rows_and_not_all(value):
    model = ff.BudgetForestClassifier(validation_fraction=value)
    refuses(model, r"validation_fraction is .*expected a share between 0 and 1, exclusive. Give eval_set to fit on all")


@pytest.mark.parametrize("cls", ONE)
def test_out_of_bag_needs_bags(cls):
    refuses(cls(oob_score=True, bootstrap=False), "oob_score=True needs bootstrap=True")


@pytest.mark.parametrize(
    ("impurity", "error", "message"),
    [
        ("gini", TypeError, r"impurity is 'gini'; expected one of frugalforest.impurities, such as Powers\(2\)"),
        ("variance", TypeError, "impurity is 'variance'; expected one of"),
        (3, TypeError, "impurity is 3; expected one of"),
        (Powers, TypeError, "impurity is <class .*; expected one of frugalforest.impurities, such as"),
        ([Powers(2), None], TypeError, "impurity is None; expected one of"),
        ([], ValueError, "impurity is an empty list; give at least one impurity, or None"),
        (Polynomial([(1, [1, 1, 1])]), ValueError, "have 2 classes but the terms have 3 exponents; give one per class"),
        (lambda counts: 1.0, ValueError, r"the impurity returned shape \(\) for 3 sets of 2 classes"),
        (lambda counts: counts[:, 0] / counts[:, 1], ValueError, "gave .* for the class counts .*expected finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_impurities_that_are_none(impurity, error, message):
    refuses(ff.BudgetForestClassifier(impurity=impurity), message, error=error)


# ---- eval_set


@pytest.mark.parametrize(
    ("eval_set", "error", "message"),
    [
        ((X,), ValueError, r"eval_set is a tuple of 1; expected a pair \(X_val, y_val\)"),
        (X, ValueError, r"eval_set is a DataFrame; expected a pair \(X_val, y_val\)"),
        ((X, y, y), ValueError, r"expected a pair \(X_val, y_val\)"),
        ((X, y[:5]), ValueError, r"eval_set: X has 120 rows but y has shape \(5,\)"),
        ((X[:0], y[:0]), ValueError, r"eval_set: Found array with 0 sample"),
        ((X[["age", "town"]], y), ValueError, "eval_set: X lacks 2 of the 4 columns .*: glucose, insulin. Add them"),
        ((NUMBERS, y), ValueError, "eval_set: X has 3 features, but .* is expecting 4"),
        ((X.assign(age="old"), y), ValueError, "eval_set: Feature 'age' was numeric when fitted, but now holds text"),
        ((X, np.where(y == "ill", "dead", y)), ValueError, "labels that y does not have: dead; y has .'ill', 'well'."),
        ((X, (y == "ill").astype(int)), ValueError, "labels that y does not have: 0, 1; y has"),
        ((X, None), ValueError, r"eval_set: X has 120 rows but y has shape \(\)"),
    ],
)
def test_eval_sets_that_do_not_fit(eval_set, error, message):
    refuses(ff.BudgetForestClassifier(n_estimators=3), message, error=error, eval_set=eval_set)


# ---- budgets


@pytest.mark.parametrize("alpha", ["auto", 0, [3, 0]])
@pytest.mark.parametrize("charge", ["always", "forest"])
def test_a_budget_below_the_cheapest_tree_is_answered_for_free_and_the_least_one_is_named(alpha, charge):
    costs = ff.FeatureCosts([1.37, 2.11, 3.01, 7], groups={"blood": ff.Group([1, 2], 0.77)})
    model = ff.BudgetForestClassifier(
        0.3, alpha=alpha, charge=charge, feature_costs=costs, n_estimators=5, random_state=0
    )
    with pytest.warns(UserWarning, match="no tree fits a budget of 0.3: .* The model answers with the most") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.n_estimators_ == 0
    assert not model.acquisition_cost(X).any()
    least = float(re.search(r"at least ([\d.]+) for a tree", str(caught[0].message))[1])
    enough = clone(model).set_params(budget=least).fit(X, y)
    assert enough.n_estimators_ >= 1
    assert 0 < enough.validation_cost_ <= least
    assert enough.acquisition_mask(X).any()
    with pytest.warns(UserWarning, match=f"no tree fits a budget of {least / 2:g}"):
        clone(model).set_params(budget=least / 2).fit(X, y)


def test_at_budget_below_the_cheapest_tree_names_a_budget_that_is_enough():
    model = ff.BudgetForestClassifier(n_estimators=5, alpha=0, feature_costs=[1.37, 2.11, 3.01, 7], random_state=0)
    model.fit(X, y)
    with pytest.warns(UserWarning, match="no tree fits a budget of 0.1") as caught:
        free = model.at_budget(0.1)
    assert caught[0].filename == __file__
    assert free.n_estimators_ == 0
    assert model.n_estimators_ >= 1
    least = float(re.search(r"at least ([\d.]+) for a tree", str(caught[0].message))[1])
    assert model.at_budget(least).n_estimators_ >= 1


def test_at_budget_refuses_what_was_not_grown():
    model = ff.BudgetForestClassifier(2.5, n_estimators=20, alpha=0, random_state=0).fit(X, y)
    assert model.max_budget_ == 2.5
    for budget, wanted in ((3.0, "a budget of 3"), (None, "no limit")):
        with pytest.raises(ValueError, match=f"grown for a budget of 2.5, so {wanted} is out of reach; fit with this"):
            model.at_budget(budget)
    with pytest.raises(ValueError, match="budget is -1; expected a finite number"):
        model.at_budget(-1)
    with pytest.raises(NotFittedError):
        ff.BudgetForestClassifier().at_budget(1)


def test_too_few_rows_to_set_aside_are_warned_about():
    with pytest.warns(UserWarning, match="too few rows to set some aside: .* Give eval_set, or more rows") as caught:
        model = ff.BudgetForestClassifier(n_estimators=3, random_state=0).fit([[0.0], [1.0]], [0, 1])
    assert caught[0].filename == __file__
    assert model.curve_.error.max() <= 0.5


# ---- prediction


@pytest.fixture
def fitted(model):
    return model.set_params(feature_costs=dict(zip(NAMES, [1, 2, 3, 4], strict=True))).fit(X, y)


def test_missing_columns_are_all_listed(fitted):
    for ask in (fitted.predict, fitted.predict_proba, fitted.acquisition_mask, fitted.predict_with_cost):
        with pytest.raises(ValueError, match=r"X lacks 2 of the 4 columns .* fitted with: glucose, town\. Add them"):
            ask(X[["age", "insulin"]])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        fitted.predict(NUMBERS)


def test_columns_are_matched_by_name(fitted):
    shuffled = X[["town", "insulin", "age", "glucose"]].assign(further=1)
    assert np.array_equal(fitted.predict_proba(shuffled), fitted.predict_proba(X))
    assert np.array_equal(fitted.acquisition_mask(shuffled), fitted.acquisition_mask(X))
    assert np.array_equal(fitted.acquisition_cost(shuffled), fitted.acquisition_cost(X))


def test_validation_columns_are_matched_by_name():
    model = ff.BudgetForestClassifier(n_estimators=3, random_state=0)
    one = clone(model).fit(X[:80], y[:80], eval_set=(X[80:], y[80:]))
    two = clone(model).fit(X[:80], y[:80], eval_set=(X[80:].iloc[:, ::-1].assign(further=1), y[80:]))
    assert np.array_equal(one.curve_.error, two.curve_.error)


def test_other_number_types_give_the_same_answers(model):
    whole = np.random.default_rng(1).integers(0, 40, size=(90, 3))
    fitted = model.fit(whole, whole[:, 0] > 20)
    expected = fitted.predict_proba(whole)
    for dtype in (np.float32, np.float64, np.int8, np.uint16, object):
        assert np.array_equal(fitted.predict_proba(whole.astype(dtype)), expected)
    assert np.array_equal(fitted.predict_proba(whole.tolist()), expected)


def test_other_kinds_of_columns_are_refused(fitted):
    with pytest.raises(ValueError, match=r"'age' was numeric when fitted, but now holds text \(such as 'old'\)"):
        fitted.predict(X.assign(age="old"))
    with pytest.raises(ValueError, match=r"Feature 'town' held text when fitted .*but now holds numbers"):
        fitted.predict(X.assign(town=3))


def test_unseen_categories_are_missing_values(fitted):
    unseen, missing = X.assign(town="Paris"), X.assign(town=None)
    assert np.array_equal(fitted.predict_proba(unseen), fitted.predict_proba(missing))
    assert np.array_equal(fitted.acquisition_mask(unseen), fitted.acquisition_mask(missing))


def test_values_that_were_never_missing_may_be(fitted):
    gone = X.assign(age=np.nan, glucose=np.nan)
    assert np.isfinite(fitted.predict_proba(gone)).all()


def test_nothing_works_before_fit(model):
    asks = ["predict", "predict_proba", "acquisition_mask", "acquisition_cost", "predict_with_cost"]
    for name in [*asks, *(["ranking_confidence"] if hasattr(model, "ranking_confidence") else [])]:
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
    for name in ("feature_importances_", "importances_per_cost_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        ff.evaluation.cost_curve(model, X, y)


def test_curves_are_for_our_models():
    with pytest.raises(TypeError, match="cost_curve measures the classifiers of frugalforest, got str"):
        ff.evaluation.cost_curve("model", X, y)


def test_curves_need_a_label_per_row(fitted):
    with pytest.raises(ValueError, match=r"X has 120 rows but y has shape \(3,\); give one label per row"):
        ff.evaluation.cost_curve(fitted, X, y[:3])


def test_a_threshold_pairs_of_a_negative_alpha_does_not_exist():
    with pytest.raises(ValueError, match="alpha is -1; expected a finite number >= 0"):
        ThresholdPairs(-1)

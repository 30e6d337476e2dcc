"""OnDemand and stop="label" of the forests: estimators like any other, with the same labels for a smaller bill."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.acquisition import Order
from frugalforest.evaluation import cost_curve
from frugalforest.forest import Forest

EXPECTED_FAILURES = PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier]  # of its own forest: weights and bootstrap

# The estimator inside is seeded: scikit-learn seeds only parameters of the outer one.
CHECKED = [
    ff.OnDemand(RandomForestClassifier(5, random_state=0)),
    ff.OnDemand(ff.StandardForestClassifier(5, random_state=0)),
    ff.OnDemand(ff.StandardForestClassifier(5, random_state=0), stop="budget", budget=2.0),
    ff.OnDemand(RandomForestClassifier(5, random_state=0), stop="confidence", disagreement=0.2),
]


@parametrize_with_checks(CHECKED, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "hdl"]
COSTS = ff.FeatureCosts(
    [0.9, 1.0, 1.1, 0.8, 0.7, 1.2], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 0.1)}
)


@pytest.fixture(scope="module")
def data():
    """No feature is enough by itself."""
    X = np.random.default_rng(3).normal(size=(300, 6)).round(2)
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] - X[:, 4] > 0
    return pd.DataFrame(X, columns=NAMES), np.where(y, "ill", "well")


@pytest.fixture(scope="module")
def forest(data):
    return RandomForestClassifier(25, max_depth=6, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def new_rows(data):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.choice(data[0].to_numpy().ravel(), (120, 6)), columns=NAMES)


def run_to_the_end(run, row):
    while (feature := run.next_feature()) is not None:
        run.provide(feature, row[feature])
    return run


def assert_contract(model, X, n_runs=25):
    """Label, mask, bill and run agree, row by row and exactly."""
    labels, probabilities, mask = model.predict(X), model.predict_proba(X), model.acquisition_mask(X)
    bills = model.acquisition_cost(X)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], labels)
    assert np.array_equal(bills, model.feature_costs_.of_rows(mask))
    for found, expected in zip(model.predict_with_cost(X), (labels, bills), strict=True):
        assert np.array_equal(found, expected)
    names = np.array(getattr(model, "feature_names_in_", range(model.n_features_in_)))
    for i in range(min(n_runs, len(labels))):
        run = run_to_the_end(model.start(), X.iloc[i] if hasattr(X, "iloc") else X[i])
        assert set(run.acquired) == set(names[mask[i]].tolist())
        assert (run.prediction, run.spent) == (labels[i], bills[i])
        assert np.array_equal(run.probabilities, probabilities[i])


# The contract.


@pytest.mark.parametrize(
    "options",
    [
        {"stop": "label"},
        {"stop": "all"},
        {"stop": "budget", "budget": 2.7},
        {"stop": "confidence", "disagreement": 0.1},
    ],
    ids=lambda options: options["stop"],
)
def test_label_mask_bill_and_run_agree(forest, data, new_rows, options):
    model = ff.OnDemand(forest, feature_costs=COSTS, **options)
    if options["stop"] == "confidence":
        model.calibrate(data[0])
    assert_contract(model, new_rows)
    if options["stop"] == "budget":
        assert model.acquisition_cost(new_rows).max() <= 2.7


INSIDE = {
    "forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(10, random_state=0),
    "one tree": DecisionTreeClassifier(random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "standard": ff.StandardForestClassifier(15, random_state=0),
    "standard, hard": ff.StandardForestClassifier(16, voting="hard", random_state=0),
    "budget": ff.BudgetForestClassifier(n_estimators=10, random_state=0),
    "frugal boosting": ff.FrugalBoostingClassifier(n_estimators=10, random_state=0),
    "greedy miser": ff.GreedyMiserClassifier(n_estimators=10),
    "penalized": ff.PenalizedForestClassifier(n_estimators=8, random_state=0),
    "pruned": ff.PrunedForestClassifier(ff.StandardForestClassifier(6, random_state=0), random_state=0),
    "preselected": ff.PreselectedClassifier(
        ff.selection.FixedSelector([0, 2, 3, 5, 6]), ff.StandardForestClassifier(6, random_state=0)
    ),
    "on demand": ff.OnDemand(RandomForestClassifier(10, random_state=0)),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_are_those_of_the_estimator(name, n_classes):
    X, y = make_classification(240, 7, n_informative=4, n_classes=n_classes, random_state=1)
    X = X.round(1)
    inside = clone(INSIDE[name]).fit(X[:160], y[:160])
    model = ff.OnDemand(inside)
    assert np.array_equal(model.predict(X), inside.predict(X))
    assert_contract(model, X, n_runs=10)
    exact = ff.OnDemand(inside, stop="all")
    assert np.array_equal(exact.predict(X), inside.predict(X))
    if name != "on demand":  # which estimates probabilities where its label is settled
        np.testing.assert_allclose(exact.predict_proba(X), inside.predict_proba(X), rtol=1e-12)
    assert (model.acquisition_cost(X) <= exact.acquisition_cost(X)).all()


@pytest.mark.parametrize("order", [Order(by="count", bounds="cursor"), Order(hope=0.0), Order(bounds="deep")], ids=str)
def test_orders_change_bills_and_not_labels(forest, new_rows, order):
    model = ff.OnDemand(forest, feature_costs=COSTS, order=order)
    assert np.array_equal(model.predict_with_cost(new_rows)[0], forest.predict(new_rows))
    assert_contract(model, new_rows, n_runs=5)


def test_threads_do_not_matter(forest, new_rows):
    one, two = (ff.OnDemand(forest, feature_costs=COSTS, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.acquisition_mask(new_rows), two.acquisition_mask(new_rows))
    assert np.array_equal(one.predict_proba(new_rows), two.predict_proba(new_rows))


def test_frames_of_any_library(forest, new_rows):
    model = ff.OnDemand(forest, feature_costs=COSTS)
    bills = model.acquisition_cost(new_rows)
    assert np.array_equal(model.acquisition_cost(pl.from_pandas(new_rows)), bills)
    assert np.array_equal(model.acquisition_cost(new_rows[NAMES[::-1]]), bills)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but OnDemand was fitted with") as caught:
        assert np.array_equal(model.acquisition_cost(new_rows.to_numpy()), bills)
    assert [warning.filename for warning in caught] == [__file__]


# Prices.


def test_unit_prices_unless_given(forest, new_rows):
    model = ff.OnDemand(forest)
    assert np.array_equal(model.acquisition_cost(new_rows), model.acquisition_mask(new_rows).sum(axis=1))
    assert model.feature_costs_.feature_names == tuple(NAMES)


def test_own_forests_bring_their_prices(data, new_rows):
    inside = ff.StandardForestClassifier(10, feature_costs=COSTS, random_state=0).fit(*data)
    assert ff.OnDemand(inside).feature_costs_ == COSTS
    dear = ff.OnDemand(inside, feature_costs=COSTS.scaled(3))
    assert dear.feature_costs_ == COSTS.scaled(3)
    np.testing.assert_allclose(dear.acquisition_cost(new_rows), 3 * ff.OnDemand(inside).acquisition_cost(new_rows))


@pytest.mark.parametrize("budget", [1.0, 2.0])
def test_own_boosters_within_a_budget_per_row(data, new_rows, budget):
    inside = ff.FrugalBoostingClassifier(budget=3, feature_costs=COSTS, n_estimators=20, random_state=0).fit(*data)
    model = ff.OnDemand(inside, stop="budget", budget=budget)
    assert model.feature_costs_ == COSTS
    assert model.acquisition_cost(new_rows).max() <= budget
    assert_contract(model, new_rows, n_runs=5)


def test_what_was_not_selected_may_hold_anything(data):
    X, y = data
    X = X.assign(ldl="a note", hdl=np.inf)
    selector = ff.selection.FixedSelector(NAMES[:4])
    inside = ff.PreselectedClassifier(selector, ff.StandardForestClassifier(6, random_state=0)).fit(
        X.assign(hdl=0.0), y
    )
    model = ff.OnDemand(inside)
    assert np.array_equal(model.predict(X), inside.predict(X))
    assert np.array_equal(model.predict_with_cost(X)[0], inside.predict(X))
    assert not model.acquisition_mask(X)[:, 4:].any()


@pytest.mark.parametrize(
    "given", [dict.fromkeys(NAMES, 2.0), [2.0] * 6, np.full(6, 2.0), pd.Series(dict.fromkeys(NAMES, 2.0))]
)
def test_prices_of_any_kind(forest, new_rows, given):
    model = ff.OnDemand(forest, feature_costs=given)
    assert np.array_equal(model.acquisition_cost(new_rows), 2.0 * model.acquisition_mask(new_rows).sum(axis=1))


def test_prices_can_be_exchanged(forest, new_rows):
    model = ff.OnDemand(forest, feature_costs=[1.0] * 6)
    cheap = model.acquisition_cost(new_rows)
    for factor in (2.0, 3.0, 5.0):
        model.set_params(feature_costs=None)  # the old list is gone, and a new one may lie where it was
        model.feature_costs = [factor] * 6
        assert np.array_equal(model.acquisition_cost(new_rows), factor * cheap)


def test_wrong_prices_are_refused_by_name(forest, new_rows):
    with pytest.raises(ValueError, match="hdl"):
        ff.OnDemand(forest, feature_costs=dict.fromkeys(NAMES[:-1], 1.0)).predict(new_rows)


def test_a_run_is_dearer_where_prices_are(data):
    inside = ff.StandardForestClassifier(12, random_state=0).fit(*data)
    model = ff.OnDemand(inside, feature_costs=COSTS)
    run = model.start()
    assert run.next_price == COSTS.of([run.next_feature()])


# Parameters.


def test_clone_keeps_parameters_and_forgets_the_fit(data):
    model = ff.OnDemand(RandomForestClassifier(3, random_state=0), feature_costs=COSTS, stop="budget", budget=1.0)
    copied = clone(model.fit(*data))
    assert copied.feature_costs is COSTS
    assert {k: v for k, v in copied.get_params().items() if k != "estimator"} == {
        k: v for k, v in model.get_params().items() if k != "estimator"
    }
    with pytest.raises(NotFittedError):
        copied.predict(data[0])


def test_parameters_of_the_estimator_inside(data):
    model = ff.OnDemand(RandomForestClassifier(3, random_state=0))
    assert model.get_params()["estimator__n_estimators"] == 3
    model.set_params(estimator__n_estimators=5, stop="all").fit(*data)
    assert len(model.estimator_.estimators_) == 5
    assert len(ff.OnDemand(model.estimator_)._acquirer().ensemble.forest.node_offsets) == 6


def test_fitting_leaves_the_estimator_alone(data):
    inside = RandomForestClassifier(3, random_state=0)
    model = ff.OnDemand(inside).fit(*data)
    assert not hasattr(inside, "estimators_")
    assert model.estimator_ is not inside


@pytest.mark.parametrize(
    "inside", [RandomForestClassifier(5, random_state=0), ff.StandardForestClassifier(5, random_state=0)]
)
def test_an_estimator_that_is_fitted_again_is_read_again(inside, data):
    X, y = data
    inside = clone(inside).fit(X, y)
    model = ff.OnDemand(inside)
    before = model.predict(X)
    inside.fit(X, np.where(y == "ill", "well", "ill"))
    assert np.array_equal(model.predict(X), inside.predict(X))
    assert not np.array_equal(model.predict(X), before)


def test_nothing_is_read_twice(forest, new_rows):
    model = ff.OnDemand(forest, feature_costs=COSTS)
    model.predict(new_rows)
    first = model._acquirer()
    model.set_params(stop="all").predict_with_cost(new_rows)
    assert model._acquirer() is first


def test_stop_rules_can_be_exchanged(forest, new_rows):
    model = ff.OnDemand(forest, feature_costs=COSTS)
    label = model.acquisition_cost(new_rows)
    everything = model.set_params(stop="all").acquisition_cost(new_rows)
    within = model.set_params(stop="budget", budget=1.9).acquisition_cost(new_rows)
    assert label.sum() < everything.sum()
    assert within.max() <= 1.9
    assert np.array_equal(model.set_params(stop="label").acquisition_cost(new_rows), label)


def test_a_search_over_stop_rules(data):
    grid = {"stop": ["label", "budget"], "estimator__max_depth": [2, 4]}
    model = ff.OnDemand(RandomForestClassifier(5, random_state=0), budget=1.0)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(*data)
    assert search.best_score_ > 0.7
    assert cross_val_score(ff.OnDemand(RandomForestClassifier(5, random_state=0)), *data, cv=3).mean() > 0.7


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("is_used", [False, True])
def test_copies_do_the_same(forest, data, new_rows, copied, is_used):
    model = ff.OnDemand(forest, feature_costs=COSTS, stop="confidence", disagreement=0.1).calibrate(data[0])
    expected = model.predict_with_cost(new_rows)
    fresh = ff.OnDemand(forest, feature_costs=COSTS) if not is_used else model
    other = copied(fresh)
    if is_used:
        assert other.calibration_ == model.calibration_
        for a, b in zip(other.predict_with_cost(new_rows), expected, strict=True):
            assert np.array_equal(a, b)
    assert np.array_equal(copied(ff.OnDemand(forest)).predict(new_rows), forest.predict(new_rows))


# What is refused.


@pytest.mark.parametrize(
    "inside", [RandomForestClassifier(3), ff.StandardForestClassifier(3), GradientBoostingClassifier()]
)
def test_unfitted_estimators(inside, data):
    model = ff.OnDemand(inside)
    for ask in (model.predict, model.predict_proba, model.acquisition_mask, model.predict_with_cost, model.calibrate):
        with pytest.raises(NotFittedError):
            ask(data[0])
    with pytest.raises(NotFittedError):
        model.start()
    with pytest.raises(NotFittedError):
        model.resume("{}")


def test_models_that_are_no_trees(data):
    with pytest.raises(TypeError, match="LogisticRegression is no tree classifier that can be read"):
        ff.OnDemand(LogisticRegression().fit(*data)).predict(data[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "soon"}, "stop='soon' is not one of"),
        ({"stop": "budget"}, "needs a budget of at least 0.* got None"),
        ({"stop": "budget", "budget": -1}, "needs a budget of at least 0.* got -1"),
        ({"stop": "confidence", "disagreement": 2}, "disagreement"),
        ({"stop": "confidence", "disagreement": -0.1}, "disagreement"),
        ({"n_jobs": "two"}, "n_jobs"),
    ],
)
def test_bad_parameters(forest, data, options, message):
    model = ff.OnDemand(forest, **options)
    for ask in (lambda: model.predict(data[0]), lambda: model.fit(*data), model.start):
        with pytest.raises((TypeError, ValueError), match=message):
            ask()


def test_confidence_needs_a_threshold(forest, data):
    model = ff.OnDemand(forest, stop="confidence")
    for ask in (lambda: model.predict(data[0]), model.start):
        with pytest.raises(ValueError, match=r"call calibrate\(X\) with rows not used for fitting"):
            ask()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"disagreement": 0.0001}, r"disagreement is 0\.0001, and was 0\.1\. Call calibrate\(X\) again"),
        ({"estimator": "other"}, r"the estimator, its prices or .* changed\. Call calibrate\(X\) again"),
        ({"feature_costs": [1, 2, 3, 4, 5, 6]}, r"changed\. Call calibrate\(X\) again"),
        ({"order": Order(hope=0.0)}, r"changed\. Call calibrate\(X\) again"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("source", ["fresh", "pickled", "from a file"])
def test_a_threshold_holds_for_what_it_was_calibrated_for(forest, data, tmp_path, changes, message, source):
    model = ff.OnDemand(forest, feature_costs=COSTS, stop="confidence", disagreement=0.1).calibrate(data[0])
    if source == "pickled":
        model = pickle.loads(pickle.dumps(model))
    elif source == "from a file":
        model.save(tmp_path / "model.ff")
        model = ff.load(tmp_path / "model.ff")
    before = model.predict(data[0])
    if "estimator" in changes:
        changes = {"estimator": RandomForestClassifier(4, random_state=1).fit(*data)}
    model.set_params(**changes)
    for ask in (lambda: model.predict(data[0]), lambda: model.predict_with_cost(data[0]), model.start):
        with pytest.raises(ValueError, match=message):
            ask()
    assert len(model.calibrate(data[0]).predict(data[0])) == len(before)
    assert len(model.set_params(stop="label").predict(data[0])) == len(before)


def test_a_threshold_is_kept_while_nothing_changes(forest, data):
    model = ff.OnDemand(forest, stop="confidence", disagreement=0.1).calibrate(data[0])
    bills = model.acquisition_cost(data[0])
    model.set_params(disagreement=0.2).set_params(disagreement=0.1, n_jobs=2)
    assert np.array_equal(model.acquisition_cost(data[0]), bills)


def test_what_cannot_be_fitted_again(forest, data, tmp_path):
    ff.OnDemand(forest).save(tmp_path / "model.ff")
    loaded = ff.load(tmp_path / "model.ff")
    with pytest.raises(
        TypeError, match=r"comes from a file, .* cannot be fitted again, .* OnDemand\(estimator\)"
    ) as caught:
        loaded.fit(*data)
    assert len(str(caught.value)) < 300
    with pytest.raises(TypeError, match="comes from a file"):
        cross_val_score(loaded, *data, error_score="raise")
    assert repr(loaded.estimator) == "Ensemble(25 trees, 6 features, 2 classes)"
    with pytest.raises(TypeError, match=r"estimator is a object, which cannot be fitted again\. Give a classifier"):
        ff.OnDemand(object()).fit(*data)


def test_sample_weights_go_with_their_rows(data):
    """Also when some rows are set aside."""
    X, y = data
    weight = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    model = ff.OnDemand(RandomForestClassifier(5, random_state=0), stop="confidence", disagreement=0.2)
    model.fit(X, y, sample_weight=weight)
    assert model.calibration_.n_rows == pytest.approx(len(y) / 4, abs=2)
    plain = ff.OnDemand(RandomForestClassifier(5, random_state=0)).fit(X, y, sample_weight=weight)
    expected = RandomForestClassifier(5, random_state=0).fit(X, y, sample_weight=weight)
    assert np.array_equal(plain.predict(X), expected.predict(X))


def test_too_few_rows_to_set_aside(data):
    X, y = data
    two = np.array([np.flatnonzero(y == label)[0] for label in ("ill", "well")])
    model = ff.OnDemand(RandomForestClassifier(2), stop="confidence")
    with pytest.raises(ValueError, match="2 are too few"):
        model.fit(X.iloc[two], y[two])


def test_sparse_rows_are_refused(data):
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="Sparse data"):
        ff.OnDemand(RandomForestClassifier(2)).fit(csr_array(data[0].to_numpy()), data[1])


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, y = data
    model = ff.OnDemand(RandomForestClassifier(3, random_state=0)).fit(X, y)
    labels = model.predict(X)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    assert np.array_equal(model.predict(X), labels)


# stop="label" of the forests.


FORESTS = {
    "standard": ff.StandardForestClassifier(15, stop="label", random_state=0),
    "standard, even hard votes": ff.StandardForestClassifier(12, voting="hard", stop="label", random_state=0),
    "budget": ff.BudgetForestClassifier(n_estimators=12, stop="label", random_state=0),
    "budget, soft": ff.BudgetForestClassifier(3.5, n_estimators=12, stop="label", voting="soft", random_state=0),
}


@pytest.fixture(params=FORESTS)
def frugal(request, data):
    return clone(FORESTS[request.param]).set_params(feature_costs=COSTS).fit(*data)


def test_forests_stop_at_the_label(frugal, new_rows):
    assert_contract(frugal, new_rows)
    everything = copy.copy(frugal).set_params(stop="all")
    assert np.array_equal(frugal.predict(new_rows), everything.predict(new_rows))
    assert (frugal.acquisition_cost(new_rows) <= everything.acquisition_cost(new_rows)).all()
    assert frugal.acquisition_cost(new_rows).sum() < everything.acquisition_cost(new_rows).sum()


def test_on_demand_does_what_forests_do_by_themselves(frugal, new_rows):
    wrapped = ff.OnDemand(frugal)
    assert wrapped.feature_costs_ == frugal.feature_costs_
    assert np.array_equal(wrapped.predict(new_rows), frugal.predict(new_rows))
    assert np.array_equal(wrapped.predict_proba(new_rows), frugal.predict_proba(new_rows))
    assert np.array_equal(wrapped.acquisition_mask(new_rows), frugal.acquisition_mask(new_rows))
    assert np.array_equal(wrapped.acquisition_cost(new_rows), frugal.acquisition_cost(new_rows))


def test_forests_refuse_other_stop_rules(data):
    for stop in ("budget", "confidence", "never", None):
        with pytest.raises((TypeError, ValueError), match="stop"):
            ff.StandardForestClassifier(3, stop=stop).fit(*data)


def almost_tied_forest(model, X):
    """Leaves whose shares add up to scores that differ by their last bit, and to equal probabilities."""
    rng = np.random.default_rng(0)
    while True:
        counts = rng.integers(1, 9, (7, 4)).astype(float)
        counts = np.concatenate([counts, counts[:, [1, 0, 2, 3]], [[1, 1, 1, 1]]])
        leaves = {
            **{"node_offsets": np.arange(16), "leaf_offsets": np.arange(16), "leaf_counts": counts},
            **{"feature": np.full(15, -1, np.int32), "right": np.arange(15, dtype=np.int32)},
            **{"threshold": np.zeros(15), "missing_left": np.zeros(15, np.uint8)},
            **{"category_set": np.full(15, -1, np.int32), "category_sets": np.zeros((0, 4), np.uint64)},
        }
        forest = Forest.from_arrays(leaves, X.shape[1])
        scores = forest.sums(X, forest.leaf_shares)[0][0]
        if scores.argmax() != (scores / 15).argmax():
            model.forest_ = forest
            return model


@pytest.mark.parametrize("stop", ["all", "label"])
def test_labels_are_those_of_equal_probabilities(stop):
    X, y = np.arange(8.0).reshape(8, 1), np.arange(8) % 4
    model = almost_tied_forest(ff.StandardForestClassifier(2, stop=stop, random_state=0).fit(X, y), X)
    assert_contract(model, X)
    assert_contract(ff.OnDemand(model, stop=stop), X)


def test_more_classes_and_exact_ties():
    X, y = load_iris(return_X_y=True)
    X = X.round()
    for n_trees in (2, 4, 6):
        model = ff.StandardForestClassifier(n_trees, voting="hard", stop="label", random_state=n_trees).fit(X, y)
        assert_contract(model, X, n_runs=150)


def budget_forest(data, **options):
    X, y = data
    model = ff.BudgetForestClassifier(**({"n_estimators": 14, "stop": "label", "random_state": 0} | options))
    return model.set_params(feature_costs=COSTS).fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("budget", [None, 3.5])
def test_the_validation_bill_is_the_bill_on_demand(data, voting, budget):
    X, y = data
    model = budget_forest(data, budget=budget, voting=voting)
    assert model.n_estimators_ > 0
    labels, bills = model.predict_with_cost(X[200:])
    assert model.validation_cost_ == bills.mean()
    assert model.validation_error_ == np.mean(labels != y[200:])
    assert budget is None or model.validation_cost_ <= budget
    by_hand = [run_to_the_end(model.start(), row).spent for _, row in X[200:].iterrows()]
    assert np.array_equal(bills, by_hand)


def test_every_point_of_the_curve_is_measured_on_demand(data):
    X, y = data
    model = budget_forest(data, alpha=[0, 4])
    for i in range(len(model.curve_)):
        variant = model.variants_[model.curve_.variant[i]]
        part = copy.copy(model)
        part.forest_ = variant.forest.first(int(model.curve_.n_trees[i]))
        labels, bills = part.predict_with_cost(X[200:])
        assert model.curve_.cost[i] == bills.mean()
        assert model.curve_.error[i] == np.mean(labels != y[200:])


def test_other_budgets_of_the_same_trees(data):
    X, _ = data
    model = budget_forest(data)
    for budget in np.quantile(model.curve_.cost, [0.2, 0.5, 0.8]):
        smaller = model.at_budget(float(budget))
        assert smaller.acquisition_cost(X[200:]).mean() == smaller.validation_cost_ <= budget
        assert_contract(smaller, X[200:], n_runs=5)


def test_on_demand_a_budget_goes_further(data):
    """The same budget pays for at least as many trees if a row stops when its label is settled."""
    whole, frugal = (budget_forest(data, budget=3.5, alpha=0, stop=stop) for stop in ("all", "label"))
    assert len(frugal.curve_) >= len(whole.curve_)
    assert frugal.validation_error_ <= whole.validation_error_


def test_the_curve_of_later_rows_is_on_demand_too(data, new_rows):
    X, y = data
    model = budget_forest(data, alpha=[0, 4])
    curve = cost_curve(model, X[:100], y[:100])
    for i in range(len(curve)):
        part = copy.copy(model)
        part.forest_ = model.variants_[curve.variant[i]].forest.first(int(curve.n_trees[i]))
        labels, bills = part.predict_with_cost(X[:100])
        assert curve.cost[i] == pytest.approx(bills.mean(), rel=1e-12)
        assert curve.error[i] == pytest.approx(np.mean(labels != y[:100]))

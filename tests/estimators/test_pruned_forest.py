"""PrunedForestClassifier: any forest, pruned to a budget, with a proof; the contract of every classifier."""

from __future__ import annotations

import copy
import doctest
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators import pruned_forest
from frugalforest.importers import import_ensemble

SMALL = ff.StandardForestClassifier(8, random_state=0)
NAMES = ["age", "bmi", "glucose", "insulin", "ldl", "town"]
COSTS = ff.FeatureCosts(
    [0.3, 0.5, 1, 1.5, 1, 0.4], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2)}
)

FORESTS = {
    "standard": SMALL,
    "hard votes": ff.StandardForestClassifier(8, voting="hard", random_state=0),
    "budget": ff.BudgetForestClassifier(n_estimators=8, alpha=0, random_state=0),
    "penalized": ff.PenalizedForestClassifier(0.02, n_estimators=8, random_state=0),
    "scikit-learn forest": RandomForestClassifier(8, random_state=0),
    "scikit-learn extra trees": ExtraTreesClassifier(8, random_state=0),
    "scikit-learn tree": DecisionTreeClassifier(random_state=0),
}


@parametrize_with_checks(
    [
        ff.PrunedForestClassifier(SMALL),
        ff.PrunedForestClassifier(RandomForestClassifier(5, random_state=0), tradeoff=[0.001, 0.1], loss="error"),
        ff.PrunedForestClassifier(SMALL, tradeoff=0.01, stop="label"),
    ],
    expected_failed_checks=lambda estimator: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_classification(600, 6, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    X[::11, 2] = np.nan
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def people():
    X, y = make_classification(400, 6, n_informative=4, n_redundant=0, random_state=4)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["town"] = pd.cut(frame["town"], 3, labels=["low", "middle", "high"]).astype(str)
    return frame, np.array(["ill", "well"])[y]


# ---- what it is for


@pytest.mark.parametrize("name", FORESTS)
def test_no_row_pays_more_than_in_the_unpruned_forest(name, numbers):
    X, y, X_val, y_val = numbers
    costs = COSTS.own
    forest = clone(FORESTS[name]).fit(X, y)
    before = ff.OnDemand(forest, feature_costs=costs, stop="all").acquisition_cost(X_val)
    model = ff.PrunedForestClassifier(forest, prefit=True, feature_costs=costs).fit(X_val, y_val)
    bills = []
    for budget in (None, 3, 2, 1, 0.5, 0):
        smaller = model.at_budget(budget)
        bill = smaller.acquisition_cost(X_val)
        assert (bill <= before).all()
        assert bill.mean() == pytest.approx(smaller.validation_cost_)
        assert smaller.duality_gap_ <= model.gap
        bills.append(bill.mean())
    assert bills[-1] == 0
    assert (np.diff(bills) <= 0).all()
    assert bills[0] > 0


@pytest.mark.parametrize("name", FORESTS)
def test_without_a_tradeoff_little_is_lost(name, numbers):
    """Tradeoff 0 cuts off what the pruning rows have no use for; it is still about the forest it was."""
    X, y, X_val, y_val = numbers
    forest = clone(FORESTS[name]).fit(X, y)
    model = ff.PrunedForestClassifier(forest, tradeoff=0, prefit=True).fit(X_val, y_val)
    assert model.score(X_val, y_val) >= forest.score(X_val, y_val)
    assert model.duality_gap_ == 0
    assert model.forest_.n_nodes < import_or_own(forest).n_nodes


@pytest.mark.parametrize("name", FORESTS)
def test_trees_vote_as_before(name, numbers):
    X, y, X_val, y_val = numbers
    forest = clone(FORESTS[name]).fit(X, y)
    model = ff.PrunedForestClassifier(forest, tradeoff=0, prefit=True).fit(X_val, y_val)
    assert model.voting_ == getattr(forest, "voting", "soft")


def import_or_own(forest):
    return forest.forest_ if hasattr(forest, "forest_") else import_ensemble(forest).forest


def test_budgets_on_real_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = ff.PrunedForestClassifier(budget=4, random_state=0).fit(X[:400], y[:400])
    unpruned = ff.StandardForestClassifier(40, random_state=0).fit(X[:400], y[:400])
    assert model.validation_cost_ <= 4
    assert model.acquisition_cost(X[400:]).mean() < 5 < unpruned.acquisition_cost(X[400:]).mean()
    assert model.score(X[400:], y[400:]) > 0.88
    assert max(pruning.gap for pruning in model.prunings_) <= 0.005


def test_a_cheap_copy_of_a_dear_feature_is_kept(numbers):
    X, y, *_ = numbers
    doubled = np.hstack([X, X])
    model = ff.PrunedForestClassifier(SMALL, tradeoff=0.02, feature_costs=np.repeat([1.0, 50.0], 6))
    assert not model.fit(doubled, y).acquisition_mask(doubled)[:, 6:].any()


def test_a_larger_tradeoff_buys_less(numbers):
    X, y, *_ = numbers
    model = ff.PrunedForestClassifier(SMALL, tradeoff=[0.3, 0.001, 0, 0.03, 0.01], gap=1e-6, random_state=0).fit(X, y)
    assert [pruning.tradeoff for pruning in model.prunings_] == [0, 0.001, 0.01, 0.03, 0.3]
    assert (np.diff([pruning.cost[-1] for pruning in model.prunings_]) <= 1e-12).all()


# ---- choosing


def test_at_budget_takes_the_best_point_within_it(numbers):
    X, y, X_val, y_val = numbers
    model = ff.PrunedForestClassifier(SMALL, random_state=0).fit(X, y, eval_set=(X_val, y_val))
    curve = model.curve_
    assert model.validation_error_ == curve.error.min()
    for budget in np.linspace(0, curve.cost.max(), 7):
        smaller = model.at_budget(float(budget))
        within = curve.cost <= budget
        assert smaller.validation_error_ == curve.error[within].min()
        assert smaller.validation_cost_ <= budget
        assert np.mean(smaller.predict(X_val) != y_val) == pytest.approx(smaller.validation_error_)
        assert smaller.n_estimators_ == smaller.forest_.n_trees
    measured = ff.evaluation.cost_curve(model, X_val, y_val)
    assert np.array_equal(measured.cost, curve.cost)
    assert np.array_equal(measured.error, curve.error)


def test_no_pruning_within_the_budget(numbers):
    X, y, *_ = numbers
    with pytest.warns(UserWarning, match="no pruning fits a budget of 0.01: the cheapest one costs"):
        model = ff.PrunedForestClassifier(SMALL, 0.01, 0.0, random_state=0).fit(X, y)
    assert model.tradeoff_ is None
    assert model.n_estimators_ == 0
    assert not model.acquisition_mask(X).any()
    assert np.array_equal(model.predict_proba(X[:1])[0], model.class_prior_)


def test_rows_without_weight_do_not_count(numbers):
    X, y, *_ = numbers
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    some = weight > 0
    weighted = ff.PrunedForestClassifier(SMALL, tradeoff=0.01, random_state=0)
    one = clone(weighted).fit(X, y, sample_weight=weight)
    other = clone(weighted).fit(X[some], y[some], sample_weight=weight[some])
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_same_for_any_number_of_threads(numbers):
    X, y, *_ = numbers
    one, two = (ff.PrunedForestClassifier(SMALL, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert np.array_equal(one.curve_.cost, two.curve_.cost)


# ---- the contract


@pytest.fixture(scope="module", params=["all", "label"])
def model(request, people):
    forest = ff.StandardForestClassifier(8, random_state=0)
    return ff.PrunedForestClassifier(forest, 3.0, feature_costs=COSTS, stop=request.param, random_state=0).fit(*people)


def test_mask_bill_and_run_agree(model, people):
    X, _ = people
    labels, bill = model.predict_with_cost(X)
    mask = model.acquisition_mask(X)
    assert np.array_equal(bill, COSTS.of_rows(mask))
    assert np.array_equal(labels, model.predict(X))
    assert 0 < bill.mean() < COSTS.total
    for i in range(0, 60, 3):
        run = model.start()
        while (feature := run.next_feature()) is not None:
            run.provide(feature, X[feature].iloc[i])
        assert run.prediction == labels[i]
        assert run.spent == bill[i]
        assert set(run.acquired) == {NAMES[j] for j in np.flatnonzero(mask[i])}


def test_runs_of_a_pruned_scikit_learn_forest(numbers):
    X, y, X_val, y_val = numbers
    forest = RandomForestClassifier(8, random_state=0).fit(X.astype(np.float32), y)
    model = ff.PrunedForestClassifier(forest, tradeoff=0.01, prefit=True).fit(X_val, y_val)
    labels, bill = model.predict_with_cost(X)
    for i in range(0, 60, 3):
        run = model.start()
        while (feature := run.next_feature()) is not None:
            run.provide(feature, X[i, feature])
        assert (run.prediction, run.spent) == (labels[i], bill[i])


def test_values_are_compared_as_scikit_learn_does():
    """0.1 as float32 is above 0.1: the threshold lies between the two."""
    X = np.array([[np.float32(0.1)], [0.3]] * 20, dtype=np.float64)
    y = np.tile([0, 1], 20)
    forest = RandomForestClassifier(3, bootstrap=False, random_state=0).fit(X, y)
    threshold = forest.estimators_[0].tree_.threshold[0]
    model = ff.PrunedForestClassifier(forest, tradeoff=0, prefit=True).fit(X, y)
    near = np.nextafter(threshold, [np.inf, -np.inf]).reshape(-1, 1)
    assert np.array_equal(model.predict(near), forest.predict(near))


def test_other_columns_do_not_matter(model, people):
    X, _ = people
    mask = model.acquisition_mask(X)
    garbled = X.copy()
    for j, name in enumerate(NAMES[:-1]):
        garbled[name] = np.where(mask[:, j], X[name], 1e6)
    assert np.array_equal(model.predict(garbled), model.predict(X))
    assert np.array_equal(model.acquisition_mask(garbled), mask)


def test_frames_of_any_kind(people):
    X, y = people
    model = ff.PrunedForestClassifier(SMALL, tradeoff=0.01, feature_costs=COSTS, random_state=0)
    one, other = clone(model).fit(X, y), clone(model).fit(pl.from_pandas(X), y)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X[NAMES[::-1]]))
    assert list(one.feature_names_in_) == NAMES
    assert one.feature_costs_ == COSTS


def test_saved_and_copied_models_are_the_same(model, people, tmp_path):
    X, _ = people
    model.save(tmp_path / "model.ff")
    for back in (ff.load(tmp_path / "model.ff"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(back.acquisition_mask(X), model.acquisition_mask(X))
        assert back.duality_gap_ == model.duality_gap_
        assert np.array_equal(back.at_budget(1).predict(X), model.at_budget(1).predict(X))


def test_a_pruned_scikit_learn_forest_is_saved_by_its_trees(numbers, tmp_path):
    X, y, X_val, y_val = numbers
    ensemble = import_ensemble(RandomForestClassifier(5, random_state=0).fit(X, y))
    model = ff.PrunedForestClassifier(ensemble, prefit=True).fit(X_val, y_val)
    model.save(tmp_path / "model.ff")
    assert np.array_equal(ff.load(tmp_path / "model.ff").predict_proba(X), model.predict_proba(X))


def test_damaged_parts_are_refused(model, tmp_path):
    damaged = copy.copy(model)
    damaged.prunings_ = damaged.prunings_[:1]
    with pytest.raises(ValueError, match="a curve of other forests"):
        damaged.save(tmp_path / "model.ff")


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": -1}, "budget is -1; expected a finite number of at least 0 or None"),
        ({"tradeoff": "auto"}, "tradeoff is 'auto'; expected one or several finite numbers"),
        ({"tradeoff": []}, "tradeoff is .*; expected one or several"),
        ({"loss": "gini"}, "loss is 'gini'; expected one of 'share', 'error'"),
        ({"prefit": "yes"}, "prefit is 'yes'; expected True or False"),
        ({"prefit": True}, "prefit=True needs a fitted estimator"),
        ({"validation_fraction": 1}, "validation_fraction is 1; expected a share between 0 and 1, exclusive"),
        ({"gap": -0.1}, "gap is -0.1"),
        ({"max_rounds": 0}, "max_rounds is 0; expected a whole number of at least 1"),
        ({"stop": "budget"}, "stop is 'budget'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"feature_costs": [1, 2]}, "feature_costs has 2 entries but X has 6 columns"),
    ],
)
def test_bad_parameters(parameters, message, numbers):
    X, y, *_ = numbers
    model = ff.PrunedForestClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_bad_rows_leave_the_old_fit(numbers):
    X, y, *_ = numbers
    model = ff.PrunedForestClassifier(SMALL, tradeoff=0.01, random_state=0).fit(X, y)
    before, kept = model.predict_proba(X), dict(vars(model))
    for bad, message in (
        ({"X": X, "y": np.zeros(len(X))}, "y has only one class"),
        ({"X": X, "y": y, "sample_weight": -np.ones(len(X))}, "sample_weight is -1 in row 0"),
        ({"X": X, "y": y, "eval_set": 3}, "eval_set is a int; expected a pair"),
        ({"X": X, "y": y, "eval_set": (X, y + 1)}, "labels that the forest does not know: 2"),
        ({"X": X, "y": y, "eval_set": (X[:, :2], y)}, "2 features"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(**bad)
    assert vars(model) == kept
    assert np.array_equal(model.predict_proba(X), before)


def test_boosters_and_empty_forests_are_refused(numbers):
    X, y, *_ = numbers
    booster = GradientBoostingClassifier(n_estimators=3).fit(X[:, [0, 1]], y)
    with pytest.raises(TypeError, match="GradientBoostingClassifier adds up trees that correct one another"):
        ff.PrunedForestClassifier(booster, prefit=True).fit(X[:, [0, 1]], y)
    with pytest.warns(UserWarning, match="no tree fits"):
        empty = ff.BudgetForestClassifier(0.1, alpha=0, n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="has no trees to prune"):
        ff.PrunedForestClassifier(empty, prefit=True).fit(X, y)
    with pytest.raises(ValueError, match="without eval_set"):
        ff.PrunedForestClassifier(SMALL, prefit=True).fit(X, y, eval_set=(X, y))


def test_a_gap_that_was_not_reached_is_told(numbers):
    X, y, *_ = numbers
    with pytest.warns(ConvergenceWarning, match="1 of 1 prunings are not proven to be within 0 of the optimum"):
        ff.PrunedForestClassifier(SMALL, tradeoff=0.01, gap=0, max_rounds=3).fit(X, y)


def test_too_few_rows_to_set_some_aside():
    X, y = np.arange(4.0).reshape(-1, 1), np.array([0, 0, 1, 1])
    with pytest.warns(UserWarning, match="pruned by the rows it was grown from"):
        ff.PrunedForestClassifier(SMALL, validation_fraction=0.1).fit(X, y)


# ---- documentation


def test_everything_is_documented(numbers):
    X, y, *_ = numbers
    cls = ff.PrunedForestClassifier
    parameters, attributes = inspect.getdoc(cls).split("Attributes\n---")
    for name in inspect.signature(cls).parameters:
        assert f"\n{name} : " in parameters
    model = cls(SMALL).fit(pd.DataFrame(X, columns=NAMES), y)
    learned = [name for name in vars(model) if name.endswith("_")]
    assert len(learned) >= 15
    for name in learned:
        assert name in attributes
    examples = doctest.DocTestFinder(recurse=False).find(cls, cls.__name__, globs={cls.__name__: cls})
    results = [doctest.DocTestRunner().run(example) for example in examples]
    assert sum(result.attempted for result in results) >= 4
    assert not any(result.failed for result in results)


# ---- leaf refit


def test_leaf_refit_changes_answers_and_no_bill(numbers):
    X, y, *_ = numbers
    plain = ff.PrunedForestClassifier(SMALL, tradeoff=[0.001, 0.01], random_state=0).fit(X, y)
    refitted = clone(plain).set_params(refit_leaves=True).fit(X, y)
    assert len(refitted.curve_) == 2
    for one, other in zip(plain.prunings_, refitted.prunings_, strict=True):
        assert np.array_equal(one.forest.feature, other.forest.feature)
        assert one.error[-1] == other.error[-1]
        assert one.cost[-1] == other.cost[-1]
    smaller = refitted.at_budget(float(refitted.curve_.cost.min()))
    assert smaller.acquisition_cost(X).mean() <= refitted.acquisition_cost(X).mean()
    assert np.allclose(refitted.predict_proba(X).sum(axis=1), 1)
    assert len(ff.evaluation.cost_curve(refitted, X, y)) == 2
    with pytest.raises(ValueError, match='use voting="soft"'):
        ff.PrunedForestClassifier(FORESTS["hard votes"], refit_leaves=True).fit(X, y)


# ---- Ctrl-C


def test_ctrl_c_keeps_the_prunings_so_far(numbers, monkeypatch):
    X, y, *_ = numbers
    model = ff.PrunedForestClassifier(SMALL, tradeoff=[0.001, 0.01, 0.1], random_state=0)
    solve, calls = pruned_forest.solve, []

    def interrupted(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(*args, **options)

    monkeypatch.setattr(pruned_forest, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after 2 prunings"):
        model.fit(X, y)
    assert len(model.prunings_) == 2
    assert model.predict(X).shape == (len(X),)

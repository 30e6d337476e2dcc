"""FrugalClassifier: what it tries, what it takes and why, and the contract of what it took."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.estimators.candidates import METHODS

QUICK = {
    "forest": ff.BudgetForestClassifier(alpha=[0, 4], n_estimators=4),
    "cascade": ff.FrugalCascadeClassifier(estimator=ff.StandardForestClassifier(4, max_depth=4), n_stages=2),
}


@parametrize_with_checks(
    [ff.FrugalClassifier(methods=QUICK)],
    expected_failed_checks=lambda estimator: PER_ESTIMATOR_XFAIL_CHECKS[RandomForestClassifier],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


NAMES = [f"x{i}" for i in range(6)]
COSTS = ff.FeatureCosts(dict(zip(NAMES, [1, 2, 3, 1, 2, 3], strict=True)), groups={"draw": ff.Group(["x1", "x2"], 2)})


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(900, 6, n_informative=4, n_redundant=0, class_sep=1.2, random_state=3)
    return pd.DataFrame(X, columns=NAMES), np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return ff.FrugalClassifier(methods=QUICK, feature_costs=COSTS, random_state=0).fit(X[:600], y[:600])


@pytest.mark.filterwarnings("ignore:no (tree|panel) fits a budget")
def test_the_least_validation_error_within_the_budget_is_taken(model):
    for budget in (None, 9.0, 5.0, 3.0, 1.0):
        chosen = model.at_budget(budget)
        limit = np.inf if budget is None else budget
        by_hand = {}
        for candidate in model.candidates_:
            own = candidate.model.at_budget(budget)
            by_hand[candidate.name] = min(
                (own.validation_error_, own.validation_cost_), (candidate.curve.baseline_error, 0.0)
            )
        best = min(by_hand.values())
        assert (chosen.validation_error_, chosen.validation_cost_) == best
        assert by_hand[chosen.method_] == best
        assert chosen.validation_cost_ <= limit
        assert chosen.method_ in chosen.why_ or best[1] == 0


def test_what_was_measured_is_what_the_model_does_on_the_validation_rows(data):
    X, y = data
    validation = X[600:], y[600:]
    model = ff.FrugalClassifier(5, methods=QUICK, feature_costs=COSTS, random_state=0)
    model.fit(X[:600], y[:600], eval_set=validation)
    for budget in (5, 3, 2):
        label, bill = model.at_budget(budget).predict_with_cost(X[600:])
        assert np.mean(label != y[600:]) == pytest.approx(model.at_budget(budget).validation_error_)
        assert bill.mean() == pytest.approx(model.at_budget(budget).validation_cost_)


def test_contract(model, data):
    X = data[0][600:640]
    cheap = model.at_budget(4)
    mask, bill, labels = cheap.acquisition_mask(X), cheap.acquisition_cost(X), cheap.predict(X)
    assert np.array_equal(bill, COSTS.of_rows(mask))
    for i in range(12):
        run = cheap.predict_on_demand(X.iloc[i].__getitem__)
        assert set(run.acquired) == {NAMES[f] for f in np.flatnonzero(mask[i])}
        assert (run.prediction, run.spent) == (labels[i], bill[i])
        run = cheap.start()
        feature = run.next_feature()
        assert cheap.resume(run.to_json()).next_feature() == feature


def of_method(model, name):
    """The classifier, as if validation had taken this method."""
    other, candidate = copy.copy(model), next(c for c in model.candidates_ if c.name == name)
    other.method_, other.model_ = name, candidate.model
    return other


def test_exports_are_those_of_the_model_that_was_taken(model, data, tmp_path):
    pytest.importorskip("shap")
    runtime, treelite = pytest.importorskip("onnxruntime"), pytest.importorskip("treelite")
    X = data[0][600:]
    forest = of_method(model, "forest")
    rows = forest.encode(X).astype(np.float64)
    forest.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    assert np.array_equal(session.run(["label"], {"X": rows})[0], forest.predict(X))
    shares = treelite.gtil.predict(forest.to_treelite(), rows)[:, 0]
    assert np.array_equal(shares, forest.predict_proba(X))
    explainer = forest.to_shap()
    sums = explainer.expected_value + explainer.shap_values(rows).sum(axis=1)
    np.testing.assert_allclose(sums, forest.predict_proba(X), atol=1e-9)


def test_a_model_that_is_not_one_ensemble_of_trees_is_not_exported(model, data):
    cascade = of_method(model, "cascade")
    message = (
        r"taken, cascade, cannot be exported: FrugalCascadeClassifier is not one ensemble .* candidates_ .*methods="
    )
    for ask in (cascade.to_onnx, cascade.to_shap, cascade.to_treelite, lambda: cascade.encode(data[0])):
        with pytest.raises(TypeError, match=message):
            ask()
    with pytest.raises(NotFittedError):
        ff.FrugalClassifier().to_onnx()


def test_on_demand_takes_the_trees_of_the_model_that_was_taken(model, data):
    X = data[0][600:]
    forest = of_method(model, "forest")
    on_demand = ff.OnDemand(forest)
    assert on_demand.feature_costs_ == COSTS
    assert np.array_equal(on_demand.predict(X), forest.predict(X))
    with pytest.raises(TypeError, match="the model inside this FrugalClassifier, is no tree classifier"):
        ff.OnDemand(of_method(model, "cascade")).predict(X)


def test_comparison_and_curve_cover_all_methods(model, data):
    table = model.comparison_
    assert list(table["method"]) == list(QUICK)
    assert table["taken"].sum() == 1
    assert (table["seconds"] > 0).all()
    assert table.loc[table["taken"], "error"].item() == table["error"].min()
    assert model.curve_.variants == tuple(QUICK)
    assert len(model.curve_) == sum(len(candidate.curve) for candidate in model.candidates_)
    measured = ff.evaluation.cost_curve(model, data[0][600:], data[1][600:])
    assert len(measured) == len(model.curve_.frontier())
    assert measured.error_at(np.inf) < 0.2


def test_names_and_order_of_methods(data):
    X, y = data
    model = ff.FrugalClassifier(methods=["penalized-forest", "budget-forest"], feature_costs=COSTS, random_state=0)
    assert [c.name for c in model.fit(X[:300], y[:300]).candidates_] == ["penalized-forest", "budget-forest"]
    assert [c.name for c in clone(model).set_params(methods="budget-forest").fit(X, y).candidates_] == ["budget-forest"]


def test_every_method_of_the_table_can_be_fitted(data):
    X, y = data
    model = ff.FrugalClassifier(4, feature_costs=COSTS, random_state=0).fit(X[:300], y[:300])
    assert [candidate.name for candidate in model.candidates_] == list(METHODS)
    assert model.score(X[600:], y[600:]) > 0.6


def test_time_limit_leaves_methods_out_and_says_so(data):
    X, y = data
    model = ff.FrugalClassifier(methods=QUICK, time_limit=0, feature_costs=COSTS, random_state=0).fit(X, y)
    assert [candidate.name for candidate in model.candidates_] == ["forest"]
    assert model.skipped_ == ("cascade",)
    assert "no time for cascade" in model.why_


def test_budget_0_answers_for_nothing(model, data):
    free = model.at_budget(0)
    assert free.validation_cost_ == 0
    assert (free.acquisition_cost(data[0]) == 0).all()
    assert len(set(free.predict(data[0]))) == 1
    assert "most frequent class" in free.why_


def test_larger_budgets_than_it_was_fitted_for_are_refused(data):
    X, y = data
    model = ff.FrugalClassifier(3, methods=QUICK, feature_costs=COSTS, random_state=0).fit(X, y)
    assert model.curve_.cost.max() <= 3
    with pytest.raises(ValueError, match=r"fitted for a budget of 3; fit with a larger one"):
        model.at_budget(4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"budget": -1}, ValueError, "budget"),
        ({"time_limit": -1}, ValueError, "time_limit"),
        ({"validation_fraction": 1}, ValueError, "exclusive"),
        ({"methods": ["budget-forest", "magic"]}, ValueError, r"methods has 'magic'; expected some of budget-forest"),
        ({"methods": []}, ValueError, "methods is empty"),
        ({"methods": {"rf": RandomForestClassifier()}}, TypeError, r"methods\['rf'\] is .*`at_budget`"),
        ({"feature_costs": [1, 2]}, ValueError, "2"),
    ],
)
def test_mistakes_are_named_and_an_earlier_fit_survives(options, error, message, model, data):
    again = pickle.loads(pickle.dumps(model)).set_params(**options)
    with pytest.raises(error, match=message):
        again.fit(*data)
    assert again.predict(data[0][:5]).tolist() == model.predict(data[0][:5]).tolist()


class Interrupted(ff.BudgetForestClassifier):
    """Somebody presses Ctrl-C when all trees are there."""

    def fit(self, X, y, sample_weight=None, eval_set=None):
        super().fit(X, y, sample_weight, eval_set)
        raise KeyboardInterrupt


def test_ctrl_c_keeps_what_was_fitted(data):
    X, y = data
    methods = {"first": QUICK["forest"], "second": Interrupted(n_estimators=2), "third": QUICK["cascade"]}
    model = ff.FrugalClassifier(methods=methods, feature_costs=COSTS, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="stopped after 2 methods; the model is the best of these"):
        model.fit(X, y)
    assert [candidate.name for candidate in model.candidates_] == ["first", "second"]
    assert model.score(X, y) > 0.6


def test_verbose_says_what_happens(data, capsys):
    X, y = data
    ff.FrugalClassifier(methods=QUICK, feature_costs=COSTS, random_state=0, verbose=1).fit(X, y)
    said = capsys.readouterr().out
    assert "forest: " in said
    assert "validation error" in said


def test_seconds_are_those_of_the_fit(data):
    X, y = data
    start = time.perf_counter()
    model = ff.FrugalClassifier(methods=QUICK, feature_costs=COSTS, random_state=0).fit(X, y)
    assert sum(candidate.seconds for candidate in model.candidates_) <= time.perf_counter() - start

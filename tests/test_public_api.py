"""What users call: the fixed names, and a day's work that uses nothing else."""

from __future__ import annotations

import doctest
import inspect

import numpy as np
import pandas as pd
import pytest

import frugalforest as ff

CLASSIFIERS = [
    ff.BudgetForestClassifier,
    ff.FrugalBoostingClassifier,
    ff.GreedyMiserClassifier,
    ff.StandardForestClassifier,
]


def test_names():
    assert set(ff.__all__) >= {
        "BudgetForestClassifier",
        "CostCurveDisplay",
        "FeatureCosts",
        "Group",
        "Polynomial",
        "Powers",
        "PrunedForestClassifier",
        "StandardForestClassifier",
        "ThresholdPairs",
        "check_admissible",
        "datasets",
        "evaluation",
        "impurities",
    }
    assert all(hasattr(ff, name) for name in ff.__all__)
    assert ff.__all__ == sorted(ff.__all__, key=lambda name: (name[0].islower(), name))


def test_fixed_parameters():
    budget = inspect.signature(ff.BudgetForestClassifier).parameters
    fixed = {
        "budget": None,
        "feature_costs": None,
        "alpha": "auto",
        "n_estimators": 100,
        "impurity": None,
        "splitting": "minimax",
        "thresholds": "all",
        "charge": "always",
        "bootstrap": True,
        "validation_fraction": 0.25,
        "n_jobs": None,
        "random_state": None,
    }
    assert {name: budget[name].default for name in fixed} == fixed
    assert next(iter(budget)) == "budget"
    standard = inspect.signature(ff.StandardForestClassifier).parameters
    assert (standard["criterion"].default, standard["max_features"].default) == ("gini", "sqrt")
    pruned = list(inspect.signature(ff.PrunedForestClassifier).parameters.values())[:4]
    assert [parameter.name for parameter in pruned] == ["estimator", "budget", "tradeoff", "feature_costs"]
    assert {parameter.default for parameter in pruned} == {None}
    assert "eval_set" in inspect.signature(ff.BudgetForestClassifier.fit).parameters


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_every_parameter_and_attribute_is_documented(cls):
    page = inspect.getdoc(cls)
    parameters, attributes = page.split("Attributes\n---")
    for name in inspect.signature(cls).parameters:
        assert f"\n{name} : " in parameters
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 2)), columns=["a", "b"])
    options = {"oob_score": True} if hasattr(cls(), "oob_score") else {}
    model = cls(n_estimators=3, random_state=0, **options).fit(frame, frame["a"] > 0)
    learned = [name for name in vars(model) if name.endswith("_")]
    assert len(learned) >= 9
    for name in [*learned, "feature_importances_", "importances_per_cost_"]:
        assert name in attributes


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_every_public_method_says_what_it_does(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("frugalforest"):
            assert inspect.getdoc(method)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_examples_in_the_docstrings(cls):
    names = {cls.__name__: cls}
    found = doctest.DocTestFinder(recurse=False).find(cls, cls.__name__, globs=names)
    results = [doctest.DocTestRunner().run(example) for example in found]
    assert sum(result.attempted for result in results) >= 3
    assert not any(result.failed for result in results)


def test_private_state_is_not_spread_over_the_model():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for cls in CLASSIFIERS:
        model = cls(n_estimators=3).fit(X, X[:, 0] > 0)
        assert not [name for name in vars(model) if name.startswith("_")]


def test_a_days_work(tmp_path):
    # A price list in a file: glucose and insulin share a blood draw.
    (tmp_path / "clinic.csv").write_text(
        "feature,cost,group,group_cost\nage,1,,\nglucose,2.5,blood,1.1\ninsulin,3,blood,1.1\nsmoker,1,,\n"
    )
    costs = ff.FeatureCosts.from_csv(tmp_path / "clinic.csv")
    assert costs.of(["glucose", "insulin"]) == 6.6

    random = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": random.integers(20, 80, 500),
            "glucose": random.normal(100, 20, 500),
            "insulin": random.normal(80, 15, 500),
            "smoker": random.choice(["no", "yes", "formerly"], 500),
        }
    )
    people.loc[::9, "insulin"] = np.nan
    ill = np.where((people["age"] > 50) & (people["smoker"] != "no") | (people["glucose"] > 130), "ill", "well")
    train, test = people[:350], people[350:]

    # A model for at most 4 per visit, on average; and a cheaper one without another fit.
    model = ff.BudgetForestClassifier(budget=4.0, feature_costs=costs, n_estimators=30, random_state=0)
    model.fit(train, ill[:350])
    assert model.validation_cost_ <= 4
    assert model.score(test, ill[350:]) > 0.85
    cheaper = model.at_budget(2.0)
    assert cheaper.validation_cost_ <= 2

    # Who needs which test, and what does it cost?
    mask, bill = model.acquisition_mask(test), model.acquisition_cost(test)
    assert np.array_equal(bill, model.feature_costs_.of_rows(mask))
    labels, again = model.predict_with_cost(test)
    assert np.array_equal(labels, model.predict(test))
    assert np.array_equal(again, bill)
    assert model.predict_proba(test).shape == (150, 2)
    assert cheaper.acquisition_cost(test).mean() < bill.mean() < costs.total

    # Error against money, on rows the model has not seen.
    curve = ff.evaluation.cost_curve(model, test, ill[350:])
    assert isinstance(curve, ff.evaluation.CostCurve)
    assert curve.error_at(costs.total) <= curve.error_at(1.0) <= curve.baseline_error
    assert 0 < curve.area() < curve.baseline_error
    assert len(curve.to_frame()) == len(curve)

    # Breiman's forest, with the same contract, reads nearly everything.
    standard = ff.StandardForestClassifier(n_estimators=30, feature_costs=costs, random_state=0).fit(train, ill[:350])
    assert standard.acquisition_cost(test).mean() > bill.mean()
    assert pd.Series(standard.feature_importances_, model.feature_names_in_).idxmax() == "age"

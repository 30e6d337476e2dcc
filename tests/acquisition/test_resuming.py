"""Runs that wait: with every estimator, after each step, continued by a model from a file; and by no other model."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frugalforest as ff
from acquisition.ensembles import joined_case, made_up_stump
from frugalforest.acquisition import Acquirer, Acquisition, Order
from frugalforest.selection import FixedSelector

NAMES = ["age", "bmi", "glucose", "ldl", "sex"]
COSTS = ff.FeatureCosts(
    [0.1, 2, 15.5, 5, 0.1], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "ldl"], cost=2.1)}
)


def patients(n_rows=120):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(n_rows, 5)).round(2), columns=NAMES)
    signal = X["age"] + X["glucose"] * np.sign(X["bmi"]) + X["ldl"] + 0.5 * X["sex"]
    return X, np.where(signal > 0, "ill", "well")


X, Y = patients()


def forest(n_trees=5, feature_costs=COSTS, **options):
    return ff.StandardForestClassifier(n_trees, feature_costs=feature_costs, max_depth=4, random_state=0, **options)


free_forest = partial(forest, feature_costs=None)


def boosting(**options):
    return ff.FrugalBoostingClassifier(n_estimators=3, max_leaf_nodes=4, min_samples_leaf=3, **options)


def chosen(names=NAMES[:3]):
    return FixedSelector(names, feature_costs=COSTS)


MODELS = {
    "standard forest": lambda: forest(stop="label"),
    "budget forest": lambda: ff.BudgetForestClassifier(9, feature_costs=COSTS, n_estimators=3, random_state=0),
    "penalized forest": lambda: ff.PenalizedForestClassifier(0.01, feature_costs=COSTS, n_estimators=3, random_state=0),
    "pruned forest": lambda: ff.PrunedForestClassifier(forest(), tradeoff=0.01, feature_costs=COSTS),
    "boosting": lambda: boosting(budget=20, feature_costs=COSTS, random_state=0),
    "greedy miser": lambda: ff.GreedyMiserClassifier(0.001, feature_costs=COSTS, n_estimators=3, max_depth=2),
    "on demand": lambda: ff.OnDemand(RandomForestClassifier(5, max_depth=4, random_state=0), feature_costs=COSTS),
    "cost lasso": lambda: ff.CostLassoClassifier(feature_costs=COSTS, random_state=0),
    "submodular tree": lambda: ff.SubmodularTreeClassifier(20, depth=3, feature_costs=COSTS),
    "submodular regression": lambda: ff.SubmodularTreeRegressor(20, depth=3, feature_costs=COSTS),
    "mixed norm tree": lambda: ff.MixedNormTreeClassifier(0.01, depth=2, feature_costs=COSTS, random_state=0),
    "panel": lambda: ff.PanelClassifier(chosen(), free_forest()),
    "preselected": lambda: ff.PreselectedClassifier(chosen(), forest(stop="label")),
    "cascade": lambda: ff.FrugalCascadeClassifier(estimator=boosting(), n_stages=2, n_folds=2, feature_costs=COSTS),
    "the best of several": lambda: ff.FrugalClassifier(15, methods={"boosting": boosting()}, feature_costs=COSTS),
}


@pytest.fixture(params=MODELS)
def model(request):
    y = (Y == "ill") * 1.5 if "regression" in request.param else Y
    return MODELS[request.param]().fit(X, y)


def loaded(model, folder):
    path = Path(folder) / "model.ff"
    model.save(path)
    return ff.load(path)


def finish(run, row):
    while (feature := run.next_feature()) is not None:
        run.provide(feature, row[feature])
    return run


def test_after_each_step_a_loaded_model_goes_on(model, tmp_path):
    back = loaded(model, tmp_path)
    for i in range(3):
        row, run = X.iloc[i], model.start()
        whole = finish(model.start(), row)
        while (feature := run.next_feature()) is not None:
            text = run.to_json()
            assert finish(back.resume(text), row).receipt() == whole.receipt()
            run.provide(feature, row[feature])
            assert back.resume(text).next_feature() == feature  # by now the model has been used further
            assert back.resume(run.to_json()).receipt() == run.receipt()
            run = model.resume(run.to_json())
        assert run.receipt() == whole.receipt()


SCRIPT = """
import json, sys
import frugalforest as ff
row = json.loads(sys.argv[2])
run = ff.load(sys.argv[1]).resume(sys.argv[3])
while (feature := run.next_feature()) is not None:
    run.provide(feature, row[feature])
print(run.to_json())
"""


@pytest.mark.parametrize("name", ["submodular tree"])
def test_another_process_goes_on(name, tmp_path):
    model = MODELS[name]().fit(X, Y)
    model.save(tmp_path / "model.ff")
    row, run = X.iloc[0].to_dict(), model.start()
    run.provide(run.next_feature(), row[run.next_feature()])
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "model.ff"), json.dumps(row), run.to_json()]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert model.resume(text).receipt() == finish(run, row).receipt()


# ---- not by another model


def assert_refused(run, other, message):
    """Neither as text nor as it is."""
    with pytest.raises(ValueError, match=message):
        other.resume(run.to_json())
    with pytest.raises(ValueError, match=message):
        other.predict_on_demand(X.iloc[0].get, run=run)


def recoloured(names):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"colour": random.choice(names, 80), "size": random.normal(size=80)})
    return frame, (frame["colour"] == names[0]) ^ (frame["size"] > 0)


OTHER_FEATURES = "another model, with other features, categories or classes"
BUILDERS = [
    lambda: free_forest(),
    lambda: ff.PanelClassifier(FixedSelector([0, 1]), free_forest()),
    lambda: ff.FrugalCascadeClassifier(estimator=boosting(), n_stages=2, n_folds=2, random_state=0),
]


@pytest.mark.parametrize("build", BUILDERS, ids=["forest", "panel", "cascade"])
def test_features_categories_and_classes_are_those_of_the_model(build):
    frame, y = recoloured(["red", "green"])
    run = build().fit(frame, y).start()
    assert build().fit(frame, y).resume(run.to_json()).to_json() == run.to_json()
    for other, labels in (
        (recoloured(["rouge", "vert"])[0], y),
        (frame.rename(columns={"colour": "paint"}), y),
        (frame, y.astype(int)),
        (frame, y.astype(int).astype(str)),
    ):
        assert_refused(run, build().fit(other, labels), OTHER_FEATURES)


def test_exchanged_columns_are_other_features():
    model = ff.SubmodularTreeClassifier(20, depth=2).fit(X, Y)
    other = ff.SubmodularTreeClassifier(20, depth=2).fit(X.set_axis(NAMES[::-1], axis=1), Y)
    assert_refused(model.start(), other, OTHER_FEATURES)


@pytest.mark.parametrize(
    "several",
    [
        [free_forest(3), free_forest(4), free_forest(4, voting="hard")],
        [RandomForestClassifier(3, random_state=0), RandomForestClassifier(4, random_state=0)],
        [LogisticRegression(), LogisticRegression(C=0.1), LogisticRegression(class_weight={"ill": 3})],
        [make_pipeline(StandardScaler(), LogisticRegression(C=C)) for C in (1, 0.1)],
        [KNeighborsClassifier(3), KNeighborsClassifier(5)],
    ],
    ids=lambda several: type(several[0]).__name__,
)
def test_panels_are_told_apart_by_their_estimators(several):
    models = [ff.PanelClassifier(chosen(), estimator).fit(X, Y) for estimator in several]
    for model in models:
        run = model.start()
        run.provide("age", 0.5)
        model.predict(X)  # which must not change what it is
        back = pickle.loads(pickle.dumps(model))
        assert finish(back.resume(run.to_json()), X.iloc[0]).is_over
        for other in models:
            if other is not model:
                assert_refused(run, other, "another model, or with other prices")


@pytest.mark.parametrize("library", ["lightgbm.LGBMClassifier", "xgboost.XGBClassifier", "catboost.CatBoostClassifier"])
def test_panels_of_other_libraries_are_told_apart(library):
    module, name = library.split(".")
    kind = getattr(pytest.importorskip(module), name)
    quiet = {"lightgbm": {"verbose": -1}, "catboost": {"verbose": False, "allow_writing_files": False}}.get(module, {})
    y = (Y == "ill").astype(int)
    some, more = (ff.PanelClassifier(chosen(), kind(n_estimators=n, **quiet)).fit(X, y) for n in (2, 3))
    run = some.start()
    assert pickle.loads(pickle.dumps(some)).resume(run.to_json()).to_json() == run.to_json()
    assert_refused(run, more, "another model")


@pytest.mark.parametrize(
    "estimators", [(boosting(), boosting(learning_rate=0.3)), (LogisticRegression(), LogisticRegression(C=0.1))]
)
def test_cascades_are_told_apart_by_what_their_stages_learned(estimators):
    """Also where panels, thresholds and calibration happen to be the same."""
    models = [
        ff.FrugalCascadeClassifier(estimator=estimator, n_stages=2, n_folds=2, feature_costs=COSTS).fit(X, Y)
        for estimator in estimators
    ]
    run = models[0].start()
    assert pickle.loads(pickle.dumps(models[0])).resume(run.to_json()).to_json() == run.to_json()
    own, other = (model.start()._acquirer for model in models)
    stages = tuple(
        dataclasses.replace(stage, models=its.models) if stage.models else stage
        for stage, its in zip(own.cascade.stages, other.cascade.stages, strict=True)
    )
    mixed = dataclasses.replace(own, cascade=dataclasses.replace(own.cascade, stages=stages))
    assert mixed.fingerprint != own.fingerprint
    assert mixed.earlier_fingerprints == own.earlier_fingerprints


def test_number_of_threads_does_not_make_another_model():
    model = ff.PanelClassifier(chosen(), KNeighborsClassifier()).fit(X, Y)
    text = model.start().to_json()
    model.estimator_.set_params(n_jobs=2)
    assert model.resume(text).to_json() == text


def test_another_order_is_called_that():
    grown = RandomForestClassifier(5, random_state=0).fit(X, Y)
    run = ff.OnDemand(grown, order=Order(hope=0.5)).start()
    assert_refused(run, ff.OnDemand(grown), r"another order of buying, hope=0\.5 instead of None: give the model that")
    assert_refused(run, ff.OnDemand(grown, feature_costs=COSTS), "another model, or with other prices")
    content = json.loads(run.to_json())
    for order in (None, 5, {}, {"by": "count"}):
        with pytest.raises(ValueError, match="not a run that frugalforest wrote: its order of buying is none"):
            ff.OnDemand(grown).resume(json.dumps(content | {"order": order}))


# ---- texts of version 1


def first_version(run, fingerprint):
    content = json.loads(run.to_json())
    for name in ("features", "order"):
        content.pop(name, None)
    return content | {"version": 1, "model": fingerprint}


@pytest.mark.parametrize("name", ["standard forest", "cost lasso", "submodular tree", "panel", "cascade"])
def test_old_texts_are_read_where_they_can_be_checked(name):
    model = MODELS[name]().fit(X, Y)
    run = model.start()
    run.provide(run.next_feature(), 0.5)
    own = run._acquirer
    for fingerprint in getattr(own, "earlier_fingerprints", (own.fingerprint,)):
        text = first_version(run, fingerprint)
        assert model.resume(json.dumps(text)).receipt() == run.receipt()
    with pytest.raises(ValueError, match="another model, or with other prices"):
        model.resume(json.dumps(first_version(run, "other")))


def test_the_fingerprints_of_version_1_are_what_they_were():
    case = joined_case([made_up_stump(0, [[1, 0], [0, 1]])], ff.FeatureCosts([1, 2.5]), [[0, 0]])
    written = ("cb3fd76b55ba894311fcb5c28b406fc3",)
    assert case.acquirer().earlier_fingerprints == written
    assert case.acquirer(Order(by="count")).earlier_fingerprints != written


@pytest.mark.parametrize("used", [(), ("parent",), ("path_mask",), ("parent", "path_mask"), ("path_mask", "parent")])
def test_linear_models_were_marked_with_their_caches_in_version_1(used):
    model = MODELS["submodular tree"]().fit(X, Y)
    tree, costs = model.tree_, model.feature_costs_
    for name in ("parent", "path_mask"):
        vars(tree).pop(name, None)
    for name in used:
        getattr(tree, name)
    digest = hashlib.sha256()
    for array in (
        *vars(tree).values(),
        *costs.ticks,
        costs.membership,
        model.prior_,
        *vars(model.variant_.link).values(),
    ):
        digest.update(repr((array.shape, array.dtype)).encode() + np.ascontiguousarray(array).tobytes())
    text = first_version(model.start(), digest.hexdigest()[:32])
    assert model.resume(json.dumps(text)).next_feature() == model.start().next_feature()


def test_a_text_of_another_kind_of_run_is_that_of_another_model():
    runs = [MODELS[name]().fit(X, Y) for name in ("standard forest", "panel")]
    for one, other in (runs, runs[::-1]):
        with pytest.raises(ValueError, match="another model"):
            one.resume(other.start().to_json())


# ---- from_json takes models


def test_from_json_takes_a_model_or_what_its_runs_are_of():
    model, panel = (MODELS[name]().fit(X, Y) for name in ("standard forest", "panel"))
    run, staged = model.start(), panel.start()
    for given in (model, run._acquirer):
        assert type(run).from_json(run.to_json(), given).to_json() == run.to_json()
    for given in (panel, staged._acquirer):
        assert type(staged).from_json(staged.to_json(), given).to_json() == staged.to_json()
    for given in (panel, 5, None):
        with pytest.raises(
            TypeError, match=r"buys nothing one feature at a time; model\.resume\(text\) reads its runs"
        ):
            Acquisition.from_json(run.to_json(), given)
    for given in (model, 5, None):
        with pytest.raises(TypeError, match=r"buys nothing in stages; model\.resume\(text\) reads its runs"):
            type(staged).from_json(staged.to_json(), given)


@pytest.mark.parametrize("text", [None, 5, {}, ["{}"]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(TypeError, match=r"not a run that .*: expected the text that run\.to_json\(\) gave, got "):
        forest().fit(X, Y).resume(text)


def test_fields_that_come_later_leave_fingerprints_as_they_are():
    """A field at its default does not count, so that a new one does not part old runs from their models."""
    acquirer = forest().fit(X, Y)._acquirer()
    assert acquirer.ensemble.slope == 1.0
    other = Acquirer(dataclasses.replace(acquirer.ensemble, slope=2.0), acquirer.costs)
    assert other.fingerprint != acquirer.fingerprint

"""Which importer reads a model, and what is said about those that none reads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import frugalforest as ff
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.acquiring import AcquiringMixin
from frugalforest.importers import OWN, import_ensemble, layers_of
from importers.cases import answers, check_same, numbers

CLASSIFIERS = [
    DecisionTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
]


class OwnForest(RandomForestClassifier):
    """A forest somebody derived."""


class Booster:
    """No booster of any library."""


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_unfitted_models_are_refused_as_scikit_learn_does(kind):
    with pytest.raises(NotFittedError):
        import_ensemble(kind())


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(),
        DecisionTreeRegressor(),
        AdaBoostClassifier(),
        make_pipeline(StandardScaler(), RandomForestClassifier()),
        Booster(),
        RandomForestClassifier,
        None,
        "model.json",
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_are_refused_with_a_list_of_those_supported(model):
    message = r"no tree classifier.* sklearn\.RandomForestClassifier, .*xgboost\.Booster, catboost\.CatBoost"
    with pytest.raises(TypeError, match=message):
        import_ensemble(model)


def test_the_list_names_every_class_of_this_library_that_can_be_read():
    X, y = numbers(2)
    small = ff.StandardForestClassifier(3, random_state=0)
    models = {
        "StandardForestClassifier": small,
        "BudgetForestClassifier": ff.BudgetForestClassifier(n_estimators=3, random_state=0),
        "PenalizedForestClassifier": ff.PenalizedForestClassifier(n_estimators=3, random_state=0),
        "PrunedForestClassifier": ff.PrunedForestClassifier(small, random_state=0),
        "FrugalBoostingClassifier": ff.FrugalBoostingClassifier(n_estimators=3, random_state=0),
        "GreedyMiserClassifier": ff.GreedyMiserClassifier(n_estimators=3),
        "PreselectedClassifier": ff.PreselectedClassifier(ff.selection.FixedSelector([0, 1]), small),
        "FrugalClassifier": ff.FrugalClassifier(methods={"forest": ff.BudgetForestClassifier(n_estimators=3)}),
        "OnDemand": ff.OnDemand(small),
    }
    for name, model in models.items():
        check_same(model.fit(X, y), X, relative=1e-12, probabilities=of_all_trees(model, X))
        assert name in OWN
    assert set(OWN) == models.keys()
    with pytest.raises(TypeError, match=", ".join(f"frugalforest.{name}" for name in OWN)):
        import_ensemble(None)


def of_all_trees(model, X):
    """Of all trees, whatever the model itself stops at."""
    return answers(import_ensemble(model), X).probabilities


def test_every_class_of_this_library_that_buys_by_trees_is_in_the_list():
    found = {name for name in ff.__all__ if isinstance(getattr(ff, name), type)}
    assert {name for name in found if issubclass(getattr(ff, name), AcquiringMixin)} <= set(OWN)


def test_wrappers_are_read_as_what_is_inside():
    X, y = numbers(3)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    frozen = FrozenEstimator(forest)
    check_same(frozen, X, relative=1e-12)
    assert layers_of(FrozenEstimator(frozen))[1:] == [frozen, forest]
    with pytest.raises(NotFittedError):
        import_ensemble(FrozenEstimator(RandomForestClassifier()))
    with pytest.raises(NotFittedError):
        import_ensemble(ff.FrugalClassifier())
    stages = ff.FrugalCascadeClassifier(estimator=ff.StandardForestClassifier(3, max_depth=2), n_stages=2)
    taken = ff.FrugalClassifier(methods={"cascade": stages}, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"FrugalCascadeClassifier, the model inside this FrugalClassifier, is no tree"):
        import_ensemble(taken)


def test_a_derived_class_is_read_as_its_parent():
    X, y = numbers(0)
    check_same(OwnForest(3, random_state=0).fit(X, y), X, relative=1e-12)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_model_is_left_alone_and_nothing_of_it_is_shared_for_writing(kind):
    X, y = numbers(1)
    model = kind(random_state=0).fit(X, y)
    before = model.predict_proba(X)
    ensemble = import_ensemble(model)
    assert isinstance(ensemble, Ensemble)
    ensemble.values[:] = 0
    ensemble.forest.threshold[:] = 0
    ensemble.forest.leaf_counts[:] = 0
    assert np.array_equal(model.predict_proba(X), before)


WITHOUT_PEERS = """
import sys
class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("lightgbm", "xgboost", "catboost"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled)
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from frugalforest.importers import import_ensemble
X, y = load_iris(return_X_y=True)
import_ensemble(RandomForestClassifier(3).fit(X, y))
"""


def test_no_other_library_is_needed():
    subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT_PEERS], check=True)

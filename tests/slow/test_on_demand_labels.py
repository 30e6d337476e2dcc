"""Labels read on demand are those of the library's own predict, on every row: ten kinds of models on four data sets.

Values are missing in every second row (where the model takes that), features are rounded so that rows tie, and forests
have an even number of trees so that votes tie.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import frugalforest as ff

pytestmark = [
    pytest.mark.skipif("FRUGALFOREST_DATA" not in os.environ, reason="FRUGALFOREST_DATA names no folder"),
    pytest.mark.filterwarnings("ignore"),
]

N_TRAINING = {"covtype": 6000, "spambase": 2300, "mfeat_pix": 1000, "miniboone_tiny": 2000}
N_READ = 20_000


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=40, random_state=0, n_jobs=2, verbose=-1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=40, random_state=0, n_jobs=2)


def catboost():
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=40, random_seed=0, thread_count=2, verbose=0, allow_writing_files=False
    )


MODELS = {
    "StandardForest": lambda: ff.StandardForestClassifier(40, random_state=0, n_jobs=2),
    "BudgetForest": lambda: ff.BudgetForestClassifier(alpha=0, n_estimators=40, random_state=0, n_jobs=2),
    "RandomForest": lambda: RandomForestClassifier(40, random_state=0, n_jobs=1),
    "ExtraTrees": lambda: ExtraTreesClassifier(40, random_state=0, n_jobs=1),
    "DecisionTree": lambda: DecisionTreeClassifier(random_state=0),
    "GradientBoosting": lambda: GradientBoostingClassifier(n_estimators=15, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=25, random_state=0),
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
}
WITHOUT_MISSING = {"GradientBoosting"}


@pytest.fixture(scope="module", params=N_TRAINING)
def data(request):
    rows = ff.datasets.load(request.param)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(rows.X))
    X = np.asarray(rows.X, dtype=np.float64)[order]
    X = X.round(1) if request.param != "covtype" else X
    y = np.unique(np.asarray(rows.y)[order], return_inverse=True)[1]
    n = N_TRAINING[request.param]
    holes = X.copy()
    holes[1::2][rng.random(holes[1::2].shape) < 0.1] = np.nan
    return n, X, holes, y


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_the_library(data, name):
    n, X, holes, y = data
    X = X if name in WITHOUT_MISSING else holes
    model = MODELS[name]().fit(X[:n], y[:n])
    read = X[-N_READ:]
    labels, bill = ff.OnDemand(model, n_jobs=2).predict_with_cost(read)
    everything = ff.OnDemand(model, stop="all", n_jobs=2).acquisition_cost(read)
    np.testing.assert_array_equal(labels, np.ravel(model.predict(read)))
    assert (bill <= everything).all()
    print(f"{name}: {len(read)} rows, {everything.mean():.2f} -> {bill.mean():.2f} features, 0 labels differ")

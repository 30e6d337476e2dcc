"""Small fitted models that between them hold every kind of thing a model file can hold."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.estimators.base import FrugalClassifierMixin
from frugalforest.importers import import_ensemble
from frugalforest.persistence import register
from frugalforest.persistence.archive import Contents, read_archive, write_archive
from frugalforest.persistence.checks import check_classifier


class ScoreClassifier(FrugalClassifierMixin, BaseEstimator):
    """An estimator that came later: it predicts by an Ensemble, and is stored after one line of registration."""

    ensemble_: Ensemble

    def __init__(self, offset: float = 0.25, grower: Any = None) -> None:
        self.offset = offset
        self.grower = grower

    def fit(self, X: Any, y: Any) -> ScoreClassifier:
        grown = self.grower.fit(X, y)
        self.classes_, self.n_features_in_ = grown.classes_, grown.n_features_in_
        self.encoder_, self.feature_costs_ = grown.encoder_, grown.feature_costs_
        values = np.column_stack([np.zeros(grown.forest_.n_leaves), np.diff(grown.forest_.leaf_shares)[:, 0]])
        self.ensemble_ = Ensemble(
            forest=grown.forest_,
            values=values,
            base=np.array([0, self.offset]),
            link="sigmoid",
            classes=grown.classes_,
            encoder=grown.encoder_,
            reading=Reading(as_float32=True, zero_is_missing=(0,)),
            sums_as_float32=True,
        )
        return self

    def _read(self, rows, *, with_mask):
        scores, mask = self.ensemble_.scores(self.ensemble_.reading(rows), with_mask=with_mask)
        return self.ensemble_.probabilities(scores), mask


register(ScoreClassifier, check=check_classifier)


class Case(NamedTuple):
    """A fitted model, and rows to ask it about."""

    model: Any
    X: Any


def patients(n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, whole numbers and text; three classes."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(20, 80, n_rows),
            "glucose": random.normal(100, 20, n_rows),
            "smoker": random.choice(["no", "yes", "früher"], n_rows),
        }
    )
    X.loc[::7, "glucose"] = np.nan
    ill = (X["age"] > 50) & (X["smoker"] != "no")
    return X, np.where(ill, "ill", np.where(X["glucose"] > 110, "maybe", "well"))


def budget_case() -> Case:
    X, y = patients()
    costs = ff.FeatureCosts(
        {"age": 1, "glucose": 2.5, "smoker": 0.1}, groups={"visit": ff.Group(("age", "smoker"), 0.75)}
    )
    model = ff.BudgetForestClassifier(
        4.0, feature_costs=costs, alpha=[0, 6], price_power=[1, 0], n_estimators=4, oob_score=True, random_state=0
    )
    return Case(model.fit(X, y), X)


def standard_case() -> Case:
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 4)).round(1)
    X[::5, 1] = np.nan
    X[:, 3] = random.integers(0, 4, 80)
    model = ff.StandardForestClassifier(
        n_estimators=4,
        feature_costs=[1, 2, 0, 4],
        categorical_features=[3],
        class_weight={np.int64(0): 2.0},
        random_state=np.random.RandomState(3),
    )
    return Case(model.fit(X, (X[:, 0] > 0) + 2 * (X[:, 3] == 2)), X)


def score_case() -> Case:
    X = np.random.default_rng(2).normal(size=(60, 3)).round(1)
    grower = ff.StandardForestClassifier(n_estimators=3, max_depth=3, random_state=0)
    return Case(ScoreClassifier(grower=grower).fit(X, X[:, 0] + X[:, 1] > 0), X)


def label_case() -> Case:
    X, y = patients(60)
    model = ff.BudgetForestClassifier(3.0, alpha=[0, 4], n_estimators=12, stop="label", voting="soft", random_state=0)
    return Case(model.fit(X, y), X)


def on_demand_case() -> Case:
    X = np.random.default_rng(3).normal(size=(70, 4)).round(1)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, np.sum(X[:, :2] > 0, axis=1))
    model = ff.OnDemand(
        import_ensemble(forest),
        feature_costs=ff.FeatureCosts([1, 2, 3, 4], groups={"g": ff.Group((1, 2), 1)}),
        stop="confidence",
        disagreement=0.06,
        order=ff.acquisition.Order(hope=0.1, boxes=2),
    )
    return Case(model.calibrate(X), X)


def boosting_case() -> Case:
    X, y = patients(90)
    costs = ff.FeatureCosts(
        {"age": 1, "glucose": 2.5, "smoker": 0.1}, groups={"visit": ff.Group(("age", "smoker"), 0.75)}
    )
    model = ff.FrugalBoostingClassifier(
        2.0, feature_costs=costs, n_estimators=3, n_tradeoffs=3, max_leaf_nodes=4, min_samples_leaf=3, random_state=0
    )
    return Case(model.fit(X, y), X)


def sure_boosting_case() -> Case:
    X, y = patients(90)
    model = ff.FrugalBoostingClassifier(
        2.0,
        n_estimators=2,
        n_tradeoffs=2,
        n_folds=2,
        max_leaf_nodes=4,
        min_samples_leaf=3,
        stop="confidence",
        random_state=0,
    )
    return Case(model.fit(X, y), X)


def greedy_miser_case() -> Case:
    X, y = patients(90)
    return Case(ff.GreedyMiserClassifier(0.001, n_estimators=3, max_depth=2, stop="label").fit(X, y == "ill"), X)


def cascade_case() -> Case:
    X, y = patients(90)
    stages = ff.FrugalBoostingClassifier(n_estimators=2, max_leaf_nodes=4, min_samples_leaf=3)
    model = ff.FrugalCascadeClassifier(2.0, estimator=stages, n_stages=2, n_folds=2, random_state=0)
    return Case(model.fit(X, y), X)


def frugal_case() -> Case:
    X, y = patients(90)
    methods = {
        "forest": ff.BudgetForestClassifier(alpha=[0], n_estimators=2),
        "pruned": ff.PrunedForestClassifier(ff.StandardForestClassifier(3, max_depth=3), tradeoff=0.05),
    }
    return Case(ff.FrugalClassifier(2.0, methods=methods, random_state=0).fit(X, y), X)


CASES = {
    "budget": budget_case,
    "standard": standard_case,
    "scores": score_case,
    "label": label_case,
    "on demand": on_demand_case,
    "boosting": boosting_case,
    "sure boosting": sure_boosting_case,
    "greedy miser": greedy_miser_case,
    "cascade": cascade_case,
    "frugal": frugal_case,
}


@cache
def case(name: str) -> Case:
    return CASES[name]()


def answers(model: Any, X: Any) -> tuple[np.ndarray, ...]:
    """Everything that a model says about rows."""
    return model.predict(X), model.predict_proba(X), model.acquisition_mask(X), model.acquisition_cost(X)


def buy(run: Any, row: Any) -> list[Any]:
    """What a run asks for, in order, and how it ends."""
    asked: list[Any] = []
    while (feature := run.next_feature()) is not None:
        asked.append(feature)
        run.provide(feature, row[feature])
    return [*asked, run.prediction, run.spent]


def same(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# ---- files by hand


def read_parts(path: Path) -> tuple[dict[str, Any], bytearray]:
    """model.json as Python values, and arrays.bin."""
    contents = read_archive(path)
    return json.loads(contents.model), bytearray(contents.joined_arrays())


def write_parts(path: Path, document: Any, arrays: bytes | bytearray) -> None:
    """A model file with a checksum that fits, whatever it holds."""
    path.unlink(missing_ok=True)
    write_archive(path, Contents(json.dumps(document).encode(), [memoryview(arrays)]))

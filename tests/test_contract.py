"""What every fitted model promises: label, mask and bill agree, row by row and exactly, with a walk by hand."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

import frugalforest as ff
from frugalforest.impurities import Entropy, Gini, Powers

N_TRAIN, N_TEST = 220, 70


class Case(NamedTuple):
    """One data set, as the user would hand it in; X has N_TRAIN + N_TEST rows."""

    X: Any
    y: Any
    costs: Any = None
    categorical: Any = None


def _labels(signal, n_classes, names=None):
    numbers = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return numbers if names is None else np.array(names)[numbers]


def _plain_binary():
    random = np.random.default_rng(0)
    X = random.normal(size=(N_TRAIN + N_TEST, 6))
    return Case(X, _labels(X[:, 0] + X[:, 1] * X[:, 2], 2))


def _missing_values_and_overlapping_groups():
    random = np.random.default_rng(1)
    X = random.normal(size=(N_TRAIN + N_TEST, 7)).round(1).astype(np.float32)
    y = _labels(X[:, 0] + X[:, 3] - X[:, 5], 3, ["high", "low", "middle"])
    X[random.random(X.shape) < 0.15] = np.nan
    groups = {
        "blood": ff.Group([0, 1, 2], 2.10),
        "lab": ff.Group([2, 3, 4], 0.7),
        "visit": ff.Group([0, 2, 4, 6], 0.35),
        "free step": ff.Group([5, 6], 0),
    }
    return Case(X, y, ff.FeatureCosts([1, 15.51, 0, 0.1, 0.2, 0.3, 20.68], groups=groups))


def _mixed_frame(library):
    random = np.random.default_rng(2)
    n = N_TRAIN + N_TEST
    colour = random.choice(["red", "green", "blue", "grey"], n).astype(object)
    town = random.choice([f"town {i}" for i in range(30)], n).astype(object)
    age, weight = random.integers(20, 80, n), random.normal(70, 10, n)
    y = _labels((colour == "red") * 1.0 + (age > 50) + (weight - 70) / 20 + 0.1 * random.normal(size=n), 2, ["a", "b"])
    weight[random.random(n) < 0.2] = np.nan
    colour[random.random(n) < 0.1] = None
    smoker = random.random(n) < 0.3
    columns = {"age": age, "weight": weight, "colour": colour, "town": town, "smoker": smoker}
    costs = {"colour": 3, "age": 0, "weight": 0.1, "smoker": 0.2, "town": 1}
    frame = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns, strict=False)
    return Case(frame, y, costs)


def _numbers_that_are_categories():
    random = np.random.default_rng(3)
    X = random.integers(0, 9, size=(N_TRAIN + N_TEST, 4))
    y = _labels(np.isin(X[:, 1], [1, 4, 7]) + (X[:, 2] > 4) + 0.2 * X[:, 3], 4)
    return Case(X, y, [0.3, 0.6, 0.9, 0], categorical=[0, 1])


def _everything_free():
    case = _plain_binary()
    return Case(case.X > 0, case.y, np.zeros(6))


@cache
def case(name: str) -> Case:
    make = {
        "binary": _plain_binary,
        "missing": _missing_values_and_overlapping_groups,
        "pandas": lambda: _mixed_frame("pandas"),
        "polars": lambda: _mixed_frame("polars"),
        "categories": _numbers_that_are_categories,
        "free": _everything_free,
    }
    return make[name]()


CASES = ["binary", "missing", "pandas", "polars", "categories", "free"]
SMALL: dict[str, Any] = {"n_estimators": 9, "random_state": 0}

MODELS = {
    "standard": ff.StandardForestClassifier(**SMALL),
    "standard, entropy, hard": ff.StandardForestClassifier(**SMALL, criterion="entropy", voting="hard", max_depth=4),
    "standard, limits": ff.StandardForestClassifier(**SMALL, max_features=None, max_distinct_features=2),
    "standard, light leaves": ff.StandardForestClassifier(**SMALL, min_weight_fraction_leaf=0.06, bootstrap=False),
    "budget": ff.BudgetForestClassifier(**SMALL),
    "budget, one alpha": ff.BudgetForestClassifier(**SMALL, alpha=0),
    "budget, expected": ff.BudgetForestClassifier(**SMALL, splitting="expected", alpha=[0, 3], thresholds="random"),
    "budget, path": ff.BudgetForestClassifier(**SMALL, alpha=0, charge="path", class_weight="balanced"),
    "budget, forest": ff.BudgetForestClassifier(20, n_estimators=33, random_state=0, alpha=0, charge="forest"),
    "budget, soft": ff.BudgetForestClassifier(**SMALL, voting="soft", impurity=[Powers(2), Gini(), Entropy()]),
    "budget, at_budget": ff.BudgetForestClassifier(**SMALL),
    "boosting": ff.FrugalBoostingClassifier(tradeoff=0.01, min_samples_leaf=5, **SMALL),
    "boosting, budget": ff.FrugalBoostingClassifier(2.5, min_samples_leaf=5, n_tradeoffs=4, subsample=0.8, **SMALL),
    "greedy miser": ff.GreedyMiserClassifier(0.02, max_depth=3, **SMALL),
    "greedy miser, log-loss": ff.GreedyMiserClassifier(0.0, max_depth=2, loss="log_loss", **SMALL),
    "budget, no tree": ff.BudgetForestClassifier(1e-6, **SMALL, alpha=0),
}


@cache
def fitted(model_name: str, case_name: str):
    X, y, costs, categorical = case(case_name)
    model = MODELS[model_name]
    model = type(model)(**{**model.get_params(), "feature_costs": costs, "categorical_features": categorical})
    if model_name == "budget, no tree" and case_name != "free":
        with pytest.warns(UserWarning, match="no tree fits a budget"):
            model.fit(X[:N_TRAIN], y[:N_TRAIN])
        return model
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    if model_name == "budget, at_budget":
        model = model.at_budget(float(np.median(model.curve_.cost)))
    return model


@pytest.fixture(params=MODELS, scope="module")
def model_name(request):
    return request.param


@pytest.fixture(params=CASES, scope="module")
def case_name(request):
    return request.param


@pytest.fixture
def model(model_name, case_name):
    return fitted(model_name, case_name)


@pytest.fixture
def X(case_name):
    return case(case_name).X[N_TRAIN:]


# ---- a walk by hand, over the values that the user gave


def _cells(X):
    """Rows of Python values."""
    if isinstance(X, np.ndarray):
        return X.tolist()
    return X.to_numpy().tolist() if isinstance(X, pd.DataFrame) else [list(row) for row in X.rows()]


def _is_missing(value):
    return value is None or value != value


def _goes_left(node, value, categories):
    if not _is_missing(value) and node.left_categories is None:
        return value <= node.threshold
    if not _is_missing(value) and value in categories:
        return categories.index(value) in node.left_categories
    return node.missing_left


def _walk(nodes, row, encoder):
    """-> features read, node of the leaf."""
    read, at = set(), 0
    while nodes[at].feature >= 0:
        node = nodes[at]
        read.add(node.feature)
        left = _goes_left(node, row[node.feature], encoder.categories.get(node.feature, ()))
        at = node.left if left else node.right
    return read, at


def _sums_by_hand(model, trees, row):
    """-> features read, probabilities of a booster."""
    ensemble, features = model.ensemble_, set()
    scores = ensemble.base.copy()
    for first, nodes in zip(ensemble.forest.node_offsets, trees, strict=False):
        read, at = _walk(nodes, row, model.encoder_)
        features |= read
        scores += ensemble.values[ensemble.forest.right[first + at]]
    return features, ensemble.probabilities(scores[None])[0]


def _answer_by_hand(model, trees, row):
    """-> features read, class scores."""
    if hasattr(model, "ensemble_"):
        return _sums_by_hand(model, trees, row)
    if not trees:
        return set(), model.class_prior_
    features, scores = set(), np.zeros(len(model.classes_))
    for nodes in trees:
        read, at = _walk(nodes, row, model.encoder_)
        features, counts = features | read, nodes[at].counts
        if model.voting == "hard":
            scores[np.argmax(counts)] += 1
        else:
            scores += np.array(counts) / np.sum(counts)
    return features, scores / len(trees)


def test_label_mask_and_bill_are_those_of_a_walk_by_hand(model, X):
    trees = [model.forest_.nodes(tree) for tree in range(model.forest_.n_trees)]
    probabilities, mask, cost = model.predict_proba(X), model.acquisition_mask(X), model.acquisition_cost(X)
    labels = model.predict(X)
    for i, row in enumerate(_cells(X)):
        features, scores = _answer_by_hand(model, trees, row)
        assert set(np.flatnonzero(mask[i])) == features
        assert cost[i] == model.feature_costs_.of(sorted(features))
        assert probabilities[i].tolist() == scores.tolist()
        assert labels[i] == model.classes_[np.argmax(scores)]


def test_the_bill_is_the_bill_of_the_mask(model, X):
    mask = model.acquisition_mask(X)
    assert mask.shape == (N_TEST, model.n_features_in_)
    assert mask.dtype == bool
    assert np.array_equal(model.acquisition_cost(X), model.feature_costs_.of_rows(mask))
    assert (model.acquisition_cost(X) <= model.feature_costs_.total).all()


def test_label_and_bill_in_one_pass(model, X):
    labels, cost = model.predict_with_cost(X)
    assert np.array_equal(labels, model.predict(X))
    assert np.array_equal(cost, model.acquisition_cost(X))


def test_the_label_is_the_most_probable_class(model, X):
    probabilities = model.predict_proba(X)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(probabilities, axis=1)])
    if not hasattr(model, "ranking_confidence"):
        return
    confidence = model.ranking_confidence(X)
    assert confidence.shape == probabilities.shape
    assert np.allclose(confidence.sum(axis=1), 1)


def _with_garbage(X, mask, kind):
    """X with every value outside the mask replaced."""
    random = np.random.default_rng(9)
    if isinstance(X, np.ndarray):
        other = random.permutation(X) if kind == "other rows" else np.full(X.shape, np.nan)
        return np.where(mask, X, other)
    frame = X.copy() if isinstance(X, pd.DataFrame) else X.to_pandas()
    for i, name in enumerate(frame):
        values = frame[name].to_numpy()
        other = random.permutation(values) if kind == "other rows" else np.full(len(frame), None, dtype=object)
        frame[name] = np.where(mask[:, i], values, other).astype(_storage(values, kind))
    return frame if isinstance(X, pd.DataFrame) else pl.from_pandas(frame)


def _storage(values, kind):
    is_text = any(isinstance(value, str) for value in values)
    return object if is_text else (values.dtype if kind == "other rows" else np.float64)


@pytest.mark.parametrize("kind", ["other rows", "missing"])
def test_nothing_outside_the_mask_is_read(model, X, kind):
    mask = model.acquisition_mask(X)
    garbled = _with_garbage(X, mask, kind)
    assert np.array_equal(model.predict_proba(garbled), model.predict_proba(X))
    assert np.array_equal(model.acquisition_mask(garbled), mask)


def test_rows_are_answered_one_by_one_as_together(model, X):
    cost = model.acquisition_cost(X)
    for i in (0, 7, N_TEST - 1):
        assert np.array_equal(model.predict_proba(X[i : i + 1])[0], model.predict_proba(X)[i])
        assert model.acquisition_cost(X[i : i + 1])[0] == cost[i]


# ---- models at other budgets, and without trees


@pytest.mark.parametrize("name", ["binary", "missing", "pandas"])
def test_every_budget_gives_a_model_whose_validation_bill_is_within_it(name):
    X, y, costs, _ = case(name)
    model = ff.BudgetForestClassifier(n_estimators=12, feature_costs=costs, random_state=0)
    model.fit(X[:N_TRAIN], y[:N_TRAIN], eval_set=(X[N_TRAIN:], y[N_TRAIN:]))
    for point in model.curve_.frontier().cost:
        smaller = model.at_budget(float(point))
        bill = smaller.acquisition_cost(X[N_TRAIN:])
        assert smaller.validation_cost_ <= point
        assert bill.mean() == pytest.approx(smaller.validation_cost_, rel=1e-12)
        assert np.mean(smaller.predict(X[N_TRAIN:]) != y[N_TRAIN:]) == pytest.approx(smaller.validation_error_)


def test_a_model_without_trees_reads_nothing_and_names_the_most_frequent_class():
    X, y, *_ = case("binary")
    y = np.where(np.arange(len(y)) % 3 == 0, "rare", "frequent")
    model = ff.BudgetForestClassifier(0.5, alpha=0, n_estimators=5, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="no tree fits a budget of 0.5"):
        model.fit(X, y)
    assert model.n_estimators_ == 0
    assert set(model.predict(X)) == {"frequent"}
    assert not model.acquisition_mask(X).any()
    assert not model.acquisition_cost(X).any()
    share = np.mean(y == "frequent")
    assert np.allclose(model.predict_proba(X), [share, 1 - share])
    assert np.array_equal(model.ranking_confidence(X), model.predict_proba(X))
    assert not model.feature_importances_.any()
    assert not model.importances_per_cost_.any()
    assert model.oob_score_ == pytest.approx(share, abs=0.01)
    assert model.oob_cost_ == 0
    assert model.validation_cost_ == 0
    assert model.alpha_ is None
    assert len(ff.evaluation.cost_curve(model, X, y)) == 0


def test_more_threads_than_there_can_be():
    """What no machine can give is done with what it gives."""
    code = """
import resource
import numpy as np
import frugalforest as ff
X = np.random.default_rng(0).normal(size=(3000, 3))
y = X[:, 0] > 0
few = ff.StandardForestClassifier(n_estimators=300, max_depth=2, random_state=0).fit(X, y)
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
many = ff.StandardForestClassifier(n_estimators=300, max_depth=2, n_jobs=2000, random_state=0).fit(X, y)
assert (many.predict(X) == few.predict(X)).all()
"""
    pytest.importorskip("resource")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

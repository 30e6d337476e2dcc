"""scikit-learn's trees, forests and boosters: the same label for every row, and the same probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import frugalforest as ff
from frugalforest.importers import import_ensemble
from importers.cases import answers, check_infinity, check_same, edge_rows, mirrored, mixed_frame, numbers

EXACT = 1e-12
KINDS = [
    DecisionTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
]
SEEDS = range(6)


def random_model(kind, rng, n_classes):
    """A model with parameters drawn at random."""
    options = {"random_state": int(rng.integers(100))}
    if kind is HistGradientBoostingClassifier:
        options |= {"max_iter": 6, "early_stopping": bool(rng.random() < 0.5), "min_samples_leaf": 3}
        return kind(max_leaf_nodes=int(rng.choice([2, 4, 31])), **options)
    options |= {"max_leaf_nodes": rng.choice([None, 6]), "max_depth": rng.choice([None, 3])}
    if kind is GradientBoostingClassifier:
        losses = ["log_loss", "exponential"] if n_classes == 2 else ["log_loss"]
        options |= {"loss": rng.choice(losses), "init": rng.choice([None, "zero"]), "subsample": rng.choice([1, 0.5])}
        return kind(n_estimators=6, learning_rate=float(rng.choice([0.1, 0.3, 1])), **options)
    if kind is not DecisionTreeClassifier:
        options["n_estimators"] = int(rng.integers(1, 12))
    return kind(class_weight=rng.choice([None, "balanced"]), **options)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_random_models(kind, seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 5]))
    takes_missing = kind is not GradientBoostingClassifier
    X, y = numbers(seed, n_classes=n_classes, missing=0.15 * (seed % 2) * takes_missing)
    model = random_model(kind, rng, n_classes)
    model.fit(X, y * 10, sample_weight=rng.choice([0.5, 1, 3], len(y)))
    ensemble = check_same(model, X, relative=EXACT)
    check_same(model, edge_rows(ensemble, X, seed, missing=takes_missing), relative=EXACT)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_ties(kind, n_classes):
    X, y = mirrored(n_classes)
    for seed in range(3):
        check_same(random_model(kind, np.random.default_rng(seed), n_classes).fit(X, y), X, relative=EXACT)


def test_leaf_weights_are_the_class_counts_of_training():
    X, y = numbers(0, n_classes=3)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    counts = import_ensemble(tree).forest.leaf_counts
    np.testing.assert_allclose(counts.sum(axis=0), np.bincount(y))
    booster = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    forest = import_ensemble(booster).forest
    assert np.add.reduceat(forest.leaf_counts[:, 0], forest.leaf_offsets[:-1]).tolist() == [len(y)] * 6


def test_labels_of_text_and_columns_of_a_frame():
    X, y = numbers(1, n_classes=3)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = RandomForestClassifier(5, random_state=0).fit(frame, np.array(["low", "mid", "high"])[y])
    ensemble = check_same(model, frame, relative=EXACT)
    assert ensemble.encoder.feature_names == tuple("vwxyz")
    shuffled = pl.from_pandas(frame[list("zyxwv")])
    assert np.array_equal(answers(ensemble, shuffled).labels, model.predict(frame))


def test_single_random_trees_and_monotonic_constraints():
    X, y = numbers(2)
    check_same(ExtraTreeClassifier(random_state=0).fit(X, y), X, relative=EXACT)
    constraints = [1, -1, 0, 0, 1]
    for model in (
        RandomForestClassifier(5, monotonic_cst=constraints, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, monotonic_cst=constraints),
    ):
        check_same(model.fit(X, y), X, relative=EXACT)


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(3), DecisionTreeClassifier(), HistGradientBoostingClassifier()]
)
def test_one_class_is_refused(model):
    X, _ = numbers(0)
    message = rf"{type(model).__name__} was fitted on one class only, 1.0: .* at least two classes"
    with pytest.raises(ValueError, match=message):
        import_ensemble(model.fit(X, np.ones(len(X))))


def test_infinity_is_refused_and_large_numbers_stand_for_it():
    X, y = numbers(8)
    check_infinity(HistGradientBoostingClassifier(max_iter=20).fit(X, y), X, stand_in=1e300)


# ---- labels next to a tie


NEAR_TIES = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17, 1e-16, -1e-16, 3e-16, -3e-16, 0.1, -0.1])


def steps(n_levels):
    """One feature that takes n_levels values, each of them often."""
    X = np.repeat(np.arange(n_levels), 20).astype(float)[:, None]
    return X, np.tile([0, 1], 10 * n_levels)


def test_gradient_boosting_next_to_a_tie():
    X, y = steps(len(NEAR_TIES))
    y[::20] ^= 1
    model = GradientBoostingClassifier(n_estimators=1, max_depth=None, learning_rate=1.0, init="zero").fit(X, y)
    tree = model.estimators_[0, 0].tree_
    leaves = np.unique(tree.apply(X.astype(np.float32)))
    tree.value[leaves, 0, 0] = np.resize(NEAR_TIES, len(leaves))
    check_same(model, X, relative=EXACT)
    assert set(model.predict(X)) == {0, 1}


def test_hist_gradient_boosting_next_to_a_tie():
    X, y = steps(len(NEAR_TIES))
    y = (X[:, 0] % 2).astype(int)
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1).fit(X, y)
    model._baseline_prediction = np.zeros((1, 1))
    nodes = model._predictors[0][0].nodes
    leaves = np.flatnonzero(nodes["is_leaf"])
    assert len(leaves) == len(NEAR_TIES)
    nodes["value"][leaves] = NEAR_TIES
    check_same(model, X, relative=EXACT)


# ---- categories


@pytest.mark.parametrize("seed", SEEDS)
def test_categories_of_a_frame_known_and_new(seed):
    frame, y = mixed_frame(seed)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3, random_state=0)
    model.fit(frame, y if seed % 2 else y > 0)
    check_same(model, frame, relative=EXACT)
    new = frame.copy()
    every = np.arange(len(frame))
    new["colour"] = new["colour"].cat.add_categories("new").where(every % 5 > 0, "new")
    new["size"] = new["size"].cat.add_categories([99]).where(every % 7 > 0, 99)
    check_same(model, new, relative=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_categories_of_an_array(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=300), rng.choice([-3, 1.5, 7, 2, 100], 300), rng.integers(0, 4, 300)])
    y = (np.isin(X[:, 1], [-3, 7]) + np.isin(X[:, 2], [1, 2]) + X[:, 0] > 0.7).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3, categorical_features=[1, 2]).fit(X, y)
    check_same(model, X, relative=EXACT)
    X[:, 1] = rng.choice([-3, 1.5, 1.7, 8, -1, 1e30, np.nan], 300)
    X[:, 2] = rng.choice([0, 0.5, 3.2, -1, 4, 1e9], 300)
    check_same(model, X, relative=EXACT)


def test_polars_categories_and_the_null_that_became_a_category():
    frame, y = mixed_frame(0, missing=False)
    known = pl.from_pandas(frame.assign(size=frame["size"].astype(int)))
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=["colour", "size"])
    check_same(model.fit(known.drop("sort"), y), known.drop("sort"), relative=EXACT)
    objects = np.array([["a", None, "b"] * 20, [0.5, 1, 2] * 20], dtype=object).T
    model = HistGradientBoostingClassifier(categorical_features=[0]).fit(objects, [0, 1, 1] * 20)
    with pytest.raises(ValueError, match="None for a category of its own"):
        import_ensemble(model)


def test_categories_that_are_intervals_or_dates():
    frame, y = mixed_frame(1)
    frame["width"] = pd.cut(frame["width"], [-9, -1, 0, 0.5, 9])
    check_same(HistGradientBoostingClassifier(max_iter=5).fit(frame, y), frame, relative=EXACT)
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) % 3, "D")
    dates = pd.DataFrame({"day": days}).astype("category")
    with pytest.raises(ValueError, match="only text, numbers and intervals are supported"):
        import_ensemble(HistGradientBoostingClassifier(max_iter=2).fit(dates, y))


# ---- refused


def test_several_outputs_and_other_starting_points_are_refused():
    X, y = numbers(0)
    with pytest.raises(ValueError, match=r"RandomForestClassifier predicts 2 outputs .* Fit one model for each"):
        import_ensemble(RandomForestClassifier(2).fit(X, np.column_stack([y, y])))
    for init in (DummyClassifier(strategy="stratified"), DecisionTreeClassifier(max_depth=1)):
        with pytest.raises(ValueError, match=r"starts from the predictions of .* init=None"):
            import_ensemble(GradientBoostingClassifier(n_estimators=2, init=init).fit(X, y))


# ---- real data


@pytest.mark.parametrize("name", ["spambase", "mfeat_pix", "miniboone_tiny"])
def test_real_data(data_dir, name):
    data = ff.datasets.load(name, data_dir)
    rows = slice(0, None, 2)
    for model in (
        RandomForestClassifier(20, random_state=0),
        ExtraTreesClassifier(10, random_state=0, max_features=10),
        HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=15, max_bins=32),
    ):
        check_same(model.fit(data.X[rows], data.y[rows]), data.X, relative=EXACT)
    if len(np.unique(data.y)) == 2:
        small = GradientBoostingClassifier(n_estimators=10, max_features=10, random_state=0)
        check_same(small.fit(data.X[rows], data.y[rows]), data.X, relative=EXACT)

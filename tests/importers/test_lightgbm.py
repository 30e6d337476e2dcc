"""LightGBM: the same label for every row, the same raw scores to the last bit, and the same probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import frugalforest as ff
from frugalforest.importers import import_ensemble
from importers.cases import answers, check_infinity, check_same, edge_rows, mirrored, mixed_frame, numbers

lgb = pytest.importorskip("lightgbm")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # of arrays, in LightGBM 4.6

EXACT = 1e-12
SEEDS = range(16)
CATEGORIES = [0, 1, 2, 3, 5, 40, 70]
ODD_CATEGORIES = [-1, -0.5, 0.5, 1.9, 6, 41, 63, 64, 100, 1e5, 1e30, -1e30, np.nan]


def classifier(**options):
    plain = {"n_estimators": 5, "num_leaves": 7, "min_child_samples": 3, "verbose": -1, "n_jobs": 1, "random_state": 0}
    return lgb.LGBMClassifier(**(plain | {"min_data_per_group": 5, "cat_smooth": 1} | options))


def random_classifier(rng, n_classes):
    """A model with parameters drawn at random."""
    boosting = str(rng.choice(["gbdt", "rf", "dart"]))
    options = {
        "boosting_type": boosting,
        "n_estimators": int(rng.integers(1, 12)),
        "num_leaves": int(rng.choice([2, 5, 15])),
        "learning_rate": float(rng.choice([0.1, 1])),
        "max_cat_to_onehot": int(rng.choice([1, 4])),
        "zero_as_missing": bool(rng.random() < 0.3),
        "use_missing": bool(rng.random() < 0.8),
        "sigmoid": float(rng.choice([1, 0.7, 2.123456789])),
        "boost_from_average": bool(rng.random() < 0.5),
    }
    if boosting == "rf":
        options |= {"subsample": 0.6, "subsample_freq": 1}
    if n_classes > 2:
        options["objective"] = str(rng.choice(["multiclass", "multiclassova"]))
    return classifier(**options)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 5]))
    X, y = numbers(seed, n_classes=n_classes, missing=0.2 * (seed % 2))
    X[rng.random(X.shape) < 0.15] = 0
    if seed % 3 == 0:
        X[:, 1] = rng.choice(CATEGORIES, len(X))
    elif seed % 3 == 1:
        X *= 1e-35  # around the size that LightGBM takes for 0
    model = random_classifier(rng, n_classes)
    model.fit(X, y + 10, categorical_feature=[1] if seed % 3 == 0 else "auto")
    ensemble = check_same(model, X, relative=EXACT)
    rows = edge_rows(ensemble, X, seed)
    if seed % 3 == 0:
        rows[:, 1] = rng.choice(CATEGORIES + ODD_CATEGORIES, len(rows))
    check_same(model, rows, relative=EXACT)
    check_same(model, rows.astype(np.float32), relative=EXACT)
    if model.boosting_type != "rf":  # whose raw scores are already averaged
        raw = model.predict(rows, raw_score=True).reshape(len(rows), -1)
        assert np.array_equal(answers(ensemble, rows).scores[:, -raw.shape[1] :], raw)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("boosting", ["gbdt", "rf", "dart"])
def test_ties(boosting, n_classes):
    X, y = mirrored(n_classes)
    bags = {"subsample": 0.5, "subsample_freq": 1} if boosting == "rf" else {}
    for objective in (["binary"], ["multiclass", "multiclassova"])[n_classes > 2]:
        model = classifier(boosting_type=boosting, objective=objective, min_child_samples=1, **bags)
        check_same(model.fit(X, y), X, relative=EXACT)


# ---- boosters


def with_leaf_values(booster, values):
    """The same booster with other values in its leaves."""
    lines = booster.model_to_string().splitlines()
    values = iter(values)
    for i, line in enumerate(lines):
        if line.startswith("leaf_value="):
            lines[i] = "leaf_value=" + " ".join(f"{next(values):.17g}" for _ in line.split(" "))
        if line.startswith("tree_sizes="):
            lines[i] = ""  # LightGBM then finds the trees by itself
    return lgb.Booster(model_str="\n".join(lines) + "\n")


def test_two_classes_next_to_a_tie():
    margins = [x * sign for x in (0, 1e-34, 1e-17, 1.1e-16, 1.6e-16, 1.7e-16, 2.2e-16, 4e-16) for sign in (1, -1)]
    X = np.repeat(np.arange(16.0), 10)[:, None]
    data = lgb.Dataset(X, np.repeat(np.arange(16) % 2, 10))
    options = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    booster = with_leaf_values(lgb.train(options | {"num_leaves": 16}, data, 1), margins)
    p = booster.predict(X)
    check_same(booster, X, relative=EXACT, labels=np.argmax([1 - p, p], axis=0), probabilities=np.c_[1 - p, p])


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_three_classes_next_to_a_tie(objective):
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(30.0), 10)[:, None]
    options = {"objective": objective, "num_class": 3, "verbose": -1, "min_data_in_leaf": 1, "num_leaves": 30}
    booster = lgb.train(options, lgb.Dataset(X, np.repeat(np.arange(30) % 3, 10)), 2)
    for size in (1.0, 40.0):
        values = size * (1 + rng.integers(-2, 3, 1000) * 1.1e-16)
        changed = with_leaf_values(booster, values)
        p = changed.predict(X)
        check_same(changed, X, relative=EXACT, labels=p.argmax(axis=1), probabilities=p)


def test_boosters_that_are_trained_on_loaded_or_stopped_early():
    X, y = numbers(3, n_classes=3)
    early = classifier(n_estimators=50, learning_rate=0.8, early_stopping_round=3)
    early.fit(X[:200], y[:200], **validation(X[200:], y[200:]))
    ensemble = check_same(early, X, relative=EXACT)
    assert ensemble.forest.n_trees == 3 * early.best_iteration_ < 3 * early.booster_.num_trees()
    check_same(classifier().fit(X, y, init_model=early.booster_), X, relative=EXACT)
    loaded = lgb.Booster(model_str=early.booster_.model_to_string())
    p = loaded.predict(X)
    check_same(loaded, X, relative=EXACT, labels=p.argmax(axis=1), probabilities=p)


def validation(X, y):
    """Validation rows under the name that this version of LightGBM wants."""
    later = tuple(int(part) for part in lgb.__version__.split(".")[:2]) >= (4, 7)
    return {"eval_X": X, "eval_y": y} if later else {"eval_set": [(X, y)]}


@pytest.mark.parametrize("keep", [False, True])
def test_all_digits_of_the_sigmoid(keep):
    X, y = numbers(4)
    options = {"objective": "binary", "sigmoid": 0.123456789, "verbose": -1}
    booster = lgb.train(options, lgb.Dataset(X, y), 5, keep_training_booster=keep)
    p = booster.predict(X)
    check_same(booster, X, relative=EXACT, labels=(p > 0.5).astype(int), probabilities=np.c_[1 - p, p])


# ---- frames and categories


@pytest.mark.parametrize("seed", range(4))
def test_categories_of_a_frame(seed):
    frame, y = mixed_frame(seed)
    model = classifier(max_cat_to_onehot=1 + seed).fit(frame, np.array(["low", "mid", "high"])[y])
    ensemble = check_same(model, frame, relative=EXACT)
    assert list(ensemble.encoder.categories) == [0, 2, 3]
    new = frame.copy()
    new["colour"] = new["colour"].cat.add_categories("new").where(np.arange(len(frame)) % 5 > 0, "new")
    check_same(model, new, relative=EXACT)
    other_order = frame.assign(colour=frame["colour"].cat.reorder_categories(["red", "pink", "grey", "green", "blue"]))
    check_same(model, other_order, relative=EXACT)
    loaded = lgb.Booster(model_str=model.booster_.model_to_string())
    p = loaded.predict(frame)
    check_same(loaded, frame, relative=EXACT, labels=p.argmax(axis=1), probabilities=p)


def test_columns_that_cannot_be_told_are_refused():
    frame, y = mixed_frame(0)
    ordered = frame.assign(size=frame["size"].cat.as_ordered())
    with pytest.raises(ValueError, match=r"3 pandas columns .* 2 categorical features.* unordered"):
        import_ensemble(classifier().fit(ordered, y))


def test_names_and_integers():
    X, y = numbers(5)
    assert import_ensemble(classifier().fit(X, y)).encoder.feature_names is None
    frame = pl.DataFrame(X, schema=list("vwxyz"))
    check_same(classifier().fit(frame.to_pandas(), y), frame.to_pandas(), relative=EXACT)
    whole = np.round(1000 * X).astype(np.int64)
    model = classifier().fit(whole, y)
    check_same(model, whole, relative=EXACT)
    with pytest.raises(ValueError, match="beyond 16,777,216"):
        answers(import_ensemble(model), 10**6 * whole)


def test_large_integers_of_frames():
    """LightGBM reads those of arrays in float32, where they are refused, and those of frames exactly."""
    rng = np.random.default_rng(0)
    whole = pd.DataFrame(2**24 + rng.integers(0, 40, (400, 3)), columns=list("abc"))
    model = classifier(n_estimators=20).fit(whole, (whole["a"] % 4 < 2).to_numpy())
    on_demand = ff.OnDemand(model)
    expected = model.predict(whole)
    for X in (whole, whole.astype("int32"), whole.astype("uint64"), whole.astype({"a": "int32"}), whole.astype(float)):
        assert np.array_equal(model.predict(X), expected)
        assert np.array_equal(on_demand.predict(X), expected)
        assert np.array_equal(on_demand.predict_with_cost(X)[0], expected)
    with pytest.raises(ValueError, match="beyond 16,777,216"):
        ff.OnDemand(classifier().fit(whole.to_numpy(), expected)).predict(whole.to_numpy())


@pytest.mark.parametrize("native", [False, True])
def test_blanks_in_names(native):
    """LightGBM makes underscores of them, and forgets that it did."""
    X, y = numbers(5)
    names = [f"the {name}" for name in "vwxyz"]
    frame = pd.DataFrame(X, columns=names)
    fitted = classifier().fit(frame, y)
    expected = fitted.predict(frame)
    model = fitted.booster_ if native else fitted
    plain = ff.OnDemand(model)
    assert plain.feature_names_in_.tolist() == [name.replace(" ", "_") for name in names]
    priced = ff.OnDemand(model, feature_costs={name: 1.0 + i for i, name in enumerate(names)})
    assert priced.feature_names_in_.tolist() == names
    assert priced.feature_costs_.of(["the z"]) == 5
    for on_demand in (plain, priced, ff.OnDemand(priced)):
        for other in (
            frame,
            frame.rename(columns=lambda name: name.replace(" ", "_")),
            pl.from_pandas(frame[names[::-1]]),
        ):
            assert np.array_equal(on_demand.predict(other), expected)
            assert np.array_equal(on_demand.encode(other), X)
    run = priced.start()
    while (feature := run.next_feature()) is not None:
        run.provide(feature, frame.loc[0, feature])
    assert run.prediction == expected[0]


def test_infinity_is_refused_and_large_numbers_stand_for_it():
    X, y = numbers(8)
    check_infinity(classifier(n_estimators=20).fit(X, y), X, stand_in=1e300)


# ---- refused


def test_what_is_not_supported_is_refused_by_name():
    X, y = numbers(6)
    with pytest.raises(NotFittedError):
        import_ensemble(classifier())
    with pytest.raises(ValueError, match="linear_tree=False"):
        import_ensemble(classifier(linear_tree=True).fit(X, y))
    with pytest.raises(ValueError, match="pred_early_stop"):
        import_ensemble(classifier(pred_early_stop=True).fit(X, y))
    with pytest.raises(ValueError, match=r"objective .* is custom, .* binary, multiclass"):
        import_ensemble(classifier(objective=lambda y, p: (p - y, np.ones_like(p))).fit(X, y))
    with pytest.raises(ValueError, match="is regression"):
        import_ensemble(lgb.train({"objective": "regression", "verbose": -1}, lgb.Dataset(X, y), 2))
    with pytest.raises(ValueError, match="at least two classes"):
        import_ensemble(classifier().fit(X, np.zeros(len(X))))


def test_zeros_that_are_missing_in_some_trees_only_are_refused():
    X, y = numbers(7)
    first = classifier(zero_as_missing=True).fit(X, y)
    second = classifier(zero_as_missing=False).fit(X, y, init_model=first.booster_)
    with pytest.raises(ValueError, match="takes 0 for a missing value in some trees"):
        import_ensemble(second)


# ---- real data


@pytest.mark.parametrize("name", ["spambase", "mfeat_pix", "miniboone_tiny"])
def test_real_data(data_dir, name):
    data = ff.datasets.load(name, data_dir)
    model = classifier(n_estimators=10, num_leaves=15, max_bin=63).fit(data.X[::2], data.y[::2])
    check_same(model, data.X, relative=EXACT)

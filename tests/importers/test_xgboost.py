"""XGBoost: the same label for every row, the same margins to the last bit of float32, and the same probabilities."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import frugalforest as ff
from frugalforest.importers import import_ensemble
from importers.cases import answers, check_infinity, check_same, edge_rows, mirrored, mixed_frame, numbers

xgb = pytest.importorskip("xgboost")

SINGLE = 1e-6
SEEDS = range(16)
CATEGORIES = [0, 1, 2, 3, 5, 40, 70, np.nan]
ODD_CATEGORIES = [-1, -0.5, 0.5, 1.9, 6, 41, 63, 64, 100, 127, 128, 1e5, 1e30, -1e30]


def classifier(**options):
    plain = {"n_estimators": 5, "max_depth": 3, "min_child_weight": 0.1, "n_jobs": 1, "random_state": 0}
    return xgb.XGBClassifier(**(plain | options))


def random_classifier(rng, n_classes, **options):
    """A model with parameters drawn at random."""
    booster = str(rng.choice(["gbtree", "dart"]))
    options |= {
        "booster": booster,
        "n_estimators": int(rng.integers(1, 12)),
        "max_depth": int(rng.choice([1, 3, 6])),
        "learning_rate": float(rng.choice([0.1, 0.3, 1])),
        "num_parallel_tree": int(rng.choice([1, 1, 3])),
        "grow_policy": str(rng.choice(["depthwise", "lossguide"])),
        "tree_method": str(rng.choice(["hist", "approx"])),
        "subsample": float(rng.choice([1, 0.7])),
        "max_cat_to_onehot": int(rng.choice([1, 20])),
    }
    if booster == "dart":
        options["rate_drop"] = 0.4
    if rng.random() < 0.3:
        options["base_score"] = float(rng.random())
    if n_classes > 2 and rng.random() < 0.4:
        options["objective"] = "multi:softmax"
    return classifier(**options)


def margins(scores, n_columns):
    return scores[:, -n_columns:].astype(np.float32)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 5]))
    X, y = numbers(seed, n_classes=n_classes, missing=0.2 * (seed % 2))
    options = {}
    if seed % 3 == 0:
        X[:, 1] = rng.choice(CATEGORIES, len(X))
        options = {"feature_types": ["q", "c", "q", "q", "q"], "enable_categorical": True}
    elif seed % 3 == 1:
        options = {"missing": float(rng.choice([0, -1, 0.1]))}
    model = random_classifier(rng, n_classes, **options).fit(X, y)
    rows = edge_rows(import_ensemble(model), X, seed)
    if seed % 3 == 0:
        rows[:, 1] = rng.choice(CATEGORIES + ODD_CATEGORIES, len(rows))
    check_same(model, X, relative=SINGLE)
    check_same(model, rows.astype(np.float32), relative=SINGLE)
    ensemble = check_same(model, rows, relative=SINGLE)
    raw = model.predict(rows, output_margin=True).reshape(len(rows), -1)
    assert np.array_equal(margins(answers(ensemble, rows).scores, raw.shape[1]), raw)
    # The booster adds the trees of a dart model in another way, and knows nothing of `missing`.
    booster = model.get_booster()
    matrix = xgb.DMatrix(rows, feature_types=options.get("feature_types"), enable_categorical=True)
    raw = booster.predict(matrix, output_margin=True).reshape(len(rows), -1)
    assert np.array_equal(margins(answers(import_ensemble(booster), rows).scores, raw.shape[1]), raw)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties(n_classes):
    X, y = mirrored(n_classes)
    for seed in range(6):
        check_same(random_classifier(np.random.default_rng(seed), n_classes).fit(X, y), X, relative=SINGLE)


# ---- next to a tie


def with_leaf_values(model, values, base_score=None):
    """The same classifier with other values in its leaves."""
    document = json.loads(model.get_booster().save_raw("json"))
    values = iter(values)
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        for i, child in enumerate(tree["left_children"]):
            if child < 0:
                tree["split_conditions"][i] = float(next(values))
    if base_score is not None:
        document["learner"]["learner_model_param"]["base_score"] = base_score
    changed = xgb.XGBClassifier(n_jobs=1)
    changed.load_model(bytearray(json.dumps(document).encode()))
    return changed


def test_two_classes_next_to_a_tie():
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(64.0), 5)[:, None]
    model = classifier(n_estimators=1, max_depth=8, reg_lambda=0).fit(X, np.repeat(rng.integers(0, 2, 64), 5))
    for _ in range(20):
        changed = with_leaf_values(model, rng.choice(np.linspace(-2e-7, 2e-7, 101), 64), "[5E-1]")
        check_same(changed, X, relative=SINGLE)
        above = changed.predict(X, output_margin=True) > 0
        assert 0 < changed.predict(X).mean() < above.mean()  # some margins above 0 are not enough


def test_three_classes_next_to_a_tie():
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(60.0), 5)[:, None]
    model = classifier(n_estimators=2, max_depth=8, reg_lambda=0).fit(X, np.repeat(rng.integers(0, 3, 60), 5))
    for _ in range(10):
        values = 1 + rng.integers(-3, 4, 2000) * 6e-8
        check_same(with_leaf_values(model, values, "[0E0,0E0,0E0]"), X, relative=SINGLE)


def test_leaves_of_exactly_one():
    X, y = numbers(3, n_rows=500)
    model = classifier(n_estimators=30, learning_rate=1, max_delta_step=1, reg_lambda=0).fit(X, y)
    ensemble = import_ensemble(model)
    assert np.mean(ensemble.values[:, 1] == 1) > 0.1
    assert np.array_equal(answers(ensemble, X).scores[:, 1], model.predict(X, output_margin=True))


# ---- boosters, rounds, weights


def test_rounds_of_a_classifier_and_of_its_booster():
    X, y = numbers(3, n_classes=3)
    early = classifier(n_estimators=50, learning_rate=0.9, num_parallel_tree=2, early_stopping_rounds=3)
    early.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    ensemble = check_same(early, X, relative=SINGLE)
    assert ensemble.forest.n_trees == 6 * (early.best_iteration + 1) < 6 * early.get_booster().num_boosted_rounds()
    p = early.get_booster().predict(xgb.DMatrix(X))
    check_same(early.get_booster(), X, relative=SINGLE, labels=p.argmax(axis=1), probabilities=p)


def test_random_forests_and_objectives_of_your_own():
    X, y = numbers(4)
    check_same(xgb.XGBRFClassifier(n_estimators=6, n_jobs=1).fit(X, y), X, relative=SINGLE)
    own = classifier(objective=lambda y, p: (1 / (1 + np.exp(-p)) - y, np.full(len(y), 0.25)))
    check_same(own.fit(X, y), X, relative=SINGLE)


def test_leaf_weights_are_sums_of_hessians():
    X, y = numbers(5)
    forest = import_ensemble(classifier(base_score=0.5).fit(X, y)).forest
    np.testing.assert_allclose(forest.leaf_counts[: forest.leaf_offsets[1]].sum(), len(y) / 4, rtol=1e-6)


# ---- frames and categories


@pytest.mark.parametrize("seed", range(4))
def test_categories_of_a_frame(seed):
    frame, y = mixed_frame(seed)
    model = classifier(enable_categorical=True, max_cat_to_onehot=1 + 4 * (seed % 2)).fit(frame, y)
    ensemble = check_same(model, frame, relative=SINGLE)
    assert ensemble.encoder.categories[2] == (-7, 3, 10, 20, 40)
    other_order = frame.assign(colour=frame["colour"].cat.reorder_categories(["red", "pink", "grey", "green", "blue"]))
    check_same(model, other_order, relative=SINGLE)


@pytest.mark.parametrize("new", ["b", "z", "A"])
def test_new_categories_are_refused_in_matrices(new):
    """XGBoost reads "b" as "c", and fails for "z"."""
    rng = np.random.default_rng(0)
    kinds = list("aceg")
    frame = pd.DataFrame({"c": pd.Categorical(rng.choice(kinds, 500), categories=kinds), "v": rng.normal(size=500)})
    y = (frame["c"].isin(["a", "e"]) ^ (frame["v"] > 0)).to_numpy().astype(int)
    model = classifier(n_estimators=20, enable_categorical=True).fit(frame, y)
    on_demand = ff.OnDemand(model)
    rows = frame[:50].assign(c=pd.Categorical([new, "a"] * 25))
    message = rf"Feature 'c' holds categories that the model was not fitted with: '{new}'\. .* Make them missing"
    for ask in (on_demand.predict, on_demand.predict_with_cost, on_demand.acquisition_mask, on_demand.encode):
        with pytest.raises(ValueError, match=message):
            ask(rows)
    missing = rows.assign(c=rows["c"].cat.remove_categories(new))
    for known in (missing, frame):
        assert np.array_equal(on_demand.predict(known), model.predict(known))
    declared = frame.assign(c=frame["c"].cat.add_categories(new))  # and in no row
    assert np.array_equal(on_demand.predict(declared), model.predict(frame))


def test_new_categories_are_refused_by_a_model_from_a_file(tmp_path):
    frame = pd.DataFrame({"c": pd.Categorical(list("aceg") * 20), "v": np.arange(80.0)})
    model = classifier(enable_categorical=True).fit(frame, [0, 1, 0, 1] * 20)
    ff.OnDemand(model).save(tmp_path / "model.ff")
    loaded = ff.load(tmp_path / "model.ff")
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="'b', 'd'"):
        loaded.predict(frame.assign(c=list("abcd") * 20))


def test_whole_numbers_as_categories_are_refused_too():
    frame, y = mixed_frame(0)
    model = classifier(enable_categorical=True).fit(frame, y)
    new = frame.assign(size=frame["size"].cat.add_categories([5]).where(np.arange(len(frame)) % 5 > 0, 5))
    with pytest.raises(ValueError, match=r"Feature 'size' holds categories .*: 5\."):
        ff.OnDemand(model).predict(new)


@pytest.mark.parametrize("missing", [0.0, -1.0])
def test_a_number_that_stands_for_missing_values(missing):
    """The classifier remembers it; its booster does not."""
    X, y = numbers(9)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = missing
    model = classifier(n_estimators=20, missing=missing).fit(X, y)
    assert np.array_equal(ff.OnDemand(model).predict(X), model.predict(X))
    as_nan = np.where(missing == X, np.nan, X)
    labels = (model.get_booster().predict(xgb.DMatrix(X, missing=missing)) > 0.5).astype(int)
    booster = ff.OnDemand(model.get_booster())
    assert np.array_equal(booster.predict(as_nan), labels)
    assert not np.array_equal(booster.predict(X), labels)


def test_infinity_is_refused_and_large_numbers_stand_for_it():
    X, y = numbers(8)
    check_infinity(classifier(n_estimators=20).fit(X, y), X, stand_in=3e38)


def test_names_and_integers():
    X, y = numbers(6)
    assert import_ensemble(classifier().fit(X, y)).encoder.feature_names is None
    frame = pl.DataFrame(X, schema=list("vwxyz"))
    ensemble = check_same(classifier().fit(frame, y), frame, relative=SINGLE)
    assert ensemble.encoder.feature_names == tuple("vwxyz")
    whole = np.round(1e8 * X).astype(np.int64)
    check_same(classifier().fit(whole, y), whole, relative=SINGLE)


def test_text_that_xgboost_cuts_is_refused():
    frame = pd.DataFrame({"c": pd.Categorical(["é", "ü", "a"] * 20)})
    with pytest.raises(ValueError, match=r"letters beyond ASCII.* Rename these"):
        import_ensemble(classifier(enable_categorical=True).fit(frame, [0, 1, 1] * 20))


# ---- refused


def test_what_is_not_supported_is_refused_by_name():
    X, y = numbers(7, n_classes=3)
    with pytest.raises(NotFittedError):
        import_ensemble(classifier())
    with pytest.raises(ValueError, match=r'gblinear, .* booster="gbtree"'):
        import_ensemble(xgb.XGBClassifier(booster="gblinear", n_estimators=2).fit(X, y))
    with pytest.raises(ValueError, match="one_output_per_tree"):
        import_ensemble(classifier(multi_strategy="multi_output_tree", tree_method="hist").fit(X, y))
    with pytest.raises(ValueError, match="several labels at once"):
        import_ensemble(classifier().fit(X, np.column_stack([y > 0, y > 1]).astype(int)))
    for objective in ("binary:logitraw", "binary:hinge"):
        with pytest.raises(ValueError, match=rf"is {objective}, .* Supported are binary:logistic"):
            import_ensemble(classifier(objective=objective).fit(X, (y > 0).astype(int)))
    with pytest.raises(ValueError, match=r"2 class.* does not predict labels"):
        import_ensemble(classifier(objective="multi:softprob", num_class=2).fit(X, (y > 0).astype(int)))
    with pytest.raises(ValueError, match=r"1 class.* does not predict labels"):
        import_ensemble(classifier().fit(X, np.zeros(len(X), int)))


# ---- real data


@pytest.mark.parametrize("name", ["spambase", "mfeat_pix", "miniboone_tiny"])
def test_real_data(data_dir, name):
    data = ff.datasets.load(name, data_dir)
    model = classifier(n_estimators=10, max_depth=5, max_bin=63).fit(data.X[::2], data.y[::2])
    check_same(model, data.X, relative=SINGLE)

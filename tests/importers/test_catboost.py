"""CatBoost: the same label for every row, the same raw values to the last bit, and the same probabilities."""

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

catboost = pytest.importorskip("catboost")

EXACT = 1e-12
SEEDS = range(16)
POLICIES = ["SymmetricTree", "Depthwise", "Lossguide"]
COLUMNS = ["colour", "size", "sort"]  # of categories, in mixed_frame


def options(**further):
    plain = {"iterations": 5, "depth": 3, "random_seed": 0, "thread_count": 1, "one_hot_max_size": 255}
    return plain | {"verbose": 0, "allow_writing_files": False} | further


def classifier(**further):
    return catboost.CatBoostClassifier(**options(**further))


def random_classifier(rng, n_classes):
    """A model with parameters drawn at random."""
    further = {
        "iterations": int(rng.integers(1, 12)),
        "depth": int(rng.choice([1, 3, 6])),
        "learning_rate": float(rng.choice([0.1, 0.3, 1])),
        "grow_policy": str(rng.choice(POLICIES)),
        "nan_mode": str(rng.choice(["Min", "Max"])),
        "leaf_estimation_iterations": int(rng.choice([1, 3])),
    }
    if n_classes == 2:
        further["boost_from_average"] = bool(rng.random() < 0.4)
    else:
        further["loss_function"] = str(rng.choice(["MultiClass", "MultiClassOneVsAll"]))
    return classifier(**further)


def raw_values(model, X):
    return np.array(model.predict(X, prediction_type="RawFormulaVal")).reshape(len(X), -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 5]))
    X, y = numbers(seed, n_classes=n_classes, missing=0.2 * (seed % 2))
    model = random_classifier(rng, n_classes).fit(X, y + 10)
    ensemble = check_same(model, X, relative=EXACT)
    rows = edge_rows(ensemble, X, seed)
    check_same(model, rows, relative=EXACT)
    check_same(model, rows.astype(np.float32), relative=EXACT)
    raw = raw_values(model, rows)
    assert np.array_equal(answers(ensemble, rows).scores[:, -raw.shape[1] :], raw)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties(n_classes):
    X, y = mirrored(n_classes)
    for seed in range(6):
        check_same(random_classifier(np.random.default_rng(seed), n_classes).fit(X, y), X, relative=EXACT)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_next_to_a_tie(n_classes, tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(60.0), 5)[:, None]
    model = classifier(iterations=2, depth=5).fit(X, np.repeat(rng.integers(0, n_classes, 60), 5))
    model.save_model(str(tmp_path / "model.json"), format="json")
    document = json.loads((tmp_path / "model.json").read_text())
    for tree in document["oblivious_trees"]:
        tree["leaf_values"] = rng.choice(
            [0, 5e-324, -5e-324, 1e-17, -1e-17, 0.1, -0.1], len(tree["leaf_values"])
        ).tolist()
    (tmp_path / "changed.json").write_text(json.dumps(document))
    changed = catboost.CatBoostClassifier().load_model(str(tmp_path / "changed.json"), format="json")
    check_same(changed, X, relative=EXACT)


def test_infinity_is_refused_and_large_numbers_stand_for_it():
    X, y = numbers(8)
    check_infinity(classifier(iterations=20).fit(X, y), X, stand_in=3e38)


# ---- losses and labels


def test_losses_with_two_classes():
    X, y = numbers(1)
    check_same(
        classifier(loss_function="CrossEntropy").fit(X, np.random.default_rng(0).random(len(X))), X, relative=EXACT
    )
    check_same(classifier(target_border=0.3).fit(X, X[:, 1]), X, relative=EXACT)
    biased = classifier(class_weights=[1, 3]).fit(X, y)
    biased.set_scale_and_bias(1, 0.1)
    ensemble = check_same(biased, X, relative=EXACT)
    assert np.array_equal(answers(ensemble, X).scores[:, 1], raw_values(biased, X)[:, 0])


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [0.5, 1.5], [7, 9]])
def test_labels_of_any_kind(labels):
    X, y = numbers(2)
    ensemble = check_same(classifier().fit(X, np.array(labels)[y]), X, relative=EXACT)
    assert ensemble.classes.tolist() == labels


def test_the_plain_class_loaded_and_shortened_models(tmp_path):
    X, y = numbers(3, n_classes=3)
    plain = catboost.CatBoost(options(loss_function="MultiClass")).fit(X, np.array(list("abc"))[y])
    asked = {kind: plain.predict(X, prediction_type=kind) for kind in ("Class", "Probability")}
    check_same(plain, X, relative=EXACT, labels=asked["Class"], probabilities=asked["Probability"])
    early = classifier(iterations=100, learning_rate=0.8, early_stopping_rounds=5)
    early.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    assert check_same(early, X, relative=EXACT).forest.n_trees == early.tree_count_ < 100
    early.save_model(str(tmp_path / "model.cbm"))
    check_same(catboost.CatBoostClassifier().load_model(str(tmp_path / "model.cbm")), X, relative=EXACT)


@pytest.mark.parametrize("policy", POLICIES)
def test_leaf_weights_are_training_weights(policy):
    X, y = numbers(4)
    forest = import_ensemble(classifier(grow_policy=policy).fit(X, y)).forest
    np.testing.assert_allclose(np.add.reduceat(forest.leaf_counts[:, 0], forest.leaf_offsets[:-1]), len(y))


def test_names_and_integers():
    X, y = numbers(5)
    assert import_ensemble(classifier().fit(X, y)).encoder.feature_names is None
    frame = pd.DataFrame(X, columns=[f"the {name}" for name in "vwxyz"])
    ensemble = check_same(classifier().fit(frame, y), frame, relative=EXACT)
    assert ensemble.encoder.feature_names[0] == "the v"
    whole = np.round(1e8 * X).astype(np.int64)
    check_same(classifier().fit(whole, y), whole, relative=EXACT)


# ---- categories


@pytest.mark.parametrize("policy", POLICIES)
def test_categories_of_a_frame_known_and_new(policy):
    frame, y = mixed_frame(0, missing=False)
    model = classifier(cat_features=COLUMNS, grow_policy=policy, depth=4).fit(frame, y)
    check_same(model, frame, relative=EXACT)
    new = frame.assign(colour=frame["colour"].astype(object), size=frame["size"].astype(int))
    new.loc[::5, "colour"] = "new"
    new.loc[::7, "size"] = 99
    ensemble = check_same(model, new, relative=EXACT)
    check_same(model, new.to_numpy(), relative=EXACT)
    assert np.array_equal(answers(ensemble, pl.from_pandas(new)).labels, model.predict(new).ravel())
    unread = classifier(cat_features=COLUMNS, iterations=1, depth=1).fit(frame, y)
    check_same(unread, frame, relative=EXACT)


def test_categories_of_whole_numbers_and_flags():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 300), rng.integers(-3, 3, 300), rng.integers(0, 99, 300)])
    y = np.isin(X[:, 0], [1, 3]) ^ (X[:, 1] > 0)
    check_same(classifier(cat_features=[0, 1]).fit(X, y), X, relative=EXACT)
    flags = pd.DataFrame({"flag": X[:, 0] > 2, "x": rng.normal(size=300)})
    check_same(classifier(cat_features=["flag"]).fit(flags, y), flags, relative=EXACT)


@pytest.mark.parametrize("lengths", [range(40), range(40, 80), [*range(120, 140), 200, 255, 256, 257, 1000]])
def test_categories_of_any_length_by_their_hashes(lengths):
    rng = np.random.default_rng(len(lengths))
    words = ["".join(rng.choice(list("abcdefgh é日"), length)) for length in lengths]
    X = np.repeat(words, 10).astype(object)[:, None]
    y = np.repeat(np.arange(len(words)) % 2, 10)
    model = classifier(iterations=60, depth=6, learning_rate=0.5, cat_features=[0]).fit(X, y)
    ensemble = check_same(model, X, relative=EXACT)
    assert model.score(X, y) == 1  # so every category was asked for
    assert np.array_equal(answers(ensemble, X).scores[:, 1], raw_values(model, X)[:, 0])


# ---- refused


def test_what_is_not_supported_is_refused_by_name():
    X, y = numbers(6)
    frame, y3 = mixed_frame(1, missing=False)
    with pytest.raises(NotFittedError, match="CatBoostClassifier is not fitted yet"):
        import_ensemble(classifier())
    with pytest.raises(ValueError, match=r"statistics of the target .*CTR.* one_hot_max_size"):
        import_ensemble(classifier(cat_features=COLUMNS, one_hot_max_size=2).fit(frame, y3))
    with pytest.raises(ValueError, match=r"loss function .* is RMSE"):
        import_ensemble(catboost.CatBoost(options(loss_function="RMSE")).fit(X, y))
    with pytest.raises(ValueError, match=r"loss function .* is MultiLogloss"):
        import_ensemble(classifier(loss_function="MultiLogloss").fit(X, np.column_stack([y, 1 - y])))
    texts = pd.DataFrame({"text": ["a b", "c d e"] * 150, "x": X[:, 0]})
    with pytest.raises(ValueError, match="reads text or embedding features"):
        import_ensemble(classifier(text_features=["text"]).fit(texts, y))


def test_changed_models_are_refused():
    X, y = numbers(7)
    model = classifier().fit(X, y)
    model.set_scale_and_bias(0.5, 0.0)
    with pytest.raises(ValueError, match=r"multiplies its sums by 0.5.* set_scale_and_bias\(1, bias\)"):
        import_ensemble(model)
    model.set_scale_and_bias(1, 0.0)
    model.set_probability_threshold(0.7)
    with pytest.raises(ValueError, match=r"set_probability_threshold\(None\)"):
        import_ensemble(model)
    mixture = catboost.sum_models([classifier().fit(X, y)] * 2, weights=[0.3, 0.7])
    with pytest.raises(ValueError, match=r"does not say which loss function .* sum_models .* as it was fitted"):
        import_ensemble(mixture)


# ---- real data


@pytest.mark.parametrize("name", ["spambase", "mfeat_pix", "miniboone_tiny"])
def test_real_data(data_dir, name):
    data = ff.datasets.load(name, data_dir)
    model = classifier(iterations=15, depth=4, border_count=32).fit(data.X[::2], data.y[::2])
    check_same(model, data.X, relative=EXACT)

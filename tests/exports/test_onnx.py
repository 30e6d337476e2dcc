"""Exported ONNX models give the labels and probabilities of the ensemble, row by row, when onnxruntime runs them."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import frugalforest as ff
from exports.ensembles import (
    CATEGORICAL,
    GROWN,
    LINKS,
    N_FEATURES,
    VARIANTS,
    ensemble_of,
    grown,
    made_up,
    near_float32,
    predictions,
    rows_for,
    standard_forest,
)
from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Reading
from frugalforest.exports import to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator


def run(model, rows, n_threads=1):
    """Labels and probabilities."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    session = onnxruntime.InferenceSession(
        model if isinstance(model, str) else model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(["label", "probabilities"], {"X": np.ascontiguousarray(rows)})


def assert_same_predictions(ensemble, rows, **options):
    model = to_onnx(ensemble)
    onnx.checker.check_model(model, full_check=True)
    _, probabilities, labels = predictions(ensemble, rows)
    found_labels, found = run(model, rows, **options)
    np.testing.assert_array_equal(found_labels, labels)
    assert found.dtype == np.float64
    assert found.shape == probabilities.shape
    np.testing.assert_allclose(found, probabilities, rtol=0, atol=1e-15)


# Forests.


@pytest.mark.parametrize("name", GROWN)
def test_grown_forests(name):
    model, X, ensemble, rows = grown(name)
    labels, probabilities = run(to_onnx(ensemble), rows)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))  # to the last bit: added in the same order


@pytest.mark.parametrize("n_rows", [0, 1, 2, 60, 5000])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_any_number_of_rows_and_threads(n_rows, n_threads):
    # onnxruntime goes other ways for one row, for a few, and for many; also for more than 80 trees.
    ensemble = made_up("softmax", n_trees=90, depth=3)
    assert_same_predictions(ensemble, rows_for(ensemble, n_rows), n_threads=n_threads)


# Every kind of ensemble.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("link", LINKS)
def test_made_up_ensembles(link, variant, seed):
    ensemble = made_up(link, seed=seed, **VARIANTS[variant])
    assert_same_predictions(ensemble, rows_for(ensemble, seed=seed))


@pytest.mark.parametrize("link", ["sigmoid", "softmax", "one_vs_all"])
def test_sums_in_float32(link):
    ensemble = made_up(link, n_trees=40, sums_as_float32=True, reading=Reading(as_float32=True))
    rounded = ensemble.values.astype(np.float32).astype(np.float64)
    ensemble, rows = near_float32(replace(ensemble, values=rounded))
    assert_same_predictions(ensemble, rows)


@pytest.mark.parametrize("ties_to_last", [False, True])
def test_ties(ties_to_last):
    ensemble = made_up(n_classes=4, n_trees=3, base=np.zeros(4), ties_to_last=ties_to_last)
    ensemble = replace(ensemble, values=np.tile(ensemble.values[:, :1], 4))
    labels, _ = run(to_onnx(ensemble), rows_for(ensemble))
    assert set(labels.tolist()) == {3 if ties_to_last else 0}


@pytest.mark.parametrize(("labels_by", "label"), [("probability", 0), ("score", 1)])
def test_probabilities_that_scores_tell_apart(labels_by, label):
    ensemble = made_up("one_vs_all", n_trees=2, base=np.array([60.0, 80.0, -5.0]), labels_by=labels_by)
    labels, probabilities = run(to_onnx(ensemble), rows_for(ensemble))
    assert (probabilities[:, 0] == probabilities[:, 1]).all()
    assert set(labels.tolist()) == {label}


@pytest.mark.parametrize("members", [[0], [30], [31], [0, 30], [1, 31], list(range(31)), list(range(0, 255, 2)), [254]])
@pytest.mark.parametrize("missing_left", [0, 1])
def test_sets_of_any_size(members, missing_left):
    ensemble = made_up(n_trees=1, depth=0, n_categories=255, n_known=255, base=np.zeros(3))
    bits = np.zeros((1, 256), bool)
    bits[0, members] = True
    words = np.packbits(bits, bitorder="little").view(np.uint64).reshape(1, 4)
    split = {
        "node_offsets": np.array([0, 3]),
        "leaf_offsets": np.array([0, 2]),
        "feature": np.array([CATEGORICAL, -1, -1], np.int32),
        "threshold": np.zeros(3),
        "missing_left": np.array([missing_left, 0, 0], np.uint8),
        "right": np.array([2, 0, 1], np.int32),
        "category_set": np.array([0, -1, -1], np.int32),
        "category_sets": words,
        "leaf_counts": np.ones((2, 3)),
    }
    forest = type(ensemble.forest).from_arrays(split, N_FEATURES)
    ensemble = replace(ensemble, forest=forest, values=np.eye(3)[:2])
    rows = np.zeros((256, N_FEATURES))
    rows[:, CATEGORICAL] = [*range(255), np.nan]
    assert_same_predictions(ensemble, rows)


# Reading.


@pytest.mark.parametrize("seed", range(3))
def test_numbers_rounded_to_float32(seed):
    ensemble, rows = near_float32(made_up(seed=seed, n_trees=30, reading=Reading(as_float32=True)), seed=seed)
    exact = replace(ensemble, reading=Reading())
    assert not np.array_equal(predictions(exact, rows)[1], predictions(ensemble, rows)[1])  # it matters here
    assert_same_predictions(ensemble, rows)


@pytest.mark.parametrize(
    "reading",
    [
        Reading(zero_is_missing=(0, 2)),
        Reading(zero_is_missing=(1,), as_float32=True),
        Reading(missing_value=0.25),
        Reading(missing_value=0.1, as_float32=True),
        Reading(categories=(CATEGORICAL,)),
        Reading(categories=(CATEGORICAL,), other_category=63),
    ],
    ids=str,
)
def test_numbers_that_are_read_as_others(reading):
    ensemble = made_up(n_trees=20, n_categories=64, n_known=0, reading=reading)
    rows = rows_for(ensemble)
    if reading.categories:
        rows[:, CATEGORICAL] += np.random.default_rng(0).choice([0, 0.5, -0.5], len(rows))
    rows[::7, 1], rows[::5, 2], rows[::6, 4] = 1e-36, -1e-30, 0.1
    assert_same_predictions(ensemble, rows)


# The standard.


@pytest.mark.parametrize("link", LINKS)
def test_the_reference_implementation_agrees(link):
    # Without categories: the reference of onnx 1.23 ends a set at category 0. Before, it fails at Gather.
    pytest.importorskip("onnx", minversion="1.23")
    ensemble = made_up(link)
    numeric = np.where(ensemble.forest.feature == CATEGORICAL, 0, ensemble.forest.feature).astype(np.int32)
    forest = replace(
        ensemble.forest, feature=numeric, category_set=np.full(ensemble.forest.n_nodes, -1, np.int32), _cache={}
    )
    ensemble = replace(ensemble, forest=forest)
    rows = rows_for(ensemble, 30)
    _, probabilities, labels = predictions(ensemble, rows)
    evaluator = ReferenceEvaluator(to_onnx(ensemble))
    found_labels, found = evaluator.run(["label", "probabilities"], {"X": rows})
    np.testing.assert_array_equal(found_labels, labels)
    np.testing.assert_allclose(found, probabilities, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_layout_that_older_runtimes_read_right(seed):
    model = to_onnx(made_up(seed=seed, n_trees=9, depth=2))
    node = next(node for node in model.graph.node if node.op_type == "TreeEnsemble")
    is_tensor = onnx.AttributeProto.TENSOR
    at = {a.name: list(a.ints) for a in node.attribute if a.type != is_tensor and a.ints}
    for root in at["tree_roots"]:
        assert at["nodes_truenodeids"][root] != at["nodes_falsenodeids"][root]


# What comes with it.


@pytest.mark.parametrize(
    "classes", [["ill", "well"], [-3, 7], [False, True], [1.0, 2.0], np.array([1, 2], np.int8)], ids=str
)
def test_labels_are_those_of_the_model(classes):
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = np.repeat(np.array(classes), 2)
    model = ff.StandardForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    labels, _ = run(to_onnx(ensemble_of(model)), X)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert labels.dtype == (object if model.classes_.dtype.kind in "UO" else model.classes_.dtype)


def test_classes_without_a_type_are_refused():
    ensemble = made_up(classes=np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[D]"))
    with pytest.raises(TypeError, match="fit the model on labels that are numbers or text"):
        to_onnx(ensemble)


def described(model):
    return json.loads({prop.key: prop.value for prop in model.metadata_props}["frugalforest"])


def test_metadata_says_what_the_numbers_mean():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [20, 30, 40, 50] * 5, "colour": ["red", "blue", "red", None] * 5})
    costs = ff.FeatureCosts({"age": 1.5, "colour": 2.0}, groups={"visit": ff.Group(["age", "colour"], 3.0)})
    model = ff.StandardForestClassifier(n_estimators=3, feature_costs=costs).fit(X, ["ill", "well"] * 10)
    assert described(to_onnx(ensemble_of(model), feature_costs=model.feature_costs_)) == {
        "features": [
            {"name": "age", "cost": 1.5},
            {"name": "colour", "categories": ["blue", "red"], "cost": 2.0},
        ],
        "groups": {"visit": {"members": ["age", "colour"], "cost": 3.0}},
        "classes": ["ill", "well"],
    }


def test_metadata_without_names_and_prices():
    encoder = FeatureEncoder(N_FEATURES, None, {0: ("a",)}, np.arange(N_FEATURES) == 0)
    features = described(to_onnx(made_up(encoder=encoder, depth=0)))["features"]
    assert features[:2] == [{"name": 0, "categories": ["a"], "other": 254}, {"name": 1}]


def test_prices_of_another_model_are_refused():
    with pytest.raises(ValueError, match="has 2 features, but the ensemble has 5"):
        to_onnx(made_up(), feature_costs=ff.FeatureCosts([1, 2]))


def test_written_to_a_file(tmp_path):
    model, X = standard_forest("soft", 2)
    rows = model._rows(X).astype(np.float64)
    returned = to_onnx(ensemble_of(model), tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == returned
    np.testing.assert_array_equal(run(str(tmp_path / "model.onnx"), rows)[0], model.predict(X))


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'needs onnx.*pip install "frugalforest\[export\]"'):
        to_onnx(made_up())

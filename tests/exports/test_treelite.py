"""Exported treelite models give the scores, probabilities and labels of the ensemble, row by row, or are refused."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from exports.ensembles import (
    GROWN,
    LINKS,
    VARIANTS,
    ensemble_of,
    grown,
    made_up,
    near_float32,
    predictions,
    rows_for,
    standard_forest,
)
from frugalforest import FeatureCosts
from frugalforest.ensemble import Reading
from frugalforest.exports import to_treelite
from frugalforest.exports.treelite import _float32_at_most, _last_to_round_to

treelite = pytest.importorskip("treelite")


def predict(model, rows, **options):
    """(n_rows, n_outputs)"""
    return treelite.gtil.predict(model, rows, nthread=1, **options)[:, 0, :]


def margins_of(ensemble, scores, probabilities):
    """What treelite calls margins."""
    if ensemble.link == "mean":
        return probabilities
    margins = scores if ensemble.sums_as_float32 else scores * (ensemble.slope / ensemble.divisor)
    return margins[:, 1:] if ensemble.link == "sigmoid" else margins


def labels_of(ensemble, margins, probabilities):
    """As the docstring of `to_treelite` says."""
    if ensemble.link == "softmax" or ensemble.labels_by == "score":
        best = np.pad(margins, ((0, 0), (1, 0))) if ensemble.link == "sigmoid" else margins
    else:
        best = np.hstack([1 - probabilities, probabilities]) if ensemble.link == "sigmoid" else probabilities
    if ensemble.ties_to_last:
        return ensemble.classes[ensemble.n_classes - 1 - np.argmax(best[:, ::-1], axis=1)]
    return ensemble.classes[np.argmax(best, axis=1)]


def assert_same_predictions(ensemble, rows, exact=True):
    model = to_treelite(ensemble)
    scores, probabilities, labels = predictions(ensemble, rows)
    expected = margins_of(ensemble, scores, probabilities)
    margins, found = predict(model, rows, pred_margin=True), predict(model, rows)
    np.testing.assert_allclose(margins, expected, rtol=0, atol=0 if exact else 1e-14)
    np.testing.assert_array_equal(labels_of(ensemble, margins, found), labels)
    second_only = probabilities[:, 1:] if ensemble.link == "sigmoid" else probabilities
    single_precision = ensemble.link == "softmax" or ensemble.sums_as_float32
    np.testing.assert_allclose(found, second_only, rtol=0, atol=2e-7 if single_precision else 1e-15)


@pytest.mark.parametrize("name", GROWN)
def test_grown_forests(name):
    model, X, ensemble, rows = grown(name)
    probabilities = predict(to_treelite(ensemble), rows)
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))  # to the last bit: added in the same order
    np.testing.assert_array_equal(model.classes_[np.argmax(probabilities, axis=1)], model.predict(X))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("link", LINKS)
def test_made_up_ensembles(link, variant, seed):
    ensemble = made_up(link, seed=seed, **VARIANTS[variant])
    scaled = ensemble.slope != ensemble.divisor or (ensemble.base_last and link == "mean")
    assert_same_predictions(ensemble, rows_for(ensemble, seed=seed), exact=not scaled)


@pytest.mark.parametrize("link", LINKS)
def test_no_trees(link):
    ensemble = made_up(link)
    nothing = replace(ensemble, forest=ensemble.forest.first(0), values=ensemble.values[:0])
    assert_same_predictions(nothing, rows_for(ensemble, 5))


# Rounding.


@pytest.mark.parametrize("seed", range(3))
def test_numbers_rounded_to_float32(seed):
    ensemble, rows = near_float32(made_up(seed=seed, n_trees=30, reading=Reading(as_float32=True)), seed=seed)
    exact = replace(ensemble, reading=Reading())
    assert not np.array_equal(predictions(exact, rows)[1], predictions(ensemble, rows)[1])  # it matters here
    assert_same_predictions(ensemble, rows)


@pytest.mark.parametrize("link", ["sigmoid", "softmax", "one_vs_all"])
def test_everything_in_float32(link):
    ensemble = made_up(link, n_trees=40, sums_as_float32=True, reading=Reading(as_float32=True))
    rounded = ensemble.values.astype(np.float32).astype(np.float64)
    ensemble, rows = near_float32(replace(ensemble, values=rounded))
    assert_same_predictions(ensemble, rows)


def test_thresholds_that_stand_for_rounded_numbers():
    rng = np.random.default_rng(0)
    largest, tiny = float(np.finfo(np.float32).max), float(np.finfo(np.float32).smallest_subnormal)
    thresholds = np.concatenate(
        [
            rng.standard_normal(200),
            rng.standard_normal(200).astype(np.float32),
            [0.0, -0.0, tiny, -tiny, tiny / 3, largest, -largest, largest * 2, -largest * 2, np.inf, -np.inf],
        ]
    )
    limits = _last_to_round_to(_float32_at_most(thresholds))
    with np.errstate(over="ignore", under="ignore"):
        for step in range(-3, 4):
            numbers = limits.copy()
            for _ in range(abs(step)):
                numbers = np.nextafter(numbers, np.inf * step)
            goes_left = numbers.astype(np.float32) <= thresholds
            np.testing.assert_array_equal(numbers <= limits, goes_left)


# What treelite cannot do.


@pytest.mark.parametrize("reading", [Reading(zero_is_missing=(1,)), Reading(missing_value=-999.0)], ids=str)
def test_numbers_that_stand_for_missing_values_are_refused(reading):
    with pytest.raises(ValueError, match=r"NaN for missing and nothing else.*ONNX"):
        to_treelite(made_up(reading=reading))


@pytest.mark.parametrize("changes", [{}, {"base_last": True, "reading": Reading(as_float32=True)}], ids=str)
def test_rounding_of_some_numbers_is_refused(changes):
    ensemble = made_up("softmax", sums_as_float32=True, **changes)
    ensemble = replace(ensemble, values=ensemble.values.astype(np.float32).astype(np.float64))
    with pytest.raises(ValueError, match=r"only some of its numbers.*ONNX"):
        to_treelite(ensemble)


def test_leaves_that_are_no_float32_are_refused_where_sums_are():
    ensemble = made_up("softmax", sums_as_float32=True, reading=Reading(as_float32=True))
    with pytest.raises(ValueError, match=r"only some of its numbers.*ONNX"):
        to_treelite(ensemble)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite.model_builder", None)
    with pytest.raises(ImportError, match=r'needs treelite.*pip install "frugalforest\[export\]"'):
        to_treelite(made_up())


# What comes with it.


def test_attributes_say_what_the_numbers_mean():
    model, _ = standard_forest("hard", 2, n_estimators=2)
    exported = to_treelite(ensemble_of(model), feature_costs=FeatureCosts([1, 2, 3, 4, 5, 6.5]))
    described = json.loads(exported.get_header_accessor().get_field("attributes"))["frugalforest"]
    assert described["classes"] == [0, 1]
    assert described["features"][0] == {"name": 0, "cost": 1.0}
    assert described["features"][4] == {"name": 4, "categories": [0, 1, 2, 3], "cost": 5.0}
    assert described["features"][5]["cost"] == 6.5


def test_classes_that_json_cannot_hold_become_text():
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[D]")
    exported = to_treelite(made_up(classes=days))
    described = json.loads(exported.get_header_accessor().get_field("attributes"))["frugalforest"]
    assert described["classes"] == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_saved_and_loaded(tmp_path):
    model, X, ensemble, rows = grown("standard_forest, soft, 5 classes")
    to_treelite(ensemble).serialize(str(tmp_path / "model.treelite"))
    loaded = treelite.Model.deserialize(str(tmp_path / "model.treelite"))
    np.testing.assert_array_equal(predict(loaded, rows), model.predict_proba(X))

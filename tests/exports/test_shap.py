"""Exported explainers give Shapley values: they add up to the prediction, and equal a sum over all subsets."""

import pickle
import sys
from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest

from exports.ensembles import (
    GROWN,
    LINKS,
    N_FEATURES,
    VARIANTS,
    grown,
    made_up,
    near_float32,
    predictions,
    rows_for,
)
from frugalforest.ensemble import Reading
from frugalforest.exports import to_shap
from frugalforest.exports.extras import load

try:
    shap = load("shap")
except ImportError:
    pytest.skip("needs shap", allow_module_level=True)


def explained(ensemble, rows):
    """What Shapley values add up to, (n_rows, n_outputs)."""
    scores, probabilities, _ = predictions(ensemble, rows)
    if ensemble.link == "mean":
        return probabilities
    margins = scores * (ensemble.slope / ensemble.divisor)
    return margins[:, 1:] - margins[:, :1] if ensemble.link == "sigmoid" else margins


def shapley(explainer, rows):
    """Expected values (n_outputs,) and Shapley values (n_rows, n_features, n_outputs), however many outputs."""
    values = explainer.shap_values(rows)
    return np.atleast_1d(explainer.expected_value), values if values.ndim == 3 else values[:, :, None]


def assert_adds_up(ensemble, rows, atol=1e-12):
    expected, values = shapley(to_shap(ensemble), rows)
    np.testing.assert_allclose(expected + values.sum(axis=1), explained(ensemble, rows), rtol=0, atol=atol)


# Shapley values add up.


@pytest.mark.parametrize("name", GROWN)
def test_grown_forests(name):
    model, X, ensemble, rows = grown(name)
    expected, values = shapley(to_shap(ensemble), rows[:60])
    assert values.shape == (60, 6, len(model.classes_))
    np.testing.assert_allclose(expected + values.sum(axis=1), model.predict_proba(X[:60]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("link", LINKS)
def test_made_up_ensembles(link, variant):
    ensemble = made_up(link, **VARIANTS[variant])
    assert_adds_up(ensemble, rows_for(ensemble, 40))


@pytest.mark.parametrize(
    "reading",
    [Reading(as_float32=True), Reading(zero_is_missing=(0, 2)), Reading(missing_value=0.25)],
    ids=str,
)
def test_numbers_that_are_read_as_others(reading):
    ensemble, rows = near_float32(made_up(n_trees=20, reading=reading), 60)
    assert_adds_up(ensemble, rows)


def test_sums_in_float32_are_explained_up_to_their_rounding():
    ensemble = made_up("softmax", sums_as_float32=True, reading=Reading(as_float32=True))
    assert_adds_up(ensemble, rows_for(ensemble, 40), atol=1e-5)


# Shapley values are those of the definition.


def expectation(nodes, weights, leaves, row, known, i=0):
    """The mean over the leaves a row can reach if only some features are known, weighted by training rows."""
    node = nodes[i]
    if node.feature < 0:
        return leaves[i]
    left, right = (expectation(nodes, weights, leaves, row, known, child) for child in (node.left, node.right))
    if node.feature not in known:
        return (weights[node.left] * left + weights[node.right] * right) / weights[i]
    value = row[node.feature]
    if np.isnan(value):
        goes_left = node.missing_left
    elif node.left_categories is not None:
        goes_left = int(value) in node.left_categories
    else:
        goes_left = value <= node.threshold
    return left if goes_left else right


def shapley_by_definition(ensemble, row):
    """phi_f = sum over sets S without f of |S|! (m - |S| - 1)! / m! (v(S + f) - v(S)), (n_features, n_classes)."""
    forest, phi = ensemble.forest, np.zeros((N_FEATURES, ensemble.n_classes))
    values = ensemble.values / forest.n_trees if ensemble.link == "mean" else ensemble.values
    for tree in range(forest.n_trees):
        part = slice(*forest.node_offsets[tree : tree + 2])
        leaves = [values[r] if f < 0 else None for f, r in zip(forest.feature[part], forest.right[part], strict=True)]
        weights, nodes = forest.node_counts[part].sum(axis=1), forest.nodes(tree)
        for f in range(N_FEATURES):
            others = [g for g in range(N_FEATURES) if g != f]
            for size in range(N_FEATURES):
                share = factorial(size) * factorial(N_FEATURES - size - 1) / factorial(N_FEATURES)
                for known in combinations(others, size):
                    gain = expectation(nodes, weights, leaves, row, {*known, f})
                    phi[f] += share * (gain - expectation(nodes, weights, leaves, row, set(known)))
    return phi


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("link", ["mean", "softmax"])
def test_equal_to_the_definition(link, seed):
    ensemble = made_up(link, n_classes=3, seed=seed, n_trees=2, depth=5)
    rows = rows_for(ensemble, 6, seed, missing=0.2)
    _, values = shapley(to_shap(ensemble), rows)
    np.testing.assert_allclose(values, [shapley_by_definition(ensemble, row) for row in rows], rtol=0, atol=1e-12)


def test_interactions_add_up_to_shapley_values():
    ensemble = made_up(n_trees=4)
    rows = rows_for(ensemble, 25)
    explainer = to_shap(ensemble)
    values = explainer.shap_values(rows)
    np.testing.assert_allclose(explainer.shap_interaction_values(rows).sum(axis=2), values, rtol=0, atol=1e-12)


# An explainer like any other.


def test_rows_one_by_one_and_in_any_order():
    ensemble = made_up(n_trees=4)
    rows = rows_for(ensemble, 30)
    explainer = to_shap(ensemble)
    together = explainer.shap_values(rows)
    np.testing.assert_array_equal(explainer.shap_values(rows[::-1]), together[::-1])
    np.testing.assert_array_equal([explainer.shap_values(row) for row in rows], together)


def test_no_rows():
    assert to_shap(made_up()).shap_values(np.zeros((0, N_FEATURES))).shape == (0, N_FEATURES, 3)


def test_explanations_have_names_and_base_values():
    encoder = replace(made_up().encoder, feature_names=("a", "b", "c", "d", "e"))
    ensemble = made_up(encoder=encoder)
    rows = rows_for(ensemble, 10)
    explainer = to_shap(ensemble)
    explanation = explainer(rows)
    assert isinstance(explainer, shap.TreeExplainer)
    assert explanation.feature_names == ["a", "b", "c", "d", "e"]
    np.testing.assert_array_equal(explanation.values, explainer.shap_values(rows))
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), explained(ensemble, rows), rtol=0, atol=1e-12
    )


def test_features_that_no_tree_reads_have_no_value():
    ensemble = made_up(n_trees=3)
    feature = ensemble.forest.feature.copy()
    feature[feature == 1] = 0
    ensemble = replace(ensemble, forest=replace(ensemble.forest, feature=feature, _cache={}))
    assert not shapley(to_shap(ensemble), rows_for(ensemble, 20))[1][:, 1].any()


def test_pickled():
    ensemble = made_up(n_trees=3)
    rows = rows_for(ensemble, 10)
    explainer = to_shap(ensemble)
    again = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(again.shap_values(rows), explainer.shap_values(rows))


def test_the_ensemble_is_left_as_it_was():
    ensemble = made_up(n_trees=3)
    before = {name: getattr(ensemble.forest, name).copy() for name in ("threshold", "leaf_counts", "feature")}
    values = ensemble.values.copy()
    to_shap(ensemble).shap_values(rows_for(ensemble, 10))
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(ensemble.forest, name), array)
    np.testing.assert_array_equal(ensemble.values, values)


def test_leaves_without_training_rows_are_refused():
    ensemble = made_up(n_trees=3)
    counts = ensemble.forest.leaf_counts.copy()
    counts[ensemble.forest.leaf_offsets[1]] = 0
    ensemble = replace(ensemble, forest=replace(ensemble.forest, leaf_counts=counts, _cache={}))
    with pytest.raises(ValueError, match=r"leaf of tree 1 has none.*shap\.Explainer"):
        to_shap(ensemble)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r'needs shap.*pip install "frugalforest\[export\]"'):
        to_shap(made_up())

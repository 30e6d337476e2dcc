"""How rows are read, and how scores become probabilities and labels, as other libraries do it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from frugalforest.ensemble import ZERO, Ensemble, Reading
from frugalforest.importers.encoders import known_columns
from frugalforest.importers.trees import by_class, single_leaf, to_forest

NAN = np.nan


def constant(values, link, **options):
    """An ensemble of trees without splits: tree t adds values[t] to class t % n_classes."""
    n_classes = 2 if link == "sigmoid" else 3
    forest, leaves = to_forest([single_leaf(value) for value in values], n_features=1)
    classes = [1 if link == "sigmoid" else t % n_classes for t in range(len(values))]
    spread = by_class(forest, leaves, classes, n_classes)
    return Ensemble(forest, spread, np.zeros(n_classes), link, np.arange(n_classes), known_columns(1, None), **options)


def label(ensemble):
    return int(ensemble.label_numbers(ensemble.scores(np.zeros((1, 1)))[0])[0])


def probabilities(ensemble):
    return ensemble.probabilities(ensemble.scores(np.zeros((1, 1)))[0])[0]


# ---- reading


def test_nothing_to_change_means_no_copy():
    X = np.array([[1.0, NAN]])
    assert Reading()(X) is X
    single = X.astype(np.float32)
    assert Reading(as_float32=True)(single) is single


def test_each_way_of_reading():
    X = np.array([[0.0, -0.5, 3.7, -999.0], [1e-36, 7.2, NAN, 2.0], [-ZERO, -3.0, 1e9, NAN]])
    before = X.copy()
    read = Reading(zero_is_missing=(0,), missing_value=-999.0, categories=(1, 2), other_category=63)(X)
    np.testing.assert_array_equal(read, [[NAN, 63, 3, NAN], [NAN, 7, NAN, 2], [NAN, 63, 63, NAN]])
    np.testing.assert_array_equal(Reading(categories=(1, 2))(X)[:, 1], [0, 7, -3])
    np.testing.assert_array_equal(X, before)
    assert Reading(zero_is_missing=(0,))(np.array([[np.nextafter(ZERO, 1)]]))[0, 0] > 0


def test_a_missing_value_is_compared_as_float32_where_rows_are():
    read = Reading(as_float32=True, missing_value=0.1)(np.array([[0.1, 0.2], [np.float32(0.1), 3]]))
    np.testing.assert_array_equal(np.isnan(read), [[True, False], [True, False]])


def test_too_large_for_float32():
    with pytest.raises(ValueError, match=r"too large for float32.* or by NaN"):
        Reading(as_float32=True)(np.array([[1e39]]))


def test_large_integers_are_refused_where_a_library_reads_them_in_two_ways():
    reading = Reading(largest_integer=2**24)
    reading(np.array([[2**24, -(2**24)]]))
    reading(np.array([[2.0**25]]))
    for X in (np.array([[2**24 + 1]]), np.array([[-(2**24) - 1]]), np.array([[2**40]], np.uint64)):
        with pytest.raises(ValueError, match=r"beyond 16,777,216.*X.astype\(float\)"):
            reading(X)


# ---- scores


def test_a_base_is_added_before_or_after_the_trees():
    first = replace(constant([0.1, 0.2], "sigmoid"), base=np.array([0.0, -0.3]))
    assert first.scores(np.zeros((1, 1)))[0].tolist() == [[0.0, (-0.3 + 0.1) + 0.2]]
    last = replace(first, base_last=True)
    assert last.scores(np.zeros((1, 1)))[0].tolist() == [[0.0, (0.1 + 0.2) - 0.3]]
    assert (-0.3 + 0.1) + 0.2 != (0.1 + 0.2) - 0.3


def test_slope_and_divisor():
    assert probabilities(constant([1.0, 2.0], "sigmoid", slope=0.5, divisor=2))[1] == 1 / (1 + np.exp(-0.75))
    one_each = probabilities(constant([1.0, 2.0, -1.0], "one_vs_all", slope=2))
    np.testing.assert_allclose(one_each, 1 / (1 + np.exp([-2.0, -4.0, 2.0])), rtol=1e-15)


def test_probabilities_of_extreme_scores_do_not_overflow():
    for margin, expected in ((1e4, [0, 1]), (-1e4, [1, 0])):
        assert probabilities(constant([margin], "sigmoid")).tolist() == expected
        assert probabilities(constant([margin], "sigmoid", sums_as_float32=True)).tolist() == expected
    assert probabilities(constant([1e4, -1e4, 0.0], "softmax")).tolist() == [1, 0, 0]


# ---- labels


def test_labels_by_score_see_what_probabilities_do_not():
    margin = -1e-17  # its sigmoid is 0.5 exactly
    assert label(constant([margin], "sigmoid", ties_to_last=True)) == 1
    assert label(constant([margin], "sigmoid", ties_to_last=True, labels_by="score")) == 0
    assert label(constant([0.0], "sigmoid", ties_to_last=True, labels_by="score")) == 1
    assert label(constant([0.0], "sigmoid", labels_by="score")) == 0
    assert label(constant([40.0, 41.0, 0.0], "one_vs_all")) == 0  # both are 1.0
    assert label(constant([40.0, 41.0, 0.0], "one_vs_all", labels_by="score")) == 1


@pytest.mark.parametrize("link", ["sigmoid", "softmax", "one_vs_all"])
@pytest.mark.parametrize("float32", [False, True])
@pytest.mark.parametrize("labels_by", ["probability", "score"])
def test_a_lead_beyond_the_tolerance_decides_the_label(link, float32, labels_by):
    rng, n_decided = np.random.default_rng(0), 0
    for _ in range(300):
        options = {"sums_as_float32": float32, "labels_by": labels_by}
        if not float32:
            options |= {"slope": float(rng.choice([1, 0.01, 3])), "divisor": float(rng.choice([1, 7]))}
        scale = 10.0 ** rng.integers(-6, 2)
        ensemble = constant(scale * rng.choice([1, 1 + 1e-15, 1 + 1e-7, 1.5, 0], 3), link, **options)
        scores = ensemble.values.sum(axis=0)
        order = np.argsort(-scores, kind="stable")
        if scores[order[0]] - scores[order[1]] > ensemble.tolerance:
            assert label(ensemble) == order[0]
            n_decided += 1
    assert n_decided > 50

"""What features tell about the class, one by one and in pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score

import frugalforest as ff
from frugalforest.estimators.problem import Problem
from frugalforest.selection import information
from frugalforest.selection.information import (
    bin_codes,
    histogram_information,
    nearest_neighbour_information,
    overlap_shares,
)


def learn(X, y, categorical_features=None) -> Problem:
    return Problem.learn(
        X,
        y,
        None,
        feature_costs=None,
        class_weight=None,
        categorical_features=categorical_features,
        estimator_name="test",
    )


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 600)
    X = random.normal(size=(600, 7)) + np.outer(y, [0, 0.3, 1, 2, 0, 0, 0])
    X[:, 4] = np.round(X[:, 4])
    X[random.random(600) < 0.2, 3] = np.nan
    X[:, 5] = 1.0
    X[:, 6] = np.nan
    return X, y


# ---- one by one


@pytest.mark.parametrize("n_bins", [2, 10, 50, 255])
def test_histogram_information_is_that_of_the_table_of_bins_and_classes(data, n_bins):
    problem = learn(*data)
    codes, _ = bin_codes(problem, n_bins)
    slow = [mutual_info_score(problem.rows.labels, column) for column in codes]
    assert np.allclose(histogram_information(problem, n_bins), slow, atol=1e-12)


def test_blocks_of_features_give_the_same(data, monkeypatch):
    whole = histogram_information(learn(*data), 50)
    monkeypatch.setattr(information, "_CELLS", 1300)  # two features at a time
    assert np.array_equal(histogram_information(learn(*data), 50), whole)
    assert np.array_equal(histogram_information(learn(*data), 50, n_threads=2), whole)


def test_known_values():
    y = np.repeat([0, 1], 50)
    half = np.tile([0, 1], 50)
    X = np.column_stack([y, 1 - y, half, np.ones(100), y * 3.5 - 1])
    assert histogram_information(learn(X, y), 50).tolist() == [round(np.log(2), 12)] * 2 + [0, 0, round(np.log(2), 12)]


def test_missing_is_a_bin_of_its_own():
    y = np.repeat([0, 1], 50)
    X = np.where(y == 1, np.nan, 3.0)[:, None]
    assert histogram_information(learn(X, y), 50)[0] == round(np.log(2), 12)


def test_a_category_is_a_bin_of_its_own():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400)
    town = random.choice(["Oslo", "Rome", "Lima"], 400)
    town = np.where(random.random(400) < 0.3, np.where(y, "Bern", "Kiel"), town)
    frame = pd.DataFrame({"town": town, "number": pd.factorize(town)[0]})
    from_text, from_number = histogram_information(learn(frame, y), 2)
    assert from_text == pytest.approx(mutual_info_score(y, town), abs=1e-12)
    assert from_number < from_text  # two bins
    assert histogram_information(learn(frame, y, ["number"]), 2)[1] == from_text


def test_the_order_of_columns_rows_and_classes_does_not_matter(data):
    X, y = data
    found = histogram_information(learn(X, y), 50)
    columns, rows = np.random.default_rng(1).permutation(7), np.random.default_rng(2).permutation(600)
    assert np.array_equal(histogram_information(learn(X[:, columns], y), 50), found[columns])
    assert np.array_equal(histogram_information(learn(X[rows], 2 - y[rows]), 50), found)


def test_neighbours_as_scikit_learn_counts_them(data):
    X, y = data[0][:, [0, 1, 2, 4]], data[1]
    found = nearest_neighbour_information(learn(X, y, [3]), 7)
    peer = mutual_info_classif(X - [0, 0, 0, X[:, 3].min()], y, discrete_features=[3], random_state=7)
    assert np.allclose(found, peer, atol=1e-12)
    one, again, other = (nearest_neighbour_information(learn(np.round(X), y), seed) for seed in (7, 7, 8))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)  # equal values are told apart by noise


def test_neighbours_need_all_values(data):
    with pytest.raises(ValueError, match=r"takes no missing values, .* in: 3, 6\. Fill them in, or use .*'histogram'"):
        nearest_neighbour_information(learn(*data), 0)


# ---- in pairs


def slow_pair_information(first, second, labels):
    """MI of a pair of bins and the class, entropies corrected by (occupied cells - 1) / 2n."""

    def entropy(*columns):
        _, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        share = counts / counts.sum()
        return -(share * np.log(share)).sum() + (len(counts) - 1) / (2 * counts.sum())

    return entropy(first, second) + entropy(labels) - entropy(first, second, labels)


def test_overlaps_are_those_of_tables_made_pair_by_pair(data, monkeypatch):
    problem = learn(*data)
    features = np.array([1, 2, 3, 4])
    n_bins = int(np.sqrt(600 / (5 * 3)))
    codes, _ = bin_codes(problem, n_bins)
    pairs = np.array([[slow_pair_information(codes[f], codes[g], data[1]) for g in features] for f in features])
    alone = np.diag(pairs)
    shares = (alone[:, None] + alone - pairs) / np.minimum.outer(alone, alone)
    slow = np.where(np.eye(4) > 0, 0, np.clip(np.where(np.minimum.outer(alone, alone) > 0, shares, 0), 0, 1))
    assert np.allclose(overlap_shares(problem, features), slow, atol=1e-5)
    monkeypatch.setattr(information, "_CELLS", 1)  # one feature at a time
    assert np.allclose(overlap_shares(problem, features), slow, atol=1e-5)


def test_copies_overlap_fully_and_complements_not_at_all():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2, (2, 4000))
    y = a + 2 * b
    noisy = np.where(random.random(4000) < 0.1, 1 - a, a)
    X = np.column_stack([a, a, b, 1 - a, noisy])
    shares = overlap_shares(learn(X, y), np.arange(5))
    assert np.allclose(shares, shares.T)
    assert shares[0, 1] == shares[0, 3] == pytest.approx(1, abs=1e-6)
    assert shares[0, 2] == pytest.approx(0, abs=1e-3)
    assert shares[0, 4] == pytest.approx(1, abs=1e-2)  # all that the noisy copy tells, the other one does


def test_features_that_tell_more_together_do_not_overlap():
    a, b = np.random.default_rng(0).integers(0, 2, (2, 4000))
    X = np.column_stack([a, b, a])
    shares = overlap_shares(learn(X, a ^ b), np.arange(3))
    assert shares[0, 1] == 0


def test_real_information(data_dir):
    spam = ff.datasets.load("spambase", data_dir)
    found = histogram_information(learn(spam.X, spam.y), 50)
    by_neighbours = mutual_info_classif(spam.X[::3], spam.y[::3], random_state=0)
    assert np.corrcoef(found, by_neighbours)[0, 1] > 0.95
    assert found.max() < np.log(2)

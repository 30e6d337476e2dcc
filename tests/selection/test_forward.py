"""Forward selection: the search against its twin, and what racing does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import make_classification

import frugalforest as ff
import naive_selection as naive
from frugalforest.selection import ForwardSelector
from frugalforest.selection.race import Race


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(120, 6, n_informative=3, n_redundant=1, random_state=4)
    return X, y


@pytest.mark.parametrize("bcr", ["signed", "paper"])
@pytest.mark.parametrize("xi", [0, 0.5, 1, 2])
def test_twin_chooses_the_same_features(data, xi, bcr):
    own, groups = [0.5, 1, 0, 1.5, 0.2, 1], [([0, 3, 5], 0.8)]
    costs = ff.FeatureCosts(own, groups={"g": ff.Group(*groups[0])})
    selector = ForwardSelector(
        3.3, feature_costs=costs, xi=xi, bcr=bcr, racing=False, n_forest_trees=30, random_state=0
    )
    judge, searcher = selector._prepare(selector._learn(*data), 3.3)

    def error_of(features):
        return judge.error(np.isin(np.arange(6), list(features)))

    def error_with(features, feature):
        mask = np.isin(np.arange(6), list(features))
        return float(judge.error_of_votes(judge.candidate_votes(mask, np.array([feature])))[0])

    panel = searcher.search(xi, 3.3)
    expected = naive.search_forward(error_of, error_with, 6, naive.Prices(own, groups), Fraction("3.3"), xi, bcr)
    assert [set(step) for step in panel.added] == expected
    masks = [np.isin(np.arange(6), list(set.union(*expected[: i + 1]))) for i in range(len(expected))]
    assert panel.errors == tuple(judge.error(mask) for mask in masks)


def test_errors_are_those_of_the_standard_forest_on_the_same_columns(data):
    X, y = data
    selector = ForwardSelector(2, xi=0, n_forest_trees=40, random_state=0)
    judge, _ = selector._prepare(selector._learn(X, y), 2)
    forest = ff.StandardForestClassifier(n_estimators=40, voting="hard", oob_score=True, random_state=0)
    forest.fit(X[:, [1, 4]], y)
    votes = judge.votes_of(np.isin(np.arange(6), [1, 4])[None, :], ff.growing.tree_seeds(0, 40)[None, :])[0]
    assert np.array_equal(votes / votes.sum(axis=1, keepdims=True), forest.oob_decision_function_)


def test_racing_gives_the_finalists_a_full_forest(data):
    X, y = make_classification(150, 30, n_informative=4, random_state=0)
    raced = ForwardSelector(3, xi=0, n_forest_trees=300, random_state=0).fit(X, y)
    slow = ForwardSelector(3, xi=0, n_forest_trees=300, racing=False, random_state=0).fit(X, y)
    assert abs(raced.oob_error_ - slow.oob_error_) <= 0.02
    judge, searcher = raced._prepare(raced._learn(X, y), 3)
    assert raced.path_[0].error == judge.error(np.isin(np.arange(30), [raced.path_[0].added[0]]))
    assert searcher.racing


def test_votes_of_later_rounds_add_up_to_those_of_the_whole_forest(data):
    selector = ForwardSelector(2, xi=0, n_forest_trees=100, random_state=0)
    judge, _ = selector._prepare(selector._learn(*data), 2)
    mask, features = np.zeros(6, dtype=bool), np.arange(6)
    race = Race(judge)
    first, votes = race._errors(mask, features, None, 16)
    second, _ = race._errors(mask, features, votes, 64)
    assert np.array_equal(first, judge.error_of_votes(judge.candidate_votes(mask, features, 0, 16)))
    assert np.array_equal(second, judge.error_of_votes(judge.candidate_votes(mask, features, 0, 64)))
    assert np.array_equal(race._errors(mask, features, None, 64)[0], second)  # known by now


def test_a_race_of_few_goes_straight_to_the_full_forest(data):
    selector = ForwardSelector(2, xi=0, n_forest_trees=100, random_state=0)
    judge, _ = selector._prepare(selector._learn(*data), 2)
    places, errors = Race(judge).run(np.zeros(6, dtype=bool), np.arange(3), lambda change, places: change)
    assert places.tolist() == [0, 1, 2]
    assert np.array_equal(errors, Race(judge).without_rounds(np.zeros(6, dtype=bool), np.arange(3)))
